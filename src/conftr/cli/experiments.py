"""Verbs of the researcher: compare methods, print a comparison again."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from conftr.cli import manners


class Format(StrEnum):
    """How a table is printed."""

    TABLE = "table"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"


def compare(
    dataset: Annotated[str, typer.Argument(help="A name from `conftr data list`.")] = "digits",
    methods: Annotated[
        str, typer.Option(help="Which, with commas between; baseline-tuned is one more.")
    ] = "baseline,bel,covertr,conftr,conftr-class",
    trials: Annotated[int, typer.Option(min=1, help="Models trained by each method.")] = 10,
    splits: Annotated[int, typer.Option(min=1, help="Random calibration/test splits.")] = 10,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Passes over the training data (default: the paper's)")
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(
            help="Share of sets that may miss the truth; of several, with commas between, the "
            "first is trained for and all are measured (default: the paper's)"
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="linear, mlp:64x64 or convnet:32x64 (default: the paper's)"),
    ] = None,
    quantile: Annotated[
        str | None,
        typer.Option(
            help="smooth-sort:0.1, exact-smooth-sort:0.1, order-statistic, nearest:0.02 or "
            "kernel:0.1 (default: smooth-sort:0.1, the paper's)"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random.")] = 0,
    full: Annotated[
        bool, typer.Option("--full", help="Train each trial on the training set as it is.")
    ] = False,
    ray: manners.Ray = None,
    results: manners.Results = Path("results"),
    runs: manners.Runs = Path("runs"),
    data_dir: manners.DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print rows as JSON.")] = False,
    quiet: manners.Quiet = False,
) -> None:
    """Train several methods, measure their sets under one protocol, and print a table.

    Stop it at any time: the same command goes on where it was, and what is done is not done again.
    """
    with manners.in_words(), manners.watched(quiet or as_json) as watch:
        from conftr.experiments import comparison, reading
        from conftr.experiments.settings import Wish

        wish = Wish(
            model=reading.model(model),
            epochs=epochs,
            quantile=reading.quantile(quantile),
            seed=seed,
            resampled=not full,
        )
        asked = comparison.Comparison(
            dataset, reading.names(methods), reading.numbers(alpha), trials, splits, wish
        )
        asked.specifications()
        with manners.connected(ray) as executor:
            file = comparison.compare(
                asked, manners.workshop(results, runs, data_dir, watch), executor
            )
    _print_table(file, Format.JSON if as_json else Format.TABLE)
    if not quiet and not as_json:
        typer.echo(f"Results: {file}\nThis table again: conftr table {file}", err=True)


def table(
    file: Annotated[Path, typer.Argument(help="A comparison that `conftr compare` wrote.")],
    form: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.TABLE,
) -> None:
    """Print the table of a comparison again, from its results."""
    with manners.in_words():
        _print_table(file, form)


def _print_table(file: Path, form: Format) -> None:
    from conftr.experiments import comparison, tables
    from conftr.machine.table import markdown

    records = comparison.records(file)
    if form is Format.JSON:
        typer.echo(json.dumps(tables.rows(records), indent=1))
    elif form is Format.CSV:
        typer.echo(tables.as_csv(records), nl=False)
    elif form is Format.MARKDOWN:
        typer.echo("\n".join(markdown(one) for one in tables.tables(records)), nl=False)
    else:
        draw(tables.tables(records))


def draw(found: list[Any]) -> None:
    """Print tables, as wide as the terminal or, into a file, as they need."""
    from rich.console import Console

    from conftr.machine import table

    # A table that goes to a file must not be folded to the width of no terminal.
    console = Console(width=None if sys.stdout.isatty() else 120)
    for one in found:
        console.print(table.draw(one))
