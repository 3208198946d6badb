"""The folder a model goes into: looked at before the work, filled after it."""

from __future__ import annotations

from pathlib import Path

from conftr.classifier import artefact
from conftr.data import DataError
from conftr.jobs.fitting import Result
from conftr.machine import disk
from conftr.report import writing as report


def check(folder: Path, *, overwrite: bool) -> None:
    """Raise, before any work, unless a model and its report can be written into the folder."""
    if folder.is_file():
        raise DataError(f"--out must be a folder; {folder} is a file.")
    if folder.exists() and _holds_something(folder) and not overwrite:
        raise DataError(
            f"the folder {folder} holds something already: choose another with --out, or write "
            f"into it with --overwrite."
        )
    artefact.check(folder, report.names())
    fault = disk.why_not_writable(folder)
    if fault:
        raise DataError(f"--out {folder} cannot be written to: {fault}.")


def _holds_something(folder: Path) -> bool:
    """Whether there is more than what a save that failed leaves."""
    return any(entry.name != artefact.LOCK for entry in folder.iterdir())


def report_again(model: Path, out: Path | None) -> Path:
    """Make the report of a saved model again, there or elsewhere; gives the path of its page."""
    if out is None or out.resolve() == model.resolve():
        artefact.redraw(model, report.draw)
        return model / report.PAGE
    shown = artefact.evidence(model)
    if shown is None:
        raise DataError(f"{model} was saved without test examples, so there is no report.")
    return report.write(shown, out)


def write_model(folder: Path, result: Result) -> Path:
    """Write the model and its report in one step; gives the path of the report's page.

    Where the report cannot be drawn, the model is kept all the same: it took longer to make.
    """
    try:
        drawn = report.draw(result.evidence)
    except Exception as fault:
        artefact.save(result.clf, folder, evidence=result.evidence)
        raise DataError(
            f"the model is in {folder}, but its report could not be drawn "
            f"({type(fault).__name__}: {fault}). `conftr report {folder}` tries again."
        ) from fault
    artefact.save(result.clf, folder, evidence=result.evidence, report=drawn)
    return folder / report.PAGE
