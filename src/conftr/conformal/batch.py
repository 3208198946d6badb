"""What a batch gives an objective: cross-entropy, scores, and soft sets at its own threshold."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from conftr.conformal import checks
from conftr.conformal.arrays import Array, divide, library, log_softmax, pick, settled, sigmoid
from conftr.conformal.scores import log_probabilities, thr

Score: TypeAlias = Callable[[Array], Array]

# The ranges of numbers that several objectives have.
_RANGES: dict[str, dict[str, float]] = {
    "temperature": {"above": 0},
    "size_weight": {"at_least": 0},
    "target_size": {"at_least": 0},
    "cross_entropy_weight": {"at_least": 0},
    "fraction": {"above": 0, "below": 1},
}


class Calibrated(NamedTuple):
    """The rows of a batch that predict.

    Attributes:
        above: (E - tau) / T (n, K), whose sigmoid is the soft sets.
        logits: Of these rows.
        labels: Of these rows.
        n: How many others calibrated.
    """

    above: Array
    logits: Array
    labels: Array
    n: int

    @property
    def sets(self) -> Array:
        """Soft sets (n, K)."""
        return sigmoid(self.above)


def check_shared_fields(objective: Any) -> None:
    """Refuse values out of range in the fields that several objectives have, naming the field."""
    if hasattr(objective, "alpha"):
        object.__setattr__(objective, "alpha", checks.one_probability(objective.alpha, "alpha"))
    for name, limits in _RANGES.items():
        if hasattr(objective, name) and not (name == "fraction" and objective.fraction is None):
            checks.number(getattr(objective, name), name, **limits)


def calibrated(objective: Any, logits: Array, labels: Array) -> Calibrated:
    """Calibrate on the first rows of a batch and predict the others (Alg. 1).

    Args:
        objective: Has `score`, `quantile`, `alpha`, `temperature` and `fraction`, as `ConfTr` has.
        logits: (n, K).
        labels: (n,).

    Returns:
        What the other rows get.
    """
    scores = scored(objective.score, logits)
    (calibrating, predicting), (first_labels, rest_labels), (_, rows) = split_rows(
        objective.fraction, scores, labels, logits
    )
    tau = objective.quantile(pick(calibrating, first_labels), objective.alpha)
    n = operator.index(calibrating.shape[0])
    return Calibrated((predicting - tau) / objective.temperature, rows, rest_labels, n)


def cross_entropy(logits: Array, labels: Array) -> Array:
    """mean_i -log softmax(logits_i)[y_i]."""
    return -library(logits).mean(pick(log_softmax(logits), labels))


def scored(score: Score, logits: Array) -> Array:
    """Scores (n, K) for soft sets, which cannot see how `thr` ranks probabilities near 1."""
    if score is thr:
        return log_probabilities(logits)
    return checks.logits_array(score(logits), "scores", values=False)


def soft_sets(scores: Array, tau: Any, temperature: Any) -> Array:
    """sigmoid((E - tau) / T), (n, K)."""
    above = scores - tau
    if isinstance(temperature, int | float) and temperature == 1:
        return sigmoid(above)  # a division is felt in PyTorch, forwards and backwards
    return sigmoid(above / temperature)


def split_rows(fraction: float | None, *rows: Array) -> list[tuple[Array, Array]]:
    """The first share of the rows and the others, of each array; all twice for None or one row."""
    n = operator.index(rows[0].shape[0])
    if n == 0:
        raise ValueError("a batch must hold examples; got none.")
    if fraction is None or n == 1:
        return [(x, x) for x in rows]
    return [divide(x, _cut(n, float(fraction))) for x in rows]


@settled
def _cut(n: int, fraction: float) -> int:
    """How many examples of a batch calibrate."""
    return max(1, int(fraction * n))
