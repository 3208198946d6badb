"""Models that were fitted elsewhere: nothing of them is trained here, a head may be.

Rows that such a model was trained on tell nothing about it. What is given to a head, and to
calibration, must be rows that it never saw.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from conftr.conformal import checks
from conftr.members.member import (
    Files,
    FittedMember,
    Fold,
    MemberError,
    MemberRows,
    Numbers,
    Progress,
)
from conftr.members.scikit import AsGiven, Classifier, Given

_SETTINGS = "outputs.json"
_SLACK = 0.1  # by how much rounded probabilities of a row may miss 1 in sum


@dataclass(frozen=True, eq=False)
class Frozen:
    """A fitted classifier of scikit-learn's kind, such as `FrozenEstimator(model)`.

    classes: the names (K,) in the order of labels.
    """

    classifier: Any
    classes: Any

    @property
    def name(self) -> str:
        """The name of its class."""
        inner = getattr(self.classifier, "estimator", self.classifier)
        return type(inner).__name__

    def fit(
        self,
        rows: MemberRows,
        folds: Sequence[Fold],  # noqa: ARG002
        *,
        seed: int,  # noqa: ARG002
        progress: Progress,
    ) -> list[FittedMember]:
        """Take it as it is."""
        progress(1, 1)
        own = Classifier(self.classifier, rows.classes, self.classes)
        return [FittedMember(self.name, AsGiven(), (own,))]


@dataclass(frozen=True, eq=False)
class Function:
    """A function of rows that gives logits (n, K), such as a PyTorch module's forward pass."""

    function: Callable[[Any], Any]
    name: str = "function"

    def fit(
        self,
        rows: MemberRows,
        folds: Sequence[Fold],  # noqa: ARG002
        *,
        seed: int,  # noqa: ARG002
        progress: Progress,
    ) -> list[FittedMember]:
        """Take it as it is."""
        progress(1, 1)
        return [FittedMember(self.name, AsGiven(), (Called(self.function, rows.classes),))]


@dataclass(frozen=True, eq=False)
class Called:
    """A function that gives logits."""

    kind: ClassVar[str] = "function"

    function: Callable[[Any], Any]
    classes: int

    @property
    def words(self) -> str:
        """Its name."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def logits(self, inputs: Given) -> Numbers:
        """Its logits as they are, (n, K)."""
        return _matrix(self.function(inputs.x), self.classes, "logits")

    def files(self) -> Files:
        """Refuse: it is code."""
        raise MemberError(
            f"{self.words} is code of yours, which cannot be saved. Keep it in a way of your own, "
            f"and save a classifier of its outputs: members=[conftr.members.Outputs()]."
        )


@dataclass(frozen=True, eq=False)
class Outputs:
    """Nothing but outputs: X is (n, K), a column for each class.

    probabilities: whether they are; else they are logits.
    """

    probabilities: bool = True
    name: str = "outputs"

    def fit(
        self,
        rows: MemberRows,
        folds: Sequence[Fold],  # noqa: ARG002
        *,
        seed: int,  # noqa: ARG002
        progress: Progress,
    ) -> list[FittedMember]:
        """Take them as they are."""
        progress(1, 1)
        own = OutputColumns(rows.classes, self.probabilities)
        return [FittedMember(self.name, AsGiven(), (own,))]


@dataclass(frozen=True, eq=False)
class OutputColumns:
    """OutputColumns of X as outputs."""

    kind: ClassVar[str] = "outputs"

    classes: int
    are_probabilities: bool

    @property
    def words(self) -> str:
        """What the columns are."""
        return "probabilities" if self.are_probabilities else "logits"

    def logits(self, inputs: Given) -> Numbers:
        """Logits as they are, or logs of probabilities, 0 taken as the smallest number, (n, K)."""
        found = _matrix(inputs.x, self.classes, self.words)
        if not self.are_probabilities:
            return found
        _check_probabilities(found)
        logs: Numbers = np.log(np.maximum(found, np.finfo(np.float64).tiny))
        return logs

    def files(self) -> Files:
        """What the columns are, as text."""
        told = {"classes": self.classes, "probabilities": self.are_probabilities}
        return {_SETTINGS: json.dumps(told).encode()}


def load(files: Files) -> OutputColumns:
    """The outputs that were saved as these files."""
    told = json.loads(files[_SETTINGS])
    return OutputColumns(int(told["classes"]), bool(told["probabilities"]))


def _matrix(x: Any, classes: int, name: str) -> Numbers:
    if hasattr(x, "detach"):  # PyTorch
        x = x.detach().cpu()
    found = np.asarray(checks.logits_array(np.asarray(x, np.float64), name))
    if found.shape[1] != classes:
        raise ValueError(
            f"{name} must have one column for each of the {classes} classes; got shape "
            f"{found.shape}."
        )
    return found


def _check_probabilities(p: Numbers) -> None:
    if p.size and not (p.min() >= 0 and p.max() <= 1 + 1e-6):
        raise ValueError(
            f"probabilities must lie in 0..1; got {p.min():g}..{p.max():g}. For logits use "
            f"conftr.members.Outputs(probabilities=False)."
        )
    sums = p.sum(axis=1)
    strange = np.flatnonzero(np.abs(sums - 1) > _SLACK)
    if len(strange):
        raise ValueError(
            f"the probabilities of a row must sum to 1; those of row {strange[0]} sum to "
            f"{sums[strange[0]]:g}. Is there a column that stands for no class?"
        )
