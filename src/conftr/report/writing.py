"""The report as files: report.html, and its figures as PNG and SVG in a folder beside it."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

from conftr.classifier.evidence import Evidence
from conftr.machine import disk
from conftr.report.page import page
from conftr.report.sampling import sample

PAGE = "report.html"

_SHARPNESS = 2
_STAGED = ".conftr-report"


def draw(evidence: Evidence) -> dict[str, bytes]:
    """The contents of figures/*.svg and figures/*.png and of report.html.

    Args:
        evidence: What a classifier showed.

    Returns:
        Contents by name.
    """
    # Here, because Altair is slow to import and the page and its numbers do without.
    from conftr.report.figures import figures

    files: dict[str, bytes] = {}
    for name, chart in figures(sample(evidence)).items():
        svg, png = io.StringIO(), io.BytesIO()
        chart.save(svg, format="svg")
        chart.save(png, format="png", scale_factor=_SHARPNESS)
        files |= zip(_names_of(name), (svg.getvalue().encode(), png.getvalue()), strict=True)
    return files | {PAGE: page(evidence).encode()}


def names() -> list[str]:
    """The names of all files that a report may have, the page first."""
    from conftr.report.figures import NAMES

    return [PAGE, *(file for name in NAMES for file in _names_of(name))]


def _names_of(figure: str) -> tuple[str, str]:
    """The names of a figure's files."""
    return f"figures/{figure}.svg", f"figures/{figure}.png"


def write(evidence: Evidence, folder: Path | str) -> Path:
    """Write a report, in place of one that is there: never half of one beside the other.

    Args:
        evidence: What the report is on.
        folder: Where report.html and figures/*.png and *.svg go; it is made if it is not there.

    Returns:
        The path of the page.
    """
    folder, files = Path(folder), draw(evidence)
    folder.mkdir(parents=True, exist_ok=True)
    staged = folder / _STAGED
    try:
        staged.mkdir(exist_ok=True)
        disk.write_all(files, staged)
        with disk.uninterrupted():
            disk.make_folders_for(files, folder)
            disk.remove_all(names(), folder)
            disk.move_all(files, staged, folder)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return folder / PAGE
