"""A saved model as an ONNX file, compared on rows of a file where one is given."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from conftr.classifier import artefact
from conftr.classifier.estimator import ConformalClassifier
from conftr.data import DataError
from conftr.data.user_files import Roles, blocks
from conftr.exporting import whole
from conftr.jobs import predicting
from conftr.machine import disk

_MOST = 20_000  # rows that are compared


def export(
    model: Path,
    out: Path,
    *,
    alpha: float | None = None,
    default: bool = True,
    rows: Path | None = None,
    data_license: str | None = None,
) -> str:
    """Write the file; gives a sentence on it.

    Raises:
        DataError: If it cannot be written there.
        ExportError: If the model cannot be exported.
    """
    if out.suffix != ".onnx":
        raise DataError(f"the file must end in .onnx; got {out}.")
    if not out.parent.is_dir() or out.is_dir():
        raise DataError(f"{out} cannot be written: it must be a file in a folder that is there.")
    fault = disk.why_not_writable(out.parent)
    if fault:
        raise DataError(f"{out} cannot be written: {fault}.")
    clf, shown = artefact.load(model), artefact.evidence(model)
    provenance = {} if shown is None else shown.provenance
    about = {name: str(provenance[name]) for name in ("file", "sha256") if name in provenance}
    if data_license:
        about["license"] = data_license
    some = None if rows is None else _rows(clf, rows, predicting.target_of(model))
    whole.export(clf, out, alpha=alpha, default=default, rows=some, metadata=about)
    size = out.stat().st_size / 1e6
    compared = "made-up rows" if rows is None else f"rows of {rows}"
    return f"{out} has {size:.1f} MB; its sets on {compared} are those of the model."


def _rows(clf: ConformalClassifier, path: Path, target: str | None) -> Any:
    """The first rows of a file, as the classifier takes them."""
    roles = Roles(target=target, groups=predicting.group_column(clf))
    inputs = predicting.inputs_of(clf, path, [roles.target, roles.groups])
    first = next(islice(blocks(path, inputs, roles, rows=_MOST), 1), None)
    if first is None:
        raise DataError(f"{path} has no rows to compare on.")
    return predicting.as_taken(clf, first.X)
