"""Logistic regression on whitened inputs, for few rows: scikit-learn finds it, arrays keep it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from conftr.features.spread import Spread
from conftr.members.member import (
    Files,
    FittedMember,
    Fold,
    MemberError,
    MemberRows,
    Numbers,
    Progress,
    all_log_probabilities,
    fit_each,
    flat,
    is_choice,
    product,
)

_WEIGHTS, _SETTINGS = "logistic.safetensors", "logistic.json"
_LARGE = 1e6  # numbers of inputs beyond which a rougher solution will do
_HUGE = 2e7  # and beyond which they stay in single precision, which takes half of the memory


@dataclass(frozen=True)
class Logistic:
    """Logistic regression for each fold.

    Attributes:
        strength: Of the penalty on weights, as 1 / C of scikit-learn.
    """

    strength: float = 1.0
    name: str = "logistic regression"

    def fit(
        self, rows: MemberRows, folds: Sequence[Fold], *, seed: int, progress: Progress
    ) -> list[FittedMember]:
        """Fit a model on each fold."""
        matrix = flat(rows.inputs)
        spread = Spread.learn(matrix, getattr(rows.reader, "levels", {}))
        x = spread.encode(matrix)
        if x.size <= _HUGE:
            x = x.astype(np.float64)

        def fit(fold: Fold) -> LinearModel:
            return LinearModel(spread, *regressed(x, rows, fold, self.strength, seed), rows.classes)

        return [FittedMember(self.name, rows.reader, fit_each(folds, fit, progress))]


def regressed(
    x: Any, rows: MemberRows, fold: Fold, strength: float, seed: int
) -> tuple[Numbers, Numbers, npt.NDArray[np.int64]]:
    """Weights (d, k), biases (k,) and the k classes of a logistic regression on a fold's rows.

    Args:
        x: All rows, (n, d), also as a sparse matrix.
        rows: Their classes and weights.
        fold: Which of them train.
        strength: Of the penalty on weights.
        seed: Of what is random in it.

    Raises:
        MemberError: If they are of a single class.
    """
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    labels = rows.labels[fold.train]
    if len(np.unique(labels)) < 2:
        raise MemberError("logistic regression needs two classes or more in every fold.")
    tolerance = 1e-3 if len(labels) * x.shape[1] > _LARGE else 1e-4
    regression = LogisticRegression(
        C=1 / strength, max_iter=300, tol=tolerance, random_state=seed % 2**31
    )
    regression.fit(x[fold.train], labels, rows.weights_of(fold))
    weights, bias = (
        array.astype(np.float64) for array in (regression.coef_.T, regression.intercept_)
    )
    if len(regression.classes_) == 2:  # one column stands for both
        weights, bias = np.hstack([-weights, weights]) / 2, np.append(-bias, bias) / 2
    return weights, bias, np.asarray(regression.classes_, np.int64)


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Logits x W + b of the classes that training rows held."""

    kind: ClassVar[str] = "logistic"

    spread: Spread
    weights: Numbers
    bias: Numbers
    known: Any
    classes: int

    @property
    def words(self) -> str:
        """How large it is."""
        return f"{self.weights.size + self.bias.size} weights"

    def logits(self, inputs: Any) -> Numbers:
        """Log-probabilities (n, K), with a floor where training rows lacked classes."""
        logits = product(self.spread.encode(flat(inputs)), self.weights, self.bias)
        return all_log_probabilities(logits, self.known, self.classes)

    def files(self) -> Files:
        """Weights as arrays, the encoding as text."""
        arrays = {"weights": self.weights, "bias": self.bias, "known": self.known}
        settings = {"classes": self.classes, "spread": self.spread.to_json()}
        return {
            _WEIGHTS: safetensors.numpy.save(
                {name: np.ascontiguousarray(array) for name, array in arrays.items()}
            ),
            _SETTINGS: json.dumps(settings).encode(),
        }


def load(files: Files) -> LinearModel:
    """The model that was saved as these files."""
    settings, arrays = json.loads(files[_SETTINGS]), safetensors.numpy.load(files[_WEIGHTS])
    spread = Spread.from_json(settings["spread"])
    known, weights, bias = arrays["known"], arrays["weights"], arrays["bias"]
    fits = weights.shape == (*spread.inputs, len(known)) and bias.shape == known.shape
    if not fits or not is_choice(known, settings["classes"]):
        raise MemberError(f"{_WEIGHTS} does not fit {_SETTINGS}.")
    return LinearModel(spread, weights, bias, known, settings["classes"])
