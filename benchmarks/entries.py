"""Which records of a dataset belong together, a line for each method, kept as they come."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import filelock

from conftr.experiments.specification import stored_method
from conftr.experiments.store import read, write


def keep(path: Path, dataset: str, entry: dict[str, Any], methods: Sequence[str]) -> None:
    """Put an entry among those of the file, in the order of methods; several runs may do so."""
    order = [stored_method(method) for method in methods]
    path.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(path.with_suffix(".lock")):
        known = read(path)["entries"] if path.exists() else []
        entries = [one for one in known if one["method"] != entry["method"]] + [entry]
        entries.sort(key=lambda one: order.index(one["method"]))
        write(path, {"dataset": dataset, "entries": entries})
