"""Columns of texts: recognised or named, cleaned, and read as lists of Python strings."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from conftr.data.sentences import TEXT, are_sentences
from conftr.features import frames

LONGEST = 10_000  # letters of a text that are read

# Letters in several forms are one letter; control characters and runs of blanks are one blank.
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


class TextWarning(UserWarning):
    """Texts that are not read as they are."""


def columns_of_texts(frame: Any, named: Sequence[str] | None = None) -> tuple[str, ...]:
    """The columns of a frame of narwhals that hold texts, in its order.

    Args:
        frame: Training rows.
        named: The columns that the user says hold texts; None recognises them.

    Returns:
        Names of columns. A column of the type "categorical" is never recognised as one.

    Raises:
        ValueError: If a named column is not there, or holds something else.
    """
    if named is None:
        return tuple(name for name in frame.columns if _is_recognised(frame[name]))
    for name in named:
        if name not in frame.columns:
            raise ValueError(f"texts names a column {name!r}, which X does not have.")
        if not _is_of_strings(frame[name]) and not frame[name].is_null().all():
            raise ValueError(
                f"column {name!r} must hold texts, as it is named among them; it holds "
                f"{frame[name].dtype}."
            )
    return tuple(name for name in frame.columns if name in set(named))


def cleaned(column: Any) -> list[str]:
    """The texts of a column of a frame of narwhals; a missing one is empty.

    They are lower-case, in Unicode's form NFKC, without control characters, and cut after
    `LONGEST` letters (see `long_texts`).
    """
    import narwhals.stable.v2 as nw

    missing = column.is_null().to_list()
    texts = column.to_list() if column.dtype == nw.Object else column.cast(nw.String).to_list()
    return ["" if gone else clean(str(text)) for gone, text in zip(missing, texts, strict=True)]


def long_texts(x: Any, columns: Iterable[str]) -> int:
    """How many texts in these columns of a data frame are longer than what is read of them."""
    if not frames.is_frame(x):
        return 0
    opened = frames.opened(x)
    cells = (text for name in columns for text in opened[name].drop_nulls().to_list())
    return sum(isinstance(text, str) and len(text) > LONGEST for text in cells)


def long_texts_sentence(count: int) -> str:
    """What the user should know of so many long texts; nothing of none."""
    if not count:
        return ""
    texts = f"{count:,} texts have" if count > 1 else "1 text has"
    return f"{texts} more than {LONGEST:,} letters: what comes after them is not read."


def warn_of_long(x: Any, columns: Iterable[str]) -> None:
    """Say so where texts in these columns of a data frame are not read to their end."""
    sentence = long_texts_sentence(long_texts(x, columns))
    if sentence:
        warnings.warn(sentence, TextWarning, stacklevel=2)


def as_frame(x: Any) -> Any:
    """A list, an array (n,) or a series of texts as a data frame of one column; else as it is."""
    if frames.is_frame(x) or hasattr(x, "tocsr"):
        return x
    values = x if isinstance(x, list | tuple) else np.asarray(x)
    if getattr(values, "ndim", 1) != 1 or not len(values) or not all(map(_is_text, values)):
        return x
    if not any(isinstance(value, str) for value in values):
        return x
    try:
        import polars as pl
    except ImportError as missing:
        raise ImportError("Texts need polars: pip install 'conftr[text]'.") from missing
    texts = [str(value) if isinstance(value, str) else None for value in values]
    safe = [None if text is None else text.encode("utf-8", "replace").decode() for text in texts]
    return pl.DataFrame({TEXT: pl.Series(safe, dtype=pl.String)})


def _is_text(value: Any) -> bool:
    """A text, or a missing one."""
    return isinstance(value, str) or value is None or (isinstance(value, float) and value != value)


def clean(text: str) -> str:
    """One text as encoders read it."""
    whole = text[:LONGEST].encode("utf-8", "replace").decode("utf-8")
    return _BLANKS.sub(" ", unicodedata.normalize("NFKC", whole).lower()).strip()


def _is_of_strings(column: Any) -> bool:
    import narwhals.stable.v2 as nw

    if column.dtype == nw.Object:
        return all(isinstance(value, str) for value in column.drop_nulls().to_list())
    return bool(column.dtype == nw.String)


def _is_recognised(column: Any) -> bool:
    if not _is_of_strings(column):
        return False
    known = column.drop_nulls()
    return are_sentences(known.unique(maintain_order=True).to_list(), len(known))
