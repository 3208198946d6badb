"""Tables from stored records, and from nothing else."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from conftr.experiments.store import Record
from conftr.machine.table import Table

Row: TypeAlias = dict[str, Any]

BASELINE = "baseline"


def rows(records: Sequence[Record]) -> list[Row]:
    """One row for each method, score and alpha, in plain numbers; `change` is to the baseline."""
    return [_row(record, result, records) for record in records for result in record["results"]]


def _row(record: Record, result: Row, records: Sequence[Record]) -> Row:
    specification, size = record["specification"], result["inefficiency"]
    return {
        "dataset": specification["training"]["dataset"],
        "method": specification["method"],
        "score": result["score"],
        "alpha": result["alpha"],
        "inefficiency": size["mean"],
        "std_trials": size["std_trials"],
        "std_splits": size["std_splits"],
        "change": _change(size["mean"], result, records),
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
    """Relative difference to the baseline's inefficiency, or None without a baseline."""
    for record in records:
        if record["specification"]["method"] == BASELINE:
            for other in record["results"]:
                if (other["score"], other["alpha"]) == (result["score"], result["alpha"]):
                    return round(float(mean / other["inefficiency"]["mean"] - 1), 6)
    return None


def tables(records: Sequence[Record]) -> list[Table]:
    """A table for each alpha: a line for each method, a column for each score."""
    found = rows(records)
    asked = (record["specification"]["evaluation"]["alphas"] for record in records)
    alphas = list(dict.fromkeys(alpha for own in asked for alpha in own))
    return [_table(records, [row for row in found if row["alpha"] == a], a) for a in alphas]


def _table(records: Sequence[Record], found: Sequence[Row], alpha: float) -> Table:
    scores = list(dict.fromkeys(row["score"] for row in found))
    columns = ["method", "accuracy %", "coverage %", *(f"{score} size" for score in scores)]
    cells = [list(_line(record, found, scores)) for record in records]
    one = records[0]["specification"]
    title = (
        f"{one['training']['dataset']}, alpha {alpha:g}: mean set size over {one['trials']} "
        f"training trials x {one['evaluation']['splits']} splits, ± deviation over trials; "
        f"change to the baseline"
    )
    return Table(title, columns, cells, list(_remarks(records)))


def _line(record: Record, found: Sequence[Row], scores: Sequence[str]) -> Iterator[str]:
    method = record["specification"]["method"]
    own = {row["score"]: row for row in found if row["method"] == method}
    yield method
    if not own:
        yield from ["failed"] * (2 + len(scores))
        return
    first = own[scores[0]]
    yield f"{100 * first['accuracy']:.2f}"
    yield f"{100 * first['coverage']:.2f}"
    yield from (size(own[score]) for score in scores)


def size(row: Row) -> str:
    """Mean set size as text, the change to the baseline below: 1.730 ± 0.012, -16.9 %."""
    text = f"{row['inefficiency']:.3f}"
    if row["std_trials"] is not None:
        text += f" ± {row['std_trials']:.3f}"
    if row["change"] is not None and row["method"] != BASELINE:
        text += f"\n{100 * row['change']:+.1f} %"
    return text


def _remarks(records: Sequence[Record]) -> Iterator[str]:
    """What a reader must know of single methods."""
    for record in records:
        method, trials = record["specification"]["method"], record["specification"]["trials"]
        if record["failed"]:
            yield f"{method}: {record['failed']} of {trials} trials failed and are left out."
        if "stand-in" in (record.get("settings") or ""):
            yield f"{method}: its settings are a {record['settings']}."


def as_csv(records: Sequence[Record]) -> str:
    """The plain rows as CSV."""
    found, text = rows(records), io.StringIO()
    writer = csv.DictWriter(text, list(found[0]) if found else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    return text.getvalue()
