"""Which columns of a table can be learned from: what is refused, and what deserves a note."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import polars as pl

from conftr.data.errors import DataError
from conftr.data.sentences import are_sentences
from conftr.data.user_files import tables

_MOSTLY = 0.9  # so many texts of a column are numbers: the others are likely slips
_MARKERS, _VARIED = 2, 20  # so few words among so many different numbers say "missing"
_COMMA = r"^\s*[-+]?\d+,\d+\s*$"


def usable(frame: pl.DataFrame, categories: Collection[str] = ()) -> pl.DataFrame:
    """The columns of a table as numbers and categories.

    Args:
        frame: all rows of a file, so that a row has the number it has there.
        categories: columns that the user declared to be such, whatever they look like.

    Returns:
        The same columns; texts that are numbers with blanks around them are numbers.

    Raises:
        DataError: for the first column that is neither, with what to do.
    """
    return frame.with_columns(
        _usable(column, column.name in categories) for column in frame.iter_columns()
    )


def _usable(column: pl.Series, is_category: bool) -> pl.Series:
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
    if kind.is_float() and column.is_infinite().any():
        _refuse_slip(column, column.is_infinite())
    return _numbers_or_texts(column) if kind == pl.String and not is_category else column


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


def not_to_be_read(frame: pl.DataFrame, categories: Collection[str]) -> pl.DataFrame:
    """Give declared categories that look like sentences polars' type of categories.

    Texts are recognised among strings, and what the user says to be names must not be.
    """
    named = [name for name in categories if name in frame.columns and _holds_texts(frame[name])]
    return frame.with_columns(pl.col(named).cast(pl.Categorical))


def _holds_texts(column: pl.Series) -> bool:
    known = column.drop_nulls()
    if known.dtype != pl.String:
        return False
    return are_sentences(known.unique(maintain_order=True).to_list(), len(known))


def _is_name(known: pl.Series) -> bool:
    """Texts or whole numbers of which no two are equal."""
    if not (known.dtype.is_integer() or known.dtype in (pl.String, pl.Categorical, pl.Enum)):
        return False
    return len(known) > 20 and known.n_unique() == len(known) and not _holds_texts(known)


def _numbers_or_texts(column: pl.Series) -> pl.Series:
    """Texts, or the numbers they are; refused where nearly all are, as a slip among them."""
    known = column.drop_nulls()
    if 0 < _MOSTLY * len(known) < known.str.contains(_COMMA).sum():
        raise DataError(
            f"column {column.name!r} holds numbers with a decimal comma, such as {known[0]!r}: "
            f"write them with a point."
        )
    numbers, strange = tables.parsed(column)
    if 0 < strange.sum() <= (1 - _MOSTLY) * len(known):
        _refuse_slip(column, strange)
    _refuse_marker(column, numbers, strange)
    return column if strange.any() or known.is_empty() else numbers


def _refuse_marker(column: pl.Series, numbers: pl.Series, strange: pl.Series) -> None:
    """Refuse numbers among which one or two words stand, most likely for what is missing."""
    words = column.filter(strange).str.strip_chars().unique(maintain_order=True).to_list()
    if not 0 < len(words) <= _MARKERS or numbers.filter(~strange).drop_nulls().n_unique() < _VARIED:
        return
    raise DataError(
        f"column {column.name!r} holds numbers, but {strange.sum():,} rows have "
        f"{' or '.join(map(repr, words))}: if that stands for a missing value, leave those cells "
        f"empty or write NA. If these are names of categories, say so with --category "
        f"{column.name!r}."
    )


def _refuse_slip(column: pl.Series, strange: pl.Series) -> None:
    row = strange.arg_true()[0]
    raise DataError(
        f"column {column.name!r} holds numbers, but row {row + 1} has {str(column[row])!r}: "
        f"correct it, or leave the cell empty. If these are names of categories, say so with "
        f"--category {column.name!r}."
    )
