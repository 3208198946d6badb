"""Which examples train, and which are kept to calibrate and test on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from conftr.data import Dataset, Examples
from conftr.data.dataset import permutation
from conftr.machine.digests import of_arrays
from conftr.search.sweeps import held_out_size


class TrainAndPool(NamedTuple):
    """Examples to train on, and a pool to evaluate on, of which each split calibrates `n_cal`.

    Attributes:
        kept: The last so many of the pool come from the training split and are not evaluated on: a
            head learns from what trained models say of them.
    """

    train: Examples
    pool: Examples
    n_cal: int
    kept: int = 0

    @property
    def evaluated(self) -> int:
        """How many of the pool are evaluated on, its first."""
        return len(self.pool.y) - self.kept

    def fingerprint(self) -> str:
        """16 hexadecimal digits of the SHA-256 of everything here."""
        return of_arrays(*self.train, *self.pool, start=str(self.n_cal))


def calibration_and_test(dataset: Dataset) -> TrainAndPool:
    """The paper's protocol: the training split trains, calibration and test examples are pooled."""
    train = _rows(dataset, slice(len(dataset.y_train) - dataset.held))
    x = np.concatenate([dataset.x_cal, dataset.x_test])
    y = np.concatenate([dataset.y_cal, dataset.y_test])
    return TrainAndPool(train, Examples(x, y), len(dataset.y_cal))


def held_out(dataset: Dataset, *, share: float, at_most: int, seed: int) -> TrainAndPool:
    """For choosing settings: a part of the training split is the pool, and the rest trains.

    Calibration and test examples are not looked at. Half of the pool calibrates.
    """
    train, held = _divided(dataset, share, at_most, seed)
    return TrainAndPool(train, held, len(held.y) // 2)


def kept_for_a_head(dataset: Dataset, *, share: float, at_most: int, seed: int) -> TrainAndPool:
    """The paper's pool, with a part of the training split kept back for a head to learn from."""
    train, kept = _divided(dataset, share, at_most, seed)
    _, pool, n_cal = calibration_and_test(dataset)[:3]
    both = Examples(np.concatenate([pool.x, kept.x]), np.concatenate([pool.y, kept.y]))
    return TrainAndPool(train, both, n_cal, len(kept.y))


def _divided(dataset: Dataset, share: float, at_most: int, seed: int) -> tuple[Examples, Examples]:
    """Training examples that train, and those held out: drawn, unless the dataset says which."""
    n = len(dataset.y_train)
    size = dataset.held or held_out_size(n, share, at_most)
    order = np.arange(n)[::-1] if dataset.held else permutation(n, seed)
    return _rows(dataset, order[size:]), _rows(dataset, order[:size])


def _rows(dataset: Dataset, rows: Any) -> Examples:
    return Examples(dataset.x_train[rows], dataset.y_train[rows])
