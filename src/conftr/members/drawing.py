"""Rows drawn in proportion to their weights, for models that take no weights themselves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_MOST = 4  # times as many rows as there are may be drawn, so that light ones are met too


def drawn(
    rows: npt.NDArray[np.intp], weights: npt.NDArray[np.float64], seed: int
) -> npt.NDArray[np.intp]:
    """Rows, each as often as its weight asks for, up to one; as many as let the lightest be met.

    At regular steps along the summed weights, from a random start: equal weights draw every row
    once.
    """
    weights = (
        weights / weights.max()
    )  # before they are summed: numbers may be as large as there are
    lightest = max(weights[weights > 0].min() / weights.mean(), 1 / _MOST)
    n = round(len(rows) / lightest)
    ends = np.cumsum(weights)
    start = np.random.default_rng([seed, 2]).random()
    places = np.searchsorted(ends, (np.arange(n) + start) * (ends[-1] / n), side="right")
    drawn_rows: npt.NDArray[np.intp] = rows[np.minimum(places, len(rows) - 1)]
    return drawn_rows
