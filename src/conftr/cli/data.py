"""Verbs of `conftr data`: which datasets are there, and get what is not."""

from __future__ import annotations

from typing import Annotated

import typer

from conftr.cli import options as opt
from conftr.cli.console import errors_in_words


def show(data_dir: opt.DataDir = None) -> None:
    """List every dataset, and where it lies or how to get it."""
    with errors_in_words():
        from conftr import data

        for dataset in data.available(data_dir=data_dir):
            where = dataset.place and (dataset.place.folder or dataset.place.label)
            missing = f"not here ({dataset.megabytes:g} MB: conftr data fetch {dataset.name})"
            typer.echo(f"{dataset.name:15} {where or missing}")


def fetch(
    name: Annotated[str, typer.Argument(help="A name from `conftr data list`.")],
    data_dir: opt.DataDir = None,
    quiet: opt.Quiet = False,
) -> None:
    """Get a dataset, unless it is there."""
    with errors_in_words():
        from conftr import data

        place = data.fetch(name, data_dir=data_dir, progress=not quiet)
        typer.echo(f"{name}: {place.folder or place.label}")
