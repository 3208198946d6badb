"""AutoAugment's policy for CIFAR-10 (Cubuk et al., CVPR 2019, app. A), one picture at a time.

Each picture goes through one of 25 pairs of operations, each with a chance and a magnitude from 0
to 9. Pictures are (height, width, channels) with values from 0 to 255.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from conftr.training.models import Array, Key

Operation: TypeAlias = Callable[[Array, Array], Array]  # a picture and a signed strength

_GREY = 128.0  # of what a moved picture leaves open
_LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)
_SMOOTH = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]], np.float32) / 13


def _moved(picture: Array, matrix: Array, by: Array) -> Array:
    """The picture read, at every pixel, at `matrix` times its place from the centre, plus `by`."""
    height, width, _ = picture.shape
    centre = np.array([(height - 1) / 2, (width - 1) / 2], np.float32)
    places = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), -1) - centre
    read = jnp.round(places.astype(np.float32) @ matrix.T + centre + by).astype(int)
    rows, columns = read[..., 0], read[..., 1]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    taken = picture[jnp.clip(rows, 0, height - 1), jnp.clip(columns, 0, width - 1)]
    return jnp.where(inside[..., None], taken, _GREY)


def _shear_down(picture: Array, strength: Array) -> Array:
    """Columns slide down, the more the further right."""
    return _moved(picture, jnp.array([[1.0, strength], [0.0, 1.0]]), jnp.zeros(2))


def _shift_across(picture: Array, strength: Array) -> Array:
    shift = jnp.array([0.0, strength * picture.shape[1]])
    return _moved(picture, jnp.eye(2), shift)


def _shift_down(picture: Array, strength: Array) -> Array:
    shift = jnp.array([strength * picture.shape[0], 0.0])
    return _moved(picture, jnp.eye(2), shift)


def _rotate(picture: Array, strength: Array) -> Array:
    cos, sin = jnp.cos(strength), jnp.sin(strength)
    return _moved(picture, jnp.array([[cos, -sin], [sin, cos]]), jnp.zeros(2))


def _away_from(plain: Array, picture: Array, strength: Array) -> Array:
    """The picture's difference from a plainer one, enlarged by a share or made smaller."""
    return jnp.clip(plain + (1 + strength) * (picture - plain), 0, 255)


def _grey(picture: Array) -> Array:
    """(height, width, 1): how light every pixel is."""
    if picture.shape[-1] != len(_LUMINANCE):
        return jnp.mean(picture, -1, keepdims=True)
    return (picture @ _LUMINANCE)[..., None]


def _brightness(picture: Array, strength: Array) -> Array:
    return _away_from(jnp.zeros_like(picture), picture, strength)


def _colour(picture: Array, strength: Array) -> Array:
    return _away_from(_grey(picture), picture, strength)


def _contrast(picture: Array, strength: Array) -> Array:
    return _away_from(jnp.mean(_grey(picture)), picture, strength)


def _sharpness(picture: Array, strength: Array) -> Array:
    height, width, _ = picture.shape
    shifted = [
        _SMOOTH[i, j] * picture[i : height - 2 + i, j : width - 2 + j]
        for i in range(3)
        for j in range(3)
    ]
    return _away_from(picture.at[1:-1, 1:-1].set(sum(shifted)), picture, strength)


def _posterise(picture: Array, strength: Array) -> Array:
    """All but the highest bits of every value set to 0; `strength` is how many bits."""
    step = jnp.exp2(jnp.abs(strength))
    return jnp.floor(picture / step) * step


def _solarise(picture: Array, strength: Array) -> Array:
    """Values inverted from 255 - `strength` on."""
    return jnp.where(picture >= 255 - jnp.abs(strength), 255 - picture, picture)


def _invert(picture: Array, _: Array) -> Array:
    return 255 - picture


def _auto_contrast(picture: Array, _: Array) -> Array:
    """Every channel stretched to 0 to 255; one of a single value stays."""
    low, high = jnp.min(picture, (0, 1)), jnp.max(picture, (0, 1))
    stretched = (picture - low) * (255 / jnp.maximum(high - low, 1))
    return jnp.where(high > low, stretched, picture)


def _equalise(picture: Array, _: Array) -> Array:
    """Every channel with about as many pixels of each value."""
    values = jnp.clip(jnp.round(picture), 0, 255).astype(int)
    return jax.vmap(_equalised, in_axes=-1, out_axes=-1)(values)


def _equalised(values: Array) -> Array:
    counts = jnp.zeros(256, int).at[values.reshape(-1)].add(1)
    below = jnp.cumsum(counts) - counts
    step = (values.size - counts[jnp.max(values)]) // 255
    new = jnp.clip((below + step // 2) // jnp.maximum(step, 1), 0, 255)
    return jnp.where(step > 0, new[values], values).astype(float)


# Operations, and the strength that magnitude 9 stands for.
_OPERATIONS: dict[str, tuple[Operation, float]] = {
    "shear y": (_shear_down, 0.3),
    "translate x": (_shift_across, 150 / 331),
    "translate y": (_shift_down, 150 / 331),
    "rotate": (_rotate, np.pi / 6),
    "brightness": (_brightness, 0.9),
    "colour": (_colour, 0.9),
    "contrast": (_contrast, 0.9),
    "sharpness": (_sharpness, 0.9),
    "posterise": (_posterise, 4.0),
    "solarise": (_solarise, 255.0),
    "invert": (_invert, 0.0),
    "auto-contrast": (_auto_contrast, 0.0),
    "equalise": (_equalise, 0.0),
}
_BRANCHES = tuple(operation for operation, _ in _OPERATIONS.values())

# Table 7: operation, chance and magnitude, twice.
_POLICY = (
    (("invert", 0.1, 7), ("contrast", 0.2, 6)),
    (("rotate", 0.7, 2), ("translate x", 0.3, 9)),
    (("sharpness", 0.8, 1), ("sharpness", 0.9, 3)),
    (("shear y", 0.5, 8), ("translate y", 0.7, 9)),
    (("auto-contrast", 0.5, 8), ("equalise", 0.9, 2)),
    (("shear y", 0.2, 7), ("posterise", 0.3, 7)),
    (("colour", 0.4, 3), ("brightness", 0.6, 7)),
    (("sharpness", 0.3, 9), ("brightness", 0.7, 9)),
    (("equalise", 0.6, 5), ("equalise", 0.5, 1)),
    (("contrast", 0.6, 7), ("sharpness", 0.6, 5)),
    (("colour", 0.7, 7), ("translate x", 0.5, 8)),
    (("equalise", 0.3, 7), ("auto-contrast", 0.4, 8)),
    (("translate y", 0.4, 3), ("sharpness", 0.2, 6)),
    (("brightness", 0.9, 6), ("colour", 0.2, 8)),
    (("solarise", 0.5, 2), ("invert", 0.0, 3)),
    (("equalise", 0.2, 0), ("auto-contrast", 0.6, 0)),
    (("equalise", 0.2, 8), ("equalise", 0.6, 4)),
    (("colour", 0.9, 9), ("equalise", 0.6, 6)),
    (("auto-contrast", 0.8, 4), ("solarise", 0.2, 8)),
    (("brightness", 0.1, 3), ("colour", 0.7, 0)),
    (("solarise", 0.4, 5), ("auto-contrast", 0.9, 3)),
    (("translate y", 0.9, 9), ("translate y", 0.7, 9)),
    (("auto-contrast", 0.9, 2), ("solarise", 0.8, 3)),
    (("equalise", 0.8, 8), ("invert", 0.1, 3)),
    (("translate y", 0.7, 9), ("auto-contrast", 0.9, 1)),
)


def _strength(name: str, magnitude: int) -> float:
    strength = _OPERATIONS[name][1] * magnitude / 9
    return round(strength) if name == "posterise" else strength


# The policy as arrays (25, 2): which operation, its chance, its strength.
_WHICH = np.array(
    [[list(_OPERATIONS).index(operation[0]) for operation in pair] for pair in _POLICY]
)
_CHANCE = np.array([[operation[1] for operation in pair] for pair in _POLICY], np.float32)
_STRENGTH = np.array(
    [[_strength(operation[0], operation[2]) for operation in pair] for pair in _POLICY], np.float32
)


@dataclass(frozen=True)
class AutoAugment:
    """One of the policy's 25 pairs of operations for every picture, in either direction."""

    def __call__(self, key: Key, x: Array, /) -> Array:
        """Pictures of the same shape."""
        # A loop over pictures runs the operation that was drawn; a batched one would run all.
        return jax.lax.map(_augmented_picture, (jax.random.split(key, len(x)), x))


def _augmented_picture(drawn: tuple[Key, Array]) -> Array:
    key, picture = drawn
    which, chance, sign = jax.random.split(key, 3)
    pair = jax.random.randint(which, (), 0, len(_POLICY))
    happens = jax.random.uniform(chance, (2,)) < jnp.asarray(_CHANCE)[pair]
    signs = jnp.where(jax.random.bernoulli(sign, shape=(2,)), 1.0, -1.0)
    strengths = signs * jnp.asarray(_STRENGTH)[pair]
    for i in range(2):
        # The operation after the last one leaves the picture alone.
        branch = jnp.where(happens[i], jnp.asarray(_WHICH)[pair, i], len(_BRANCHES))
        picture = jax.lax.switch(branch, (*_BRANCHES, _unchanged), picture, strengths[i])
    return picture


def _unchanged(picture: Array, _: Array) -> Array:
    return picture
