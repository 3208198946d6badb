"""Logistic regression on hashed n-grams of texts: sparse rows, arrays that keep the weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from conftr.features.text_columns import NgramColumns, SparseRows, TextColumns
from conftr.members.logistic import regressed
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
    is_choice,
)

_WEIGHTS, _SETTINGS = "ngrams.safetensors", "ngrams.json"


@dataclass(frozen=True)
class NgramLogistic:
    """Logistic regression on words, pairs of words and runs of letters, for each fold.

    Attributes:
        strength: Of the penalty on weights, as 1 / C of scikit-learn.
    """

    strength: float = 0.03
    name: str = "n-grams"

    def fit(
        self, rows: MemberRows, folds: Sequence[Fold], *, seed: int, progress: Progress
    ) -> list[FittedMember]:
        """Fit a model on each fold."""
        if not isinstance(rows.reader, TextColumns):
            raise MemberError("n-grams are of texts, and no column of the rows holds texts.")
        reader = NgramColumns.learn(rows.X, list(rows.reader.texts))
        # Single precision takes half of the time and memory, and weights are kept in it.
        matrix = reader.encode(rows.X).matrix.astype(np.float32)

        def fit(fold: Fold) -> SparseLinearModel:
            weights, bias, known = regressed(matrix, rows, fold, self.strength, seed)
            return SparseLinearModel(weights.astype(np.float32), bias, known, rows.classes)

        return [FittedMember(self.name, reader, fit_each(folds, fit, progress))]


@dataclass(frozen=True, eq=False)
class SparseLinearModel:
    """Logits x W + b of the classes that training rows held; x is sparse."""

    kind: ClassVar[str] = "ngrams"

    weights: npt.NDArray[np.float32]
    bias: Numbers
    known: npt.NDArray[np.int64]
    classes: int

    @property
    def words(self) -> str:
        """How large it is."""
        return f"{self.weights.size + self.bias.size} weights"

    def logits(self, inputs: SparseRows) -> Numbers:
        """Log-probabilities (n, K), with a floor where training rows lacked classes."""
        # Sparse rows are multiplied one by one, so that none depends on those beside it.
        logits = inputs.matrix @ self.weights.astype(np.float64) + self.bias
        return all_log_probabilities(logits, self.known, self.classes)

    def files(self) -> Files:
        """Weights as arrays."""
        arrays = {"weights": self.weights, "bias": self.bias, "known": self.known}
        kept = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        settings = {"classes": self.classes}
        return {_WEIGHTS: safetensors.numpy.save(kept), _SETTINGS: json.dumps(settings).encode()}


def load(files: Files) -> SparseLinearModel:
    """The model that was saved as these files."""
    settings, arrays = json.loads(files[_SETTINGS]), safetensors.numpy.load(files[_WEIGHTS])
    weights, bias, known = (arrays[name] for name in ("weights", "bias", "known"))
    fits = weights.ndim == 2 and weights.shape[1] == len(bias) == len(known)
    if not fits or not is_choice(known, settings["classes"]):
        raise MemberError(f"{_WEIGHTS} does not hold a weight for each class.")
    return SparseLinearModel(weights, bias, known, int(settings["classes"]))
