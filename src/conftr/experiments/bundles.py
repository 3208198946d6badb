"""Trainings that share one compiled program, told apart on held-out training data.

They may differ in numbers of the objective and the optimiser alone. What one of them gives does not
depend on the others: on a CPU each is a run of its own, the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from conftr.data import Dataset
from conftr.experiments.runner import prepare, warnings_told
from conftr.experiments.specification import Evaluation, Training
from conftr.machine.plain_data import Part, build, shared
from conftr.search.tuning import Ground, Report, SetSize, compete
from conftr.training import Checkpoints

_OF_OBJECTIVE = ("temperature", "size_weight", "target_size", "tau")
_OF_OPTIMISER = ("learning_rate", "weight_decay")


class Entrant(NamedTuple):
    """A training, and how its model is measured: one score at one alpha, on held-out examples."""

    training: Training
    evaluation: Evaluation

    @property
    def epochs(self) -> int:
        """How long it trains."""
        epochs = self.training.plan["epochs"]
        assert isinstance(epochs, int)
        return epochs

    @property
    def program(self) -> Entrant:
        """Itself with 1 for every number that may differ within a compiled program."""
        training = self.training
        ones = dict.fromkeys(_own_numbers(training.objective), 1)
        optimiser = _optimiser(training).replace(**dict.fromkeys(_OF_OPTIMISER, 1))
        return self._replace(
            training=replace(
                training,
                objective=training.objective.replace(**ones),
                plan=training.plan.replace(optimiser=optimiser),
            )
        )


Bundle: TypeAlias = list[Entrant]


def bundled(entrants: Sequence[Entrant], at_most: int) -> list[Bundle]:
    """Entrants that can share a program, not too many at a time; the longest trainings first."""
    groups: dict[Entrant, Bundle] = {}
    for one in entrants:
        groups.setdefault(one.program, []).append(one)
    bundles = [
        group[start : start + at_most]
        for group in groups.values()
        for start in range(0, len(group), at_most)
    ]
    return sorted(bundles, key=lambda bundle: -bundle[0].epochs * len(bundle))


def sizes(
    bundle: Bundle,
    *,
    load: Callable[[str], Dataset],
    progress: Report | None = None,
    checkpoints: Checkpoints | None = None,
) -> list[float | None]:
    """Mean set size of each entrant of a bundle on its held-out examples; None for a failure."""
    training, program = bundle[0].training, bundle[0].program.training
    # Nothing is told of configurations that fail: some are bound to, and the record says which.
    with warnings_told(lambda _: None):
        return compete(
            ground(bundle[0], load),
            shared(program.objective),
            build(training.plan),
            vary(bundle),
            seed=training.seed,
            progress=progress,
            checkpoints=checkpoints,
        )


def ground(entrant: Entrant, load: Callable[[str], Dataset]) -> Ground:
    """What an entrant trains and is measured on."""
    training, evaluation = entrant
    ((_, score),), (alpha,) = evaluation.scores, evaluation.alphas
    division, data, model, _ = prepare(training, load)
    x, y = division.pool
    size = SetSize(y, alpha, build(score), evaluation.splits, evaluation.seed)
    return Ground(model, data, x, size)


def vary(bundle: Bundle) -> dict[str, list[Any]]:
    """The numbers in which the entrants of a bundle may differ."""
    trainings = [one.training for one in bundle]
    own = {
        name: [one.objective[name] for one in trainings]
        for name in _own_numbers(trainings[0].objective)
    }
    rates = {name: [_optimiser(one)[name] for one in trainings] for name in _OF_OPTIMISER}
    return own | rates


def _own_numbers(objective: Part) -> list[str]:
    return [name for name, _ in objective.fields if name in _OF_OBJECTIVE]


def _optimiser(training: Training) -> Part:
    optimiser = training.plan["optimiser"]
    assert isinstance(optimiser, Part)
    return optimiser
