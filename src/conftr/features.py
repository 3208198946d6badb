"""From what users have to what networks take: tables, arrays of numbers, arrays of images.

`learn` looks at training rows and gives an encoding; the encoding turns any rows into inputs, and
is plain data that can be written down. Images stay as they are stored (bytes stay bytes) and are
normalised inside the network's first step, by `shift` and `scale`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from conftr.columns import Encoded, Json, Levels, Numbers, Text
from conftr.data.dataset import Normalisation, whiten

Shape: TypeAlias = tuple[int, ...]

_SHOWN = 10  # column names in a message


@dataclass(frozen=True, eq=False)
class Array:
    """An array (n, d) of numbers; nan is missing."""

    numbers: Numbers
    shift = 0.0
    scale = 1.0

    @property
    def inputs(self) -> Shape:
        """The shape of one encoded row."""
        return (self.numbers.width,)

    def encode(self, x: Any) -> Encoded:
        """(n, d) -> (n, width) in float32."""
        x, d = _numeric(x), len(self.numbers.shift)
        if x.shape[1:] != (d,):
            raise ValueError(f"X must have shape (n, {d}), as it had in fit; got {x.shape}.")
        return self.numbers.encode(x)

    def to_json(self) -> Json:
        """As plain data."""
        return {"kind": "array", "numbers": self.numbers.to_json()}


@dataclass(frozen=True, eq=False)
class Images:
    """An array (n, height, width) or (n, height, width, channels), or with more axes."""

    inputs: Shape
    normalisation: Normalisation

    @property
    def shift(self) -> Any:
        """What is taken off each channel."""
        return self.normalisation.shift

    @property
    def scale(self) -> Any:
        """What each channel is multiplied by then."""
        return self.normalisation.scale

    def encode(self, x: Any) -> Any:
        """The images as they are; doubles become floats."""
        x = _numeric(x)
        if x.shape[1:] != self.inputs:
            expected = ", ".join(map(str, self.inputs))
            raise ValueError(f"X must have shape (n, {expected}), as it had in fit; got {x.shape}.")
        if x.dtype.kind == "f" and np.isnan(x).any():
            row = np.argwhere(np.isnan(x))[0, 0]
            raise ValueError(f"X holds nan in image {row}: pixels must not be missing.")
        return x if x.dtype in (np.uint8, np.float32) else x.astype(np.float32)

    def to_json(self) -> Json:
        """As plain data."""
        shift, scale = (np.asarray(value).tolist() for value in (self.shift, self.scale))
        return {"kind": "images", "inputs": list(self.inputs), "shift": shift, "scale": scale}


@dataclass(frozen=True, eq=False)
class Frame:
    """A data frame of any library that narwhals knows: columns by name, in any order.

    names: as they were in fit. numeric: those of numbers and booleans, side by side in `numbers`.
    levels: the others, categories.
    """

    names: tuple[str, ...]
    numeric: tuple[str, ...]
    numbers: Numbers
    levels: Mapping[str, Levels]
    shift = 0.0
    scale = 1.0

    @property
    def inputs(self) -> Shape:
        """The shape of one encoded row."""
        return (self.numbers.width + sum(one.width for one in self.levels.values()),)

    def encode(self, x: Any) -> Encoded:
        """A frame of n rows -> (n, width) in float32."""
        frame = _frame(x)
        self._check_columns(frame.columns)
        parts = [self.numbers.encode(_numbers(frame, self.numeric))]
        parts += [one.encode(_texts(frame, name)) for name, one in self.levels.items()]
        return np.concatenate(parts, axis=1)

    def _check_columns(self, found: Sequence[str]) -> None:
        lacks = [name for name in self.names if name not in set(found)]
        extra = [name for name in found if name not in set(self.names)]
        if lacks or extra:
            faults = [f"lacks {_listed(lacks)}"] * bool(lacks)
            faults += [f"has {_listed(extra)}, which fit did not see"] * bool(extra)
            raise ValueError(
                f"X must have the columns it had in fit, in any order: it {' and '.join(faults)}."
            )

    def to_json(self) -> Json:
        """As plain data."""
        return {
            "kind": "frame",
            "names": list(self.names),
            "numeric": list(self.numeric),
            "numbers": self.numbers.to_json(),
            "levels": {name: one.to_json() for name, one in self.levels.items()},
        }


Encoding: TypeAlias = Array | Images | Frame


def learn(x: Any) -> Encoding:
    """The encoding of training rows: a data frame, or an array (n, d), or of images (n, h, w, ...).

    encoding = learn(X[train]); inputs = encoding.encode(X)
    """
    if is_frame(x):
        return _learn_frame(_frame(x))
    x = _numeric(x)
    if x.ndim < 2 or 0 in x.shape:
        raise ValueError(
            f"X must be a table (n, d) or images (n, height, width, ...), not empty; got shape "
            f"{x.shape}."
        )
    if x.ndim == 2:
        return Array(Numbers.learn(x))
    # Grey images have one number a pixel; colours are the last axis of four.
    channels = x if x.ndim == 4 else x.reshape(len(x), -1, 1)
    return Images(x.shape[1:], whiten(channels))


def from_json(data: Json) -> Encoding:
    """The encoding that was written as this."""
    if data["kind"] == "images":
        shift, scale = (np.array(data[name], np.float32) for name in ("shift", "scale"))
        return Images(tuple(data["inputs"]), Normalisation(shift, scale))
    numbers = Numbers.from_json(data["numbers"])
    if data["kind"] == "array":
        return Array(numbers)
    levels = {name: Levels.from_json(one) for name, one in data["levels"].items()}
    return Frame(tuple(data["names"]), tuple(data["numeric"]), numbers, levels)


def is_frame(x: Any) -> bool:
    """Whether x is a data frame: rows with named columns."""
    return hasattr(x, "columns") and not hasattr(x, "tocsr")


def named(x: Any) -> tuple[Any, list[str]]:
    """A data frame whose columns have text for names, and these."""
    if all(isinstance(name, str) for name in x.columns):
        return x, list(x.columns)
    names = [str(name) for name in x.columns]  # only pandas has others
    return x.set_axis(names, axis=1), names


def take(x: Any, rows: Any) -> Any:
    """These rows of a data frame or an array."""
    if is_frame(x):
        return _frame(x)[np.asarray(rows)].to_native()
    return np.asarray(x)[rows]


def _numeric(x: Any) -> Any:
    x = np.asarray(x)
    if x.dtype.kind not in "fiub":
        raise ValueError(
            f"X must hold numbers; got an array of type {x.dtype}. Columns of other kinds belong "
            f"in a data frame, of pandas or polars."
        )
    if x.dtype.kind == "f" and np.isinf(x).any():
        place = tuple(int(i) for i in np.argwhere(np.isinf(x))[0])
        raise ValueError(f"X must be finite (nan is missing); it is infinite at {place}.")
    return x


def _frame(x: Any) -> Any:
    """As a narwhals frame in memory."""
    import narwhals.stable.v2 as nw

    frame = nw.from_native(x)
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def _learn_frame(frame: Any) -> Frame:
    if not frame.columns or not len(frame):
        raise ValueError(f"X must have rows and columns; got shape {frame.shape}.")
    numeric = tuple(name for name in frame.columns if _is_number(frame[name]))
    others = [name for name in frame.columns if name not in set(numeric)]
    levels = {name: Levels.learn(_texts(frame, name)) for name in others}
    numbers = Numbers.learn(_numbers(frame, numeric))
    return Frame(tuple(frame.columns), numeric, numbers, levels)


def _is_number(column: Any) -> bool:
    """Whether a column holds numbers and not categories; refuses what is neither."""
    kind = column.dtype
    if kind.is_temporal():
        raise ValueError(
            f"X[{column.name!r}] holds dates or times ({kind}), which have no use as they are: "
            f"leave the column out, or make numbers of it, such as the month or the age in days."
        )
    if kind.is_nested():
        raise ValueError(
            f"X[{column.name!r}] holds {kind}: a column must hold one number or category a row."
        )
    return bool((kind.is_numeric() or kind == _boolean()) and not column.is_null().all())


def _boolean() -> Any:
    import narwhals.stable.v2 as nw

    return nw.Boolean


def _numbers(frame: Any, names: Sequence[str]) -> Any:
    """Columns as doubles (n, len(names)), nan where missing."""
    import narwhals.stable.v2 as nw

    found = np.empty((len(frame), len(names)))
    for i, name in enumerate(names):
        try:
            found[:, i] = frame[name].cast(nw.Float64).to_numpy()
        except Exception as fault:
            raise ValueError(
                f"X[{name!r}] must hold numbers, as it did in fit; got {frame[name].dtype}."
            ) from fault
        if np.isinf(found[:, i]).any():
            row = np.flatnonzero(np.isinf(found[:, i]))[0]
            raise ValueError(f"X[{name!r}] must be finite (or missing); row {row} is not.")
    return found


def _texts(frame: Any, name: str) -> list[Text]:
    """A column as text, None where missing."""
    column = frame[name]
    missing = column.is_null().to_list()
    values = column.to_list()
    return [None if gap else str(value) for gap, value in zip(missing, values, strict=True)]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if names[_SHOWN:] else "")
