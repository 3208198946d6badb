"""The smallest runs that still do everything, and somebody who watches them."""

from conftr.experiments import Evaluation, Specification, Training, part
from conftr.experiments.settings import LINEAR, SMOOTH_SORT, Row, plan


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


CROSS_ENTROPY = part("CrossEntropy")
CONFORMAL = part(
    "ConfTr", alpha=0.05, score=part("thr"), quantile=SMOOTH_SORT, loss_matrix=part("identity")
)


def small(epochs=2, trials=2, objective=CROSS_ENTROPY, learning_rate=0.05, **changes):
    """A linear model on digits."""
    steps = plan(Row(200, learning_rate), epochs)
    training = Training("digits", LINEAR, objective, steps, **changes)
    return Specification("small", training, Evaluation((0.1, 0.05), splits=3), trials)


def without_times(record):
    return {name: value for name, value in record.items() if name != "made"}
