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
from conftr.data.pictures import PictureShape
from conftr.data.sentences import TEXT
from conftr.data.user_files import arrays, columns, labels, pictures, tables
from conftr.data.user_files.pictures import FOLDER, Listed, Progress

INPUTS, TARGET = "X", "y"  # the arrays of an .npz file
_SHOWN = 20  # columns in a message
_LOOKED_AT = 1000  # rows that tell whether a column holds paths of pictures
_KEPT = 1000  # names of unreadable pictures in the record


@dataclass(frozen=True)
class Roles:
    """Which parts of a file are wanted.

    Attributes:
        target: The column, or the array of an .npz file, that holds the classes.
        labels: The file of the classes of a .npy file.
        groups: The column, or the array of an .npz file, that makes groups.
        by_class: Whether each class is a group instead.
        drop: Columns to leave out.
        categories: Columns of names, though they look like numbers or sentences.
        texts: Columns of sentences; None recognises them.
        picture: The column that holds paths of pictures; None finds one.
    """

    target: str | None = None
    labels: Path | None = None
    groups: str | None = None
    by_class: bool = False
    drop: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    picture: str | None = None
    texts: tuple[str, ...] | None = None

    def grouped_by(self, name: str | None) -> Roles:
        """The same with groups by a column; by the column of the classes, each class is one."""
        by_class = name is not None and name == (self.target or TARGET)
        return replace(self, groups=None if by_class else name, by_class=by_class)

    @property
    def group_by(self) -> str | None:
        """The name that `grouped_by` was given."""
        return (self.target or TARGET) if self.by_class else self.groups


@dataclass(frozen=True, eq=False)
class UserData:
    """Examples to learn from, row by row.

    Attributes:
        X: A polars frame, an array (n, ...), `RowsOnDisk`, or `PictureFiles`.
        y: Labels (n,).
        groups: Their names, or None.
        origin: What they are, plain data.
        notes: What the user should know of the file.
        paths: Of pictures, by row, where they are such.
    """

    X: Any
    y: labels.Labels
    groups: pl.Series | None
    origin: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    paths: pl.Series | None = None

    def take(self, rows: labels.Integers) -> UserData:
        """Some of the examples."""
        groups = None if self.groups is None else self.groups[rows]
        paths = None if self.paths is None else self.paths[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], groups=groups, paths=paths)


def _silent(task: str, done: int, total: int) -> None:
    """Tell nobody."""


def read(
    file: Path | str,
    roles: Roles,
    *,
    data_dir: Path | None = None,
    progress: Progress = _silent,
) -> UserData:
    """All examples of a file that have a class, or of a dataset from `conftr data list`.

    Args:
        file: A folder holds pictures, in a folder for each class.
        progress: Told of pictures that were read.
    """
    path = Path(file)
    if not path.exists() and file in {
        dataset.name for dataset in library.available(data_dir=data_dir)
    }:
        return _named(str(file), roles, data_dir)
    if path.is_dir():
        return read_pictures(path, roles, progress=progress)
    check(path)
    if tables.is_table(path):
        if picture_column(path, roles):
            return read_pictures(path, roles, progress=progress)
        return _table(path, roles)
    if roles.drop or roles.categories or roles.texts:
        raise DataError(f"{path} holds arrays, whose columns have no names: none can be chosen.")
    return _arrays(path, roles)


def check(path: Path) -> None:
    """Raise unless the file is there and of a kind that can be read."""
    if not path.exists():
        raise DataError(f"there is no file {path}.")
    if not path.is_file():
        raise DataError(f"{path} is no file.")
    if not (tables.is_table(path) or path.suffix in (".npz", ".npy")):
        raise DataError(f"{path} must be a .csv, .tsv, .parquet, .npz or .npy file.")


def picture_column(path: Path, roles: Roles) -> str | None:
    """The column of a table that holds paths of pictures: the named one, or one that looks so."""
    if roles.picture is not None:
        check_columns(path, [roles.picture])
        return roles.picture
    others = {roles.target, roles.groups, *roles.drop, *roles.categories}
    names = [name for name in tables.columns(path) if name not in others]
    if not names:
        return None
    return pictures.column_of_paths(next(tables.blocks(path, names, rows=_LOOKED_AT)))


def read_pictures(
    path: Path, roles: Roles, *, shape: PictureShape | None = None, progress: Progress = _silent
) -> UserData:
    """The pictures of a folder, or those that a column of a table names.

    Args:
        shape: As in `pictures.read`.
    """
    if path.is_dir():
        _refuse_columns(path, roles)
        given, groups, notes = _of_folder(pictures.listed(path), path), None, list[str]()
        roles = replace(roles, target=FOLDER)
    else:
        given, groups, notes = _of_column(path, roles)
    decoded = pictures.read(given, shape=shape, progress=progress)
    y = labels.learn(given.labels[decoded.rows])
    provenance = origin(path, roles) | {"unreadable": [name for name, _ in decoded.broken[:_KEPT]]}
    groups = None if groups is None else groups[decoded.rows]
    shown = given.shown[decoded.rows]
    return UserData(decoded.X, y, groups, provenance, (*notes, *decoded.notes), shown)


def _of_folder(given: Listed, path: Path) -> Listed:
    """The pictures of a folder that have a class."""
    names = given.labels.drop_nulls().unique().to_list()
    if len(names) < 2:
        deeper = f" {given.notes[0].capitalize()}" if given.notes else ""
        raise DataError(
            f"{path} must hold a folder of pictures for each class, two or more; it has "
            f"{len(names)} with pictures in them.{deeper}"
        )
    known = given.labels.is_not_null()
    missing = len(known) - int(known.sum())
    beside = f"{missing:,} pictures lie beside the folders of the classes and have no class."
    return Listed(
        [picture for picture, has in zip(given.paths, known.to_list(), strict=True) if has],
        given.shown.filter(known),
        given.labels.filter(known),
        (*given.notes, *([beside] if missing else [])),
    )


def _of_column(path: Path, roles: Roles) -> tuple[Listed, pl.Series | None, list[str]]:
    """The pictures that a column names and that have a class, their groups, and notes."""
    column = picture_column(path, roles)
    assert column is not None  # `read` has asked
    if roles.target is None:
        listed = checks.listed(tables.columns(path), _SHOWN)
        raise DataError(f"say with --target which column of {path} holds the classes: {listed}.")
    check_columns(path, [roles.target, roles.groups, *roles.drop, *roles.categories])
    texts = {column, *([roles.groups] if roles.groups else [])}
    whole = tables.read(path, texts=texts, codes={roles.target})
    classes = tables.stripped(whole[roles.target])
    known = classes.is_not_null()
    frame = whole.filter(known)
    if frame.is_empty():
        raise DataError(f"no row of {path} has a value in {roles.target!r}.")
    used = (column, roles.target, roles.groups, *roles.drop)
    others = [name for name in frame.columns if name not in used]
    notes = _left_out(len(whole) - len(frame), roles.target)
    notes.append(f"column {column!r} holds paths of pictures.")
    if others:
        notes.append(
            f"nothing but the pictures is learned from; left out: {checks.listed(others, _SHOWN)}."
        )
    groups = frame[roles.groups].cast(pl.String) if roles.groups else None
    return pictures.listed_column(path, frame[column], classes.filter(known)), groups, notes


def _refuse_columns(path: Path, roles: Roles) -> None:
    """Refuse what asks for a column where there is but a folder; its folders are the classes."""
    if roles.target not in (None, FOLDER):
        raise DataError(
            f"{path} is a folder, and the folders in it are the classes: leave out --target. Where "
            f"a table says the classes, name the table, with a column of paths."
        )
    if roles.groups or roles.drop or roles.categories or roles.picture or roles.labels:
        raise DataError(
            f"{path} is a folder of pictures, without columns: groups and the like take a table "
            f"with a column of paths."
        )


def check_columns(path: Path, names: Iterable[str | None]) -> None:
    """Raise unless a table has all of these columns."""
    there = tables.columns(path)
    for name in names:
        if name is not None and name not in there:
            listed = checks.listed(there, _SHOWN)
            raise DataError(f"there is no column {name!r} in {path}; its columns are {listed}.")


def origin(path: Path, roles: Roles) -> dict[str, Any]:
    """What a file is, for the record: its name, its SHA-256, and the parts that were used."""
    described = {
        "file": path.name or str(path.resolve().name),
        "sha256": sha256(path),
        "target": roles.target,
        "group_by": roles.group_by,
    }
    return described | ({"left_out": list(roles.drop)} if roles.drop else {})


def sha256(path: Path) -> str:
    """The SHA-256 of a file's content, or of a folder's pictures, in hexadecimal digits."""
    if path.is_dir():
        return pictures.sha256(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def labels_of(path: Path, roles: Roles, n: int) -> pl.Series:
    """The labels of the n rows of an array: beside it in the .npz file, or in a file of their own.

    A file of their own is an array, or a table whose first column, or the target, is meant.
    """
    if roles.labels is None:
        if path.suffix == ".npy":
            raise DataError(f"say with --labels which file holds the classes of {path}.")
        return tables.stripped(_column(path, roles.target or TARGET, n))
    check(roles.labels)
    return tables.stripped(_column(roles.labels, roles.target, n))


def groups_of(path: Path, roles: Roles, n: int) -> pl.Series | None:
    """The groups of the n rows of an array, from the .npz file that holds them."""
    if roles.groups is None:
        return None
    if path.suffix != ".npz":
        raise DataError(f"groups must be an array of an .npz file beside X; {path} is none.")
    return _column(path, roles.groups, n).cast(pl.String)


def _table(path: Path, roles: Roles) -> UserData:
    if roles.target is None:
        listed = checks.listed(tables.columns(path), _SHOWN)
        raise DataError(f"say with --target which column of {path} holds the classes: {listed}.")
    named = [*roles.drop, *roles.categories, *(roles.texts or ())]
    check_columns(path, [roles.target, roles.groups, *named])
    texts = {name for name in (*roles.categories, *(roles.texts or ()), roles.groups) if name}
    whole = tables.read(path, texts=texts, codes={roles.target})
    classes = tables.stripped(whole[roles.target])
    known = classes.is_not_null()
    frame = whole.filter(known)
    if frame.is_empty():
        raise DataError(f"no row of {path} has a value in {roles.target!r}.")
    X = columns.usable(whole.drop(roles.target, *roles.drop), texts).filter(known)
    X = columns.not_to_be_read(X, roles.categories)
    notes = [*_left_out(len(whole) - len(frame), roles.target), *columns.notes(X)]
    X = X.select(column for column in X.iter_columns() if column.null_count() < len(X))
    if not X.width:
        raise DataError(f"{path} has no column to learn from beside {roles.target!r}.")
    groups = frame[roles.groups].cast(pl.String) if roles.groups else None
    y = labels.learn(classes.filter(known))
    return UserData(X, y, groups, origin(path, roles), tuple(notes))


def _left_out(count: int, target: str) -> list[str]:
    if not count:
        return []
    rows = "1 row has" if count == 1 else f"{count:,} rows have"
    return [f"{rows} no value in {target!r} and cannot be learned from."]


def _arrays(path: Path, roles: Roles) -> UserData:
    name = INPUTS if path.suffix == ".npz" else None
    # Labels first: an archive of a few megabytes may hold gigabytes of rows.
    header = arrays.header(path, name)
    n = header.shape[0]
    classes, groups = labels_of(path, roles, n), groups_of(path, roles, n)
    known = classes.is_not_null()
    if not known.any():
        raise DataError(f"no row of {path} has a class.")
    y = labels.learn(classes.filter(known))
    X: Any = arrays.read(path, name)
    X = arrays.texts(X, TEXT) if header.is_of_texts else X
    if known.all():
        return UserData(X, y, groups, origin(path, roles))
    groups = None if groups is None else groups.filter(known)
    notes = _left_out(n - len(y), classes.name)
    rows = known.arg_true().to_numpy()
    return UserData(X[rows], y, groups, origin(path, roles), tuple(notes))


def _named(name: str, roles: Roles, data_dir: Path | None) -> UserData:
    """All examples of a named dataset, its parts put together again."""
    if roles.groups:
        raise DataError(f"the dataset {name} has no column {roles.groups!r} to make groups by.")
    dataset = library.load(name, data_dir=data_dir)
    X = np.concatenate([dataset.x_train, dataset.x_cal, dataset.x_test])
    y = np.concatenate([dataset.y_train, dataset.y_cal, dataset.y_test])
    return UserData(
        X, np.array(dataset.classes)[y], None, {"dataset": name, "group_by": roles.group_by}
    )


def _column(path: Path, name: str | None, n: int) -> pl.Series:
    """One value for each of n rows: an array, or a column of a table."""
    if tables.is_table(path):
        name = name or tables.columns(path)[0]
        check_columns(path, [name])
        column = tables.read(path, codes={name})[name]
    else:
        stored = (name or TARGET) if path.suffix == ".npz" else None
        shape = arrays.header(path, stored).shape
        if len(shape) != 1:
            raise DataError(f"{path} must hold one label a row, (n,); got shape {shape}.")
        _check_count(shape[0], n)
        values = arrays.read(path, stored)
        texts = np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values
        column = pl.Series(name or path.name, texts)
    _check_count(len(column), n)
    return column


def _check_count(labels: int, n: int) -> None:
    if labels != n:
        raise DataError(f"there must be a label for each of the {n:,} rows; got {labels:,}.")
