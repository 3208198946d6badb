"""The simple Fano bound (Correia et al., NeurIPS 2024) as an objective.

    h_b(alpha) + alpha mean_missed log(K - |C|) + (1 - alpha + 1/(n+1)) mean_covered log |C|

with n calibrating examples. Decided: |C| of a covered example and K - |C| of a missed one are at
least 1, as those of hard sets are, so that nothing is gained below a set of one class.
"""

from __future__ import annotations

from dataclasses import dataclass

from conftr.conformal.arrays import Array, at_least, library, pick, total
from conftr.conformal.later.information import EntropyBound, covered_share, entropy, mean_over


@dataclass(frozen=True)
class Fano(EntropyBound):
    """Fano's inequality with prediction sets: the logarithm of their size. Fields as in `ConfTr`.

    Attributes:
        alpha: The share of sets that may miss the truth.
    """

    def __call__(self, logits: Array, labels: Array) -> Array:
        """The bound on one batch, (n, K) and (n,) -> ()."""
        batch = self.predicted(logits, labels)
        sets, xp = batch.sets, library(logits)
        covered, size = pick(sets, batch.labels), total(sets, 1)
        inside = mean_over(xp.log(at_least(size, 1)), covered)
        outside = mean_over(xp.log(at_least(sets.shape[1] - size, 1)), 1 - covered)
        share = covered_share(self.alpha, batch.n)
        return entropy(self.alpha) + self.alpha * outside + share * inside
