"""Settings compared on held-out examples, all of them in one compiled program (app. F).

A configuration is better than another if its sets are smaller on examples that neither trained
it nor will calibrate it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from conftr.conformal.scores import thr
from conftr.conformal.trials import evaluate, takes_u
from conftr.training import Checkpoints, Fitted, Progress, fit, predict_logits
from conftr.training.epochs import Objective, TrainingSet
from conftr.training.models import MLP, Model
from conftr.training.runs import Plan, resample, trial_keys

ProgressReport: TypeAlias = Callable[[Progress], None]

_DIGITS = 6
_ABREAST = 4  # linear models of one program: more do not stay in the cache


@dataclass(frozen=True, eq=False)
class SetSize:
    """Mean set size on examples with labels y (n,): half of them calibrate, the others count.

    Attributes:
        score: Whose sets.
        splits: As in `evaluate`.
        seed: As in `evaluate`.
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
class HeldOut:
    """What settings train and are measured on.

    Attributes:
        data: What trains.
        x: The held-out examples (n, ...), as stored. Calibration examples must be in neither: what
            chose a model must not calibrate it.
        measure: Logits (n, K) of the held-out examples -> what is to be small, such as `SetSize`.
        resampled: Whether a training set is drawn from five copies of what trains, see `resample`.
    """

    model: Model
    data: TrainingSet
    x: Any
    measure: Callable[[Any], float]
    resampled: bool = False


def measured(
    held_out: HeldOut,
    objective: Objective,
    plan: Plan,
    vary: Mapping[str, Sequence[Any]],
    *,
    seed: int = 0,
    progress: ProgressReport | None = None,
    checkpoints: Checkpoints | None = None,
) -> list[float | None]:
    """Train with each of several settings, from the same start and through the same shuffles.

    Args:
        held_out: what they train and are measured on.
        objective: as in `fit`.
        plan: as in `fit`.
        vary: the settings, as in `fit`.
        seed: of the start and the shuffles.
        progress: as in `fit`.
        checkpoints: as in `fit`.

    Returns:
        The measure of each; None for one that failed.
    """
    count = len(next(iter(vary.values())))
    keys = trial_keys(seed, 1)[np.zeros(count, int)]
    fitted = fit(
        keys,
        held_out.model,
        held_out.data,
        objective,
        plan,
        rows=resample(keys, len(held_out.data.y)) if held_out.resampled else None,
        vary=vary,
        progress=progress,
        checkpoints=checkpoints,
        abreast=abreast(held_out.model),
    )
    return _measures(held_out, fitted)


def abreast(model: Model) -> int:
    """How many configurations of a model one program trains; see `fit`.

    Linear models wait for memory: read once for four of them, the inputs cost a quarter. Hidden
    layers keep the processor busy alone.
    """
    return _ABREAST if isinstance(model, MLP) and not model.hidden else 1


def _measures(held_out: HeldOut, fitted: Fitted) -> list[float | None]:
    shift, scale = held_out.data.shift, held_out.data.scale
    logits = predict_logits(held_out.model, fitted, held_out.x, shift=shift, scale=scale)
    # The last step may be finite and what it leads to not.
    sound = (fitted.failed_step < 0) & np.isfinite(logits).all(axis=(1, 2))
    return [
        round(held_out.measure(of_run), _DIGITS) if fine else None
        for of_run, fine in zip(logits, sound, strict=True)
    ]
