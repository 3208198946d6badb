"""Rows as one matrix that every member reads: numbers as they are, categories as whole numbers.

Trees take the matrix as it stands: nan is missing, and they find out themselves what that means.
Networks whiten its numbers and spread its categories (`conftr.features.spread`). A category's code
is its place among the levels of training rows, the most frequent first; a level that training did
not see has the code after the last, next to the rarest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.data.pictures import PictureFiles
from conftr.features import frames, frozen_pictures
from conftr.features.columns import Doubles, Json, Levels
from conftr.features.encoding import Images, _numeric
from conftr.features.encoding import from_json as encoding_from_json
from conftr.features.encoding import learn as learn_encoding
from conftr.features.frames import Frame
from conftr.features.frozen_pictures import FrozenPictures


@dataclass(frozen=True, eq=False)
class Columns:
    """An array (n, d) of numbers; nan is missing."""

    width: int
    levels: Mapping[int, int]

    @classmethod
    def learn(cls, x: Any) -> Columns:
        """From training rows; no column of an array is a category."""
        x = _numeric(x)
        if x.ndim != 2 or 0 in x.shape:
            raise ValueError(f"X must be a table (n, d), not empty; got shape {x.shape}.")
        return cls(x.shape[1], {})

    def encode(self, x: Any) -> Doubles:
        """The numbers as doubles, (n, d)."""
        x = _numeric(x)
        if x.shape[1:] != (self.width,):
            raise ValueError(
                f"X must have shape (n, {self.width}), as it had in fit; got {x.shape}."
            )
        return np.asarray(x, np.float64)

    def to_json(self) -> Json:
        """As plain data."""
        return {"kind": "columns", "width": self.width}


@dataclass(frozen=True, eq=False)
class FrameColumns:
    """A data frame: its columns of numbers, then its categories, in the order of `frame`."""

    frame: Frame

    @property
    def width(self) -> int:
        """How many columns the matrix has."""
        return len(self.frame.numeric) + len(self.frame.levels)

    @property
    def levels(self) -> dict[int, int]:
        """The columns of the matrix that are categories, and how many levels each has."""
        first = len(self.frame.numeric)
        found = self.frame.levels.values()
        return {first + i: len(one.levels) for i, one in enumerate(found)}

    @classmethod
    def learn(cls, x: Any) -> FrameColumns:
        """From training rows."""
        return cls(frames.learn(x))

    def encode(self, x: Any) -> Doubles:
        """A frame of n rows -> (n, width); nan is missing."""
        if not frames.is_frame(x):
            raise ValueError("X must be a data frame with named columns, as it was in fit.")
        opened, known = frames.opened(x), self.frame
        known._check_columns(opened.columns)
        numbers = frames._doubles(opened, known.numeric)
        codes = [_codes(one, opened[name]) for name, one in known.levels.items()]
        return np.concatenate([numbers, *(column[:, None] for column in codes)], axis=1)

    def to_json(self) -> Json:
        """As plain data."""
        return {"kind": "frame columns", "frame": self.frame.to_json()}


Matrix = Columns | FrameColumns | Images | FrozenPictures


def learn(x: Any) -> Matrix:
    """How training rows are read: a data frame, an array (n, d), images (n, h, w, ...), or files.

    Args:
        x: Training rows.

    Returns:
        What reads any rows: `encode(x)` gives a matrix (n, d) of doubles, or the images.
    """
    if frames.is_frame(x):
        return FrameColumns.learn(x)
    if isinstance(x, PictureFiles):
        return frozen_pictures.frozen_pictures()
    found = learn_encoding(x)
    return found if isinstance(found, Images) else Columns.learn(x)


def from_json(data: Json) -> Matrix:
    """The reader of rows that was written as this."""
    if data["kind"] == "columns":
        return Columns(int(data["width"]), {})
    if data["kind"] == "frozen pictures":
        return frozen_pictures.from_json(data)
    found = encoding_from_json(data["frame"] if data["kind"] == "frame columns" else data)
    if isinstance(found, Frame):
        return FrameColumns(found)
    if isinstance(found, Images):
        return found
    raise ValueError(f"there is no reader of rows of kind {data['kind']!r}.")


def _codes(levels: Levels, column: Any) -> npt.NDArray[np.float64]:
    """Places among the levels (n,), their number for any other, nan for missing."""
    import narwhals.stable.v2 as nw

    missing, unseen = column.is_null().to_numpy(), len(levels.levels)
    if not unseen:
        return np.where(missing, np.nan, 0.0)
    places = frames._texts(column).replace_strict(
        levels.levels, range(unseen), default=unseen, return_dtype=nw.Int64
    )
    return np.where(missing, np.nan, places.fill_null(0).to_numpy().astype(np.float64))
