"""Values as plain data and back: what is written as JSON, compared and hashed.

A `Part` tells in plain data which class or function is meant and with which fields. The digest of a
value is that of its canonical JSON: keys in order, no spaces, numbers without a fraction as
integers.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeAlias, Union

import numpy as np

from conftr.machine.digests import of_bytes
from conftr.machine.names import name_of, thing_of

Setting: TypeAlias = Union[bool, int, float, str, "Part", tuple["Setting", ...], None]
Json: TypeAlias = Any

# A field that is off is not written, but for this one: version 0.1 wrote it, and results keep
# their names.
_WRITTEN_WHEN_OFF = {("ConfTr", "loss_matrix")}


@dataclass(frozen=True)
class Part:
    """A value as data.

    Attributes:
        kind: The name of the class or function.
        fields: Names and values, in order.
    """

    kind: str
    fields: tuple[tuple[str, Setting], ...] = ()

    def __getitem__(self, name: str) -> Any:
        """The field of that name."""
        return dict(self.fields)[name]

    def replace(self, **changes: Setting) -> Part:
        """The same kind with some fields changed or added."""
        return part(self.kind, **(dict(self.fields) | changes))


def part(kind: str, /, **fields: Setting) -> Part:
    """`Part` with its fields in order of their names, so that equal settings are equal values."""
    return Part(kind, tuple(sorted(fields.items())))


def describe(value: Any) -> Any:
    """A value as data.

    A field of a dataclass is off where its default is None or 0 and it holds that. Such fields are
    left out: results keep their names when a class gets a new field.

    Args:
        value: a frozen dataclass, a function or class with a name (`partial` gives arguments), an
            array, a tuple of such, a number, a text, None, or a `Part`, which stays what it is.

    Returns:
        A `Part`, or plain data, from which `build` makes an equal value.

    Raises:
        ValueError: it is nothing of the kind, or cannot be found by a name.
    """
    if value is None or isinstance(value, bool | int | float | str | Part):
        return value
    if hasattr(value, "__array__"):
        return describe(np.asarray(value).tolist())
    if isinstance(value, partial):
        if value.args:
            raise ValueError(f"give the arguments of {value!r} by their names.")
        return _part_of(value.func, value.keywords.items())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _part_of(type(value), _written(value))
    if isinstance(value, tuple | list):
        return tuple(describe(item) for item in value)
    return _part_of(value, ())


def build(described: Any, **known: Any) -> Any:
    """The value that was described.

    Args:
        described: as `describe` gives it.
        known: fields that are not settings, as the input shape of a model.

    Returns:
        A class with its fields, or a function with its arguments bound.
    """
    if isinstance(described, tuple):
        return tuple(build(item) for item in described)
    if not isinstance(described, Part):
        return described
    made = thing_of(described.kind)
    fields = {name: build(item) for name, item in described.fields} | known
    if isinstance(made, type):
        return made(**fields)
    return partial(made, **fields) if fields else made


@cache
def shared(described: Part) -> Any:
    """The value that was described, the same each time: a process compiles a program of it once."""
    return build(described)


def digest(value: Any) -> str:
    """16 hexadecimal digits that are equal for equal values and, in practice, only for those.

    Args:
        value: Plain data, or what `describe` takes.

    Returns:
        The digits.
    """
    text = json.dumps(_canonical(encode(value)), sort_keys=True, separators=(",", ":"))
    return of_bytes(text.encode())


def encode(value: Any) -> Json:
    """Parts, tuples and dataclasses as JSON."""
    if isinstance(value, Part):
        return {"kind": value.kind} | {name: encode(item) for name, item in value.fields}
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: encode(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    return value


def decode(value: Json) -> Any:
    """Parts and tuples from JSON."""
    if isinstance(value, dict):
        fields = {name: decode(item) for name, item in value.items() if name != "kind"}
        return part(value["kind"], **fields)
    if isinstance(value, list):
        return tuple(decode(item) for item in value)
    return value


def _part_of(thing: Any, fields: Any) -> Part:
    described = {name: describe(value) for name, value in fields}
    if "kind" in described:
        raise ValueError(f"a field of {thing!r} must not be called kind, as plain data use it.")
    return part(name_of(thing), **described)


def _written(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a dataclass that are on."""
    for field in dataclasses.fields(value):
        held, name = getattr(value, field.name), (type(value).__name__, field.name)
        if field.init and (name in _WRITTEN_WHEN_OFF or not _is_off(held, field.default)):
            yield field.name, held


def _is_off(held: Any, default: Any) -> bool:
    if default is None or held is None:
        return held is default
    return isinstance(held, int | float) and held == default == 0


def _canonical(value: Json) -> Json:
    """Write 1.0 as 1: which of them a field holds depends on who typed it."""
    if isinstance(value, dict):
        return {name: _canonical(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
