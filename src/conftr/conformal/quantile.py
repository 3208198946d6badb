"""The exact conformal rank and quantile (sec. 2.1), and its differentiable estimators (sec. 2.2).

With conformity scores the threshold is tau = E_(r), the r-th smallest of n calibration scores,
r = floor(alpha (n + 1)). Its derivative is the mean of dE_i over the examples whose score equals
tau; the estimators differ in which scores near tau they average over. All have the form

    tau = value + sum_i w_i (E_i - sg(E_i)),   sum_i w_i = 1,   sg = stop-gradient.

All but `SmoothSort` keep the exact value E_(r) and estimate only its gradient w.

An estimator is a value: a frozen dataclass, callable on (scores (n,), alpha) -> tau.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.conformal import checks
from conftr.conformal.arrays import (
    Array,
    at_least,
    constant,
    dot,
    hard_sort,
    library,
    namespace,
    settled,
    smallest,
    stop_gradient,
    total,
    unsort,
)
from conftr.conformal.sorting import read

_LOWEST = -1e30  # stands in for scores of -inf, so that differences are numbers
_TINY = 1e-9  # an alpha that takes more examples than anyone has
_FAR = -100.0  # bandwidths away, where the kernel is 0

Quantile: TypeAlias = Callable[[Array, float], Array]
Position: TypeAlias = Callable[[int, float], tuple[int, int]]


class CalibrationWarning(UserWarning):
    """Calibration gave no information: too few examples for alpha, or none of a class or group.

    Or what was given for scores may be logits.
    """


def rank(n: int, alpha: Any) -> int:
    """r = floor(alpha (n + 1)), exactly; 0 when n examples are too few for alpha.

    alpha is read as the decimal it prints as in its own type (0.3, float32(0.01)). If alpha
    (n + 1) then falls short of an integer by no more than the rounding of a difference such as
    1 - 0.9, it is that integer; this could cost the guarantee 4.4e-16.
    """
    return _rank(n, checks.one_probability(alpha, "alpha"))


@settled
@lru_cache(maxsize=4096)
def _rank(n: int, alpha: float) -> int:
    return min(n, math.floor(_rounded_up(alpha) * (n + 1)))


def _rounded_up(alpha: float) -> Fraction:
    """alpha and the rounding of a difference such as 1 - 0.9, next to which it is not tiny."""
    rounding = Fraction(2 * float(np.finfo(np.float64).eps))
    return Fraction(str(alpha)) + (rounding if alpha > _TINY else 0)


def examples_needed(alpha: float) -> int:
    """The smallest calibration set with a threshold at alpha: n with alpha (n + 1) >= 1."""
    return max(1, math.ceil(1 / _rounded_up(checks.one_probability(alpha, "alpha"))) - 1)


def readable_examples_needed(alpha: float) -> str:
    """`examples_needed` for people; of numbers that nobody can read, the order."""
    needed = examples_needed(alpha)
    return f"{needed:,}" if needed < 10**12 else f"10^{len(str(needed + 1)) - 1}"


def exact_position(n: int, alpha: float) -> tuple[int, int]:
    """0-based place of the order statistic of rank r, clamped to the smallest score.

    Args:
        n: Calibration examples.
        alpha: The share of sets that may miss the truth.

    Returns:
        The place twice, as `SmoothSort` averages two.
    """
    place = min(max(rank(n, alpha), 1), n) - 1
    return place, place


def paper_position(n: int, alpha: float) -> tuple[int, int]:
    """The two places the paper's experiments average: those around h = alpha (1 + 1/n) (n - 1).

    At n = 250 and alpha = .01 these are the 3rd and 4th smallest scores, where the exact rank is 2.

    Args:
        n: Calibration examples.
        alpha: The share of sets that may miss the truth.

    Returns:
        The lower and the upper place, from 0.
    """
    return _paper_position(n, checks.one_probability(alpha, "alpha"))


@settled
@lru_cache(maxsize=4096)
def _paper_position(n: int, alpha: float) -> tuple[int, int]:
    h = Fraction(str(alpha)) * Fraction(n + 1, n) * (n - 1)
    return min(math.floor(h), n - 1), min(math.ceil(h), n - 1)


@dataclass(frozen=True)
class SmoothSort:
    """The paper's estimator: the entry of a soft sorting network at the quantile's position.

    Attributes:
        dispersion: Eps of the network, in units of the score; eps -> 0 is the hard quantile.
        position: `exact_position` (rank r) or `paper_position`, where the paper's experiments read.
    """

    dispersion: float = 0.1
    position: Position = exact_position

    def __post_init__(self) -> None:
        """Refuse a dispersion that is not positive."""
        checks.number(self.dispersion, "dispersion", above=0)

    def __call__(self, scores: Array, alpha: float) -> Array:
        """Read the soft order statistics next to the position, (n,) -> ()."""
        scores, n, alpha = _checked(scores, alpha)
        low, high = self.position(n, alpha)
        keys, order = hard_sort(stop_gradient(scores))
        tau, slopes = read(keys, constant(_halves(n, low, high), keys), self.dispersion)
        return _with_gradient(tau, scores, unsort(slopes, order))


@dataclass(frozen=True)
class OrderStatistic:
    """The order statistic itself: the gradient is the mean over the scores equal to it."""

    def __call__(self, scores: Array, alpha: float) -> Array:
        """E_(r), (n,) -> ()."""
        scores, n, alpha = _checked(scores, alpha)
        fixed, place = stop_gradient(scores), exact_position(n, alpha)[0]
        tau = smallest(fixed, place + 1)[place]
        return _with_gradient(tau, scores, _mean_over(fixed == tau, fixed))


@dataclass(frozen=True)
class Nearest:
    """E_(r) with the gradient averaged over the scores nearest to it (Noorani et al. 2024).

    Attributes:
        fraction: The share of the n scores that is averaged; at least one is, and more where
            several lie equally far. Keep it near alpha: a wider share reaches into other quantiles.
    """

    fraction: float

    def __post_init__(self) -> None:
        """Refuse a share outside (0, 1]."""
        checks.number(self.fraction, "fraction", above=0)
        if self.fraction > 1:
            raise ValueError(f"fraction must be at most 1; got {self.fraction}.")

    def __call__(self, scores: Array, alpha: float) -> Array:
        """E_(r) with a gradient of 1/m at the m nearest scores, (n,) -> ()."""
        scores, n, alpha = _checked(scores, alpha)
        xp, fixed = library(scores), stop_gradient(scores)
        place, m = exact_position(n, alpha)[0], _share(n, float(self.fraction))
        # The m nearest stand next to each other in sorted order: try each run of m about tau.
        first, last = max(0, place - m + 1), min(place, n - m)
        ordered = smallest(fixed, last + m)
        tau = ordered[place]
        reach = xp.maximum(tau - ordered[first : last + 1], ordered[first + m - 1 :] - tau)
        near = xp.abs(fixed - tau) <= xp.min(reach)
        return _with_gradient(tau, scores, _mean_over(near, fixed))


@dataclass(frozen=True)
class Kernel:
    """E_(r) with the gradient averaged with weights exp(-((E_i - tau) / bandwidth)^2 / 2).

    Attributes:
        bandwidth: Of the kernel, in units of the score.
    """

    bandwidth: float

    def __post_init__(self) -> None:
        """Refuse a bandwidth that is not positive."""
        checks.number(self.bandwidth, "bandwidth", above=0)

    def __call__(self, scores: Array, alpha: float) -> Array:
        """E_(r) with a gradient that falls with the distance, (n,) -> ()."""
        scores, n, alpha = _checked(scores, alpha)
        xp, fixed = library(scores), stop_gradient(scores)
        place, _ = exact_position(n, alpha)
        tau = smallest(fixed, place + 1)[place]
        nearness = at_least(xp.abs(fixed - tau) / -self.bandwidth, _FAR)
        return _with_gradient(tau, scores, _mean_over(xp.exp(nearness**2 / -2), fixed))


def _mean_over(weights: Array, scores: Array) -> Array:
    """Weights (n,), or those chosen among the scores, in the type of the scores and of sum 1."""
    weights = constant(weights, scores)
    return weights / total(weights)


def _with_gradient(tau: Array, scores: Array, weights: Array) -> Array:
    """The value tau with the gradient sum_i w_i dE_i."""
    return tau + dot(weights, scores - stop_gradient(scores))


@settled
@lru_cache(maxsize=64)
def _halves(n: int, low: int, high: int) -> npt.NDArray[np.float64]:
    """1/2 at either place, (n,)."""
    halves = np.zeros(n)
    halves[low] += 0.5
    halves[high] += 0.5
    return halves


@settled
def _share(n: int, fraction: float) -> int:
    return max(1, round(fraction * n))


def _checked(scores: Array, alpha: Any) -> tuple[Array, int, float]:
    """Scores (n,) without -inf, their number, saying so where it is too small for alpha, alpha."""
    namespace(scores=scores)
    if scores.ndim != 1 or scores.shape[0] == 0:
        raise ValueError(
            f"scores must have shape (n,) with n >= 1, one for each calibration example; "
            f"got shape {tuple(scores.shape)}."
        )
    n, alpha = operator.index(scores.shape[0]), checks.one_probability(alpha, "alpha")
    if rank(n, alpha) == 0:
        _say_too_few(n, alpha)
    return at_least(scores, _LOWEST), n, alpha


@settled
def _say_too_few(n: int, alpha: float) -> None:
    warnings.warn(_too_few(n, alpha), CalibrationWarning, stacklevel=6)  # who called the estimator


@lru_cache(maxsize=64)
def _too_few(n: int, alpha: float) -> str:
    return (
        f"{n} examples calibrate where alpha = {alpha:g} needs at least "
        f"{readable_examples_needed(alpha)}: the smallest score stands in for the quantile. "
        f"Training can go on like this; a larger batch or alpha, or fraction=None, avoids it."
    )
