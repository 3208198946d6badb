"""Trials of several runs on the machines of a cluster, each kept as soon as it is there.

A trial is a task: its number and what it trains, nothing else. The runs then find their trials
trained, so that a record is made in one place only, and is the same as without a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from conftr.data import Dataset
from conftr.experiments.runner import (
    Trained,
    Workshop,
    alone,
    fit_trials,
    load_trial,
    prepare,
    save_trial,
    trained,
    trial_files,
    warnings_told,
)
from conftr.experiments.specification import Specification
from conftr.machine.cluster import Executor
from conftr.machine.plain_data import build


class Errand(NamedTuple):
    """A trial of a run, and where it will be kept."""

    asked: Specification
    number: int
    path: Path


class Brought(NamedTuple):
    """A trained trial, and what was said in training it."""

    trial: Trained
    notes: list[str]


def train_trials(
    specifications: Sequence[Specification], workshop: Workshop, executor: Executor
) -> None:
    """Train every trial of these runs that is not trained yet, all at once."""
    with ExitStack() as locks:
        errands = list(_errands(specifications, workshop, locks))
        names = {one.asked.training.dataset for one in errands}
        datasets = {name: workshop.load(name) for name in names}
        task = partial(one_trial, load=datasets.__getitem__)
        done, total = 0, sum(map(_epochs, errands))
        title = f"{', '.join(sorted(names))} trials"
        for number, (trial, notes) in executor.run(task, errands):
            one = errands[number]
            save_trial(one.path, trial)
            for note in notes:
                own = f"trial {one.number} of {one.asked.trials}"
                workshop.watch.note(note.replace("trial 0 of 1", own))
            done += _epochs(one)
            workshop.watch.step(title, done, total)


def one_trial(errand: Errand, *, load: Callable[[str], Dataset]) -> Brought:
    """The task: train a trial, from its beginning."""
    notes: list[str] = []
    with warnings_told(notes.append):
        training = errand.asked.training
        materials = prepare(training, load)
        fitted = fit_trials(training, [errand.number], materials)
        (trial,) = trained(fitted, materials)
    return Brought(trial, notes)


def _errands(
    specifications: Sequence[Specification], workshop: Workshop, locks: ExitStack
) -> Iterator[Errand]:
    for asked in specifications:
        if workshop.store.get(asked) is None:
            paths = trial_files(asked, prepare(asked.training, workshop.load), workshop.runs)
            locks.enter_context(alone(paths[0].parent))
            for number, path in enumerate(paths):
                if load_trial(path) is None:
                    yield Errand(asked, number, path)


def _epochs(errand: Errand) -> int:
    epochs: int = build(errand.asked.training.plan).epochs
    return epochs
