"""What is told while a run goes on."""

import io

from rich.console import Console

from conftr.machine import progress
from conftr.machine.table import Table


def test_a_log_has_few_lines_and_the_last_epoch(monkeypatch):
    now, printed = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    lines = progress.Lines(printed.append, seconds=30)
    for epoch in range(101):
        now[0] += 10.0
        lines.step("mnist bel", epoch, 100)
    lines.step("mnist bel", 100, 100)
    assert printed[0] == "mnist bel: 1 of 100"
    assert printed[1] == "mnist bel: 4 of 100, 16 min 0 s left"
    assert printed[-1] == "mnist bel: 100 of 100"
    assert len(printed) == 34


def test_durations():
    assert [progress.duration(s) for s in (0.4, 59, 61, 7260)] == [
        "0 s",
        "59 s",
        "1 min 1 s",
        "2 h 1 min",
    ]


def test_bars_count_only_the_epochs_of_this_session():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with progress.Bars(console) as bars:
        bars.step("mnist bel", 0, 50)
        bars.step("mnist bel", 40, 50)
        bars.step("mnist bel", 41, 50)
        (task,) = bars.bars.tasks
        assert (task.completed, task.total) == (41, 50)
        assert sum(sample.completed for sample in task._progress) <= 1
        bars.note("a [note]")
    assert "a [note]" in console.file.getvalue()
    assert "mnist bel" in console.file.getvalue()


BEST = Table("best of 2 of 9", ["method", "size", "tau"], [["bel", "1.5", ""]], [])


def test_a_log_says_what_is_best_when_that_changes():
    printed = []
    lines = progress.Lines(printed.append)
    lines.show(BEST._replace(cells=[]))
    lines.show(BEST)
    lines.show(BEST._replace(title="best of 3 of 9"))
    lines.show(BEST._replace(cells=[["covertr", "1.4", "-0.1"], *BEST.cells]))
    assert printed == [
        "best of 2 of 9: method bel, size 1.5",
        "best of 2 of 9: method covertr, size 1.4, tau -0.1",
    ]


def test_a_terminal_shows_the_table_below_the_bars():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with progress.Bars(console) as bars:
        bars.step("mnist stage 1", 1, 50)
        bars.show(BEST)
        bars.bars.refresh()
        shown = console.file.getvalue()
        assert shown.index("mnist stage 1") < shown.index("best of 2 of 9")
        bars.show(BEST._replace(cells=[]))
        console.file.truncate(0)
        bars.bars.refresh()
    assert "best of" not in console.file.getvalue()
