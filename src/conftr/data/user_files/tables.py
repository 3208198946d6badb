"""Tables in CSV, TSV and Parquet files: read whole to learn from, in blocks to predict on.

To learn from a CSV file, the type of a column is found by looking at all of its values. To predict
on one, every cell is read as text and turned into what its column was when the model learned, so
that a category "1" stays a category, and a word among numbers is refused with its row. Blank lines
are no rows.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from conftr.data.errors import DataError

_MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")  # how a missing value is written
_SEPARATORS = (",", ";", "\t", "|")
_ZERO = r"^[+-]?0[0-9]+$"  # a whole number with a 0 in front
_BLANK = re.compile(rb"\n(?: *\r?\n)+|\A *\r?\n|\n +\Z")
_HEAD = 1000  # bytes that tell the encoding
_BYTES, _LONGEST = 4 * 2**20, 64 * 2**20  # of a CSV file: read at a time, and of a single row


def is_table(path: Path) -> bool:
    """Whether a file is a table, by its name."""
    return path.suffix.lower() in (".csv", ".tsv", ".parquet")


def read(path: Path, *, texts: Collection[str] = (), codes: Collection[str] = ()) -> pl.DataFrame:
    """The whole table, with the types that its values have.

    Args:
        path: A .csv, .tsv or .parquet file.
        texts: Columns that are read as text, whatever they look like.
        codes: Columns of names: texts without blanks around them, or numbers where all are such
            and none begins with a further 0, as 007 does.
    """
    with _in_words(path):
        if path.suffix.lower() == ".parquet":
            return pl.read_parquet(path, glob=False).with_columns(
                pl.col(name).cast(pl.String) for name in texts
            )
        separator = _separator(path)
        source = _without_blank_lines(path.read_bytes()) if _has_blank_lines(path) else path
        _refuse_twins(path, source, separator)
        named = {name for name in codes if name not in texts}
        frame = pl.read_csv(
            source,
            separator=separator,
            null_values=list(_MISSING),
            infer_schema_length=None,
            glob=False,
            schema_overrides=dict.fromkeys([*texts, *named], pl.String),
            try_parse_dates=True,
        )
        return frame.with_columns(_code(frame[name]) for name in named)


def columns(path: Path) -> tuple[str, ...]:
    """The names of a table's columns."""
    with _in_words(path):
        return tuple(_scan(path).collect_schema().names())


def blocks(path: Path, names: Sequence[str], *, rows: int) -> Iterator[pl.DataFrame]:
    """Some columns, at most so many rows at a time, in order; cells of a CSV file as text.

    A block at a time is in memory, whatever the size of the file. There is always one, if without
    rows.
    """
    with _in_words(path):
        if path.suffix.lower() == ".parquet":
            pieces: Iterable[pl.DataFrame] = _scan(path).select(names).collect_batches()
        else:
            pieces = (piece.select(names) for piece in _pieces(path, names))
        some = False
        for piece in pieces:
            some = True
            yield from piece.iter_slices(rows) if len(piece) else [piece]
        if not some:
            yield pl.DataFrame(schema=_scan(path).select(names).collect_schema())


def numbers(frame: pl.DataFrame, names: Collection[str], *, first: int, path: Path) -> pl.DataFrame:
    """The columns `names` as numbers, true and false as 1 and 0, the others as text.

    Args:
        first: The number of the frame's first row in its file, for the message about a value that
            is none of these.
    """
    known = set(names)
    others = [name for name in frame.columns if name not in known]
    cast = frame.with_columns(
        pl.col(names).cast(pl.Float64, strict=False), pl.col(others).cast(pl.String)
    )
    odd = [name for name in names if not _is_plain(cast[name], frame[name])]
    return cast.with_columns(_number(frame[name], first, path) for name in odd)


def parsed(texts: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Texts as numbers, blanks around them or not, and which of them are none.

    What is missing is neither: nothing but blanks, NA and its like. Infinity is no number.
    """
    bare = stripped(texts)
    numbers = bare.cast(pl.Float64, strict=False)
    return numbers, bare.is_not_null() & ~numbers.is_finite().fill_null(False)


def stripped(column: pl.Series) -> pl.Series:
    """Texts without blanks around them, and missing where nothing is left, or NA or its like.

    Of numbers nan is missing; others stay.
    """
    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return column
    bare = column.cast(pl.String).str.strip_chars()
    return bare.set(bare.is_in(_MISSING), None)


def _code(column: pl.Series) -> pl.Series:
    """Texts in the type that polars finds for them, unless a 0 in front would be lost."""
    texts = stripped(column)
    different = texts.drop_nulls().unique(maintain_order=True)
    if different.is_empty() or different.str.contains(_ZERO).any():
        return texts
    file = io.BytesIO()
    different.to_frame("name").write_csv(file, quote_style="always")
    typed = pl.read_csv(file.getvalue(), infer_schema_length=None, try_parse_dates=True)["name"]
    if typed.dtype == pl.String:
        return texts
    places = texts.replace_strict(different, range(len(different)), return_dtype=pl.Int64)
    return typed.gather(places).alias(column.name)


def _is_plain(numbers: pl.Series, cells: pl.Series) -> bool:
    """Whether every cell that is not missing became a finite number."""
    return numbers.null_count() == cells.null_count() and not numbers.is_infinite().any()


def _number(column: pl.Series, first: int, path: Path) -> pl.Series:
    """Texts of which some are no plain numbers: with blanks around, or all true or false."""
    texts = column.cast(pl.String)
    numbers, strange = parsed(texts)
    if not strange.any():
        return numbers
    words = texts.str.strip_chars().str.to_lowercase()
    if words.drop_nulls().is_in(["true", "false"]).all():
        return (words == "true").cast(pl.Float64).alias(column.name)
    row = strange.arg_true()[0]
    raise DataError(
        f"column {column.name!r} of {path} must hold numbers, as it did when the model learned; "
        f"row {first + row} has {column[row]!r}. A missing value is an empty cell or NA."
    )


def _refuse_twins(path: Path, source: Path | bytes, separator: str) -> None:
    """Refuse a CSV file of which two columns have one name: which of them is meant?"""
    head = pl.read_csv(
        source, separator=separator, has_header=False, n_rows=1, infer_schema=False, glob=False
    )
    names = [name for name in head.row(0) if name is not None] if len(head) else []
    twins = [name for name, count in Counter(names).items() if count > 1]
    if twins:
        raise DataError(f"{path} has two columns called {twins[0]!r}: rename one.")


def _scan(path: Path) -> pl.LazyFrame:
    if path.suffix.lower() == ".parquet":
        return pl.scan_parquet(path, glob=False)
    return pl.scan_csv(
        path,
        separator=_separator(path),
        null_values=list(_MISSING),
        infer_schema=False,
        glob=False,
    )


def _pieces(path: Path, names: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Some columns of a CSV file, a few megabytes of it at a time.

    The streaming reader of polars does the same with several times the memory.
    """
    separator, done = _separator(path), 0
    with path.open("rb") as file:
        header, rest = next((line for line in file if line.strip()), b""), b""
        while True:
            chunk = file.read(_BYTES)
            text = rest + chunk
            end = _end_of_rows(text) if chunk else len(text)
            rest = text[end:]
            if len(rest) > _LONGEST:
                raise DataError(f"{path} has a quotation mark after row {done} that is not closed.")
            rows = _without_blank_lines(text[:end])
            if rows.strip(b" \r\n"):
                yield pl.read_csv(
                    header + rows,
                    columns=names,
                    separator=separator,
                    null_values=list(_MISSING),
                    infer_schema=False,
                )
                done += text.count(b"\n", 0, end)
            if not chunk:
                return


def _has_blank_lines(path: Path) -> bool:
    """Whether a CSV file may have lines without anything; a quoted text may look like them."""
    with path.open("rb") as file:
        before = b""
        while chunk := file.read(_BYTES):
            if _BLANK.search(before + chunk):
                return True
            before = chunk[-1000:]
    return False


def _without_blank_lines(text: bytes) -> bytes:
    """Rows of a CSV file without the lines between them that hold nothing or blanks."""
    if not _BLANK.search(text):
        return text
    quoted = text.split(b'"')
    quoted[0] = re.sub(rb"\A(?: *\r?\n)+", b"", quoted[0])
    quoted[::2] = [_BLANK.sub(b"\n", outside) for outside in quoted[::2]]
    return b'"'.join(quoted)


def _end_of_rows(text: bytes) -> int:
    """Behind the last line break that is not in quotes; 0 where there is none."""
    end = text.rfind(b"\n")
    while end >= 0 and text.count(b'"', 0, end) % 2:
        # In quotes, so before the mark that opened them.
        end = text.rfind(b"\n", 0, text.rfind(b'"', 0, end))
    return end + 1


def _separator(path: Path) -> str:
    """A tab in .tsv files, elsewhere what stands most often in the first line."""
    _refuse_wide_letters(path)
    _refuse_old_line_ends(path)
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        first = next((line for line in file if line.strip()), "")
    outside = "".join(first.split('"')[::2])
    return "\t" if path.suffix.lower() == ".tsv" else max(_SEPARATORS, key=outside.count)


def _refuse_wide_letters(path: Path) -> None:
    """Refuse a file with two or four bytes a letter, as some programs of Windows write it."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    # Every other byte of plain letters is 0 there; a text may hold a single one.
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or head.count(0) > len(head) / 4:
        raise DataError(
            f"{path} cannot be read as a table: it is not in UTF-8, and looks like UTF-16: save it "
            f"with the encoding UTF-8."
        )


def _refuse_old_line_ends(path: Path) -> None:
    """Refuse a file whose lines end in CR alone, which looks like a single line."""
    with path.open("rb") as file:
        head = file.read(_BYTES)
    if b"\r" in head[:-1] and b"\n" not in head:
        raise DataError(
            f"lines of {path} end in CR alone, as old Macintosh programs wrote them: save it with "
            f"LF or CRLF at the ends of lines."
        )


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """What polars finds wrong with a file, in one sentence that names the file."""
    try:
        yield
    except pl.exceptions.NoDataError:
        raise DataError(
            f"{path} is empty: a table has a line of column names, then rows."
        ) from None
    except pl.exceptions.PolarsError as fault:
        reason = str(fault).splitlines()[0]
        if "utf-8" in reason:
            advice = "it is not in UTF-8: save it with that encoding"
        elif "malformed" in reason or ("could not parse" in reason and '"' in reason):
            advice = (
                "a quotation mark stands in the middle of a cell, or is not closed: remove it, or "
                'put the cell in quotation marks and write "" for each one inside'
            )
        elif "more fields" in reason:
            advice = "a row has more cells than there are column names: look for stray separators"
        else:
            advice = reason
        raise DataError(f"{path} cannot be read as a table: {advice}.") from None
