"""Objectives that carry numbers from step to step: a threshold that follows, multipliers that grow.

A plain objective is called on (logits, labels). One with state has two methods more:

    state = objective.start(classes)
    loss = objective(logits, labels, state)          # the state is a constant here
    state = objective.update(logits, labels, state)  # after the step, without gradients

A state is an array, or a tuple of arrays, or a NamedTuple; `update` keeps its shapes and types.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard

from conftr.conformal.arrays import Array


class StatefulObjective(Protocol):
    """An objective with state. Whoever trains keeps it; the objective itself never changes."""

    def __call__(self, logits: Array, labels: Array, state: Any = None) -> Array:
        """A scalar to minimise; without a state as at the start."""

    def start(self, classes: int) -> Any:
        """The state before the first step, as NumPy arrays."""

    def update(self, logits: Array, labels: Array, state: Any) -> Any:
        """The state after a step on this batch, in the library of the logits."""


def is_stateful(objective: Any) -> TypeGuard[StatefulObjective]:
    """Whether an objective has state."""
    return callable(getattr(objective, "start", None)) and callable(
        getattr(objective, "update", None)
    )
