"""Methods side by side on one dataset: `conftr compare` as a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conftr import data
from conftr.experiments.specification import Specification, stored_method
from conftr.experiments.store import Record, Store, read, write
from conftr.machine.cluster import HERE, Executor
from conftr.machine.plain_data import digest
from conftr.search.attempts import Evaluation, Training
from conftr.search.methods import USUAL, objective_of, title_of
from conftr.search.settings import SettingsFile
from conftr.search.space import OF_THE_RUN, configured
from conftr.search.text import SCORES

if TYPE_CHECKING:
    from conftr.experiments.runner import Workspace

DEFAULTS = "defaults"
_ALPHA = 0.01


@dataclass(frozen=True)
class Comparison:
    """What is compared.

    Attributes:
        methods: Names, FILE.py:NAME, or values, see `conftr.search.methods.objective_of`.
        alphas: The first is trained for, all are measured; () for those of the settings, else 0.01.
        settings: Of the methods that it has; others have what suits the dataset.
        origin: Their name.
        scores: What sets are made with at test, each with its name in tables.
        resampled: Whether each trial trains on a draw from five copies of the training set.
    """

    dataset: str
    methods: tuple[Any, ...] = USUAL
    alphas: tuple[float, ...] = ()
    trials: int = 10
    splits: int = 10
    settings: SettingsFile = field(default_factory=SettingsFile)
    origin: str = "given"
    scores: tuple[tuple[str, Any], ...] = SCORES
    seed: int = 0
    resampled: bool = True

    def specifications(
        self, load: Callable[[str], data.Dataset] = data.load
    ) -> list[Specification]:
        """One run for each method."""
        alphas = self.alphas or self.settings.alphas or (_ALPHA,)
        evaluation = Evaluation(alphas, self.splits, self.scores, self.seed)
        trainings = [self._training(method, alphas[0], load) for method in self.methods]
        return [
            Specification(title_of(method), training, evaluation, self.trials)
            for method, training in zip(self.methods, trainings, strict=True)
        ]

    def origin_of(self, method: Any) -> str:
        """Where the settings of a method come from."""
        return self.origin if method in self.settings.by_method else DEFAULTS

    def _training(self, method: Any, alpha: float, load: Callable[[str], data.Dataset]) -> Training:
        settings = self.settings.only(method)
        if not all(name in settings for name in OF_THE_RUN):
            from conftr.experiments.defaults import default_settings

            settings = default_settings(load(self.dataset), alpha) | settings
        model, objective, plan = configured(objective_of(method), settings, alpha)
        return Training(self.dataset, model, objective, plan, self.seed, self.resampled)


def compare(comparison: Comparison, workspace: Workspace, executor: Executor = HERE) -> Path:
    """Run every method; the file that says which records belong together.

    Args:
        executor: Where trials are trained.
    """
    from conftr.experiments.cluster_trials import run_all

    specifications = comparison.specifications(workspace.load)
    run_all(specifications, workspace, executor)
    origins = [comparison.origin_of(method) for method in comparison.methods]
    return keep(workspace.store, specifications, origins)


def keep(store: Store, specifications: Sequence[Specification], origins: Sequence[str]) -> Path:
    """Write which records a comparison puts side by side; the file's path."""
    dataset = specifications[0].training.dataset
    entries = [
        {
            "method": stored_method(specification.method),
            "settings": origin,
            "record": store.path(specification).relative_to(store.root).as_posix(),
        }
        for specification, origin in zip(specifications, origins, strict=True)
    ]
    name = digest(tuple(specification.to_json() for specification in specifications))
    path = store.root / "comparisons" / f"{dataset}-{name}.json"
    write(path, {"dataset": dataset, "entries": entries})
    return path


def records(path: Path) -> list[Record]:
    """The records that a comparison file puts side by side, with the origin of their settings."""
    root = path.parent.parent
    entries = read(path)["entries"]
    return [read(root / entry["record"]) | {"settings": entry["settings"]} for entry in entries]
