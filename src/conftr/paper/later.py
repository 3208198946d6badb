"""After the paper: later methods under one protocol, as tables from the store.

ROOT/later/DATASET.json     which records and searches belong together, by method

`benchmarks/after_the_paper.py` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from conftr.experiments.specification import shown_method
from conftr.experiments.store import Record, Store, read
from conftr.machine.table import RECORD, Table
from conftr.paper.remarks import remarks
from conftr.search.methods import LATER

KEY = "later"
TITLE = "After the paper: later methods under one protocol"
COMMAND = "python benchmarks/after_the_paper.py"
METHODS = ("cross-entropy-tuned", "conftr", "conftr-class", *LATER)
LONG_TAIL = "fashion-mnist-long-tail"
TITLES = {
    "mnist": "MNIST, linear, alpha = .01",
    "winequality-grades": "WineQuality, seven grades, MLP 2x64, alpha = .1",
    "fashion-mnist": "Fashion-MNIST, MLP 2x64, alpha = .01",
    "emnist-test": "EMNIST (test split), MLP 2x128, alpha = .01",
    "cifar10-resnet34": "CIFAR10, linear on a ResNet-34's features, alpha = .01",
    "cifar100-imagenet": "CIFAR100, linear on ImageNet features, alpha = .01",
    LONG_TAIL: "Fashion-MNIST with a long tail, MLP 2x64, alpha = .05",
}

Link = Callable[[Path], str]


class Entry(NamedTuple):
    """A method with its record, and where that and its search lie, seen from the store."""

    method: str
    record: Record
    path: Path
    sweep: Path


def entries(store: Store, dataset: str) -> list[Entry]:
    """What is stored of a dataset, by method; none where nothing is."""
    path = store.root / KEY / f"{dataset}.json"
    listed = read(path)["entries"] if path.exists() else []
    return [
        Entry(
            shown_method(row["method"]),
            read(store.root / row["record"]),
            Path(row["record"]),
            Path(row["sweep"]),
        )
        for row in listed
    ]


def tables(store: Store, link: Link) -> Iterator[Table]:
    """A table for each dataset that has been run."""
    for dataset, title in TITLES.items():
        stored = entries(store, dataset)
        if stored:
            make = _long_tailed if dataset == LONG_TAIL else _compared
            texts = [remark.text for remark in remarks(f"{KEY}-{dataset}")]
            texts.extend(_not_run(dataset, stored))
            yield make(title, stored, link)._replace(remarks=texts)


def missing(store: Store) -> list[str]:
    """The datasets that have not been run."""
    return [dataset for dataset in TITLES if not entries(store, dataset)]


def _not_run(dataset: str, stored: list[Entry]) -> Iterator[str]:
    """A sentence on the methods that a dataset's table lacks, if there are any."""
    known = {entry.method for entry in stored}
    rest = [method for method in METHODS if method not in known]
    if rest:
        command = f"{COMMAND} {dataset} --methods {','.join(rest)}"
        yield f"Not run here: {', '.join(rest)}. `{command}` does that."


def _compared(title: str, stored: list[Entry], link: Link) -> Table:
    columns = [
        "method",
        "one network, THR",
        "APS",
        "APS, ConfTS",
        "average of five, THR",
        "APS",
        "head on five, THR",
        "APS",
        "coverage %",
        RECORD,
        "search",
    ]
    return Table(title, columns, [list(_line(entry, link)) for entry in stored], [])


def _line(entry: Entry, link: Link) -> Iterator[str]:
    record = entry.record
    yield entry.method + _failures(record)
    single, scaled = record["results"], record.get("temperature", [])
    yield from (size(result_of(single, score)) for score in ("THR", "APS"))
    yield size(result_of(scaled, "APS"))
    for name in ("average", "head"):
        yield from (size(result_of(record.get(name, []), score)) for score in ("THR", "APS"))
    thr = result_of(single, "THR")
    yield f"{100 * thr['coverage']['mean']:.2f}" if thr else "–"
    yield link(entry.path)
    yield link(entry.sweep)


def _long_tailed(title: str, stored: list[Entry], link: Link) -> Table:
    columns = [
        "method",
        "one threshold: size",
        "worst class: size",
        "worst class: coverage %",
        "a threshold for each class: size",
        "worst class: size",
        "worst class: coverage %",
        "accuracy %",
        RECORD,
        "search",
    ]
    return Table(title, columns, [list(_tail_line(entry, link)) for entry in stored], [])


def _tail_line(entry: Entry, link: Link) -> Iterator[str]:
    record = entry.record
    yield entry.method + _failures(record)
    single = result_of(record["results"], "THR")
    yield from _worst(single, single["inefficiency"]["mean"])
    by_class = result_of(record["by_class"], "THR")
    yield from _worst(by_class, by_class["inefficiency"])
    yield f"{100 * single['accuracy']['mean']:.2f}"
    yield link(entry.path)
    yield link(entry.sweep)


def _worst(result: Any, size: float) -> Iterator[str]:
    yield f"{size:.2f}"
    yield f"{max(result['class_inefficiency']):.2f}"
    yield f"{100 * min(result['class_coverage']):.1f}"


def result_of(results: Any, score: str) -> Any:
    """The result by a score, or None."""
    return next((result for result in results if result["score"] == score), None)


def size(result: Any) -> str:
    """A mean set size, with its deviation over trainings where there are several."""
    if result is None:
        return "–"
    spread = result["inefficiency"]
    std = spread["std_trials"]
    return f"{spread['mean']:.3f}" + ("" if std is None else f" ± {std:.3f}")


def _failures(record: Record) -> str:
    failed, trials = record["failed"], record["specification"]["trials"]
    return f" ({failed} of {trials} failed)" if failed else ""
