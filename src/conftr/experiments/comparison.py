"""Methods side by side on one dataset: `conftr compare` as a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conftr.experiments import settings
from conftr.experiments.settings import DEFAULTS, Wish
from conftr.experiments.specification import Evaluation, Specification
from conftr.experiments.store import Record, Store, read, write
from conftr.machine.plain_data import digest

if TYPE_CHECKING:
    from conftr.experiments.runner import Workshop
    from conftr.machine.cluster import Executor

METHODS = ("baseline", "bel", "covertr", "conftr", "conftr-class")


@dataclass(frozen=True)
class Comparison:
    """What is compared. `alphas`: the first is trained for, all are measured; () for defaults."""

    dataset: str
    methods: tuple[str, ...] = METHODS
    alphas: tuple[float, ...] = ()
    trials: int = 10
    splits: int = 10
    wish: Wish = DEFAULTS

    def specifications(self) -> list[Specification]:
        """One run for each method."""
        alphas = self.alphas or settings.setup(self.dataset).alphas
        wish = self.wish._replace(alpha=alphas[0])
        evaluation = Evaluation(alphas, self.splits, seed=wish.seed)
        return [
            Specification(
                method, settings.training(self.dataset, method, wish), evaluation, self.trials
            )
            for method in self.methods
        ]


def compare(comparison: Comparison, workshop: Workshop, executor: Executor | None = None) -> Path:
    """Run every method; the file that says which records belong together.

    executor: where trials are trained, all methods' at once; None for here, one method at a time.
    """
    from conftr.experiments.runner import run
    from conftr.experiments.spreading import train_trials

    specifications = comparison.specifications()
    if executor and not executor.here:
        train_trials(specifications, workshop, executor)
    for specification in specifications:
        run(specification, workshop)
    return keep(workshop.store, specifications)


def keep(store: Store, specifications: Sequence[Specification]) -> Path:
    """Write which records a comparison puts side by side; the file's path."""
    dataset = specifications[0].training.dataset
    entries = [
        {
            "method": one.method,
            "settings": settings.choose(dataset, one.method).origin,
            "record": store.path(one).relative_to(store.root).as_posix(),
        }
        for one in specifications
    ]
    path = store.root / "comparisons" / f"{dataset}-{digest(tuple(specifications))}.json"
    write(path, {"dataset": dataset, "entries": entries})
    return path


def records(path: Path) -> list[Record]:
    """The records that a comparison file puts side by side, with the origin of their settings."""
    root = path.parent.parent
    entries = read(path)["entries"]
    return [read(root / entry["record"]) | {"settings": entry["settings"]} for entry in entries]
