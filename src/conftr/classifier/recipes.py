"""What to try on data nobody has seen before: networks, batch sizes, epochs, objectives.

The grid is small and the same for all data; validation data choose from it. Cross-entropy is given
as honest a chance as conformal training: stopped early and late, with weak and strong decay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from conftr.classifier.choosing import CONFORMAL, CROSS_ENTROPY, MANY, RANKED, WISHED
from conftr.conformal import checks
from conftr.conformal.later.rwce import RWCE
from conftr.conformal.objectives import ConfTr, CrossEntropy
from conftr.conformal.quantile import Nearest, examples_needed
from conftr.conformal.shaping import Shape, identity
from conftr.training.models import MLP, Model

METHODS = ("auto", "cross-entropy", "conftr")

_WEAK, _STRONG = 0.0005, 0.005  # weight decay
_STEPS = 10_000  # of a training run, about; fewer where a network takes long
_WORK = 2e11  # floating point operations of the forward passes of a training run, about
_EPOCHS = (5, 50)
_BEYOND = 3  # examples of the calibrating half of a batch that its threshold should leave out
_NAMED_FIELDS = {
    "temperature": "temperature",
    "size_weight": "size weight",
    "cross_entropy_weight": "cross-entropy weight",
}


@dataclass(frozen=True, eq=False)
class Recipe:
    """One way to train.

    Attributes:
        family: What it is called.
        objective: Recipes that share it differ in numbers alone, so that they share a compiled
            program.
        varied: The fields of the objective in which this one differs.
    """

    family: str
    objective: Any
    epochs: int
    learning_rate: float
    weight_decay: float = _WEAK
    varied: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """What sets it apart."""
        words = ["class loss"] if np.any(self.varied.get("loss_matrix", 0)) else []
        words += [
            f"{text} {self.varied[name]:g}"
            for name, text in _NAMED_FIELDS.items()
            if self.varied.get(name)
        ]
        if isinstance(self.objective, ConfTr):
            words.append(f"alpha {self.objective.alpha:.3g} in training")
        words += [
            f"{self.epochs} epoch{'s' * (self.epochs > 1)}",
            f"learning rate {self.learning_rate:g}",
            f"weight decay {self.weight_decay:g}",
        ]
        return ", ".join(words)


def model_for(requested: Any, inputs: tuple[int, ...], classes: int, n: int) -> Model:
    """The network that was asked for, or one that suits n training examples.

    Args:
        requested: Widths of hidden layers, or a function of (inputs, classes). None: a linear model
            below 200 examples, one hidden layer below 1,000, two beyond.
    """
    if callable(requested):
        model: Model = requested(inputs, classes)
        return model
    if requested is None:
        requested = () if n < 200 else (64,) if n < 1000 else (128, 128)
    if not isinstance(requested, Sequence) or isinstance(requested, str):
        raise TypeError(
            f"model must be None, widths of hidden layers such as (64, 64), or a function of "
            f"(inputs, classes) such as conftr.training.ConvNet; got {requested!r}."
        )
    return MLP(inputs, classes, tuple(requested))


def batch_size_for(n: int, alpha: float) -> int:
    """A power of two: 64, or so many that half of them calibrate at alpha twice over, or n / 500.

    At most 1,024 unless alpha asks for more, and at most a quarter of the examples.
    """
    size = max(64, 4 * examples_needed(alpha), min(n // 500, 1024))
    most = min(n, max(64, n // 4))
    return min(_power_of_two(size, math.ceil), _power_of_two(most, math.floor))


def epochs_for(n: int, batch_size: int, model: Model, inputs: tuple[int, ...]) -> int:
    """About 10,000 steps, fewer for a costly network; 5 to 50 epochs."""
    fewest, most = _EPOCHS
    work = _operations(model, inputs)
    affordable = min(_STEPS * batch_size, _WORK / work) / n
    return int(min(max(affordable, fewest), most))


def lengths_for(epochs: int, *, fixed: bool, limited: bool) -> list[int]:
    """How long to train, the longest first: all epochs, a quarter and a tenth of them.

    Args:
        fixed: The user said how many.
        limited: A model after one epoch is better than none.
    """
    lengths = {epochs} if fixed else {epochs, math.ceil(epochs / 4), math.ceil(epochs / 10)}
    return sorted(lengths | ({1} if limited else set()), reverse=True)


def trained_alpha(alpha: float, batch_size: int) -> float:
    """alpha, or where a batch is too small for it the alpha at which it has three scores to spare.

    The threshold of half a batch of 128 at alpha = 0.01 is its lowest score: a gradient that hangs
    on one example. Calibration, after training, is for the alpha that was asked for.
    """
    return max(alpha, min(0.5, 2 * _BEYOND / batch_size))


def recipes(
    method: Any,
    *,
    alpha: float,
    batch_size: int,
    classes: Sequence[Any],
    shape: Shape | None,
    lengths: Sequence[int],
    learning_rate: float | None,
) -> list[Recipe]:
    """What a method tries. The first of a family is what it does where nothing can choose."""
    if learning_rate is not None:
        checks.number(learning_rate, "learning_rate", above=0)
    if not isinstance(method, str):
        if not callable(method) or isinstance(method, type):
            _refuse(method)
        rate = learning_rate or 0.01
        return [Recipe(_name(method), method, length, rate) for length in lengths]
    if method not in METHODS:
        _refuse(method)
    plain = _cross_entropy(lengths)
    conformal = _conformal(trained_alpha(alpha, batch_size), len(classes), lengths)
    if shape is not None:
        wished = _wished(conformal, shape, classes)
        conformal = wished + conformal if method == "conftr" else conformal + wished
    every = {
        "auto": plain + _ranked(lengths) + conformal,
        "cross-entropy": plain,
        "conftr": conformal + plain,  # cross-entropy to compare with
    }[method]
    if learning_rate is None:
        return every
    return [replace(recipe, learning_rate=float(learning_rate)) for recipe in every]


def _cross_entropy(lengths: Sequence[int]) -> list[Recipe]:
    objective = CrossEntropy()
    return [
        Recipe(CROSS_ENTROPY, objective, length, 0.1, decay)
        for length in lengths
        for decay in (_STRONG, _WEAK)
    ]


def _ranked(lengths: Sequence[int]) -> list[Recipe]:
    """The method after the paper that gains most often, for the price of cross-entropy.

    It needs more training than cross-entropy does, so that no short runs are tried.
    """
    objective = RWCE()
    return [
        Recipe(RANKED, objective, length, 0.1, decay)
        for length in lengths[:2]
        for decay in (_STRONG, _WEAK)
    ]


class _Row(NamedTuple):
    """Settings of conformal training.

    Attributes:
        length: Which of the lengths.
        cross_entropy: Its weight beside the log of the conformal loss, which steadies training; the
            paper's is 0.
        class_loss: L = I, or 0.
    """

    length: int
    cross_entropy: float
    temperature: float
    learning_rate: float
    weight_decay: float
    class_loss: bool = True


_GRID = (
    _Row(0, 1.0, 1.0, 0.1, _STRONG),
    _Row(0, 3.0, 1.0, 0.1, _STRONG),
    _Row(0, 1.0, 1.0, 0.1, _WEAK),
    _Row(0, 0.0, 1.0, 0.03, _WEAK),
    _Row(0, 0.1, 0.1, 0.03, _STRONG),
    _Row(0, 0.3, 1.0, 0.03, _WEAK, class_loss=False),
    _Row(1, 1.0, 1.0, 0.1, _STRONG),
    _Row(1, 3.0, 1.0, 0.1, _STRONG),
    _Row(1, 1.0, 1.0, 0.03, _STRONG),
    _Row(1, 0.0, 0.1, 0.03, _STRONG),
    _Row(2, 3.0, 1.0, 0.1, _STRONG),
    _Row(3, 3.0, 1.0, 0.1, _STRONG),  # one epoch, where time is limited
)


def _conformal(alpha: float, classes: int, lengths: Sequence[int]) -> list[Recipe]:
    """Conformal training; of very many classes only what does without a loss matrix."""
    few = classes <= MANY
    objective = ConfTr(
        alpha,
        quantile=Nearest(min(1.0, 2 * alpha)),
        # Every recipe has its own numbers; that there are some is part of the program.
        loss_matrix=identity if few else None,
        class_weights=np.ones(classes),
        cross_entropy_weight=0.1,
    )
    rows = [row for row in _GRID if row.length < len(lengths) and (few or not row.class_loss)]
    return [_recipe(objective, classes, lengths[row.length], row) for row in rows]


def _recipe(objective: ConfTr, classes: int, epochs: int, row: _Row) -> Recipe:
    varied: dict[str, Any] = {
        "temperature": row.temperature,
        "cross_entropy_weight": row.cross_entropy,
        "class_weights": np.ones(classes),
    }
    if objective.loss_matrix is not None:
        varied["loss_matrix"] = np.eye(classes) * row.class_loss
    return Recipe(CONFORMAL, objective, epochs, row.learning_rate, row.weight_decay, varied)


def _wished(conformal: Sequence[Recipe], shape: Shape, classes: Sequence[Any]) -> list[Recipe]:
    """The recipes that have a class loss, with the wishes' loss matrix and class weights."""
    changes = {"class_weights": shape.class_weights(classes)}
    if len(classes) <= MANY:
        changes["loss_matrix"] = shape.loss_matrix(classes)
    return [
        replace(recipe, family=WISHED, varied={**recipe.varied, **changes})
        for recipe in conformal
        if "loss_matrix" not in recipe.varied or recipe.varied["loss_matrix"].any()
    ]


@lru_cache(maxsize=32)
def _operations(model: Model, inputs: tuple[int, ...]) -> float:
    """Floating point operations of the forward pass of one example."""

    def forward(params: Any, state: Any, x: Any) -> Any:
        return model.apply(params, state, x, False)[0]

    params, state = jax.eval_shape(model.init, jax.random.key(0))
    example = jax.eval_shape(lambda: np.zeros((1, *inputs), np.float32))
    analysis = jax.jit(forward).lower(params, state, example).cost_analysis()
    return float((analysis or {}).get("flops", 0.0)) or 1.0


def _power_of_two(value: float, rounded: Any) -> int:
    return int(2 ** rounded(math.log2(value)))


def _name(objective: Any) -> str:
    return getattr(objective, "__name__", None) or type(objective).__name__


def _refuse(method: Any) -> None:
    raise ValueError(
        f"method must be one of {', '.join(METHODS)} or an objective such as conftr.ConfTr(...); "
        f"got {method!r}."
    )
