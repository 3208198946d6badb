"""ResNet-34 and ResNet-50 with pre-activation (v2, app. F) as values, for pictures of any size.

A 3 x 3 convolution, a max-pool by 2, four stages of residual blocks, each but the first of which
halves the picture and doubles the channels; then batch norm, ReLU, the mean over pixels, dense.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp

from conftr.training.models import (
    Array,
    BatchNorm,
    Dense,
    Key,
    Running,
    batch_norm,
    check_sizes,
    dense,
    running_statistics,
    truncated_normal,
)

Statistics: TypeAlias = tuple[Running, ...]

_LAYOUT = ("NHWC", "HWIO", "NHWC")


class Kernel2D(eqx.Module):
    """A convolution without a bias, channels last; the edge is filled up with zeros."""

    weight: Array
    stride: int = eqx.field(static=True)

    def __call__(self, x: Array) -> Array:
        """(n, h, w, in) -> (n, h / stride, w / stride, out)."""
        edge = self.weight.shape[0] // 2
        return jax.lax.conv_general_dilated(
            x, self.weight, (self.stride,) * 2, ((edge, edge),) * 2, dimension_numbers=_LAYOUT
        )


class ResidualBlock(eqx.Module):
    """Batch norm, ReLU and convolution, two or three times, added to what came in."""

    norms: tuple[BatchNorm, ...]
    kernels: tuple[Kernel2D, ...]
    shortcut: Kernel2D | None

    def __call__(self, x: Array, running: Statistics, train: bool) -> tuple[Array, Statistics]:
        """What comes out, and the new running statistics."""
        kept, moved = x, []
        for i, (norm, kernel, statistics) in enumerate(
            zip(self.norms, self.kernels, running, strict=True)
        ):
            x, now = norm(x, statistics, train)
            x = jax.nn.relu(x)
            if i == 0 and self.shortcut is not None:
                kept = self.shortcut(x)
            x = kernel(x)
            moved.append(now)
        return kept + x, tuple(moved)


class ResNetParams(NamedTuple):
    """The parameters of a ResNet: first convolution, blocks, last norm, the layer of logits."""

    stem: Kernel2D
    blocks: tuple[ResidualBlock, ...]
    norm: BatchNorm
    logits: Dense


class ResNetState(NamedTuple):
    """Running statistics of the blocks and of the last norm."""

    blocks: tuple[Statistics, ...]
    norm: Running


class _BlockShape(NamedTuple):
    inputs: int
    outputs: int
    stride: int
    first: bool  # of its stage: what came in has another shape


@dataclass(frozen=True)
class ResNet:
    """A pre-activation ResNet.

    Attributes:
        inputs: (height, width) or (height, width, channels) of one picture.
        classes: K.
        width: Channels of the first stage; each later one has twice as many.
        stem: Channels of the first convolution.
        blocks: Residual blocks of each stage.
        bottleneck: Three convolutions to a block, the middle one of a quarter of the channels.
    """

    inputs: tuple[int, ...]
    classes: int
    width: int = 64
    stem: int = 64
    blocks: tuple[int, ...] = (3, 4, 6, 3)
    bottleneck: bool = False

    def __post_init__(self) -> None:
        """Refuse sizes that make no network."""
        single_sizes = {name: (getattr(self, name),) for name in ("classes", "width", "stem")}
        check_sizes(self, inputs=self.inputs, blocks=self.blocks, **single_sizes)
        if len(self.inputs) not in (2, 3):
            raise ValueError(
                f"inputs must be (height, width) or (height, width, channels); got {self.inputs}."
            )
        if self.bottleneck and self.width % 4:
            raise ValueError(
                f"width must be a multiple of 4, as bottlenecks have a quarter of the channels; "
                f"got {self.width}."
            )

    def init(self, key: Key, /) -> tuple[ResNetParams, ResNetState]:
        """Fresh parameters and running statistics."""
        shapes = list(self._shapes())
        keys = jax.random.split(key, len(shapes) + 2)
        stem = _kernel(keys[0], 3, (*self.inputs, 1)[2], self.stem)
        blocks = tuple(self._block(k, s) for k, s in zip(keys[2:], shapes, strict=True))
        features = shapes[-1].outputs
        logits = dense(keys[1], features, self.classes)
        params = ResNetParams(stem, blocks, batch_norm(features), logits)
        statistics = tuple(
            tuple(running_statistics(len(norm.scale)) for norm in block.norms) for block in blocks
        )
        return params, ResNetState(statistics, running_statistics(features))

    def apply(
        self, params: ResNetParams, state: ResNetState, x: Array, train: bool, /
    ) -> tuple[Array, ResNetState]:
        """Logits (n, classes) for pictures (n, *inputs)."""
        features, state = self.features(params, state, x, train)
        return params.logits(features), state

    def features(
        self, params: ResNetParams, state: ResNetState, x: Array, train: bool, /
    ) -> tuple[Array, ResNetState]:
        """What the layer of logits sees, (n, features), and the new state."""
        x = _pooled(params.stem(x.reshape(*x.shape[:3], -1)))
        moved = []
        for block, running in zip(params.blocks, state.blocks, strict=True):
            x, now = block(x, running, train)
            moved.append(now)
        x, last = params.norm(x, state.norm, train)
        return jnp.mean(jax.nn.relu(x), axis=(1, 2)), ResNetState(tuple(moved), last)

    def _shapes(self) -> Iterator[_BlockShape]:
        inputs = self.stem
        for stage, count in enumerate(self.blocks):
            outputs = self.width << stage
            for i in range(count):
                yield _BlockShape(inputs, outputs, 2 if stage and not i else 1, not i)
                inputs = outputs

    def _block(self, key: Key, shape: _BlockShape) -> ResidualBlock:
        inputs, outputs, stride, first = shape
        inside = outputs // 4 if self.bottleneck else outputs
        plan = [(3, inputs, inside, stride), (3, inside, outputs, 1)]
        if self.bottleneck:
            plan = [(1, inputs, inside, 1), (3, inside, inside, stride), (1, inside, outputs, 1)]
        shortcut_key, *keys = jax.random.split(key, len(plan) + 1)
        return ResidualBlock(
            tuple(batch_norm(n) for _, n, _, _ in plan),
            tuple(_kernel(k, *sizes) for k, sizes in zip(keys, plan, strict=True)),
            _kernel(shortcut_key, 1, inputs, outputs, stride) if first else None,
        )


def resnet34(inputs: Sequence[int], classes: int, *, width: int = 4, stem: int = 64) -> ResNet:
    """ResNet-34; the paper's for CIFAR-10 has 4 channels in its first stage.

    Args:
        inputs: Shape of a picture, (height, width, channels).
        classes: K.
        width: Channels of the first stage.
        stem: Channels of the first convolution.

    Returns:
        The network as a value.
    """
    return ResNet(tuple(inputs), classes, width, stem)


def resnet50(inputs: Sequence[int], classes: int, *, width: int = 64, stem: int = 64) -> ResNet:
    """ResNet-50, with bottlenecks; the paper's for CIFAR-100 gives 512 features.

    Args:
        inputs: Shape of a picture, (height, width, channels).
        classes: K.
        width: Channels of the first stage.
        stem: Channels of the first convolution.

    Returns:
        The network as a value.
    """
    return ResNet(tuple(inputs), classes, width, stem, bottleneck=True)


def _kernel(key: Key, size: int, inputs: int, outputs: int, stride: int = 1) -> Kernel2D:
    fan_in = size * size * inputs
    return Kernel2D(truncated_normal(key, (size, size, inputs, outputs), fan_in), stride)


def _pooled(x: Array) -> Array:
    """3 x 3 max-pool by 2, (n, h, w, c) -> (n, ceil(h / 2), ceil(w / 2), c)."""
    # As maxima of slices: the gradient of a window reduction is slow on a CPU.
    _, h, w, _ = x.shape
    edge = ((0, 0), (1, 1 + h % 2), (1, 1 + w % 2), (0, 0))
    padded = jnp.pad(x, edge, constant_values=-jnp.inf)
    rows = _three(padded, 1, (h + 1) // 2)
    return _three(rows, 2, (w + 1) // 2)


def _three(x: Array, axis: int, length: int) -> Array:
    """The largest of three neighbours at every second place of an axis."""
    neighbours: list[Any] = [
        jax.lax.slice_in_dim(x, i, i + 2 * length - 1, stride=2, axis=axis) for i in range(3)
    ]
    return jnp.maximum(jnp.maximum(neighbours[0], neighbours[1]), neighbours[2])
