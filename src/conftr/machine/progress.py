"""Progress of long runs: bars on a terminal, lines in a log, or silence."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol

from conftr.conformal.shown_names import printable
from conftr.machine.table import Table, draw


class Display(Protocol):
    """What a run reports to."""

    def step(self, task: str, done: int, total: int) -> None:
        """Say how much of a task is done, in epochs or folds; 0 when it begins."""

    def note(self, message: str) -> None:
        """Something the user should know."""

    def show(self, table: Table) -> None:
        """How things stand, the best first, in place of the table before; none if it is empty."""


@dataclass(frozen=True)
class Silent:
    """Nobody watches."""

    def step(self, task: str, done: int, total: int) -> None:
        """Say nothing."""

    def note(self, message: str) -> None:
        """Say nothing."""

    def show(self, table: Table) -> None:
        """Say nothing."""


SILENT = Silent()


@dataclass
class Lines:
    """For logs: a line at most every `seconds`, and one when a task is done."""

    print: Any
    seconds: float = 30.0
    started: dict[str, tuple[float, int]] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    last: float = -math.inf
    best: list[str] = field(default_factory=list)

    def step(self, task: str, done: int, total: int) -> None:
        """Say how far a task is and how long it will take."""
        if not done:
            return
        now = time.monotonic()
        begun, first = self.started.setdefault(task, (now, done))
        silent = task in self.finished or (done < total and now - self.last < self.seconds)
        if silent:
            return
        if done == total:
            self.finished.add(task)
        self.last = now
        pace = (now - begun) / (done - first) if done > first else None
        left = f", {duration(pace * (total - done))} left" if pace and done < total else ""
        self.print(f"{task}: {done} of {total}{left}")

    def note(self, message: str) -> None:
        """Say it."""
        self.print(message)

    def show(self, table: Table) -> None:
        """Say what is best, whenever that changes."""
        if table.cells and table.cells[0] != self.best:
            self.best = table.cells[0]
            pairs = zip(table.columns, self.best, strict=True)
            values = ", ".join(f"{name} {value}" for name, value in pairs if value)
            self.print(f"{table.title}: {values}")


def duration(seconds: float) -> str:
    """Seconds in words, to two parts."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Bars:
    """For a terminal: a bar for each task, with the time that is left."""

    def __init__(self, console: Any) -> None:
        """Draw on a rich console."""
        from rich import progress

        self.console = console
        self.tasks: dict[str, Any] = {}
        self.moving: set[str] = set()
        self.table: Any = None
        self.bars = _with_table(self)(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TextColumn("left"),
            progress.TimeRemainingColumn(),
            console=console,
        )

    def __enter__(self) -> Bars:
        """Begin to draw."""
        self.bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Leave the bars as they are."""
        self.bars.stop()

    def step(self, task: str, done: int, total: int) -> None:
        """Move a task's bar."""
        if task not in self.tasks:
            self.tasks[task] = self.bars.add_task(task, total=total)
        elif task not in self.moving:
            # Compiling, and epochs done in an earlier session, say nothing of this one's pace.
            self.bars.reset(self.tasks[task], completed=done)
            self.moving.add(task)
        else:
            self.bars.update(self.tasks[task], completed=done)

    def note(self, message: str) -> None:
        """Print above the bars."""
        self.console.print(printable(message), style="yellow", markup=False, highlight=False)

    def show(self, table: Table) -> None:
        """Draw the table below the bars."""
        self.table = draw(table) if table.cells else None


def _with_table(owner: Bars) -> Any:
    """rich's Progress, with the owner's table below its bars."""
    from rich.progress import Progress

    class Both(Progress):
        def get_renderables(self) -> Any:
            yield from super().get_renderables()
            if owner.table is not None:
                yield owner.table

    return Both
