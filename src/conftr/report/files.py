"""The report on disk: report.html, and its figures as PNG and SVG beside it."""

from __future__ import annotations

from pathlib import Path

from conftr.classifier.evidence import Evidence
from conftr.report.page import page
from conftr.report.sampling import sample

_SHARPNESS = 2


def write(evidence: Evidence, folder: Path | str) -> Path:
    """Write folder/report.html and folder/figures/*.png and *.svg; gives the path of the page."""
    # Here, because Altair is slow to import and the page and its numbers do without.
    from conftr.report.figures import NAMES, figures

    folder = Path(folder)
    beside = folder / "figures"
    beside.mkdir(parents=True, exist_ok=True)
    drawn = figures(sample(evidence))
    for name in NAMES:
        svg, png = beside / f"{name}.svg", beside / f"{name}.png"
        if name in drawn:
            drawn[name].save(svg)
            drawn[name].save(png, scale_factor=_SHARPNESS)
        else:  # left from a report on something else
            svg.unlink(missing_ok=True)
            png.unlink(missing_ok=True)
    path = folder / "report.html"
    path.write_text(page(evidence), encoding="utf-8")
    return path
