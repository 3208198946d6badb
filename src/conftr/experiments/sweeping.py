"""Sweeps on datasets: their examples, their records, and the settings that they find.

ROOT/sweeps/DATASET-METHOD-DIGEST.json     every configuration with its score, and the chosen
ROOT/settings/DATASET-DIGEST.toml          what several sweeps found, as a settings file
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Self

from conftr.data import Dataset
from conftr.experiments.runner import (
    Workspace,
    circumstances,
    fingerprint,
    note_other_data,
    one_process,
    prepare,
)
from conftr.experiments.specification import stored_method
from conftr.experiments.store import Record, Store, read, write
from conftr.machine.cluster import HERE, Executor
from conftr.machine.plain_data import build, digest
from conftr.search import settings, stages, text
from conftr.search.attempts import Attempt
from conftr.search.held_out import HeldOut, SetSize
from conftr.search.measurements import Measurements
from conftr.search.settings import SettingsFile
from conftr.search.sweeps import Sweep


@dataclass(frozen=True)
class TrainingRows:
    """The training examples of datasets, for a search; there are no others."""

    load: Callable[[str], Dataset]

    def held_out(self, attempt: Attempt) -> HeldOut:
        """What an attempt trains and is measured on."""
        training, evaluation = attempt
        ((_, score),), (alpha,) = evaluation.scores, evaluation.alphas
        examples, data, model, _ = prepare(training, self.load)
        x, y = examples.pool
        size = SetSize(y, alpha, build(score), evaluation.splits, evaluation.seed)
        return HeldOut(model, data, x, size, training.resampled)

    def digest(self, attempt: Attempt) -> str:
        """The digest of those very examples."""
        return fingerprint(self.load, attempt.training.dataset, attempt.training.pool)

    def only_for(self, attempts: Sequence[Attempt]) -> Self:
        """The datasets of these attempts: those who do the work need none of their own."""
        names = {attempt.training.dataset for attempt in attempts}
        datasets = {name: self.load(name) for name in names}
        return replace(self, load=datasets.__getitem__)


def measurements(workspace: Workspace) -> Measurements:
    """The measurements of a workspace. Calibration and test examples are taken away for good."""

    @cache
    def load(name: str) -> Dataset:
        whole = workspace.load(name)
        x, y = whole.x_train[:0], whole.y_train[:0]
        return replace(whole, x_cal=x, y_cal=y, x_test=x, y_test=y)

    return Measurements(workspace.runs / "sweeps", TrainingRows(load), workspace.seconds)


def path_of(sweep: Sweep, store: Store) -> Path:
    """Where the record of a sweep lies, or will."""
    name = f"{sweep.dataset}-{stored_method(sweep.title)}-{sweep.name}.json"
    return store.root / "sweeps" / name


def without_record(sweeps: Sequence[Sweep], store: Store) -> list[Sweep]:
    """The sweeps that have no record yet."""
    return [sweep for sweep in sweeps if not path_of(sweep, store).exists()]


def run_sweeps(
    sweeps: Sequence[Sweep], workspace: Workspace, executor: Executor = HERE
) -> list[Record]:
    """The record of each sweep, from the store or made now; all of a stage run together."""
    missing, begun = without_record(sweeps, workspace.store), time.monotonic()
    for sweep in sweeps:
        path = path_of(sweep, workspace.store)
        if path.exists():
            note_other_data(read(path), path, _first(sweep).training, workspace)
    with ExitStack() as locks:
        for sweep in missing:
            locks.enter_context(one_process(workspace.runs / "sweeps" / sweep.name))
        measured = measurements(workspace)
        outcomes = stages.narrow(missing, measured, executor, workspace.display)
        seconds = {"sweep": time.monotonic() - begun}
        for sweep, outcome in zip(missing, outcomes, strict=True):
            record = {"sweep": _question(sweep)} | outcome
            record["data"] = {"fingerprint": measured.source.digest(_first(sweep))}
            record["made"] = circumstances(seconds)
            write(path_of(sweep, workspace.store), record)
    return [read(path_of(sweep, workspace.store)) for sweep in sweeps]


def _first(sweep: Sweep) -> Attempt:
    """The first attempt of a sweep, whose division of the examples tells them from others."""
    return sweep.attempts(sweep.configurations()[0], sweep.stages[0])[0]


def outcome(sweep: Sweep, record: Record) -> Record:
    """What was chosen, in short."""
    return {
        "dataset": sweep.dataset,
        "method": sweep.title,
        "alpha": sweep.alpha,
        "score": sweep.score,
        "inefficiency": stages.last_stage(record)[0]["inefficiency"],
        "chosen": record["chosen"],
    }


def chosen(sweeps: Sequence[Sweep], records: Sequence[Record]) -> SettingsFile:
    """What sweeps of one dataset found, the method with the smallest sets first."""
    pairs = sorted(zip(sweeps, records, strict=True), key=lambda pair: _best_size(pair[1]))
    by_method = {
        sweep.method: {name: (value,) for name, value in {**sweep.base, **record["chosen"]}.items()}
        for sweep, record in pairs
    }
    first = sweeps[0]
    searched = {"data": first.dataset, "seed": first.seed}
    methods, score = tuple(by_method), first.score
    return SettingsFile({}, by_method, methods, (first.alpha,), score, searched=searched)


def _best_size(record: Record) -> float:
    size: float | None = stages.last_stage(record)[0]["inefficiency"]
    return math.inf if size is None else size


def write_settings(sweeps: Sequence[Sweep], records: Sequence[Record], store: Store) -> Path:
    """What sweeps of one dataset found, as a settings file; its path."""
    name = f"{sweeps[0].dataset}-{digest(tuple(sweep.name for sweep in sweeps))}.toml"
    path = store.root / "settings" / name
    comment = "Found by `conftr sweep` on held-out training data; the smallest sets come first."
    settings.write(path, chosen(sweeps, records), comment)
    return path


def _question(sweep: Sweep) -> Record:
    """As plain data, for people, in the words of version 0.1, whose results are read too."""
    return {
        "dataset": sweep.dataset,
        "method": stored_method(sweep.title),
        "alpha": sweep.alpha,
        "score": text.score(sweep.score)[0],
        "grid": {name: list(values) for name, values in sweep.grid.items()},
        **({"resampled": True} if sweep.resampled else {}),
        "stages": [stage._asdict() for stage in sweep.stages],
    }
