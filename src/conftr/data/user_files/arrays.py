"""Arrays in .npy and .npz files: read whole, or in blocks where they are larger than memory."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from conftr.data.errors import DataError

Array = npt.NDArray[Any]

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class Header(NamedTuple):
    """What an array file says of itself."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]

    @property
    def is_of_texts(self) -> bool:
        """Whether a row is a text."""
        return self.dtype.kind in "US" and len(self.shape) == 1


def names(path: Path) -> tuple[str, ...]:
    """The names of the arrays in an .npz file."""
    with _archive(path) as archive:
        return tuple(name.removesuffix(".npy") for name in archive.namelist())


def header(path: Path, name: str | None = None) -> Header:
    """Shape and type of the array of a .npy file, or of the named one of an .npz file."""
    with _open(path, name) as file:
        return _read_header(file, path)


def read(path: Path, name: str | None = None) -> Array:
    """The whole array."""
    known = header(path, name)
    with _open(path, name) as file:
        if not known.by_columns:
            _read_header(file, path)
            return _read_rows(file, path, known, known.shape[0])
        whole: Array = np.lib.format.read_array(file, allow_pickle=False)
        return whole


def blocks(path: Path, name: str | None = None, *, rows: int) -> Iterator[Array]:
    """Read some rows at a time. An array stored column by column has to be read whole for that."""
    known = header(path, name)
    n = known.shape[0]
    if known.by_columns:
        whole = read(path, name)
        yield from (whole[first : first + rows] for first in range(0, n, rows))
        return
    with _open(path, name) as file:
        _read_header(file, path)
        for first in range(0, max(n, 1), rows):
            yield _read_rows(file, path, known, min(rows, n - first))


def texts(values: Array, name: str) -> pl.DataFrame:
    """An array (n,) of texts as a table of one column; bytes are UTF-8."""
    decoded = np.char.decode(values, "utf-8", "replace") if values.dtype.kind == "S" else values
    # An array may hold halves of signs, which are no text.
    whole = [text.encode("utf-8", "replace").decode() for text in decoded.tolist()]
    return pl.DataFrame({name: pl.Series(whole, dtype=pl.String)})


def _read_rows(file: IO[bytes], path: Path, header: Header, count: int) -> Array:
    cells = count * math.prod(header.shape[1:])
    try:
        content = file.read(cells * header.dtype.itemsize)
    except (zipfile.BadZipFile, zlib.error, EOFError):
        content = b""
    if len(content) < cells * header.dtype.itemsize:
        raise DataError(f"{path} is cut off or damaged: write it again.")
    return np.frombuffer(content, header.dtype, cells).reshape(count, *header.shape[1:])


def _read_header(file: IO[bytes], path: Path) -> Header:
    try:
        header = Header(*_HEADERS[np.lib.format.read_magic(file)](file))
    except (KeyError, ValueError):
        raise DataError(f"{path} is not an array as numpy.save writes it.") from None
    if header.dtype.hasobject:
        raise DataError(
            f"{path} holds Python objects, which could run code when they are read: save numbers "
            f"or texts, as numpy.asarray(values, dtype=float) or dtype=str gives them."
        )
    if not header.shape:
        raise DataError(f"{path} holds a single value, not an array with a row for each example.")
    return header._replace(by_columns=header.by_columns and len(header.shape) > 1)


@contextmanager
def _open(path: Path, name: str | None) -> Iterator[IO[bytes]]:
    if name is None:
        with path.open("rb") as file:
            yield file
        return
    with _archive(path) as archive:
        if f"{name}.npy" not in archive.namelist():
            there = ", ".join(names(path))
            raise DataError(f"there is no array {name!r} in {path}; its arrays are {there}.")
        with archive.open(f"{name}.npy") as file:
            yield file


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        raise DataError(f"{path} is not an archive as numpy.savez writes it.") from None
    with archive:
        yield archive
