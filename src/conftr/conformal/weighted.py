"""Calibration under a known shift: every example has a weight (Tibshirani et al. 2019).

Where new rows are drawn otherwise than calibration rows, and w(x) says how much likelier a row is
among the new ones, the sets keep the promise if calibration scores count by their weights and the
new row's own weight counts too:

    k is in C(x)  if and only if  ( sum of w_i over E_i <= E(x,k) + w(x) ) / ( sum of w_i + w(x) )
                                  > alpha.

With equal weights that is `calibrate` and `predict_set`. The promise, at least 1 - alpha over
calibration and new rows together, is exact where the weights are known up to a common factor and
the classes of equal rows are distributed alike in both. Weights that were estimated promise as much
as the estimate is worth. A new row whose own weight exceeds alpha of the total has every class in
its set: no calibration row speaks for such rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.conformal import checks
from conftr.conformal.arrays import Array, constant, host, pick, stop_gradient

WEIGHT_ROUNDING = 1e-12  # of the total weight, which sums of weights may miss


def weighted_calibrate(
    scores: Array, labels: Array, alpha: float, *, weights: Array, test_weights: Array
) -> Array:
    """tau(x) for each of m new rows, from scores (n, K), labels (n,) and weights.

        tau = conftr.weighted_calibrate(E_cal, y_cal, 0.1, weights=w_cal, test_weights=w_new)
        sets = conftr.predict_set(E_new, tau[:, None])

    Args:
        scores: Scores (n, K) of calibration examples, higher conforms better.
        labels: Their classes (n,).
        alpha: The share of sets that may miss the truth.
        weights: How much likelier each calibration example is among new rows, (n,), up to a
            factor that is common to all of them and to `test_weights`.
        test_weights: The same of each new row, (m,).

    Returns:
        A threshold for each new row, (m,); -inf where its own weight is too large a share of all.

    Raises:
        ValueError: If a weight is negative or not finite, or none is positive.
    """
    scores = checks.scores_array(scores)
    labels = checks.labels_array(labels, scores, "scores")
    level = checks.one_probability(alpha, "alpha")
    true_scores = host(stop_gradient(pick(scores, labels)))
    weights = known_weights(weights, "weights", len(true_scores))
    test_weights = known_weights(test_weights, "test_weights")
    order = np.argsort(true_scores)
    sums = np.append(0.0, np.cumsum(weights[order]))
    totals = sums[-1] + test_weights
    if not (totals > 0).all():
        raise ValueError("weights must not all be 0: there is nothing to calibrate with.")
    # The lowest score whose sum, with the row's own weight, is more than alpha of the total.
    limits = (level + WEIGHT_ROUNDING) * totals - test_weights
    places = np.minimum(np.searchsorted(sums, limits, side="right"), len(true_scores))
    return constant(np.append(-math.inf, true_scores[order])[places], scores)


def known_weights(weights: Any, name: str, n: int | None = None) -> npt.NDArray[np.float64]:
    """Weights (n,) in double precision, refused in words where one is negative or not finite."""
    # Sums of them decide about sets.
    known: npt.NDArray[np.float64] = host(weights).astype(np.float64)
    if known.ndim != 1 or n not in (None, len(known)):
        expected = "(m,), one for each new row" if n is None else f"({n},), one for each example"
        raise ValueError(f"{name} must have shape {expected}; got shape {known.shape}.")
    if not (np.isfinite(known) & (known >= 0)).all():
        raise ValueError(f"{name} must be finite and not negative.")
    return known
