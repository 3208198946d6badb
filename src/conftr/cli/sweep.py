"""The verb `sweep`: settings told apart on held-out training data, here or on a cluster."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conftr.cli import console
from conftr.cli import options as opt

if TYPE_CHECKING:
    from conftr.data.user_files import Roles
    from conftr.experiments.runner import Workspace
    from conftr.search.cost import Cost
    from conftr.search.settings import SettingsFile
    from conftr.search.sweeps import Sweep

_LONG = 600  # seconds beyond which a person at a terminal is asked first
_ALPHA, _ALPHA_OF_FILE = 0.01, 0.1  # as in `conftr compare` and in `conftr fit`


_Data = Annotated[
    str,
    typer.Argument(
        help="A name from `conftr data list`, or a .csv, .tsv, .parquet, .npz or .npy file."
    ),
]
_Grid = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="What to try, a TOML file; what it does not say has defaults (default: the "
        "paper's grid, thinned out, in stages)",
    ),
]
_Methods = Annotated[
    str | None,
    typer.Option(
        help="Which, with commas between: names, or FILE.py:NAME for one of your own "
        "(default: those of the grid, or all five)"
    ),
]
_Alpha = Annotated[
    float | None,
    typer.Option(help=f"{opt.ALPHA} (default: the grid's, else 0.01; of a file 0.1)"),
]
_Halving = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Successive halving in place of the grid's stages: so many rounds, each with a "
        "third of the next one's epochs, keep a third of the configurations.",
    ),
]
_Equal = Annotated[
    bool,
    typer.Option(
        "--equal-budget",
        help="As many configurations for every method, in place of a grid: two learning rates, "
        "two values of a setting of its own, half of the epochs and all of them.",
    ),
]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what it would cost, and stop.")]


def sweep(
    data: _Data,
    target: opt.Target = None,
    labels: opt.Labels = None,
    drop: opt.Drop = None,
    category: opt.Category = None,
    text: opt.Text = None,
    grid: _Grid = None,
    methods: _Methods = None,
    epochs: opt.Epochs = None,
    alpha: _Alpha = None,
    model: Annotated[str | None, typer.Option(help="linear, mlp:64x64 or convnet:32x64.")] = None,
    halving: _Halving = None,
    equal: _Equal = False,
    seed: opt.Seed = 0,
    ray: opt.Ray = None,
    dry_run: _DryRun = False,
    yes: Annotated[bool, typer.Option("--yes", help="Start without asking.")] = False,
    results: opt.Results = Path("results"),
    runs: opt.Runs = Path("runs"),
    data_dir: opt.DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was chosen as JSON.")] = False,
    quiet: opt.Quiet = False,
) -> None:
    """Find settings: try every combination of a grid, on held-out training data alone.

    Says first what that will cost, and ends in a settings file, which `conftr fit` and `conftr
    compare` take. Stop it at any time: the same command goes on where it was.
    """
    quiet = quiet or as_json
    with console.errors_in_words():
        from conftr.experiments.sweeping import measurements, run_sweeps, without_record
        from conftr.search.cost import cost

        out, file = sys.stdout, _file(grid, methods, alpha)
        with console.connected(ray) as executor:
            with console.shown_progress(quiet) as display:
                columns = opt.roles(target, labels, drop, category, text)
                workspace = console.workspace(results, runs, data_dir, display)
                name, workspace = _dataset(data, columns, workspace, seed)
                changes = {"model": model, "epochs": epochs}
                sweeps = _sweeps(name, file, changes, halving, workspace, seed, equal=equal)
                missing = without_record(sweeps, workspace.store)
                price = cost(missing, measurements(workspace), executor, display)
            if dry_run:
                typer.echo(price.words(), file=out)
                return
            if not quiet and not _agreed(price, yes):
                return
            with console.shown_progress(quiet) as display:
                workspace = replace(workspace, display=display)
                records = run_sweeps(sweeps, workspace, executor)
        command = _next(data, columns, seed)
        _print(command, sweeps, records, workspace, as_json=as_json, quiet=quiet)


def _file(grid: Path | None, methods: str | None, alpha: float | None) -> SettingsFile:
    """What the grid says, but for the methods and the alpha that were typed."""
    from conftr.conformal import checks
    from conftr.search import text
    from conftr.search.settings import SettingsFile, read

    names = text.names(methods) if methods else None
    file = read(grid).with_methods(names) if grid else SettingsFile(methods=names or ())
    if alpha is not None:
        file = replace(file, alphas=(float(checks.one_probability(alpha, "--alpha")),))
    return file


def _dataset(data: str, columns: Roles, workspace: Workspace, seed: int) -> tuple[str, Workspace]:
    """The name of the data, and the workspace that has them."""
    from conftr.data.user_files import read
    from conftr.experiments.user_file import dataset_of

    if not Path(data).suffix:
        return data, workspace
    given = read(data, columns)
    for note in given.notes:
        workspace.display.note(note)
    dataset = dataset_of(given, data, seed=seed, texts=columns.texts)
    return dataset.name, replace(workspace, load={dataset.name: dataset}.__getitem__)


def _sweeps(
    name: str,
    file: SettingsFile,
    changes: dict[str, Any],
    halving: int | None,
    workspace: Workspace,
    seed: int,
    *,
    equal: bool,
) -> list[Sweep]:
    """What is to be tried on a dataset, with what suits it where nothing is said."""
    from conftr.experiments.defaults import default_settings
    from conftr.search.grids import coarse, equal_budget
    from conftr.search.settings import halved
    from conftr.search.sweeps import held_out_size, sweeps

    dataset = workspace.load(name)
    n = len(dataset.y_train)
    rows = n - held_out_size(n)
    alpha = _ALPHA if len(dataset.y_test) else _ALPHA_OF_FILE
    base = default_settings(dataset, (file.alphas or (alpha,))[0], rows)
    base |= {setting: value for setting, value in changes.items() if value is not None}
    if equal:
        lengths, level = (max(1, base["epochs"] // 2), base["epochs"]), (file.alphas or (alpha,))[0]
        equally = equal_budget(file.names, lengths, alpha=level)
        file = replace(equally, score=file.score, resampled=file.resampled)
    elif file.shared or file.by_method:
        file = file.changed(**changes)  # what was typed stands before what the grid says
    else:
        thinned = coarse(file.names, rows=rows, epochs=base["epochs"])
        file = replace(thinned, alphas=file.alphas, score=file.score, resampled=file.resampled)
    if halving is not None:
        file = halved(file, halving)
    return sweeps(file, name, base, alpha=alpha, seed=seed)


def _agreed(price: Cost, yes: bool) -> bool:
    """Say what it will cost; whether to start."""
    if price.epochs:
        typer.echo(price.words(), err=True)
    ask = price.seconds > _LONG and not yes and sys.stdin.isatty()
    return not ask or typer.confirm("Start?", err=True)


def _next(data: str, columns: Roles, seed: int) -> str:
    """The command that takes the settings, but for their file: nothing has to be typed again."""
    if not Path(data).suffix:
        return shlex.join(["conftr", "compare", data])
    options: dict[str, Any] = {
        "--target": [columns.target],
        "--labels": [columns.labels],
        "--seed": [seed or None],
        "--drop": columns.drop,
        "--category": columns.categories,
        "--text": columns.texts or (),
    }
    pairs = [(name, value) for name, values in options.items() for value in values]
    words = [str(word) for pair in pairs if pair[1] is not None for word in pair]
    return shlex.join(["conftr", "fit", data, *words])


def _print(
    command: str,
    sweeps: list[Sweep],
    records: list[Any],
    workspace: Workspace,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    from conftr.experiments.sweeping import outcome, path_of, write_settings
    from conftr.search.stages import best_of

    paths = [path_of(sweep, workspace.store) for sweep in sweeps]
    settings = write_settings(sweeps, records, workspace.store)
    if as_json:
        written = {"settings": str(settings)}
        trios = zip(sweeps, records, paths, strict=True)
        outcomes = [
            outcome(sweep, record) | {"file": str(path)} | written for sweep, record, path in trios
        ]
        typer.echo(json.dumps(outcomes, indent=1))
        return
    console.draw([best_of(sweeps, records)])
    if not quiet:
        typer.echo("Results: " + " ".join(map(str, paths)), err=True)
        typer.echo(f"Settings: {settings}", err=True)
        typer.echo(f"Next: {command} --settings {shlex.quote(str(settings))}", err=True)
