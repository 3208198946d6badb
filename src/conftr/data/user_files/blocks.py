"""Files of any size, some rows at a time: what a model takes, and what stands beside it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from conftr.data.errors import DataError
from conftr.data.pictures import PictureShape
from conftr.data.user_files import arrays, pictures, tables
from conftr.data.user_files.examples import (
    INPUTS,
    TARGET,
    Roles,
    check,
    check_columns,
    groups_of,
    labels_of,
    picture_column,
)

CELLS = 2**20  # of a block


@dataclass(frozen=True)
class Inputs:
    """What a model takes: the columns of a table, by name, or the rows of an array.

    Attributes:
        columns: None where the model learned from arrays.
        numeric: Those that are numbers.
        pictures: (height, width, channels) that it takes of picture files; None if it takes none.
        classes: Names of its classes, which folders of pictures may have.
    """

    columns: tuple[str, ...] | None = None
    numeric: tuple[str, ...] = ()
    pictures: PictureShape | None = None
    classes: tuple[str, ...] = ()


class RowBlock(NamedTuple):
    """Some rows of a file.

    Attributes:
        first: The number of the first row, from 1.
        X: A frame or an array.
        kept: Columns to copy.
    """

    first: int
    X: Any
    labels: pl.Series | None
    groups: pl.Series | None
    kept: pl.DataFrame


def blocks(
    path: Path,
    inputs: Inputs,
    roles: Roles,
    *,
    keep: tuple[str, ...] = (),
    rows: int = CELLS,
) -> Iterator[RowBlock]:
    """The rows of a file in order, at most `rows` or 2^20 cells at a time.

    wanted.target is taken along where the file has it; wanted.groups must be there. A folder of
    pictures, or a table with a column of paths, is a file here too; the pictures that cannot be
    read are left out, with a warning at the end that names them.
    """
    if path.is_dir():
        return _folder(path, inputs, roles, keep, rows)
    check(path)
    if tables.is_table(path) and inputs.pictures is not None:
        return _column(path, inputs, roles, keep, rows)
    if tables.is_table(path):
        return _table(path, inputs, roles, keep, rows)
    if set(keep) - set(inputs.columns or ()):
        raise DataError(f"{path} holds arrays, whose columns have no names: none can be kept.")
    return _arrays(path, inputs, roles, keep, rows)


def _table(
    path: Path, inputs: Inputs, roles: Roles, keep: tuple[str, ...], rows: int
) -> Iterator[RowBlock]:
    if inputs.columns is None:
        raise DataError(f"{path} is a table, but the model learned from an array.")
    check_columns(path, [*inputs.columns, roles.groups, *keep])
    target = roles.target if roles.target in tables.columns(path) else None
    names = _wanted([*inputs.columns, roles.groups, target, *keep])
    first = 1
    rows = min(rows, CELLS // len(names) + 1)
    for frame in tables.blocks(path, names, rows=rows):
        yield RowBlock(
            first,
            tables.numbers(frame.select(inputs.columns), inputs.numeric, first=first, path=path),
            None if target is None else tables.stripped(frame[target]),
            None if roles.groups is None else frame[roles.groups].cast(pl.String),
            frame.select(keep),
        )
        first += len(frame)


def _wanted(names: Iterable[str | None]) -> list[str]:
    """Names of columns, each once; pandas leaves the name of the column of row numbers empty."""
    return [name for name in dict.fromkeys(names) if name is not None]


def _arrays(
    path: Path, inputs: Inputs, roles: Roles, keep: tuple[str, ...], rows: int
) -> Iterator[RowBlock]:
    is_archive = path.suffix == ".npz"
    name = INPUTS if is_archive else None
    header = arrays.header(path, name)
    column, shape = _column_of_texts(path, inputs, header), header.shape
    there = arrays.names(path) if is_archive else ()
    has_labels = roles.labels is not None or (roles.target or TARGET) in there
    labels = labels_of(path, roles, shape[0]) if has_labels else None
    groups = groups_of(path, roles, shape[0])
    wide = header.dtype.itemsize if column else math.prod(shape[1:])  # a text is a cell a byte
    rows, first = min(rows, CELLS // max(1, wide) + 1), 0
    for block in arrays.blocks(path, name, rows=rows):
        X: Any = arrays.texts(block, column) if column else block
        part = slice(first, first + len(X))
        yield RowBlock(
            first + 1,
            X,
            None if labels is None else labels[part],
            None if groups is None else groups[part],
            X.select(keep) if column else pl.DataFrame(),
        )
        first += len(X)


def _column_of_texts(path: Path, inputs: Inputs, header: arrays.Header) -> str | None:
    """The one column that the model takes, where the array holds texts; None for numbers."""
    if header.is_of_texts and inputs.columns is None:
        raise DataError(f"{path} holds texts, but the model learned from numbers.")
    if header.is_of_texts and len(inputs.columns or ()) == 1 and not inputs.numeric:
        return (inputs.columns or ())[0]
    if inputs.columns is not None:
        raise DataError(f"{path} holds an array, but the model learned from a table with columns.")
    return None


def _folder(
    path: Path, inputs: Inputs, roles: Roles, keep: tuple[str, ...], rows: int
) -> Iterator[RowBlock]:
    if inputs.pictures is None:
        raise DataError(f"{path} is a folder, and the model did not learn from picture files.")
    if keep or roles.groups:
        named = keep[0] if keep else roles.groups
        raise DataError(f"{path} is a folder, without a column {named!r}: name a table of paths.")
    listed = pictures.listed(path, inputs.classes)
    for note in listed.notes:
        warnings.warn(note, stacklevel=2)
    rows, n, broken = _rows_of(inputs.pictures, rows), len(listed.paths), pictures.Broken()
    for start in range(0, n, rows):
        part = slice(start, start + rows)
        some = listed._replace(
            paths=listed.paths[part], shown=listed.shown[part], labels=listed.labels[part]
        )
        yield from _decoded(some, start + 1, inputs.pictures, some.shown.to_frame(), None, broken)
    _end(path, n, broken)


def _column(
    path: Path, inputs: Inputs, roles: Roles, keep: tuple[str, ...], rows: int
) -> Iterator[RowBlock]:
    assert inputs.pictures is not None
    column = picture_column(path, roles)
    if column is None:
        raise DataError(
            f"no column of {path} looks like paths of pictures, which is what the model takes: say "
            f"with --picture which holds them."
        )
    check_columns(path, [roles.groups, *keep])
    target = roles.target if roles.target in tables.columns(path) else None
    names = _wanted([column, roles.groups, target, *keep])
    first, broken = 1, pictures.Broken()
    for frame in tables.blocks(path, names, rows=_rows_of(inputs.pictures, rows)):
        labels = None if target is None else tables.stripped(frame[target].cast(pl.String))
        some = pictures.listed_column(path, frame[column], labels)
        kept = frame.select(some.shown, *(name for name in keep if name != pictures.COLUMN))
        groups = None if roles.groups is None else frame[roles.groups].cast(pl.String)
        yield from _decoded(some, first, inputs.pictures, kept, groups, broken)
        first += len(frame)
    _end(path, first - 1, broken)


def _rows_of(shape: PictureShape, rows: int) -> int:
    return min(rows, CELLS // math.prod(shape) + 1)


def _decoded(
    some: pictures.Listed,
    first: int,
    shape: PictureShape,
    kept: pl.DataFrame,
    groups: pl.Series | None,
    broken: pictures.Broken,
) -> Iterator[RowBlock]:
    """Blocks of neighbouring pictures, so that a row's number is its place in the file."""
    has_labels = some.labels.null_count() < len(some.labels)
    for start, pixels in pictures.decoded_runs(some, shape, broken):
        part = slice(start, start + len(pixels))
        yield RowBlock(
            first + start,
            pixels,
            some.labels[part] if has_labels else None,
            None if groups is None else groups[part],
            kept[part],
        )


def _end(path: Path, n: int, broken: pictures.Broken) -> None:
    """Name the pictures that were left out; refuse where nothing is left."""
    if n == len(broken):
        raise DataError(
            f"{path} has no picture that can be read. {pictures.sentence(broken)}".rstrip()
        )
    pictures.warn_of_broken(broken)
