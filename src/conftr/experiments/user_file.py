"""A file of the user's own as the data of a sweep: the rows that `conftr fit` would learn from.

With the same alpha and seed, `conftr fit` keeps some rows to test on and draws others to calibrate
on. Those are not here: what chose a model's settings must not calibrate or test it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.utils import check_random_state  # type: ignore[import-untyped]

from conftr import features
from conftr.classifier import labels
from conftr.classifier.division import divide
from conftr.data import Dataset, Normalisation
from conftr.data.own import Own
from conftr.data.own.labels import Integers
from conftr.jobs import fitting
from conftr.machine.digests import of_arrays


def dataset_of(own: Own, file: str, *, alpha: float, seed: int) -> Dataset:
    """The rows to learn from, encoded, in a dataset named by the file and its content."""
    mine = own.take(rows_to_learn_from(own, alpha=alpha, seed=seed))
    classes, y = labels.learn(mine.y)
    encoding = features.learn(mine.X)
    x = encoding.encode(mine.X)
    shift, scale = (np.asarray(value, np.float32) for value in (encoding.shift, encoding.scale))
    return Dataset(
        f"{Path(file).stem}-{of_arrays(x, y)[:8]}",
        *(x, y, x[:0], y[:0], x[:0], y[:0]),
        tuple(str(name) for name in classes.tolist()),
        {},
        Normalisation(shift, scale),
    )


def rows_to_learn_from(own: Own, *, alpha: float, seed: int) -> Integers:
    """All rows but those that `conftr fit` would test and calibrate on."""
    rest, _, _ = fitting.divided(own.y, fitting.Task(alpha=alpha, seed=seed))
    _, found = labels.learn(own.y[rest])
    drawn = int(check_random_state(seed).randint(2**31 - 1))
    division = divide(found, alpha=alpha, seed=drawn)
    return np.sort(rest[np.concatenate([division.train, division.validation])])
