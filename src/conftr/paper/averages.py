"""Members and a head under the paper's protocol: averages of five networks, from the store.

ROOT/averages/DATASET.json     by method what was tried, what was chosen, and the record

`benchmarks/averages.py` writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conftr.experiments.specification import shown_method
from conftr.experiments.store import Store, read
from conftr.machine.table import RECORD, Table
from conftr.paper.later import Link, result_of, size
from conftr.paper.remarks import remarks

KEY = "averages"
TITLE = "Members and a head: averages of five networks"
COMMAND = "python benchmarks/averages.py"
TITLES = {
    "mnist": "MNIST, linear, alpha = .01",
    "winequality-grades": "WineQuality, seven grades, MLP 2x64, alpha = .1",
    "fashion-mnist": "Fashion-MNIST, MLP 2x64, alpha = .01",
    "emnist-test": "EMNIST (test split), MLP 2x128, alpha = .01",
}
COLUMNS = [
    "method",
    "one network, THR",
    "APS",
    "average of five, THR",
    "APS",
    "head on the average, THR",
    "APS",
    "coverage %",
    "chosen",
    RECORD,
]


def entries(store: Store, dataset: str) -> list[Any]:
    """What is stored of a dataset, by method; none where nothing is."""
    path = store.root / KEY / f"{dataset}.json"
    return list(read(path)["entries"]) if path.exists() else []


def tables(store: Store, link: Link) -> Iterator[Table]:
    """A table for each dataset that has been run."""
    for dataset, title in TITLES.items():
        stored = entries(store, dataset)
        if stored:
            texts = [remark.text for remark in remarks(f"{KEY}-{dataset}")]
            yield Table(title, COLUMNS, [_line(store, entry, link) for entry in stored], texts)


def missing(store: Store) -> list[str]:
    """The datasets that have not been run."""
    return [dataset for dataset in TITLES if not entries(store, dataset)]


def _line(store: Store, entry: Any, link: Link) -> list[str]:
    record = read(store.root / entry["record"])
    sizes = [
        size(result_of(record[name], score))
        for name in ("results", "average", "head")
        for score in ("THR", "APS")
    ]
    covered = result_of(record["head"], "THR")["coverage"]["mean"]
    return [
        shown_method(entry["method"]),
        *sizes,
        f"{100 * covered:.2f}",
        _chosen(entry["chosen"]),
        link(Path(entry["record"])),
    ]


def _chosen(settings: Any) -> str:
    """The settings that were searched, on any of the datasets."""
    told = [
        f"{settings['epochs']} epochs",
        settings["schedule"],
        f"learning rate {settings['learning_rate']:g}",
        f"weight decay {settings['weight_decay']:g}",
    ]
    if "augmentation" in settings:
        told.append(settings["augmentation"])
    return ", ".join(told)
