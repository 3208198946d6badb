"""Training objectives as values: callable on (logits (n, K), labels (n,)) -> a scalar to minimise.

    total = log( L + size_weight * Omega + 1e-8 ) [+ cross_entropy_weight * cross-entropy]

with Omega the size loss and L the class loss or any other loss on soft sets (sec. 3). Weight
decay belongs to the optimiser. The scalar lives in the library of its inputs and can be
differentiated in JAX and PyTorch. Fields that are numbers or arrays may also be traced values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from conftr import checks
from conftr.arrays import Array, is_traced, log_softmax, namespace, pick
from conftr.losses import class_loss, coverage_loss, size_loss
from conftr.quantile import Quantile, SmoothSort
from conftr.scores import thr, thr_logits
from conftr.sets import smooth_calibrate, smooth_predict
from conftr.shaping import identity

Score: TypeAlias = Callable[[Array], Array]
SetLoss: TypeAlias = Callable[[Array, Array], Array]

_EPSILON = 1e-8


@dataclass(frozen=True)
class CrossEntropy:
    """mean_i -log softmax(logits_i)[y_i], the baseline."""

    def __call__(self, logits: Array, labels: Array) -> Array:
        """The mean over the batch, (n, K) and (n,) -> ()."""
        logits = checks.logits_array(logits)
        return _cross_entropy(logits, checks.labels_array(labels, logits))


@dataclass(frozen=True, eq=False)
class ConfTr:
    """Conformal training (Alg. 1, eq. (3) and (4)): calibrate and predict within the batch.

    alpha: the share of sets that may miss the truth. A quantile at alpha takes 1 / alpha - 1
        calibrating examples, so alpha = .01 a batch of about 200; smaller ones train, and say so.
    score: conformity score, logits (n, K) -> (n, K).
    quantile: estimator of tau and its gradient; the batch's tau is thrown away after each step.
    temperature: T of the soft sets.
    size_weight: weight of the size loss; without a class loss the log cancels it.
    target_size: kappa, the set size that costs nothing.
    class_weights: omega (K,), the weight of each true class in the size loss.
    loss_matrix: None for no class loss; L (K, K), or a function of K such as `conftr.identity`.
    fraction: the share of the batch, its first rows, that calibrates while the rest predicts;
        None calibrates and predicts on the whole batch.
    cross_entropy_weight: weight of a cross-entropy term over the whole batch.
    set_loss: any function of (soft sets, labels) >= 0, in place of the class loss.

    objective = ConfTr(alpha=0.05, quantile=Nearest(0.05), loss_matrix=conftr.identity)
    loss = objective(model(x), y)
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
        checks.one_probability(self.alpha, "alpha")
        _check_sets_settings(self)
        checks.number(self.cross_entropy_weight, "cross_entropy_weight", at_least=0)
        if self.fraction is not None:
            checks.number(self.fraction, "fraction", above=0, below=1)

    def __call__(self, logits: Array, labels: Array) -> Array:
        """The objective on one batch, (n, K) and (n,) -> ()."""
        logits = checks.logits_array(logits)
        labels = checks.labels_array(labels, logits)
        scores = self.score(logits)
        calibrating, predicting = self._split(int(logits.shape[0]))
        tau = smooth_calibrate(
            scores[calibrating, :], labels[calibrating], self.alpha, self.quantile
        )
        sets = smooth_predict(scores[predicting, :], tau, self.temperature)
        total = _log_loss(self, sets, labels[predicting])
        if not is_traced(self.cross_entropy_weight) and self.cross_entropy_weight == 0:
            return total
        return total + self.cross_entropy_weight * _cross_entropy(logits, labels)

    def _split(self, n: int) -> tuple[slice, slice]:
        if self.fraction is None:
            return slice(0, n), slice(0, n)
        cut = max(1, int(self.fraction * n))
        if cut >= n:
            raise ValueError(
                f"a batch must hold at least 2 examples, to calibrate on some and predict on the "
                f"others; got {n}. Drop the last, incomplete batch, or set fraction=None."
            )
        return slice(0, cut), slice(cut, n)


@dataclass(frozen=True, eq=False)
class CoverTr:
    """Coverage training (app. E): soft sets at a fixed threshold tau, no calibration.

    Needs a class loss (by default L = I) or a `set_loss`, because with tau fixed nothing else
    asks for coverage. Fields as in `ConfTr`.
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
        _check_sets_settings(self)
        if self.set_loss is None and self.loss_matrix is None:
            raise ValueError(
                "loss_matrix must be given (conftr.identity for the paper's L = I) or set_loss: "
                "at a fixed tau the size loss alone is smallest for empty sets."
            )

    def __call__(self, logits: Array, labels: Array) -> Array:
        """The objective on one batch, (n, K) and (n,) -> ()."""
        logits = checks.logits_array(logits)
        labels = checks.labels_array(labels, logits)
        sets = smooth_predict(self.score(logits), self.tau, self.temperature)
        return _log_loss(self, sets, labels)


@dataclass(frozen=True)
class Bel:
    """Bellotti's objective (app. E): CoverTr on logits with tau = 1, L_cov and kappa = 0."""

    alpha: float
    temperature: Any = 1.0
    size_weight: Any = 1.0

    def __post_init__(self) -> None:
        """Refuse values out of range, naming the field."""
        checks.one_probability(self.alpha, "alpha")
        checks.number(self.temperature, "temperature", above=0)
        checks.number(self.size_weight, "size_weight", at_least=0)

    def __call__(self, logits: Array, labels: Array) -> Array:
        """The objective on one batch, (n, K) and (n,) -> ()."""
        return CoverTr(
            tau=1.0,
            score=thr_logits,
            temperature=self.temperature,
            size_weight=self.size_weight,
            target_size=0,
            set_loss=partial(coverage_loss, alpha=self.alpha),
        )(logits, labels)


def _cross_entropy(logits: Array, labels: Array) -> Array:
    return -namespace(logits=logits).mean(pick(log_softmax(logits), labels))


def _log_loss(objective: ConfTr | CoverTr, sets: Array, labels: Array) -> Array:
    """log( L + size_weight * Omega + 1e-8 ) on soft sets."""
    loss = objective.size_weight * size_loss(
        sets, labels, target_size=objective.target_size, weights=objective.class_weights
    )
    if objective.set_loss is not None:
        loss = loss + objective.set_loss(sets, labels)
    elif objective.loss_matrix is not None:
        matrix = objective.loss_matrix
        matrix = matrix(int(sets.shape[1])) if callable(matrix) else matrix
        loss = loss + class_loss(sets, labels, matrix)
    return namespace(sets=sets).log(loss + _EPSILON)


def _check_sets_settings(objective: ConfTr | CoverTr) -> None:
    """The fields that ConfTr and CoverTr share."""
    checks.number(objective.temperature, "temperature", above=0)
    checks.number(objective.size_weight, "size_weight", at_least=0)
    checks.number(objective.target_size, "target_size", at_least=0)
    for name in ("score", "quantile", "set_loss"):
        value = getattr(objective, name, thr)  # CoverTr has no quantile
        if isinstance(value, type):
            raise TypeError(f"{name} must be a value such as {value.__name__}(...), not the class.")
        if not callable(value) and not (name == "set_loss" and value is None):
            raise TypeError(f"{name} must be a function; got {value!r}.")
    if objective.set_loss is not None and objective.loss_matrix is not None:
        raise ValueError(
            "give loss_matrix or set_loss, not both: each is the loss beside the size."
        )
