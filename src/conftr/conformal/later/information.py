"""What the bounds of Correia et al. (NeurIPS 2024, arXiv 2405.02140) share.

All bound the conditional entropy H(Y|X) from above by what sets of coverage 1 - alpha say. Within
a batch the sets are soft, calibrated on a part of the rows as in `ConfTr`. Decided: an example
counts as covered to the degree C_y in which its set holds the truth, as missed to the degree
1 - C_y, and means over either are weighted so. The same settings serve all three.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from conftr.conformal import checks
from conftr.conformal.arrays import Array, at_least, library, total
from conftr.conformal.batch import Calibrated, Score, calibrated, check_shared_fields
from conftr.conformal.quantile import Quantile, SmoothSort
from conftr.conformal.scores import thr

_EPSILON = 1e-8


@dataclass(frozen=True)
class EntropyBound:
    """The settings of a bound, as in `ConfTr`.

    Attributes:
        alpha: The share of sets that may miss the truth.
        score: As in `ConfTr`.
        quantile: As in `ConfTr`.
        temperature: As in `ConfTr`.
        fraction: As in `ConfTr`.
    """

    alpha: float = 0.01
    score: Score = thr
    quantile: Quantile = SmoothSort(0.1)
    temperature: Any = 1.0
    fraction: float | None = 0.5

    def __post_init__(self) -> None:
        """Refuse values out of range, naming the field."""
        check_shared_fields(self)

    def predicted(self, logits: Array, labels: Array) -> Calibrated:
        """Soft sets of the rows of a batch that predict, (n, K) and (n,)."""
        logits = checks.logits_array(logits, values=False)
        return calibrated(self, logits, checks.labels_array(labels, logits))


def entropy(alpha: float) -> float:
    """h_b(alpha) = -alpha log alpha - (1 - alpha) log(1 - alpha)."""
    return -alpha * math.log(alpha) - (1 - alpha) * math.log1p(-alpha)


def covered_share(alpha: float, n: int) -> float:
    """1 - alpha + 1 / (n + 1), the most that a threshold from n examples covers."""
    return min(1.0, 1 - alpha + 1 / (n + 1))


def mean_over(values: Array, weights: Array) -> Array:
    """sum_i w_i v_i / sum_i w_i; 0 where there are no weights."""
    # Without the bound, XLA turns (1 - c) + 1e-8 of a single row into (1 + 1e-8) - c, which is 0.
    return total(weights * values) / (at_least(total(weights), 0) + _EPSILON)


def log_sigmoid(x: Array) -> Array:
    """log(1 / (1 + exp(-x))), without overflow on either side."""
    xp = library(x)
    return -xp.logaddexp(xp.zeros_like(x), -x)
