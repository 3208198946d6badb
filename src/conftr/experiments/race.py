"""Running sweeps: every configuration of a stage, then the best of them in the next.

ROOT/sweeps/DATASET-METHOD-DIGEST.json     every configuration with its score, and the chosen
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from conftr.experiments.bundles import Entrant
from conftr.experiments.ledger import Scores, ledger, measured
from conftr.experiments.runner import Workshop, alone, made
from conftr.experiments.store import Record, read, write
from conftr.experiments.sweep import Sweep, Values
from conftr.machine.cluster import HERE, Executor
from conftr.machine.table import Table

_SHOWN, _BEST = 8, 3  # of all methods so far; of each in the end


class Lane(NamedTuple):
    """A sweep in a stage: the configurations that are left, each with what it trains."""

    sweep: Sweep
    field: list[tuple[Values, list[Entrant]]]

    def ranked(self, scores: Scores) -> list[Record]:
        """Configurations measured on all their divisions, the smallest mean set size first."""
        complete = [pair for pair in self.field if all(one in scores for one in pair[1])]
        found = [_entry(values, [scores[one] for one in own]) for values, own in complete]
        return sorted(found, key=_size)


def sweep(asked: Sequence[Sweep], workshop: Workshop, executor: Executor = HERE) -> list[Record]:
    """The record of each sweep, from the store or made now; all of a stage run together."""
    paths = [one.path(workshop.store) for one in asked]
    missing = [one for one, path in zip(asked, paths, strict=True) if not path.exists()]
    with ExitStack() as locks:
        for one in missing:
            locks.enter_context(alone(workshop.runs / "sweeps" / one.name))
        records = _race(missing, workshop, executor)
        for one, record in zip(missing, records, strict=True):
            write(one.path(workshop.store), record)
    return [read(path) for path in paths]


def _race(asked: Sequence[Sweep], workshop: Workshop, executor: Executor) -> list[Record]:
    begun, book = time.monotonic(), ledger(workshop)
    left = [one.configurations() for one in asked]
    told: list[Record] = [{} for _ in asked]
    for number in range(max((len(one.stages) for one in asked), default=0)):
        lanes = {
            i: lane(one, left[i], number) for i, one in enumerate(asked) if one.stages[number:]
        }
        entrants = [one for own in lanes.values() for _, each in own.field for one in each]
        title, scores = f"{asked[0].dataset} stage {number + 1}", Scores()
        for found in measured(entrants, book, workshop, executor, title):
            scores |= found
            workshop.watch.show(standing(list(lanes.values()), scores))
        for i, own in lanes.items():
            told[i][f"stage_{number + 1}"] = ranked = own.ranked(scores)
            left[i] = [entry["settings"] for entry in ranked[: own.sweep.stages[number].keep]]
    workshop.watch.show(_table("", []))
    seconds = {"sweep": time.monotonic() - begun}
    return [
        {"sweep": one.question(), "chosen": left[i][0]} | told[i] | {"made": made(seconds)}
        for i, one in enumerate(asked)
    ]


def lane(one: Sweep, configurations: Sequence[Values], number: int) -> Lane:
    """A sweep in one of its stages, with the configurations that have come so far."""
    stage = one.stages[number]
    return Lane(one, [(values, one.entrants(values, stage)) for values in configurations])


def standing(lanes: Sequence[Lane], scores: Scores) -> Table:
    """The best so far of all methods, as a table."""
    ranked = [(lane.sweep.method, entry) for lane in lanes for entry in lane.ranked(scores)]
    best = sorted(ranked, key=lambda pair: _size(pair[1]))[:_SHOWN]
    count = sum(len(lane.field) for lane in lanes)
    return _table(f"best of {len(ranked)} of {count} configurations so far", best)


def outcome(record: Record) -> Record:
    """What was chosen, in short."""
    last = _last_stage(record)[0]
    asked = {name: record["sweep"][name] for name in ("dataset", "method", "alpha", "score")}
    return asked | {"inefficiency": last["inefficiency"], "chosen": record["chosen"]}


def podium(records: Sequence[Record]) -> Table:
    """The first three of each method in its last stage, as a table."""
    best = [
        (one["sweep"]["method"], entry) for one in records for entry in _last_stage(one)[:_BEST]
    ]
    asked = records[0]["sweep"]
    title = (
        f"{asked['dataset']}, alpha {asked['alpha']:g}: mean set size ({asked['score']}) on "
        f"held-out training data"
    )
    return _table(title, best)


def _table(title: str, best: Sequence[tuple[str, Record]]) -> Table:
    names = list(dict.fromkeys(name for _, entry in best for name in entry["settings"]))
    cells = [
        [method, _shown(entry["inefficiency"], "failed")]
        + [_shown(entry["settings"].get(name), "") for name in names]
        for method, entry in best
    ]
    return Table(title, ["method", "size", *(name.replace("_", " ") for name in names)], cells, [])


def _last_stage(record: Record) -> list[Record]:
    found: list[Record] = record[f"stage_{len(record['sweep']['stages'])}"]
    return found


def _entry(values: Values, repeats: list[float | None]) -> Record:
    known = [size for size in repeats if size is not None]
    mean = round(sum(known) / len(known), 6) if len(known) == len(repeats) else None
    return {"inefficiency": mean, "settings": values, "repeats": repeats}


def _size(entry: Record) -> float:
    return math.inf if entry["inefficiency"] is None else entry["inefficiency"]


def _shown(value: Any, missing: str) -> str:
    if value is None:
        return missing
    return f"{value:.5g}" if isinstance(value, int | float) else str(value)
