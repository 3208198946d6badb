"""A sweep as a value: a method on a dataset, the values to try, and stages that narrow the field.

Every configuration trains on a part of the training split and is measured on the rest of it:
calibration and test examples are not looked at. A stage trains what the stage before it kept, for
its share of the epochs, on as many divisions of the training split as it has repeats.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from conftr.experiments import reading
from conftr.experiments.bundles import Entrant
from conftr.experiments.grids import ONE_STAGE, Grid, Stage, Wanted
from conftr.experiments.pools import AT_MOST, SHARE
from conftr.experiments.settings import DEFAULTS, Row, Setup, Wish, assembled, chosen_by
from conftr.experiments.specification import SCORES, Evaluation, Training
from conftr.experiments.store import Record, Store
from conftr.machine.plain_data import build, digest, part

Values: TypeAlias = dict[str, Any]

_ROW = tuple(field.name for field in fields(Row))


@dataclass(frozen=True, eq=False)
class Sweep:
    """A method on a dataset: values of each setting, and the stages.

    setup: the model, epochs and alpha of the dataset.
    wish: what is to be otherwise, for every configuration.
    score: whose set sizes are compared, a name of `SCORES`.
    """

    dataset: str
    setup: Setup
    method: str
    grid: Grid
    stages: tuple[Stage, ...] = ONE_STAGE
    wish: Wish = DEFAULTS
    score: str = "THR"

    def configurations(self) -> list[Values]:
        """The cross product of the grid."""
        return [dict(zip(self.grid, one, strict=True)) for one in product(*self.grid.values())]

    def entrants(self, values: Values, stage: Stage) -> list[Entrant]:
        """What a configuration trains in a stage, on each division of the training split."""
        trained = [self._training(values, stage, i) for i in range(stage.repeats)]
        return [Entrant(one, self.evaluation()) for one in trained]

    def evaluation(self) -> Evaluation:
        """Sets by the sweep's score, at the alpha that is trained for."""
        alpha = self.setup.alphas[0] if self.wish.alpha is None else self.wish.alpha
        return Evaluation((alpha,), splits=10, scores=((self.score, dict(SCORES)[self.score]),))

    def question(self) -> Record:
        """As plain data, for people."""
        return {
            "dataset": self.dataset,
            "method": self.method,
            "alpha": self.evaluation().alphas[0],
            "score": self.score,
            "grid": {name: list(values) for name, values in self.grid.items()},
            "stages": [stage._asdict() for stage in self.stages],
        }

    @cached_property
    def name(self) -> str:
        """The digest of all that may be trained, and of how it is narrowed down."""
        every = product(self.stages, self.configurations())
        return digest((self.stages, *(self.entrants(one, stage)[0] for stage, one in every)))

    def path(self, store: Store) -> Path:
        """Where the record of the sweep lies, or will."""
        return store.root / "sweeps" / f"{self.dataset}-{self.method}-{self.name}.json"

    def _training(self, values: Values, stage: Stage, repeat: int) -> Training:
        """A repeat has a division and a seed of its own."""
        row = Row(**{name: value for name, value in values.items() if name in _ROW})
        epochs = row.epochs or self.wish.epochs or self.setup.epochs
        seed = 1000 * self.wish.seed + repeat
        wish = self.wish._replace(
            model=reading.model(values.get("model")) or self.wish.model,
            quantile=reading.quantile(values.get("quantile")) or self.wish.quantile,
            epochs=max(1, round(stage.share * epochs)),
            seed=seed,
            resampled=False,
        )
        held_out = part("held_out", share=SHARE, at_most=AT_MOST, seed=seed)
        return replace(assembled(self.dataset, self.setup, self.method, row, wish), pool=held_out)


def asked(wanted: Wanted, dataset: str, setup: Setup, wish: Wish = DEFAULTS) -> list[Sweep]:
    """A sweep for each method of a grid, refused in words where a value cannot be tried."""
    wish = wish._replace(alpha=wanted.alpha if wish.alpha is None else wish.alpha)
    sweeps = [
        Sweep(dataset, setup, method, grid, wanted.stages, wish, wanted.score or chosen_by(method))
        for method, grid in wanted.grids.items()
    ]
    for one in sweeps:
        for values in one.configurations():
            (entrant,) = one.entrants(values, Stage())
            for each in (entrant.training.objective, entrant.training.plan):
                build(each)
    return sweeps
