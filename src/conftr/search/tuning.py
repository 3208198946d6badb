"""Settings told apart on held-out examples, all of them in one compiled program (app. F).

A configuration is better than another if its sets are smaller on examples that neither trained
it nor will calibrate it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from conftr.conformal.scores import thr
from conftr.conformal.trials import evaluate, takes_u
from conftr.training import Checkpoints, Fitted, Progress, fit, optimisers, predict_logits
from conftr.training.epochs import Objective, Program, TrainingSet, fields, with_settings
from conftr.training.models import MLP, Model
from conftr.training.runs import Plan, trial_keys

Report: TypeAlias = Callable[[Progress], None]

# How far a configuration may lie from the one it is made from, as a factor either way.
_REACH = {
    "learning_rate": 5.0,
    "weight_decay": 10.0,
    "temperature": 5.0,
    "size_weight": 10.0,
    "cross_entropy_weight": 10.0,
}
_DIGITS = 6
_ABREAST = 4  # linear models of one program: more do not stay in the cache


@dataclass(frozen=True, eq=False)
class SetSize:
    """Mean set size on examples with labels y (n,): half of them calibrate, the others count.

    score: whose sets; one that takes U gets fresh draws. splits, seed: as in `evaluate`.
    """

    y: Any
    alpha: float
    score: Callable[..., Any] = thr
    splits: int = 10
    seed: int = 0

    def __call__(self, logits: Any) -> float:
        """The mean over the random splits, of logits (n, K)."""
        records = evaluate(
            logits,
            np.asarray(self.y),
            score=self.score,
            alpha=self.alpha,
            n_cal=len(self.y) // 2,
            splits=self.splits,
            seed=self.seed,
            random_u=takes_u(self.score),
        )
        return float(np.mean([record["inefficiency"] for record in records]))


@dataclass(frozen=True, eq=False)
class Ground:
    """Where configurations compete.

    data: what trains; x: the held-out examples (n, ...), as stored. Calibration examples must be
        in neither: what chose a model must not calibrate it.
    measure: logits (n, K) of the held-out examples -> what is to be small, such as `SetSize`.
    """

    model: Model
    data: TrainingSet
    x: Any
    measure: Callable[[Any], float]


class Tried(NamedTuple):
    """A configuration and its measure on the held-out examples; None where it failed."""

    settings: dict[str, float]
    size: float | None


class Tuned(NamedTuple):
    """The best objective and plan; all settings that were tried, the best first; those given."""

    objective: Objective
    plan: Plan
    tried: list[Tried]
    given: Tried


def tune(
    ground: Ground,
    objective: Objective,
    plan: Plan,
    n: int,
    *,
    seed: int = 0,
    progress: Report | None = None,
    checkpoints: Checkpoints | None = None,
) -> Tuned:
    """The best of n configurations around an objective and a plan, which are the first of them.

    The others have another learning rate (up to 5 times more or less), weight decay (10),
    temperature (5), size weight (10) and cross-entropy weight (10), as far as the objective has
    these and the optimiser is `SGD`; what is 0, and all else, stays as it is. They share one
    compiled program and all start from the same parameters.

    progress, checkpoints: as in `fit`; a search that was killed goes on where it was.

        tuned = tune(Ground(model, data, x_held, SetSize(y_held, alpha)), objective, plan, 20)
        fit(key, model, data, tuned.objective, tuned.plan)
    """
    chosen = _around(objective, plan, n, seed)
    vary = {name: [one[name] for one in chosen] for name in chosen[0]}
    sizes = compete(
        ground, objective, plan, vary, seed=seed, progress=progress, checkpoints=checkpoints
    )
    given, *others = (Tried(*pair) for pair in zip(chosen, sizes, strict=True))
    tried = sorted([given, *others], key=lambda one: math.inf if one.size is None else one.size)
    program = Program(ground.model, objective, plan.optimiser)
    best = with_settings(program, tried[0].settings)
    return Tuned(best.objective, replace(plan, optimiser=best.optimiser), tried, given)


def compete(
    ground: Ground,
    objective: Objective,
    plan: Plan,
    vary: Mapping[str, Sequence[Any]],
    *,
    seed: int = 0,
    progress: Report | None = None,
    checkpoints: Checkpoints | None = None,
) -> list[float | None]:
    """The measure of each configuration of `vary` (see `fit`); None for one that failed.

    All train from the same start and through the same shuffles, those of the seed.
    """
    count = len(next(iter(vary.values())))
    fitted = fit(
        trial_keys(seed, 1)[np.zeros(count, int)],
        ground.model,
        ground.data,
        objective,
        plan,
        vary=vary,
        progress=progress,
        checkpoints=checkpoints,
        abreast=abreast(ground.model),
    )
    return _sizes(ground, fitted)


def abreast(model: Model) -> int:
    """How many configurations of a model one program trains; see `fit`.

    Linear models wait for memory: read once for four of them, the inputs cost a quarter. Hidden
    layers keep the processor busy alone.
    """
    return _ABREAST if isinstance(model, MLP) and not model.hidden else 1


def _sizes(ground: Ground, fitted: Fitted) -> list[float | None]:
    shift, scale = ground.data.shift, ground.data.scale
    logits = predict_logits(ground.model, fitted, ground.x, shift=shift, scale=scale)
    # The last step may be finite and what it leads to not.
    sound = (fitted.failed_step < 0) & np.isfinite(logits).all(axis=(1, 2))
    return [
        round(ground.measure(own), _DIGITS) if fine else None
        for own, fine in zip(logits, sound, strict=True)
    ]


def _around(objective: Objective, plan: Plan, n: int, seed: int) -> list[dict[str, float]]:
    """n configurations: the one given, then others near it, even in the logarithm."""
    known = optimisers.numbers(plan.optimiser) | {
        name: getattr(objective, name) for name in fields(objective)
    }
    given = {name: float(known[name]) for name in _REACH if known.get(name)}
    if n < 1 or not given:
        raise ValueError(
            f"n must be at least 1 and the objective or SGD must have one of {', '.join(_REACH)}; "
            f"got n = {n}, {objective!r} and {plan.optimiser!r}."
        )
    places = np.random.default_rng(seed).uniform(-1, 1, (n, len(given)))
    places[0] = 0
    return [
        {
            name: float(f"{value * _REACH[name] ** float(place):.3g}") if place else value
            for place, (name, value) in zip(own, given.items(), strict=True)
        }
        for own in places
    ]
