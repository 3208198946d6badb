"""What was seen so far, kept in one file: enough to make every test again from the beginning.

Rows are counted once. A file whose first rows were counted before, because it is the same or has
grown, is taken up after them; with an id for each row, no id counts twice. Rows are counted when
they come and again, for the tests that need labels, when their labels come.

The file is replaced in one step: killed at any time, it is as before or as after.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from conftr.data import DataError
from conftr.machine import disk

_FORMAT = 1
_METADATA, _NAMES = "told", ("counted", "labelled")


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Columns of numbers, a row for each row of the user's, and which files they came from.

    Attributes:
        columns: Arrays of one length by name.
        files: How many rows each file had, and their digest.
        ids: Digests of the ids that were counted.
    """

    columns: Mapping[str, npt.NDArray[Any]]
    files: tuple[tuple[int, str], ...] = ()
    ids: npt.NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))

    def __len__(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values())))

    def new(self, digests: npt.NDArray[np.uint64], ids: Any = None) -> npt.NDArray[np.intp]:
        """Which rows of a file were not counted yet, from digests of its rows, and of their ids."""
        if ids is not None:
            first = np.sort(np.unique(ids, return_index=True)[1])
            return first[~np.isin(ids[first], self.ids)]
        known = [
            n
            for n, known_digest in self.files
            if n <= len(digests) and _digest(digests[:n]) == known_digest
        ]
        return np.arange(max(known, default=0), len(digests))

    def with_file(
        self,
        digests: npt.NDArray[np.uint64],
        columns: Mapping[str, npt.NDArray[Any]],
        ids: Any = None,
    ) -> CountedRows:
        """Add the rows of a file that were not counted yet."""
        fresh = self.new(digests, ids)
        grown = {
            name: np.concatenate([column, np.asarray(columns[name])[fresh].astype(column.dtype)])
            for name, column in self.columns.items()
        }
        stamp = (len(digests), _digest(digests))
        files = self.files if stamp in self.files or not len(digests) else (*self.files, stamp)
        known = self.ids if ids is None else np.concatenate([self.ids, ids[fresh]])
        return CountedRows(grown, files, known)


def _digest(digests: npt.NDArray[np.uint64]) -> str:
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
    labelled: CountedRows
    strangers: int = 0
    unseen: int = 0

    @classmethod
    def begin(cls, model: str, level: float, seed: int, id_column: str | None) -> Observed:
        """Nothing seen yet."""
        numbers, integers = np.zeros(0), np.zeros(0, np.int64)
        counted = CountedRows({"size": integers, "confidence": numbers})
        labelled = CountedRows(
            {"score": numbers, "standing": numbers, "label": integers, "group": integers}
        )
        return cls(model, level, seed, id_column, counted, labelled)

    def grown(
        self, counted: CountedRows, labelled: CountedRows, strangers: int, unseen: int
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
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name in _NAMES:
        rows: CountedRows = getattr(observed, name)
        metadata[name] = rows.files
        arrays |= {f"{name}/{column}": values for column, values in rows.columns.items()}
        arrays[f"{name}/ids"] = rows.ids
    text = json.dumps({"format": _FORMAT, **metadata})
    disk.write_whole(path, safetensors.numpy.save(arrays, {_METADATA: text}))


def read(path: Path) -> Observed:
    """What was put into a file.

    Raises:
        DataError: If it is no such file.
    """
    try:
        with safetensors.safe_open(path, "numpy") as file:
            metadata = json.loads(file.metadata()[_METADATA])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if metadata.pop("format") != _FORMAT:
            raise ValueError("another format")
        metadata |= {name: _rows(name, metadata[name], arrays) for name in _NAMES}
        return Observed(**metadata)
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, OSError) as fault:
        raise DataError(
            f"{path} is not what a monitor has seen, or it is damaged ({fault}). Move it away to "
            f"begin anew."
        ) from fault


def _rows(name: str, files: Any, arrays: Mapping[str, Any]) -> CountedRows:
    prefix = f"{name}/"
    of_rows = {key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)}
    ids = of_rows.pop("ids")
    expected = getattr(Observed.begin("", 0.5, 0, None), name).columns
    if {*of_rows} != {*expected} or len({len(column) for column in of_rows.values()}) != 1:
        raise ValueError("columns are missing")
    columns = {column: of_rows[column] for column in expected}
    return CountedRows(columns, tuple((int(n), str(digest)) for n, digest in files), ids)
