"""The verb `demo`: the main job on handwritten digits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conftr.cli import options as opt
from conftr.cli.fit import fit

_SIDES = "0,2,4,6,8|1,3,5,7,9"


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the model and its report.")] = Path(
        "demo-conftr"
    ),
    quiet: opt.Quiet = False,
) -> None:
    """Fit handwritten digits, with a wish about their sets: a model and a report in a minute."""
    command = f"conftr fit digits --alpha 0.005 --separate '{_SIDES}' --out {out}"
    if not quiet:
        typer.echo(command, err=True)
    fit(
        "digits",
        alpha=0.005,
        separate=[_SIDES],
        out=out,
        overwrite=(out / "manifest.json").exists(),
        quiet=quiet,
    )
    typer.echo(
        f"\nOpen {out / 'report.html'} in a browser: move the slider, look at the pictures whose\n"
        f"sets are large or wrong, and see what the wish changed and cost at every weight: even\n"
        f"and odd digits should not share a set, as high and low risk should not. Then, for your\n"
        f"own data:\n"
        f"conftr fit YOUR.csv --target COLUMN"
    )
