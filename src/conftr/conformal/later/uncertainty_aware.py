"""The uncertainty-aware loss (Einbinder et al., NeurIPS 2022): scores that ought to be uniform.

    cross-entropy on the first rows + weight max_i |s_(i) - i/m| on the m others
    s_i = mass of the classes above the truth + U_i p_i[y_i]

Under the true probabilities these scores (APS's) are uniform, so their distance from that, of
Kolmogorov and Smirnov, tells how far the model is from being right about its doubt. Decided: U is
no draw but an even sequence over the rows, which are shuffled, so that equal batches give equal
losses; ranks and the order are those of hard sorting, whose slope exists almost everywhere, where
the source smooths both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from conftr.conformal import checks
from conftr.conformal.arrays import (
    Array,
    constant,
    library,
    log_softmax,
    pick,
    stop_gradient,
    total,
)
from conftr.conformal.batch import cross_entropy, split_rows

_GOLDEN = 0.6180339887498949  # whose multiples fill [0, 1) evenly


@dataclass(frozen=True)
class UncertaintyAware:
    """Cross-entropy and the distance of APS's scores from uniform.

    Attributes:
        weight: Of the distance.
        fraction: The share of the batch, its first rows, for cross-entropy.
    """

    weight: Any = 0.2
    fraction: float = 0.8

    def __post_init__(self) -> None:
        """Refuse values out of range, naming the field."""
        checks.number(self.weight, "weight", at_least=0)
        checks.number(self.fraction, "fraction", above=0, below=1)  # None is no share here

    def __call__(self, logits: Array, labels: Array) -> Array:
        """The objective on one batch, (n, K) and (n,) -> ()."""
        logits = checks.logits_array(logits)
        labels = checks.labels_array(labels, logits)
        (first, rest), (first_labels, rest_labels) = split_rows(self.fraction, logits, labels)
        return cross_entropy(first, first_labels) + self.weight * _distance(
            _scores(rest, rest_labels)
        )


def _scores(logits: Array, labels: Array) -> Array:
    """The mass above the truth and a share U of its own, (n,)."""
    p = library(logits).exp(log_softmax(logits))
    of_truth, held = pick(p, labels), stop_gradient(logits)
    above = constant(held > pick(held, labels)[:, None], held)
    u = (np.arange(1, int(logits.shape[0]) + 1) * _GOLDEN) % 1
    return total(p * above, 1) + constant(u, held) * of_truth


def _distance(s: Array) -> Array:
    """max_i |s_(i) - i/m|."""
    xp, m = library(s), int(s.shape[0])
    return xp.max(xp.abs(xp.sort(s) - constant(np.arange(1, m + 1) / m, stop_gradient(s))))
