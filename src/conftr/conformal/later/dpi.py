"""The bound by data processing (Correia et al., NeurIPS 2024) as an objective.

    h_b(alpha) + CE + (1 - alpha) log Q + alpha log(1 - Q),    Q = mean_i sum_k p_ik C_ik

Q is the coverage that the model itself expects. As H(Y|X) = CE - KL(truth, model), and no
event is told apart better than its whole, KL is at least that of two coins, 1 - alpha and Q.
Decided: the shares are 1 - alpha and alpha, without the 1/(n+1) by which a finite calibration set
may exceed them, which at alpha = .01 would leave nothing of the last term in a usual batch.
"""

from __future__ import annotations

from dataclasses import dataclass

from conftr.conformal import checks
from conftr.conformal.arrays import Array, library, log_softmax, sigmoid, total
from conftr.conformal.batch import cross_entropy
from conftr.conformal.later.information import EntropyBound, entropy

_EPSILON = 1e-8


@dataclass(frozen=True)
class DPI(EntropyBound):
    """Cross-entropy less what the sets' coverage tells of the model. Fields as in `ConfTr`.

    Attributes:
        alpha: The share of sets that may miss the truth.
    """

    def __call__(self, logits: Array, labels: Array) -> Array:
        """The bound on one batch, (n, K) and (n,) -> ()."""
        logits = checks.logits_array(logits, values=False)
        labels = checks.labels_array(labels, logits)
        batch, xp = self.predicted(logits, labels), library(logits)
        p = xp.exp(log_softmax(batch.logits))
        inside = xp.mean(total(p * batch.sets, 1))
        outside = xp.mean(total(p * sigmoid(-batch.above), 1))
        expected = (1 - self.alpha) * xp.log(inside + _EPSILON)
        expected = expected + self.alpha * xp.log(outside + _EPSILON)
        return entropy(self.alpha) + cross_entropy(logits, labels) + expected
