"""The verb `predict`: the set of every row of a file."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from conftr.cli import options as opt
from conftr.cli.console import (
    connected,
    counted_rows,
    errors_in_words,
    lines,
    unless_written,
    warnings_as_notes,
)
from conftr.conformal.shown_names import printable

_File = Annotated[
    Path,
    typer.Argument(help="A file or folder of the kind that the model learned from, of any size."),
]
_Out = Annotated[
    Path | None,
    typer.Option(
        help="A .csv, .tsv, .parquet or .jsonl file. In the first two, and printed, a class "
        "that a spreadsheet would take for a formula, such as =1+1, has a ' in front.",
        show_default="CSV, printed",
    ),
]
_Alpha = Annotated[float | None, typer.Option(help=f"{opt.ALPHA}.", show_default="the model's")]
_Keep = Annotated[
    opt.Names,
    typer.Option(metavar="COL", help="Copy a column of FILE, such as an id; can be repeated."),
]
_Probabilities = Annotated[bool, typer.Option(help="Write the probability of every class.")]
_PValues = Annotated[
    bool,
    typer.Option(
        "--p-values",
        help="Write the p-value of every class too: it is in the set at alpha if that exceeds "
        "alpha. That of the true class is at most alpha in at most a share alpha of the rows, or "
        "about 2 alpha where --cross-conformal fitted the model.",
    ),
]


def predict(
    model: opt.Model,
    file: _File,
    out: _Out = None,
    alpha: _Alpha = None,
    keep: _Keep = None,
    probabilities: _Probabilities = True,
    p_values: _PValues = False,
    target: opt.TrueClasses = None,
    picture: opt.Picture = None,
    ray: opt.Ray = None,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Write the set of every row of a file, in order: classes, their number, probabilities.

    Where FILE has the true classes too, the share of sets that hold them is told.
    """
    silent, answers = quiet or as_json, out or sys.stdout  # which progress may change
    stopped = unless_written(out, f"{out} was written, and is whole.")
    with (
        errors_in_words(stopped),
        warnings_as_notes(lines(silent)),
        counted_rows(silent) as progress,
    ):
        if as_json and out is None:
            raise ValueError("--json prints the numbers where the sets would go: give --out too.")
        if answers is None:
            raise ValueError("standard output, where the sets would go, is closed: give --out.")
        from conftr.classifier import artefact
        from conftr.jobs import predicting

        request = predicting.Request(
            alpha,
            target or predicting.target_of(model),
            tuple(dict.fromkeys(keep or ())),
            probabilities,
            p_values,
            picture,
        )
        clf = artefact.load(model)
        with connected(ray) as executor:
            tally = predicting.predict(clf, file, answers, request, progress, executor)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(tally)))
    elif not quiet:
        typer.echo(f"conftr: {printable(predicting.words(tally, request))}", err=True)
