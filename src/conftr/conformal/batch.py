"""What a batch gives an objective: cross-entropy, scores, and soft sets at its own threshold."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from conftr.conformal import checks
from conftr.conformal.arrays import Array, divide, library, log_softmax, pick, settled, sigmoid
from conftr.conformal.quantile import Quantile
from conftr.conformal.scores import log_probabilities, thr

Score: TypeAlias = Callable[[Array], Array]


class Calibrated(NamedTuple):
    """The rows of a batch that predict.

    above: (E - tau) / T (n, K), whose sigmoid is the soft sets.
    logits, labels: of these rows. n: how many others calibrated.
    """

    above: Array
    logits: Array
    labels: Array
    n: int

    @property
    def sets(self) -> Array:
        """Soft sets (n, K)."""
        return sigmoid(self.above)


def calibrated(
    logits: Array,
    labels: Array,
    *,
    score: Score,
    quantile: Quantile,
    alpha: float,
    temperature: Any,
    fraction: float | None,
) -> Calibrated:
    """Calibrate on the first rows of a batch and predict the others, as `ConfTr` does (Alg. 1)."""
    scores = scored(score, logits)
    (calibrating, predicting), (first_labels, rest_labels), (_, rows) = split_rows(
        fraction, scores, labels, logits
    )
    tau = quantile(pick(calibrating, first_labels), alpha)
    n = operator.index(calibrating.shape[0])
    return Calibrated((predicting - tau) / temperature, rows, rest_labels, n)


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
