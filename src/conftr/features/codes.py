"""Rows as one matrix that every member reads: numbers as they are, categories as whole numbers.

Trees take the matrix as it stands: nan is missing, and they find out themselves what that means.
Networks whiten its numbers and spread its categories (`conftr.features.spread`). Columns of texts
become numbers (`conftr.features.text_columns`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conftr.data.pictures import PictureFiles
from conftr.features import frames, frozen_pictures, images
from conftr.features.columns import Doubles, Json
from conftr.features.frame_columns import FrameColumns
from conftr.features.frames import Frame
from conftr.features.frozen_pictures import FrozenPictures
from conftr.features.images import Images, numeric
from conftr.features.text_columns import TextColumns
from conftr.features.texts import columns_of_texts


@dataclass(frozen=True, eq=False)
class Columns:
    """An array (n, d) of numbers; nan is missing."""

    width: int
    levels: Mapping[int, int]

    @classmethod
    def learn(cls, x: Any) -> Columns:
        """Learn from training rows (n, d); no column of an array is a category."""
        return cls(x.shape[1], {})

    def encode(self, x: Any) -> Doubles:
        """The numbers as doubles, (n, d)."""
        x = numeric(x)
        if x.shape[1:] != (self.width,):
            raise ValueError(
                f"X must have shape (n, {self.width}), as it had in fit; got {x.shape}."
            )
        return np.asarray(x, np.float64)

    def to_json(self) -> Json:
        """Give it as plain data."""
        return {"kind": "columns", "width": self.width}


RowReader = Columns | FrameColumns | TextColumns | Images | FrozenPictures


def learn(x: Any, texts: Sequence[str] | None = None) -> RowReader:
    """How training rows are read: a data frame, an array (n, d), images (n, h, w, ...), or files.

    Args:
        x: Training rows.
        texts: The columns of a data frame that hold texts; None recognises them.

    Returns:
        What reads any rows: `encode(x)` gives a matrix (n, d) of doubles, or the images.
    """
    if frames.is_frame(x):
        named = columns_of_texts(frames.opened(x), texts)
        return TextColumns.learn(x, named) if named else FrameColumns.learn(x)
    if isinstance(x, PictureFiles):
        return frozen_pictures.frozen_pictures()
    x = numeric(x)
    if x.ndim < 2 or 0 in x.shape:
        raise ValueError(
            f"X must be a table (n, d) or images (n, height, width, ...), not empty; got shape "
            f"{x.shape}."
        )
    return Columns.learn(x) if x.ndim == 2 else images.learn(x)


def from_json(data: Json) -> RowReader:
    """The reader of rows that was written as this."""
    if data["kind"] == "columns":
        return Columns(int(data["width"]), {})
    if data["kind"] == "frozen pictures":
        return frozen_pictures.from_json(data)
    if data["kind"] == "text columns":
        return TextColumns.from_json(data)
    if data["kind"] == "frame columns":
        return FrameColumns(Frame.from_json(data["frame"]))
    if data["kind"] == "images":
        return Images.from_json(data)
    raise ValueError(f"there is no reader of rows of kind {data['kind']!r}.")
