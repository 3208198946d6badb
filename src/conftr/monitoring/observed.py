"""What was seen so far, kept in one file: enough to make every test again from the beginning.

Rows are counted once. A file whose first rows were counted before, because it is the same or has
grown, is taken up after them; with an id for each row, no id counts twice. Rows are counted when
they come and again, for the tests that need labels, when their labels come. A row is known by its
place among those that were counted, whether it has a label or not: labels may come in any order.

The file is replaced in one step: killed at any time, it is as before or as after.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from conftr.data import DataError
from conftr.machine import disk

_FORMAT, _EARLIER = 2, 1
_METADATA = "told"
_COUNTED, _LABELLED = "counted/", "labelled/"  # in front of the names of arrays
_IDS, _PLACES = "ids", "places"

Columns: TypeAlias = Mapping[str, npt.NDArray[Any]]
Digests: TypeAlias = npt.NDArray[np.uint64]
Places: TypeAlias = npt.NDArray[np.int64]


class KnownFile(NamedTuple):
    """A file that was counted, and where its rows stand among those that were.

    Attributes:
        rows: How many it had.
        digest: Of all of them.
        start: The place of the first row behind those of `parent`; the others follow.
        parent: Which earlier file it began with, by number; None if it began with none.
    """

    rows: int
    digest: str
    start: int
    parent: int | None


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Columns of numbers, a row for each row of the user's, and which files they came from.

    Attributes:
        columns: Arrays of one length by name.
        files: What was counted; empty where rows have ids.
        ids: Digests of the ids that were counted, in the order of the rows.
    """

    columns: Columns
    files: tuple[KnownFile, ...] = ()
    ids: Digests = field(default_factory=lambda: np.zeros(0, np.uint64))

    def __len__(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values())))

    def places(self, digests: Digests, ids: Digests | None = None) -> Places:
        """The place here of each row of a file, (n,), from digests of its rows and of their ids.

        -1 for a row that was not counted yet.
        """
        if ids is not None:
            return _places_among(self.ids, ids)
        places, known = np.full(len(digests), -1), self._longest(digests)
        while known is not None:
            file = self.files[known]
            first = 0 if file.parent is None else self.files[file.parent].rows
            places[first : file.rows] = file.start + np.arange(file.rows - first)
            known = file.parent
        return places

    def new(self, digests: Digests, ids: Digests | None = None) -> npt.NDArray[np.intp]:
        """Which rows of a file were not counted yet; of those that share an id, the first."""
        missing = np.flatnonzero(self.places(digests, ids) < 0)
        if ids is None:
            return missing
        return missing[np.sort(np.unique(ids[missing], return_index=True)[1])]

    def with_file(
        self, digests: Digests, columns: Columns, ids: Digests | None = None
    ) -> CountedRows:
        """Add the rows of a file that were not counted yet."""
        fresh = self.new(digests, ids)
        grown = _with_rows(self.columns, columns, fresh)
        if ids is not None:
            return CountedRows(grown, self.files, np.concatenate([self.ids, ids[fresh]]))
        if not len(fresh):
            return self
        file = KnownFile(len(digests), _digest(digests), len(self), self._longest(digests))
        return CountedRows(grown, (*self.files, file), self.ids)

    def _longest(self, digests: Digests) -> int | None:
        """Which known file the rows of a file begin with; of several, the longest."""
        known = [
            number
            for number, file in enumerate(self.files)
            if file.rows <= len(digests) and _digest(digests[: file.rows]) == file.digest
        ]
        return max(known, key=lambda number: self.files[number].rows, default=None)


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Columns of numbers, a row for each counted row that has its label, as the labels came.

    What was bet on cannot be taken back, so rows keep their order: those whose labels come later
    stand behind, in the order of their file. The first label of a row counts.

    Attributes:
        columns: Arrays of one length by name.
        places: Of each row among those that were counted.
    """

    columns: Columns
    places: Places = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.places)

    def with_rows(self, places: Places, columns: Columns) -> LabelledRows:
        """Add the rows, by their places among those that were counted, that are not here yet."""
        first = np.sort(np.unique(places, return_index=True)[1])
        fresh = first[~np.isin(places[first], self.places)]
        grown = _with_rows(self.columns, columns, fresh)
        return LabelledRows(grown, np.concatenate([self.places, places[fresh]]))


def _with_rows(columns: Columns, more: Columns, rows: npt.NDArray[np.intp]) -> Columns:
    return {
        name: np.concatenate([column, np.asarray(more[name])[rows].astype(column.dtype)])
        for name, column in columns.items()
    }


def _places_among(known: Digests, digests: Digests) -> Places:
    """Where each digest stands among known ones, which are all different; -1 if it does not."""
    order = np.append(np.argsort(known), -1)
    nearest = order[np.searchsorted(known, digests, sorter=order[:-1])]
    found = nearest >= 0
    found[found] = known[nearest[found]] == digests[found]
    return np.where(found, nearest, -1)


def _digest(digests: Digests) -> str:
    return hashlib.sha256(np.ascontiguousarray(digests).tobytes()).hexdigest()[:32]


@dataclass(frozen=True, eq=False)
class Observed:
    """All that a monitor has seen, and what it was told at its start.

    Attributes:
        model: The identity of the model.
        level: The chance of a false alarm that is accepted.
        seed: Of the draws that break ties.
        id_column: By which rows are told apart; None by files.
        counted: Of every row the size of its set and the confidence.
        labelled: Of rows with a label the score and p-value of the true class, and class and group.
        strangers: Rows with a label that is no class of the model.
        unseen: Of groups that have no threshold.
    """

    model: str
    level: float
    seed: int
    id_column: str | None
    counted: CountedRows
    labelled: LabelledRows
    strangers: int = 0
    unseen: int = 0

    @classmethod
    def begin(cls, model: str, level: float, seed: int, id_column: str | None) -> Observed:
        """Nothing seen yet."""
        numbers, integers = np.zeros(0), np.zeros(0, np.int64)
        counted = CountedRows({"size": integers, "confidence": numbers})
        labelled = LabelledRows(
            {"score": numbers, "standing": numbers, "label": integers, "group": integers}
        )
        return cls(model, level, seed, id_column, counted, labelled)

    def grown(
        self, counted: CountedRows, labelled: LabelledRows, strangers: int, unseen: int
    ) -> Observed:
        """The same monitor with more rows."""
        return replace(
            self,
            counted=counted,
            labelled=labelled,
            strangers=self.strangers + strangers,
            unseen=self.unseen + unseen,
        )


def write(observed: Observed, path: Path) -> None:
    """Put what was seen into a file, in one step."""
    metadata: dict[str, Any] = {
        name: getattr(observed, name)
        for name in ("model", "level", "seed", "id_column", "strangers", "unseen")
    }
    counted, labelled = observed.counted, observed.labelled
    arrays = {
        **{_COUNTED + name: column for name, column in counted.columns.items()},
        **{_LABELLED + name: column for name, column in labelled.columns.items()},
        _COUNTED + _IDS: counted.ids,
        _LABELLED + _PLACES: labelled.places,
    }
    text = json.dumps({"format": _FORMAT, **metadata, "files": counted.files})
    disk.write_whole(path, safetensors.numpy.save(arrays, {_METADATA: text}))


def read(path: Path) -> Observed:
    """What was put into a file.

    Raises:
        DataError: If it is no such file, or of an earlier version that cannot be gone on from.
    """
    try:
        with safetensors.safe_open(path, "numpy") as file:
            metadata = json.loads(file.metadata()[_METADATA])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        version = metadata.pop("format")
        if version == _EARLIER:
            _upgrade(metadata, arrays)
        elif version != _FORMAT:
            raise ValueError("another format")
        files = tuple(KnownFile(*file) for file in metadata.pop("files"))
        ids, places = arrays.pop(_COUNTED + _IDS), arrays.pop(_LABELLED + _PLACES)
        empty = Observed.begin("", 0.5, 0, None)
        counted = CountedRows(_columns(_COUNTED, empty.counted.columns, arrays), files, ids)
        labelled = LabelledRows(_columns(_LABELLED, empty.labelled.columns, arrays), places)
        if len(labelled.columns["label"]) != len(places):
            raise ValueError("columns differ in length")
        return Observed(**metadata, counted=counted, labelled=labelled)
    except _RepeatedLabelsError:
        raise DataError(
            f"{path} was written by an earlier version, which did not keep which rows had their "
            f"labels counted: some may have counted more than once. Move it away to begin anew."
        ) from None
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, OSError) as fault:
        raise DataError(
            f"{path} is not what a monitor has seen, or it is damaged ({fault}). Move it away to "
            f"begin anew."
        ) from fault


def _columns(prefix: str, expected: Columns, arrays: Columns) -> Columns:
    columns = {name: arrays[prefix + name] for name in expected}
    if len({len(column) for column in columns.values()}) != 1:
        raise ValueError("columns differ in length")
    return columns


class _RepeatedLabelsError(Exception):
    """A state of which nobody can tell which rows were counted with their labels."""


def _upgrade(metadata: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Make the first format the present one, in place, where no row can have counted twice.

    It knew labelled rows by ids, or else by the rows of a file that had labels, which were others
    once more labels had come.
    """
    counted, labelled = metadata.pop("counted"), metadata.pop("labelled")
    ids = arrays.pop(_LABELLED + _IDS)
    total, known = len(arrays[_COUNTED + "size"]), len(arrays[_LABELLED + "score"])
    metadata["files"], places = [], np.arange(known)
    if metadata["id_column"] is not None:
        places = _places_among(arrays[_COUNTED + _IDS], ids)
    elif known and (known != total or [n for n, _ in counted] != [n for n, _ in labelled]):
        raise _RepeatedLabelsError
    else:
        metadata["files"] = _placed(counted, total, every_label=known > 0)
    arrays[_LABELLED + _PLACES] = places


def _placed(files: Sequence[tuple[int, str]], total: int, every_label: bool) -> list[KnownFile]:
    """Files of the first format, which did not say where their rows stand, in the order they came.

    It can be told where all files were different, and where they are one that has grown. Where
    every row has its label it does not matter which is which.
    """
    sizes = [rows for rows, _ in files]
    starts, parents = [0] * len(files), [None] * len(files)
    if sum(sizes) == total:
        starts = np.cumsum([0, *sizes[:-1]]).tolist()
    elif sizes == sorted(sizes) and sizes[-1] == total:
        starts, parents = [0, *sizes[:-1]], [None, *range(len(files) - 1)]
    elif not every_label:
        raise _RepeatedLabelsError
    return [
        KnownFile(*file, start, parent)
        for file, start, parent in zip(files, starts, parents, strict=False)
    ]
