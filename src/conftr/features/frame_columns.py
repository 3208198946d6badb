"""A data frame as one matrix: numbers as they are, categories as whole numbers.

A category's code is its place among the levels of training rows, the most frequent first; a level
that training did not see has the code after the last, next to the rarest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.features import frames
from conftr.features.columns import Doubles, Json, Levels
from conftr.features.frames import Frame


@dataclass(frozen=True, eq=False)
class FrameColumns:
    """A data frame: its columns of numbers, then its categories, in the order of `frame`."""

    frame: Frame

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the frame."""
        return self.frame.names

    @property
    def numeric(self) -> tuple[str, ...]:
        """The columns that hold numbers."""
        return self.frame.numeric

    @property
    def width(self) -> int:
        """How many columns the matrix has."""
        return len(self.frame.numeric) + len(self.frame.levels)

    @property
    def levels(self) -> dict[int, int]:
        """The columns of the matrix that are categories, and how many levels each has."""
        first = len(self.frame.numeric)
        columns = self.frame.levels.values()
        return {first + i: len(column.levels) for i, column in enumerate(columns)}

    @classmethod
    def learn(cls, x: Any) -> FrameColumns:
        """Learn from training rows."""
        return cls(frames.learn(x))

    def encode(self, x: Any) -> Doubles:
        """A frame of n rows -> (n, width); nan is missing."""
        if not frames.is_frame(x):
            raise ValueError("X must be a data frame with named columns, as it was in fit.")
        opened, known = frames.opened(x), self.frame
        frames.check_columns(opened.columns, known.names)
        numbers = frames.doubles(opened, known.numeric)
        codes = [_codes(levels, opened[name]) for name, levels in known.levels.items()]
        return np.concatenate([numbers, *(column[:, None] for column in codes)], axis=1)

    def to_json(self) -> Json:
        """Give it as plain data."""
        return {"kind": "frame columns", "frame": self.frame.to_json()}


def _codes(levels: Levels, column: Any) -> npt.NDArray[np.float64]:
    """Places among the levels (n,), their number for any other, nan for missing."""
    places = frames.level_places(levels, column).astype(np.float64)
    places[places < 0] = len(levels.levels)
    places[column.is_null().to_numpy()] = np.nan
    return places
