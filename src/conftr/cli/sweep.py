"""The verb `sweep`: settings told apart on held-out training data, here or on a cluster."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conftr.cli import manners
from conftr.cli import options as opt

if TYPE_CHECKING:
    from conftr.data.own import Wanted
    from conftr.experiments.cost import Cost
    from conftr.experiments.runner import Workshop
    from conftr.experiments.settings import Setup

_LONG = 600  # seconds beyond which a person at a terminal is asked first
_ALPHA = 0.1  # of a file, as in `conftr fit`


def sweep(
    data: Annotated[
        str,
        typer.Argument(
            help="A name from `conftr data list`, or a .csv, .tsv, .parquet, .npz or .npy file."
        ),
    ],
    target: opt.Target = None,
    labels: opt.Labels = None,
    drop: opt.Drop = None,
    category: opt.Category = None,
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
        typer.Option(help="Which, with commas between (default: all five, or the file's)"),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Passes over the training data.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help=f"{opt.ALPHA} (default: the dataset's; of a file 0.1)")
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
    seed: opt.Seed = 0,
    ray: manners.Ray = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would cost, and stop.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Start without asking.")] = False,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Make what is found the default of `conftr compare`.")
    ] = False,
    results: manners.Results = Path("results"),
    runs: manners.Runs = Path("runs"),
    data_dir: manners.DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was chosen as JSON.")] = False,
    quiet: manners.Quiet = False,
) -> None:
    """Find settings: try every combination of a grid, on held-out training data alone.

    Says first what that will cost. Stop it at any time: the same command goes on where it was.
    """
    quiet = quiet or as_json
    with manners.in_words():
        from dataclasses import replace

        from conftr.conformal import checks
        from conftr.data.own import Wanted
        from conftr.experiments import cost, gridfile, grids, race, reading
        from conftr.experiments.pools import held_out_size
        from conftr.experiments.settings import Wish
        from conftr.experiments.sweep import asked

        if adopt and Path(data).suffix:
            raise ValueError(
                "--adopt makes settings the default of `conftr compare`, which takes named "
                "datasets; for a file of your own, `conftr fit --tune` takes up what it finds."
            )
        if alpha is not None:
            checks.one_probability(alpha, "--alpha")
        out, alpha = sys.stdout, gridfile.alpha_of(grid) if alpha is None else alpha
        with manners.connected(ray) as executor:
            with manners.watched(quiet) as watch:
                parts = Wanted(target, labels, None, tuple(drop or ()), tuple(category or ()))
                shop = manners.workshop(results, runs, data_dir, watch)
                name, setup, shop = _subject(data, parts, shop, alpha, seed)
                n = len(shop.load(name).y_train)
                wanted = gridfile.wanted(
                    grid,
                    name,
                    reading.names(methods) if methods else None,
                    rows=n - held_out_size(n),
                    epochs=epochs or setup.epochs,
                )
                if halving is not None:
                    wanted = grids.halved(wanted, halving)
                wish = Wish(reading.model(model), epochs, alpha, seed=seed)
                sweeps = asked(wanted, name, setup, wish)
                price = cost.cost(sweeps, shop, executor)
            if dry_run:
                typer.echo(price.words(), file=out)
                return
            if not quiet and not _agreed(price, yes):
                return
            with manners.watched(quiet) as watch:
                records = race.sweep(sweeps, replace(shop, watch=watch), executor)
        if adopt:
            _adopt(records)
    files = [one.path(shop.store) for one in sweeps]
    _print(records, files, as_json=as_json, quiet=quiet)


def _subject(
    data: str, parts: Wanted, shop: Workshop, alpha: float | None, seed: int
) -> tuple[str, Setup, Workshop]:
    """The name of the data, their setup, and the workshop that has them."""
    from dataclasses import replace

    from conftr.data.own import read
    from conftr.experiments import settings
    from conftr.experiments.own import subject

    if not Path(data).suffix:
        return data, settings.setup(data), shop
    own = read(data, parts)
    for note in own.notes:
        shop.watch.note(note)
    dataset, setup = subject(own, data, alpha=_ALPHA if alpha is None else alpha, seed=seed)
    return dataset.name, setup, replace(shop, load={dataset.name: dataset}.__getitem__)


def _adopt(records: list[Any]) -> None:
    from conftr.experiments import settings

    for one in records:
        settings.setup(one["sweep"]["dataset"])
        settings.adopt(one["sweep"]["dataset"], one["sweep"]["method"], one["chosen"])


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
