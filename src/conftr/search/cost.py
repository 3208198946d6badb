"""What sweeps will cost, before they start: two epochs of each program are timed on this machine.

    seconds = sum over trainings of (epochs x an epoch + measuring the model)

where an epoch is one model's share while all cores train. Compiling is done with the timing. Later
stages are counted with the mean of all configurations: nobody knows yet which will get there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from conftr.machine.cluster import Executor
from conftr.machine.cores import cores
from conftr.machine.progress import SILENT, Display, duration
from conftr.search.attempts import Attempt
from conftr.search.held_out import abreast
from conftr.search.measurements import ExampleSource, Measurements, sizes
from conftr.search.stages import round_of
from conftr.search.sweeps import Sweep
from conftr.training import Progress

_EPOCHS = 2


class Pace(NamedTuple):
    """Seconds: to compile a program; of an epoch of one model among others; to measure a model."""

    compiling: float
    epoch: float
    measuring: float


Paces: TypeAlias = dict[Attempt, Pace]


class Cost(NamedTuple):
    """What is to be tried, how much of its first stage is known, and what is left to do."""

    configurations: int
    known: int
    programs: int
    epochs: int
    seconds: float
    cores: int

    def words(self) -> str:
        """Say it in one line."""
        known = f" ({self.known} trainings are done)" if self.known else ""
        return (
            f"{self.configurations} configurations{known}, {self.programs} compiled programs, "
            f"{self.epochs} epochs: about {duration(self.seconds)} on {self.cores} cores."
        )


def cost(
    sweeps: Sequence[Sweep],
    measurements: Measurements,
    executor: Executor,
    display: Display = SILENT,
) -> Cost:
    """What sweeps that have no record yet will cost. Takes a few seconds for each program."""
    rounds = [round_of(sweep, sweep.configurations(), 0) for sweep in sweeps]
    first = [attempt for round_ in rounds for attempt in round_.attempts]
    known = measurements.known(first)
    missing = [attempt for attempt in first if attempt not in known]
    # Those that are done may still be in a later stage.
    timed = first if any(sweep.stages[1:] for sweep in sweeps) else missing
    paces = _paces(timed, measurements.source, display)
    later = [each for sweep in sweeps for each in _later(sweep, paces)]
    seconds = sum(_seconds(attempt, paces) for attempt in missing) + sum(pair[1] for pair in later)
    # Here that is done by now; elsewhere every worker does it for itself.
    compiling = 0.0 if executor.here else sum(pace.compiling for pace in paces.values())
    return Cost(
        sum(len(round_.field) for round_ in rounds),
        len(known),
        len(paces),
        sum(attempt.epochs for attempt in missing) + round(sum(pair[0] for pair in later)),
        compiling + seconds * cores() / executor.cores(),
        executor.cores(),
    )


def _later(sweep: Sweep, paces: Paces) -> list[tuple[float, float]]:
    """Epochs and seconds of each stage after the first."""
    stages = []
    for number, before in enumerate(sweep.stages[:-1], 1):
        field = round_of(sweep, sweep.configurations(), number).field
        attempts = [tried[0] for _, tried in field]
        share = min(before.keep, len(attempts)) * sweep.stages[number].repeats / len(attempts)
        epochs = sum(attempt.epochs for attempt in attempts)
        stages.append(
            (share * epochs, share * sum(_seconds(attempt, paces) for attempt in attempts))
        )
    return stages


def _seconds(attempt: Attempt, paces: Paces) -> float:
    pace = paces[_sample(attempt.program)]
    return attempt.epochs * pace.epoch + pace.measuring


def _paces(attempts: Sequence[Attempt], source: ExampleSource, display: Display) -> Paces:
    """The pace of every program of these attempts, by its sample."""
    samples = {_sample(attempt.program): _sample(attempt) for attempt in attempts}
    paces: Paces = {}
    for program, sample in samples.items():
        paces[program] = _pace(sample, source)
        display.step("timing the programs", _EPOCHS * len(paces), _EPOCHS * len(samples))
    return paces


def _sample(attempt: Attempt) -> Attempt:
    """What is timed in its place: two epochs on the first division, whatever its own."""
    training = attempt.training
    plan, pool = training.plan.replace(epochs=_EPOCHS), training.pool.replace(seed=0)
    return attempt._replace(training=replace(training, plan=plan, pool=pool, seed=0))


def _pace(sample: Attempt, source: ExampleSource) -> Pace:
    """Train as many copies as keep all cores busy."""
    count = cores() * abreast(source.held_out(sample).model)
    begun = time.monotonic()
    times: list[float] = []

    def progress(_: Progress) -> None:
        times.append(time.monotonic())

    sizes([sample] * count, source=source, progress=progress)
    # One that fails stops early: its epoch is then taken for longer than it is.
    epoch = (times[-1] - times[0]) / (len(times) - 1) if times[1:] else times[0] - begun
    return Pace(
        max(0.0, times[0] - begun - epoch), epoch / count, (time.monotonic() - times[-1]) / count
    )
