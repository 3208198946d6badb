"""Pictures of the user's: a folder for each class, or a table with a column of paths."""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from conftr.conformal import checks
from conftr.conformal.shown_names import shown
from conftr.data import pictures
from conftr.data.errors import DataError
from conftr.data.pictures import SMALL, Look, PictureError, PictureFiles, PictureShape, Pixels
from conftr.machine.rows_on_disk import RowsOnDisk, collected

Progress: TypeAlias = Callable[[str, int, int], None]
Broken: TypeAlias = list[tuple[str, str]]  # pictures that cannot be read, and why

COLUMN = "picture"  # of the answers: the path of each
FOLDER = "folder"  # where a class is the name of the folder, in place of a column's name
_NAMED = 20  # files in a message
_PATH = 200  # letters of a path in one
_MOSTLY = 0.9  # so many texts of a column end as pictures do: it is one of paths
_PROGRESS = "reading pictures"


class Listed(NamedTuple):
    """Pictures by path, not yet looked at.

    Attributes:
        paths: Of the files.
        shown: The same as the user wrote them.
        labels: Names of classes, null where there is none.
        notes: What was passed over.
    """

    paths: list[Path]
    shown: pl.Series
    labels: pl.Series
    notes: tuple[str, ...] = ()


class ReadPictures(NamedTuple):
    """Pictures that can be read.

    Attributes:
        X: Pixels (n, height, width, channels) of small ones, on disk where they are many; of
            larger ones their files.
        rows: Their places among those listed.
        broken: The others.
        notes: For the user.
    """

    X: Pixels | RowsOnDisk | PictureFiles
    rows: list[int]
    broken: Broken
    notes: tuple[str, ...]


def listed(folder: Path, classes: Collection[str] | None = None) -> Listed:
    """All pictures of a folder and of the folders in it, in the order of their names.

    Args:
        folder: It holds a folder for each class, or pictures, or both.
        classes: Of a model that is asked about pictures: where no folder is called as one of them
            is, folders are no classes. None where they are in any case.

    Raises:
        DataError: If it cannot be looked into.
    """
    inside, beside, others = _entries(folder)
    entries: list[tuple[Path, str | None]] = [(file, None) for file in beside]
    deeper, empty = list[str](), list[str]()
    for inner in inside:
        nested, files, strange = _entries(inner)
        others += strange
        entries += [(file, inner.name) for file in files]
        deeper += [_text(path.relative_to(folder)) for path in nested]
        empty += [] if files else [_text(inner.name)]
    named = {_text(inner.name) for inner in inside}
    known = classes is None or bool(named & set(classes))
    labels = [_text(name) if name is not None and known else None for _, name in entries]
    return Listed(
        [path for path, _ in entries],
        pl.Series(COLUMN, [_text(path) for path, _ in entries], pl.String),
        pl.Series(FOLDER, labels, pl.String),
        tuple(_passed_over(deeper, empty, [_text(other.name) for other in others])),
    )


def listed_column(path: Path, column: pl.Series, labels: pl.Series | None = None) -> Listed:
    """The pictures that a column of a table names; paths are relative to the table's folder."""
    shown = column.cast(pl.String)
    paths = [path.parent / (text or "") for text in shown.to_list()]
    empty = pl.Series([None] * len(shown), dtype=pl.String)
    return Listed(paths, shown.alias(COLUMN), empty if labels is None else labels)


def column_of_paths(frame: pl.DataFrame) -> str | None:
    """The column of a table that holds paths of pictures, by the endings of its texts."""
    endings = "|".join(map(re.escape, pictures.SUFFIXES))
    for column in frame.iter_columns():
        if column.dtype == pl.String:
            known = column.drop_nulls()
            ending = known.str.to_lowercase().str.contains(rf"({endings})\s*$")
            if 0 < _MOSTLY * len(known) <= ending.sum():
                return column.name
    return None


def read(given: Listed, *, shape: PictureShape | None = None, progress: Progress) -> ReadPictures:
    """Read pictures in two passes, of which the first decides what they are brought to.

    Args:
        given: Which pictures.
        shape: (height, width, channels); None finds one. Where most pictures have at most 64
            pixels on their longer side it is the size that all of them have, else a square of the
            usual longer side. Larger ones stay files.
        progress: Told how many were read.

    Raises:
        DataError: If none can be read.
    """
    names, broken, looks = given.shown.to_list(), Broken(), dict[int, Look]()
    for row, path in enumerate(given.paths):
        with _Noting(broken, names[row]):
            looks[row] = pictures.looked_at(path)
    if not looks:
        raise DataError(f"there is no picture to be read. {sentence(broken)}".rstrip())
    size = shape or _shape(list(looks.values()))
    keep = _as_pixels if max(size[:2]) <= SMALL else _as_files
    X, rows = keep(given, list(looks), size, broken, progress)
    if not rows:
        raise DataError(f"there is no picture to be read. {sentence(broken)}")
    notes = [*given.notes, *([sentence(broken)] if broken else []), *_resized(looks.values(), size)]
    return ReadPictures(X, rows, broken, tuple(notes))


def decoded_runs(
    given: Listed, shape: PictureShape, broken: Broken
) -> Iterator[tuple[int, Pixels]]:
    """Pixels of neighbouring pictures, with the place of the first; broken ones end a run."""
    names, first, run = given.shown.to_list(), 0, list[Pixels]()
    for row, path in enumerate(given.paths):
        with _Noting(broken, names[row]):
            run.append(pictures.decoded(path, shape))
            continue
        if run:
            yield first, np.stack(run)
        first, run = row + 1, []
    if run:
        yield first, np.stack(run)


def warn_of_broken(broken: Broken) -> None:
    """Tell which pictures were left out."""
    if broken:
        warnings.warn(sentence(broken), stacklevel=2)


def sha256(folder: Path) -> str:
    """The SHA-256 of the names and contents of a folder's pictures, in hexadecimal digits."""
    hashed = hashlib.sha256()
    for path in listed(folder).paths:
        hashed.update(os.fsencode(path.relative_to(folder)) + b"\0")
        try:
            with path.open("rb") as file:
                hashed.update(hashlib.file_digest(file, "sha256").digest())
        except OSError:  # a link that leads nowhere
            continue
    return hashed.hexdigest()


class _Noting:
    """Notes a picture that cannot be read, and goes on."""

    def __init__(self, broken: Broken, name: str | None) -> None:
        self._broken, self._name = broken, name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, fault: BaseException | None, _: Any) -> bool:
        if not isinstance(fault, PictureError):
            return False
        self._broken.append((self._name or "an empty cell", str(fault)))
        return True


def _as_pixels(
    given: Listed, rows: Sequence[int], shape: PictureShape, broken: Broken, progress: Progress
) -> tuple[Pixels | RowsOnDisk, list[int]]:
    """Pixels of all that can be read, one file at a time."""
    good, names = list[int](), given.shown.to_list()

    def decoded() -> Iterator[Pixels]:
        for row in _with_progress(rows, progress):
            with _Noting(broken, names[row]):
                pixels = pictures.decoded(given.paths[row], shape)
                good.append(row)
                yield pixels[None]

    return collected(decoded(), len(rows), shape, np.uint8), good


def _as_files(
    given: Listed, rows: Sequence[int], shape: PictureShape, broken: Broken, progress: Progress
) -> tuple[PictureFiles, list[int]]:
    """Files, each decoded once to know that it can be."""
    digests, good, names = list[Any](), list[int](), given.shown.to_list()
    for row in _with_progress(rows, progress):
        with _Noting(broken, names[row]):
            pictures.decoded(given.paths[row], shape)
            digests.append(pictures.digest(given.paths[row]))
            good.append(row)
    paths = np.empty(len(good), object)
    paths[:] = [given.paths[row] for row in good]
    return PictureFiles(paths, np.array(digests, np.uint64)), good


def _with_progress(rows: Sequence[int], progress: Progress) -> Iterator[int]:
    """The rows, with word of how many are done."""
    for done, row in enumerate(rows):
        if done % 100 == 0:
            progress(_PROGRESS, done, len(rows))
        yield row
    progress(_PROGRESS, len(rows), len(rows))


def _shape(looks: Sequence[Look]) -> PictureShape:
    """What pictures are brought to: see `read`."""
    channels = 1 if all(look.is_grey for look in looks) else 3
    longer = int(np.median([max(look[:2]) for look in looks]))
    ((height, width), most), *_ = Counter(look[:2] for look in looks).most_common(1)
    if longer > SMALL:
        return (SMALL + 1, SMALL + 1, 3)  # whoever encodes them says how large
    if most == len(looks):
        return (height, width, channels)
    return (longer, longer, channels)


def _resized(looks: Iterable[Look], shape: PictureShape) -> Iterator[str]:
    """A note where pictures get another size than their own."""
    others = sum(look[:2] != shape[:2] for look in looks)
    if others and max(shape[:2]) <= SMALL:
        yield (
            f"{others:,} pictures are not {shape[1]} x {shape[0]}: they are scaled until they just "
            f"cover that size, and their middle is cut out."
        )


def sentence(broken: Broken) -> str:
    """Which pictures are left out and why, in a sentence."""
    if not broken:
        return ""
    some = "; ".join(f"{shown(name, _PATH)} {why}" for name, why in broken[:_NAMED])
    more = f"; and {len(broken) - _NAMED:,} more" if len(broken) > _NAMED else ""
    count = "1 picture cannot be read and is" if len(broken) == 1 else ""
    return f"{count or f'{len(broken):,} pictures cannot be read and are'} left out: {some}{more}."


def _passed_over(deeper: list[str], empty: list[str], others: list[str]) -> Iterator[str]:
    if deeper:
        yield (
            f"folders in the folder of a class are not looked into: "
            f"{checks.listed(deeper, _NAMED)}. If they are classes, name the folder they are in."
        )
    if empty:
        yield f"these folders hold no picture and are no class: {checks.listed(empty, _NAMED)}."
    if others:
        yield (
            f"{len(others):,} files are not called .png, .jpg, .jpeg or .webp and are passed over: "
            f"{checks.listed(others, _NAMED)}."
        )


def _entries(folder: Path) -> tuple[list[Path], list[Path], list[Path]]:
    """Folders, pictures and other files of a folder, without hidden ones, by name."""
    inside, files, others = list[Path](), list[Path](), list[Path]()
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as fault:
        raise DataError(f"{folder} cannot be looked into: {fault.strerror}.") from fault
    for name in names:
        path = folder / name
        if name.startswith("."):
            continue
        if path.is_dir():
            inside.append(path)
        elif pictures.is_picture(name):
            files.append(path)
        else:
            others.append(path)
    return inside, files, others


def _text(path: Path | str) -> str:
    """A path as text that any file can hold; bytes that are no text are written as \\x.."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
