"""A file of the user's own as the data of a sweep: the rows that `conftr fit` would learn from.

With the same alpha and seed, `conftr fit` keeps some rows to test on and draws others to calibrate
on. Those are not here: what chose a model's settings must not calibrate or test it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state  # type: ignore[import-untyped]

from conftr import features
from conftr.classifier import labels, recipes
from conftr.classifier.division import divide
from conftr.data import Dataset, Examples, Normalisation
from conftr.data.own import Own
from conftr.data.own.labels import Integers
from conftr.experiments.pools import Division
from conftr.experiments.settings import Setup
from conftr.jobs import fitting
from conftr.machine.plain_data import part
from conftr.training.models import MLP


class Subject(NamedTuple):
    """Examples to train on, and a model, epochs and alpha for them."""

    dataset: Dataset
    setup: Setup


def subject(own: Own, file: str, *, alpha: float, seed: int) -> Subject:
    """The rows to learn from, encoded, in a dataset named by the file and its content."""
    mine = own.take(rows_to_learn_from(own, alpha=alpha, seed=seed))
    classes, y = labels.learn(mine.y)
    encoding = features.learn(mine.X)
    x, n = encoding.encode(mine.X), len(y)
    shift, scale = (np.asarray(value, np.float32) for value in (encoding.shift, encoding.scale))
    content = Division(Examples(x, y), Examples(x[:0], y[:0]), 0).fingerprint()
    dataset = Dataset(
        f"{Path(file).stem}-{content[:8]}",
        *(x, y, x[:0], y[:0], x[:0], y[:0]),
        tuple(str(name) for name in classes.tolist()),
        {},
        Normalisation(shift, scale),
    )
    model = recipes.model_for(None, encoding.inputs, len(classes), n)
    assert isinstance(model, MLP)
    epochs = recipes.epochs_for(n, recipes.batch_size_for(n, alpha), model, encoding.inputs)
    return Subject(dataset, Setup(part("MLP", hidden=model.hidden), epochs, {}, (alpha,)))


def rows_to_learn_from(own: Own, *, alpha: float, seed: int) -> Integers:
    """All rows but those that `conftr fit` would test and calibrate on."""
    rest, _, _ = fitting.divided(own.y, fitting.Task(alpha=alpha, seed=seed))
    _, found = labels.learn(own.y[rest])
    drawn = int(check_random_state(seed).randint(2**31 - 1))
    division = divide(found, alpha=alpha, seed=drawn)
    return np.sort(rest[np.concatenate([division.train, division.validation])])
