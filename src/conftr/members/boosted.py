"""Boosted trees of LightGBM, an optional package: saved as the text it writes itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from conftr.machine.cores import cores
from conftr.machine.threads import in_threads
from conftr.members import boosted_text
from conftr.members.member import (
    Files,
    FittedMember,
    Fold,
    MemberError,
    MemberRows,
    Numbers,
    Progress,
    all_log_probabilities,
    flat,
    is_choice,
)

_FILE = "boosted.txt"


@dataclass(frozen=True)
class Boosted:
    """Boosted trees for each fold, grown until the held-out rows' loss no longer falls.

    Attributes:
        rounds: The most trees of a class.
        patience: Rounds without a better loss before it ends.
        min_leaf: The fewest rows of a leaf.
        columns: The share of columns that a tree may use.
        random_splits: A split's threshold is drawn, not searched (extremely randomised trees).
    """

    by_fold: ClassVar[bool] = True

    name: str = "boosted trees"
    rounds: int = 400
    patience: int = 15
    learning_rate: float = 0.2
    leaves: int = 31
    min_leaf: int = 5
    columns: float = 0.7
    random_splits: bool = True

    def fit(
        self, rows: MemberRows, folds: Sequence[Fold], *, seed: int, progress: Progress
    ) -> list[FittedMember]:
        """Grow trees on each fold; as many folds at once as there are cores, a core each."""
        _lightgbm()  # said before anything is done
        x, models = flat(rows.inputs), list[BoostedTrees]()
        categories = sorted(getattr(rows.reader, "levels", {}))
        progress(0, len(folds))

        def grow(number: int) -> BoostedTrees:
            return self._grow(x, rows, folds[number], categories, seed + number)

        for start in range(0, len(folds), cores()):
            group = range(start, min(start + cores(), len(folds)))
            models += in_threads(grow, group, cores())
            progress(len(models), len(folds))
        return [FittedMember(self.name, rows.reader, tuple(models))]

    def _grow(
        self, x: Any, rows: MemberRows, fold: Fold, categories: list[int], seed: int
    ) -> BoostedTrees:
        lightgbm = _lightgbm()
        known, labels = np.unique(rows.labels[fold.train], return_inverse=True)
        if len(known) < 2:
            raise MemberError("boosted trees need two classes or more in every fold.")
        settings = self._settings(len(known), seed)
        data = lightgbm.Dataset(
            x[fold.train],
            labels,
            weight=rows.weights_of(fold),
            categorical_feature=categories,
            params=settings,
        )
        held = fold.held[np.isin(rows.labels[fold.held], known)]
        stopping: dict[str, Any] = {}
        if len(held):
            places = np.searchsorted(known, rows.labels[held])
            ends = lightgbm.early_stopping(self.patience, verbose=False)
            stopping = {"valid_sets": [data.create_valid(x[held], places)], "callbacks": [ends]}
        grown = lightgbm.train(settings, data, self.rounds, **stopping)
        best = grown.best_iteration if grown.best_iteration > 0 else self.rounds
        text = grown.model_to_string(num_iteration=best)
        return BoostedTrees(text, tuple(map(int, known)), rows.classes)

    def _settings(self, classes: int, seed: int) -> dict[str, Any]:
        return {
            "objective": "multiclass",
            "num_class": classes,
            "learning_rate": self.learning_rate,
            "num_leaves": self.leaves,
            "min_data_in_leaf": self.min_leaf,
            "feature_fraction": self.columns,
            "extra_trees": self.random_splits,
            "seed": seed % 2**31,
            # The same trees on any number of threads.
            "deterministic": True,
            "force_col_wise": True,
            "num_threads": 1,
            "verbose": -1,
        }


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """What LightGBM wrote of its trees.

    Attributes:
        known: The classes that training rows held.
        classes: How many there are.
    """

    kind: ClassVar[str] = "boosted"

    text: str
    known: tuple[int, ...]
    classes: int

    @property
    def words(self) -> str:
        """How many trees."""
        return f"{self._booster.num_trees() // len(self.known)} rounds"

    def logits(self, inputs: Any) -> Numbers:
        """Log-probabilities (n, K), with a floor where training rows lacked classes."""
        if not len(inputs):
            return np.zeros((0, self.classes))
        scores = self._booster.predict(flat(inputs), raw_score=True, num_threads=cores())
        return all_log_probabilities(scores, self.known, self.classes)

    @cached_property
    def _booster(self) -> Any:
        return _lightgbm().Booster(model_str=self.text)

    def files(self) -> Files:
        """Its text, and before it a line with the classes."""
        line = f"classes {self.classes} known {' '.join(map(str, self.known))}\n"
        return {_FILE: (line + self.text).encode()}


def load(files: Files) -> BoostedTrees:
    """The trees that were saved as these files.

    Raises:
        MemberError: If they are no trees of so many classes.
    """
    line, text = files[_FILE].decode().split("\n", 1)
    _, classes, _, *known = line.split()
    trees = BoostedTrees(text, tuple(map(int, known)), int(classes))
    boosted_text.check(text)
    try:
        columns = trees._booster.num_model_per_iteration()
    except _lightgbm().basic.LightGBMError as fault:
        raise MemberError(f"{_FILE} is not what LightGBM wrote: {fault}") from None
    if not is_choice(trees.known, trees.classes) or columns != len(known):
        raise MemberError(f"{_FILE} does not fit its classes.")
    return trees


def is_here() -> bool:
    """Whether LightGBM is installed."""
    try:
        _lightgbm()
    except MemberError:
        return False
    return True


def _lightgbm() -> Any:
    try:
        import lightgbm  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise MemberError(
            "boosted trees need LightGBM, which is not installed: pip install 'conftr[boosted]', "
            "or leave them out of members."
        ) from None
    return lightgbm
