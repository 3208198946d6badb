"""Losses on soft sets C (n, K) in [0, 1] and labels (n,) (sec. 3.1, 3.2 and app. E)."""

from __future__ import annotations

from typing import Any

from conftr.conformal import checks
from conftr.conformal.arrays import (
    Array,
    at_least,
    constant,
    counting,
    library,
    namespace,
    pick,
    total,
)


def size_loss(sets: Array, labels: Array, *, target_size: Any = 1, weights: Any = None) -> Array:
    """Omega = mean_i omega[y_i] max(0, sum_k C_ik - kappa), eq. (3).

    Args:
        sets: Soft sets (n, K) in [0, 1], as of `smooth_predict_set`.
        labels: True classes (n,), integers below K.
        target_size: Kappa; 1 does not punish sets of a single class.
        weights: Omega (K,), raw, not normalised; None is 1 for every class (sec. 3.3).

    Returns:
        Omega, ().

    Raises:
        ValueError: If shapes do not fit.
    """
    sets, labels = _checked(sets, labels)
    if weights is not None:
        checks.array_of_shape(weights, (sets.shape[1],), "class weights", "one a class")
    return library(sets).mean(excess(sets, labels, target_size, weights))


def class_loss(sets: Array, labels: Array, matrix: Any) -> Array:
    """L_class = mean_i sum_k L[y_i,k] ((1 - C_ik) if k = y_i else C_ik), eq. (5).

    Args:
        sets: Soft sets (n, K) in [0, 1], as of `smooth_predict_set`.
        labels: True classes (n,), integers below K.
        matrix: L (K, K), not negative. The diagonal asks for coverage, L[y,k] for sets of true
            class y without k. The identity asks for coverage alone.

    Returns:
        L_class, ().

    Raises:
        ValueError: If shapes do not fit.
    """
    (sets, labels), k = _checked(sets, labels), sets.shape[1]
    checks.array_of_shape(matrix, (k, k), "loss matrix", "a row a true class")
    return library(sets).mean(cost(sets, labels, matrix))


def coverage_loss(sets: Array, labels: Array, alpha: Any) -> Array:
    """L_cov = (mean_i C_{i,y_i} - (1 - alpha))^2 over the batch (Bel, app. E).

    Args:
        sets: Soft sets (n, K) in [0, 1], as of `smooth_predict_set`.
        labels: True classes (n,), integers below K.
        alpha: The share of sets that may miss the truth.

    Returns:
        L_cov, ().

    Raises:
        ValueError: If shapes do not fit, or alpha is not between 0 and 1.
    """
    sets, labels = _checked(sets, labels)
    alpha = checks.one_probability(alpha, "alpha")
    return (library(sets).mean(missed(sets, labels)) - alpha) ** 2


def excess(sets: Array, labels: Array, target_size: Any, weights: Any) -> Array:
    """What each example adds to `size_loss`, (n,); nothing is checked."""
    beyond = at_least(total(sets, axis=1) - target_size, 0.0)
    if weights is None:
        return beyond
    return beyond * library(sets).take(constant(weights, sets), labels, axis=0)


def cost(sets: Array, labels: Array, matrix: Any) -> Array:
    """What each example adds to `class_loss`, (n,); nothing is checked."""
    xp = library(sets)
    truth = labels[:, None] == counting(sets.shape[1], labels)[None, :]
    wrong = xp.where(truth, 1 - sets, sets)
    return xp.sum(xp.take(constant(matrix, sets), labels, axis=0) * wrong, axis=1)


def missed(sets: Array, labels: Array) -> Array:
    """1 - C_{i,y_i}, (n,): `cost` where the matrix is the identity."""
    return 1 - pick(sets, labels)


def _checked(sets: Array, labels: Array) -> tuple[Array, Array]:
    """Soft sets (n, K) and their labels (n,)."""
    xp = namespace(sets=sets)
    if not xp.isdtype(sets.dtype, "real floating"):
        raise TypeError(
            f"sets must be degrees of membership in [0, 1], floating point; got {sets.dtype}."
        )
    sets = checks.logits_array(sets, "sets", values=False)
    return sets, checks.labels_array(labels, sets, "sets")
