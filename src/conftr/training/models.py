"""The networks of app. F as values: a specification makes parameters and applies them.

`fit` asks a model for two functions and nothing else (`Model`); whatever is a pytree will do for
parameters and state, so models of Flax or plain JAX stand beside these (`Custom`). Inputs are
whole batches (n, *inputs): batch-norm statistics are those of the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

Array: TypeAlias = Any
Key: TypeAlias = Any
Params: TypeAlias = Any
State: TypeAlias = Any

_DECAY = 0.9
NORM_EPSILON = 1e-5  # added to the variance of batch norm


class Model(Protocol):
    """What `fit` asks for. Equal models must compare equal, so that programs are compiled once."""

    def init(self, key: Key, /) -> tuple[Params, State]:
        """Fresh parameters, and the state that training changes without a gradient."""

    def apply(self, params: Params, state: State, x: Array, train: bool, /) -> tuple[Array, State]:
        """Logits (n, K) for inputs (n, ...), and the new state."""

    def __hash__(self) -> int:
        """Equal for equal models."""


class Custom(NamedTuple):
    """A model from two functions: init(key), apply(params, state, x, train). See `Model`."""

    init: Callable[[Key], tuple[Params, State]]
    apply: Callable[[Params, State, Array, bool], tuple[Array, State]]


class Outline(NamedTuple):
    """What is known of a model before it is trained: how many logits, whether it convolves."""

    classes: int
    convolves: bool


@lru_cache(maxsize=32)
def outline(model: Model, inputs: tuple[int, ...]) -> Outline:
    """What a model makes of examples of a shape, found without running it.

    Args:
        model: hashable, as `fit` asks for.
        inputs: shape of one example.

    Returns:
        The number of its logits, and whether a convolution leads to them.
    """

    def logits(key: Key, x: Array) -> Array:
        params, state = model.init(key)
        return model.apply(params, state, x, True)[0]

    two = np.zeros((2, *inputs), np.float32)
    program, output = jax.make_jaxpr(logits, return_shape=True)(jax.random.key(0), two)
    return Outline(output.shape[1], "conv_general_dilated" in str(program))


class Dense(eqx.Module):
    """x W^T + b. W is (out, in), the layout whose gradient g^T x is the fast product on a CPU."""

    weight: Array
    bias: Array

    def __call__(self, x: Array) -> Array:
        """(n, in) -> (n, out)."""
        return x @ self.weight.T + self.bias


class Convolution(eqx.Module):
    """3 x 3 convolution, stride 1, same size, channels last."""

    weight: Array
    bias: Array

    def __call__(self, x: Array) -> Array:
        """(n, h, w, in) -> (n, h, w, out)."""
        layout = ("NHWC", "HWIO", "NHWC")
        return (
            jax.lax.conv_general_dilated(x, self.weight, (1, 1), "SAME", dimension_numbers=layout)
            + self.bias
        )


class Running(NamedTuple):
    """Running mean and variance of a batch norm, (features,) each."""

    mean: Array
    var: Array


class BatchNorm(eqx.Module):
    """scale (x - mean) / sqrt(var + 1e-5) + offset over all axes but the last.

    In training the batch's own statistics, while the running ones move by 1 - 0.9 towards them;
    afterwards the running ones.
    """

    scale: Array
    offset: Array

    def __call__(self, x: Array, running: Running, train: bool) -> tuple[Array, Running]:
        """(..., features) -> (..., features), and the new running statistics."""
        if train:
            axes = tuple(range(x.ndim - 1))
            mean = jnp.mean(x, axes)
            now = Running(mean, jnp.mean(jnp.square(x - mean), axes))
            running = Running(
                _DECAY * running.mean + (1 - _DECAY) * now.mean,
                _DECAY * running.var + (1 - _DECAY) * now.var,
            )
        else:
            now = running
        factor = self.scale * jax.lax.rsqrt(now.var + NORM_EPSILON)
        return (x - now.mean) * factor + self.offset, running


class Block(eqx.Module):
    """A hidden layer: a product, its batch norm, ReLU."""

    product: Dense | Convolution
    norm: BatchNorm

    def __call__(self, x: Array, running: Running, train: bool) -> tuple[Array, Running]:
        """The layer's output, and the new running statistics."""
        x, running = self.norm(self.product(x), running, train)
        return jax.nn.relu(x), running


class Layers(NamedTuple):
    """The parameters of a network: hidden blocks, then the layer of logits."""

    hidden: tuple[Block, ...]
    logits: Dense


@dataclass(frozen=True)
class MLP:
    """Per hidden layer dense, batch norm, ReLU; then dense. No hidden layer: a linear model.

    Attributes:
        inputs: Shape of one example, flattened.
        classes: K.
        hidden: Widths of the hidden layers.
    """

    inputs: tuple[int, ...]
    classes: int
    hidden: tuple[int, ...] = (64, 64)

    def __post_init__(self) -> None:
        """Refuse sizes that make no network."""
        check_sizes(self, inputs=self.inputs, classes=(self.classes,), hidden=self.hidden)

    def init(self, key: Key, /) -> tuple[Layers, tuple[Running, ...]]:
        """Fresh parameters and running statistics."""
        sizes = (math.prod(self.inputs), *self.hidden, self.classes)
        keys = jax.random.split(key, len(sizes) - 1)
        layers = [dense(k, n, m) for k, n, m in zip(keys, sizes[:-1], sizes[1:], strict=True)]
        hidden = tuple(Block(d, batch_norm(m)) for d, m in zip(layers, self.hidden, strict=False))
        return Layers(hidden, layers[-1]), tuple(running_statistics(m) for m in self.hidden)

    def apply(
        self, params: Layers, state: Sequence[Running], x: Array, train: bool, /
    ) -> tuple[Array, tuple[Running, ...]]:
        """Logits (n, classes) for inputs (n, *inputs)."""
        x = x.reshape(x.shape[0], -1)
        moved = []
        for block, running in zip(params.hidden, state, strict=True):
            x, running = block(x, running, train)
            moved.append(running)
        return params.logits(x), tuple(moved)


def linear(inputs: tuple[int, ...], classes: int) -> MLP:
    """Flatten and one dense layer."""
    return MLP(inputs, classes, hidden=())


@dataclass(frozen=True)
class ConvNet:
    """Per stage 3 x 3 convolution, batch norm, ReLU, 2 x 2 max-pool; then flatten and dense.

    Attributes:
        inputs: (height, width) or (height, width, channels) of one image.
        classes: K.
        channels: Output channels of the stages.
    """

    inputs: tuple[int, ...]
    classes: int
    channels: tuple[int, ...] = (32, 64)

    def __post_init__(self) -> None:
        """Refuse sizes that make no network."""
        check_sizes(self, inputs=self.inputs, classes=(self.classes,), channels=self.channels)
        if len(self.inputs) not in (2, 3):
            raise ValueError(
                f"inputs must be (height, width) or (height, width, channels); got {self.inputs}."
            )
        if min(self.inputs[:2]) >> len(self.channels) == 0:
            raise ValueError(
                f"inputs must be at least {2 ** len(self.channels)} pixels high and wide, because "
                f"each of the {len(self.channels)} stages halves them; got {self.inputs}."
            )

    def init(self, key: Key, /) -> tuple[Layers, tuple[Running, ...]]:
        """Fresh parameters and running statistics."""
        depths = ((*self.inputs, 1)[2], *self.channels)
        keys = jax.random.split(key, len(depths))
        hidden = tuple(
            Block(_convolution(k, n, m), batch_norm(m))
            for k, n, m in zip(keys[1:], depths[:-1], depths[1:], strict=True)
        )
        left = math.prod(size >> len(self.channels) for size in self.inputs[:2])
        logits = dense(keys[0], left * depths[-1], self.classes)
        return Layers(hidden, logits), tuple(running_statistics(m) for m in self.channels)

    def apply(
        self, params: Layers, state: Sequence[Running], x: Array, train: bool, /
    ) -> tuple[Array, tuple[Running, ...]]:
        """Logits (n, classes) for inputs (n, *inputs)."""
        x = x.reshape(*x.shape[:3], -1)
        moved = []
        for block, running in zip(params.hidden, state, strict=True):
            x, running = block(x, running, train)
            x = _halve(x)
            moved.append(running)
        return params.logits(x.reshape(x.shape[0], -1)), tuple(moved)


def _halve(x: Array) -> Array:
    """2 x 2 max-pool, (n, h, w, c) -> (n, h // 2, w // 2, c); an odd edge is left out."""
    n, h, w, c = x.shape
    # As a maximum over a reshape: the gradient of a window reduction is slow on a CPU.
    pairs = x[:, : h // 2 * 2, : w // 2 * 2].reshape(n, h // 2, 2, w // 2, 2, c)
    return jnp.max(pairs, axis=(2, 4))


def truncated_normal(key: Key, shape: tuple[int, ...], fan_in: int) -> Array:
    """A normal of standard deviation 1 / sqrt(fan_in), cut off at two of them."""
    return jax.random.truncated_normal(key, -2.0, 2.0, shape) / math.sqrt(fan_in)


def dense(key: Key, inputs: int, outputs: int) -> Dense:
    """A fresh dense layer."""
    return Dense(truncated_normal(key, (outputs, inputs), inputs), jnp.zeros(outputs))


def _convolution(key: Key, inputs: int, outputs: int) -> Convolution:
    weight = truncated_normal(key, (3, 3, inputs, outputs), 9 * inputs)
    return Convolution(weight, jnp.zeros(outputs))


def batch_norm(features: int) -> BatchNorm:
    """A fresh batch norm."""
    return BatchNorm(jnp.ones(features), jnp.zeros(features))


def running_statistics(features: int) -> Running:
    """Running statistics before the first batch."""
    return Running(jnp.zeros(features), jnp.ones(features))


def check_sizes(model: Any, **sizes: tuple[int, ...]) -> None:
    """Refuse, in words, fields of a model that are not positive integers."""
    for name, values in sizes.items():
        if not isinstance(values, tuple) or not all(isinstance(v, int) and v > 0 for v in values):
            raise ValueError(
                f"{name} of {type(model).__name__} must be positive integers, several in a tuple; "
                f"got {getattr(model, name)!r}."
            )
