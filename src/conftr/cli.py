"""The command line: verbs only. What they do lies in the modules they import when called."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from conftr.experiments.runner import Workshop
    from conftr.experiments.watch import Watch

app = typer.Typer(
    help="Classifiers that answer with a set of classes, trained through conformal prediction.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
data_app = typer.Typer(help="Datasets: what is there, and get what is not.", no_args_is_help=True)
app.add_typer(data_app, name="data")

DataDir = Annotated[
    Path | None,
    typer.Option(help="Folder of datasets; by default the one that CONFTR_DATA names."),
]
Results = Annotated[Path, typer.Option(help="Folder for results, small JSON files.")]
Runs = Annotated[
    Path, typer.Option(help="Folder for the state of runs; can be removed when they are done.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no notes.")]


class Format(StrEnum):
    """How a table is printed."""

    TABLE = "table"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"


def main() -> None:
    """The program `conftr`."""
    app()


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"conftr {version('conftr')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Classifiers that answer with a set of classes, trained through conformal prediction."""


@app.command()
def compare(
    dataset: Annotated[str, typer.Argument(help="A name from `conftr data list`.")] = "digits",
    methods: Annotated[
        str, typer.Option(help="Which, with commas between; baseline-tuned is one more.")
    ] = "baseline,bel,covertr,conftr,conftr-class",
    trials: Annotated[int, typer.Option(min=1, help="Models trained by each method.")] = 10,
    splits: Annotated[int, typer.Option(min=1, help="Random calibration/test splits.")] = 10,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Passes over the training data [default: the paper's]")
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(
            help="Share of sets that may miss the truth; of several, with commas between, the "
            "first is trained for and all are measured [default: the paper's]"
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="linear, mlp:64x64 or convnet:32x64 [default: the paper's]"),
    ] = None,
    quantile: Annotated[
        str | None,
        typer.Option(
            help="smooth-sort:0.1, exact-smooth-sort:0.1, order-statistic, nearest:0.02 or "
            "kernel:0.1 [default: smooth-sort:0.1, the paper's]"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random.")] = 0,
    full: Annotated[
        bool, typer.Option("--full", help="Train each trial on the training set as it is.")
    ] = False,
    results: Results = Path("results"),
    runs: Runs = Path("runs"),
    data_dir: DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print rows as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Train several methods, measure their sets under one protocol, and print a table.

    Stop it at any time: the same command goes on where it was, and what is done is not done again.
    """
    with _in_words(), _watch(quiet or as_json) as watch:
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
        file = comparison.compare(asked, _workshop(results, runs, data_dir, watch))
    _print_table(file, Format.JSON if as_json else Format.TABLE)
    if not quiet and not as_json:
        typer.echo(f"Results: {file}\nThis table again: conftr table {file}", err=True)


@app.command()
def table(
    file: Annotated[Path, typer.Argument(help="A comparison that `conftr compare` wrote.")],
    form: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.TABLE,
) -> None:
    """Print the table of a comparison again, from its results."""
    with _in_words():
        _print_table(file, form)


@app.command()
def search(
    dataset: Annotated[str, typer.Argument(help="A name from `conftr data list`.")],
    method: Annotated[str, typer.Argument(help="A method of `conftr compare`.")],
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Make what is found the default of `conftr compare`.")
    ] = False,
    results: Results = Path("results"),
    runs: Runs = Path("runs"),
    data_dir: DataDir = None,
    quiet: Quiet = False,
) -> None:
    """Find a method's settings by the paper's grid, on held-out training data alone."""
    with _in_words(), _watch(quiet) as watch:
        from conftr.experiments import search as grid
        from conftr.experiments import settings

        asked = grid.default(dataset, method)
        found = grid.search(asked, _workshop(results, runs, data_dir, watch))
        if adopt:
            settings.adopt(dataset, method, found["chosen"])
    typer.echo(json.dumps(found["chosen"]))


@data_app.command("list")
def data_list(data_dir: DataDir = None) -> None:
    """Every dataset by name, and where it lies or how it can be got."""
    with _in_words():
        from conftr import data

        for one in data.available(data_dir=data_dir):
            where = one.place and (one.place.folder or one.place.label)
            missing = f"not here ({one.megabytes:g} MB: conftr data fetch {one.name})"
            typer.echo(f"{one.name:15} {where or missing}")


@data_app.command("fetch")
def data_fetch(
    name: Annotated[str, typer.Argument(help="A name from `conftr data list`.")],
    data_dir: DataDir = None,
    quiet: Quiet = False,
) -> None:
    """Get a dataset, unless it is there."""
    with _in_words():
        from conftr import data

        place = data.fetch(name, data_dir=data_dir, progress=not quiet)
        typer.echo(f"{name}: {place.folder or place.label}")


def _workshop(results: Path, runs: Path, data_dir: Path | None, watch: Watch) -> Workshop:
    """Where everything lies; compiled programs are kept from now on."""
    from functools import partial

    from conftr import data
    from conftr.experiments.runner import Workshop
    from conftr.experiments.store import Store
    from conftr.training import use_compilation_cache

    use_compilation_cache()
    return Workshop(Store(results), runs, partial(data.load, data_dir=data_dir), watch)


def _print_table(file: Path, form: Format) -> None:
    from conftr.experiments import comparison, tables

    records = comparison.records(file)
    if form is Format.JSON:
        typer.echo(json.dumps(tables.rows(records), indent=1))
    elif form is Format.CSV:
        typer.echo(tables.as_csv(records), nl=False)
    elif form is Format.MARKDOWN:
        typer.echo("\n".join(tables.markdown(one) for one in tables.tables(records)), nl=False)
    else:
        _draw(tables.tables(records))


def _draw(found: list[Any]) -> None:
    from rich.console import Console

    from conftr.experiments import tables

    # A table that goes to a file must not be folded to the width of no terminal.
    console = Console(width=None if sys.stdout.isatty() else 120)
    for one in found:
        console.print(tables.draw(one))


@contextmanager
def _watch(quiet: bool) -> Iterator[Watch]:
    """Bars on a terminal, lines in a log, nothing where it is to be quiet; on standard error."""
    from rich.console import Console

    from conftr.experiments.watch import Bars, Lines, Silent

    console = Console(stderr=True)
    if quiet:
        yield Silent()
    elif console.is_terminal:
        with Bars(console) as bars:
            yield bars
    else:
        yield Lines(lambda line: typer.echo(f"conftr: {line}", err=True))


@contextmanager
def _in_words() -> Iterator[None]:
    """Say what went wrong in words and exit with 1; CONFTR_TRACEBACK=1 shows where it did."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(
            "conftr: stopped. The same command goes on where it was; nothing that was saved is "
            "done again.",
            err=True,
        )
        raise typer.Exit(1) from None
    except typer.Exit:
        raise
    except Exception as error:
        if os.environ.get("CONFTR_TRACEBACK"):
            raise
        typer.echo(f"conftr: {error or type(error).__name__}", err=True)
        raise typer.Exit(1) from None


if __name__ == "__main__":
    main()
