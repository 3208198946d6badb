"""DPSM: direct prediction set minimisation (ICML 2025), sets against a threshold that follows.

    cross-entropy + size_weight mean_i sum_k sigmoid((tau - s_ik) / T),    s = 1 - p, tau held
    tau <- tau - rate ( mean_i 1[s_i,y_i < tau] - (1 - alpha) )            after every step

The second line is a step on the pinball loss, so tau tends to the (1 - alpha) quantile of all
training scores, where a batch knows it from few examples. Published: T = 1, size_weight 0.05 to
0.1, rate 0.01, and a model trained by cross-entropy before, with tau at its training quantile.

Decided, as an objective knows of no training before it: the first `warm_up` steps are by
cross-entropy alone, and tau is the running mean of the batches' quantiles meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from conftr.conformal import checks
from conftr.conformal.arrays import (
    Array,
    constant,
    library,
    log_softmax,
    pick,
    sigmoid,
    stop_gradient,
    total,
)
from conftr.conformal.batch import check_shared_fields, cross_entropy
from conftr.conformal.quantile import exact_position

_MEMORY = 50  # batches over which the warm-up averages, at most


class DPSMState(NamedTuple):
    """The threshold of s = 1 - p, and how many steps were taken."""

    tau: Any
    steps: Any


@dataclass(frozen=True)
class DPSM:
    """Cross-entropy and the size of sets at a threshold that follows the training data.

    Attributes:
        alpha: The share of sets that may miss the truth.
        size_weight: Weight of the size.
        temperature: T of the soft sets.
        rate: How far tau moves in a step.
        warm_up: Steps by cross-entropy alone.
    """

    alpha: float = 0.01
    size_weight: Any = 0.1
    temperature: Any = 1.0
    rate: Any = 0.01
    warm_up: int = 100

    def __post_init__(self) -> None:
        """Refuse values out of range, naming the field."""
        check_shared_fields(self)
        checks.number(self.rate, "rate", at_least=0)
        checks.number(self.warm_up, "warm_up", at_least=0)

    def start(self, classes: int) -> DPSMState:  # noqa: ARG002
        """Tau = 1, the threshold of sets that hold every class.

        Args:
            classes: K.

        Returns:
            The state before the first step.
        """
        return DPSMState(np.float32(1), np.float32(0))

    def __call__(self, logits: Array, labels: Array, state: DPSMState | None = None) -> Array:
        """The objective on one batch, (n, K) and (n,) -> (); without a state, after the warm-up."""
        logits = checks.logits_array(logits)
        labels = checks.labels_array(labels, logits)
        xp = library(logits)
        tau, steps = state or DPSMState(1.0, self.warm_up)
        s = 1 - xp.exp(log_softmax(logits))
        size = xp.mean(total(sigmoid((constant(tau, s) - s) / self.temperature), 1))
        on = constant(constant(steps, s) >= self.warm_up, s)
        return cross_entropy(logits, labels) + on * self.size_weight * size

    def update(self, logits: Array, labels: Array, state: DPSMState) -> DPSMState:
        """Move tau: to the batches' quantile while warming up, then by the pinball loss.

        Args:
            logits: Of the batch, (n, K).
            labels: Of the batch, (n,).
            state: Before the step.

        Returns:
            The state after the step.
        """
        held = stop_gradient(checks.logits_array(logits, values=False))
        xp, labels = library(held), checks.labels_array(labels, held)
        s = 1 - xp.exp(pick(log_softmax(held), labels))
        tau, steps = (constant(value, s) for value in state)
        followed = tau - self.rate * (xp.mean(constant(s < tau, s)) - (1 - self.alpha))
        share = 1 / xp.clip(steps + 1, 1, _MEMORY)
        warming = tau + share * (_upper_quantile(s, self.alpha) - tau)
        return DPSMState(xp.where(steps < self.warm_up, warming, followed), steps + 1)


def _upper_quantile(s: Array, alpha: float) -> Array:
    """The (1 - alpha) quantile of a batch's scores (n,): the r-th largest, r = alpha (n + 1)."""
    place, _ = exact_position(int(s.shape[0]), alpha)
    return -library(s).sort(-s)[place]
