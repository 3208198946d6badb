"""The verb `report`: the report of a saved model, made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conftr.cli import options as opt
from conftr.cli.console import errors_in_words, unless_written


def report(
    model: opt.Model,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for report.html and its figures.", show_default="MODEL"),
    ] = None,
) -> None:
    """Make the report of a saved model again."""
    page = (out or model) / "report.html"
    with errors_in_words(unless_written(page, f"{page} was written, and is whole.")):
        from conftr.jobs import folders

        typer.echo(f"Report: {folders.report_again(model, out)}")
