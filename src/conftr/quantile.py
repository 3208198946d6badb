"""The exact conformal rank and quantile (sec. 2.1), and its differentiable estimators (sec. 2.2).

With conformity scores the threshold is tau = E_(r), the r-th smallest of n calibration scores,
r = floor(alpha (n + 1)). Its derivative is the mean of dE_i over the examples whose score equals
tau; the estimators differ in which scores near tau they average over. All but `SmoothSort` keep
the exact value of tau and estimate only its gradient:

    tau = sg(E_(r)) + (m - sg(m)),   m = sum_i w_i E_i,   sg = stop-gradient.

An estimator is a value: a frozen dataclass, callable on (scores (n,), alpha) -> tau.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from conftr import checks
from conftr.arrays import Array, hard_sort, host, namespace, smallest, stop_gradient
from conftr.sorting import mix

Quantile: TypeAlias = Callable[[Array, float], Array]
Position: TypeAlias = Callable[[int, float], tuple[int, int]]


class CalibrationWarning(UserWarning):
    """Calibration gave no information: too few examples for alpha, or none of a class or group."""


def rank(n: int, alpha: Any) -> int:
    """r = floor(alpha (n + 1)), exactly; 0 when n examples are too few for alpha.

    alpha is read as the decimal it prints as in its own type (0.3, float32(0.01)). If alpha
    (n + 1) then falls short of an integer by no more than the rounding of a difference such as
    1 - 0.9, it is that integer; this could cost the guarantee 4.4e-16.
    """
    value = _decimal(alpha) + Fraction(2 * float(np.finfo(np.float64).eps))
    return min(n, math.floor(value * (n + 1)))


def _decimal(alpha: Any) -> Fraction:
    return Fraction(str(host(alpha)[()]))


def examples_needed(alpha: float) -> int:
    """The smallest calibration set with a threshold at alpha: n with alpha (n + 1) >= 1."""
    n = math.ceil(1 / float(alpha)) - 1
    return n if rank(n, alpha) else n + 1


def exact_position(n: int, alpha: float) -> tuple[int, int]:
    """0-based place of the order statistic of rank r, clamped to the smallest score."""
    place = min(max(rank(n, alpha), 1), n) - 1
    return place, place


def paper_position(n: int, alpha: float) -> tuple[int, int]:
    """The two places the paper's experiments average: those around h = alpha (1 + 1/n) (n - 1).

    At n = 250 and alpha = .01 these are the 3rd and 4th smallest scores, where the exact rank is 2.
    """
    h = _decimal(alpha) * Fraction(n + 1, n) * (n - 1)
    return min(math.floor(h), n - 1), min(math.ceil(h), n - 1)


@dataclass(frozen=True)
class SmoothSort:
    """The paper's estimator: the entry of a soft sorting network at the quantile's position.

    dispersion: eps of the network, in units of the score; eps -> 0 is the hard quantile.
    position: `exact_position` (rank r) or `paper_position`, where the paper's experiments read.
    """

    dispersion: float = 0.1
    position: Position = exact_position

    def __post_init__(self) -> None:
        """Refuse a dispersion that is not positive."""
        checks.number(self.dispersion, "dispersion", above=0)

    def __call__(self, scores: Array, alpha: float) -> Array:
        """Read the soft order statistics next to the position, (n,) -> ()."""
        n = _size(scores, alpha)
        low, high = self.position(n, alpha)
        keys, _ = hard_sort(scores)
        values = mix(keys, keys, self.dispersion)
        return values[low] if low == high else (values[low] + values[high]) / 2


@dataclass(frozen=True)
class OrderStatistic:
    """The order statistic itself: the gradient is the mean over the scores equal to it."""

    def __call__(self, scores: Array, alpha: float) -> Array:
        """E_(r), (n,) -> ()."""
        tau = _order_statistic(scores, alpha)
        return _with_gradient(tau, scores, scores == tau)


@dataclass(frozen=True)
class Nearest:
    """E_(r) with the gradient averaged over the scores nearest to it (Noorani et al. 2024).

    fraction: the share of the n scores that is averaged; at least one is, and more where several
    lie equally far. Keep it near alpha: a wider share reaches into other quantiles.
    """

    fraction: float

    def __post_init__(self) -> None:
        """Refuse a share outside (0, 1]."""
        checks.number(self.fraction, "fraction", above=0)
        if self.fraction > 1:
            raise ValueError(f"fraction must be at most 1; got {self.fraction}.")

    def __call__(self, scores: Array, alpha: float) -> Array:
        """E_(r) with a gradient of 1/m at the m nearest scores, (n,) -> ()."""
        xp, n = namespace(scores=scores), _size(scores, alpha)
        place, _ = exact_position(n, alpha)
        m = max(1, round(self.fraction * n))
        # The m nearest stand next to each other in sorted order: try each run of m about tau.
        first, last = max(0, place - m + 1), min(place, n - m)
        ordered = smallest(stop_gradient(scores), last + m)
        tau = ordered[place]
        reach = xp.maximum(tau - ordered[first : last + 1], ordered[first + m - 1 :] - tau)
        return _with_gradient(tau, scores, xp.abs(scores - tau) <= xp.min(reach))


@dataclass(frozen=True)
class Kernel:
    """E_(r) with the gradient averaged with weights exp(-((E_i - tau) / bandwidth)^2 / 2)."""

    bandwidth: float

    def __post_init__(self) -> None:
        """Refuse a bandwidth that is not positive."""
        checks.number(self.bandwidth, "bandwidth", above=0)

    def __call__(self, scores: Array, alpha: float) -> Array:
        """E_(r) with a gradient that falls with the distance, (n,) -> ()."""
        xp = namespace(scores=scores)
        tau = _order_statistic(scores, alpha)
        distance = (stop_gradient(scores) - tau) / self.bandwidth
        return _with_gradient(tau, scores, xp.exp(-(distance**2) / 2))


def _order_statistic(scores: Array, alpha: float) -> Array:
    place, _ = exact_position(_size(scores, alpha), alpha)
    return smallest(stop_gradient(scores), place + 1)[place]


def _with_gradient(tau: Array, scores: Array, weights: Array) -> Array:
    """The value of tau with the gradient sum_i w_i dE_i / sum_i w_i, over the finite scores."""
    xp = namespace(scores=scores)
    finite = xp.isfinite(scores)
    weights = xp.where(finite, xp.astype(weights, scores.dtype), 0.0)
    total = xp.sum(weights)
    mean = xp.sum(weights * xp.where(finite, scores, 0.0)) / xp.where(total > 0, total, 1.0)
    return tau + (mean - stop_gradient(mean))


def _size(scores: Array, alpha: float) -> int:
    """The number of scores, saying so where it is too small for alpha."""
    namespace(scores=scores)
    if scores.ndim != 1 or scores.shape[0] == 0:
        raise ValueError(
            f"scores must have shape (n,) with n >= 1, one for each calibration example; "
            f"got shape {tuple(scores.shape)}."
        )
    checks.one_probability(alpha, "alpha")
    n = int(scores.shape[0])
    if rank(n, alpha) == 0:
        warnings.warn(
            f"{n} examples calibrate where alpha = {float(alpha):g} needs at least "
            f"{examples_needed(alpha)}: the smallest score stands in for the quantile. Training "
            f"can go on like this; a larger batch or alpha, or fraction=None, avoids it.",
            CalibrationWarning,
            stacklevel=3,
        )
    return n
