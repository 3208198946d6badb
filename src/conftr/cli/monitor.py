"""The verb `monitor`: does the promise still hold on new rows?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from conftr.cli import options as opt
from conftr.cli.console import (
    counted_rows,
    errors_in_words,
    lines,
    unless_written,
    warnings_as_notes,
)
from conftr.cli.finishing import paragraph

_File = Annotated[
    Path, typer.Argument(help="New rows, with their classes or without; of any size.")
]
_Level = Annotated[
    float | None,
    typer.Option(
        help="The probability of a false alarm, ever, that is accepted.",
        show_default="that of the state, else 0.01",
    ),
]
_IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COL",
        help="A column with an id for each row: none counts twice. Without it, a file that "
        "begins with rows that were counted is taken up after them.",
    ),
]
_State = Annotated[
    Path | None,
    typer.Option(help="Folder for what was seen and the page.", show_default="MODEL"),
]


def monitor(
    model: opt.Model,
    file: _File,
    target: opt.TrueClasses = None,
    level: _Level = None,
    id_column: _IdColumn = None,
    picture: opt.Picture = None,
    state: _State = None,
    seed: opt.Seed = 0,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Test whether the promise still holds on new rows; feed it as they come.

    Exit status 3 is the alarm: if new rows come from where the calibration rows came from, it is
    ever given with at most the probability of --level, however often it is looked at.
    """
    place = state or model
    written = unless_written(place / "monitor.safetensors", "The rows were counted.")
    with (
        errors_in_words(written),
        counted_rows(quiet or as_json) as progress,
        warnings_as_notes(lines(quiet)),
    ):
        from conftr.jobs import monitoring
        from conftr.monitoring.findings import words

        task = monitoring.MonitorTask(target, id_column, level, seed, picture)
        findings = monitoring.monitor(model, file, place, task, progress)
    if as_json:
        typer.echo(json.dumps(findings.to_json()))
    else:
        page = place / monitoring.PAGE
        for heading, line in [*words(findings), ("Page", str(page))]:
            typer.echo(paragraph(f"{heading:9} {line}"))
    if findings.alarm:
        raise typer.Exit(3)
