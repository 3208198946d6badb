"""What entrants of sweeps gave, a small file for each, and measuring those that have none yet.

Only this process writes the files, wherever the measuring is done; a file that is there is never
written again. So nothing is lost when a worker or this process is killed, or counted twice.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias

from conftr.data import Dataset
from conftr.experiments.bundles import Bundle, Entrant, bundled, sizes
from conftr.experiments.runner import Workshop
from conftr.experiments.store import read, write
from conftr.machine.cluster import Executor
from conftr.machine.plain_data import Part, build, digest
from conftr.training import Progress

Load: TypeAlias = Callable[[str], Dataset]
Scores: TypeAlias = dict[Entrant, float | None]


@dataclass(frozen=True)
class Ledger:
    """The files in a folder, for datasets that `load` gives."""

    folder: Path
    load: Load

    def known(self, entrants: Sequence[Entrant]) -> Scores:
        """Those that have a file."""
        files = {one: self.file(one) for one in entrants}
        return {one: read(file)["size"] for one, file in files.items() if file.exists()}

    def enter(self, scores: Scores) -> None:
        """Write those that have none."""
        for one, size in scores.items():
            if not self.file(one).exists():
                write(self.file(one), {"size": size})

    def file(self, one: Entrant) -> Path:
        """Named by what is trained and measured, and by the very examples."""
        return self.folder / "measured" / f"{digest(one)}-{self._examples(one)}.json"

    def state(self, bundle: Bundle) -> Path:
        """Where a bundle keeps its checkpoints while it trains."""
        return self.folder / "state" / f"{digest(tuple(bundle))}-{self._examples(bundle[0])}"

    def _examples(self, one: Entrant) -> str:
        return _fingerprint(self.load, one.training.dataset, one.training.pool)


def ledger(workshop: Workshop) -> Ledger:
    """The one of a workshop. Calibration and test examples are taken away here, for good."""

    @cache
    def load(name: str) -> Dataset:
        whole = workshop.load(name)
        x, y = whole.x_train[:0], whole.y_train[:0]
        return replace(whole, x_cal=x, y_cal=y, x_test=x, y_test=y)

    return Ledger(workshop.runs / "sweeps", load)


def measured(
    entrants: Sequence[Entrant], book: Ledger, workshop: Workshop, executor: Executor, title: str
) -> Iterator[Scores]:
    """The set sizes of entrants: first those that are known, then others as they come."""
    known = book.known(entrants)
    yield known
    missing = [one for one in entrants if one not in known]
    bundles = bundled(missing, executor.at_a_time(len(missing)))
    total, done = sum(one.epochs for one in entrants), sum(one.epochs for one in known)
    workshop.watch.step(title, done, total)
    # Whole datasets go where tasks run: those who do the work need none of their own.
    datasets = {name: book.load(name) for name in {one.training.dataset for one in missing}}
    task = partial(sizes, load=datasets.__getitem__)
    if executor.here:
        report = lambda epochs: workshop.watch.step(title, done + epochs, total)  # noqa: E731
        task = partial(_kept, task=task, book=book, workshop=workshop, report=report)
    for number, found in executor.run(task, bundles):
        scores = dict(zip(bundles[number], found, strict=True))
        book.enter(scores)
        shutil.rmtree(book.state(bundles[number]), ignore_errors=True)
        done += sum(one.epochs for one in bundles[number])
        workshop.watch.step(title, done, total)
        yield scores


def _kept(
    bundle: Bundle,
    *,
    task: Callable[..., list[float | None]],
    book: Ledger,
    workshop: Workshop,
    report: Callable[[int], None],
) -> list[float | None]:
    """In this process a bundle keeps checkpoints, and tells of every epoch."""

    def progress(now: Progress) -> None:
        report(now.epoch * len(bundle))

    checkpoints = workshop.checkpoints(book.state(bundle))
    return task(bundle, progress=progress, checkpoints=checkpoints)


@cache
def _fingerprint(load: Load, dataset: str, pool: Part) -> str:
    found: str = build(pool)(load(dataset)).fingerprint()
    return found
