"""Exhibits as tables of text: the published number, ours, and the difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from conftr.experiments.specification import Specification
from conftr.experiments.store import Record, Store
from conftr.machine.table import RECORD, Table
from conftr.paper.exhibits import COVERAGE, Cell, Exhibit, Line, our_number

_MISSING = "–"


def table_of(
    exhibit: Exhibit, store: Store, named: Callable[[Specification], str] | None = None
) -> Table:
    """A table with a line for each of the exhibit's; what has not been run is a dash.

    Args:
        named: How a run's record is written in the last column; its digest by default.
    """
    named = named or (lambda run: run.name)
    pairs = list(zip(exhibit.columns, *(line.cells for line in exhibit.lines), strict=True))
    columns = [*exhibit.headings]
    for name, *cells in pairs:
        columns += _headings(name, cells, compared=any(line.against for line in exhibit.lines))
        columns += [exhibit.beside] if exhibit.beside and _differs(cells[0]) else []
    columns += ["trials x splits", RECORD]
    cells = [list(_line(line, exhibit, store, named)) for line in exhibit.lines]
    return Table(
        f"{exhibit.title} ({exhibit.place})",
        columns,
        cells,
        [remark.text for remark in exhibit.remarks],
    )


def _differs(cell: Cell) -> bool:
    """Whether methods differ in it: all of them cover what they were asked to."""
    return cell.quantity != COVERAGE


def _published(cells: list[Cell]) -> bool:
    return any(cell.published is not None for cell in cells)


def _headings(name: str, cells: list[Cell], compared: bool) -> list[str]:
    """One column, and where the paper has numbers or a run is compared with another, three."""
    if _published(cells):
        return [f"{name}, paper", "ours", "difference"]
    return [f"{name}, before", "after", "change"] if compared else [name]


def _line(
    line: Line, exhibit: Exhibit, store: Store, named: Callable[[Specification], str]
) -> Iterator[str]:
    record = store.get(line.run)
    against = store.get(line.against) if line.against else None
    beside = store.get(line.beside) if line.beside else None
    yield from line.labels
    for place, cell in enumerate(line.cells):
        published = _published([other.cells[place] for other in exhibit.lines])
        yield from _cells(cell, published, record, line.against is not None, against)
        if line.beside and _differs(cell):
            yield _text(our_number(cell, beside).mean if beside else None, cell)
    yield f"{line.run.trials} x {line.run.evaluation.splits}" + _failures(record)
    yield named(line.run) if record else _MISSING


def _cells(
    cell: Cell, published: bool, record: Record | None, compared: bool, against: Record | None
) -> Iterator[str]:
    ours = our_number(cell, record) if record else None
    mean, std = (ours.mean, ours.std) if ours else (None, None)
    text = _text(mean, cell, std)
    if published:
        yield _text(cell.published, cell)
        yield text
        yield _text(_minus(mean, cell.published), cell, signed=True)
    elif compared:
        before = our_number(cell, against).mean if against else None
        yield _text(before, cell)
        yield text
        yield _MISSING if mean is None or not before else f"{100 * (mean / before - 1):+.1f} %"
    else:
        yield text


def _text(
    value: float | None, cell: Cell, std: float | None = None, *, signed: bool = False
) -> str:
    if value is None:
        return _MISSING
    digits = cell.quantity.digits
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    return text if std is None else f"{text} ± {std:.{digits + 1}f}"


def _minus(ours: float | None, theirs: float | None) -> float | None:
    return None if ours is None or theirs is None else ours - theirs


def _failures(record: Record | None) -> str:
    return f", {record['failed']} failed" if record and record["failed"] else ""
