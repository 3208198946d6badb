"""Focal loss (Lin et al., ICCV 2017), a cheap baseline.

    mean_i (1 - p_i)^gamma (-log p_i),    p_i = softmax(logits_i)[y_i]

gamma = 0 is cross-entropy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conftr.conformal import checks
from conftr.conformal.arrays import Array, at_least, library, log_softmax, pick

_LEAST = 1e-8  # below it, 1 - p has no slope: that of a power below 1 has no bound


@dataclass(frozen=True)
class Focal:
    """Cross-entropy that counts examples less the surer the model is of them.

    Attributes:
        gamma: How much less; 2 in the source.
    """

    gamma: Any = 2.0

    def __post_init__(self) -> None:
        """Refuse a negative gamma."""
        checks.number(self.gamma, "gamma", at_least=0)

    def __call__(self, logits: Array, labels: Array) -> Array:
        """The mean over the batch, (n, K) and (n,) -> ()."""
        logits = checks.logits_array(logits)
        labels = checks.labels_array(labels, logits)
        xp, log_p = library(logits), pick(log_softmax(logits), labels)
        unsure = at_least(-xp.expm1(log_p), _LEAST)
        return -xp.mean(unsure**self.gamma * log_p)
