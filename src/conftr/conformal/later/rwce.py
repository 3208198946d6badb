"""Rank-weighted cross-entropy (arXiv 2511.17861, AAAI 2026).

    mean_i w_i (-log p_i[y_i]),    w_i = 1 + #{k : logit_ik > logit_i,y_i}, held constant

The rank of the truth bounds the size of the set that covers it. Decided: ranks count from 1 and are
not normalised; classes that tie with the truth do not count.
"""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class RWCE:
    """Cross-entropy weighted by the rank of the true class: 1 where it is on top, K at the end."""

    def __call__(self, logits: Array, labels: Array) -> Array:
        """The weighted mean over the batch, (n, K) and (n,) -> ()."""
        logits = checks.logits_array(logits)
        labels = checks.labels_array(labels, logits)
        held = stop_gradient(logits)
        above = constant(held > pick(held, labels)[:, None], held)
        return -library(logits).mean((1 + total(above, 1)) * pick(log_softmax(logits), labels))
