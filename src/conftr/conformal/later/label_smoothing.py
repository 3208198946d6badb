"""Label smoothing (Szegedy et al., CVPR 2016), a cheap baseline.

mean_i [ (1 - eps) (-log p_i[y_i]) + eps / K sum_k -log p_i[k] ]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conftr.conformal import checks
from conftr.conformal.arrays import Array, library, log_softmax, pick


@dataclass(frozen=True)
class LabelSmoothing:
    """Cross-entropy with a share of every label spread over all classes.

    Attributes:
        smoothing: Eps, that share; 0.1 in the source.
    """

    smoothing: Any = 0.1

    def __post_init__(self) -> None:
        """Refuse a share outside [0, 1)."""
        checks.number(self.smoothing, "smoothing", at_least=0, below=1)

    def __call__(self, logits: Array, labels: Array) -> Array:
        """The mean over the batch, (n, K) and (n,) -> ()."""
        logits = checks.logits_array(logits)
        labels = checks.labels_array(labels, logits)
        xp, logs = library(logits), log_softmax(logits)
        of_truth = (1 - self.smoothing) * xp.mean(pick(logs, labels))
        return -of_truth - self.smoothing * xp.mean(logs)
