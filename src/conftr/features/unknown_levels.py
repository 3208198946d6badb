"""Columns of new rows that hold no category known from training: mostly a slip of spelling."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from conftr.features import frames
from conftr.features.frame_columns import FrameColumns

Counts = dict[str, tuple[int, int]]

_TELLING = 20  # filled cells: where all of so many are unknown, chance is no explanation


class CategoryWarning(UserWarning):
    """Columns of categories without a single one that is known."""


def counted(reader: Any, x: Any) -> Counts:
    """Count the filled cells of each column of categories, and those that training did not see.

    Args:
        reader: What reads the rows of a classifier.
        x: Rows for it.

    Returns:
        Both numbers by name of the column. One that was empty in training is left out: there is
        nothing to know.
    """
    table = reader if isinstance(reader, FrameColumns) else getattr(reader, "table", None)
    if table is None:
        return {}
    opened, counts = frames.opened(x), {}
    for name, levels in table.frame.levels.items():
        if levels.levels and name in opened.columns:  # what lacks is refused where it is read
            cells = opened[name].drop_nulls()
            unknown = int(np.count_nonzero(frames.level_places(levels, cells) < 0))
            counts[name] = (len(cells), unknown)
    return counts


def added(counts: Counts, others: Counts) -> Counts:
    """The counts of two blocks of rows together."""
    sums = dict(counts)
    for name, (filled, unknown) in others.items():
        before = sums.get(name, (0, 0))
        sums[name] = (before[0] + filled, before[1] + unknown)
    return sums


def sentence(counts: Mapping[str, tuple[int, int]]) -> str:
    """What the user should know of these counts; nothing where a category of each is known."""
    return " ".join(
        f"column {name!r} has a value in {filled:,} rows, and none is a category that training "
        f"saw: compare how they are spelled."
        for name, (filled, unknown) in counts.items()
        if filled == unknown >= _TELLING
    )


def warn(reader: Any, x: Any) -> None:
    """Say so where a column of rows holds no category that training saw."""
    words = sentence(counted(reader, x))
    if words:
        warnings.warn(words, CategoryWarning, stacklevel=2)
