"""Tables and figures of a paper as data: each published number beside the run that answers it."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from conftr.experiments.specification import Specification
from conftr.experiments.store import Record
from conftr.paper.remarks import Remark

Steps: TypeAlias = tuple[str | int, ...]

_FILE = Path(__file__).with_name("exhibits.toml")


@dataclass(frozen=True)
class Quantity:
    """A number of a result: how it is called, and where it stands there.

    Attributes:
        paths: Names and places that lead to a number each, of which the sum is meant; what has a
            "mean" stands for it.
        factor: 100 for per cent.
    """

    name: str
    paths: tuple[Steps, ...]
    factor: float = 1.0
    digits: int = 2


INEFFICIENCY = Quantity("set size", (("inefficiency",),))
ACCURACY = Quantity("accuracy %", (("accuracy",),), factor=100)
COVERAGE = Quantity("coverage %", (("coverage",),), factor=100)


@dataclass(frozen=True)
class Cell:
    """A published number, or None, and the number of ours that answers it."""

    published: float | None
    quantity: Quantity = INEFFICIENCY
    score: str = "THR"
    alpha: float = 0.01


@dataclass(frozen=True)
class Line:
    """A row of an exhibit: its labels, the run, and the cells that are read from its record.

    Attributes:
        against: The run whose numbers the change is from, where a change is what matters.
        beside: A run whose numbers have columns of their own.
    """

    labels: tuple[str, ...]
    run: Specification
    cells: tuple[Cell, ...]
    against: Specification | None = None
    beside: Specification | None = None

    def runs(self) -> tuple[Specification, ...]:
        """What must be run for this line."""
        return tuple(run for run in (self.against, self.run, self.beside) if run is not None)


@dataclass(frozen=True)
class Exhibit:
    """A table or a figure's numbers.

    Attributes:
        key: As it is asked for on the command line.
        headings: Of the labels.
        columns: Of the cells.
        remarks: What a reader should know; where ours and theirs part, why.
        beside: What the runs beside the lines are called; empty where there are none.
    """

    key: str
    title: str
    place: str
    headings: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    remarks: tuple[Remark, ...] = ()
    beside: str = ""

    def with_beside(self, name: str, reference: Callable[[str], Specification]) -> Exhibit:
        """The same with a run on the dataset of each line beside it."""
        lines = [
            dataclasses.replace(line, beside=reference(line.run.training.dataset))
            for line in self.lines
        ]
        return dataclasses.replace(self, lines=tuple(lines), beside=name)

    def of(self, dataset: str | None) -> Exhibit:
        """The lines of one dataset alone, and what is said of it; of all for None."""
        lines = (line for line in self.lines if dataset in (None, line.run.training.dataset))
        remarks = (
            remark
            for remark in self.remarks
            if None in (dataset, remark.dataset) or remark.dataset == dataset
        )
        return dataclasses.replace(self, lines=tuple(lines), remarks=tuple(remarks))

    def with_trials(self, trials: int | None) -> Exhibit:
        """The same with another number of training trials; unchanged for None."""
        if trials is None:
            return self

        def fewer(run: Specification) -> Specification:
            return dataclasses.replace(run, trials=trials)

        lines = [
            dataclasses.replace(
                line,
                run=fewer(line.run),
                against=line.against and fewer(line.against),
                beside=line.beside and fewer(line.beside),
            )
            for line in self.lines
        ]
        return dataclasses.replace(self, lines=tuple(lines))


def exhibit(key: str, lines: Iterable[Line], remarks: tuple[Remark, ...] = ()) -> Exhibit:
    """The exhibit that `exhibits.toml` describes, with its lines."""
    about = described()[key]
    headings, columns = tuple(about["headings"]), tuple(about["columns"])
    return Exhibit(key, about["title"], about["place"], headings, columns, tuple(lines), remarks)


def published(key: str) -> list[Any]:
    """The rows of an exhibit as the paper prints them."""
    rows: list[Any] = described()[key]["published"]
    return rows


@cache
def described() -> dict[str, dict[str, Any]]:
    """What is said of every exhibit, by its key."""
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


class OurNumber(NamedTuple):
    """Our number, its deviation over training trials, and how many of them; None where missing."""

    mean: float | None
    std: float | None
    trials: int
    failed: int


def runs(exhibits: Iterable[Exhibit]) -> list[Specification]:
    """Every run that the exhibits need, once, in order."""
    return list(
        dict.fromkeys(r for exhibit in exhibits for line in exhibit.lines for r in line.runs())
    )


def our_number(cell: Cell, record: Record) -> OurNumber:
    """Our number for a cell."""
    trials, failed = record["specification"]["trials"], record["failed"]
    for result in record["results"]:
        if (result["score"], result["alpha"]) == (cell.score, cell.alpha):
            mean, std = _number(cell.quantity, result)
            return OurNumber(mean, std, trials, failed)
    return OurNumber(None, None, trials, failed)


def _number(quantity: Quantity, result: Record) -> tuple[float | None, float | None]:
    """The sum of what the paths lead to; a deviation only where that is one spread."""
    values = [_at(result, path) for path in quantity.paths]
    means = [value["mean"] if isinstance(value, dict) else value for value in values]
    if None in means:
        return None, None
    spread = values[0] if len(values) == 1 and isinstance(values[0], dict) else {}
    std = spread.get("std_trials")
    return quantity.factor * sum(means), None if std is None else quantity.factor * std


def _at(result: Any, path: Steps) -> Any:
    for step in path:
        result = None if result is None else result[step]
    return result
