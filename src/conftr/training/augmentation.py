"""Changes of pictures in training (app. F), drawn at random inside the compiled step.

An augmentation is a value that is called with a key and a batch of pictures (n, height, width,
channels), floats in the units they are stored in; it gives a batch of the same shape. `Plan` takes
one, and every step draws from a key of its own; prediction sees pictures as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import jax
import jax.numpy as jnp
from jax import lax

from conftr.training.models import Array, Key


class Augmentation(Protocol):
    """What `Plan` asks for. Equal augmentations must compare equal, as models must."""

    def __call__(self, key: Key, x: Array, /) -> Array:
        """Changed examples (n, ...) for examples (n, ...)."""

    def __hash__(self) -> int:
        """Equal for equal augmentations."""


@dataclass(frozen=True)
class InTurn:
    """Several augmentations, one after the other, each with a key of its own."""

    parts: tuple[Augmentation, ...]

    def __call__(self, key: Key, x: Array, /) -> Array:
        """The examples after all of them."""
        for part_key, part in zip(jax.random.split(key, len(self.parts)), self.parts, strict=True):
            x = part(part_key, x)
        return x


@dataclass(frozen=True)
class LeaveOut:
    """Leave numbers of an example out, each with one probability; the others count the more.

    For inputs that are whitened, where 0 says nothing (dropout of inputs).

    Attributes:
        share: The probability.
    """

    share: float = 0.5

    def __call__(self, key: Key, x: Array, /) -> Array:
        """Examples of the same shape."""
        kept = jax.random.bernoulli(key, 1 - self.share, x.shape)
        return jnp.where(kept, x / (1 - self.share), 0)


@dataclass(frozen=True)
class LeaveWordsOut:
    """Leave words of a text out, each with one probability.

    Attributes:
        share: The probability.
        nothing: What stands in the place of a word that is not there, in stored units.
    """

    share: float = 0.3
    nothing: float = 0.0

    def __call__(self, key: Key, x: Array, /) -> Array:
        """Vectors of words (n, places, numbers) of the same shape."""
        kept = jax.random.bernoulli(key, 1 - self.share, (*x.shape[:2], 1))
        return jnp.where(kept, x, self.nothing)


@dataclass(frozen=True)
class Flip:
    """Mirror every second picture, on average, left to right."""

    def __call__(self, key: Key, x: Array, /) -> Array:
        """Pictures of the same shape."""
        mirrored = jax.random.bernoulli(key, shape=(len(x), 1, 1, 1))
        return jnp.where(mirrored, x[:, :, ::-1], x)


@dataclass(frozen=True)
class Crop:
    """Surround every picture with black, and cut one of its size from anywhere in that.

    Attributes:
        pad: Width of the border.
    """

    pad: int = 4

    def __call__(self, key: Key, x: Array, /) -> Array:
        """Pictures of the same shape."""
        top, left = jax.random.randint(key, (2, len(x), 1), 0, 2 * self.pad + 1)
        padded = jnp.pad(x, ((0, 0), (self.pad,) * 2, (self.pad,) * 2, (0, 0)))
        # Whole pictures are cut: a CPU is several times slower where pixels are looked up.
        corners = jnp.concatenate([top, left, jnp.zeros_like(top)], axis=1)
        return jax.vmap(lambda picture, at: lax.dynamic_slice(picture, at, x.shape[1:]))(
            padded, corners
        )


@dataclass(frozen=True)
class Cutout:
    """Cover a square around a random place of every picture; at an edge, what is left of it.

    Attributes:
        size: Side of the square.
        fill: What it is covered with, mid grey.
    """

    size: int = 16
    fill: float = 128.0

    def __call__(self, key: Key, x: Array, /) -> Array:
        """Pictures of the same shape."""
        n, height, width, _ = x.shape
        down, across = jax.random.uniform(key, (2, n, 1))
        rows = self._covered(jnp.floor(down * height), height)
        columns = self._covered(jnp.floor(across * width), width)
        covered = (rows[:, :, None] & columns[:, None, :])[..., None]
        return jnp.where(covered, self.fill, x)

    def _covered(self, place: Array, length: int) -> Array:
        """Which of so many pixels lie in the square, (n, length)."""
        first = place - self.size // 2
        pixels = jnp.arange(length)
        return (pixels >= first) & (pixels < first + self.size)


@dataclass(frozen=True)
class AnyView:
    """Take one of the views in which every example is kept, and leave the others out.

    For views that were made before training, as features that a frozen encoder gives of changed
    pictures. Prediction takes the first view, see `MLPOfViews`.
    """

    def __call__(self, key: Key, x: Array, /) -> Array:
        """(n, 1, ...) of (n, views, ...)."""
        chosen = jax.random.randint(key, (len(x),), 0, x.shape[1])
        return x[jnp.arange(len(x)), chosen][:, None]
