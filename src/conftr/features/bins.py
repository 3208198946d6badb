"""Columns of numbers in steps: where a number lies among quantiles, for networks.

A number becomes as many as its column has bins, between edges e_0 < e_1 < … < e_B:

    min(1, max(0, (x - e_b) / (e_{b+1} - e_b)))    for b = 0 .. B - 1

which is 1 for every bin below it, 0 for every bin above, and says how far it has come in its own
(Gorishniy et al. 2022, piecewise linear encoding). A network can then give each part of a column a
weight of its own. Of a column with few different numbers every one has a bin, so that it is as
good as a category.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.features.columns import Doubles, Encoded, Json
from conftr.features.spread import Spread

BINS = 16


@dataclass(frozen=True, eq=False)
class Binned:
    """What `Spread` gives, followed by the bins of each column of numbers.

    Attributes:
        edges: Of each column of numbers, rising; a column that is constant has none.
    """

    spread: Spread
    edges: tuple[Doubles, ...]

    @classmethod
    def learn(cls, matrix: Doubles, levels: Mapping[int, int]) -> Binned:
        """Learn from training rows (n, d); see `Spread.learn`."""
        spread = Spread.learn(matrix, levels)
        return cls(spread, tuple(_edges(matrix[:, j]) for j in spread.numeric))

    @property
    def inputs(self) -> tuple[int, ...]:
        """The shape of one encoded row."""
        return (self.spread.inputs[0] + sum(max(0, len(edges) - 1) for edges in self.edges),)

    def encode(self, matrix: Doubles) -> Encoded:
        """(n, d) -> (n, width) in float32; a missing number has no bin."""
        columns = zip(self.spread.numeric, self.edges, strict=True)
        bins = [_bins(matrix[:, j], edges) for j, edges in columns if len(edges) > 1]
        return np.concatenate([self.spread.encode(matrix), *bins], axis=1)

    def to_json(self) -> Json:
        """Give it as plain data."""
        return self.spread.to_json() | {"edges": [edges.tolist() for edges in self.edges]}

    @classmethod
    def from_json(cls, data: Json) -> Binned:
        """What was written as this."""
        edges = tuple(np.array(column, np.float64) for column in data["edges"])
        return cls(Spread.from_json(data), edges)


def _edges(column: npt.NDArray[Any]) -> Doubles:
    """The quantiles between which a column has bins; the different numbers, if these are few."""
    known = np.unique(column[~np.isnan(column)])
    if len(known) <= BINS + 1:
        return known
    return np.unique(np.quantile(column[~np.isnan(column)], np.linspace(0, 1, BINS + 1)))


def _bins(column: npt.NDArray[Any], edges: Doubles) -> Encoded:
    x = np.nan_to_num(column, nan=edges[0])[:, None]
    filled: Encoded = np.clip((x - edges[:-1]) / np.diff(edges), 0, 1).astype(np.float32)
    return filled
