"""The verbs `compare`, methods side by side, and `table`, a comparison printed again."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from conftr.cli import console
from conftr.cli import options as opt


class Format(StrEnum):
    """How a table is printed."""

    TABLE = "table"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"


_Methods = Annotated[
    str | None,
    typer.Option(
        help="Which, with commas between: names, or FILE.py:NAME for one of your own "
        "(default: those of the settings, or cross-entropy,bel,covertr,conftr,conftr-class)"
    ),
]
_Settings = Annotated[
    Path | None,
    typer.Option(
        help="A settings file, as `conftr sweep` and `conftr reproduce --settings` write them "
        "(default: what suits the data)"
    ),
]
_Alpha = Annotated[
    str | None,
    typer.Option(
        help="Share of sets that may miss the truth; of several, with commas between, the "
        "first is trained for and all are measured (default: the settings', or 0.01)"
    ),
]
_Quantile = Annotated[
    str | None,
    typer.Option(
        help="smooth-sort:0.1, exact-smooth-sort:0.1, order-statistic, nearest:0.02, "
        "kernel:0.1 or FILE.py:NAME (default: smooth-sort:0.1)"
    ),
]
_Scores = Annotated[
    str,
    typer.Option(help="What sets are made with: names, or FILE.py:NAME for one of your own."),
]
_Full = Annotated[
    bool, typer.Option("--full", help="Train each trial on the training set as it is.")
]


def compare(
    dataset: Annotated[str, typer.Argument(help="A name from `conftr data list`.")] = "digits",
    methods: _Methods = None,
    settings: _Settings = None,
    trials: Annotated[int, typer.Option(min=1, help="Models trained by each method.")] = 10,
    splits: Annotated[int, typer.Option(min=1, help="Random calibration/test splits.")] = 10,
    epochs: opt.Epochs = None,
    alpha: _Alpha = None,
    model: Annotated[str | None, typer.Option(help="linear, mlp:64x64 or convnet:32x64.")] = None,
    quantile: _Quantile = None,
    scores: _Scores = "thr,thr_logits,aps,raps",
    seed: opt.Seed = 0,
    full: _Full = False,
    ray: opt.Ray = None,
    results: opt.Results = Path("results"),
    runs: opt.Runs = Path("runs"),
    data_dir: opt.DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print rows as JSON.")] = False,
    quiet: opt.Quiet = False,
) -> None:
    """Train several methods, measure their sets under one protocol, and print a table.

    Stop it at any time: the same command goes on where it was, and what is done is not done again.
    """
    with console.errors_in_words(), console.shown_progress(quiet or as_json) as display:
        from conftr.experiments import comparison
        from conftr.search import text
        from conftr.search.settings import SettingsFile, read

        file = read(settings) if settings else SettingsFile()
        comparing = comparison.Comparison(
            dataset,
            text.names(methods) if methods else file.names,
            text.alphas(alpha),
            trials,
            splits,
            file.changed(model=model, epochs=epochs, quantile=quantile),
            settings.name if settings else comparison.DEFAULTS,
            tuple(text.score(name) for name in text.names(scores)),
            seed,
            not full,
        )
        workspace = console.workspace(results, runs, data_dir, display)
        comparing.specifications(workspace.load)
        with console.connected(ray) as executor:
            path = comparison.compare(comparing, workspace, executor)
    _print_table(path, Format.JSON if as_json else Format.TABLE)
    if not quiet and not as_json:
        typer.echo(f"Results: {path}\nThis table again: conftr table {path}", err=True)


def table(
    file: Annotated[Path, typer.Argument(help="A comparison that `conftr compare` wrote.")],
    form: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.TABLE,
) -> None:
    """Print the table of a comparison again, from its results."""
    with console.errors_in_words():
        _print_table(file, form)


def _print_table(file: Path, form: Format) -> None:
    from conftr.experiments import comparison
    from conftr.experiments.comparison_table import as_csv, rows, tables
    from conftr.machine.table import markdown

    records = comparison.records(file)
    if form is Format.JSON:
        typer.echo(json.dumps(rows(records), indent=1))
    elif form is Format.CSV:
        typer.echo(as_csv(records), nl=False)
    elif form is Format.MARKDOWN:
        typer.echo("\n".join(markdown(table) for table in tables(records)), nl=False)
    else:
        console.draw(tables(records))
