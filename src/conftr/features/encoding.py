"""From what users have to what networks take: tables, arrays of numbers, arrays of images.

`learn` looks at training rows and gives an encoding; the encoding turns any rows into inputs, and
is plain data that can be written down. Images stay as they are stored (bytes stay bytes) and are
normalised inside the network's first step, by `shift` and `scale`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from conftr.data.dataset import Normalisation, whiten
from conftr.data.pictures import PictureFiles
from conftr.features import frames
from conftr.features.columns import Encoded, Json, Numbers
from conftr.features.frames import Frame, is_frame
from conftr.machine.rows_on_disk import RowShape, RowsOnDisk

__all__ = ["Array", "Encoding", "Frame", "Images", "from_json", "is_frame", "learn"]


@dataclass(frozen=True, eq=False)
class Array:
    """An array (n, d) of numbers; nan is missing."""

    numbers: Numbers
    shift = 0.0
    scale = 1.0

    @property
    def inputs(self) -> RowShape:
        """The shape of one encoded row."""
        return (self.numbers.width,)

    def encode(self, x: Any) -> Encoded:
        """(n, d) -> (n, width) in float32."""
        x, d = _numeric(x), len(self.numbers.shift)
        if x.shape[1:] != (d,):
            raise ValueError(f"X must have shape (n, {d}), as it had in fit; got {x.shape}.")
        return self.numbers.encode(x)

    def to_json(self) -> Json:
        """Give it as plain data."""
        return {"kind": "array", "numbers": self.numbers.to_json()}


@dataclass(frozen=True, eq=False)
class Images:
    """An array (n, height, width) or (n, height, width, channels), or with more axes.

    Attributes:
        of_bytes: Whether pixels were bytes, as those of picture files are.
    """

    inputs: RowShape
    normalisation: Normalisation
    of_bytes: bool = False

    @property
    def shift(self) -> Any:
        """What is taken off each channel."""
        return self.normalisation.shift

    @property
    def scale(self) -> Any:
        """What each channel is multiplied by then."""
        return self.normalisation.scale

    def encode(self, x: Any) -> Any:
        """The images as they are, on disk where they are there; doubles become floats."""
        x = _numeric(x)
        if x.shape[1:] != self.inputs:
            expected = ", ".join(map(str, self.inputs))
            raise ValueError(f"X must have shape (n, {expected}), as it had in fit; got {x.shape}.")
        if x.dtype.kind == "f" and np.isnan(x).any():
            row = np.argwhere(np.isnan(x))[0, 0]
            raise ValueError(f"X holds nan in image {row}: pixels must not be missing.")
        return x if x.dtype in (np.uint8, np.float32) else x.astype(np.float32)

    def to_json(self) -> Json:
        """Give it as plain data."""
        shift, scale = (np.asarray(value).tolist() for value in (self.shift, self.scale))
        data = {"kind": "images", "inputs": list(self.inputs), "shift": shift, "scale": scale}
        return data | {"of_bytes": self.of_bytes}


Encoding: TypeAlias = Array | Images | Frame


def learn(x: Any) -> Encoding:
    """The encoding of training rows: a data frame, or an array (n, d), or of images (n, h, w, ...).

    encoding = learn(X[train]); inputs = encoding.encode(X)
    """
    if is_frame(x):
        return frames.learn(x)
    if isinstance(x, PictureFiles):
        raise ValueError(
            "a single network of ours learns from pictures of up to 64 pixels; larger ones are "
            'read by a frozen network, whose features members learn from: leave members at "auto".'
        )
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
    return Images(x.shape[1:], whiten(channels), x.dtype == np.uint8)


def from_json(data: Json) -> Encoding:
    """The encoding that was written as this."""
    if data["kind"] == "images":
        shift, scale = (np.array(data[name], np.float32) for name in ("shift", "scale"))
        of_bytes = bool(data.get("of_bytes", False))
        return Images(tuple(data["inputs"]), Normalisation(shift, scale), of_bytes)
    if data["kind"] == "frame":
        return Frame.from_json(data)
    return Array(Numbers.from_json(data["numbers"]))


def _numeric(x: Any) -> Any:
    if isinstance(x, RowsOnDisk):
        return x  # pictures of bytes, which can be nothing but finite
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
