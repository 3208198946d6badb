"""The command line: verbs only. What they do lies in the modules they import when called."""

from __future__ import annotations

from typing import Annotated

import typer

from conftr.cli import data
from conftr.cli.calibrate import calibrate
from conftr.cli.compare import compare, table
from conftr.cli.console import keep_standard_output
from conftr.cli.demo import demo
from conftr.cli.export import export
from conftr.cli.fit import fit
from conftr.cli.monitor import monitor
from conftr.cli.predict import predict
from conftr.cli.report import report
from conftr.cli.reproduce import reproduce
from conftr.cli.sweep import sweep

app = typer.Typer(
    help="Classifiers that answer with a set of classes, trained through conformal prediction.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for verb in (
    fit,
    predict,
    calibrate,
    monitor,
    export,
    report,
    demo,
    compare,
    table,
    sweep,
    reproduce,
):
    app.command()(verb)

data_app = typer.Typer(help="Datasets: what is there, and get what is not.", no_args_is_help=True)
data_app.command("list")(data.show)
data_app.command("fetch")(data.fetch)
app.add_typer(data_app, name="data")


def main() -> None:
    """The program `conftr`."""
    keep_standard_output()
    app()


def _version(requested: bool) -> None:
    if requested:
        from conftr import __version__

        typer.echo(f"conftr {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Classifiers that answer with a set of classes, trained through conformal prediction."""
