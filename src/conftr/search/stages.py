"""Stages of a search: every configuration of a stage, then the best of them in the next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from conftr.machine.cluster import HERE, Executor
from conftr.machine.progress import SILENT, Display
from conftr.machine.table import Table
from conftr.search.attempts import Attempt
from conftr.search.measurements import Measurements, Sizes, measure
from conftr.search.sweeps import Sweep

Record: TypeAlias = dict[str, Any]

_SHOWN, _BEST = 8, 3  # of all methods so far; of each in the end


class Round(NamedTuple):
    """A sweep in a stage: the settings that are left, each with what it trains."""

    sweep: Sweep
    field: list[tuple[Mapping[str, Any], list[Attempt]]]

    @property
    def attempts(self) -> list[Attempt]:
        """All that is trained."""
        return [attempt for _, attempts in self.field for attempt in attempts]

    def ranked(self, sizes: Sizes) -> list[Record]:
        """Settings measured on all their divisions, the smallest mean set size first."""
        complete = [pair for pair in self.field if all(attempt in sizes for attempt in pair[1])]
        entries = [
            _entry(settings, [sizes[attempt] for attempt in tried]) for settings, tried in complete
        ]
        return sorted(entries, key=_size)


def round_of(sweep: Sweep, settings: Sequence[Mapping[str, Any]], number: int) -> Round:
    """A sweep in one of its stages, with the settings that have come so far."""
    stage = sweep.stages[number]
    return Round(sweep, [(dict(values), sweep.attempts(values, stage)) for values in settings])


def narrow(
    sweeps: Sequence[Sweep],
    measurements: Measurements,
    executor: Executor = HERE,
    display: Display = SILENT,
) -> list[Record]:
    """Go through the stages of several sweeps, all of a stage together.

    Args:
        sweeps: of one dataset.
        measurements: where what was measured is kept, and found again.
        executor: where trainings run.
        display: is told how far it is and what is best so far.

    Returns:
        For each sweep the settings `chosen`, and the entries of `stage_1`, `stage_2`, ...
    """
    left: list[Sequence[Mapping[str, Any]]] = [sweep.configurations() for sweep in sweeps]
    records: list[Record] = [{} for _ in sweeps]
    for number in range(max((len(sweep.stages) for sweep in sweeps), default=0)):
        rounds = {
            i: round_of(sweep, left[i], number)
            for i, sweep in enumerate(sweeps)
            if sweep.stages[number:]
        }
        attempts = [attempt for round_ in rounds.values() for attempt in round_.attempts]
        title, sizes = f"{sweeps[0].dataset} stage {number + 1}", Sizes()
        for new in measure(attempts, measurements, executor, display, title):
            sizes |= new
            display.show(_best_so_far(list(rounds.values()), sizes))
        for i, round_ in rounds.items():
            records[i][f"stage_{number + 1}"] = ranked = round_.ranked(sizes)
            left[i] = [entry["settings"] for entry in ranked[: round_.sweep.stages[number].keep]]
    display.show(_table("", []))
    return [{"chosen": left[i][0]} | record for i, record in enumerate(records)]


def _best_so_far(rounds: Sequence[Round], sizes: Sizes) -> Table:
    """The best of all methods, as a table."""
    ranked = [(round_.sweep.title, entry) for round_ in rounds for entry in round_.ranked(sizes)]
    best = sorted(ranked, key=lambda pair: _size(pair[1]))[:_SHOWN]
    count = sum(len(round_.field) for round_ in rounds)
    return _table(f"best of {len(ranked)} of {count} configurations so far", best)


def best_of(sweeps: Sequence[Sweep], records: Sequence[Record]) -> Table:
    """The first three of each method in its last stage, as a table."""
    pairs = zip(sweeps, records, strict=True)
    best = [(sweep.title, entry) for sweep, record in pairs for entry in last_stage(record)[:_BEST]]
    first = sweeps[0]
    title = (
        f"{first.dataset}, alpha {first.alpha:g}: mean set size ({first.score}) on held-out "
        f"training data"
    )
    return _table(title, best)


def last_stage(record: Record) -> list[Record]:
    """The entries of the last stage, the best first."""
    names = [name for name in record if name.startswith("stage_")]
    entries: list[Record] = record[names[-1]]
    return entries


def _table(title: str, best: Sequence[tuple[str, Record]]) -> Table:
    names = list(dict.fromkeys(name for _, entry in best for name in entry["settings"]))
    cells = [
        [method, _shown(entry["inefficiency"], "failed")]
        + [_shown(entry["settings"].get(name), "") for name in names]
        for method, entry in best
    ]
    return Table(title, ["method", "size", *(name.replace("_", " ") for name in names)], cells, [])


def _entry(settings: Mapping[str, Any], repeats: list[float | None]) -> Record:
    known = [size for size in repeats if size is not None]
    mean = round(sum(known) / len(known), 6) if len(known) == len(repeats) else None
    return {"inefficiency": mean, "settings": settings, "repeats": repeats}


def _size(entry: Record) -> float:
    return math.inf if entry["inefficiency"] is None else entry["inefficiency"]


def _shown(value: Any, missing: str) -> str:
    if value is None:
        return missing
    return f"{value:.5g}" if isinstance(value, int | float) else str(value)
