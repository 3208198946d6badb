"""The hidden layer of a head, trained on what all members say side by side (the paper's MLP).

Every aim is trained once for each fold, to be measured on the rows that the fold holds out, and
once on all rows: that one is kept. All train side by side in one compiled program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from conftr.classifier.head import HiddenLayer
from conftr.classifier.matrices import Aim, EpochReport, plan_for, train_trials
from conftr.members.member import Fold, Numbers
from conftr.training import TrainingSet
from conftr.training.models import Array, Key

_WIDTH = 16


class TrainedLayer(NamedTuple):
    """A hidden layer, its bias b (K,), and logits (n, K) of rows by folds that held them out."""

    aim: Aim
    layer: HiddenLayer
    bias: Numbers
    logits: Numbers


@dataclass(frozen=True)
class ResidualLayer:
    """s + relu( x V + c ) U + b of inputs (s, x) as a model that `fit` trains; it begins as s."""

    classes: int
    inputs: int

    def init(self, key: Key, /) -> tuple[Any, Any]:
        """A random V; U is 0, so that before training the head is its input s."""
        inner = jax.random.normal(key, (self.inputs, _WIDTH)) / np.sqrt(self.inputs)
        params = {
            "inner": inner,
            "shift": jnp.zeros(_WIDTH),
            "outer": jnp.zeros((_WIDTH, self.classes)),
            "bias": jnp.zeros(self.classes),
        }
        return params, ()

    def apply(self, params: Any, state: Any, x: Array, train: bool, /) -> tuple[Array, Any]:  # noqa: ARG002
        """Logits (n, K) of inputs (n, K + M K)."""
        combined, answers = x[:, : self.classes], x[:, self.classes :]
        hidden = jnp.maximum(answers @ params["inner"] + params["shift"], 0.0)
        return combined + hidden @ params["outer"] + params["bias"], state


def parameters(members: int, classes: int) -> int:
    """How many numbers a hidden layer has."""
    return (members * classes + 1) * _WIDTH + (_WIDTH + 1) * classes


def train(
    combined: Numbers,
    answers: Numbers,
    labels: Any,
    folds: Sequence[Fold],
    to_train: Sequence[Aim],
    *,
    alpha: float,
    seed: int = 0,
    report: EpochReport | None = None,
) -> list[TrainedLayer]:
    """Train a hidden layer for each aim; those that do not stay finite are left out.

    Args:
        combined: What the weights make of the members, s (n, K).
        answers: What the members say side by side, x (n, M K).
        labels: Classes of the rows, (n,).
        folds: Of these rows.
        to_train: What layers are trained for.
        alpha: The share of sets that may miss the truth.
        seed: Of the shuffles and first weights.
        report: Told epochs done and epochs in all; it may raise to end the training.
    """
    n, classes = combined.shape
    every = np.random.default_rng([seed, 4]).permutation(n)
    trials = [(aim, rows) for aim in to_train for rows in [*(f.train for f in folds), every]]
    size = min(len(rows) for _, rows in trials)
    plan = plan_for(size, float(np.square(combined).sum(axis=1).mean()))
    inputs = np.concatenate([combined, answers], axis=1).astype(np.float32)
    model = ResidualLayer(classes, answers.shape[1])

    fitted = train_trials(
        model,
        TrainingSet(inputs, np.asarray(labels, np.int32)),
        [(aim, rows[:size]) for aim, rows in trials],
        plan,
        alpha=alpha,
        seed=seed,
        report=report,
    )
    each = len(folds) + 1
    layers = [_layer(fitted.trial(i).params) for i in range(len(trials))]
    groups = [layers[i : i + each] for i in range(0, len(layers), each)]
    return [
        _kept(aim, of_aim, combined, answers, folds)
        for aim, of_aim in zip(to_train, groups, strict=True)
        if all(
            np.isfinite(layer[0].outer).all() and np.isfinite(layer[1]).all() for layer in of_aim
        )
    ]


def _layer(params: Any) -> tuple[HiddenLayer, Numbers]:
    arrays = {name: np.asarray(leaf, np.float64) for name, leaf in params.items()}
    return HiddenLayer(arrays["inner"], arrays["shift"], arrays["outer"]), arrays["bias"]


def _kept(
    aim: Aim,
    layers: Sequence[tuple[HiddenLayer, Numbers]],
    combined: Numbers,
    answers: Numbers,
    folds: Sequence[Fold],
) -> TrainedLayer:
    """The layer of all rows, and what each fold's own gives of the rows it did not train on."""
    logits = np.empty(combined.shape)
    for fold, (layer, bias) in zip(folds, layers, strict=False):
        logits[fold.held] = combined[fold.held] + layer.moves(answers[fold.held]) + bias
    return TrainedLayer(aim, *layers[-1], logits)
