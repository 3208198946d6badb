"""Rows by what they hold: equal rows have equal digests, in any order and on any machine.

Equal rows are copies of one example, or different examples that agree by chance, as those of a
table with few columns of few values do. `by_chance` tells which: where chance makes rows agree in
every column, it makes many more agree in most.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.data.dataset import permutation
from conftr.data.pictures import PictureFiles
from conftr.data.sentences import are_sentences
from conftr.features import frames
from conftr.machine.rows_on_disk import RowsOnDisk

Digests: TypeAlias = npt.NDArray[np.uint64]
Bits: TypeAlias = npt.NDArray[np.uint64]  # (rows, columns): what stands in a table

_CELLS = 2**22  # that are looked at together
_SHARE = 0.3  # of the pairs of equal rows: if chance explains as many, none is taken for copies
_CUTS = 9  # ways to cut the columns into parts
_FEW = 10  # pairs of rows say little of what chance does
STEP = np.uint64(0x9E3779B97F4A7C15)


def digests(x: Any) -> Digests:
    """A number for each row, (n,): 64 bits of the BLAKE2 hash of what it holds.

    Args:
        x: n rows: a data frame, an array, a sparse matrix, a list, rows on disk, or picture
            files, which are told apart by their bytes. The order of a frame's
            columns does not matter. A number is the same in any type, and so are true and 1;
            missing values are equal to each other.

    Returns:
        Digests that differ where rows do.
    """
    if isinstance(x, PictureFiles):
        return x.digests
    if hasattr(x, "tocsr"):
        return _of_sparse(x.tocsr(copy=True))
    if _is_table(x):
        return np.concatenate([_hashed(()), *map(_rows_of, _blocks(x))])
    with np.printoptions(threshold=sys.maxsize):
        return _hashed(repr(row).encode() for row in np.asarray(x).tolist())


def by_chance(x: Any, rows: npt.NDArray[np.bool_] | None = None) -> bool:
    """Whether rows of x that are equal in every column are so by chance, and no copies.

    The columns that tell something are cut into three parts. Of the rows that agree in the first
    and not in the second, which are no copies, some agree in the third: so likely does chance make
    the third agree. With the rows that agree in all but the third, that tells how many pairs agree
    everywhere by chance. Columns that hang together make it fewer than there are, so that several
    cuts are tried.

    Args:
        x: as in `digests`. Equal pictures, and equal rows of anything but numbers and categories,
            are copies.
        rows: Which of the rows are judged, (n,); None: all.

    Returns:
        True where chance explains three tenths of the pairs of equal rows or more.
    """
    if (
        isinstance(x, PictureFiles)
        or hasattr(x, "tocsr")
        or not _is_table(x)
        or getattr(x, "ndim", 2) > 2
    ):
        return False
    first = next(_blocks(x))[:1]
    varied = np.any([(block != first).any(axis=0) for block in _blocks(x)], axis=0)
    columns = np.flatnonzero(varied)
    if len(columns) == 1 and frames.is_frame(x):
        return not _are_sentences(frames.opened(x), int(columns[0]))
    judged = slice(None) if rows is None else rows
    return len(columns) < 2 or any(
        _explained([third[judged] for third in thirds]) for thirds in _cut(x, columns)
    )


def mixed(keys: Digests) -> Digests:
    """Other numbers for other keys, as if drawn at random (the finaliser of SplitMix64)."""
    keys = keys + STEP
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _cut(x: Any, columns: npt.NDArray[np.intp]) -> Iterator[list[Digests]]:
    """Digests of what rows hold in each third of the columns, for several orders of the columns."""
    orders = [columns, *(columns[permutation(len(columns), k)] for k in range(1, _CUTS))]
    thirds = [[part for part in np.array_split(order, 3) if len(part)] for order in orders]
    numbers = np.arange(len(columns), dtype=np.uint64) * STEP
    sums: list[list[list[Digests]]] = [[[] for _ in of_order] for of_order in thirds]
    for block in _blocks(x):
        block[:, columns] = mixed(block[:, columns] ^ mixed(numbers))
        for of_order, sums_of_order in zip(thirds, sums, strict=True):
            for part, digested in zip(of_order, sums_of_order, strict=True):
                digested.append(block[:, part].sum(axis=1, dtype=np.uint64))
    for sums_of_order in sums:
        yield [np.concatenate(digested) for digested in sums_of_order]


def _explained(thirds: Sequence[Digests]) -> bool:
    """Whether chance explains the pairs of rows that agree in all parts."""
    everywhere = _agreeing(thirds)
    by_chance_alone = max(_agreeing_by_chance(thirds, k, everywhere) for k in range(len(thirds)))
    return by_chance_alone >= _SHARE * everywhere


def _agreeing_by_chance(thirds: Sequence[Digests], k: int, everywhere: float) -> float:
    """How many pairs of rows chance makes agree in all parts, judged by those that part k parts."""
    others = [*thirds[:k], *thirds[k + 1 :]]
    near = _agreeing(others)
    given = [[third] for third in others] if len(others) > 1 else [[np.zeros_like(thirds[k])]]
    apart = [_agreeing(some) - near for some in given]
    agree = [_agreeing([*some, thirds[k]]) - everywhere for some in given]
    share = max(a / (b + _FEW) for a, b in zip(agree, apart, strict=True))
    return (near - everywhere) * share / (1 - share)


def _agreeing(thirds: Sequence[Digests]) -> float:
    """How many pairs of rows agree in these parts."""
    keys = sum(third * np.uint64(2 * k + 1) for k, third in enumerate(thirds))
    counts = np.unique(keys, return_counts=True)[1].astype(np.float64)
    return float(counts @ (counts - 1)) / 2


def _are_sentences(frame: Any, place: int) -> bool:
    """Whether a column, by its place in the order of names, holds texts: equal ones are copies."""
    import narwhals.stable.v2 as nw

    column = frame[sorted(frame.columns)[place]]
    if column.dtype != nw.String:
        return False
    known = column.drop_nulls()
    return are_sentences(known.unique(maintain_order=True).to_list(), len(known))


def _is_table(x: Any) -> bool:
    """Whether x is a frame whose columns have names of their own, or an array of numbers."""
    if frames.is_frame(x):
        return len(set(x.columns)) == len(x.columns) and find_spec("narwhals") is not None
    return (x if isinstance(x, RowsOnDisk) else np.asarray(x)).dtype.kind in "fiub"


def _blocks(x: Any) -> Iterator[Bits]:
    """What stands in a table, some rows at a time."""
    if frames.is_frame(x):
        frame = frames.opened(x)
        names = sorted(frame.columns)
        size = max(1, _CELLS // max(1, len(names)))
        for start in range(0, len(frame), size):
            block = frame[start : start + size]
            yield np.stack([_column(block[name]) for name in names], axis=1)
        return
    if isinstance(x, RowsOnDisk):
        yield from map(_bits, x.flat.blocks(_CELLS))
        return
    array = np.asarray(x)
    array = array.reshape(len(array), math.prod(array.shape[1:]))
    size = max(1, _CELLS // max(1, array.shape[1]))
    for start in range(0, len(array), size):
        yield _bits(array[start : start + size])


def _column(column: Any) -> Bits:
    """A column of a frame: numbers, or the digests of texts."""
    import narwhals.stable.v2 as nw

    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return _bits(column.cast(nw.Float64).to_numpy())
    if column.dtype.is_nested() or column.dtype == nw.Object:
        return _hashed(repr(value).encode() for value in column.to_list())
    texts = column.cast(nw.String)
    known = texts.drop_nulls().unique().to_list()
    if not known:
        return np.zeros(len(column), np.uint64)
    hashed = _hashed(text.encode("utf-8", "surrogatepass") for text in known)
    digested = hashed.view(np.int64).tolist()
    digests = texts.replace_strict(known, digested, default=0, return_dtype=nw.Int64)
    return np.asarray(digests.to_numpy(), np.int64).view(np.uint64)


def _bits(numbers: Any) -> Bits:
    """Numbers of any type as the bits of doubles; there is one zero, and one that is missing."""
    doubles = np.ascontiguousarray(numbers, np.float64) + 0.0
    doubles[np.isnan(doubles)] = np.nan
    return doubles.view(np.uint64)


def _of_sparse(matrix: Any) -> Digests:
    matrix.sum_duplicates()
    bounds = list(zip(matrix.indptr, matrix.indptr[1:], strict=False))
    places, values = matrix.indices.astype(np.int64), _bits(matrix.data)
    return _hashed(places[a:b].tobytes() + values[a:b].tobytes() for a, b in bounds)


def _rows_of(block: Bits) -> Digests:
    return _hashed(row.data for row in np.ascontiguousarray(block))


def _hashed(rows: Iterable[Any]) -> Digests:
    digested = b"".join(hashlib.blake2b(row, digest_size=8).digest() for row in rows)
    return np.frombuffer(digested, "<u8").astype(np.uint64)
