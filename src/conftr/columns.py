"""Columns of a table as numbers for a network: what is learned from training rows, then kept.

A column of numbers is whitened; a missing number becomes the median, and where training rows lack
some, a further column says which were missing. A column of categories becomes one column of 0 and
1 for each level; a level that training did not see is 0 in all of them, and so is a missing one
unless training rows lack some too: then that is a level of its own. A column that training rows
lack altogether, or that is the same in all of them, tells nothing and stays without effect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Json: TypeAlias = Any
Encoded: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]
Text: TypeAlias = str | None

LEVELS = 100  # of a category; the rarest beyond them share the outcome of unseen ones
_FARTHEST = 10.0  # standard deviations; what lies farther out is brought here


@dataclass(frozen=True, eq=False)
class Numbers:
    """d columns of numbers: (x - shift) * scale, with `fill` for what is missing.

    gaps: the columns that lack numbers in training; each gets an indicator.
    scale is 0 for a constant column: it tells nothing, and other values later must not either.
    """

    shift: Doubles
    scale: Doubles
    fill: Doubles
    gaps: npt.NDArray[np.intp]

    @classmethod
    def learn(cls, x: Any) -> Numbers:
        """From training rows (n, d); nan is missing."""
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
        missing = np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)
        values = (np.where(missing, self.fill, x) - self.shift) * self.scale
        return np.concatenate(
            [np.clip(values, -_FARTHEST, _FARTHEST), missing[:, self.gaps]], axis=1
        ).astype(np.float32)

    def to_json(self) -> Json:
        """As plain data."""
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

    gap: whether training rows lack some; missing is then a level of its own.
    """

    levels: tuple[str, ...]
    gap: bool

    @classmethod
    def learn(cls, values: Sequence[Text]) -> Levels:
        """From the values of training rows; None is missing."""
        counts = Counter(value for value in values if value is not None)
        common = sorted(counts, key=lambda level: (-counts[level], level))[:LEVELS]
        return cls(tuple(common), 0 < counts.total() < len(values))

    @property
    def width(self) -> int:
        """How many columns come out."""
        return len(self.levels) + self.gap

    def encode(self, values: Sequence[Text]) -> Encoded:
        """n values -> (n, width) in float32."""
        places: dict[Text, int] = {level: i for i, level in enumerate(self.levels)}
        if self.gap:
            places[None] = len(self.levels)
        chosen = np.array([places.get(value, -1) for value in values], np.intp)
        found: Encoded = (chosen[:, None] == np.arange(self.width)).astype(np.float32)
        return found

    def to_json(self) -> Json:
        """As plain data."""
        return {"levels": list(self.levels), "gap": self.gap}

    @classmethod
    def from_json(cls, data: Json) -> Levels:
        """What was written as this."""
        return cls(tuple(data["levels"]), data["gap"])
