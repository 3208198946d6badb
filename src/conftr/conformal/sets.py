"""Calibration and prediction (Alg. 1), each beside its smooth twin.

One convention: a score E(x,k) is higher for classes that conform better, and
C(x) = {k : E(x,k) >= tau} with tau the r-th smallest score of the true classes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from conftr.conformal import checks
from conftr.conformal.arrays import (
    Array,
    constant,
    is_concrete,
    namespace,
    pick,
    stop_gradient,
)
from conftr.conformal.batch import soft_sets
from conftr.conformal.direct import ranked_scores, reaches
from conftr.conformal.quantile import (
    CalibrationWarning,
    Quantile,
    SmoothSort,
    rank,
    readable_examples_needed,
)
from conftr.conformal.scores import thr

Score: TypeAlias = Callable[..., Array]

ROUNDING = 2.0**-21  # 4 times the distance of float32 numbers near 1
NEAR_ONE = 128  # what is below 1 / 128 was not made from numbers near 1
LARGEST = 1e30  # beyond, thresholds stay as they are: infinities have no rounding


def calibrate(
    scores: Array,
    labels: Array,
    alpha: Any,
    *,
    groups: Any = None,
    n_groups: int | None = None,
    score: Score | None = None,
    u: Any = None,
) -> Any:
    """tau = E_(r), r = floor(alpha (n + 1)), from scores (n, K) and labels (n,). Alg. 1.

    Where alpha asks for more examples than there are, tau is -inf (every class is predicted) and a
    `CalibrationWarning` says how many it takes. Another asks whether scores above 1 are logits that
    were not scored; `score=thr_logits` says that they are meant. Smooth twin: `smooth_calibrate`.

    Args:
        scores: Of n examples and K classes, (n, K); higher conforms better.
        labels: True classes (n,), integers below K.
        alpha: The share of sets that may miss the truth; a number, or an array for one tau each.
        groups: None, or "class" for one threshold per class, or integers (n,) for one per group.
        n_groups: How many groups there are, if more than appear here.
        score: A score such as `thr`; the first argument then holds the logits that it scores.
        u: Of a score that takes it, as `aps` does: uniform draws (n,); None is U = 0.

    Returns:
        A float, or an array of shape alpha.shape (+ (n_groups,) with groups).

    Raises:
        ValueError: If alpha is not between 0 and 1, or shapes do not fit.
    """
    alphas = checks.probability(alpha, "alpha")
    if score is thr and groups is None:
        tau = _marginal_of_thr(scores, labels, alphas)
        if tau is not None:
            return float(tau) if alphas.ndim == 0 else tau
    scores = _scored(scores, score, u)
    labels = checks.labels_array(labels, scores, "scores")
    if scores.shape[0] == 0:
        raise ValueError("scores must hold at least one calibration example; got shape (0, ...).")
    if score is None:
        _warn_of_logits(scores)
    true_scores = stop_gradient(pick(scores, labels))
    if groups is None:
        tau = marginal(true_scores, alphas)
        return float(tau) if alphas.ndim == 0 and is_concrete(tau) else tau
    if isinstance(groups, str):
        if groups != "class":
            raise ValueError(f'groups must be None, "class" or integers (n,); got {groups!r}.')
        return _grouped(true_scores, labels, int(scores.shape[1]), alphas, "class")
    ids, count = _group_ids(groups, labels, n_groups)
    return _grouped(true_scores, ids, count, alphas, "group")


def marginal(true_scores: Array, alphas: Any) -> Array:
    """E_(r) of the true classes' scores (n,) for every alpha, of shape alphas.shape."""
    xp, n = namespace(scores=true_scores), int(true_scores.shape[0])
    ranks = [rank(n, alpha) for alpha in alphas.ravel()]
    for alpha, r in zip(alphas.ravel(), ranks, strict=True):
        if r == 0:
            warnings.warn(
                f"{n} calibration examples are too few for alpha = {alpha:g}, which needs at "
                f"least {readable_examples_needed(alpha)}. The threshold is -inf: every set holds "
                f"every class.",
                CalibrationWarning,
                stacklevel=3,
            )
    ordered = xp.concat([constant([-math.inf], true_scores), xp.sort(true_scores, stable=False)])
    tau = xp.take(ordered, constant(ranks, true_scores, integer=True), axis=0)
    return xp.reshape(tau, alphas.shape)


def predict_set(scores: Array, tau: Any, *, score: Score | None = None, u: Any = None) -> Array:
    """C(x) = {k : E(x,k) >= tau} as booleans, (n, K). Alg. 1. Smooth twin: `smooth_predict_set`.

    A score that misses tau by rounding alone, about a millionth of it, reaches it: a model may
    round a row differently in other company, in another type or on another processor, and where
    many examples have equal scores one bit would decide about all of them.

    Scores above 1 give a warning, as in `calibrate`.

    Args:
        scores: Of n examples and K classes, (n, K); higher conforms better.
        tau: Broadcasts against (n, K): a number, (K,) with one threshold per class, `tau[groups][:,
            None]` with one per group, `tau[:, None, None]` with one set per alpha.
        score: A score such as `thr`; the first argument then holds the logits that it scores. For
            `thr` and one tau no scores are kept, and it takes a third of the time.
        u: Of a score that takes it, as `aps` does: draws (n,) of their own; None is U = 0.

    Returns:
        Booleans (n, K), or with more axes in front as tau has them.

    Raises:
        ValueError: If tau does not broadcast, or is nan.
    """
    if score is thr and isinstance(tau, int | float | np.floating) and tau == tau:
        return reaches(scores, lowered(tau))
    scores = _scored(scores, score, u)
    threshold = _threshold(lowered(tau), scores)
    if score is None:
        _warn_of_logits(scores)
    return scores >= threshold


def lowered(tau: Any) -> Any:
    """tau less what rounding may take off a score that equals it.

    A few roundings of float32, of tau itself and of numbers near 1, of which logs are made:
    2^-21 (|tau| + min(1, 128 |tau|)). Scores near 0 keep their order, which `thr` relies on.
    """
    if isinstance(tau, int | float | np.floating):
        size = min(abs(float(tau)), LARGEST)
        return float(tau) - ROUNDING * (size + min(1.0, NEAR_ONE * size))
    tau = _some(tau)
    xp, size = namespace(tau=tau), abs(tau)
    size = xp.where(size < LARGEST, size, LARGEST)
    return tau - ROUNDING * (size + xp.where(NEAR_ONE * size < 1, NEAR_ONE * size, 1.0))


def smooth_calibrate(
    scores: Array, labels: Array, alpha: float, quantile: Quantile = SmoothSort(0.1)
) -> Array:
    """A differentiable tau, () from scores (n, K) and labels (n,). Hard twin: `calibrate`.

    Args:
        scores: Of n examples and K classes, (n, K).
        labels: True classes (n,), integers below K.
        alpha: The share of sets that may miss the truth.
        quantile: The estimator and its gradient, such as `SmoothSort`.

    Returns:
        Tau, ().
    """
    scores = checks.logits_array(scores, "scores", values=False)
    return quantile(pick(scores, checks.labels_array(labels, scores, "scores")), alpha)


def smooth_predict_set(scores: Array, tau: Any, temperature: Any) -> Array:
    """C_k(x) = sigmoid((E(x,k) - tau) / T) in [0, 1], (n, K). T -> 0 is `predict_set`.

    Args:
        scores: Of n examples and K classes, (n, K).
        tau: As in `predict_set`.
        temperature: T, above 0.

    Returns:
        Soft sets (n, K).
    """
    scores = checks.logits_array(scores, "scores", values=False)
    checks.number(temperature, "temperature", above=0)
    return soft_sets(scores, _threshold(tau, scores), temperature)


def _threshold(tau: Any, scores: Array) -> Array:
    """tau beside the scores: their library, device and type, and a shape that broadcasts."""
    tau = constant(_some(tau), scores)
    # Compared length by length: a batch that torch.export leaves free must not be settled here.
    lengths = zip(reversed(tau.shape), reversed(scores.shape), strict=False)
    if any(a != b and a != 1 and b != 1 for a, b in lengths):
        raise ValueError(
            f"tau must broadcast against the scores of shape {tuple(scores.shape)}; got shape "
            f"{tuple(tau.shape)}. Group thresholds are given as tau[groups][:, None], those of "
            f"several alphas as tau[:, None, None]."
        )
    if is_concrete(tau) and bool(namespace(tau=tau).any(tau != tau)):
        raise ValueError("tau must not be nan.")
    return tau


def _some(tau: Any) -> Array:
    """A threshold, or several, as an array; None is refused."""
    if tau is None:
        raise TypeError("tau must be a number or an array of numbers; got None.")
    return tau if hasattr(tau, "shape") else np.asarray(tau)


def _warn_of_logits(scores: Array) -> None:
    """Ask whether scores are logits, which they may be where one exceeds every probability."""
    if not is_concrete(scores) or 0 in scores.shape:
        return
    highest = float(namespace(scores=scores).max(stop_gradient(scores)))
    if highest <= 1 + ROUNDING:
        return
    warnings.warn(
        f"scores hold {highest:g}, and those of conftr.thr, aps, raps and thr_probs are at most 1. "
        f"If these are logits, pass score=conftr.thr beside them. If they are scores of another "
        f"kind, score=conftr.thr_logits takes them as they are, without a word.",
        CalibrationWarning,
        stacklevel=3,
    )


def _scored(given: Array, score: Score | None, u: Any) -> Array:
    """Scores without nan: of logits, or as they are where there is no score."""
    if score is None:
        return checks.scores_array(given)
    if not callable(score):
        raise TypeError(f"score must be a function such as conftr.thr; got {score!r}.")
    return checks.scores_array(score(given) if u is None else score(given, u))


def _marginal_of_thr(logits: Array, labels: Array, alphas: Any) -> Array | None:
    """E_(r) of THR for every alpha; None where logits must be scored for it."""
    logits = checks.logits_array(logits, values=False)
    labels = checks.labels_array(labels, logits)
    if logits.shape[0] == 0 or not is_concrete(logits):
        return None
    tau = ranked_scores(logits, labels, [rank(int(logits.shape[0]), a) for a in alphas.ravel()])
    return None if tau is None else tau.reshape(alphas.shape)


def _grouped(true_scores: Array, ids: Array, n_groups: int, alphas: Any, kind: str) -> Array:
    """E_(r) within each group, of shape alphas.shape + (n_groups,).

    One sort by group and score, then one look-up a group: no n x n_groups array is made.
    """
    xp = namespace(scores=true_scores)
    by_score = xp.argsort(true_scores, stable=False)
    by_group = xp.take(by_score, xp.argsort(xp.take(ids, by_score, axis=0), stable=True), axis=0)
    names = constant(list(range(n_groups)), true_scores, integer=True)
    sorted_ids = xp.astype(xp.take(ids, by_group, axis=0), names.dtype)
    first = xp.searchsorted(sorted_ids, names, side="left")
    counts = xp.searchsorted(sorted_ids, names, side="right") - first
    ordered = xp.take(true_scores, by_group, axis=0)
    taus = []
    for alpha in alphas.ravel():
        ranks = xp.astype(_group_ranks(true_scores, counts, alpha, kind), first.dtype)
        place = xp.maximum(first + ranks - 1, xp.zeros_like(first))
        taus.append(xp.where(ranks > 0, xp.take(ordered, place, axis=0), -math.inf))
    return xp.reshape(xp.stack(taus), (*alphas.shape, n_groups))


def _group_ranks(true_scores: Array, counts: Array, alpha: Any, kind: str) -> Array:
    """The exact rank of each group, from its number of examples."""
    if not is_concrete(counts):
        table = constant(
            [rank(m, alpha) for m in range(true_scores.shape[0] + 1)], true_scores, integer=True
        )
        return namespace(counts=counts).take(table, counts, axis=0)
    sizes = [int(counts[i]) for i in range(counts.shape[0])]
    ranks = [rank(size, alpha) for size in sizes]
    short = [f"{kind} {i} ({m} examples)" for i, m in enumerate(sizes) if ranks[i] == 0]
    if short:
        every = "is in every set" if kind == "class" else "gets every class in its sets"
        warnings.warn(
            f"alpha = {alpha:g} needs at least {readable_examples_needed(alpha)} calibration "
            f"examples of each {kind}; too few for {checks.listed(short)}. The threshold there is "
            f"-inf: such a {kind} {every}.",
            CalibrationWarning,
            stacklevel=4,
        )
    return constant(ranks, true_scores, integer=True)


def _group_ids(groups: Array, labels: Array, n_groups: int | None) -> tuple[Array, int]:
    xp = namespace(labels=labels, groups=groups)
    if tuple(groups.shape) != tuple(labels.shape):
        raise ValueError(
            f"groups must have shape (n,) = {tuple(labels.shape)}, one group an example; "
            f"got shape {tuple(groups.shape)}."
        )
    if n_groups is None:
        if not is_concrete(groups):
            raise ValueError("n_groups must be given under jit, where groups cannot be counted.")
        n_groups = max(1, int(xp.max(groups)) + 1)
    checks.number(n_groups, "n_groups", at_least=1)
    return checks.integers_below(xp, groups, int(n_groups), "groups"), int(n_groups)
