"""Feed new rows of a file to the monitor of a saved model, and say what it finds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import filelock
import numpy as np
import numpy.typing as npt
import polars as pl

from conftr.classifier import artefact
from conftr.classifier.calibration import WeightedCalibration
from conftr.classifier.cross_conformal import CrossStack
from conftr.classifier.estimator import ConformalClassifier
from conftr.conformal import checks
from conftr.conformal.arrays import log_softmax
from conftr.data import DataError
from conftr.data.user_files import Roles, RowBlock, blocks, places
from conftr.features import rows as row_digests
from conftr.features import unknown_levels
from conftr.jobs import predicting
from conftr.machine import disk
from conftr.monitoring import observed as seen
from conftr.monitoring.findings import Findings, findings
from conftr.monitoring.monitor_page import page
from conftr.monitoring.observed import Observed
from conftr.monitoring.reference import Reference, confidence
from conftr.monitoring.streams import streams

STATE, PAGE = "monitor.safetensors", "monitor.html"


@dataclass(frozen=True)
class MonitorTask:
    """What to watch and how.

    Attributes:
        target: The column of true classes; None for that of the model.
        id_column: Of an id for each row, by which no row counts twice.
        level: The chance of a false alarm; None for that of the state, or 0.01.
        seed: Of the draws that break ties, when a state begins.
        picture: The column of paths of pictures, as in `Roles`.
    """

    target: str | None = None
    id_column: str | None = None
    level: float | None = None
    seed: int = 0
    picture: str | None = None


class _Counted(NamedTuple):
    """What was read of a file: digests and statistics of all rows, and of those with a label."""

    digests: npt.NDArray[np.uint64]
    ids: npt.NDArray[np.uint64] | None
    columns: dict[str, npt.NDArray[Any]]
    known: npt.NDArray[np.bool_]
    strange: npt.NDArray[np.bool_]


def monitor(
    model: Path, file: Path, folder: Path, task: MonitorTask, progress: Callable[[int], None]
) -> Findings:
    """Count the rows of a file that were not counted yet; write the state and the page.

    Args:
        model: A folder that `conftr fit` or `calibrate` wrote.
        file: New rows, with their classes or without.
        folder: Where the state is kept and the page is written.
        task: How to watch.
        progress: Called with the number of rows read.
    """
    clf = artefact.load(model)
    _check_promise(clf)
    reference = Reference.of(clf, artefact.evidence(model))
    folder.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(folder / f".{STATE}.lock"):
        before = _state(folder / STATE, artefact.identity(model), task)
        target = task.target or predicting.target_of(model)
        roles = Roles(target, groups=predicting.group_column(clf), picture=task.picture)
        read = _read(clf, file, roles, before.id_column, progress)
        after = _grown(before, read)
        seen.write(after, folder / STATE)
        tests = streams(reference, after)
        outcome = findings(reference, after, tests)
        disk.write_whole(folder / PAGE, page(outcome, tests, model.name or str(model)).encode())
    return outcome


def _check_promise(clf: ConformalClassifier) -> None:
    """Raise where the chance of a miss, which the tests bet on, is not known."""
    kinds = {
        "cross-conformal": isinstance(clf.candidates_[0].stack, CrossStack),
        "calibrated with weights": isinstance(clf.calibration_, WeightedCalibration),
    }
    for kind, is_so in kinds.items():
        if is_so:
            raise DataError(
                f"the model is {kind}, and no exact test of its promise over time is known: watch "
                f"one whose calibration rows did not train and count once each."
            )


def _state(path: Path, model: str, task: MonitorTask) -> Observed:
    """What was seen so far, refused where it does not belong to what is asked."""
    if not path.exists():
        level = 0.01 if task.level is None else checks.one_probability(task.level, "level")
        return Observed.begin(model, level, task.seed, task.id_column)
    observed = seen.read(path)
    if observed.model != model:
        raise DataError(
            f"{path} is of another model, or of this one before it was fitted or calibrated anew: "
            f"move it away to begin anew, or name another folder with --state."
        )
    if task.level not in (None, observed.level):
        raise DataError(
            f"the level of this monitor is {observed.level:g} since it began; another one, chosen "
            f"after a look at the rows, would promise nothing. Move {path} away to begin anew."
        )
    if task.id_column != observed.id_column:
        known = (
            "without --id" if observed.id_column is None else f"with --id {observed.id_column!r}"
        )
        raise DataError(
            f"this monitor began {known}: go on like that, so that no row counts twice."
        )
    return observed


def _read(
    clf: ConformalClassifier,
    path: Path,
    roles: Roles,
    id_column: str | None,
    progress: Callable[[int], None],
) -> _Counted:
    keep = (id_column,) if id_column else ()
    inputs = predicting.inputs_of(clf, path, [roles.target, roles.groups, *keep])
    counted, empty, categories = [], 0, unknown_levels.Counts()
    for block in blocks(path, inputs, roles, keep=keep):
        if id_column is not None:
            empty += _empty_cells(block.kept[id_column])
        if empty:
            continue  # they are refused: only their number is still to be told
        counted.append(_counted(clf, path, block, id_column))
        met = unknown_levels.counted(clf.candidates_[0].stack.reader, block.X)
        categories = unknown_levels.added(categories, met)
        progress(sum(len(block_counts.digests) for block_counts in counted))
    if empty:
        raise DataError(
            f"{empty:,} cells of the column {id_column!r} of {path} are empty, and rows without an "
            f"id cannot be told apart: give each row an id, or leave these rows out. Nothing was "
            f"counted."
        )
    if not counted:
        raise DataError(f"{path} has no rows.")
    unknown = unknown_levels.sentence(categories)
    if unknown:
        warnings.warn(unknown, unknown_levels.CategoryWarning, stacklevel=2)
    columns = {
        name: np.concatenate([block_counts.columns[name] for block_counts in counted])
        for name in counted[0].columns
    }
    ids = [block_counts.ids for block_counts in counted if block_counts.ids is not None]
    return _Counted(
        np.concatenate([block_counts.digests for block_counts in counted]),
        np.concatenate(ids) if ids else None,
        columns,
        np.concatenate([block_counts.known for block_counts in counted]),
        np.concatenate([block_counts.strange for block_counts in counted]),
    )


def _empty_cells(column: pl.Series) -> int:
    """How many cells hold nothing: missing ones, spaces alone, and what is not a number."""
    texts = column.cast(pl.String).str.strip_chars().fill_null("")
    is_empty = texts == ""
    if column.dtype.is_float():
        is_empty |= column.is_nan().fill_null(True)
    return int(is_empty.sum())


def _counted(
    clf: ConformalClassifier, path: Path, block: RowBlock, id_column: str | None
) -> _Counted:
    """Statistics of some rows."""
    logits, scores = predicting.answers_of(clf, block, path)
    calibration, n = clf.calibration_, len(logits)
    groups = calibration.places(block.groups, n)
    named = np.zeros(n, bool) if block.labels is None else block.labels.is_not_null().to_numpy()
    truth = np.full(n, -1)
    if block.labels is not None:
        truth = np.where(named, places(block.labels, clf.classes_.tolist()), -1)
    true_cells = np.arange(n), truth
    columns = {
        "size": calibration.sets(scores, groups, clf.alpha_).sum(axis=1),
        "confidence": confidence(np.exp(log_softmax(logits))),
        "score": scores[true_cells].astype(np.float64),
        "standing": calibration.p_values(scores, groups)[true_cells],
        "label": truth,
        "group": truth if groups is None else groups,
    }
    ids = None if id_column is None else row_digests.digests(block.kept.cast(pl.String))
    digests = row_digests.digests(predicting.as_taken(clf, block.X))
    return _Counted(digests, ids, columns, named & (truth >= 0), named & (truth < 0))


def _grown(before: Observed, read: _Counted) -> Observed:
    """Add the rows that were not counted yet; labels count when they come."""
    known, fresh = np.flatnonzero(read.known), before.counted.new(read.digests, read.ids)
    counted = before.counted.with_file(read.digests, read.columns, read.ids)
    labelled = before.labelled.with_rows(
        counted.places(read.digests, read.ids)[known],
        {name: column[known] for name, column in read.columns.items()},
    )
    grouped = labelled.columns["group"][len(before.labelled) :]
    return before.grown(
        counted,
        labelled,
        strangers=int(np.count_nonzero(read.strange[fresh])),
        unseen=int(np.count_nonzero(grouped < 0)),
    )
