"""Several runs, here or with their trials on the machines of a cluster.

A trial is a task: its number and what it trains, nothing else. It is kept as soon as it is there.
The runs then find their trials trained, so that a record is made in one place only, and is the same
as without a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from conftr.data import Dataset
from conftr.experiments.runner import (
    TrainedTrial,
    Workspace,
    fit_trials,
    load_trial,
    one_process,
    prepare,
    run,
    save_trial,
    trained,
    trial_files,
    warnings_noted,
)
from conftr.experiments.specification import Specification
from conftr.machine.cluster import HERE, Executor


class TrialTask(NamedTuple):
    """A trial of a run, and where it will be kept."""

    specification: Specification
    number: int
    path: Path


class TrialResult(NamedTuple):
    """A trained trial, and what was said in training it."""

    trial: TrainedTrial
    notes: list[str]


def run_all(
    specifications: Sequence[Specification], workspace: Workspace, executor: Executor = HERE
) -> None:
    """Make every record that is not there yet.

    Args:
        specifications: what is to be run.
        workspace: where everything lies.
        executor: where trials are trained, all of a dataset at once; here they are, run by run.
    """
    datasets = dict.fromkeys(specification.training.dataset for specification in specifications)
    for dataset in () if executor.here else datasets:
        runs = [
            specification
            for specification in specifications
            if specification.training.dataset == dataset
        ]
        _train_trials(runs, workspace, executor)
    for specification in specifications:
        run(specification, workspace)


def _train_trials(
    specifications: Sequence[Specification], workspace: Workspace, executor: Executor
) -> None:
    """Train every trial of these runs that is not trained yet, all at once."""
    with ExitStack() as locks:
        tasks = list(_tasks(specifications, workspace, locks))
        names = {task.specification.training.dataset for task in tasks}
        datasets = {name: workspace.load(name) for name in names}
        task = partial(_train_trial, load=datasets.__getitem__)
        done, total = 0, sum(map(_epochs, tasks))
        title = f"{', '.join(sorted(names))} trials"
        for number, (trial, notes) in executor.run(task, tasks):
            finished = tasks[number]
            save_trial(finished.path, trial)
            for note in notes:
                number_of = f"trial {finished.number} of {finished.specification.trials}"
                workspace.display.note(note.replace("trial 0 of 1", number_of))
            done += _epochs(finished)
            workspace.display.step(title, done, total)


def _train_trial(task: TrialTask, *, load: Callable[[str], Dataset]) -> TrialResult:
    """The task: train a trial, from its beginning."""
    notes: list[str] = []
    with warnings_noted(notes.append):
        training = task.specification.training
        prepared = prepare(training, load)
        fitted = fit_trials(training, [task.number], prepared)
        (trial,) = trained(fitted, prepared)
    return TrialResult(trial, notes)


def _tasks(
    specifications: Sequence[Specification], workspace: Workspace, locks: ExitStack
) -> Iterator[TrialTask]:
    for specification in specifications:
        if workspace.store.get(specification) is None:
            paths = trial_files(
                specification, prepare(specification.training, workspace.load), workspace.runs
            )
            locks.enter_context(one_process(paths[0].parent))
            for number, path in enumerate(paths):
                if load_trial(path) is None:
                    yield TrialTask(specification, number, path)


def _epochs(task: TrialTask) -> int:
    epochs: int = task.specification.training.plan["epochs"]
    return epochs
