"""Cross-conformal sets: all rows train and all rows calibrate (Vovk 2015; Barber et al. 2021, CV+).

The training rows are cut into folds. Each row is scored by the model that did not see its fold, and
a new row by the models of all folds: class k of row x is compared, for every training row i, with
the score that the model without i's fold gives:

    p_k(x) = ( 1 + #{ i : E_i <= E^(-fold(i))(x, k) } ) / (n + 1),    C(x) = {k : p_k(x) > alpha}.

What is promised is weaker than for held-out calibration: with m folds of n / m rows each, coverage
is at least

    1 - 2 alpha - min( 2 (1 - 1/m) / (n/m + 1), (1 - m/n) / (m + 1) ),

whatever the model and the data; in practice it is about 1 - alpha where the models of the folds are
alike. For few rows, where none can be spared for calibration alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.conformal import checks
from conftr.conformal.arrays import host
from conftr.conformal.p_values import p_values
from conftr.conformal.quantile import rank


def cross_p_values(true_scores: Any, folds: Any, scores: Any) -> npt.NDArray[np.float64]:
    """P-values (m, K) of new rows, from out-of-fold scores of the training rows.

    That of the true class is at most alpha with probability at most 1 - `cross_promise`, about
    2 alpha; `p_values` of held-out calibration rows promise alpha itself.

    Args:
        true_scores: Scores of the true classes of the training rows, (n,), each by the model that
            did not see it.
        folds: The fold of each training row, (n,), integers 0..F-1.
        scores: Scores of the new rows by the model of each fold, (F, m, K).

    Returns:
        p_k(x), (m, K), in (0, 1].

    Raises:
        ValueError: If shapes do not fit.
    """
    true_scores, folds, scores = _checked(true_scores, folds, scores)
    n, reached = len(true_scores), np.zeros(scores.shape[1:])
    for fold, fold_scores in enumerate(scores):
        of_fold = true_scores[folds == fold]
        # (1 + c) / (size + 1), of which c is taken: how many scores of the fold are reached.
        reached += np.rint(p_values(of_fold, fold_scores) * (len(of_fold) + 1)) - 1
    p: npt.NDArray[np.float64] = (1 + reached) / (n + 1)
    return p


def cross_predict_set(
    true_scores: Any, folds: Any, scores: Any, alpha: float
) -> npt.NDArray[np.bool_]:
    """C(x) = {k : p_k(x) > alpha} as booleans, (m, K).

    Promised is the bound that `cross_promise` gives, about 1 - 2 alpha; met is usually 1 - alpha.

    Args:
        true_scores: As in `cross_p_values`.
        folds: As in `cross_p_values`.
        scores: As in `cross_p_values`.
        alpha: The share of sets that may miss the truth.

    Returns:
        Booleans (m, K).

    Raises:
        ValueError: If shapes do not fit.
    """
    p, n = cross_p_values(true_scores, folds, scores), len(host(true_scores))
    inside: npt.NDArray[np.bool_] = np.rint(p * (n + 1)) > rank(n, alpha)
    return inside


def cross_promise(n: int, folds: int, alpha: float) -> float:
    """The coverage that cross-conformal sets of n rows in equal folds are sure to have, at least.

    Args:
        n: Training rows.
        folds: How many folds they are cut into, n for leave-one-out.
        alpha: As asked for.

    Returns:
        1 - 2 alpha, less what the number of folds and rows takes off; at least 0.
    """
    level = checks.one_probability(alpha, "alpha")
    checks.number(folds, "folds", at_least=2)
    checks.number(n, "n", at_least=folds)
    by_fold = 2 * (1 - 1 / folds) / (n / folds + 1)
    by_rows = (1 - folds / n) / (folds + 1)
    return max(0.0, 1 - 2 * level - min(by_fold, by_rows))


def _checked(true_scores: Any, folds: Any, scores: Any) -> tuple[Any, Any, Any]:
    true_scores, folds, scores = (host(given) for given in (true_scores, folds, scores))
    if scores.ndim != 3:
        raise ValueError(
            f"scores must have shape (F, m, K), those of the new rows by the model of each fold; "
            f"got shape {scores.shape}."
        )
    if true_scores.ndim != 1 or folds.shape != true_scores.shape:
        raise ValueError(
            f"true_scores and folds must have shape (n,), one for each training row; got "
            f"{true_scores.shape} and {folds.shape}."
        )
    kinds = np.result_type(true_scores, scores, np.float32)
    folds = checks.integers_below(np, folds, len(scores), "folds")
    return true_scores.astype(kinds), folds, scores.astype(kinds)
