"""Which columns of a table can be learned from: what is refused, and what deserves a note."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import polars as pl

from conftr.data.errors import DataError

_MOSTLY = 0.9  # so many texts of a column are numbers: the others are likely slips
_COMMA = r"^\s*[-+]?\d+,\d+\s*$"


def refuse_unusable(frame: pl.DataFrame, categories: Collection[str] = ()) -> None:
    """Raise for the first column that is neither numbers nor categories, and say what to do.

    categories: columns that the user declared to be such, whatever they look like.
    """
    for column in frame.iter_columns():
        kind = column.dtype
        if kind.is_temporal():
            raise DataError(
                f"column {column.name!r} holds dates or times, which are no use as they are: make "
                f"numbers of them, such as the month or the age in days, or leave the column out "
                f"with --drop {column.name!r}."
            )
        if kind.is_nested() or kind in (pl.Binary, pl.Object):
            raise DataError(
                f"column {column.name!r} holds {kind}; a cell must be one number, text or "
                f"true/false. Leave the column out with --drop {column.name!r}."
            )
        if kind == pl.String and column.name not in categories:
            _refuse_slips(column)


def notes(frame: pl.DataFrame) -> Iterator[str]:
    """What the user should know of columns that can be read but tell nothing."""
    for column in frame.iter_columns():
        known = column.drop_nulls()
        if known.is_empty():
            yield f"column {column.name!r} is empty and tells nothing."
        elif _is_name(known):
            yield (
                f"column {column.name!r} is different in every row, like a name or a number given "
                f"to each: if it is one, leave it out with --drop {column.name!r}."
            )


def _is_name(known: pl.Series) -> bool:
    """Texts or whole numbers of which no two are equal."""
    if not (known.dtype.is_integer() or known.dtype in (pl.String, pl.Categorical, pl.Enum)):
        return False
    return len(known) > 20 and known.n_unique() == len(known)


def _refuse_slips(column: pl.Series) -> None:
    """Raise where texts are nearly all numbers, so that a slip does not make them categories."""
    known = column.drop_nulls()
    if 0 < _MOSTLY * len(known) < known.str.contains(_COMMA).sum():
        raise DataError(
            f"column {column.name!r} holds numbers with a decimal comma, such as {known[0]!r}: "
            f"write them with a point."
        )
    found = column.str.strip_chars().cast(pl.Float64, strict=False)
    strange = column.is_not_null() & found.is_null()
    if 0 < strange.sum() <= (1 - _MOSTLY) * len(known):
        row = strange.arg_true()[0]
        raise DataError(
            f"column {column.name!r} holds numbers, but row {row + 1} has {column[row]!r}: correct "
            f"it, or leave the cell empty. If these are names of categories, say so with "
            f"--category {column.name!r}."
        )
