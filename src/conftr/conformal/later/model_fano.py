"""The model-based Fano bound (Correia et al., NeurIPS 2024) as an objective.

    h_b(alpha) + alpha CE_out + (1 - alpha + 1/(n+1)) CE_in
    CE_in  = mean_covered -log softmax(log p + log C)_y
    CE_out = mean_missed  -log softmax(log p + log(1 - C))_y

CE_in is the cross-entropy of the truth among the classes of its set, CE_out among the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from conftr.conformal.arrays import Array, log_softmax, pick
from conftr.conformal.later.information import (
    EntropyBound,
    covered_share,
    entropy,
    log_sigmoid,
    mean_over,
)


@dataclass(frozen=True)
class ModelFano(EntropyBound):
    """Fano's inequality with prediction sets and the model's probabilities in and outside them.

    Fields as in `ConfTr`.

    Attributes:
        alpha: The share of sets that may miss the truth.
    """

    def __call__(self, logits: Array, labels: Array) -> Array:
        """The bound on one batch, (n, K) and (n,) -> ()."""
        batch = self.predicted(logits, labels)
        logs, covered = log_softmax(batch.logits), pick(batch.sets, batch.labels)
        inside = -pick(log_softmax(logs + log_sigmoid(batch.above)), batch.labels)
        outside = -pick(log_softmax(logs + log_sigmoid(-batch.above)), batch.labels)
        bound = entropy(self.alpha) + self.alpha * mean_over(outside, 1 - covered)
        return bound + covered_share(self.alpha, batch.n) * mean_over(inside, covered)
