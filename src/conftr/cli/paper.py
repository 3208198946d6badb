"""The verb `reproduce`: the paper's tables and figures, beside the published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conftr.cli import manners


def reproduce(
    what: Annotated[
        list[str] | None,
        typer.Argument(help="Which tables and figures, as `--list` names them; all by default."),
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="The runs of this dataset alone.")] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Training trials (default: 10 or 5, as tables say)")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Say what there is and what has been run; run nothing.")
    ] = False,
    stored: Annotated[
        bool, typer.Option("--stored", help="Print from what has been run; run nothing.")
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(help="Write a page of Markdown here too, and the same as HTML beside it."),
    ] = None,
    ray: manners.Ray = None,
    results: manners.Results = Path("results"),
    runs: manners.Runs = Path("runs"),
    data_dir: manners.DataDir = None,
    quiet: manners.Quiet = False,
) -> None:
    """Run what the paper ran and print its numbers beside ours.

    Stop it at any time: the same command goes on where it was, and what is done is not done again.
    """
    with manners.in_words(), manners.watched(quiet) as watch:
        from conftr.experiments import reproduction
        from conftr.experiments.store import Store

        asked = reproduction.choose(what or [], dataset, trials)
        if listed:
            for line in reproduction.progress(asked, Store(results)):
                typer.echo(line)
            return
        if not stored:
            with manners.connected(ray) as executor:
                reproduction.run_all(
                    asked, manners.workshop(results, runs, data_dir, watch), executor
                )
    with manners.in_words():
        from conftr.cli.experiments import draw
        from conftr.experiments.sheets import sheet

        draw([sheet(one, Store(results)) for one in asked])
        if page:
            from conftr.experiments.page import write

            write(asked, Store(results), page)
            typer.echo(f"Page: {page} and {page.with_suffix('.html')}", err=True)
