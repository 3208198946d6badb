"""Columns of a table as numbers for a network: what is learned from training rows, then kept.

A column of numbers is whitened; a missing number becomes the median, and where training rows lack
some, a further column says which were missing. A column of categories becomes one column of 0 and
1 for each level; a level that training did not see is 0 in all of them, and so is a missing one
unless training rows lack some too: then that is a level of its own. A column that training rows
lack altogether, or that is the same in all of them, tells nothing and stays without effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.machine.rows_on_disk import RowsOnDisk, moments

Json: TypeAlias = Any
Encoded: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.integer[Any]]

LEVELS = 100  # of a category; the rarest beyond them share the outcome of unseen ones
FARTHEST = 10.0  # standard deviations; what lies farther out is brought here
_ROWS = 4096  # that are encoded together


@dataclass(frozen=True, eq=False)
class Numbers:
    """d columns of numbers: (x - shift) * scale, with `fill` for what is missing.

    Attributes:
        scale: One over the standard deviation, by which numbers are multiplied; 0 for a constant
            column, so that other values later have no effect.
        gaps: The columns that lack numbers in training; each gets an indicator.
    """

    shift: Doubles
    scale: Doubles
    fill: Doubles
    gaps: npt.NDArray[np.intp]

    @classmethod
    def learn(cls, x: Any) -> Numbers:
        """Learn from training rows (n, d); nan is missing, and on disk nothing is."""
        if isinstance(x, RowsOnDisk):
            mean, deviation, constant = moments(x, x.shape[1])
            varied, scale = ~constant & (deviation > 0), np.zeros(len(mean))
            scale[varied] = 1 / deviation[varied]
            return cls(mean, scale, mean, np.zeros(0, np.intp))
        learned = [_learn_column(np.asarray(column, np.float64)) for column in np.asarray(x).T]
        fill, shift, scale, gap = np.array(learned, np.float64).reshape(-1, 4).T
        return cls(shift, scale, fill, np.flatnonzero(gap))

    @property
    def width(self) -> int:
        """How many columns come out."""
        return len(self.shift) + len(self.gaps)

    def encode(self, x: Any) -> Encoded:
        """(n, d) -> (n, d + gaps) in float32."""
        x = np.asarray(x)
        encoded = np.empty((len(x), self.width), np.float32)
        for first in range(0, len(x), _ROWS):  # doubles of all rows would take most of the memory
            self._encode_into(encoded[first : first + _ROWS], x[first : first + _ROWS])
        return encoded

    def _encode_into(self, encoded: Encoded, x: Any) -> None:
        values = x - self.shift
        values *= self.scale
        missing = np.isnan(values)
        np.copyto(values, (self.fill - self.shift) * self.scale, where=missing)
        np.clip(values, -FARTHEST, FARTHEST, out=values)
        encoded[:, : len(self.shift)], encoded[:, len(self.shift) :] = values, missing[:, self.gaps]

    def to_json(self) -> Json:
        """Give it as plain data."""
        return {name: getattr(self, name).tolist() for name in ("shift", "scale", "fill", "gaps")}

    @classmethod
    def from_json(cls, data: Json) -> Numbers:
        """What was written as this."""
        shift, scale, fill = (
            np.array(data[name], np.float64) for name in ("shift", "scale", "fill")
        )
        return cls(shift, scale, fill, np.array(data["gaps"], np.intp))


def _learn_column(column: Doubles) -> tuple[float, float, float, bool]:
    """fill, shift, scale of a column, and whether numbers are missing."""
    known = column[~np.isnan(column)]
    gap = 0 < len(known) < len(column)
    if not len(known) or (known == known[0]).all():
        return (*([float(known[0])] * 2 if len(known) else (0.0, 0.0)), 0.0, gap)
    fill, deviation = float(np.median(known)), float(np.std(known))
    # A deviation that rounds to 0 belongs to a column that is constant to all intents.
    return fill, float(np.mean(known)), 1 / deviation if deviation else 0.0, gap


@dataclass(frozen=True)
class Levels:
    """A column of categories: one column of 0 and 1 for each level, the most frequent first.

    Attributes:
        gap: Whether training rows lack some; missing is then a level of its own.
    """

    levels: tuple[str, ...]
    gap: bool

    @classmethod
    def learn(cls, counts: Mapping[str, int], missing: int) -> Levels:
        """Learn from how often training rows have each level, and how often none."""
        common = sorted(counts, key=lambda level: (-counts[level], level))[:LEVELS]
        return cls(tuple(common), bool(counts) and missing > 0)

    @property
    def width(self) -> int:
        """How many columns come out."""
        return len(self.levels) + self.gap

    def encode(self, places: Integers, missing: npt.NDArray[np.bool_]) -> Encoded:
        """Places among the levels (n,), -1 for none of them, and gaps (n,) -> (n, width)."""
        if self.gap:
            places = np.where(missing, len(self.levels), places)
        encoded: Encoded = (places[:, None] == np.arange(self.width)).astype(np.float32)
        return encoded

    def to_json(self) -> Json:
        """Give it as plain data."""
        return {"levels": list(self.levels), "gap": self.gap}

    @classmethod
    def from_json(cls, data: Json) -> Levels:
        """What was written as this.

        Raises:
            ValueError: If these are no levels, each once, or `gap` is neither true nor false.
        """
        levels, gap = data["levels"], data["gap"]
        texts = isinstance(levels, list) and all(isinstance(level, str) for level in levels)
        if not texts or len(set(levels)) < len(levels) or not isinstance(gap, bool):
            raise ValueError(
                f"levels of a column must be different texts, and gap true or false; got "
                f"{levels!r:.100} and {gap!r:.100}"
            )
        return cls(tuple(levels), gap)
