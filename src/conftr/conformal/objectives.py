"""Training objectives as values: callable on (logits (n, K), labels (n,)) -> a scalar to minimise.

    total = log( L + size_weight * Omega + 1e-8 ) [+ cross_entropy_weight * cross-entropy]

with Omega the size loss and L the class loss or any other loss on soft sets (sec. 3). Weight
decay belongs to the optimiser. The scalar lives in the library of its inputs and can be
differentiated in JAX and PyTorch. Fields that are numbers or arrays may also be traced values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from conftr.conformal import checks
from conftr.conformal.arrays import Array, library, pick
from conftr.conformal.batch import (
    Score,
    check_shared_fields,
    cross_entropy,
    scored,
    soft_sets,
    split_rows,
)
from conftr.conformal.losses import cost, excess, missed
from conftr.conformal.quantile import Quantile, SmoothSort
from conftr.conformal.scores import thr
from conftr.conformal.shaping import identity
from conftr.conformal.values import by_content

SetLoss: TypeAlias = Callable[[Array, Array], Array]

_EPSILON = 1e-8


@dataclass(frozen=True)
class CrossEntropy:
    """mean_i -log softmax(logits_i)[y_i], the baseline."""

    def __call__(self, logits: Array, labels: Array) -> Array:
        """The mean over the batch, (n, K) and (n,) -> ()."""
        logits = checks.logits_array(logits)
        return cross_entropy(logits, checks.labels_array(labels, logits))


@by_content
@dataclass(frozen=True, eq=False)
class ConfTr:
    """Conformal training (Alg. 1, eq. (3) and (4)): calibrate and predict within the batch.

        objective = ConfTr(alpha=0.05, quantile=Nearest(0.05), loss_matrix=conftr.identity)
        loss = objective(model(x), y)

    Attributes:
        alpha: The share of sets that may miss the truth. A quantile at alpha takes 1 / alpha - 1
            calibrating examples, so alpha = .01 a batch of about 200; smaller ones train, and say
            so.
        score: Conformity score, logits (n, K) -> (n, K).
        quantile: Estimator of tau and its gradient; the batch's tau is thrown away after each step.
        temperature: T of the soft sets.
        size_weight: Weight of the size loss; without a class loss the log cancels it.
        target_size: Kappa, the set size that costs nothing.
        class_weights: Omega (K,), the weight of each true class in the size loss.
        loss_matrix: None for no class loss; L (K, K), or a function of K such as `conftr.identity`.
        fraction: The share of the batch, its first rows, that calibrates while the rest predicts;
            None calibrates and predicts on the whole batch, as a batch of one example always does.
        cross_entropy_weight: Weight of a cross-entropy term over the whole batch.
        set_loss: Any function of (soft sets, labels) >= 0, in place of the class loss.
    """

    alpha: float = 0.01
    score: Score = thr
    quantile: Quantile = SmoothSort(0.1)
    temperature: Any = 1.0
    size_weight: Any = 0.5
    target_size: Any = 1
    class_weights: Any = None
    loss_matrix: Any = None
    fraction: float | None = 0.5
    cross_entropy_weight: Any = 0.0
    set_loss: SetLoss | None = None

    def __post_init__(self) -> None:
        """Refuse values out of range, naming the field."""
        _check_fields(self)

    def __call__(self, logits: Array, labels: Array) -> Array:
        """The objective on one batch, (n, K) and (n,) -> ()."""
        logits = checks.logits_array(logits, values=False)  # the score looks at the values
        labels = checks.labels_array(labels, logits)
        scores = scored(self.score, logits)
        (calibrating, predicting), (first_labels, rest_labels) = split_rows(
            self.fraction, scores, labels
        )
        tau = self.quantile(pick(calibrating, first_labels), self.alpha)
        total = _log_loss(self, soft_sets(predicting, tau, self.temperature), rest_labels)
        if isinstance(self.cross_entropy_weight, int | float) and self.cross_entropy_weight == 0:
            return total
        return total + self.cross_entropy_weight * cross_entropy(logits, labels)


@by_content
@dataclass(frozen=True, eq=False)
class CoverTr:
    """Coverage training (app. E): soft sets at a fixed threshold tau, no calibration.

    Needs a class loss (by default L = I) or a `set_loss`, because with tau fixed nothing else
    asks for coverage.

    Attributes:
        tau: The threshold.
        score: As in `ConfTr`.
        temperature: As in `ConfTr`.
        size_weight: As in `ConfTr`.
        target_size: As in `ConfTr`.
        class_weights: As in `ConfTr`.
        loss_matrix: As in `ConfTr`; the identity by default.
        set_loss: As in `ConfTr`.
    """

    tau: Any
    score: Score = thr
    temperature: Any = 1.0
    size_weight: Any = 0.5
    target_size: Any = 1
    class_weights: Any = None
    loss_matrix: Any = identity
    set_loss: SetLoss | None = None

    def __post_init__(self) -> None:
        """Refuse values out of range, naming the field."""
        checks.number(self.tau, "tau")
        if self.set_loss is not None and self.loss_matrix is identity:
            object.__setattr__(self, "loss_matrix", None)
        _check_fields(self)
        if self.set_loss is None and self.loss_matrix is None:
            raise ValueError(
                "loss_matrix must be given (conftr.identity for the paper's L = I) or set_loss: "
                "at a fixed tau the size loss alone is smallest for empty sets."
            )

    def __call__(self, logits: Array, labels: Array) -> Array:
        """The objective on one batch, (n, K) and (n,) -> ()."""
        logits = checks.logits_array(logits, values=False)  # the score looks at the values
        labels = checks.labels_array(labels, logits)
        sets = soft_sets(scored(self.score, logits), self.tau, self.temperature)
        return _log_loss(self, sets, labels)


@dataclass(frozen=True)
class Bel:
    """Bellotti's objective (app. E): CoverTr on logits with tau = 1, L_cov and kappa = 0.

    Attributes:
        alpha: The share of sets that may miss the truth.
        temperature: T of the soft sets.
        size_weight: Weight of the size.
    """

    alpha: float
    temperature: Any = 1.0
    size_weight: Any = 1.0

    def __post_init__(self) -> None:
        """Refuse values out of range, naming the field."""
        check_shared_fields(self)

    def __call__(self, logits: Array, labels: Array) -> Array:
        """The objective on one batch, (n, K) and (n,) -> ()."""
        logits = checks.logits_array(logits)
        labels = checks.labels_array(labels, logits)
        xp, sets = library(logits), soft_sets(logits, 1.0, self.temperature)
        uncovered = (xp.mean(missed(sets, labels)) - self.alpha) ** 2
        size = xp.mean(excess(sets, labels, 0, None))
        return xp.log(uncovered + self.size_weight * size + _EPSILON)


def _log_loss(objective: ConfTr | CoverTr, sets: Array, labels: Array) -> Array:
    """log( L + size_weight * Omega + 1e-8 ) on soft sets."""
    xp, k, weights = library(sets), sets.shape[1], objective.class_weights
    if weights is not None:
        checks.of_shape(weights, (k,), "class weights", "one a class")
    size = objective.size_weight * excess(sets, labels, objective.target_size, weights)
    if objective.set_loss is not None:
        loss = xp.mean(size) + objective.set_loss(sets, labels)
    elif objective.loss_matrix is not None:
        loss = xp.mean(size + _cost(sets, labels, objective.loss_matrix))
    else:
        loss = xp.mean(size)
    return xp.log(loss + _EPSILON)


def _cost(sets: Array, labels: Array, matrix: Any) -> Array:
    """What each example adds to the class loss, (n,); matrix: (K, K), or a function of K."""
    if matrix is identity:
        return missed(sets, labels)
    k = sets.shape[1]
    if callable(matrix):
        matrix = checks.not_negative(matrix(int(k)), "loss matrix")
    checks.of_shape(matrix, (k, k), "loss matrix", "a row a true class")
    return cost(sets, labels, matrix)


def _check_fields(objective: ConfTr | CoverTr) -> None:
    """Refuse fields of ConfTr and CoverTr that make no objective."""
    check_shared_fields(objective)
    for name in ("score", "quantile", "set_loss"):
        value = getattr(objective, name, thr)  # CoverTr has no quantile
        if isinstance(value, type):
            raise TypeError(f"{name} must be a value such as {value.__name__}(...), not the class.")
        if not callable(value) and not (name == "set_loss" and value is None):
            raise TypeError(f"{name} must be a function; got {value!r}.")
    for name in ("class_weights", "loss_matrix"):
        value = getattr(objective, name)
        if value is not None and not callable(value):
            known = checks.not_negative(value, name.replace("_", " "))
            object.__setattr__(objective, name, known)
    if objective.set_loss is not None and objective.loss_matrix is not None:
        raise ValueError(
            "give loss_matrix or set_loss, not both: each is the loss beside the size."
        )
