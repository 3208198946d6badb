"""What is computed, as a value: equal specifications have equal results, and one name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from conftr.machine.plain_data import Json, decode, digest, encode
from conftr.search.attempts import Evaluation, Training

# Results keep the names under which they were stored. Version 0.1 called cross-entropy the
# baseline, in file names and in the data that digests are made of: translated here alone.
_STORED = {"cross-entropy": "baseline", "cross-entropy-tuned": "baseline-tuned"}
_SHOWN = {stored: shown for shown, stored in _STORED.items()}


def stored_method(method: str) -> str:
    """A method's name as files of results have it."""
    return _STORED.get(method, method)


def shown_method(method: str) -> str:
    """A method's name as people see it, from that in a file of results."""
    return _SHOWN.get(method, method)


@dataclass(frozen=True)
class Specification:
    """A run: a method's name in tables, its training, how many trials, and how they are measured.

    Trial i is the same whatever the number of trials.

    Attributes:
        method: Its name in tables.
        training: What decides the trained models.
        evaluation: How they are measured.
        trials: How many are trained.
    """

    method: str
    training: Training
    evaluation: Evaluation = field(default_factory=Evaluation)
    trials: int = 10

    def to_json(self) -> dict[str, Json]:
        """Give it as plain data, as results have it."""
        plain: dict[str, Json] = encode(replace(self, method=stored_method(self.method)))
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Specification:
        """The specification that was written as this.

        Args:
            data: As `to_json` gave it.

        Returns:
            An equal specification.
        """
        training = {name: decode(value) for name, value in data["training"].items()}
        evaluation = {name: decode(value) for name, value in data["evaluation"].items()}
        method = shown_method(data["method"])
        return cls(method, Training(**training), Evaluation(**evaluation), data["trials"])

    @property
    def name(self) -> str:
        """The digest that names the result."""
        return digest(self.to_json())
