"""Logistic regression on rows that memory does not hold, a block of them at a time.

Minimised is what scikit-learn minimises, by the same L-BFGS:

    mean_i w_i (-log softmax(x_i W + b)[y_i]) + s / (2 sum_i w_i) |W|^2

whose value and gradient are sums over rows, and so over blocks of rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.conformal.arrays import log_softmax
from conftr.machine.rows_on_disk import RowsOnDisk

Doubles: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

_STEPS = 300


class _Sums(NamedTuple):
    """Over some rows: the loss, and its gradient by weights and biases (d + 1, k)."""

    loss: float
    gradient: Doubles


def regressed(
    x: RowsOnDisk, labels: Any, weights: Doubles | None, strength: float, tolerance: float
) -> tuple[Doubles, Doubles, Integers]:
    """Weights (d, k), biases (k,) and the k classes of a logistic regression.

    Args:
        x: Inputs (n, d).
        labels: Their classes (n,), two different ones or more.
        weights: Of the rows (n,), if any.
        strength: Of the penalty on W, s.
        tolerance: The largest number of the gradient at which it ends.
    """
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    known, places = np.unique(labels, return_inverse=True)
    row_weights, shape = _row_weights(weights, len(x)), (x.shape[1] + 1, len(known))
    # Of two classes scikit-learn has one column of weights, w, and here are -w / 2 and w / 2.
    penalty = strength * (2 if len(known) == 2 else 1)

    def value_and_gradient(flat: Doubles) -> tuple[float, Doubles]:
        W = flat.reshape(shape)
        sums, total = _summed(x, places, row_weights, W), row_weights.sum()
        shrunk = np.vstack([W[:-1], np.zeros(shape[1])]) * penalty
        loss = (sums.loss + (shrunk * W).sum() / 2) / total
        return float(loss), ((sums.gradient + shrunk) / total).reshape(-1)

    options = {"maxiter": _STEPS, "maxls": 50, "gtol": tolerance, "ftol": 64 * 2.0**-52}
    start = np.zeros(shape).reshape(-1)
    solved = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    W = solved.x.reshape(shape)
    return W[:-1].copy(), W[-1].copy(), np.asarray(known, np.int64)


def _row_weights(weights: Doubles | None, n: int) -> Doubles:
    return np.ones(n) if weights is None else weights


def _summed(x: RowsOnDisk, places: Any, row_weights: Doubles, W: Doubles) -> _Sums:
    """The sums over all rows, block by block."""
    loss, gradient, first = 0.0, np.zeros(W.shape), 0
    for block in x.blocks():
        rows = slice(first, first + len(block))
        of_block = _of_block(block, places[rows], row_weights[rows], W)
        loss, gradient = loss + of_block.loss, gradient + of_block.gradient
        first += len(block)
    return _Sums(loss, gradient)


def _of_block(block: Any, places: Any, row_weights: Doubles, W: Doubles) -> _Sums:
    """The sums over a block; products in the precision of the inputs, all else in doubles."""
    logs: Doubles = log_softmax((block @ W[:-1].astype(block.dtype)).astype(np.float64) + W[-1])
    rows, residuals = np.arange(len(block)), np.exp(logs)
    residuals[rows, places] -= 1
    residuals *= row_weights[:, None]
    by_weights = block.T @ residuals.astype(block.dtype)
    loss = -float(row_weights @ logs[rows, places])
    return _Sums(loss, np.vstack([by_weights, residuals.sum(axis=0)]))
