"""The verb `sweep`: settings told apart on held-out training data, here or on a cluster."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conftr.cli.manners import DataDir, Quiet, Results, Runs, in_words, watched, workshop

if TYPE_CHECKING:
    from conftr.cluster import Executor
    from conftr.experiments.cost import Cost

_LONG = 600  # seconds beyond which a person at a terminal is asked first

Ray = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Spread the work over a Ray cluster: auto, HOST:PORT, ray://HOST:PORT, or local for "
        "worker processes on this machine.",
    ),
]


@contextmanager
def connected(address: str | None) -> Iterator[Executor]:
    """Where tasks run; see `conftr.cluster.connect`.

    Ray says on standard output, which is for results, that a worker died. What is printed while
    it is connected goes to standard error.
    """
    from conftr.cluster import connect

    with connect(address) as executor, redirect_stdout(sys.stderr if address else sys.stdout):
        yield executor


def sweep(
    data: Annotated[
        str, typer.Argument(help="A name from `conftr data list`, or a file of your own.")
    ],
    grid: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="What to try: paper (its whole grid), coarse (thinned out, in stages), or a TOML "
            "file.",
        ),
    ] = "coarse",
    methods: Annotated[
        str | None,
        typer.Option(help="Which, with commas between [default: all five, or the file's]"),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Passes over the training data.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Share of sets that may miss the truth.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="linear, mlp:64x64 or convnet:32x64.")] = None,
    halving: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Successive halving in place of the grid's stages: so many rounds, each with a "
            "third of the next one's epochs, keep a third of the configurations.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random.")] = 0,
    ray: Ray = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would cost, and stop.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Start without asking.")] = False,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Make what is found the default of `conftr compare`.")
    ] = False,
    results: Results = Path("results"),
    runs: Runs = Path("runs"),
    data_dir: DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was chosen as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Find settings: try every combination of a grid, on held-out training data alone.

    Says first what that will cost. Stop it at any time: the same command goes on where it was.
    """
    quiet = quiet or as_json
    with in_words():
        from dataclasses import replace

        from conftr.experiments import cost, gridfile, grids, race, reading, settings
        from conftr.experiments.pools import held_out_size
        from conftr.experiments.sweep import asked

        out = sys.stdout
        with connected(ray) as executor:
            with watched(quiet) as watch:
                shop = workshop(results, runs, data_dir, watch)
                setup = settings.setup(data)
                n = len(shop.load(data).y_train)
                wanted = gridfile.wanted(
                    grid,
                    data,
                    reading.names(methods) if methods else None,
                    rows=n - held_out_size(n),
                    epochs=epochs or setup.epochs,
                )
                if halving is not None:
                    wanted = grids.halved(wanted, halving)
                wish = settings.Wish(reading.model(model), epochs, alpha, seed=seed)
                sweeps = asked(wanted, data, setup, wish)
                price = cost.cost(sweeps, shop, executor)
            if dry_run:
                typer.echo(price.words(), file=out)
                return
            if not quiet and not _agreed(price, yes):
                return
            with watched(quiet) as watch:
                records = race.sweep(sweeps, replace(shop, watch=watch), executor)
        for one in records:
            if adopt:
                settings.adopt(data, one["sweep"]["method"], one["chosen"])
    files = [one.path(shop.store) for one in sweeps]
    _print(records, files, as_json=as_json, quiet=quiet)


def _agreed(price: Cost, yes: bool) -> bool:
    """Say what it will cost; whether to start."""
    if price.epochs:
        typer.echo(price.words(), err=True)
    ask = price.seconds > _LONG and not yes and sys.stdin.isatty()
    return not ask or typer.confirm("Start?", err=True)


def _print(records: list[Any], files: list[Path], *, as_json: bool, quiet: bool) -> None:
    from conftr.cli.experiments import draw
    from conftr.experiments import race

    if as_json:
        pairs = zip(records, files, strict=True)
        found = [race.outcome(one) | {"file": str(file)} for one, file in pairs]
        typer.echo(json.dumps(found, indent=1))
        return
    draw([race.podium(records)])
    if not quiet:
        typer.echo("Results: " + " ".join(map(str, files)), err=True)
