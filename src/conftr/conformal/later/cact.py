"""CaCT: class-adaptive conformal training (arXiv 2601.09522, 2026), sizes under a bound by class.

    min cross-entropy  subject to  |C| <= eta for the examples of every class

solved by an augmented Lagrangian with a multiplier lambda and a penalty rho for each class:

    cross-entropy + mean_i P(z_i; lambda_y, rho_y),    z_i = sum_k C_ik - eta
    P(z; lambda, rho) = lambda z + rho z^2 / 2  where lambda + rho z >= 0, else -lambda^2 / (2 rho)

Then lambda <- mean over the class of max(0, lambda + rho z), and rho <- growth rho where the mean z
of a class is above 0 and above 0.9 of what it was the last time.

Decided: the source moves both after each epoch, by held-out rows. An objective knows of neither, so
they move every `every` steps, by the examples that predicted in them; a class that did not occur
stays as it is. Multipliers begin at 0, and rho does not grow beyond a hundred times its start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from conftr.conformal import checks
from conftr.conformal.arrays import (
    Array,
    at_least,
    constant,
    counting,
    library,
    stop_gradient,
    total,
)
from conftr.conformal.batch import Score, calibrated, check_shared_fields, cross_entropy
from conftr.conformal.quantile import Quantile, SmoothSort
from conftr.conformal.scores import thr

_PROGRESS, _MOST = 0.9, 100.0


class CaCTState(NamedTuple):
    """What `CaCT` carries from step to step: of each class, (K,).

    Attributes:
        multipliers: Lambda.
        growth: Rho over its start.
        before: The mean z of the last move.
        pushed: The sum of max(0, lambda + rho z) since then.
        exceeded: The sum of z since then.
        seen: The number of examples since then.
        steps: The number of steps since then, ().
    """

    multipliers: Any
    growth: Any
    before: Any
    pushed: Any
    exceeded: Any
    seen: Any
    steps: Any


@dataclass(frozen=True)
class CaCT:
    """Cross-entropy with the size of sets held under a bound, harder for classes that exceed it.

    Attributes:
        alpha: The share of sets that may miss the truth.
        target_size: Eta, the bound on the set size of every class.
        penalty: Rho before the first step.
        growth: Factor by which rho of a class grows while its sets stay too large.
        every: Steps between two updates of multipliers and penalties.
        score: As in `ConfTr`.
        quantile: As in `ConfTr`.
        temperature: As in `ConfTr`.
        fraction: As in `ConfTr`.
    """

    alpha: float = 0.01
    target_size: Any = 1
    penalty: Any = 0.1
    growth: Any = 1.2
    every: int = 200
    score: Score = thr
    quantile: Quantile = SmoothSort(0.1)
    temperature: Any = 1.0
    fraction: float | None = 0.5

    def __post_init__(self) -> None:
        """Refuse values out of range, naming the field."""
        check_shared_fields(self)
        checks.number(self.penalty, "penalty", above=0)
        checks.number(self.growth, "growth", at_least=1)
        checks.number(self.every, "every", at_least=1)

    def start(self, classes: int) -> CaCTState:
        """The state without multipliers, with penalties as they begin.

        Args:
            classes: K.

        Returns:
            The state before the first step.
        """
        zeros, ones = np.zeros(classes, np.float32), np.ones(classes, np.float32)
        return CaCTState(zeros, ones, zeros, zeros, zeros, zeros, np.float32(0))

    def __call__(self, logits: Array, labels: Array, state: CaCTState | None = None) -> Array:
        """The objective on one batch, (n, K) and (n,) -> ()."""
        logits = checks.logits_array(logits, values=False)
        labels = checks.labels_array(labels, logits)
        z, one_hot = self._excess(logits, labels)
        multiplier, rho = self._of_rows(one_hot, state or self.start(int(logits.shape[1])))
        # Both pieces of P at once: (max(0, lambda + rho z)^2 - lambda^2) / (2 rho).
        penalties = (at_least(multiplier + rho * z, 0) ** 2 - multiplier**2) / (2 * rho)
        return cross_entropy(logits, labels) + library(z).mean(penalties)

    def update(self, logits: Array, labels: Array, state: CaCTState) -> CaCTState:
        """Count the batch; every so many steps, move multipliers and penalties.

        Args:
            logits: Of the batch, (n, K).
            labels: Of the batch, (n,).
            state: Before the step.

        Returns:
            The state after the step.
        """
        held = stop_gradient(checks.logits_array(logits, values=False))
        z, one_hot = self._excess(held, checks.labels_array(labels, held))
        multiplier, rho = self._of_rows(one_hot, state)
        push = at_least(multiplier + rho * z, 0)
        known = CaCTState(*(constant(value, z) for value in state))
        counted = known._replace(
            pushed=known.pushed + total(one_hot * push[:, None], 0),
            exceeded=known.exceeded + total(one_hot * z[:, None], 0),
            seen=known.seen + total(one_hot, 0),
            steps=known.steps + 1,
        )
        xp, due = library(z), counted.steps >= self.every
        pairs = zip(self._moved(counted), counted, strict=True)
        return CaCTState(*(xp.where(due, moved, kept) for moved, kept in pairs))

    def _excess(self, logits: Array, labels: Array) -> tuple[Array, Array]:
        """z (n,) of the rows that predict, and their classes as 0 and 1, (n, K)."""
        batch = calibrated(self, logits, labels)
        classes = counting(int(logits.shape[1]), batch.labels)[None, :]
        one_hot = constant(batch.labels[:, None] == classes, stop_gradient(batch.logits))
        return total(batch.sets, 1) - self.target_size, one_hot

    def _of_rows(self, one_hot: Array, state: CaCTState) -> tuple[Array, Array]:
        """Lambda and rho of each row's class, (n,)."""
        multiplier = total(one_hot * constant(state.multipliers, one_hot)[None, :], 1)
        rho = self.penalty * total(one_hot * constant(state.growth, one_hot)[None, :], 1)
        return multiplier, rho

    def _moved(self, state: CaCTState) -> CaCTState:
        """The state after a move, with nothing counted."""
        xp, zero = library(state.seen), state.seen * 0
        some, count = state.seen > 0, at_least(state.seen, 1)
        mean = state.exceeded / count
        lags = some & (mean > 0) & (mean > _PROGRESS * state.before)
        grown = xp.clip(state.growth * self.growth, 1, _MOST)
        return CaCTState(
            xp.where(some, state.pushed / count, state.multipliers),
            xp.where(lags, grown, state.growth),
            xp.where(some, mean, state.before),
            zero,
            zero,
            zero,
            state.steps * 0,
        )
