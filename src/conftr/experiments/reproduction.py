"""`conftr reproduce` as functions: choose exhibits, run what they need, say how far it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from conftr.experiments.exhibits import Exhibit, runs
from conftr.experiments.paper import EXHIBITS
from conftr.experiments.settings import choose as settings_of
from conftr.experiments.specification import Specification
from conftr.experiments.store import Store

if TYPE_CHECKING:
    from conftr.experiments.runner import Workshop
    from conftr.machine.cluster import Executor


def choose(keys: Sequence[str], dataset: str | None, trials: int | None) -> list[Exhibit]:
    """The exhibits of these keys, all for none, with the lines of one dataset if one is named."""
    for key in keys:
        if key not in EXHIBITS:
            raise ValueError(f"there is no {key!r}; choose among {', '.join(EXHIBITS)}.")
    wanted = [EXHIBITS[key].of(dataset).with_trials(trials) for key in keys or EXHIBITS]
    found = [one for one in wanted if one.lines]
    if not found:
        known = dict.fromkeys(one.training.dataset for one in runs(EXHIBITS.values()))
        raise ValueError(f"nothing there is on {dataset!r}; the datasets are {', '.join(known)}.")
    return found


def run_all(
    exhibits: Sequence[Exhibit], workshop: Workshop, executor: Executor | None = None
) -> None:
    """Run what has no record yet; several exhibits share runs.

    Methods whose settings are still to be searched are left out and named.
    executor: where trials are trained, all of a dataset at once; None for here, run by run.
    """
    from conftr.experiments.runner import run
    from conftr.experiments.spreading import train_trials

    wanted = runs(exhibits)
    if executor and not executor.here:
        for dataset in dict.fromkeys(asked.training.dataset for asked in wanted):
            own = [one for one in wanted if one.training.dataset == dataset and searched(one)]
            train_trials(own, workshop, executor)
    for asked in wanted:
        if searched(asked):
            run(asked, workshop)
        else:
            workshop.watch.note(
                f"{asked.training.dataset} {asked.method} is left out: its settings are to be "
                f"searched first (conftr sweep {asked.training.dataset} --methods {asked.method} "
                f"--adopt)."
            )


def searched(asked: Specification) -> bool:
    """Whether the settings of a run are known, where they are a method's own."""
    try:
        return "stand-in" not in settings_of(asked.training.dataset, asked.method).origin
    except ValueError:
        return True  # a variant, made from a method whose settings are printed


def progress(exhibits: Sequence[Exhibit], store: Store) -> Iterator[str]:
    """A line for each exhibit: its key, how many of its runs are done, what it is."""
    for one in exhibits:
        needed = runs([one])
        done = sum(store.path(asked).exists() for asked in needed)
        yield f"{one.key:16} {done:3d} of {len(needed):3d} runs   {one.title} ({one.place})"
