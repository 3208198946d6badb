"""ConfTS: one temperature for APS or RAPS, found after training (Xi et al., TMLR 2025).

Scores of logits / T have other sets for every T, because they count mass; those of THR change
little. The source descends on the gap between a threshold and true scores; what that stands for,
the size of the sets, is measured here directly. Decided: even steps of the logarithm of T, then
finer ones about the best, on rows that serve threshold and size alike, as T is one number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from conftr.conformal import checks
from conftr.conformal.arrays import Array
from conftr.conformal.metrics import inefficiency
from conftr.conformal.scores import aps
from conftr.conformal.sets import calibrate, predict_set

_REACH, _COARSE, _FINE = 2.0, 17, 9  # decades either way; temperatures of each round


def confts(
    logits: Array,
    labels: Array,
    alpha: float,
    *,
    score: Callable[..., Array] = aps,
    u: Any = None,
) -> float:
    """The temperature with the smallest sets.

        T = conftr.confts(logits[held_out], labels[held_out], alpha=0.05)
        scores = conftr.aps(logits / T)

    Args:
        logits: (n, K), of rows that neither trained the model nor will calibrate it.
        labels: (n,).
        alpha: The share of sets that may miss the truth.
        score: `conftr.aps`, `conftr.raps` or another score that counts mass.
        u: U of each row (n,), where the score is going to be used with it.

    Returns:
        T; scores are then those of logits / T, in calibration and in prediction.
    """
    logits = checks.logits_array(logits)
    labels = checks.labels_array(labels, logits)
    alpha = checks.one_probability(alpha, "alpha")

    def size(place: float) -> float:
        scaled = logits / 10**place
        scores = score(scaled) if u is None else score(scaled, u)
        return float(inefficiency(predict_set(scores, calibrate(scores, labels, alpha))))

    coarse = np.linspace(-_REACH, _REACH, _COARSE)
    best = min(coarse, key=size)
    step = coarse[1] - coarse[0]
    fine = np.linspace(best - step, best + step, _FINE)
    return float(10 ** min(fine, key=size))
