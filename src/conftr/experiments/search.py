"""Settings that the paper does not print, found by its grid (app. F) on held-out training data.

Every configuration trains on a part of the training split and is measured on the rest of it:
calibration and test examples are not looked at. Configurations that differ in numbers alone share
one compiled program. Stages narrow the field: many configurations for a share of the epochs, then
the best of them for all epochs and on more divisions of the training split.
"""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from conftr.experiments import settings
from conftr.experiments.parts import build
from conftr.experiments.runner import (
    Materials,
    Workshop,
    alone,
    made,
    measure,
    prepare,
    trained,
    warnings_told,
)
from conftr.experiments.settings import Row, Wish
from conftr.experiments.specification import Evaluation, Part, Training, digest, part
from conftr.experiments.store import Record, read, write
from conftr.training import Checkpoints, Fitted, Progress, fit, trial_keys

Values: TypeAlias = dict[str, Any]
Grid: TypeAlias = Mapping[str, Sequence[Any]]
Scores: TypeAlias = dict[Training, float | None]

# What may differ within one compiled program, and how many models it trains at a time.
_OF_OBJECTIVE = ("temperature", "size_weight", "target_size", "tau")
_OF_OPTIMISER = ("learning_rate", "weight_decay")
_AT_ONCE = 24


class Stage(NamedTuple):
    """Train for this share of the epochs on so many divisions, and keep so many of the best."""

    share: float
    repeats: int
    keep: int


@dataclass(frozen=True)
class Search:
    """What is searched: a method on a dataset, values of each setting, and the stages."""

    dataset: str
    method: str
    grid: Grid
    stages: tuple[Stage, ...]

    def configurations(self) -> list[Values]:
        """The cross product of the grid."""
        return [dict(zip(self.grid, one, strict=True)) for one in product(*self.grid.values())]

    def training(self, values: Values, stage: Stage, repeat: int) -> Training:
        """What a configuration trains in a stage; a repeat has its own division and seed."""
        row = Row(**values)
        epochs = row.epochs or settings.setup(self.dataset).epochs
        wish = Wish(epochs=max(1, round(stage.share * epochs)), seed=repeat, resampled=False)
        pool = part("held_out", share=0.3, at_most=5000, seed=repeat)
        return replace(settings.training(self.dataset, self.method, wish, row), pool=pool)

    def evaluation(self) -> Evaluation:
        """The score that is compared: THR at the alpha that is trained for."""
        alpha = settings.setup(self.dataset).alphas[0]
        return Evaluation((alpha,), splits=10, scores=(("THR", part("thr")),))

    def question(self) -> Record:
        """As plain data, to tell one search from another."""
        plain: Record = json.loads(json.dumps({"grid": self.grid, "stages": self.stages}))
        return {"dataset": self.dataset, "method": self.method} | plain


_RATES = (0.05, 0.01, 0.005)
_GRIDS: Mapping[str, Grid] = {
    "baseline": {"learning_rate": (0.1, *_RATES)},
    "baseline-tuned": {"learning_rate": (0.1, *_RATES), "weight_decay": (0.0, 5e-5, 5e-4)},
    "bel": {
        "learning_rate": _RATES,
        "temperature": (0.1, 0.5, 1),
        "size_weight": (0.001, 0.01, 0.1, 1, 10),
    },
    "covertr": {
        "learning_rate": _RATES,
        "temperature": (0.1, 1),
        "size_weight": (0.01, 0.1, 1),
        "target_size": (0, 1),
        "tau": (-0.1, -0.01),
    },
    "conftr": {"learning_rate": _RATES, "temperature": (0.1, 0.5, 1), "target_size": (0, 1)},
    "conftr-class": {
        "learning_rate": _RATES,
        "temperature": (0.1, 0.5, 1),
        "size_weight": (0.01, 0.1, 0.5, 1, 5),
        "target_size": (0, 1),
    },
}
_BATCHES: Mapping[str, Sequence[int]] = {
    "german-credit": (300, 200, 100, 50),
    "camelyon": (80, 40, 20, 10),
    "digits": (200, 100, 50),
}
_FEW_EPOCHS_FIRST = (Stage(0.2, 1, 8), Stage(1.0, 2, 1))
_ALL_EPOCHS = (Stage(1.0, 1, 8), Stage(1.0, 3, 1))
# Where all epochs of one model take half a minute, a tenth of them must tell the field apart.
_LARGE = (Stage(0.1, 1, 4), Stage(1.0, 1, 1))
# The held-out part of a small dataset says little: more divisions of it.
_SMALL = (Stage(1.0, 3, 10), Stage(1.0, 10, 1))
_STAGES: Mapping[str, tuple[Stage, ...]] = {
    "winequality": _ALL_EPOCHS,
    "fashion-mnist": _LARGE,
    "emnist": _LARGE,
    "emnist-test": _LARGE,
    "german-credit": _SMALL,
    "camelyon": _SMALL,
    "digits": _SMALL,
}


def default(dataset: str, method: str) -> Search:
    """The paper's grid, thinned out, in stages that two cores finish in minutes."""
    settings.choose(dataset, method)
    grid = {"batch_size": _BATCHES.get(dataset, (500, 100))} | dict(_GRIDS[method])
    stages = _STAGES.get(dataset, _FEW_EPOCHS_FIRST)
    if method == "baseline-tuned":
        whole = settings.setup(dataset).epochs
        grid = grid | {"epochs": (whole // 5, whole // 2, whole)}
        stages = stages if stages is _SMALL else _ALL_EPOCHS
    return Search(dataset, method, grid, stages)


def search(asked: Search, workshop: Workshop) -> Record:
    """Every configuration with its score, and the chosen one, kept in the results folder."""
    path = workshop.store.root / "search" / f"{asked.dataset}-{asked.method}.json"
    if path.exists() and read(path)["search"] == asked.question():
        return read(path)
    begun, rows, told = time.monotonic(), asked.configurations(), {}
    # Nothing is told of configurations that fail: some are bound to, and the record says which.
    with warnings_told(lambda _: None):
        for number, stage in enumerate(asked.stages, 1):
            name = f"stage_{number}"
            told[name] = _ranked(asked, stage, rows, _scores_of(asked, stage, rows, workshop, name))
            rows = [entry["settings"] for entry in told[name][: stage.keep]]
    seconds = {"search": time.monotonic() - begun}
    record = {"search": asked.question(), "chosen": rows[0], **told, "made": made(seconds)}
    write(path, record)
    return record


def _ranked(asked: Search, stage: Stage, rows: Sequence[Values], scores: Scores) -> list[Values]:
    """Configurations with the scores of their repeats, the smallest mean set size first."""
    found = []
    for values in rows:
        own = [scores[asked.training(values, stage, i)] for i in range(stage.repeats)]
        sizes = [score for score in own if score is not None]
        mean = round(sum(sizes) / len(sizes), 6) if len(sizes) == len(own) else None
        found.append({"inefficiency": mean, "settings": values, "repeats": own})
    return sorted(found, key=lambda entry: entry["inefficiency"] or math.inf)


def _scores_of(
    asked: Search, stage: Stage, rows: Sequence[Values], workshop: Workshop, name: str
) -> Scores:
    """Train and measure every configuration and repeat of a stage, group by group."""
    held = replace(workshop, load=cache(workshop.load))
    groups = _groups(asked, stage, rows)
    epochs = [_epochs(group[0]) for group in groups]
    scores: Scores = {}
    for i, group in enumerate(groups):
        task, before = f"{asked.dataset} {asked.method} {name}", sum(epochs[:i])

        def report(done: int, task: str = task, before: int = before) -> None:
            workshop.watch.step(task, before + done, sum(epochs))

        report(0)
        found = _score(group, asked.evaluation(), held, report)
        scores |= dict(zip(group, found, strict=True))
    return scores


def _groups(asked: Search, stage: Stage, rows: Sequence[Values]) -> list[list[Training]]:
    """Trainings that can share a program, not too many at a time."""
    groups: dict[Training, list[Training]] = {}
    for repeat, values in product(range(stage.repeats), rows):
        one = asked.training(values, stage, repeat)
        groups.setdefault(_program(one), []).append(one)
    return [
        group[start : start + _AT_ONCE]
        for group in groups.values()
        for start in range(0, len(group), _AT_ONCE)
    ]


def _score(
    group: Sequence[Training],
    evaluation: Evaluation,
    workshop: Workshop,
    report: Callable[[int], None],
) -> list[float | None]:
    """Mean set size of each training of a group; None for one that failed."""
    materials = prepare(group[0], workshop.load)
    name = f"{digest((*group, evaluation))}-{materials.division.fingerprint()}"
    file, state = (workshop.runs / "search" / end for end in (f"{name}.json", name))
    if not file.exists():
        with alone(state):
            trials = trained(_fit(group, materials, workshop.checkpoints(state), report), materials)
            results = [measure(evaluation, [trial], materials) for trial in trials]
        write(file, {"sizes": [_size(result) for result in results]})
        shutil.rmtree(state, ignore_errors=True)
    report(_epochs(group[0]))
    sizes: list[float | None] = read(file)["sizes"]
    return sizes


def _size(results: list[Record]) -> float | None:
    mean: float | None = results[0]["inefficiency"]["mean"] if results else None
    return mean


def _fit(
    group: Sequence[Training],
    materials: Materials,
    checkpoints: Checkpoints,
    report: Callable[[int], None],
) -> Fitted:
    """Train a group at once, all from the same start and through the same shuffles."""

    def progress(now: Progress) -> None:
        report(now.epoch)

    first = group[0]
    return fit(
        trial_keys(first.seed, 1)[np.zeros(len(group), int)],
        materials.model,
        materials.data,
        build(first.objective),
        build(first.plan),
        vary=_vary(group),
        progress=progress,
        checkpoints=checkpoints,
    )


def _vary(group: Sequence[Training]) -> dict[str, list[Any]]:
    """The numbers in which the trainings of a group may differ."""
    first = group[0]
    own = {
        name: [one.objective[name] for one in group]
        for name in _named(first.objective, _OF_OBJECTIVE)
    }
    rates = {name: [_optimiser(one)[name] for one in group] for name in _OF_OPTIMISER}
    return own | rates


def _program(training: Training) -> Training:
    """A training without the numbers that may differ within a program."""
    objective = training.objective
    blank = objective.replace(**dict.fromkeys(_named(objective, _OF_OBJECTIVE)))
    optimiser = _optimiser(training).replace(**dict.fromkeys(_OF_OPTIMISER))
    return replace(training, objective=blank, plan=training.plan.replace(optimiser=optimiser))


def _named(objective: Part, names: Sequence[str]) -> list[str]:
    return [name for name, _ in objective.fields if name in names]


def _optimiser(training: Training) -> Part:
    optimiser = training.plan["optimiser"]
    assert isinstance(optimiser, Part)
    return optimiser


def _epochs(training: Training) -> int:
    epochs = training.plan["epochs"]
    assert isinstance(epochs, int)
    return epochs
