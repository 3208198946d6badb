"""`conftr reproduce` as functions: choose exhibits, run what they need, say how far it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from conftr.experiments.store import Store
from conftr.paper import EXHIBITS
from conftr.paper.exhibits import Exhibit, runs

if TYPE_CHECKING:
    from conftr.experiments.runner import Workspace
    from conftr.machine.cluster import Executor


def choose(keys: Sequence[str], dataset: str | None, trials: int | None) -> list[Exhibit]:
    """The exhibits of these keys, all for none, with the lines of one dataset if one is named."""
    for key in keys:
        if key not in EXHIBITS:
            raise ValueError(f"there is no {key!r}; choose among {', '.join(EXHIBITS)}.")
    every = [EXHIBITS[key].of(dataset).with_trials(trials) for key in keys or EXHIBITS]
    chosen = [exhibit for exhibit in every if exhibit.lines]
    if not chosen:
        known = dict.fromkeys(one.training.dataset for one in runs(EXHIBITS.values()))
        raise ValueError(f"nothing there is on {dataset!r}; the datasets are {', '.join(known)}.")
    return chosen


def run_all(
    exhibits: Sequence[Exhibit], workspace: Workspace, executor: Executor | None = None
) -> None:
    """Run what has no record yet; several exhibits share runs.

    executor: where trials are trained, all of a dataset at once; None for here, run by run.
    """
    from conftr.experiments.cluster_trials import train_trials
    from conftr.experiments.runner import run

    needed = runs(exhibits)
    if executor and not executor.here:
        for dataset in dict.fromkeys(one.training.dataset for one in needed):
            train_trials(
                [one for one in needed if one.training.dataset == dataset], workspace, executor
            )
    for specification in needed:
        run(specification, workspace)


def progress(exhibits: Sequence[Exhibit], store: Store) -> Iterator[str]:
    """A line for each exhibit: its key, how many of its runs are done, what it is."""
    for one in exhibits:
        needed = runs([one])
        done = sum(store.path(run).exists() for run in needed)
        yield f"{one.key:16} {done:3d} of {len(needed):3d} runs   {one.title} ({one.place})"
