"""What is computed, as a value: equal specifications have equal results, and one name.

A `Part` says in plain data which class or function of the package is meant and with which
fields, so that a specification can be written as JSON, compared and hashed. Its `digest`, the
first 16 hexadecimal digits of the SHA-256 of its canonical JSON, names the result. Canonical means
keys in order, no spaces, numbers without a fraction as integers.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, Union

from conftr.machine.digests import of_bytes

Setting: TypeAlias = Union[bool, int, float, "Part", tuple["Setting", ...], None]
Json: TypeAlias = Any

# Raised when equal data begin to mean something else, so that old results are not taken for new.
TRAINING_VERSION = 1
EVALUATION_VERSION = 2


@dataclass(frozen=True)
class Part:
    """A value of the package as data: the name of a class or function, and its fields."""

    kind: str
    fields: tuple[tuple[str, Setting], ...] = ()

    def __getitem__(self, name: str) -> Setting:
        """The field of that name."""
        return dict(self.fields)[name]

    def replace(self, **changes: Setting) -> Part:
        """The same kind with some fields changed or added."""
        return part(self.kind, **(dict(self.fields) | changes))


def part(kind: str, **fields: Setting) -> Part:
    """`Part` with its fields in order of their names, so that equal settings are equal values."""
    return Part(kind, tuple(sorted(fields.items())))


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
    """

    dataset: str
    model: Part
    objective: Part
    plan: Part
    seed: int = 0
    resampled: bool = True
    pool: Part = Part("calibration_and_test")
    version: int = TRAINING_VERSION


SCORES = (
    ("THR", part("thr")),
    ("THRL", part("thr_logits")),
    ("APS", part("aps")),
    ("RAPS", part("raps", penalty=0.01, free_rank=1)),
)


@dataclass(frozen=True)
class Evaluation:
    """How trained models are measured: random splits of the pool, calibrated for every alpha.

    scores: names and conformity scores.
    seed: of the splits, and of U where a score draws it.
    """

    alphas: tuple[float, ...] = (0.01,)
    splits: int = 10
    scores: tuple[tuple[str, Part], ...] = SCORES
    seed: int = 0
    version: int = EVALUATION_VERSION


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


def digest(value: Any) -> str:
    """16 hexadecimal digits that are equal for equal values and, in practice, only for those."""
    text = json.dumps(_canonical(encode(value)), sort_keys=True, separators=(",", ":"))
    return of_bytes(text.encode())


def encode(value: Any) -> Json:
    """Parts, tuples and dataclasses as JSON."""
    if isinstance(value, Part):
        return {"kind": value.kind} | {name: encode(item) for name, item in value.fields}
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: encode(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    return value


def decode(value: Json) -> Any:
    """Parts and tuples from JSON."""
    if isinstance(value, dict):
        fields = {name: decode(item) for name, item in value.items() if name != "kind"}
        return part(value["kind"], **fields)
    if isinstance(value, list):
        return tuple(decode(item) for item in value)
    return value


def _canonical(value: Json) -> Json:
    """With 1.0 written as 1: which of them a field holds depends on who typed it."""
    if isinstance(value, dict):
        return {name: _canonical(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
