"""Settings searched around those given, in one compiled program."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from conftr.search.held_out import HeldOut, ProgressReport, measured
from conftr.search.space import around
from conftr.training import Checkpoints
from conftr.training.epochs import Objective, Program, with_settings
from conftr.training.runs import Plan


class Measured(NamedTuple):
    """Settings and their measure on the held-out examples; None where they failed."""

    settings: dict[str, float]
    size: float | None


class Tuned(NamedTuple):
    """The best objective and plan; all settings that were tried, the best first; those given."""

    objective: Objective
    plan: Plan
    tried: list[Measured]
    given: Measured


def tune(
    held_out: HeldOut,
    objective: Objective,
    plan: Plan,
    n: int,
    *,
    seed: int = 0,
    progress: ProgressReport | None = None,
    checkpoints: Checkpoints | None = None,
) -> Tuned:
    """Compare n settings around those of an objective and a plan, which are the first of them.

    They share one compiled program and all start from the same parameters.

        tuned = tune(HeldOut(model, data, x_held, SetSize(y_held, alpha)), objective, plan, 20)
        fit(key, model, data, tuned.objective, tuned.plan)

    Args:
        held_out: what they train and are measured on.
        objective: whose numbers vary, as far as they may (see `conftr.search.space.around`).
        plan: whose learning rate and weight decay vary, if its optimiser is `SGD`.
        n: how many.
        seed: of the settings, the start and the shuffles.
        progress: as in `fit`.
        checkpoints: as in `fit`; a search that was killed goes on where it was.

    Returns:
        The best, and all that were tried.
    """
    chosen = around(objective, plan.optimiser, n, seed)
    vary = {name: [settings[name] for settings in chosen] for name in chosen[0]}
    sizes = measured(
        held_out, objective, plan, vary, seed=seed, progress=progress, checkpoints=checkpoints
    )
    given, *others = (Measured(*pair) for pair in zip(chosen, sizes, strict=True))
    tried = sorted(
        [given, *others], key=lambda attempt: math.inf if attempt.size is None else attempt.size
    )
    program = Program(held_out.model, objective, plan.optimiser)
    best = with_settings(program, tried[0].settings)
    return Tuned(best.objective, replace(plan, optimiser=best.optimiser), tried, given)
