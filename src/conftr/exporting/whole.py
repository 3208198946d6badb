"""export: a calibrated classifier as one graph from raw rows to sets, checked before it is kept.

| output | holds |
|---|---|
| sets | whether each class is in the set, booleans (rows, K) |
| log_probabilities | doubles (rows, K) |
| size | how many classes each set holds, integers (rows,) |

The threshold is an input with a default, `thresholds`, of shape (1, 1), (1, K) with one for each
class, or (rows, 1) with one for each row's group: another alpha needs no other file. Thresholds
for many alphas are told in the metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.classifier.calibration import (
    CLASS,
    TABLED_ALPHAS,
    Calibration,
    WeightedCalibration,
)
from conftr.classifier.cross_conformal import CrossStack
from conftr.classifier.estimator import ConformalClassifier
from conftr.classifier.estimator_settings import score_name
from conftr.conformal import checks
from conftr.conformal.sets import lowered
from conftr.exporting import checking, scoring, stacks
from conftr.exporting.graph import ExportError, Graph, log_softmax, total
from conftr.exporting.inputs import feeds
from conftr.features.frame_columns import FrameColumns
from conftr.machine import disk
from conftr.machine.versions import versions

SETS, LOGS, SIZE, THRESHOLDS = "sets", "log_probabilities", "size", "thresholds"


def export(
    clf: ConformalClassifier,
    path: Path | str,
    *,
    alpha: float | None = None,
    default: bool = True,
    rows: Any = None,
    metadata: Mapping[str, str] | None = None,
) -> Path:
    """Write a calibrated classifier as an ONNX file that makes its sets without Python.

        conftr.export(clf, "model.onnx")

    The graph is run in onnxruntime on rows and compared with the classifier before it is written.
    Where the two round differently, so near to the threshold that it matters, the graph has the
    larger set; anything else is refused.

    Args:
        clf: The classifier, fitted or calibrated. Members may be all of conftr's own kinds.
        path: The file; one that is there is replaced.
        alpha: The alpha of the default threshold; None for that of the classifier.
        default: Whether `thresholds` has a default. Runtimes of JavaScript cannot be given an input
            that has one; False makes it an input that must be given.
        rows: Rows to compare on, as in `predict_set`; None makes some up.
        metadata: More of it, such as the licence of the data.

    Returns:
        The path.

    Raises:
        ExportError: If a member or the score cannot be exported, or sets differ.
    """
    if not isinstance(clf, ConformalClassifier) or not hasattr(clf, "candidates_"):
        raise ExportError("conftr exports a fitted conftr.ConformalClassifier: call fit before.")
    if isinstance(clf.candidates_[0].stack, CrossStack):
        raise ExportError(
            "a cross-conformal classifier cannot be exported: its sets compare a row with every "
            "row that it was fitted on. Fit one without cross_conformal."
        )
    if isinstance(clf.calibration_, WeightedCalibration):
        raise ExportError(
            "a classifier with weighted calibration cannot be exported: a threshold depends on the "
            "weight of its row. Calibrate it without weights."
        )
    _refuse_texts(clf)
    level = clf.alpha_ if alpha is None else checks.one_probability(alpha, "alpha")
    stack = clf.candidates_[0].stack
    stacks.check(stack)
    some = checking.made_up(stack, len(clf.classes_)) if rows is None else rows
    given = feeds(stack.reader, some) | {THRESHOLDS: default_thresholds(clf.calibration_, level)}
    first = _model(clf, level, checking.NO_ROUNDING, {}, default=default)
    rounding = checking.rounding(first, given, stack.logits(some), clf.score_)
    content = _model(clf, level, rounding, dict(metadata or {}), default=default)
    checking.compare(content, given, expected(clf, some, level), rounding.score)
    disk.write_whole(Path(path), content)
    return Path(path)


def _refuse_texts(clf: ConformalClassifier) -> None:
    texts = list(getattr(clf.candidates_[0].stack.reader, "texts", ()))
    if texts:
        raise ExportError(
            f"column {texts[0]!r} holds texts, which ONNX has no common way to read: serve such a "
            f"model with conftr.load, or export one that takes their logits: "
            f"members=conftr.members.Logits(classes), fitted on clf.predict_proba or any other "
            f"system's outputs of rows that it has not seen."
        )


def expected(clf: ConformalClassifier, rows: Any, alpha: float) -> npt.NDArray[np.bool_]:
    """The sets that the classifier makes with the default thresholds of the graph."""
    scores = clf.score_(clf.candidates_[0].stack.logits(rows))
    sets: npt.NDArray[np.bool_] = scores >= lowered(default_thresholds(clf.calibration_, alpha))
    return sets


def default_thresholds(calibration: Calibration, alpha: float) -> npt.NDArray[np.float64]:
    """The threshold (1, 1), or those of the classes (1, K).

    Where each group has its own, the lowest of them: it keeps the promise in every group.
    """
    taus = calibration.thresholds(alpha)
    return taus[None, :] if calibration.by == CLASS else taus.min(keepdims=True)[None, :]


def _model(
    clf: ConformalClassifier,
    alpha: float,
    rounding: checking.Rounding,
    more: dict[str, str],
    *,
    default: bool,
) -> bytes:
    if clf.score_ not in scoring.SCORES:
        raise ExportError(
            f"the score must be one of conftr's own to be exported; {score_name(clf.score_)} is "
            f"code of yours."
        )
    graph, classes = Graph(), len(clf.classes_)
    logits = stacks.logits(graph, clf.candidates_[0].stack, classes)
    values = scoring.SCORES[clf.score_](graph, logits, rounding.logs)
    taus = default_thresholds(clf.calibration_, alpha) if default else None
    tau = graph.input(THRESHOLDS, np.float64, ["rows_or_1", "classes_or_1"], taus)
    inside = scoring.reached(graph, values, tau, rounding.score)
    size = total(graph, graph.cast(inside, np.int64), -1, keep=False)
    graph.output(SETS, inside, np.bool_, ["rows", classes])
    graph.output(LOGS, log_softmax(graph, logits), np.float64, ["rows", classes])
    graph.output(SIZE, size, np.int64, ["rows"])
    return graph.model(_metadata(clf, alpha, rounding.score) | more)


def _metadata(clf: ConformalClassifier, alpha: float, margin: float) -> dict[str, str]:
    """What people and programs should know of the file."""
    calibration = clf.calibration_
    metadata = {
        "classes": [_plain(name) for name in clf.classes_.tolist()],
        "alpha": alpha,
        "n_calibration": clf.n_calibration_,
        "score": score_name(clf.score_),
        "groups": {"kind": calibration.by.kind, "column": calibration.by.column},
        "thresholds": _table(calibration, alpha),
        "columns": _columns(clf),
        "levels": _levels(clf),
        "margin": margin,
        "fingerprint": getattr(clf, "fingerprint_", None),
        "members": clf.candidates_[0].stack.words,
        "conftr": versions()["conftr"],
    }
    return {name: json.dumps(value) for name, value in metadata.items()}


def _table(calibration: Calibration, alpha: float) -> dict[str, dict[str, float | str]]:
    """tau of each group, by alpha; an infinite one as text, which JSON has no number for."""
    names = [str(name) for name in calibration.names]

    def by_group(level: float) -> dict[str, float | str]:
        taus = calibration.thresholds(level).tolist()
        plain = [tau if np.isfinite(tau) else "-inf" for tau in taus]
        return dict(zip(names, plain, strict=True))

    return {f"{level:g}": by_group(level) for level in sorted({*TABLED_ALPHAS, alpha})}


def _columns(clf: ConformalClassifier) -> dict[str, list[str]] | None:
    """The columns of each input, where rows are those of a table with names."""
    reader = clf.candidates_[0].stack.reader
    if not isinstance(reader, FrameColumns):
        return None
    return {"numbers": list(reader.frame.numeric), "categories": list(reader.frame.levels)}


def _levels(clf: ConformalClassifier) -> dict[str, list[str]] | None:
    """The categories that training saw in each column: the graph knows them as they stand here."""
    reader = clf.candidates_[0].stack.reader
    if not isinstance(reader, FrameColumns):
        return None
    return {name: list(column.levels) for name, column in reader.frame.levels.items()}


def _plain(name: Any) -> Any:
    return name if isinstance(name, str | int | float | bool) else str(name)
