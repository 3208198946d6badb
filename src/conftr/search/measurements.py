"""What attempts measured, a small file for each, and measuring those that have none yet.

Only this process writes the files, wherever the measuring is done; a file that is there is never
written again. So nothing is lost when a worker or this process is killed, or counted twice.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, Self, TypeAlias

from conftr.conformal.quantile import CalibrationWarning
from conftr.machine.cluster import Executor
from conftr.machine.disk import write_whole
from conftr.machine.plain_data import build, digest, shared
from conftr.machine.progress import Display
from conftr.search.attempts import Attempt, Bundle, bundled, vary
from conftr.search.held_out import HeldOut, ProgressReport, measured
from conftr.training import Checkpoints, CheckpointWarning, Progress, TrainingWarning

Sizes: TypeAlias = dict[Attempt, float | None]


class ExampleSource(Protocol):
    """Where attempts get their examples."""

    def held_out(self, attempt: Attempt) -> HeldOut:
        """What an attempt trains and is measured on."""

    def digest(self, attempt: Attempt) -> str:
        """The digest of those very examples."""

    def only_for(self, attempts: Sequence[Attempt]) -> Self:
        """The same with what these attempts need and nothing else, to be sent elsewhere."""


@dataclass(frozen=True)
class Measurements:
    """The files in a folder.

    Attributes:
        seconds: Between two checkpoints of what is under way.
    """

    folder: Path
    source: ExampleSource
    seconds: float = 30.0

    def known(self, attempts: Sequence[Attempt]) -> Sizes:
        """The sizes of the attempts that have a file."""
        files = {attempt: self.file(attempt) for attempt in attempts}
        contents = {
            attempt: json.loads(file.read_text())
            for attempt, file in files.items()
            if file.exists()
        }
        return {attempt: content["size"] for attempt, content in contents.items()}

    def keep(self, sizes: Sizes) -> None:
        """Write those that have none."""
        for attempt, size in sizes.items():
            if not self.file(attempt).exists():
                write_whole(self.file(attempt), json.dumps({"size": size}).encode())

    def file(self, attempt: Attempt) -> Path:
        """Named by what is trained and measured, and by the very examples."""
        name = f"{digest(attempt)}-{self.source.digest(attempt)}.json"
        return self.folder / "measured" / name

    def state(self, bundle: Bundle) -> Path:
        """Where a bundle keeps its checkpoints while it trains."""
        return self.folder / "state" / f"{digest(tuple(bundle))}-{self.source.digest(bundle[0])}"


def measure(
    attempts: Sequence[Attempt],
    measurements: Measurements,
    executor: Executor,
    display: Display,
    title: str,
) -> Iterator[Sizes]:
    """The set sizes of attempts: first those that are known, then others as they come."""
    known = measurements.known(attempts)
    yield known
    missing = [attempt for attempt in attempts if attempt not in known]
    bundles = bundled(missing, executor.at_a_time(len(missing)))
    total, done = (
        sum(attempt.epochs for attempt in attempts),
        sum(attempt.epochs for attempt in known),
    )
    display.step(title, done, total)
    task = partial(sizes, source=measurements.source.only_for(missing))
    if executor.here:
        report = lambda epochs: display.step(title, done + epochs, total)  # noqa: E731
        task = partial(_kept, task=task, measurements=measurements, report=report)
    for number, new in executor.run(task, bundles):
        sizes_of_bundle = dict(zip(bundles[number], new, strict=True))
        measurements.keep(sizes_of_bundle)
        shutil.rmtree(measurements.state(bundles[number]), ignore_errors=True)
        done += sum(attempt.epochs for attempt in bundles[number])
        display.step(title, done, total)
        yield sizes_of_bundle


def sizes(
    bundle: Bundle,
    *,
    source: ExampleSource,
    progress: ProgressReport | None = None,
    checkpoints: Checkpoints | None = None,
) -> list[float | None]:
    """Mean set size of each attempt of a bundle on its held-out examples; None for a failure."""
    training, program = bundle[0].training, bundle[0].program.training
    with warnings.catch_warnings():
        # Nothing is told of attempts that fail: some are bound to, and the record says which.
        for category in (CalibrationWarning, CheckpointWarning, TrainingWarning):
            warnings.simplefilter("ignore", category)
        return measured(
            source.held_out(bundle[0]),
            shared(program.objective),
            build(training.plan),
            vary(bundle),
            seed=training.seed,
            progress=progress,
            checkpoints=checkpoints,
        )


def _kept(
    bundle: Bundle,
    *,
    task: Callable[..., list[float | None]],
    measurements: Measurements,
    report: Callable[[int], None],
) -> list[float | None]:
    """In this process a bundle keeps checkpoints, and tells of every epoch."""

    def progress(now: Progress) -> None:
        report(now.epoch * len(bundle))

    checkpoints = Checkpoints(measurements.state(bundle), measurements.seconds)
    return task(bundle, progress=progress, checkpoints=checkpoints)
