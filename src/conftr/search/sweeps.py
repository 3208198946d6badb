"""A sweep as a value: a method on a dataset, the values to try, and stages that narrow the field.

Every configuration trains on a part of the training split and is measured on the rest of it:
calibration and test examples are not looked at. A stage trains what the stage before it kept, for
its share of the epochs, on as many divisions of the training split as it has repeats.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

from conftr.machine.plain_data import build, digest, part
from conftr.search import text
from conftr.search.attempts import Attempt, Evaluation, Training
from conftr.search.methods import objective_of, title_of
from conftr.search.settings import ONE_STAGE, Grid, SettingsFile, Stage
from conftr.search.space import Configured, Settings, configured

SHARE, AT_MOST = 0.3, 5000  # of the training split are held out to choose settings on


def held_out_size(n: int, share: float = SHARE, at_most: int = AT_MOST) -> int:
    """How many of n training examples are held out."""
    return min(round(share * n), at_most)


@dataclass(frozen=True, eq=False)
class Sweep:
    """A method on a dataset: values of each setting, and the stages.

    Attributes:
        method: A name, FILE.py:NAME or a value, see `objective_of`.
        base: The settings of every configuration, but for what the grid has.
        score: Whose set sizes are compared.
        resampled: Whether training sets are drawn, see `SettingsFile`.
    """

    dataset: str
    method: Any
    grid: Grid
    base: Settings = field(default_factory=dict)
    stages: tuple[Stage, ...] = ONE_STAGE
    alpha: float = 0.01
    score: str = "thr"
    seed: int = 0
    resampled: bool = False

    @property
    def title(self) -> str:
        """What the method is called."""
        return title_of(self.method)

    @cached_property
    def objective(self) -> Any:
        """What the method minimises, before its settings; a file is read once."""
        return objective_of(self.method)

    def configurations(self) -> list[dict[str, Any]]:
        """The cross product of the grid."""
        return [
            dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())
        ]

    def attempts(self, settings: Settings, stage: Stage) -> list[Attempt]:
        """What a configuration trains in a stage, on each division of the training split."""
        whole = {**self.base, **settings}
        whole["epochs"] = max(1, round(stage.share * whole["epochs"]))
        trained = configured(self.objective, whole, self.alpha)
        seeds = range(1000 * self.seed, 1000 * self.seed + stage.repeats)
        return [Attempt(self._training(trained, seed), self._evaluation) for seed in seeds]

    @cached_property
    def name(self) -> str:
        """The digest of all that may be trained, and of how it is narrowed down."""
        every = product(self.stages, self.configurations())
        return digest(
            (
                self.stages,
                *(self.attempts(configuration, stage)[0] for stage, configuration in every),
            )
        )

    @cached_property
    def _evaluation(self) -> Evaluation:
        return Evaluation((self.alpha,), splits=10, scores=(text.score(self.score),))

    def _training(self, trained: Configured, seed: int) -> Training:
        """Each seed has a division of its own."""
        pool = part("held_out", share=SHARE, at_most=AT_MOST, seed=seed)
        return Training(self.dataset, *trained, seed, resampled=self.resampled, pool=pool)


def sweeps(
    file: SettingsFile, dataset: str, base: Settings, *, alpha: float, seed: int = 0
) -> list[Sweep]:
    """A sweep for each method of a settings file, refused where a value cannot be tried.

    Args:
        file: the values to try, and the stages.
        dataset: its name.
        base: settings of what the file does not have.
        alpha: where the file has none.
        seed: of starts, shuffles and divisions.

    Returns:
        One for each method.

    Raises:
        ValueError: a value is out of range; the message names it.
    """
    made = [
        Sweep(
            dataset,
            method,
            file.of(method),
            base,
            file.stages,
            (file.alphas or (alpha,))[0],
            file.score or _chosen_by(method),
            seed,
            file.resampled,
        )
        for method in file.names
    ]
    for sweep in made:
        for settings in sweep.configurations():
            (attempt,) = sweep.attempts(settings, Stage())
            build(attempt.training.plan)
    return made


def _chosen_by(method: Any) -> str:
    """Whose set sizes choose a method's settings: the paper tuned for APS too."""
    return "aps" if title_of(method).endswith("-for-aps") else "thr"
