"""Conformal test martingales: is new data still exchangeable with calibration data? (Vovk 2021)

A gambler starts with a capital of 1 and bets, row by row, against the claim that new rows come from
where calibration rows came from. The bets are fair if the claim holds: whatever they are, the
capital is then a martingale, and by Ville's inequality

    P( the capital ever reaches 1 / level )  <=  level,

however long it is watched and however often one looks. A large capital is evidence against the
claim, and the only thing that needs judgement is which bets win where it is wrong.

Fair bets come from ranks. Among n calibration scores and t earlier ones, the place of the next
score is uniform: `sequential_p_values` gives it as uniform numbers that are independent of each
other, and a bet multiplies the capital by a density at that number. Whether the next set misses the
truth is a coin, too: of threshold E_(r), with m misses so far, it falls with probability

    (r + m) / (n + 1 + t),

whatever the data are: `miss_chances`. A bet on it is a ratio of probabilities.

The gambler does not know when things change. A part of the capital is therefore kept back, and bets
start with a part of it at every row: `capital`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.float64]

_BLOCK = 1024  # rows whose places among each other are counted at once
_KEPT = 10.0  # rows after which a part of the capital of about a quarter has been put to work
_EDGE = 1e-12  # how near to 0 and 1 a p-value may come: densities there are infinite
_BITS = 2**20  # of a score that count: what differs less ties

# Beta densities (a, b) of p-values. Low p-values, and high ones, that are more frequent than they
# should be, by a little and by much; then values in the middle, and at both ends.
LOW = ((1.0, 1.3), (1.0, 2.0), (1.0, 4.0), (1.0, 10.0), (0.7, 1.0), (0.4, 1.0))
_HIGH = tuple((b, a) for a, b in LOW)
ANY = (*LOW, *_HIGH, (1.5, 1.5), (3.0, 3.0), (0.7, 0.7), (0.4, 0.4))
# By how much the odds of a miss may have grown.
_ODDS = (1.3, 1.7, 2.5, 4.0, 8.0, 20.0)


def coarse(scores: Any) -> Numbers:
    """Scores with twenty bits each: those that differ by the rounding of a processor alone tie.

    A coarser score is a score: nothing that is said of the test depends on it.
    """
    fractions, exponents = np.frexp(np.asarray(scores, np.float64))
    rounded: Numbers = np.ldexp(np.round(fractions * _BITS) / _BITS, exponents)
    return rounded


def sequential_p_values(reference: Any, stream: Any, u: Any) -> Numbers:
    """The place of each score among the reference and all that came before it, as a number in 0..1.

    p_t = ( #{lower} + u_t (1 + #{equal}) ) / (1 + #{all before}); `conftr.p_values` with what came
    before as calibration scores. If reference and stream are exchangeable, these are independent
    and uniform, exactly.

    Args:
        reference: Scores (n,) of calibration rows.
        stream: Scores (T,) of new rows, in the order in which they come.
        u: Uniform draws (T,), independent of everything.

    Returns:
        P-values (T,).
    """
    bag, stream, p = np.sort(reference), np.asarray(stream), np.empty(len(stream))
    for start in range(0, len(stream), _BLOCK):
        block = stream[start : start + _BLOCK]
        earlier = np.tri(len(block), k=-1, dtype=bool)
        lower = np.searchsorted(bag, block, "left") + _count(block[None] < block[:, None], earlier)
        upto = np.searchsorted(bag, block, "right") + _count(block[None] <= block[:, None], earlier)
        before = len(bag) + np.arange(len(block))
        p[start : start + len(block)] = lower + u[start : start + len(block)] * (upto - lower + 1)
        p[start : start + len(block)] /= before + 1
        block = np.sort(block)
        bag = np.insert(bag, np.searchsorted(bag, block), block)
    return p


def _count(true: npt.NDArray[np.bool_], among: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    counts: npt.NDArray[np.intp] = np.count_nonzero(true & among, axis=1)
    return counts


def miss_chances(r: int, n: int, misses: Any) -> Numbers:
    """The chance of each miss given those before it, (T,): (r + m) / (n + 1 + t).

    Args:
        r: The rank of the threshold among n calibration scores, at least 1.
        n: How many calibrate.
        misses: Whether each new row's true class scores below the threshold, (T,).
    """
    before = np.append(0, np.cumsum(misses)[:-1]) if len(misses) else np.zeros(0)
    chances: Numbers = (r + before) / (n + 1 + np.arange(len(misses)))
    return chances


def bets_on_p_values(p: Numbers, densities: Sequence[tuple[float, float]] = ANY) -> Numbers:
    """Logs of what each bet multiplies the capital by, (bets, T): Beta densities at p-values (T,).

    `LOW` bets that scores have become lower, `ANY` that they have changed.
    """
    p = np.clip(p, _EDGE, 1 - _EDGE)
    rows = [_log_beta(a, b) + (a - 1) * np.log(p) + (b - 1) * np.log1p(-p) for a, b in densities]
    return np.stack(rows)


def _log_beta(a: float, b: float) -> float:
    """The log of one over the Beta function."""
    return math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)


def bets_on_misses(misses: Any, chances: Numbers, alpha: float) -> Numbers:
    """Logs of what each bet multiplies the capital by, (bets, T): misses have become more frequent.

    Args:
        misses: Whether each set misses, (T,).
        chances: Of a miss, given those before it, as `miss_chances` gives them.
        alpha: The share of misses that was promised; bets are on larger ones.
    """
    odds = alpha / (1 - alpha) * np.array(_ODDS)[:, None]
    rates, misses = odds / (1 + odds), np.asarray(misses, bool)
    bets: Numbers = np.where(misses, np.log(rates / chances), np.log((1 - rates) / (1 - chances)))
    return bets


def capital(bets: Numbers) -> Numbers:
    """The log of the gambler's capital after each row, (T,), from logs of factors (bets, T).

    The capital is divided evenly among the bets. Of each part, what is kept back after t rows is
    R_t = log 10 / log(t + 10), and R_(s-1) - R_s starts to bet at row s:

        capital_t = R_t + sum_s (R_(s-1) - R_s) f_s ... f_t
    """
    kept = math.log(_KEPT) / np.log(_KEPT + np.arange(bets.shape[1] + 1))
    sums = np.cumsum(bets, axis=1)
    before = sums - bets
    started = np.logaddexp.accumulate(np.log(kept[:-1] - kept[1:]) - before, axis=1) + sums
    logs: Numbers = np.logaddexp(
        np.log(kept[1:]), np.logaddexp.reduce(started, axis=0) - math.log(len(bets))
    )
    return logs
