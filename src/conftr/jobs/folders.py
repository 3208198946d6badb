"""The folder a model goes into: looked at before the work, filled after it."""

from __future__ import annotations

from pathlib import Path

from conftr import report
from conftr.classifier import artefact
from conftr.data import DataError
from conftr.jobs.fitting import Result


def check(folder: Path, *, overwrite: bool) -> Path:
    """Raise unless a model may be written into the folder."""
    if folder.is_file():
        raise DataError(f"--out must be a folder; {folder} is a file.")
    if folder.exists() and any(folder.iterdir()) and not overwrite:
        raise DataError(
            f"the folder {folder} holds something already: choose another with --out, or write "
            f"into it with --overwrite."
        )
    return folder


def fill(folder: Path, result: Result) -> Path:
    """Write the model and its report; gives the path of the report's page."""
    artefact.save(result.clf, folder, evidence=result.evidence)
    return report.write(result.evidence, folder)
