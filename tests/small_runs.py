"""The smallest runs that still do everything, and what they report to."""

import pytest

import conftr
from conftr.experiments import Evaluation, Specification, Store, Training
from conftr.experiments.runner import Workspace
from conftr.search.methods import METHODS
from conftr.search.space import configured


class Steps:
    """Remembers what it was told."""

    def __init__(self):
        self.steps, self.notes, self.tables = [], [], []

    def step(self, task, done, total):
        self.steps.append((task, done, total))

    def note(self, message):
        self.notes.append(message)

    def show(self, table):
        self.tables.append(table)


CONFORMAL = METHODS["conftr-class"]


def small(epochs=2, trials=2, objective=conftr.CrossEntropy(), learning_rate=0.05, **changes):  # noqa: B008
    """A linear model on digits."""
    run = {"model": "linear", "epochs": epochs, "batch_size": 200, "schedule": "steps"}
    parts = configured(objective, run | {"learning_rate": learning_rate}, 0.05)
    training = Training("digits", *parts, **changes)
    return Specification("small", training, Evaluation((0.1, 0.05), splits=3), trials)


def without_times(record):
    return {name: value for name, value in record.items() if name != "made"}


@pytest.fixture
def steps():
    return Steps()


@pytest.fixture
def workspace(tmp_path, steps):
    return Workspace(Store(tmp_path / "results"), tmp_path / "runs", display=steps)
