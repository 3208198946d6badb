"""Ways to train that are worth a try, and training them: cross-entropy and conformal training.

Recipes that differ in numbers alone share one compiled program, wishes included: without a class
loss is L = 0, without wishes L = I and omega = 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import jax
import numpy as np
import numpy.typing as npt

from conftr.features import Encoding
from conftr.models import MLP, ConvNet, Model
from conftr.network import Network, logits
from conftr.objectives import ConfTr, CrossEntropy
from conftr.quantile import Nearest, examples_needed
from conftr.shaping import Shape
from conftr.training import SGD, Plan, Progress, TrainingSet, cosine, fit, trial_keys

CROSS_ENTROPY = "cross-entropy"
CONFORMAL = "conformal training"
WISHED = "conformal training with your wishes"

_MANY_CLASSES = 500  # beyond, a loss matrix a model takes too much memory unless wished for


@dataclass(frozen=True)
class Recipe:
    """One way to train.

    family: what it is called. objective: shared by recipes that differ in numbers alone.
    own: fields of the objective in which this one differs. words: what sets it apart.
    """

    family: str
    objective: Any
    learning_rate: float
    epochs: int
    own: Mapping[str, Any] = field(default_factory=dict)
    words: str = ""


class Trained(NamedTuple):
    """A recipe, the network it gave, and the network's logits of the validation rows."""

    recipe: Recipe
    network: Network
    validation: npt.NDArray[np.float32]


class Materials(NamedTuple):
    """What every recipe trains on."""

    encoding: Encoding
    model: Model
    inputs: Any
    labels: npt.NDArray[np.int32]
    validation: Any
    batch_size: int
    seed: int


Report = Callable[[str, int, int], None]


def model_for(inputs: tuple[int, ...], classes: int, n: int) -> Model:
    """A network that suits inputs of this shape and n training examples.

    Images of at least 8 x 8 pixels get a ConvNet; tables a linear model below 200 examples, one
    hidden layer below 1,000, two beyond.
    """
    if len(inputs) in (2, 3) and min(inputs[:2]) >= 8:
        return ConvNet(inputs, classes, (16, 32))
    hidden = () if n < 200 else (64,) if n < 1000 else (128, 128)
    return MLP(inputs, classes, hidden)


def batch_size_for(n: int, alpha: float) -> int:
    """A power of two whose half can calibrate at alpha twice over, so long as n allows."""
    wanted = max(64, 4 * examples_needed(alpha))
    most = max(1, min(n, max(64, n // 4)))
    return int(2 ** math.floor(math.log2(min(2 ** math.ceil(math.log2(wanted)), most))))


def epochs_for(n: int, batch_size: int) -> int:
    """About 10,000 steps, but at least 5 and at most 100 epochs."""
    return int(np.clip(10_000 * batch_size // max(n, 1), 5, 100))


def cross_entropy(epochs: int, learning_rate: float | None) -> list[Recipe]:
    """The baseline, stopped early and late, at a high and a low learning rate."""
    rates = [0.1, 0.01] if learning_rate is None else [learning_rate]
    lengths = sorted({max(1, epochs // 4), epochs}, reverse=True)
    return [
        Recipe(CROSS_ENTROPY, CrossEntropy(), rate, length, {}, _plan_words(length, rate))
        for length in lengths
        for rate in rates
    ]


def conformal(alpha: float, classes: int, epochs: int, learning_rate: float | None) -> list[Recipe]:
    """Conformal training with a class loss that asks for coverage, and without."""
    matrices = {"no class loss": np.zeros((classes, classes)), "class loss": np.eye(classes)}
    return _conformal(CONFORMAL, alpha, epochs, learning_rate, matrices, np.ones(classes))


def wished(
    alpha: float, classes: Sequence[Any], shape: Shape, epochs: int, learning_rate: float | None
) -> list[Recipe]:
    """Conformal training with the loss matrix and the class weights of the wishes."""
    matrices = {"class loss": shape.loss_matrix(classes)}
    weights = shape.class_weights(classes)
    return _conformal(WISHED, alpha, epochs, learning_rate, matrices, weights)


def _conformal(
    family: str,
    alpha: float,
    epochs: int,
    learning_rate: float | None,
    matrices: Mapping[str, npt.NDArray[np.float64]],
    weights: npt.NDArray[np.float64],
) -> list[Recipe]:
    base = ConfTr(alpha, quantile=Nearest(min(1.0, 2 * alpha)))
    rates = [0.05, 0.01] if learning_rate is None else [learning_rate]
    return [
        Recipe(
            family,
            base,
            rate,
            epochs,
            {
                "temperature": temperature,
                "size_weight": 0.5,
                "target_size": 1.0,
                "loss_matrix": matrix,
                "class_weights": weights,
            },
            f"{name}, temperature {temperature:g}, {_plan_words(epochs, rate)}",
        )
        for name, matrix in matrices.items()
        for temperature in (0.1, 1.0)
        for rate in rates
    ]


def _plan_words(epochs: int, rate: float) -> str:
    return f"{epochs} epochs, learning rate {rate:g}"


def train(recipes: Sequence[Recipe], materials: Materials, report: Report) -> list[Trained]:
    """Train recipes, those that share a program side by side."""
    found: list[Trained] = []
    for (_, epochs), group in groupby(recipes, key=lambda one: (id(one.objective), one.epochs)):
        found += _train_together(list(group), epochs, materials, report)
    return found


def _train_together(
    group: Sequence[Recipe], epochs: int, materials: Materials, report: Report
) -> list[Trained]:
    encoding = materials.encoding
    data = TrainingSet(materials.inputs, materials.labels, encoding.shift, encoding.scale)
    own = {name: np.array([one.own[name] for one in group]) for name in group[0].own}

    def progress(now: Progress) -> None:
        report(group[0].family, now.epoch, now.epochs)

    fitted = fit(
        trial_keys(materials.seed, 1)[np.zeros(len(group), int)],
        materials.model,
        data,
        group[0].objective,
        Plan(epochs, materials.batch_size, SGD(schedule=cosine)),
        vary=own | {"learning_rate": [one.learning_rate for one in group]},
        progress=progress,
    )
    fitted = jax.tree.map(np.asarray, fitted)
    validation = logits(materials.model, fitted, encoding, materials.validation)
    return [
        Trained(one, Network(encoding, materials.model, fitted.trial(i)), validation[i])
        for i, one in enumerate(group)
        if fitted.failed_step[i] < 0
    ]
