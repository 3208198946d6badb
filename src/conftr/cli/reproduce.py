"""The verb `reproduce`: the paper's tables and figures, beside the published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conftr.cli import console
from conftr.cli import options as opt

_What = Annotated[
    list[str] | None,
    typer.Argument(help="Which tables and figures, as `--list` names them; all by default."),
]
_Trials = Annotated[
    int | None, typer.Option(min=1, help="Training trials (default: 10 or 5, as tables say)")
]
_Listed = Annotated[
    bool, typer.Option("--list", help="Say what there is and what has been run; run nothing.")
]
_Stored = Annotated[
    bool, typer.Option("--stored", help="Print from what has been run; run nothing.")
]
_Page = Annotated[
    Path | None,
    typer.Option(help="Write a page of Markdown here too, and the same as HTML beside it."),
]
_Settings = Annotated[
    str | None,
    typer.Option(
        metavar="DATASET",
        help="Print the paper's settings of a dataset, as `conftr compare --settings` takes "
        "them; run nothing.",
    ),
]
_Grid = Annotated[
    str | None,
    typer.Option(
        metavar="DATASET",
        help="Print the paper's grid for a dataset, as `conftr sweep --grid` takes it; run "
        "nothing.",
    ),
]
_Thinned = Annotated[
    bool, typer.Option("--thinned", help="With --grid: what our own searches tried of it.")
]


def reproduce(
    what: _What = None,
    dataset: Annotated[str | None, typer.Option(help="The runs of this dataset alone.")] = None,
    trials: _Trials = None,
    listed: _Listed = False,
    stored: _Stored = False,
    page: _Page = None,
    settings: _Settings = None,
    grid: _Grid = None,
    thinned: _Thinned = False,
    ray: opt.Ray = None,
    results: opt.Results = Path("results"),
    runs: opt.Runs = Path("runs"),
    data_dir: opt.DataDir = None,
    quiet: opt.Quiet = False,
) -> None:
    """Run what the paper ran and print its numbers beside ours.

    Stop it at any time: the same command goes on where it was, and what is done is not done again.
    """
    with console.errors_in_words():
        if settings or grid:
            _print_settings(settings, grid, thinned=thinned)
            return
    with console.errors_in_words(), console.shown_progress(quiet) as display:
        from conftr.experiments.store import Store
        from conftr.paper import reproduction
        from conftr.paper.exhibits import runs as runs_of

        exhibits = reproduction.choose(what or [], dataset, trials)
        if listed:
            for line in reproduction.progress(exhibits, Store(results)):
                typer.echo(line)
            return
        if not stored:
            from conftr.experiments.cluster_trials import run_all

            with console.connected(ray) as executor:
                workspace = console.workspace(results, runs, data_dir, display)
                run_all(runs_of(exhibits), workspace, executor)
    with console.errors_in_words():
        from conftr.paper.exhibit_table import table_of

        console.draw([table_of(exhibit, Store(results)) for exhibit in exhibits])
        if page:
            from conftr.paper.results_page import write

            write(exhibits, Store(results), page)
            typer.echo(f"Page: {page} and {page.with_suffix('.html')}", err=True)


def _print_settings(settings: str | None, grid: str | None, *, thinned: bool) -> None:
    from conftr.paper.grid import thinned_grid, whole_grid
    from conftr.paper.settings import path_of
    from conftr.search.methods import USUAL
    from conftr.search.settings import toml

    if settings:
        typer.echo(path_of(settings).read_text(encoding="utf-8"), nl=False)
    if grid:
        searched = (*USUAL, "cross-entropy-tuned")
        values = thinned_grid(grid, searched) if thinned else whole_grid(grid, USUAL)
        typer.echo(toml(values, f"The paper's grid for {grid} (app. F)."), nl=False)
