"""Settings told apart on held-out examples, all of them in one compiled program (app. F).

A configuration is better than another if its sets are smaller on examples that neither trained
it nor will calibrate it: half of them calibrate, the other half count, over random splits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from conftr import optimisers
from conftr.epochs import Objective, Program, TrainingSet, fields, with_settings
from conftr.models import Model
from conftr.runs import Plan, trial_keys
from conftr.scores import thr
from conftr.training import Checkpoints, Fitted, Progress, fit, predict_logits
from conftr.trials import evaluate

Report: TypeAlias = Callable[[Progress], None]

# How far a configuration may lie from the one it is made from, as a factor either way.
_REACH = {"learning_rate": 5.0, "temperature": 5.0, "size_weight": 10.0}
_DIGITS = 6


@dataclass(frozen=True, eq=False)
class Ground:
    """Where configurations compete.

    data: what trains; x, y: the held-out examples (n, ...), (n,), as stored. Calibration examples
        must be in neither: what chose a model must not calibrate it.
    alpha: at which sets are compared; score: by which; splits, split_seed: as in `evaluate`.
    """

    model: Model
    data: TrainingSet
    x: Any
    y: Any
    alpha: float
    score: Callable[..., Any] = thr
    splits: int = 10
    split_seed: int = 0


class Tried(NamedTuple):
    """A configuration and its mean set size on the held-out examples; None where it failed."""

    settings: dict[str, float]
    size: float | None


class Tuned(NamedTuple):
    """The best objective and plan that were tried, and all that were, the best first."""

    objective: Objective
    plan: Plan
    tried: list[Tried]


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

    The others have another learning rate (up to 5 times more or less), temperature (5) and size
    weight (10), as far as the objective has these and the optimiser is `SGD`; all else, arrays
    too, stays as it is. They share one compiled program and all start from the same parameters.

    progress, checkpoints: as in `fit`; a search that was killed goes on where it was.

        tuned = tune(Ground(model, data, x_held, y_held, alpha), objective, plan, 20)
        fit(key, model, data, tuned.objective, tuned.plan)
    """
    chosen = _around(objective, plan, n, seed)
    vary = {name: [one[name] for one in chosen] for name in chosen[0]}
    sizes = compete(
        ground, objective, plan, vary, seed=seed, progress=progress, checkpoints=checkpoints
    )
    tried = [Tried(*pair) for pair in zip(chosen, sizes, strict=True)]
    tried.sort(key=lambda one: math.inf if one.size is None else one.size)
    program = Program(ground.model, objective, plan.optimiser)
    best = with_settings(program, tried[0].settings)
    return Tuned(best.objective, replace(plan, optimiser=best.optimiser), tried)


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
    """Mean set size of each configuration of `vary` (see `fit`); None for one that failed.

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
    )
    return _sizes(ground, fitted)


def _sizes(ground: Ground, fitted: Fitted) -> list[float | None]:
    shift, scale = ground.data.shift, ground.data.scale
    logits = predict_logits(ground.model, fitted, ground.x, shift=shift, scale=scale)
    # The last step may be finite and what it leads to not.
    sound = (fitted.failed_step < 0) & np.isfinite(logits).all(axis=(1, 2))
    return [_size(ground, own) if fine else None for own, fine in zip(logits, sound, strict=True)]


def _size(ground: Ground, logits: Any) -> float:
    """Mean over random splits, half of the held-out examples calibrating."""
    records = evaluate(
        logits,
        np.asarray(ground.y),
        score=ground.score,
        alpha=ground.alpha,
        n_cal=len(ground.y) // 2,
        splits=ground.splits,
        seed=ground.split_seed,
    )
    return round(float(np.mean([record["inefficiency"] for record in records])), _DIGITS)


def _around(objective: Objective, plan: Plan, n: int, seed: int) -> list[dict[str, float]]:
    """n configurations: the one given, then others near it, even in the logarithm."""
    known = optimisers.numbers(plan.optimiser) | {
        name: getattr(objective, name) for name in fields(objective)
    }
    given = {name: float(known[name]) for name in _REACH if name in known}
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
