"""Tables from stored records, and from nothing else."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from conftr.experiments.comparison import DEFAULTS
from conftr.experiments.specification import shown_method
from conftr.experiments.store import Record
from conftr.machine.table import Table

Row: TypeAlias = dict[str, Any]

CROSS_ENTROPY = "cross-entropy"


def rows(records: Sequence[Record]) -> list[Row]:
    """One row for each method, score and alpha, in plain numbers; `change` is to cross-entropy."""
    return [_row(record, result, records) for record in records for result in record["results"]]


def _row(record: Record, result: Row, records: Sequence[Record]) -> Row:
    specification, sizes = record["specification"], result["inefficiency"]
    return {
        "dataset": specification["training"]["dataset"],
        "method": _method(record),
        "score": result["score"],
        "alpha": result["alpha"],
        "inefficiency": sizes["mean"],
        "std_trials": sizes["std_trials"],
        "std_splits": sizes["std_splits"],
        "change": _change(sizes["mean"], result, records),
        "coverage": result["coverage"]["mean"],
        "accuracy": result["accuracy"]["mean"],
        "consistent": result["consistent"],
        "trials": specification["trials"],
        "failed": record["failed"],
        "splits": specification["evaluation"]["splits"],
        "settings": record.get("settings"),
        "record": record["name"],
    }


def _change(mean: float, result: Row, records: Sequence[Record]) -> float | None:
    """Relative difference to the inefficiency of cross-entropy, or None without it."""
    for record in records:
        if _method(record) == CROSS_ENTROPY:
            for other in record["results"]:
                if (other["score"], other["alpha"]) == (result["score"], result["alpha"]):
                    return round(float(mean / other["inefficiency"]["mean"] - 1), 6)
    return None


def _method(record: Record) -> str:
    return shown_method(record["specification"]["method"])


def tables(records: Sequence[Record]) -> list[Table]:
    """A table for each alpha: a line for each method, a column for each score."""
    every = rows(records)
    measured = (record["specification"]["evaluation"]["alphas"] for record in records)
    alphas = list(dict.fromkeys(alpha for several in measured for alpha in several))
    return [_table(records, [row for row in every if row["alpha"] == a], a) for a in alphas]


def _table(records: Sequence[Record], numbers: Sequence[Row], alpha: float) -> Table:
    scores = list(dict.fromkeys(row["score"] for row in numbers))
    columns = ["method", "accuracy %", "coverage %", *(f"{score} size" for score in scores)]
    cells = [list(_line(record, numbers, scores)) for record in records]
    first = records[0]["specification"]
    title = (
        f"{first['training']['dataset']}, alpha {alpha:g}: mean set size over {first['trials']} "
        f"training trials x {first['evaluation']['splits']} splits, ± deviation over trials"
    )
    if any(row["change"] is not None for row in numbers):
        title += "; change to cross-entropy"
    return Table(title, columns, cells, list(_remarks(records)))


def _line(record: Record, numbers: Sequence[Row], scores: Sequence[str]) -> Iterator[str]:
    by_score = {row["score"]: row for row in numbers if row["record"] == record["name"]}
    yield _method(record)
    if not by_score:
        yield from ["failed"] * (2 + len(scores))
        return
    first = by_score[scores[0]]
    yield f"{100 * first['accuracy']:.2f}"
    yield f"{100 * first['coverage']:.2f}"
    yield from (size(by_score[score]) for score in scores)


def size(row: Row) -> str:
    """Mean set size as text, the change to cross-entropy below: 1.730 ± 0.012, -16.9 %."""
    text = f"{row['inefficiency']:.3f}"
    if row["std_trials"] is not None:
        text += f" ± {row['std_trials']:.3f}"
    if row["change"] is not None and row["method"] != CROSS_ENTROPY:
        text += f"\n{100 * row['change']:+.1f} %"
    return text


def _remarks(records: Sequence[Record]) -> Iterator[str]:
    """What a reader must know of single methods."""
    for record in records:
        method, trials = _method(record), record["specification"]["trials"]
        if record["failed"]:
            yield f"{method}: {record['failed']} of {trials} trials failed and are left out."
        if record.get("settings") == DEFAULTS:
            yield f"{method}: its settings are defaults, not searched."


def as_csv(records: Sequence[Record]) -> str:
    """The plain rows as CSV."""
    numbers, text = rows(records), io.StringIO()
    writer = csv.DictWriter(text, list(numbers[0]) if numbers else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(numbers)
    return text.getvalue()
