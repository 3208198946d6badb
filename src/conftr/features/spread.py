"""The matrix of `conftr.features.codes` as inputs of a network: whitened numbers, spread levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.features.columns import Doubles, Encoded, Json, Levels, Numbers
from conftr.machine.rows_on_disk import RowsOnDisk


@dataclass(frozen=True, eq=False)
class Spread:
    """Columns of numbers, whitened, then one column of 0 and 1 for each level of each category.

    Attributes:
        numeric: The columns of the matrix that hold numbers.
        categories: The others.
    """

    numeric: npt.NDArray[np.intp]
    numbers: Numbers
    categories: Mapping[int, Levels]

    @classmethod
    def learn(cls, matrix: Doubles | RowsOnDisk, levels: Mapping[int, int]) -> Spread:
        """Learn from training rows (n, d).

        Args:
            matrix: What `codes` made of training rows; on disk there are only numbers.
            levels: Its columns that are categories, and how many levels each has.
        """
        if isinstance(matrix, RowsOnDisk):
            return cls(np.arange(matrix.shape[1]), Numbers.learn(matrix), {})
        numeric = np.array([j for j in range(matrix.shape[1]) if j not in levels], np.intp)
        categories = {
            j: Levels(tuple(map(str, range(count))), bool(np.isnan(matrix[:, j]).any()))
            for j, count in levels.items()
        }
        return cls(numeric, Numbers.learn(matrix[:, numeric]), categories)

    @property
    def inputs(self) -> tuple[int, ...]:
        """The shape of one encoded row."""
        return (self.numbers.width + sum(levels.width for levels in self.categories.values()),)

    def encode(self, matrix: Any) -> Any:
        """(n, d) -> (n, width) in float32; on disk where the rows are."""
        if isinstance(matrix, RowsOnDisk):
            return matrix.encoded(self.encode)
        encoded = [self.numbers.encode(matrix[:, self.numeric])]
        encoded += [_spread(levels, matrix[:, j]) for j, levels in self.categories.items()]
        return np.concatenate(encoded, axis=1)

    def to_json(self) -> Json:
        """Give it as plain data."""
        return {
            "numeric": self.numeric.tolist(),
            "numbers": self.numbers.to_json(),
            "categories": [
                [j, len(column.levels), column.gap] for j, column in self.categories.items()
            ],
        }

    @classmethod
    def from_json(cls, data: Json) -> Spread:
        """What was written as this."""
        categories = {
            int(j): Levels(tuple(map(str, range(count))), bool(gap))
            for j, count, gap in data["categories"]
        }
        numbers = Numbers.from_json(data["numbers"])
        return cls(np.array(data["numeric"], np.intp), numbers, categories)


def _spread(levels: Levels, column: Any) -> Encoded:
    missing = np.isnan(column)
    places = np.where(missing, -1, column).astype(np.intp)
    # The code after the last level stands for all that training did not see.
    return levels.encode(np.where(places >= len(levels.levels), -1, places), missing)
