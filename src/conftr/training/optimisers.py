"""SGD as in app. F, and learning rates over a run, as values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import numpy as np
import numpy.typing as npt
import optax  # type: ignore[import-untyped]

from conftr.conformal import checks

Schedule: TypeAlias = Callable[[npt.NDArray[np.int64], int], npt.NDArray[np.float64]]


@dataclass(frozen=True)
class StepDecay:
    """The learning rate times `factor` after each of these shares of the run.

    A share that does not end with a step counts from the next one.

    Attributes:
        factor: Of the learning rate, each time.
        after: Shares of the run.
    """

    factor: float = 0.1
    after: tuple[float, ...] = (2 / 5, 3 / 5, 4 / 5)

    def __call__(self, steps: npt.NDArray[np.int64], total: int) -> npt.NDArray[np.float64]:
        """Factors of the learning rate at these steps (0-based) of `total`."""
        # 3/5 of 35 steps in floats is a hair above or below 21.
        ends = [math.ceil(share * total - 1e-6) for share in self.after]
        passed = np.sum([steps >= end for end in ends], axis=0, initial=0)
        return np.asarray(self.factor**passed, np.float64)


def constant(steps: npt.NDArray[np.int64], total: int) -> npt.NDArray[np.float64]:  # noqa: ARG001
    """One learning rate for the whole run.

    Args:
        steps: Numbers of steps, from 0.
        total: Steps of the run.

    Returns:
        Factors of the learning rate, all 1.
    """
    return np.ones(np.shape(steps))


def cosine(steps: npt.NDArray[np.int64], total: int) -> npt.NDArray[np.float64]:
    """From the full learning rate to 0: (1 + cos(pi step / total)) / 2.

    Args:
        steps: Numbers of steps, from 0.
        total: Steps of the run.

    Returns:
        Factors of the learning rate.
    """
    return np.asarray((1 + np.cos(np.pi * steps / total)) / 2)


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent with momentum on loss + weight_decay * sum(theta^2).

        g = d loss + 2 weight_decay theta
        m = momentum m + g
        theta = theta - learning_rate (g + momentum m)       (with m for the bracket: not nesterov)

    Attributes:
        learning_rate: At the start; `schedule` gives its factor at every step.
        momentum: In [0, 1).
        weight_decay: Of the penalty, which has no 1/2 and covers every parameter that is trained.
        schedule: Steps and their number -> factors of the learning rate.
        nesterov: Whether a step looks ahead.
    """

    learning_rate: Any = 0.05
    momentum: Any = 0.9
    weight_decay: Any = 0.0005
    schedule: Schedule = StepDecay()
    nesterov: bool = True

    def __post_init__(self) -> None:
        """Refuse values out of range, naming the field."""
        checks.number(self.learning_rate, "learning_rate", above=0)
        checks.number(self.momentum, "momentum", at_least=0, below=1)
        checks.number(self.weight_decay, "weight_decay", at_least=0)


Optimiser: TypeAlias = SGD | optax.GradientTransformation


def transformation(optimiser: Optimiser) -> optax.GradientTransformation:
    """What turns gradients into steps; those of SGD still lack their learning rate."""
    if not isinstance(optimiser, SGD):
        return optimiser
    return optax.chain(
        optax.add_decayed_weights(2 * optimiser.weight_decay),
        optax.trace(optimiser.momentum, optimiser.nesterov),
    )


def numbers(optimiser: Optimiser) -> dict[str, Any]:
    """The settings of SGD that may change without compiling anew; optax keeps its own."""
    if not isinstance(optimiser, SGD):
        return {}
    return {
        name: getattr(optimiser, name) for name in ("learning_rate", "momentum", "weight_decay")
    }


def factors(optimiser: Optimiser, steps: npt.NDArray[np.int64], total: int) -> Any:
    """The factor of the learning rate at each step; a transformation of optax keeps its own."""
    schedule = optimiser.schedule if isinstance(optimiser, SGD) else constant
    return np.asarray(schedule(steps, total), np.float32)


def update(optimiser: Optimiser, gradient: Any, memory: Any, params: Any, factor: Any) -> Any:
    """One step: the new parameters and the optimiser's new memory."""
    steps, memory = transformation(optimiser).update(gradient, memory, params)
    if isinstance(optimiser, SGD):
        rate = -optimiser.learning_rate * factor
        steps = jax.tree.map(lambda step: rate * step, steps)
    return optax.apply_updates(params, steps), memory
