"""Settings searched around recipes that did well, on a part of the training examples (app. F).

That part neither chooses between methods nor calibrates. What the search finds is trained anew on
all training examples, and has to prove itself on validation examples like any other recipe.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from conftr.classifier import candidates, deadlines
from conftr.classifier.candidates import Materials, Trained, in_silence
from conftr.classifier.cross_fitting import Report
from conftr.classifier.deadlines import TimeIsUp
from conftr.classifier.division import Rows
from conftr.classifier.recipes import Recipe
from conftr.members.network import normalisation
from conftr.search.held_out import HeldOut
from conftr.search.tuning import Tuned, tune
from conftr.training import Progress, TrainingSet
from conftr.training.epochs import fields
from conftr.training.optimisers import SGD, cosine
from conftr.training.runs import Plan


@dataclass(frozen=True, eq=False)
class Search:
    """How to search.

    Attributes:
        n: Settings of each recipe.
        rows: Places among the training examples of those that train.
        held: Places of those that tell settings apart, which may be none.
        measure: Of logits of the latter.
        report: As in `candidates.train`.
        until: As in `candidates.train`.
    """

    n: int
    rows: Rows
    held: Rows
    measure: Callable[[Any], float]
    report: Report | None = None
    until: float = math.inf


class Refined(NamedTuple):
    """Networks of the settings that were found, and an account of the search as plain data.

    A recipe whose own settings were the best has no network here.
    """

    networks: list[Trained]
    account: dict[str, Any]


def refine(recipes: Sequence[Recipe], materials: Materials, search: Search) -> Refined:
    """Search around each recipe, and train what was found, as far as time allows."""
    by_recipe = {}
    try:
        for recipe in recipes if len(search.held) else ():
            by_recipe[recipe] = _tuned(recipe, materials, search)
    except TimeIsUp:
        pass
    better = [
        _with(recipe, tuned.tried[0].settings)
        for recipe, tuned in by_recipe.items()
        if tuned.tried[0] != tuned.given
    ]
    networks = candidates.train(
        better, materials, report=search.report, until=search.until, some=False
    )
    account = {
        "settings": search.n,
        "rows": len(search.held),
        "found": {recipe.family: _as_json(tuned) for recipe, tuned in by_recipe.items()},
    }
    return Refined(networks, account)


def _tuned(recipe: Recipe, materials: Materials, search: Search) -> Tuned:
    """The best of `search.n` settings around those of a recipe."""
    encoding, labels = materials.encoding, materials.labels

    def progress(now: Progress) -> None:
        if search.report is not None:
            search.report(f"settings for {recipe.family}", now.epoch, now.epochs)
        deadlines.check(search.until)

    deadlines.check(search.until)
    held_out = HeldOut(
        materials.model,
        TrainingSet(materials.inputs[search.rows], labels[search.rows], *normalisation(encoding)),
        materials.inputs[search.held],
        search.measure,
    )
    objective = replace(recipe.objective, **recipe.varied) if recipe.varied else recipe.objective
    sgd = SGD(recipe.learning_rate, weight_decay=recipe.weight_decay, schedule=cosine)
    plan = Plan(recipe.epochs, min(materials.batch_size, len(search.rows)), sgd)
    with in_silence(True):
        return tune(held_out, objective, plan, search.n, seed=materials.seed, progress=progress)


def _with(recipe: Recipe, settings: Mapping[str, float]) -> Recipe:
    """The recipe with settings of the optimiser, which it names itself, and of its objective."""
    rates: dict[str, Any] = {name: settings[name] for name in settings if name in fields(recipe)}
    varied = {name: settings[name] for name in settings if name not in rates}
    return replace(recipe, **rates, varied={**recipe.varied, **varied})


def _as_json(tuned: Tuned) -> dict[str, Any]:
    best = tuned.tried[0]
    return {"measure": best.size, "measure_before": tuned.given.size, **best.settings}
