"""Any classifier of scikit-learn's kind, fitted on each fold. It cannot be saved: see `files`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.utils import _safe_indexing  # type: ignore[import-untyped]

from conftr.members.member import (
    Files,
    FittedMember,
    Fold,
    MemberError,
    MemberRows,
    Numbers,
    Progress,
    of_classes,
)


@dataclass(frozen=True, eq=False)
class AsGiven:
    """Rows as the user gave them."""

    def encode(self, x: Any) -> Any:
        """The rows themselves."""
        return Given(x)

    def to_json(self) -> Any:
        """As plain data."""
        return {"kind": "as given"}


class Given:
    """The user's rows, of which some can be taken whatever they are."""

    def __init__(self, x: Any) -> None:
        """Keep them."""
        self.x = x

    def __len__(self) -> int:
        """How many rows there are."""
        return int(self.x.shape[0]) if hasattr(self.x, "shape") else len(self.x)

    def __getitem__(self, rows: Any) -> Given:
        """Some of them."""
        return Given(_safe_indexing(self.x, rows))


@dataclass(frozen=True, eq=False)
class Scikit:
    """A classifier with `fit` and `predict_proba`; a clone of it is fitted on each fold."""

    classifier: Any

    @property
    def name(self) -> str:
        """The name of its class."""
        return type(self.classifier).__name__

    def fit(
        self,
        rows: MemberRows,
        folds: Sequence[Fold],
        *,
        seed: int,  # noqa: ARG002
        progress: Progress,
    ) -> list[FittedMember]:
        """Fit a clone on each fold; it sees rows as the user gave them, labels as 0..K-1."""
        models = []
        for number, fold in enumerate(folds):
            progress(number, len(folds))
            own = clone(self.classifier).fit(
                _safe_indexing(rows.X, fold.train), rows.labels[fold.train]
            )
            models.append(Classifier(own, rows.classes))
        progress(len(folds), len(folds))
        return [FittedMember(self.name, AsGiven(), tuple(models))]


@dataclass(frozen=True, eq=False)
class Classifier:
    """A fitted classifier.

    names: the user's classes (K,), where it was fitted on those and not on 0..K-1.
    """

    kind: ClassVar[str] = "scikit"

    classifier: Any
    classes: int
    names: Any = None

    @property
    def words(self) -> str:
        """The name of its class."""
        return type(self.classifier).__name__

    def logits(self, inputs: Given) -> Numbers:
        """Log-probabilities (n, K), with their floor."""
        if not hasattr(self.classifier, "predict_proba"):
            raise MemberError(
                f"a classifier must have predict_proba; {self.classifier!r} has not. "
                f"sklearn.calibration.CalibratedClassifierCV gives it one."
            )
        found = np.asarray(self.classifier.predict_proba(inputs.x), np.float64)
        return of_classes(found, self._places(), self.classes)

    def _places(self) -> Any:
        own = np.asarray(self.classifier.classes_)
        if self.names is None:
            return own
        known = {name: place for place, name in enumerate(np.asarray(self.names).tolist())}
        return [known[name] for name in own.tolist()]

    def files(self) -> Files:
        """Refuse: only pickle could save it."""
        raise MemberError(
            f"{self.words} is a classifier of scikit-learn, which only pickle could save, and "
            f"pickle runs whatever a file says. Keep it in a way of your own, and save a "
            f"classifier of its outputs: members=[conftr.members.Outputs()]."
        )
