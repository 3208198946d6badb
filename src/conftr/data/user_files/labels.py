"""Class labels as files hold them: whole numbers, words, or true and false."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from conftr.data import spelling
from conftr.data.errors import DataError
from conftr.data.spreadsheets import cell

_MANY, _FEW = 100, 5  # more numbers than these, most of them in fewer rows, are amounts

Labels = npt.NDArray[Any]
Integers = npt.NDArray[np.intp]


def learn(column: pl.Series) -> Labels:
    """The labels to learn from, without missing ones: integers where all are whole, else texts."""
    kind = column.dtype
    if kind == pl.Boolean:
        return np.where(column.to_numpy(), "true", "false")
    if kind.is_numeric():
        _refuse_amounts(column)
        return column.cast(pl.Int64).to_numpy()
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        raise DataError(
            f"the target {column.name!r} holds {kind}; classes are words, whole numbers, or true "
            f"and false."
        )
    # As objects: an array of texts gives every row the width of the longest.
    return np.array(column.cast(pl.String).str.strip_chars().to_list(), dtype=object)


def _refuse_amounts(column: pl.Series) -> None:
    """Raise where numbers are no classes: not whole, or very many and most of them rare."""
    advice = "conftr tells classes apart and does not predict numbers: cut them into classes first"
    strange = column.filter(column != column.round())
    if len(strange):
        raise DataError(
            f"the target {column.name!r} holds numbers that are not whole, such as {strange[0]}. "
            f"{advice}."
        )
    large = column.filter(column.cast(pl.Int64, strict=False).is_null() & column.is_not_null())
    if len(large):
        raise DataError(
            f"the target {column.name!r} holds {large[0]}, and classes that are numbers have at "
            f"most 18 digits. If these are names of classes, say so with --category "
            f"{column.name!r}, or write them as text; else correct it."
        )
    counts = column.drop_nulls().value_counts()["count"]
    if len(counts) > _MANY and (counts < _FEW).sum() > len(counts) / 2:
        raise DataError(
            f"the target {column.name!r} holds {len(counts):,} different numbers, most of them in "
            f"fewer than {_FEW} rows. {advice}. If they are names of classes, say so with "
            f"--category {column.name!r}, or write them as text."
        )


def places(column: pl.Series, classes: Sequence[Hashable]) -> Integers:
    """Where each label of a file stands among the classes of a model; -1 where it is none."""
    names = by_text(classes)
    texts = column.cast(pl.String).str.strip_chars()
    if all(isinstance(name, int | float) and name == round(name) for name in classes):
        different = texts.unique().drop_nulls().to_list()
        texts = texts.replace({text: _whole(text) for text in different})
    order = {cell(text): place for place, text in enumerate(names)}  # as conftr writes them
    order |= {text: place for place, text in enumerate(names)}
    is_known = texts.is_not_null().to_numpy()
    found = np.full(len(texts), -1, np.intp)
    found[is_known] = spelling.places(texts.drop_nulls().to_list(), order)
    return found


def _whole(text: str) -> str:
    """A whole number as Python writes it: others write 3 as 03, 3.0 or 3e0."""
    try:
        return str(int(text))
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else text


def by_text(classes: Sequence[Hashable]) -> Mapping[str, Hashable]:
    """Classes by the text that stands for them in files and wishes, in their order."""
    return {str(name): name for name in classes}
