"""A small table that members can learn: numbers, a category, gaps, three classes."""

import numpy as np
import pandas as pd

from conftr.classifier.cross_fitting import divide
from conftr.members.member import Fold, MemberRows


def frame(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n).astype(np.int32)
    x = rng.normal(size=(n, 3)) + 1.5 * y[:, None]
    x[rng.random((n, 3)) < 0.1] = np.nan
    site = np.where(rng.random(n) < 0.7, np.array(["a", "b", "c"])[y], "d").astype(object)
    site[rng.random(n) < 0.1] = None
    return pd.DataFrame({"u": x[:, 0], "v": x[:, 1], "w": x[:, 2], "site": site}), y


def rows(n=120, seed=0):
    x, y = frame(n, seed)
    return MemberRows(x, y, 3)


def without_class(training, missing):
    """One fold whose training rows lack a class."""
    there = training.labels != missing
    return [Fold(np.flatnonzero(there), np.flatnonzero(~there))]


def fitted(member, training, count=2, seed=0):
    folds = divide(training.labels, count, seed)
    return member.fit(training, folds, seed=seed, progress=lambda *_: None), folds


def one_by_one(member, x):
    return np.concatenate([member.logits(x.iloc[i : i + 1]) for i in range(len(x))])
