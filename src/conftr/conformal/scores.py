"""Conformity scores (sec. 2.1): logits (n, K) in, scores (n, K) out, higher conforms better.

Conformally trained models are sharp: in float32 their probabilities are 0 and 1. Scores are
therefore built from logits and stay in log space, where nothing saturates at 0. Probabilities
from elsewhere enter through `logits_from_probs`. Equal logits get equal scores.

U breaks ties of APS and RAPS at random. One rule holds everywhere: U = 0 unless U is given, here,
in `calibrate`, `predict_set`, `evaluate` and `ConformalClassifier`. U = 0 is deterministic and
valid, and the most likely class then always scores highest. Given are an array (n,) of uniform
draws, drawn anew for calibration and prediction, or `random_u=True` in `evaluate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from conftr.conformal import checks
from conftr.conformal.arrays import (
    Array,
    Namespace,
    at_least,
    by_rows,
    hard_sort,
    is_concrete,
    log_softmax,
    namespace,
    running_sum,
    stop_gradient,
    unsort,
    unsorted_by_rows,
    with_value,
)
from conftr.conformal.masses import ranked_masses
from conftr.conformal.sorting import mix, unmix

LOWEST_LOG = -87.0  # of a probability: a little above the smallest normal float32
SURE = -1e-3  # log-probabilities above are computed from the rest
UNDERFLOW = 1e-35  # masses below are compared by their log
BOUND = 1e5  # times that amount is the highest score
FARTHEST = -1e38  # the lowest: differences of float32 logits may overflow
_SMALLEST_PENALTY = 1e-6
LEVEL = 8192.0  # distance between RAPS levels; beyond any log mass of float32 logits in use


def logits_from_probs(probs: Array) -> Array:
    """The logs of probabilities, finite: logits for every score here.

    A probability below e^-87, about 1.6e-38, counts as e^-87, and so does 0. float32 knows hardly
    any smaller ones; with one bound for all types, probabilities that calibrate in one type and
    predict in another agree on the classes that a model has ruled out.

    Args:
        probs: probabilities (n, K), as `predict_proba` of scikit-learn gives them.

    Returns:
        log p, (n, K), at least -87, in the type of `probs`.

    Raises:
        ValueError: if a probability lies outside 0..1, or those of a row do not sum to 1.
    """
    probs = checks.probabilities_array(probs)
    xp = namespace(probabilities=probs)
    # The log of the bound rounds differently in each type; -87 is the same number in all of them.
    return at_least(xp.log(at_least(probs, math.exp(LOWEST_LOG))), LOWEST_LOG)


def thr(logits: Array) -> Array:
    """log softmax(logits): the sets of THR, as the log is monotone; in training, THRLP.

    A probability that rounds to 1 keeps its rank: the likeliest class is scored by how little the
    others have, down to amounts below 1e-35, where its score is positive by less than 1e-30.

    Args:
        logits: Of n examples and K classes, (n, K).

    Returns:
        Scores (n, K); higher conforms better.
    """
    return by_rows(_thr_rows, checks.logits_array(logits))


def log_probabilities(logits: Array) -> Array:
    """log softmax(logits) as it is: `thr` for soft sets."""
    return log_softmax(checks.logits_array(logits))


def thr_probs(logits: Array) -> Array:
    """Probabilities, softmax(logits): THR as trained on probabilities. Saturates: see `thr`.

    Args:
        logits: Of n examples and K classes, (n, K).

    Returns:
        Scores (n, K); higher conforms better.
    """
    xp = namespace(logits=logits)
    return by_rows(lambda rows: xp.exp(log_softmax(rows)), checks.logits_array(logits))


def thr_logits(logits: Array) -> Array:
    """The logits themselves, THRL.

    Args:
        logits: Of n examples and K classes, (n, K).

    Returns:
        Scores (n, K); higher conforms better.
    """
    return checks.logits_array(logits)


def aps(logits: Array, u: Any = None) -> Array:
    """E(x,k) = log( mass of the classes ranked below k + (1 - U) mass of k ).

    One minus the paper's score, in logs. Classes whose logit equals that of k count with k.

    Args:
        logits: Of n examples and K classes, (n, K).
        u: None for U = 0, which is the rule everywhere, or uniform draws (n,); the paper draws
            them.

    Returns:
        Scores (n, K); higher conforms better.
    """
    logits = checks.logits_array(logits)
    return unsorted_by_rows(_aps_rows, logits, checks.uniforms(u, logits))


def raps(logits: Array, u: Any = None, *, penalty: float = 0.01, free_rank: int = 1) -> Array:
    """APS with a penalty: the order of mass - penalty max(0, rank(k) - free_rank).

    rank(k) is 1 for the most likely class. The difference may be negative, so the score is not
    its log but keeps its order: with f the distance to the next multiple of the penalty below
    (to 0 where the difference is positive) and l the number of that multiple, E = log f - 8192 l.
    Masses far below the penalty keep their order too, where the difference itself would round.

    Args:
        logits: Of n examples and K classes, (n, K).
        u: As in `aps`, U = 0 unless it is given.
        penalty: What a class pays for each rank beyond the free ones; 0 or at least 1e-6.
        free_rank: How many ranks are free.

    Returns:
        Scores (n, K); higher conforms better.

    Raises:
        ValueError: If the penalty is too small to be kept apart, or `free_rank` no whole number.
    """
    logits = checks.logits_array(logits)
    checks.number(penalty, "penalty", at_least=0)
    checks.number(free_rank, "free_rank", at_least=0)
    penalty = float(penalty)
    if penalty == 0:
        return aps(logits, u)
    if penalty < _SMALLEST_PENALTY or free_rank != int(free_rank):
        raise ValueError(
            f"penalty must be 0 or at least {_SMALLEST_PENALTY:g} and free_rank a whole number; "
            f"got {penalty:g} and {free_rank}."
        )
    return unsorted_by_rows(
        lambda rows, draws: _raps_rows(rows, draws, penalty, free_rank),
        logits,
        checks.uniforms(u, logits),
    )


def smooth_aps(logits: Array, u: Any = None, *, dispersion: float = 0.1) -> Array:
    """Differentiable APS (app. D): soft-sort the probabilities, cumulate, un-sort.

    E(x,k) = soft mass below k + (1 - U) soft mass of k, in [0, 1] and not in logs, so that
    dispersion and temperature have the paper's units. Hard twin: exp(`aps`).

    Args:
        logits: Of n examples and K classes, (n, K).
        u: As in `aps`, U = 0 unless it is given.
        dispersion: Eps of the sorting network; 0 is the hard sort.

    Returns:
        Scores (n, K) in [0, 1].
    """
    logits = checks.logits_array(logits)
    checks.number(dispersion, "dispersion", above=0)
    xp, draws = namespace(logits=logits), checks.uniforms(u, logits)
    keys, order = hard_sort(xp.exp(log_softmax(logits)))
    mass = mix(keys, keys, dispersion)
    soft = unmix(running_sum(mass) - draws * mass, keys, dispersion)
    return unsort(soft, order)


def _thr_rows(logits: Array) -> Array:
    """log softmax with the value, not the gradient, of a near-certain class computed from the rest.

    log p = log(1 - rest), rest the mass of the other classes, itself known to full precision.
    """
    xp, plain = namespace(logits=logits), log_softmax(logits)
    fixed = stop_gradient(plain)
    if plain.shape[0] == 0 or plain.shape[1] == 1:
        return plain
    if is_concrete(fixed) and float(xp.max(fixed)) <= SURE:
        return plain
    fixed = at_least(fixed, FARTHEST)
    sure = fixed > SURE  # of at most one class in a row
    rivals = xp.where(sure, -math.inf, fixed)
    rest = xp.sum(xp.exp(rivals), axis=-1, keepdims=True)
    nearest = xp.max(rivals, axis=-1, keepdims=True)
    log_rest = nearest + xp.log(xp.sum(xp.exp(rivals - nearest), axis=-1, keepdims=True))
    beyond = math.log(UNDERFLOW) - log_rest
    beyond = UNDERFLOW * beyond / (1 + beyond / BOUND)
    exact = xp.where(rest < UNDERFLOW, beyond, xp.log1p(-xp.where(rest < 0.5, rest, 0.5)))
    return with_value(plain, xp.where(sure, exact, fixed))


def _aps_rows(logits: Array, u: Array) -> tuple[Array, Array]:
    masses = ranked_masses(logits, u)
    return masses.log_mass, masses.order


def _raps_rows(logits: Array, u: Array, penalty: float, free_rank: int) -> tuple[Array, Array]:
    xp, masses = namespace(logits=logits), ranked_masses(logits, u)
    steps = xp.maximum(masses.greater + (1 - free_rank), xp.zeros_like(masses.greater))
    return _penalised(xp, masses.log_mass, steps, penalty), masses.order


def _penalised(xp: Namespace, log_mass: Array, steps: Array, penalty: float) -> Array:
    """log f - 8192 l of exp(log_mass) - penalty * steps, see `raps`."""
    units = xp.exp(log_mass) / penalty
    whole = xp.minimum(xp.floor(units), steps)
    part = units - whole
    # With no whole unit taken off, f is the mass itself, whose log is known without rounding.
    positive = (whole > 0) & (part > 0)
    log_part = xp.where(positive, xp.log(xp.where(positive, part * penalty, 1.0)), -LEVEL)
    log_part = xp.where(whole > 0, log_part, log_mass)
    floor = xp.full_like(log_part, -LEVEL)
    return xp.maximum(log_part, floor) - LEVEL * (steps - whole)


# Scores by their names, where text is natural: in the estimator, on the command line, in files.
SCORES: Mapping[str, Callable[..., Array]] = {
    "thr": thr,
    "aps": aps,
    "raps": raps,
    "thr_logits": thr_logits,
    "thr_probs": thr_probs,
}
