"""Settings as values: equal where they hold the same, arrays included.

Equal settings share a compiled program, so an objective that is made anew must equal the one
before.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from conftr.conformal.arrays import host, is_traced, library

Class = TypeVar("Class", bound=type)


def by_content(cls: Class) -> Class:
    """Let values of a frozen dataclass be equal where their fields are, arrays by their numbers.

    Args:
        cls: a dataclass made with `frozen=True, eq=False`.

    Returns:
        The same class, with an `__eq__` and a `__hash__`.
    """

    def equal(self: Any, other: object) -> Any:
        return _content(self) == _content(other) if type(other) is type(self) else NotImplemented

    def number(self: Any) -> int:
        return hash(_content(self))

    cls.__eq__, cls.__hash__ = equal, number  # type: ignore[assignment,method-assign]
    return cls


def _content(value: Any) -> tuple[Any, ...]:
    """Everything that sets a dataclass apart from others of its class."""
    values = [getattr(value, field.name) for field in dataclasses.fields(value)]
    return tuple((type(part), _known(part)) for part in values)


def _known(part: Any) -> Any:
    """A field as it can be compared: an array as its type, shape and bytes."""
    if library(part) is None:
        return part
    if is_traced(part):
        return id(part)
    numbers = host(part)
    return numbers.dtype.str, numbers.shape, numbers.tobytes()
