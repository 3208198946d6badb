"""Attempts: a training, and how its model is measured, as plain data; those that share a program.

Attempts of a bundle may differ in numbers of the objective and the optimiser alone. What one of
them gives does not depend on the others: on a CPU each is a run of its own, the same to the last
bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from conftr.machine.plain_data import describe, part
from conftr.search import space
from conftr.search.text import SCORES

# Raised when equal data begin to mean something else, so that old results are not taken for new.
TRAINING_VERSION = 1
EVALUATION_VERSION = 2

POOLED = part("calibration_and_test")


@dataclass(frozen=True)
class Training:
    """What decides the trained model of every trial, besides the trial's number.

    Model, objective, plan and pool may be given as values, and are kept as plain data.

    Attributes:
        dataset: Its name.
        model: A network without its input shape and number of classes, which the data give.
        objective: What is minimised.
        plan: Epochs, batch size and optimiser.
        seed: Of initialisations, resampling and shuffles.
        resampled: Whether each trial trains on a draw from five copies of the training set (app.
            F).
        pool: Which examples train and which are kept to evaluate on, see
            `conftr.experiments.pooling`.
        version: Of what training does; another one names other results.
    """

    dataset: str
    model: Any
    objective: Any
    plan: Any
    seed: int = 0
    resampled: bool = True
    pool: Any = POOLED
    version: int = TRAINING_VERSION

    def __post_init__(self) -> None:
        """Keep values as plain data."""
        for name in ("model", "objective", "plan", "pool"):
            object.__setattr__(self, name, describe(getattr(self, name)))


@dataclass(frozen=True)
class Evaluation:
    """How trained models are measured: random splits of the pool, calibrated for every alpha.

    Attributes:
        alphas: Each is calibrated for.
        splits: Of the pool, for each trial.
        scores: Names and conformity scores, which may be functions, and are kept as plain data.
        seed: Of the splits, and of U where a score draws it.
        version: Of what evaluation does.
    """

    alphas: tuple[float, ...] = (0.01,)
    splits: int = 10
    scores: tuple[tuple[str, Any], ...] = SCORES
    seed: int = 0
    version: int = EVALUATION_VERSION

    def __post_init__(self) -> None:
        """Keep values as plain data."""
        object.__setattr__(self, "scores", describe(self.scores))


class Attempt(NamedTuple):
    """A training, and how its model is measured: one score at one alpha, on held-out examples."""

    training: Training
    evaluation: Evaluation

    @property
    def epochs(self) -> int:
        """How long it trains."""
        epochs: int = self.training.plan["epochs"]
        return epochs

    @property
    def program(self) -> Attempt:
        """The attempt without its numbers: equal for those that can share a compiled program."""
        training = self.training
        optimiser = space.program_of(training.plan["optimiser"])
        return self._replace(
            training=replace(
                training,
                objective=space.program_of(training.objective),
                plan=training.plan.replace(optimiser=optimiser),
            )
        )

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers in which it may differ from others of its program."""
        of_objective = space.numbers(self.training.objective)
        return of_objective | space.numbers(self.training.plan["optimiser"])


Bundle: TypeAlias = list[Attempt]


def bundled(attempts: Sequence[Attempt], at_most: int) -> list[Bundle]:
    """Attempts that can share a program, not too many at a time; the longest trainings first."""
    groups: dict[Attempt, Bundle] = {}
    for attempt in attempts:
        groups.setdefault(attempt.program, []).append(attempt)
    bundles = [
        group[start : start + at_most]
        for group in groups.values()
        for start in range(0, len(group), at_most)
    ]
    return sorted(bundles, key=lambda bundle: -bundle[0].epochs * len(bundle))


def vary(bundle: Bundle) -> dict[str, list[Any]]:
    """The numbers in which the attempts of a bundle may differ, see `conftr.training.fit`."""
    return {name: [attempt.numbers[name] for attempt in bundle] for name in bundle[0].numbers}
