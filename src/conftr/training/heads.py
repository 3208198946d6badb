"""Heads on what frozen networks say of several views of an example, as values.

Inputs are (views, ...); a head looks at the first view. With `AnyView` as the augmentation of a
`Plan`, every step of training sees a view drawn anew. Members of an ensemble stand side by side in
a view, the K logits of the first, then those of the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from conftr.training.models import MLP, Dense, Layers, Running, check_sizes

Array: TypeAlias = Any
Key: TypeAlias = Any


@dataclass(frozen=True)
class MLPOfViews:
    """An `MLP` on one view.

    Attributes:
        inputs: (views, ...), shape of one example.
        classes: K.
        hidden: Widths of the hidden layers.
    """

    inputs: tuple[int, ...]
    classes: int
    hidden: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuse sizes that make no network."""
        check_sizes(self, inputs=self.inputs)
        if len(self.inputs) < 2:
            raise ValueError(
                f"inputs must be (views, ...), at least two numbers; got {self.inputs}."
            )
        _ = self.of_view  # refuses what an MLP would

    @property
    def of_view(self) -> MLP:
        """What looks at one view."""
        return MLP(self.inputs[1:], self.classes, self.hidden)

    def init(self, key: Key, /) -> tuple[Layers, tuple[Running, ...]]:
        """Fresh parameters and running statistics."""
        return self.of_view.init(key)

    def apply(
        self, params: Layers, state: Sequence[Running], x: Array, train: bool, /
    ) -> tuple[Array, tuple[Running, ...]]:
        """Logits (n, classes) for inputs (n, views, ...), however many views there are."""
        return self.of_view.apply(params, state, x[:, 0], train)


@dataclass(frozen=True)
class MembersAverage:
    """What members have said, averaged: a model without parameters, on their logits.

    Attributes:
        inputs: (views, members * classes).
        classes: K.
        members: The places of those that count.
    """

    inputs: tuple[int, ...]
    classes: int
    members: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse members that are not there."""
        known = _members(self)
        if not self.members or not all(0 <= i < known for i in self.members):
            raise ValueError(f"members must be some of 0..{known - 1}; got {self.members}.")

    def init(self, _: Key, /) -> tuple[dict[str, Array], tuple[()]]:
        """Nothing to train."""
        return {}, ()

    def apply(
        self, params: dict[str, Array], state: tuple[()], x: Array, train: bool, /
    ) -> tuple[Array, tuple[()]]:
        """Mean log-probabilities (n, classes) of the members, before they are normalised."""
        del params, train  # there is nothing to train
        logits = x[:, 0].reshape(len(x), -1, self.classes)[:, np.array(self.members)]
        return jnp.mean(jax.nn.log_softmax(logits), axis=1), state


class FromAverage(NamedTuple):
    """The parameters of `MLPFromAverage`: weights of the members' logits, and a correction."""

    average: Dense
    correction: Layers


@dataclass(frozen=True)
class MLPFromAverage:
    """A head that starts as its members' average: logits = x W^T + b + MLP(x).

    In the beginning W averages, class by class, what the members say, and the last layer of the MLP
    is zero; training moves all of it. A fresh MLP must first find what the average knows already.

    Attributes:
        inputs: (views, members * classes).
        classes: K.
        hidden: Widths of the hidden layers of the MLP.
    """

    inputs: tuple[int, ...]
    classes: int
    hidden: tuple[int, ...] = (128,)

    def __post_init__(self) -> None:
        """Refuse sizes that make no network, or no members."""
        _members(self)
        _ = self.correction  # refuses what an MLP would

    @property
    def correction(self) -> MLP:
        """What is added to the average."""
        return MLP(self.inputs[1:], self.classes, self.hidden)

    def init(self, key: Key, /) -> tuple[FromAverage, tuple[Running, ...]]:
        """Parameters that make the members' average, and fresh running statistics."""
        members = _members(self)
        average = jnp.tile(jnp.eye(self.classes), members) / members
        layers, state = self.correction.init(key)
        last = Dense(jnp.zeros_like(layers.logits.weight), layers.logits.bias)
        start = FromAverage(Dense(average, jnp.zeros(self.classes)), layers._replace(logits=last))
        return start, state

    def apply(
        self, params: FromAverage, state: Sequence[Running], x: Array, train: bool, /
    ) -> tuple[Array, tuple[Running, ...]]:
        """Logits (n, classes) for inputs (n, views, members * classes)."""
        said = x[:, 0]
        correction, state = self.correction.apply(params.correction, state, said, train)
        return params.average(said) + correction, state


def _members(head: MembersAverage | MLPFromAverage) -> int:
    """How many members there are, K logits each."""
    check_sizes(head, inputs=head.inputs, classes=(head.classes,))
    if len(head.inputs) != 2 or head.inputs[1] % head.classes:
        raise ValueError(
            f"inputs of {type(head).__name__} must be (views, members * classes), here a multiple "
            f"of {head.classes} in each view; got {head.inputs}."
        )
    return head.inputs[1] // head.classes
