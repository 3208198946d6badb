"""Rows of numbers on disk, where they are too many for memory: read a block or a batch at a time.

They lie in a file without a name, whose space the system takes back by itself however the process
ends. They are read and not mapped into memory, so that a process never holds more of them than it
has just asked for; what the system keeps of the file beside that, it gives up when memory is short.
"""

from __future__ import annotations

import math
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
RowShape: TypeAlias = tuple[int, ...]

IN_MEMORY = 2**24  # bytes up to which rows stay in memory, where everything is quicker
_BLOCK = 2**20  # numbers of a block
_ROWS = 256  # a block has a multiple of so many rows: networks answer so many at a time
_SPARSE = 4  # rows are read with those between them, where these are not so many times as many
_LASTING = Path("/var/tmp")  # which is on a disk; /tmp is memory on some systems


class _NamelessFile:
    """A file that no folder lists, closed with whatever holds it."""

    def __init__(self) -> None:
        self._file: Any = tempfile.TemporaryFile(buffering=0, dir=_folder())  # noqa: SIM115
        self._lock = threading.Lock()  # networks that train side by side read it
        weakref.finalize(self, self._file.close)

    def append(self, rows: Array) -> None:
        """Write rows behind those that are there."""
        content = np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data
        try:
            while content:
                content = content[self._file.write(content) :]
        except OSError as fault:
            where = f"rows that are too many for memory go to {_folder()}; TMPDIR names another"
            raise OSError(fault.errno, f"{fault.strerror}: {where}") from fault

    def read(self, start: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An array of this shape and type, from a place of the file in bytes."""
        array = np.empty(shape, dtype)
        content = array.reshape(-1).view(np.uint8).data
        with self._lock:
            self._file.seek(start)
            while content:
                count = self._file.readinto(content)
                if not count:
                    raise OSError("rows that were kept on disk are not there any more.")
                content = content[count:]
        return array


def _folder() -> str:
    """Where nameless files are: what TMPDIR names, else a folder that is on a disk."""
    named = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    if not named and os.access(_LASTING, os.W_OK | os.X_OK):
        return str(_LASTING)
    return tempfile.gettempdir()


@dataclass(frozen=True, eq=False)
class RowsOnDisk:
    """n rows of one shape and type in a nameless file.

    Taking some of them, `rows[places]`, reads nothing; `np.asarray(rows)` reads them all.

    Attributes:
        row: The shape of one.
        dtype: The type of their numbers.
    """

    row: RowShape
    dtype: np.dtype[Any]
    _file: _NamelessFile
    _places: npt.NDArray[np.int64]  # of the rows in the file

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, ...)."""
        return (len(self._places), *self.row)

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return 1 + len(self.row)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return math.prod(self.shape)

    @property
    def flat(self) -> RowsOnDisk:
        """The same rows as a matrix (n, d)."""
        return replace(self, row=(math.prod(self.row),))

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._places)

    def __getitem__(self, rows: Any) -> Any:
        """Some of them, still on disk; the row itself where a single one is asked for.

        Raises:
            IndexError: If a part of each row is asked for.
        """
        if isinstance(rows, tuple):  # as scikit-learn indexes
            rows, *others = rows
            if any(other is not Ellipsis for other in others):
                raise IndexError("rows on disk are taken whole: read them with np.asarray first.")
        places = self._places[rows]
        return replace(self, _places=places) if places.ndim else self._read(places[None])[0]

    def blocks(self, numbers: int | None = None) -> Iterator[Array]:
        """Their numbers (m, ...), some rows at a time; of no rows one empty block.

        Args:
            numbers: About how many a block has, a million if None; it holds 256 rows at least.
        """
        width = max(1, math.prod(self.row))
        size = max(1, (numbers or _BLOCK) // width // _ROWS) * _ROWS
        for first in range(0, max(1, len(self)), size):
            yield self._read(self._places[first : first + size])

    def encoded(self, encode: Callable[[Array], Array]) -> RowsOnDisk:
        """What a function makes of the rows, block by block, on disk too."""
        return _written(encode(block) for block in self.blocks())

    def _read(self, places: npt.NDArray[np.int64]) -> Array:
        if not len(places):
            return np.empty((0, *self.row), self.dtype)
        first, last = int(places.min()), int(places.max())
        if last - first < _SPARSE * len(places):
            return self._run(first, last + 1 - first)[places - first]
        return np.concatenate([self._run(int(place), 1) for place in places])

    def _run(self, first: int, count: int) -> Array:
        """Rows that stand behind each other in the file."""
        start = first * math.prod(self.row) * self.dtype.itemsize
        return self._file.read(start, (count, *self.row), self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """All of them in memory."""
        if copy is False:
            raise ValueError("rows on disk cannot be in memory without a copy.")
        rows, done = np.empty(self.shape, dtype or self.dtype), 0
        for block in self.blocks():
            rows[done : done + len(block)] = block
            done += len(block)
        return rows

    def __reduce__(self) -> Any:
        """Sent to another process, they are on disk there."""
        return _on_disk, (np.asarray(self),)


class Moments(NamedTuple):
    """Of columns (d,): the mean, the standard deviation, and whether all numbers are the same."""

    mean: npt.NDArray[np.float64]
    deviation: npt.NDArray[np.float64]
    constant: npt.NDArray[np.bool_]


def moments(rows: RowsOnDisk, columns: int) -> Moments:
    """Moments of the numbers of rows, of which every so many-th belong to one column.

    Args:
        rows: Without missing numbers; (n, ..., columns) or (n, columns) where that is their shape.
        columns: How many there are.
    """
    count, total, squares = rows.size // columns, np.zeros(columns), np.zeros(columns)
    first, constant = None, np.ones(columns, bool)
    for block in rows.blocks():
        table = block.reshape(-1, columns)
        first = table[0] if first is None else first
        total += table.sum(axis=0, dtype=np.float64)
        constant &= (table == first).all(axis=0)
    for block in rows.blocks():
        squares += np.square(block.reshape(-1, columns) - total / count).sum(axis=0)
    return Moments(total / count, np.sqrt(squares / count), constant)


def collected(
    blocks: Iterable[Array], most: int, row: RowShape, dtype: npt.DTypeLike
) -> Array | RowsOnDisk:
    """The rows of blocks that are made one after the other: in memory, or on disk if too many.

    Args:
        blocks: Each (m, *row).
        most: How many rows there are at most.
        row: The shape of one.
        dtype: The type of their numbers.
    """
    if most * math.prod(row) * np.dtype(dtype).itemsize > IN_MEMORY:
        return _written(chain([np.empty((0, *row), dtype)], blocks))
    rows, done = np.empty((most, *row), dtype), 0
    for block in blocks:
        rows[done : done + len(block)] = block
        done += len(block)
    return rows[:done]


def _written(blocks: Iterable[Array]) -> RowsOnDisk:
    """The rows of blocks, of which there is one at least, on disk."""
    file, count = _NamelessFile(), 0
    for block in blocks:
        file.append(block)
        count += len(block)
        row, dtype = block.shape[1:], block.dtype
    return RowsOnDisk(row, dtype, file, np.arange(count))


def _on_disk(rows: Array) -> RowsOnDisk:
    return _written([rows])
