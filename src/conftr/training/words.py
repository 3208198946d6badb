"""A network on the words of a text in their order: each neighbourhood is looked at alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from conftr.training.models import (
    Array,
    Block,
    Key,
    Layers,
    Running,
    batch_norm,
    check_sizes,
    dense,
    running_statistics,
)


@dataclass(frozen=True)
class WordNet:
    """Neighbouring words by a dense layer, batch norm, ReLU, the largest over places; then dense.

    This is done for every width by itself; what they find stands side by side.

    Attributes:
        inputs: (Places of words, numbers of a vector) of one text; zeros where there is no word.
        classes: K.
        filters: Outputs of each width.
        widths: How many neighbouring words are looked at together.
    """

    inputs: tuple[int, ...]
    classes: int
    filters: int = 128
    widths: tuple[int, ...] = (1, 2)

    def __post_init__(self) -> None:
        """Refuse sizes that make no network."""
        sizes = {"classes": (self.classes,), "filters": (self.filters,), "widths": self.widths}
        check_sizes(self, inputs=self.inputs, **sizes)
        if len(self.inputs) != 2:
            raise ValueError(f"inputs must be (places, numbers of a vector); got {self.inputs}.")

    def init(self, key: Key, /) -> tuple[Layers, tuple[Running, ...]]:
        """Fresh parameters and running statistics."""
        first, *keys = jax.random.split(key, 1 + len(self.widths))
        numbers = self.inputs[1]
        hidden = tuple(
            Block(dense(filter_key, width * numbers, self.filters), batch_norm(self.filters))
            for filter_key, width in zip(keys, self.widths, strict=True)
        )
        logits = dense(first, len(self.widths) * self.filters, self.classes)
        return Layers(hidden, logits), tuple(running_statistics(self.filters) for _ in hidden)

    def apply(
        self, params: Layers, state: Sequence[Running], x: Array, train: bool, /
    ) -> tuple[Array, tuple[Running, ...]]:
        """Logits (n, classes) for inputs (n, *inputs)."""
        strongest, moved = [], []
        for width, block, running in zip(self.widths, params.hidden, state, strict=True):
            y, running = block(_neighbours(x, width), running, train)
            strongest.append(jnp.max(y, axis=1))
            moved.append(running)
        return params.logits(jnp.concatenate(strongest, axis=1)), tuple(moved)


def _neighbours(x: Array, width: int) -> Array:
    """Every word beside those before it: (n, places, d) -> (n, places + width - 1, width d)."""
    padded = jnp.pad(x, ((0, 0), (width - 1, width - 1), (0, 0)))
    places = x.shape[1] + width - 1
    return jnp.concatenate([padded[:, i : i + places] for i in range(width)], axis=2)
