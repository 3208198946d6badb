"""What is computed, as a value: equal specifications have equal results, and one name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conftr.machine.plain_data import Json, decode, describe, digest, encode, part

# Raised when equal data begin to mean something else, so that old results are not taken for new.
TRAINING_VERSION = 1
EVALUATION_VERSION = 2

POOLED = part("calibration_and_test")


@dataclass(frozen=True)
class Training:
    """What decides the trained model of every trial, besides the trial's number.

    dataset: its name.
    model: a network without its input shape and number of classes, which the data give.
    objective: what is minimised.
    plan: epochs, batch size and optimiser.
    seed: of initialisations, resampling and shuffles.
    resampled: whether each trial trains on a draw from five copies of the training set (app. F).
    pool: which examples train and which are kept to evaluate on, see `conftr.experiments.pools`.

    Model, objective, plan and pool may be given as values, and are kept as plain data.
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


SCORES = (
    ("THR", part("thr")),
    ("THRL", part("thr_logits")),
    ("APS", part("aps")),
    ("RAPS", part("raps", penalty=0.01, free_rank=1)),
)


@dataclass(frozen=True)
class Evaluation:
    """How trained models are measured: random splits of the pool, calibrated for every alpha.

    scores: names and conformity scores, which may be functions, and are kept as plain data.
    seed: of the splits, and of U where a score draws it.
    """

    alphas: tuple[float, ...] = (0.01,)
    splits: int = 10
    scores: tuple[tuple[str, Any], ...] = SCORES
    seed: int = 0
    version: int = EVALUATION_VERSION

    def __post_init__(self) -> None:
        """Keep values as plain data."""
        object.__setattr__(self, "scores", describe(self.scores))


@dataclass(frozen=True)
class Specification:
    """A run: a method's name in tables, its training, how many trials, and how they are measured.

    Trial i is the same whatever the number of trials.
    """

    method: str
    training: Training
    evaluation: Evaluation = Evaluation()
    trials: int = 10

    def to_json(self) -> dict[str, Json]:
        """As plain data."""
        plain: dict[str, Json] = encode(self)
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Specification:
        """The specification that was written as this."""
        training = {name: decode(value) for name, value in data["training"].items()}
        evaluation = {name: decode(value) for name, value in data["evaluation"].items()}
        return cls(data["method"], Training(**training), Evaluation(**evaluation), data["trials"])

    @property
    def name(self) -> str:
        """The digest that names the result."""
        return digest(self)
