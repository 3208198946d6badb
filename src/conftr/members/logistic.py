"""Logistic regression on whitened inputs: scikit-learn finds it, arrays keep it.

Of rows on disk it is found a block at a time (`conftr.members.logistic_by_blocks`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from conftr.features.spread import Spread
from conftr.machine.rows_on_disk import RowsOnDisk
from conftr.members import logistic_by_blocks
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
_ROUGH = 1e-3
_HUGE = 2e7  # and beyond which they stay in single precision, which takes half of the memory
_BLOCK = 2**20  # numbers of inputs that are answered at a time


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
        inputs = rows.inputs
        matrix = inputs.flat if isinstance(inputs, RowsOnDisk) else flat(inputs)
        spread = Spread.learn(matrix, getattr(rows.reader, "levels", {}))
        x = spread.encode(matrix)

        def fit(fold: Fold) -> LinearModel:
            return LinearModel(spread, *regressed(x, rows, fold, self.strength, seed), rows.classes)

        return [FittedMember(self.name, rows.reader, fit_each(folds, fit, progress))]


def regressed(
    x: Any, rows: MemberRows, fold: Fold, strength: float, seed: int
) -> tuple[Numbers, Numbers, npt.NDArray[np.int64]]:
    """Weights (d, k), biases (k,) and the k classes of a logistic regression on a fold's rows.

    Args:
        x: All rows, (n, d), also on disk or as a sparse matrix.
        rows: Their classes and weights.
        fold: Which of them train.
        strength: Of the penalty on weights.
        seed: Of what is random in it.

    Raises:
        MemberError: If they are of a single class.
    """
    labels = rows.labels[fold.train]
    if len(np.unique(labels)) < 2:
        raise MemberError("logistic regression needs two classes or more in every fold.")
    if isinstance(x, RowsOnDisk):
        return logistic_by_blocks.regressed(
            x[fold.train], labels, rows.weights_of(fold), strength, _ROUGH
        )
    return _regressed_at_once(x, rows, fold, strength, seed)


def _regressed_at_once(
    x: Any, rows: MemberRows, fold: Fold, strength: float, seed: int
) -> tuple[Numbers, Numbers, npt.NDArray[np.int64]]:
    """The same by scikit-learn, on the matrix as a whole."""
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    labels, of_fold = rows.labels[fold.train], x[fold.train]
    if isinstance(x, np.ndarray) and x.size <= _HUGE:
        of_fold = of_fold.astype(np.float64)
    tolerance = _ROUGH if len(labels) * x.shape[1] > _LARGE else 1e-4
    regression = LogisticRegression(
        C=1 / strength, max_iter=300, tol=tolerance, random_state=seed % 2**31
    )
    regression.fit(of_fold, labels, rows.weights_of(fold))
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
        matrix = flat(inputs)
        size = max(1, _BLOCK // max(1, matrix.shape[1]))  # doubles of all would take much memory
        firsts = range(0, max(1, len(matrix)), size)
        logits = np.concatenate([self._product(matrix[i : i + size]) for i in firsts])
        return all_log_probabilities(logits, self.known, self.classes)

    def _product(self, matrix: Any) -> Numbers:
        return product(self.spread.encode(matrix), self.weights, self.bias)

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
