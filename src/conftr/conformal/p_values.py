"""P-values of classes: at which alpha a class leaves the set (sec. 2.1, all alphas at once).

With c the number of calibration scores that a score E(x,k) reaches, of n,

    p_k(x) = (1 + c) / (n + 1),        k is in the set at alpha  if and only if  p_k(x) > alpha.

In words: if k were the true class of x, so low a score, or a lower one, would be met with
probability at most p_k. It is no probability of the class: p-values of a row do not sum to 1, and a
row that is like nothing before has a low one for every class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.conformal import checks
from conftr.conformal.arrays import (
    Array,
    constant,
    default_float,
    extremes,
    is_numpy,
    namespace,
    settled,
)
from conftr.conformal.sets import lowered


def p_values(
    calibration: Array,
    scores: Array,
    *,
    u: Any = None,
    groups: Any = None,
    calibration_groups: Any = None,
) -> Array:
    """P-values (m, K) of classes, from calibration scores of true classes and scores of new rows.

    Class k of row x is in `predict_set(scores, calibrate(..., alpha))` if and only if its p-value
    exceeds alpha, for every alpha; scores are compared up to rounding, as there.

    Args:
        calibration: Scores (n,) of the true classes of calibration examples, `E[range(n), y]`.
        scores: Scores (m, K) of new rows, by the same function.
        u: None for p-values that are exact in the sense above, and valid: that of the true class
            is at most t with probability at most t. Or uniform draws (m,), one for each row, for
            smoothed ones: that of the true class is uniform between 0 and 1, and class k is in
            the set by a coin where its score ties with the threshold.
        groups: None; "class", where class k is compared with calibration examples of class k; or
            the group (m,) of each row, an integer.
        calibration_groups: Of each calibration example (n,): its class or its group, an integer.

    Returns:
        P-values (m, K) in (0, 1], in the library of the scores. A group without calibration
        examples has 1 everywhere: nothing speaks against any class.

    Raises:
        ValueError: If shapes or groups do not fit.

    >>> p_values(np.array([0.1, 0.2, 0.3, 0.4]), np.array([[0.25, 0.05]]))
    array([[0.6, 0.2]])
    """
    scores = checks.scores_array(scores)
    calibration = _true_scores(calibration, scores)
    draws = None if u is None else checks.uniforms(u, scores)
    if groups is None:
        if calibration_groups is not None:
            raise ValueError("calibration_groups must be None where groups is None.")
        return _among(calibration, scores, draws)
    if calibration_groups is None:
        raise ValueError("calibration_groups must be given beside groups, one for each example.")
    if isinstance(groups, str):
        return _by_class(calibration, scores, draws, groups, calibration_groups)
    return _by_group(calibration, scores, draws, groups, calibration_groups)


def _true_scores(calibration: Array, scores: Array) -> Array:
    xp = namespace(scores=scores, calibration=calibration)
    if calibration.ndim != 1:
        raise ValueError(
            f"calibration must have shape (n,), the score of the true class of each example; got "
            f"shape {tuple(calibration.shape)}. Of scores (n, K) it is scores[range(n), labels]."
        )
    return xp.astype(calibration, scores.dtype, copy=False)


def _among(calibration: Array, scores: Array, draws: Array | None) -> Array:
    """P-values of scores (m, K) among calibration scores (n,)."""
    xp, n = namespace(scores=scores), int(calibration.shape[0])
    ordered = xp.sort(calibration, stable=False)
    kind = default_float(xp)  # in which p-values compare with alpha as fractions do
    reached = _places(_below(ordered), scores, "right")
    if draws is None:
        # Read and not divided: XLA rounds a quotient up past the decimal that it equals.
        table = constant(_shares(n), xp.astype(scores[:0, :], kind))
        shares = xp.take(table, xp.reshape(reached, (-1,)), axis=0)
        return xp.reshape(shares, reached.shape)
    reached = xp.astype(reached, kind)
    # What a score ties with, up to rounding on either side, is divided by the draw.
    under = xp.astype(_places(ordered, _below(scores), "left"), kind)
    return (under + xp.astype(draws, kind) * (reached - under + 1)) / (n + 1)


@settled
def _shares(n: int) -> npt.NDArray[np.float64]:
    """1 / (n + 1), 2 / (n + 1), ... 1, the p-values there can be, (n + 1,)."""
    return np.arange(1, n + 2) / (n + 1)


def _places(ordered: Array, values: Array, side: str) -> Array:
    """How many of the ordered numbers (n,) are below values (m, K), or at most them."""
    xp = namespace(values=values)
    if is_numpy(values):
        return ordered.searchsorted(values, side=side)
    flat = xp.reshape(values, (-1,)) + 0  # stored in a row, or PyTorch warns
    flat = xp.searchsorted(ordered, flat, side=side)
    return xp.reshape(flat, values.shape)


def _below(scores: Array) -> Array:
    """Scores less what rounding may take off, in their type."""
    return constant(lowered(scores), scores)


def _by_class(
    calibration: Array, scores: Array, draws: Array | None, groups: str, labels: Array
) -> Array:
    if groups != "class":
        raise ValueError(f'groups must be None, "class" or integers (m,); got {groups!r}.')
    xp, ids = _ids(labels, calibration, int(scores.shape[1]), "calibration_groups")
    columns = [
        _among(calibration[ids == k], scores[:, k : k + 1], draws) for k in range(scores.shape[1])
    ]
    return xp.concat(columns, axis=1)


def _by_group(
    calibration: Array, scores: Array, draws: Array | None, groups: Array, of_calibration: Array
) -> Array:
    namespace(scores=scores, groups=groups)
    if tuple(groups.shape) != (scores.shape[0],):
        raise ValueError(
            f"groups must have shape (m,) = ({scores.shape[0]},), one group a row; got shape "
            f"{tuple(groups.shape)}."
        )
    bound = 1 + max(
        [0, *(extremes(ids_of)[1] for ids_of in (groups, of_calibration) if ids_of.shape[0])]
    )
    xp, known = _ids(of_calibration, calibration, bound, "calibration_groups")
    ids = checks.integers_below(xp, groups, bound, "groups")
    p = xp.ones_like(scores, dtype=default_float(xp))
    for group in range(bound):
        rows = _among(calibration[known == group], scores, draws)
        p = xp.where((ids == group)[:, None], rows, p)
    return p


def _ids(ids: Array, calibration: Array, bound: int, name: str) -> tuple[Any, Array]:
    xp = namespace(calibration=calibration, **{name: ids})
    if tuple(ids.shape) != tuple(calibration.shape):
        raise ValueError(
            f"{name} must have shape (n,) = {tuple(calibration.shape)}, one for each calibration "
            f"example; got shape {tuple(ids.shape)}."
        )
    return xp, checks.integers_below(xp, ids, bound, name)
