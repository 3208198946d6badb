"""Files of any size, some rows at a time: what a model takes, and what stands beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from conftr.data.errors import DataError
from conftr.data.user_files import arrays, tables
from conftr.data.user_files.examples import (
    INPUTS,
    TARGET,
    Roles,
    check,
    check_columns,
    groups_of,
    labels_of,
)

CELLS = 2**20  # of a block


@dataclass(frozen=True)
class Inputs:
    """What a model takes: the columns of a table, by name, or the rows of an array.

    columns: None where the model learned from arrays. numeric: those that are numbers.
    """

    columns: tuple[str, ...] | None = None
    numeric: tuple[str, ...] = ()


class RowBlock(NamedTuple):
    """Some rows of a file.

    first: the number of the first row, from 1. X: a frame or an array. kept: columns to copy.
    """

    first: int
    X: Any
    labels: pl.Series | None
    groups: pl.Series | None
    kept: pl.DataFrame


def blocks(
    path: Path,
    inputs: Inputs,
    wanted: Roles,
    *,
    keep: tuple[str, ...] = (),
    rows: int = CELLS,
) -> Iterator[RowBlock]:
    """The rows of a file in order, at most `rows` or 2^20 cells at a time.

    wanted.target is taken along where the file has it; wanted.groups must be there.
    """
    check(path)
    if tables.is_table(path):
        return _table(path, inputs, wanted, keep, rows)
    if keep:
        raise DataError(f"{path} holds arrays, whose columns have no names: none can be kept.")
    return _arrays(path, inputs, wanted, rows)


def _table(
    path: Path, inputs: Inputs, wanted: Roles, keep: tuple[str, ...], rows: int
) -> Iterator[RowBlock]:
    if inputs.columns is None:
        raise DataError(f"{path} is a table, but the model learned from an array.")
    check_columns(path, [*inputs.columns, wanted.groups, *keep])
    target = wanted.target if wanted.target in tables.columns(path) else None
    names = dict.fromkeys([*inputs.columns, wanted.groups, target, *keep])
    first = 1
    rows = min(rows, CELLS // len(names) + 1)
    for frame in tables.blocks(path, [name for name in names if name], rows=rows):
        yield RowBlock(
            first,
            tables.numbers(frame.select(inputs.columns), inputs.numeric, first=first, path=path),
            frame[target] if target else None,
            frame[wanted.groups].cast(pl.String) if wanted.groups else None,
            frame.select(keep),
        )
        first += len(frame)


def _arrays(path: Path, inputs: Inputs, wanted: Roles, rows: int) -> Iterator[RowBlock]:
    if inputs.columns is not None:
        raise DataError(f"{path} holds an array, but the model learned from a table with columns.")
    is_archive = path.suffix == ".npz"
    name = INPUTS if is_archive else None
    shape = arrays.header(path, name).shape
    there = arrays.names(path) if is_archive else ()
    has_labels = wanted.labels is not None or (wanted.target or TARGET) in there
    labels = labels_of(path, wanted, shape[0]) if has_labels else None
    groups = groups_of(path, wanted, shape[0])
    rows, first = min(rows, CELLS // max(1, math.prod(shape[1:])) + 1), 0
    for X in arrays.blocks(path, name, rows=rows):
        part = slice(first, first + len(X))
        yield RowBlock(
            first + 1,
            X,
            None if labels is None else labels[part],
            None if groups is None else groups[part],
            pl.DataFrame(),
        )
        first += len(X)
