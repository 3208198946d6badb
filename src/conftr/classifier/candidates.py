"""Training the recipes: those that share a program side by side, the short ones first.

Where a time limit ends it, what was trained until then is there to choose from.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import numpy as np
import numpy.typing as npt

from conftr.classifier import deadlines
from conftr.classifier.cross_fitting import Report
from conftr.classifier.deadlines import TimeIsUp
from conftr.classifier.recipes import Recipe
from conftr.conformal.quantile import CalibrationWarning
from conftr.features.codes import RowReader
from conftr.members.member import FittedMember
from conftr.members.network import Encoding, TrainedNetwork, filled, in_blocks, normalisation
from conftr.training import (
    SGD,
    Fitted,
    Plan,
    Progress,
    TrainingSet,
    TrainingWarning,
    cosine,
    fit,
    trial_keys,
)
from conftr.training.models import Model


class Trained(NamedTuple):
    """A recipe, the network it gave, and the network's logits (n, K) of the validation examples."""

    recipe: Recipe
    network: FittedMember
    validation: npt.NDArray[np.float32]


class Materials(NamedTuple):
    """What every recipe trains on, and validation inputs; both encoded.

    Attributes:
        reader: What reads the user's rows.
        encoding: How networks see what was read.
    """

    reader: RowReader
    encoding: Encoding
    model: Model
    inputs: Any
    labels: npt.NDArray[np.int32]
    validation: Any
    batch_size: int
    seed: int


def train(
    recipes: Sequence[Recipe],
    materials: Materials,
    *,
    report: Report | None = None,
    until: float = math.inf,
    some: bool = True,
) -> list[Trained]:
    """Train recipes, in their order; those that failed or came too late are left out.

    Args:
        report: Told the family, epochs done and epochs in all.
        until: By the monotonic clock.
        some: The shortest recipes of the first family are trained in any case, and it is an error
            if all fail.
    """
    by_place: dict[int, Trained] = {}
    for places, step in _in_order(recipes, report):
        group = [recipes[i] for i in places]
        try:
            with in_silence(len(recipes) > 1):
                trained = _side_by_side(
                    group, materials, step, math.inf if some and not by_place else until
                )
        except TimeIsUp:
            break
        by_place |= {i: each for i, each in zip(places, trained, strict=True) if each}
    if some and not by_place:
        raise ValueError(
            "no training run went through: its loss or gradient was not finite. A smaller "
            "learning_rate may help."
        )
    return [by_place[i] for i in sorted(by_place)]


def _in_order(
    recipes: Sequence[Recipe], report: Report | None
) -> Iterator[tuple[list[int], Callable[[int], None]]]:
    """Places of recipes that share a program and a length, the short ones first; how to tell of it.

    The shortest of the first family come before all others: it is the one that was asked for.
    Epochs are counted over all groups of a program, under the name of its first family.
    """
    groups: dict[tuple[int, int], list[int]] = {}
    for i, recipe in enumerate(recipes):
        groups.setdefault((recipe.epochs, id(recipe.objective)), []).append(i)
    ordered = sorted(groups.values(), key=lambda places: recipes[places[0]].epochs)
    of_first_family = [
        places for places in ordered if any(recipes[i].family == recipes[0].family for i in places)
    ]
    ordered.sort(key=lambda places: places is not of_first_family[0])
    total, done = Counter[str](), Counter[str]()
    for places in ordered:
        total[recipes[places[0]].family] += recipes[places[0]].epochs
    for places in ordered:
        name, epochs = recipes[places[0]].family, recipes[places[0]].epochs

        def step(epoch: int, name: str = name) -> None:
            if report is not None:
                report(name, done[name] + epoch, total[name])

        yield places, step
        done[name] += epochs


def _side_by_side(
    group: Sequence[Recipe], materials: Materials, step: Callable[[int], None], until: float
) -> list[Trained | None]:
    """Train recipes that share a program; None for one that failed."""
    encoding, model, first = materials.encoding, materials.model, group[0]

    def progress(now: Progress) -> None:
        step(now.epoch)
        deadlines.check(until)

    deadlines.check(until)
    varied = {name: np.array([recipe.varied[name] for recipe in group]) for name in first.varied}
    fitted = fit(
        # All from the same start and through the same shuffles.
        trial_keys(materials.seed, 1)[np.zeros(len(group), int)],
        model,
        TrainingSet(filled(materials.inputs), filled(materials.labels), *normalisation(encoding)),
        first.objective,
        Plan(first.epochs, materials.batch_size, SGD(schedule=cosine)),
        rows=np.arange(len(materials.labels)),
        vary=varied
        | {
            "learning_rate": [recipe.learning_rate for recipe in group],
            "weight_decay": [recipe.weight_decay for recipe in group],
        },
        progress=progress,
    )
    fitted = jax.tree.map(np.asarray, fitted)
    validation = in_blocks(model, fitted, encoding, materials.validation)
    return [
        Trained(recipe, _member(materials, fitted.trial(i)), validation[i])
        if fitted.failed_step[i] < 0 and _finite((fitted.trial(i).params, validation[i]))
        else None
        for i, recipe in enumerate(group)
    ]


def _member(materials: Materials, fitted: Fitted) -> FittedMember:
    network = TrainedNetwork(materials.encoding, materials.model, (fitted,))
    return FittedMember("network", materials.reader, (network,))


def _finite(tree: Any) -> bool:
    """Whether all is. The last step of a run may be, and what it leads to not."""
    return all(bool(np.isfinite(leaf).all()) for leaf in jax.tree.leaves(tree))


@contextmanager
def in_silence(several: bool) -> Iterator[None]:
    """Say nothing of recipes that fail, or of small batches, where there are others to choose."""
    with warnings.catch_warnings():
        if several:
            for category in (TrainingWarning, CalibrationWarning):
                warnings.simplefilter("ignore", category)
        yield
