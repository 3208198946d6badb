"""Examples to learn from: a whole file, its classes and its groups; every row that has a class."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from conftr.conformal import checks
from conftr.data import library
from conftr.data.errors import DataError
from conftr.data.own import arrays, columns, labels, tables

INPUTS, TARGET = "X", "y"  # the arrays of an .npz file
_SHOWN = 20  # columns in a message


@dataclass(frozen=True)
class Wanted:
    """Which parts of a file are wanted.

    target: the column, or the array of an .npz file, that holds the classes.
    labels: the file of the classes of a .npy file.
    group_by: the column, or the array of an .npz file, that makes groups; the target: the classes.
    drop: columns to leave out. categories: columns of names, though they look like numbers.
    """

    target: str | None = None
    labels: Path | None = None
    group_by: str | None = None
    drop: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    @property
    def by_class(self) -> bool:
        """Whether each class is a group."""
        return self.group_by is not None and self.group_by == (self.target or TARGET)

    @property
    def groups(self) -> str | None:
        """The column that makes groups, if it is not the target."""
        return None if self.by_class else self.group_by


@dataclass(frozen=True, eq=False)
class Own:
    """Examples to learn from, row by row.

    X: a polars frame, or an array (n, ...). y: labels (n,). groups: their names, or None.
    origin: what they are, plain data. notes: what the user should know of the file.
    """

    X: Any
    y: labels.Labels
    groups: pl.Series | None
    origin: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def take(self, rows: labels.Integers) -> Own:
        """Some of the examples."""
        groups = None if self.groups is None else self.groups[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], groups=groups)


def read(file: Path | str, wanted: Wanted, *, data_dir: Path | None = None) -> Own:
    """All examples of a file that have a class, or of a dataset from `conftr data list`."""
    path = Path(file)
    if not path.exists() and file in {one.name for one in library.available(data_dir=data_dir)}:
        return _named(str(file), wanted, data_dir)
    check(path)
    if tables.is_table(path):
        return _table(path, wanted)
    if wanted.drop or wanted.categories:
        raise DataError(f"{path} holds arrays, whose columns have no names: none can be chosen.")
    return _arrays(path, wanted)


def check(path: Path) -> None:
    """Raise unless the file is there and of a kind that can be read."""
    if not path.is_file():
        raise DataError(f"there is no file {path}.")
    if not (tables.is_table(path) or path.suffix in (".npz", ".npy")):
        raise DataError(f"{path} must be a .csv, .tsv, .parquet, .npz or .npy file.")


def check_columns(path: Path, wanted: Iterable[str | None]) -> None:
    """Raise unless a table has all of these columns."""
    there = tables.columns(path)
    for name in wanted:
        if name is not None and name not in there:
            listed = checks.listed(there, _SHOWN)
            raise DataError(f"there is no column {name!r} in {path}; its columns are {listed}.")


def origin(path: Path, wanted: Wanted) -> dict[str, Any]:
    """What a file is, for the record: its name, its SHA-256, and the parts that were used."""
    with path.open("rb") as file:
        sha = hashlib.file_digest(file, "sha256").hexdigest()
    told = {"file": path.name, "sha256": sha, "target": wanted.target, "group_by": wanted.group_by}
    return told | ({"left_out": list(wanted.drop)} if wanted.drop else {})


def labels_of(path: Path, wanted: Wanted, n: int) -> pl.Series:
    """The labels of the n rows of an array: beside it in the .npz file, or in a file of their own.

    A file of their own is an array, or a table whose first column, or the target, is meant.
    """
    if wanted.labels is None:
        if path.suffix == ".npy":
            raise DataError(f"say with --labels which file holds the classes of {path}.")
        return _column(path, wanted.target or TARGET, n)
    check(wanted.labels)
    return _column(wanted.labels, wanted.target, n)


def groups_of(path: Path, wanted: Wanted, n: int) -> pl.Series | None:
    """The groups of the n rows of an array, from the .npz file that holds them."""
    if wanted.groups is None:
        return None
    if path.suffix != ".npz":
        raise DataError(f"groups must be an array of an .npz file beside X; {path} is none.")
    return _column(path, wanted.groups, n).cast(pl.String)


def _table(path: Path, wanted: Wanted) -> Own:
    if wanted.target is None:
        listed = checks.listed(tables.columns(path), _SHOWN)
        raise DataError(f"say with --target which column of {path} holds the classes: {listed}.")
    check_columns(path, [wanted.target, wanted.groups, *wanted.drop, *wanted.categories])
    texts = {name for name in (*wanted.categories, wanted.groups) if name}
    whole = tables.read(path, texts=texts - {wanted.target})
    frame = whole.filter(pl.col(wanted.target).is_not_null())
    if frame.is_empty():
        raise DataError(f"no row of {path} has a value in {wanted.target!r}.")
    X = frame.drop(wanted.target, *wanted.drop)
    columns.refuse_unusable(X, texts)
    notes = [*_left_out(len(whole) - len(frame), wanted.target), *columns.notes(X)]
    X = X.select(column for column in X.iter_columns() if column.null_count() < len(X))
    if not X.width:
        raise DataError(f"{path} has no column to learn from beside {wanted.target!r}.")
    groups = frame[wanted.groups].cast(pl.String) if wanted.groups else None
    y = labels.learn(frame[wanted.target])
    return Own(X, y, groups, origin(path, wanted), tuple(notes))


def _left_out(count: int, target: str) -> list[str]:
    if not count:
        return []
    rows = "1 row has" if count == 1 else f"{count:,} rows have"
    return [f"{rows} no value in {target!r} and cannot be learned from."]


def _arrays(path: Path, wanted: Wanted) -> Own:
    X = arrays.read(path, INPUTS if path.suffix == ".npz" else None)
    y = labels.learn(labels_of(path, wanted, len(X)))
    return Own(X, y, groups_of(path, wanted, len(X)), origin(path, wanted))


def _named(name: str, wanted: Wanted, data_dir: Path | None) -> Own:
    """All examples of a named dataset, its parts put together again."""
    if wanted.groups:
        raise DataError(f"the dataset {name} has no column {wanted.groups!r} to make groups by.")
    found = library.load(name, data_dir=data_dir)
    X = np.concatenate([found.x_train, found.x_cal, found.x_test])
    y = np.concatenate([found.y_train, found.y_cal, found.y_test])
    return Own(X, np.array(found.classes)[y], None, {"dataset": name, "group_by": wanted.group_by})


def _column(path: Path, name: str | None, n: int) -> pl.Series:
    """One value for each of n rows: an array, or a column of a table."""
    if tables.is_table(path):
        name = name or tables.columns(path)[0]
        check_columns(path, [name])
        found = tables.read(path)[name]
    else:
        values = arrays.read(path, (name or TARGET) if path.suffix == ".npz" else None)
        if values.ndim != 1:
            raise DataError(f"{path} must hold one label a row, (n,); got shape {values.shape}.")
        texts = np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values
        found = pl.Series(name or path.name, texts)
    if len(found) != n:
        raise DataError(f"there must be a label for each of the {n:,} rows; got {len(found):,}.")
    return found
