"""Configurations per minute: a sweep's bundle against one configuration after the other.

MNIST, linear, conformal training with a class loss at batch 500, each configuration measured on
held-out training examples. All ways train the same configurations:

together        a bundle: four abreast in one program, as many programs as there are cores
one at a time   the same program for each, compiled once, which may use all cores
plain loop      as one would write it: another objective is another program to compile; only four

24 configurations, as many as a sweep trains at once. One run, the least of interleaved rounds, all
compiled programs forgotten before each, and compiling is part of the time.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import jax
import numpy as np

import conftr
from conftr import data
from conftr.experiments.sweeping import TrainingRows
from conftr.machine.cores import cores
from conftr.machine.plain_data import build, shared
from conftr.search.attempts import Attempt, vary
from conftr.search.measurements import sizes
from conftr.search.settings import Stage
from conftr.search.sweeps import Sweep
from conftr.training import SGD, Plan, fit, predict_logits, trial_keys

GRID = {
    "batch_size": (500,),
    "learning_rate": (0.05, 0.01),
    "temperature": (0.1, 0.5, 1),
    "size_weight": (0.01, 0.1, 0.5, 1),
    "target_size": (1,),
}
BASE = {"model": "linear", "schedule": "steps"}
EPOCHS = 10
LEAST = 1.5


def sweep_of(epochs: int) -> Sweep:
    return Sweep("mnist", "conftr-class", GRID, BASE | {"epochs": epochs})


def attempts(sweep: Sweep) -> list[Attempt]:
    return [sweep.attempts(settings, Stage())[0] for settings in sweep.configurations()]


def together(sweep: Sweep, mnist: data.Dataset) -> list[float | None]:
    return sizes(attempts(sweep), source=TrainingRows(lambda _: mnist))


def one_at_a_time(sweep: Sweep, mnist: data.Dataset) -> list[float | None]:
    first, *_ = every = attempts(sweep)
    place = TrainingRows(lambda _: mnist).held_out(first)
    objective = shared(first.program.training.objective)
    plan, key = build(first.training.plan), trial_keys(0, 1)
    shift, scale = place.data.shift, place.data.scale
    sizes: list[float | None] = []
    for attempt in every:
        fitted = fit(key, place.model, place.data, objective, plan, vary=vary([attempt]))
        logits = predict_logits(place.model, fitted, place.x, shift=shift, scale=scale)
        sizes.append(round(place.measure(logits[0]), 6))
    return sizes


def plain_loop(sweep: Sweep, mnist: data.Dataset) -> list[float | None]:
    place = TrainingRows(lambda _: mnist).held_out(attempts(sweep)[0])
    shift, scale = place.data.shift, place.data.scale
    quantile = conftr.SmoothSort(0.1, position=conftr.paper_position)
    set_sizes: list[float | None] = []
    for values in sweep.configurations():
        batch, rate, *rest = values.values()
        named = dict(zip(("temperature", "size_weight", "target_size"), rest, strict=True))
        objective = conftr.ConfTr(0.01, quantile=quantile, loss_matrix=conftr.identity, **named)
        plan = Plan(sweep.base["epochs"], batch, SGD(rate))
        fitted = fit(trial_keys(0, 1)[0], place.model, place.data, objective, plan)
        logits = predict_logits(place.model, fitted, place.x, shift=shift, scale=scale)
        set_sizes.append(round(place.measure(logits), 6))
    return set_sizes


WAYS = {"together": together, "one at a time": one_at_a_time, "plain loop": plain_loop}


def seconds(run: Callable[[], object]) -> tuple[float, float]:
    """On the clock, and of the processor; nothing is compiled before."""
    jax.clear_caches()
    clock, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - clock, time.process_time() - cpu


def rates(mnist: data.Dataset, rounds: int) -> dict[str, float]:
    """Configurations a minute, each way."""
    sweep, by_way = sweep_of(EPOCHS), {}
    few = replace(sweep, grid={**sweep.grid, "temperature": (1,), "learning_rate": (0.01,)})
    parts = dict.fromkeys(WAYS, sweep) | {"plain loop": few}
    least = dict.fromkeys(WAYS, (float("inf"), float("inf")))
    for _ in range(rounds):
        for name, way in WAYS.items():
            least[name] = min(least[name], seconds(partial(way, parts[name], mnist)))
    print(f"MNIST linear, {EPOCHS} epochs, {cores()} cores")
    for name, (clock, cpu) in least.items():
        count = len(parts[name].configurations())
        by_way[name] = 60 * count / clock
        print(
            f"  {name:14} {count:3} configurations, {by_way[name]:6.1f} a minute, "
            f"{cpu / clock:.1f} cores busy"
        )
    return by_way


def examples() -> data.Dataset:
    """MNIST, or where it cannot be had random bytes of its shape, which take as long."""
    try:
        return data.load("mnist", progress=False)
    except data.DataError as missing:
        print(f"Random bytes in place of MNIST: {missing}")
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (55_000, 28, 28, 1), np.uint8), rng.integers(0, 10, 55_000)
    parts = (x, y, x[:0], y[:0], x[:0], y[:0])
    return data.Dataset("mnist", *parts, tuple("0123456789"), {}, data.centre(255))


def main() -> None:
    warnings.simplefilter("ignore", conftr.CalibrationWarning)
    by_way = rates(examples(), int(sys.argv[1]) if sys.argv[1:] else 2)
    ratio = by_way["together"] / by_way["one at a time"]
    missed = "" if ratio >= LEAST else ": MISSED"
    print(f"  together over one at a time {ratio:5.2f}  (at least {LEAST}{missed})")
    print(f"  together over a plain loop  {by_way['together'] / by_way['plain loop']:5.2f}")


if __name__ == "__main__":
    main()
