"""What a verb says when its model is written, and if it is stopped before."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from conftr.cli.console import unless_written
from conftr.conformal.shown_names import printable

if TYPE_CHECKING:
    from conftr.classifier.evidence import Evidence
    from conftr.jobs.fitting import Result

_WIDTH = 96


def stopped(place: Path) -> Callable[[], str]:
    """What to say on Ctrl-C of the folder for a model."""
    return unless_written(
        place / "manifest.json", f"The new model is in {place}, whole, with its report."
    )


def finish(result: Result, place: Path, *, as_json: bool, before: Evidence | None = None) -> None:
    """Write everything, and say what came out and where it is."""
    from conftr.jobs import folders, summary

    page = folders.write_model(place, result)
    outcome: dict[str, Any] = summary.summary(result.evidence)
    outcome |= {"model": str(place), "report": str(page)}
    if before is not None:
        outcome["before"] = summary.summary(before)
    if as_json:
        typer.echo(json.dumps(outcome))
        return
    kind = Path(result.evidence.provenance.get("file", "rows.npz")).suffix
    where = [
        ("Model", str(place)),
        ("Report", str(page)),
        ("Next", f"conftr predict {place} NEW{kind} --out sets.csv"),
    ]
    for word, line in [*summary.lines(outcome), *where]:
        typer.echo(paragraph(f"{word:9} {line}"))


def paragraph(text: str) -> str:
    """A line, or several with the later ones indented; words and paths stay whole."""
    return textwrap.fill(
        printable(text),
        _WIDTH,
        subsequent_indent=10 * " ",
        break_long_words=False,
        break_on_hyphens=False,
    )
