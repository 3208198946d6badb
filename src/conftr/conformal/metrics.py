"""What is measured on prediction sets (sec. 2.1 and 3.3): booleans (n, K) and labels (n,).

A class, group or set size without examples has no value: nan, never 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.conformal import checks
from conftr.conformal.arrays import (
    Array,
    Namespace,
    constant,
    default_float,
    is_concrete,
    namespace,
    pick,
)
from conftr.conformal.quantile import rank


def coverage(sets: Array, labels: Array) -> Any:
    """Share of examples whose set holds their class, eq. (2).

    Args:
        sets: Booleans (n, K), as of `predict_set`.
        labels: True classes (n,), integers below K.

    Returns:
        A number in [0, 1]; nan without examples.
    """
    xp, sets, labels = _checked(sets, labels)
    return _mean(xp, pick(sets, labels))


def inefficiency(sets: Array) -> Any:
    """Mean set size, eq. (2).

    Args:
        sets: Booleans (n, K), as of `predict_set`.

    Returns:
        A number in [0, K]; nan without examples.
    """
    xp, sets = namespace(sets=sets), checks.sets_array(sets)
    return _mean(xp, sets)


def accuracy(logits: Array, labels: Array) -> Any:
    """Share of examples whose class has the largest logit.

    Args:
        logits: Of n examples and K classes, (n, K).
        labels: True classes (n,), integers below K.

    Returns:
        A number in [0, 1].
    """
    logits = checks.logits_array(logits)
    labels = checks.labels_array(labels, logits)
    xp = namespace(logits=logits)
    return _mean(xp, constant(xp.argmax(logits, axis=1), labels, integer=True) == labels)


def class_coverage(sets: Array, labels: Array) -> Array:
    """Coverage among the examples of each class.

    Args:
        sets: Booleans (n, K), as of `predict_set`.
        labels: True classes (n,), integers below K.

    Returns:
        A share for each class, (K,); nan where a class has no examples.
    """
    xp, sets, labels = _checked(sets, labels)
    return _means_by(xp, pick(sets, labels), labels, sets.shape[1])


def class_inefficiency(sets: Array, labels: Array) -> Array:
    """Ineff[Y = y], mean set size among the examples of each class, (K,), eq. (6).

    Args:
        sets: Booleans (n, K), as of `predict_set`.
        labels: True classes (n,), integers below K.

    Returns:
        A mean size for each class, (K,); nan where a class has no examples.
    """
    xp, sets, labels = _checked(sets, labels)
    return _means_by(xp, _sizes(xp, sets), labels, sets.shape[1])


def group_coverage(sets: Array, labels: Array, groups: Sequence[Sequence[int]]) -> Array:
    """Coverage among the examples whose class is in each group of classes.

    Args:
        sets: Booleans (n, K), as of `predict_set`.
        labels: True classes (n,), integers below K.
        groups: Groups of classes, each a sequence of integers.

    Returns:
        A share for each group, (len(groups),).
    """
    xp, sets, labels = _checked(sets, labels)
    return _group_means(xp, pick(sets, labels), labels, _membership(groups, sets))


def group_inefficiency(sets: Array, labels: Array, groups: Sequence[Sequence[int]]) -> Array:
    """Mean set size among the examples whose class is in each group.

    Args:
        sets: Booleans (n, K), as of `predict_set`.
        labels: True classes (n,), integers below K.
        groups: Groups of classes, each a sequence of integers.

    Returns:
        A mean size for each group, (len(groups),).
    """
    xp, sets, labels = _checked(sets, labels)
    return _group_means(xp, _sizes(xp, sets), labels, _membership(groups, sets))


def coverage_confusion(sets: Array, labels: Array) -> Array:
    """Sigma[y,k], share of all examples that have class y and k in their set, (K, K), eq. (7).

    Args:
        sets: Booleans (n, K), as of `predict_set`.
        labels: True classes (n,), integers below K.

    Returns:
        Sigma, (K, K); its rows are true classes.
    """
    xp, sets, labels = _checked(sets, labels)
    sums = _sums_by(xp, sets, labels, sets.shape[1])
    return _ratio(xp, sums, xp.full_like(sums, sets.shape[0]))


def miscoverage(sets: Array, labels: Array, group: Sequence[int], others: Sequence[int]) -> Any:
    """MisCover, share of the examples of `group` whose set holds any class of `others`, eq. (8).

    Args:
        sets: Booleans (n, K), as of `predict_set`.
        labels: True classes (n,), integers below K.
        group: Classes whose examples count.
        others: Classes that their sets should not hold.

    Returns:
        A number in [0, 1].
    """
    xp, sets, labels = _checked(sets, labels)
    inside, unwanted = _membership([group, others], sets)
    mixed = xp.any(sets & constant(unwanted, sets)[None, :], axis=1)
    share = _group_means(xp, mixed, labels, inside[None, :])[0]
    return float(share) if is_concrete(share) else share


def size_histogram(sets: Array) -> Array:
    """How many sets have each size from 0 to K.

    Args:
        sets: Booleans (n, K), as of `predict_set`.

    Returns:
        Counts, (K + 1,).
    """
    xp, sets = namespace(sets=sets), checks.sets_array(sets)
    sizes = _sizes(xp, sets)
    return _sums_by(xp, xp.ones_like(sizes), sizes, sets.shape[1] + 1)


def size_stratified_coverage(sets: Array, labels: Array) -> Array:
    """Coverage among the sets of each size from 0 to K.

    Args:
        sets: Booleans (n, K), as of `predict_set`.
        labels: True classes (n,), integers below K.

    Returns:
        A share for each size, (K + 1,); nan where no set has it.
    """
    xp, sets, labels = _checked(sets, labels)
    return _means_by(xp, pick(sets, labels), _sizes(xp, sets), sets.shape[1] + 1)


def coverage_law(n_cal: int, n_test: int, alpha: float) -> npt.NDArray[np.float64]:
    """P(at most j of n_test examples are covered), j = 0..n_test, over calibration and test draws.

    With distinct scores, coverage given the calibration set follows Beta(n_cal + 1 - r, r), so the
    count is beta-binomial; with ties it is larger. Summed in logs from the ratios of neighbouring
    terms, p(j+1) / p(j) = (n - j) (a + j) / ((j + 1) (b + n - j - 1)).

    Args:
        n_cal: Calibration examples.
        n_test: Test examples.
        alpha: The share of sets that may miss the truth.

    Returns:
        P(at most j are covered) for j = 0..n_test, (n_test + 1,).
    """
    checks.one_probability(alpha, "alpha")
    checks.number(n_cal, "n_cal", at_least=1)
    checks.number(n_test, "n_test", at_least=0)
    b = rank(n_cal, alpha)
    if b == 0:
        return np.append(np.zeros(n_test), 1.0)
    a, j = n_cal + 1 - b, np.arange(n_test, dtype=np.float64)
    ratios = np.log(n_test - j) + np.log(a + j) - np.log(j + 1) - np.log(b + n_test - j - 1)
    logs = np.append(0.0, np.cumsum(ratios))
    terms = np.exp(logs - np.max(logs))
    law: npt.NDArray[np.float64] = np.minimum(np.cumsum(terms) / np.sum(terms), 1.0)
    return law


def _checked(sets: Array, labels: Array) -> tuple[Namespace, Array, Array]:
    sets = checks.sets_array(sets)
    return namespace(sets=sets, labels=labels), sets, checks.labels_array(labels, sets)


def _int(xp: Namespace, x: Array) -> Array:
    return constant(x, x, integer=True) if xp.isdtype(x.dtype, "bool") else x


def _sizes(xp: Namespace, sets: Array) -> Array:
    return xp.sum(_int(xp, sets), axis=1)


def _mean(xp: Namespace, true: Array) -> Any:
    """How many entries of `true` (n, ...) hold, over n: a float, under jit an array."""
    total, n = xp.sum(_int(xp, true)), true.shape[0]
    if not is_concrete(total):
        return xp.astype(total, default_float(xp)) / n
    return int(total) / n if n else math.nan


def _sums_by(xp: Namespace, values: Array, ids: Array, count: int) -> Array:
    """Sums of the rows of `values` (n,) or (n, K) that share an id in 0..count-1, (count, ...).

    Differences of a running sum over the rows in order of their id, so memory does not grow
    with n x count.
    """
    order = xp.argsort(ids, stable=False)
    running = xp.cumulative_sum(
        _int(xp, xp.take(values, order, axis=0)), axis=0, include_initial=True
    )
    names = constant(list(range(count)), ids, integer=True)
    ordered = xp.astype(xp.take(ids, order, axis=0), names.dtype)
    upto = xp.searchsorted(ordered, names, side="right")
    before = xp.searchsorted(ordered, names, side="left")
    return xp.take(running, upto, axis=0) - xp.take(running, before, axis=0)


def _ratio(xp: Namespace, sums: Array, counts: Array) -> Array:
    """sums / counts, nan where nothing was counted."""
    dtype = default_float(xp)
    safe = xp.astype(xp.maximum(counts, xp.ones_like(counts)), dtype)
    return xp.where(counts > 0, xp.astype(sums, dtype) / safe, math.nan)


def _means_by(xp: Namespace, values: Array, ids: Array, count: int) -> Array:
    counts = _sums_by(xp, xp.ones_like(ids), ids, count)
    return _ratio(xp, _sums_by(xp, values, ids, count), counts)


def _group_means(xp: Namespace, values: Array, labels: Array, members: Any) -> Array:
    """Means over the examples whose class is a member, members (G, K) -> (G,)."""
    n_classes = members.shape[1]
    inside = constant(members, labels, integer=True)
    sums = _sums_by(xp, values, labels, n_classes)[None, :] * inside
    counts = _sums_by(xp, xp.ones_like(labels), labels, n_classes)[None, :] * inside
    return _ratio(xp, xp.sum(sums, axis=1), xp.sum(counts, axis=1))


def _membership(groups: Sequence[Sequence[int]], sets: Array) -> npt.NDArray[np.bool_]:
    """Which classes belong to each group, (G, K)."""
    n_classes = sets.shape[1]
    for group in groups:
        bad = [k for k in group if not (isinstance(k, int | np.integer) and 0 <= k < n_classes)]
        if bad:
            raise ValueError(f"groups must list classes in 0..{n_classes - 1}; got {bad[0]!r}.")
    return np.array([[k in set(group) for k in range(n_classes)] for group in groups])
