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

from conftr.experiments.bundles import Entrant, ground, sizes
from conftr.experiments.ledger import Load, ledger
from conftr.experiments.race import lane
from conftr.experiments.runner import Workshop
from conftr.experiments.sweep import Sweep
from conftr.machine.cluster import Executor
from conftr.machine.cores import cores
from conftr.machine.progress import duration
from conftr.search.tuning import abreast
from conftr.training import Progress

_EPOCHS = 2


class Pace(NamedTuple):
    """Seconds: to compile a program; of an epoch of one model among others; to measure a model."""

    compiling: float
    epoch: float
    measuring: float


Paces: TypeAlias = dict[Entrant, Pace]


class Cost(NamedTuple):
    """What is to be tried, how much of its first stage is known, and what is left to do."""

    configurations: int
    known: int
    programs: int
    epochs: int
    seconds: float
    cores: int

    def words(self) -> str:
        """In one line."""
        known = f" ({self.known} trainings are done)" if self.known else ""
        return (
            f"{self.configurations} configurations{known}, {self.programs} compiled programs, "
            f"{self.epochs} epochs: about {duration(self.seconds)} on {self.cores} cores."
        )


def cost(asked: Sequence[Sweep], workshop: Workshop, executor: Executor) -> Cost:
    """What is left of these sweeps. Takes a few seconds for each program."""
    book = ledger(workshop)
    asked = [one for one in asked if not one.path(workshop.store).exists()]
    lanes = [lane(one, one.configurations(), 0) for one in asked]
    first = [one for own in lanes for _, each in own.field for one in each]
    known = book.known(first)
    missing = [one for one in first if one not in known]
    # Those that are done may still be in a later stage.
    paces = _paces(first if any(one.stages[1:] for one in asked) else missing, book.load, workshop)
    later = [each for one in asked for each in _later(one, paces)]
    seconds = sum(_seconds(one, paces) for one in missing) + sum(pair[1] for pair in later)
    # Here that is done by now; elsewhere every worker does it for itself.
    compiling = 0.0 if executor.here else sum(pace.compiling for pace in paces.values())
    return Cost(
        sum(len(own.field) for own in lanes),
        len(known),
        len(paces),
        sum(one.epochs for one in missing) + round(sum(pair[0] for pair in later)),
        compiling + seconds * cores() / executor.cores(),
        executor.cores(),
    )


def _later(one: Sweep, paces: Paces) -> list[tuple[float, float]]:
    """Epochs and seconds of each stage after the first."""
    found = []
    for number, before in enumerate(one.stages[:-1], 1):
        entrants = [each[0] for _, each in lane(one, one.configurations(), number).field]
        share = min(before.keep, len(entrants)) * one.stages[number].repeats / len(entrants)
        epochs = sum(each.epochs for each in entrants)
        found.append((share * epochs, share * sum(_seconds(each, paces) for each in entrants)))
    return found


def _seconds(one: Entrant, paces: Paces) -> float:
    pace = paces[_sample(one.program)]
    return one.epochs * pace.epoch + pace.measuring


def _paces(entrants: Sequence[Entrant], load: Load, workshop: Workshop) -> Paces:
    """The pace of every program of these entrants, by its sample."""
    samples = {_sample(one.program): _sample(one) for one in entrants}
    found: Paces = {}
    for program, sample in samples.items():
        found[program] = _pace(sample, load)
        done = _EPOCHS * len(found)
        workshop.watch.step("timing the programs", done, _EPOCHS * len(samples))
    return found


def _sample(one: Entrant) -> Entrant:
    """The same for all stages and divisions: what is timed."""
    training = one.training
    plan, pool = training.plan.replace(epochs=_EPOCHS), training.pool.replace(seed=0)
    return one._replace(training=replace(training, plan=plan, pool=pool, seed=0))


def _pace(sample: Entrant, load: Load) -> Pace:
    """Train as many copies as keep all cores busy."""
    count = cores() * abreast(ground(sample, load).model)
    begun = time.monotonic()
    times: list[float] = []

    def progress(_: Progress) -> None:
        times.append(time.monotonic())

    sizes([sample] * count, load=load, progress=progress)
    # One that fails stops early: its epoch is then taken for longer than it is.
    epoch = (times[-1] - times[0]) / (len(times) - 1) if times[1:] else times[0] - begun
    return Pace(
        max(0.0, times[0] - begun - epoch), epoch / count, (time.monotonic() - times[-1]) / count
    )
