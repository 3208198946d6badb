"""Calibrate anew: a saved classifier on fresh rows, or the outputs of any other system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import clone  # type: ignore[import-untyped]

from conftr.classifier import artefact
from conftr.classifier.calibration import ALL, CLASS, Grouping
from conftr.classifier.division import by_number, order, seed_of
from conftr.classifier.estimator import ConformalClassifier
from conftr.classifier.evidence import Evidence
from conftr.classifier.testing import evidence_of
from conftr.conformal import checks
from conftr.data import DataError
from conftr.data.user_files import (
    Inputs,
    Roles,
    UserData,
    blocks,
    origin,
    places,
    read,
    read_pictures,
)
from conftr.data.user_files.examples import sha256
from conftr.data.user_files.labels import Labels
from conftr.data.user_files.pictures import FOLDER
from conftr.features import unknown_levels
from conftr.jobs.fitting import FitTask, Result, divided, show
from conftr.jobs.predicting import as_taken, group_column, inputs_of
from conftr.members.elsewhere import Logits, Probabilities

OUTPUTS: Mapping[str, Callable[[Sequence[Any]], Probabilities | Logits]] = {
    "probabilities": Probabilities,
    "logits": Logits,
}


def _read_for(clf: ConformalClassifier, path: Path, roles: Roles) -> UserData:
    """The rows of a file that have a label, read as the classifier learned to read its own."""
    inputs = inputs_of(clf, path, [roles.target, roles.group_by, *roles.drop])
    if inputs.pictures is not None:
        given = read_pictures(path, roles, shape=inputs.pictures)
        labels = pl.Series(roles.target or FOLDER, given.y)
        return replace(given, y=_as_classes(labels, clf.classes_.tolist()))
    read_blocks = list(blocks(path, inputs, roles))
    if read_blocks[0].labels is None:
        raise DataError(f"say with --target or --labels where the true classes of {path} are.")
    labels = pl.concat([block.labels for block in read_blocks if block.labels is not None])
    is_frame = isinstance(read_blocks[0].X, pl.DataFrame)
    X = (
        pl.concat([p.X for p in read_blocks])
        if is_frame
        else np.concatenate([p.X for p in read_blocks])
    )
    named = [block.groups for block in read_blocks if block.groups is not None]
    rows = labels.is_not_null().arg_true().to_numpy()
    if not len(rows):
        raise DataError(f"no row of {path} has a class.")
    return UserData(
        as_taken(clf, X[rows]),
        _as_classes(labels[rows], clf.classes_.tolist()),
        pl.concat(named)[rows] if named else None,
        origin(path, roles),
    )


def _as_classes(labels: pl.Series, classes: Sequence[Any]) -> Labels:
    """Labels of a file as classes, refused in words where one is none."""
    columns = places(labels, classes)
    unknown = labels.filter(columns < 0).cast(pl.String).unique(maintain_order=True).to_list()
    if unknown:
        raise DataError(
            f"column {labels.name!r} has classes that the model does not know: "
            f"{checks.listed(unknown)}. It knows {checks.listed(map(str, classes))}."
        )
    return np.asarray(classes)[columns]


def calibrate_saved(
    model: Path, file: Path, roles: Roles, task: FitTask, alpha: float | None
) -> tuple[Result, Evidence | None]:
    """A saved classifier with new thresholds, and what the old ones showed on all of the rows.

    Args:
        roles: Target and groups are the model's where none are given, as is alpha. Where other
            groups are wanted, what the old thresholds showed is left out: they are for groups of
            their own.
    """
    clf, provenance = artefact.load(model), _provenance(model)
    roles = _as_before(clf, roles, provenance)
    learned_from = _refuse_training_file(clf, file, provenance)
    task = replace(task, by_class=roles.by_class)
    given = _read_for(clf, file, roles)
    before = None
    if _grouping(roles) == clf.calibration_.by:
        before = evidence_of(clf, given.X, given.y, groups=given.groups)
    is_outputs = clf.candidates_[0].stack.of_outputs
    seed = seed_of(task.seed)
    drawn = by_number(len(given.y), seed) if is_outputs else order(given.X, seed, given.y)
    division = divided(drawn, task)
    fresh = given.take(division.rest[division.drawn.one_each(seed)])
    groups = "class" if task.by_class else "all" if fresh.groups is None else fresh.groups
    clf.calibrate(fresh.X, fresh.y, clf.alpha_ if alpha is None else alpha, groups)
    more_provenance = (
        {"outputs": provenance["outputs"]}
        if is_outputs and "outputs" in provenance
        else learned_from
    )
    shown = show(clf, given.take(division.test), task, more_provenance)
    unknown = unknown_levels.sentence(
        unknown_levels.counted(clf.candidates_[0].stack.reader, given.X)
    )
    notes = (*given.notes, *division.notes, *([unknown] if unknown else []))
    return Result(clf, shown, notes), before


def _as_before(clf: ConformalClassifier, roles: Roles, provenance: Mapping[str, Any]) -> Roles:
    """Roles with the target and the groups of the model where none are given."""
    group_by = roles.group_by
    roles = replace(roles, target=roles.target or provenance.get("target"))
    if group_by is not None:
        return roles.grouped_by(group_by)
    return replace(roles, groups=group_column(clf), by_class=clf.calibration_.by == CLASS)


def _grouping(roles: Roles) -> Grouping:
    if roles.by_class:
        return CLASS
    return ALL if roles.groups is None else Grouping("column", roles.groups)


def _provenance(model: Path) -> Mapping[str, Any]:
    """Where a saved classifier comes from, as far as that is known."""
    shown = artefact.evidence(model)
    return {} if shown is None else shown.provenance


def _refuse_training_file(
    clf: ConformalClassifier, file: Path, provenance: Mapping[str, Any]
) -> dict[str, Any]:
    """Which file a classifier has learned from, for the record, as far as that is known.

    Raises:
        DataError: if it is the file to calibrate on.
    """
    first = provenance.get("learned_from") or (provenance if clf.n_train_ else {})
    if "sha256" not in first:
        return {}
    if sha256(file) == first["sha256"]:
        raise DataError(
            f"{file} is the file that the model has learned from, {first['file']}: it knows these "
            f"rows too well to be calibrated on them. Take rows that it has not met. Another "
            f"alpha needs no calibration (conftr predict --alpha), other groups need a new fit."
        )
    return {"learned_from": {name: first[name] for name in ("file", "sha256")}}


def calibrate_outputs(
    kind: str, file: Path, roles: Roles, task: FitTask, names: Sequence[str]
) -> Result:
    """Thresholds for probabilities or logits, a column for each class, computed anywhere.

    Args:
        names: Of the classes, in the order of the columns of an array.
    """
    # The column that makes groups is no class.
    drop = dict.fromkeys((*roles.drop, *([roles.groups] if roles.groups else ())))
    given = read(file, replace(roles, drop=tuple(drop)))
    classes = _columns(given, names)
    _refuse_outputs(kind, file, roles, given, classes)
    labels = pl.Series(roles.target or "y", given.y)
    numbered = bool(names) and _are_places(given) and (places(labels, classes) < 0).any()
    y = np.asarray(classes)[given.y] if numbered else _as_classes(labels, classes)
    given = replace(given, y=y, X=np.asarray(given.X))
    task = replace(task, by_class=roles.by_class)
    division = divided(by_number(len(given.y), seed_of(task.seed)), task)
    fresh = given.take(division.rest)
    clf = clone(task.clf).set_params(members=OUTPUTS[kind](classes))
    clf.fit(fresh.X, fresh.y, "class" if task.by_class else fresh.groups)
    clf.why_ = "They were computed elsewhere; nothing was trained."
    shown = show(clf, given.take(division.test), task, {"outputs": kind})
    return Result(clf, shown, (*given.notes, *division.notes))


def _refuse_outputs(
    kind: str, file: Path, roles: Roles, given: UserData, classes: Sequence[Any]
) -> None:
    """Refuse the first cell that is no probability or logit, by its row in the file."""
    outputs = np.asarray(given.X)
    if outputs.dtype.kind not in "fiub":
        return  # refused in words with the other columns
    strange = ~np.isfinite(outputs)
    if kind == "probabilities":
        strange |= (outputs < 0) | (outputs > 1)
    if not strange.any():
        return
    place, column = np.argwhere(strange)[0].tolist()
    inputs = Inputs(tuple(given.X.columns)) if isinstance(given.X, pl.DataFrame) else Inputs()
    labels = [block.labels for block in blocks(file, inputs, roles) if block.labels is not None]
    row = int(pl.concat(labels).is_not_null().arg_true()[place]) + 1
    value = outputs[place, column]
    rule = "finite numbers" + (" from 0 to 1" if kind == "probabilities" else "")
    raise DataError(
        f"{kind} must be {rule}; row {row} of {file} has "
        f"{'none' if np.isnan(value) else f'{value:g}'} for the class {str(classes[column])!r}."
    )


def _are_places(given: UserData) -> bool:
    """Whether labels are whole numbers that say which column stands for the class."""
    y = given.y
    return y.dtype.kind == "i" and bool(y.min() >= 0 and y.max() < given.X.shape[1])


def _columns(given: UserData, names: Sequence[str]) -> list[Any]:
    """The class that each column stands for."""
    if isinstance(given.X, pl.DataFrame):
        return given.X.columns
    if given.X.ndim != 2:
        raise DataError(
            f"outputs must have a row for each example and a column for each class, (n, K); got "
            f"shape {given.X.shape}."
        )
    width = given.X.shape[1]
    if not names and _are_places(given):
        return list(range(width))
    if not names:
        some = checks.listed(map(str, np.unique(given.y).tolist()))
        raise DataError(
            f"labels such as {some} do not tell which of the {width} columns stands for which "
            f"class: say so with --classes, in the order of the columns. Labels 0 to {width - 1} "
            f"would be their numbers."
        )
    if len(names) != width:
        raise DataError(
            f"there are {width} columns and --classes names {len(names)}: say which class each "
            f"column stands for, in their order."
        )
    return list(names)
