"""The matrix of a head, trained through conformal prediction (Alg. 1) on the members' weighted sum.

All aims and folds train side by side in one compiled program. Each fold's matrix is measured on
the rows outside its training; their mean, which is as linear as they are, is what is kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import jax.numpy as jnp
import numpy as np

from conftr.classifier.recipes import trained_alpha
from conftr.conformal.objectives import ConfTr
from conftr.conformal.quantile import CalibrationWarning, Nearest
from conftr.members.member import Fold, Numbers
from conftr.training import SGD, Plan, TrainingSet, TrainingWarning, cosine, fit, trial_keys
from conftr.training import Progress as Epoch
from conftr.training.models import Array, Key

EpochReport: TypeAlias = Callable[[int, int], None]

_BATCH = 1024
_STEPS = 400
_LEARNING_RATE = 0.05
_SQUARE = 200.0  # mean square of an input's length, to which the learning rate belongs
_DECAY = 100.0  # over the number of rows, of A and b: a head stays near the members


@dataclass(frozen=True, eq=False)
class Aim:
    """What a matrix is trained for, as fields of `ConfTr`.

    Attributes:
        name: For people.
        loss_matrix: L (K, K), 0 for no class loss.
        size_weight: 0 leaves cross-entropy alone.
    """

    name: str
    loss_matrix: Numbers
    size_weight: float = 1.0


class TrainedMatrix(NamedTuple):
    """A matrix A (K, K), its bias b (K,), and logits (n, K) of every row by a fold that held it."""

    aim: Aim
    matrix: Numbers
    bias: Numbers
    logits: Numbers


@dataclass(frozen=True)
class Residual:
    """x + x A + b as a model that `fit` trains; A and b begin as 0."""

    classes: int

    def init(self, key: Key, /) -> tuple[Any, Any]:  # noqa: ARG002
        """Zeros: before training the head is its input."""
        size = self.classes
        return {"matrix": jnp.zeros((size, size)), "bias": jnp.zeros(size)}, ()

    def apply(self, params: Any, state: Any, x: Array, train: bool, /) -> tuple[Array, Any]:  # noqa: ARG002
        """Logits (n, K) of inputs (n, K)."""
        return x + x @ params["matrix"] + params["bias"], state


def aims(classes: int, head: str = "auto") -> list[Aim]:
    """What is tried where nobody wishes anything: cross-entropy, ConfTr without and with L = I.

    Args:
        classes: How many there are.
        head: "auto" for all, or "cross-entropy" or "conftr" for those of one kind.
    """
    nothing = np.zeros((classes, classes))
    plain = [Aim("head by cross-entropy", nothing, 0.0)]
    conformal = [
        Aim("head by conformal training", nothing),
        Aim("head by conformal training with class loss", np.eye(classes)),
    ]
    return {"cross-entropy": plain, "conftr": conformal}.get(head, plain + conformal)


def train(
    combined: Numbers,
    labels: Any,
    folds: Sequence[Fold],
    to_train: Sequence[Aim],
    *,
    alpha: float,
    seed: int = 0,
    report: EpochReport | None = None,
) -> list[TrainedMatrix]:
    """Train a matrix for each aim; those that do not stay finite are left out.

    Args:
        combined: What the weights make of the members, s (n, K).
        labels: Classes of the rows, (n,).
        folds: Of these rows.
        to_train: What matrices are trained for.
        alpha: The share of sets that may miss the truth.
        seed: Of the shuffles.
        report: Told epochs done and epochs in all; it may raise to end the training.
    """
    classes = combined.shape[1]
    size = min(len(fold.train) for fold in folds)
    trials = [(aim, fold) for aim in to_train for fold in folds]
    plan = plan_for(size, float(np.square(combined).sum(axis=1).mean()))

    fitted = train_trials(
        Residual(classes),
        TrainingSet(combined.astype(np.float32), np.asarray(labels, np.int32)),
        [(aim, fold.train[:size]) for aim, fold in trials],
        plan,
        alpha=alpha,
        seed=seed,
        report=report,
    )
    shape = (len(to_train), len(folds), -1, classes)
    matrices = np.asarray(fitted.params["matrix"], np.float64).reshape(shape)
    biases = np.asarray(fitted.params["bias"], np.float64).reshape(shape)[:, :, 0]
    return [
        _kept(aim, matrix, bias, combined, folds)
        for aim, matrix, bias in zip(to_train, matrices, biases, strict=True)
        if np.isfinite(matrix).all() and np.isfinite(bias).all()
    ]


def train_trials(
    model: Any,
    data: TrainingSet,
    trials: Sequence[tuple[Aim, Any]],
    plan: Plan,
    *,
    alpha: float,
    seed: int,
    report: EpochReport | None,
) -> Any:
    """Train a model for each trial, an aim and as many rows in each, in one compiled program."""
    aimed, classes = [aim for aim, _ in trials], len(trials[0][0].loss_matrix)
    size = len(trials[0][1])

    def step(now: Epoch) -> None:
        if report is not None:
            report(now.epoch, now.epochs)

    with warnings.catch_warnings():
        for category in (TrainingWarning, CalibrationWarning):
            warnings.simplefilter("ignore", category)
        return fit(
            trial_keys(seed, 1)[np.zeros(len(trials), int)],
            model,
            data,
            _objective_for(alpha, classes, plan.batch_size),
            plan,
            rows=np.stack([rows for _, rows in trials]),
            vary={
                "loss_matrix": [aim.loss_matrix for aim in aimed],
                "size_weight": [aim.size_weight for aim in aimed],
                "weight_decay": [min(0.1, _DECAY / size)] * len(aimed),
            },
            progress=step,
        )


def _kept(
    aim: Aim, matrices: Numbers, biases: Numbers, combined: Numbers, folds: Sequence[Fold]
) -> TrainedMatrix:
    """The mean over folds, and what each fold's own gives of the rows it did not train on."""
    logits = np.empty(combined.shape)
    for fold, matrix, bias in zip(folds, matrices, biases, strict=True):
        held = combined[fold.held]
        logits[fold.held] = held + held @ matrix + bias
    return TrainedMatrix(aim, matrices.mean(axis=0), biases.mean(axis=0), logits)


def _objective_for(alpha: float, classes: int, batch_size: int) -> ConfTr:
    """Conformal training beside cross-entropy; a batch too small for alpha trains for a larger."""
    trained = trained_alpha(alpha, batch_size)
    return ConfTr(
        trained,
        quantile=Nearest(min(1.0, 2 * trained)),
        # Every trial has a matrix of its own; that there is one is part of the program.
        loss_matrix=np.eye(classes),
        cross_entropy_weight=1.0,
    )


def plan_for(n: int, square: float) -> Plan:
    """A few hundred steps, the shorter the longer inputs are (square: their mean square)."""
    batch = min(_BATCH, n)
    rate = _LEARNING_RATE * _SQUARE / max(square, 1.0)
    return Plan(max(1, _STEPS // (n // batch)), batch, SGD(rate, schedule=cosine))
