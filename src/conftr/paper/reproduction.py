"""Choose exhibits of the paper, and say how many of their runs are stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conftr.experiments.store import Store
from conftr.paper import EXHIBITS
from conftr.paper.exhibits import Exhibit, runs


def choose(keys: Sequence[str], dataset: str | None, trials: int | None) -> list[Exhibit]:
    """The exhibits of these keys, all for none, with the lines of one dataset if one is named."""
    for key in keys:
        if key not in EXHIBITS:
            raise ValueError(f"there is no {key!r}; choose among {', '.join(EXHIBITS)}.")
    every = [EXHIBITS[key].of(dataset).with_trials(trials) for key in keys or EXHIBITS]
    chosen = [exhibit for exhibit in every if exhibit.lines]
    if not chosen:
        known = dict.fromkeys(run.training.dataset for run in runs(EXHIBITS.values()))
        raise ValueError(f"nothing there is on {dataset!r}; the datasets are {', '.join(known)}.")
    return chosen


def progress(exhibits: Sequence[Exhibit], store: Store) -> Iterator[str]:
    """A line for each exhibit: its key, how many of its runs are done, what it is."""
    for exhibit in exhibits:
        needed = runs([exhibit])
        done = sum(store.path(run).exists() for run in needed)
        counted = f"{done:3d} of {len(needed):3d} runs"
        yield f"{exhibit.key:16} {counted}   {exhibit.title} ({exhibit.place})"
