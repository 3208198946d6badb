"""Models that were fitted elsewhere: nothing of them is trained here, a head may be.

Rows that such a model was trained on tell nothing about it. What is given to a head, and to
calibration, must be rows that it never saw. Logits and logs of probabilities are the same thing to
a conformity score, up to a constant a row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from conftr.conformal import checks
from conftr.conformal.scores import logits_from_probs
from conftr.members.member import (
    Files,
    FittedModel,
    MemberError,
    MemberRows,
)
from conftr.members.scikit import Given, TakenAsItIs

_SETTINGS = "outputs.json"


@dataclass(frozen=True, eq=False)
class Function(TakenAsItIs):
    """A function of rows that gives logits (n, K), such as a PyTorch module's forward pass.

    Attributes:
        function: Rows -> logits (n, K).
        classes: The names (K,) of the columns of its answers.
        name: As it is shown.
    """

    function: Callable[[Any], Any]
    classes: Sequence[Hashable]
    name: str = "function"

    def model(self, rows: MemberRows) -> FittedModel:
        """The function, asked for the classes of the rows."""
        return Called(self.function, rows.classes)


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

    def logits(self, inputs: Given) -> Any:
        """Its logits as they are, (n, K)."""
        return _matrix(self.function(inputs.x), self.classes, "logits")

    def files(self) -> Files:
        """Refuse: it is code."""
        raise MemberError(
            f"{self.words} is code of yours, which cannot be saved. Keep it in a way of your own, "
            f"and save a classifier of its outputs: members=conftr.members.Logits(classes)."
        )


@dataclass(frozen=True)
class _Outputs(TakenAsItIs):
    classes: Sequence[Hashable]

    @property
    def name(self) -> str:
        """What the columns of X are."""
        return type(self).__name__

    def model(self, rows: MemberRows) -> FittedModel:
        """The columns of X, one for each class of the rows."""
        return OutputColumns(rows.classes, isinstance(self, Probabilities))


@dataclass(frozen=True)
class Probabilities(_Outputs):
    """Probabilities computed anywhere: X is then (n, K), one column for each of these classes.

    clf = ConformalClassifier(alpha=0.05, members=Probabilities(["cat", "dog"]))
    clf.fit(P_calibration, y); clf.predict_set(P)
    """


@dataclass(frozen=True)
class Logits(_Outputs):
    """Logits computed anywhere: X is then (n, K), one column for each of these classes."""


@dataclass(frozen=True, eq=False)
class OutputColumns:
    """Columns of X as outputs of another system."""

    kind: ClassVar[str] = "outputs"

    classes: int
    are_probabilities: bool

    @property
    def words(self) -> str:
        """What the columns are."""
        return "probabilities" if self.are_probabilities else "logits"

    def logits(self, inputs: Given) -> Any:
        """Logits as they are, or log p, (n, K); see `conftr.logits_from_probs` for p = 0."""
        matrix = _matrix(inputs.x, self.classes, self.words)
        return logits_from_probs(matrix) if self.are_probabilities else matrix

    def files(self) -> Files:
        """What the columns are, as text."""
        settings = {"classes": self.classes, "probabilities": self.are_probabilities}
        return {_SETTINGS: json.dumps(settings).encode()}


def load(files: Files) -> OutputColumns:
    """The outputs that were saved as these files."""
    settings = json.loads(files[_SETTINGS])
    return OutputColumns(int(settings["classes"]), bool(settings["probabilities"]))


def _matrix(x: Any, classes: int, name: str) -> Any:
    if hasattr(x, "detach"):  # PyTorch
        x = x.detach().cpu()
    x = np.asarray(x)
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    matrix: Any = checks.logits_array(x, name)
    if matrix.shape[1] != classes:
        raise ValueError(
            f"{name} must have one column for each of the {classes} classes; got shape "
            f"{matrix.shape}."
        )
    return matrix
