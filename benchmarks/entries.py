"""What comparisons of methods share: what is asked for, and which records belong together.

Of each dataset there is a file with a line for each method, kept as they come.
"""

import argparse
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import filelock

from conftr.experiments import Store
from conftr.experiments.runner import Workspace
from conftr.experiments.specification import stored_method
from conftr.experiments.store import read, write
from conftr.machine.progress import SILENT

ROOT = Path(__file__).parents[1]


def requested(
    words: str, datasets: Sequence[str], methods: Sequence[str]
) -> tuple[Workspace, Iterator[tuple[str, str]]]:
    """From the command line: where to work, and each dataset with each method that it names."""
    arguments = argparse.ArgumentParser(description=words)
    arguments.add_argument("datasets", nargs="+", choices=datasets)
    arguments.add_argument("--methods", default=",".join(methods))
    arguments.add_argument("--runs", type=Path, default=Path("runs"))
    arguments.add_argument("--results", type=Path, default=ROOT / "results")
    given = arguments.parse_args()
    workspace = Workspace(Store(given.results), given.runs, display=SILENT)
    return workspace, product(given.datasets, given.methods.split(","))


def keep(path: Path, dataset: str, entry: dict[str, Any], methods: Sequence[str]) -> None:
    """Put an entry among those of the file, in the order of methods; several runs may do so."""
    order = [stored_method(method) for method in methods]
    path.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(path.with_suffix(".lock")):
        known = read(path)["entries"] if path.exists() else []
        entries = [other for other in known if other["method"] != entry["method"]] + [entry]
        entries.sort(key=lambda other: order.index(other["method"]))
        write(path, {"dataset": dataset, "entries": entries})
