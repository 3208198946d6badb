"""The verb `export`: a saved model as ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conftr.cli import options as opt
from conftr.cli.console import errors_in_words, lines, unless_written, warnings_as_notes
from conftr.cli.finishing import paragraph


def export(
    model: opt.Model,
    out: Annotated[Path, typer.Argument(help="An .onnx file; one that is there is replaced.")],
    alpha: Annotated[
        float | None, typer.Option(help=f"{opt.ALPHA}.", show_default="the model's")
    ] = None,
    default: Annotated[
        bool,
        typer.Option(
            help="Make the threshold an optional input with a default. JavaScript runtimes cannot "
            "set an input that has a default: use --no-default for them."
        ),
    ] = True,
    rows: Annotated[
        Path | None,
        typer.Option(help="Rows to compare the file with the model on.", show_default="made up"),
    ] = None,
    data_license: Annotated[
        str | None,
        typer.Option("--license", help="License of the data, written into the file's metadata."),
    ] = None,
    quiet: opt.Quiet = False,
) -> None:
    """Write a saved model as ONNX: from raw rows to sets, without Python.

    The file is run in onnxruntime and compared with the model before it is kept.
    """
    with (
        errors_in_words(unless_written(out, f"{out} was written, and is whole.")),
        warnings_as_notes(lines(quiet)),
    ):
        from conftr.jobs import exporting

        words = exporting.export(
            model, out, alpha=alpha, default=default, rows=rows, data_license=data_license
        )
    if not quiet:
        typer.echo(paragraph(words))
