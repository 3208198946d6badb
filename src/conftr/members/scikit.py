"""Any classifier of scikit-learn's kind: fitted on each fold, or taken as it is.

It cannot be saved: see `Classifier.files`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.utils import _safe_indexing  # type: ignore[import-untyped]
from sklearn.utils.validation import _check_method_params  # type: ignore[import-untyped]

from conftr.conformal.scores import logits_from_probs
from conftr.features import frames
from conftr.features.frame_columns import FrameColumns
from conftr.features.spread import Spread
from conftr.members.member import (
    Files,
    FittedMember,
    FittedModel,
    Fold,
    MemberError,
    MemberRows,
    Numbers,
    Progress,
    fit_each,
    floored,
)


@dataclass(frozen=True, eq=False)
class AsGiven:
    """Rows as the user gave them."""

    def encode(self, x: Any) -> Any:
        """The rows themselves."""
        return Given(x)

    def to_json(self) -> Any:
        """Give it as plain data."""
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
class Encoded:
    """Data frames as numbers, for classifiers that take no text."""

    columns: FrameColumns
    spread: Spread

    @classmethod
    def learn(cls, x: Any) -> Encoded:
        """Learn from training rows."""
        columns = FrameColumns.learn(x)
        return cls(columns, Spread.learn(columns.encode(x), columns.levels))

    def encode(self, x: Any) -> Given:
        """Whitened numbers and spread categories, (n, width)."""
        return Given(self.spread.encode(self.columns.encode(x)))

    def to_json(self) -> Any:
        """Give it as plain data."""
        return {"kind": "encoded"} | self.columns.to_json()


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
        """Fit a clone on each fold.

        It sees rows as the user gave them; categories that it does not take are encoded.
        """
        if rows.weights is not None:
            _check_takes_weights(self.classifier)
        try:
            return [self._fitted(AsGiven(), rows, folds, progress)]
        except (TypeError, ValueError):
            if not (frames.is_frame(rows.X) and frames.has_categories(rows.X)):
                raise
        return [self._fitted(Encoded.learn(rows.X), rows, folds, progress)]

    def _fitted(
        self, reader: AsGiven | Encoded, rows: MemberRows, folds: Sequence[Fold], progress: Progress
    ) -> FittedMember:
        inputs = reader.encode(rows.X)

        def fit(fold: Fold) -> Classifier:
            return self._fit(inputs, rows, fold, several=len(folds) > 1)

        return FittedMember(self.name, reader, fit_each(folds, fit, progress))

    def _fit(self, inputs: Given, rows: MemberRows, fold: Fold, *, several: bool) -> Classifier:
        labels = rows.labels[fold.train]
        given = _check_method_params(inputs.x, dict(rows.fit_params), indices=fold.train)
        if rows.weights is not None:
            given["sample_weight"] = rows.weights[fold.train]
        names = labels if rows.names is None else np.asarray(rows.names)[labels]
        fitted = clone(self.classifier).fit(inputs[fold.train].x, names, **given)
        return Classifier(fitted, rows.classes, rows.names, floor=several)


class TakenAsItIs(Protocol):
    """A member that was fitted elsewhere: of rows it is told nothing but their classes."""

    @property
    def name(self) -> str: ...  # noqa: D102

    def model(self, rows: MemberRows, /) -> FittedModel:
        """What answers for it."""

    def fit(
        self,
        rows: MemberRows,
        folds: Sequence[Fold],  # noqa: ARG002
        *,
        seed: int,  # noqa: ARG002
        progress: Progress,
    ) -> list[FittedMember]:
        """Take it as it is, whatever the folds are."""
        progress(1, 1)
        return [FittedMember(self.name, AsGiven(), (self.model(rows),))]


@dataclass(frozen=True, eq=False)
class Frozen(TakenAsItIs):
    """A fitted classifier of scikit-learn's kind, such as `FrozenEstimator(model)`."""

    classifier: Any

    @property
    def name(self) -> str:
        """The name of its class."""
        return type(getattr(self.classifier, "estimator", self.classifier)).__name__

    @property
    def classes(self) -> Any:
        """The names (K,) in the order of its answers."""
        return self.classifier.classes_

    def model(self, rows: MemberRows) -> FittedModel:
        """The classifier, asked for the classes of the rows."""
        names = self.classes if rows.names is None else rows.names
        return Classifier(self.classifier, rows.classes, names)


@dataclass(frozen=True, eq=False)
class Classifier:
    """A fitted classifier.

    Attributes:
        names: The user's classes (K,), where it was fitted on those and not on 0..K-1.
        floor: Whether to keep probabilities off 0, because its answers are averaged with others'.
    """

    kind: ClassVar[str] = "scikit"

    classifier: Any
    classes: int
    names: Any = None
    floor: bool = False

    @property
    def words(self) -> str:
        """The name of its class."""
        return type(getattr(self.classifier, "estimator", self.classifier)).__name__

    def logits(self, inputs: Given) -> Numbers:
        """Log-probabilities (n, K); a class that it was not trained on has probability 0."""
        if not hasattr(self.classifier, "predict_proba"):
            raise MemberError(
                f"a classifier must have predict_proba; {self.classifier!r} has not. "
                f"sklearn.calibration.CalibratedClassifierCV gives it one."
            )
        known = np.asarray(self.classifier.predict_proba(inputs.x), np.float64)
        p = np.zeros((len(known), self.classes))
        p[:, self._places()] = known
        logs: Numbers = floored(p) if self.floor else logits_from_probs(p)
        return logs

    def _places(self) -> Any:
        classes = np.asarray(self.classifier.classes_)
        if self.names is None:
            return classes
        known = {name: place for place, name in enumerate(np.asarray(self.names).tolist())}
        return [known[name] for name in classes.tolist()]

    def files(self) -> Files:
        """Refuse: only pickle could save it."""
        raise MemberError(
            f"{self.words} is a classifier of scikit-learn, which only pickle could save, and "
            f"pickle runs whatever a file says. Keep it in a way of your own, calibrate its "
            f"predict_proba with ConformalClassifier(members=conftr.members.Probabilities("
            f"classes)), and save that."
        )


def _check_takes_weights(classifier: Any) -> None:
    parameters = inspect.signature(classifier.fit).parameters.values()
    if not any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters):
        raise ValueError(
            f"sample_weight and class_weight cannot be followed: fit of "
            f"{type(classifier).__name__} takes no weights."
        )
