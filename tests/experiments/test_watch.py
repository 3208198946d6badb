"""What is told while a run goes on."""

import io

from rich.console import Console

from conftr.experiments import watch


def test_a_log_has_few_lines_and_the_last_epoch(monkeypatch):
    now, said = [0.0], []
    monkeypatch.setattr(watch.time, "monotonic", lambda: now[0])
    lines = watch.Lines(said.append, seconds=30)
    for epoch in range(101):
        now[0] += 10.0
        lines.step("mnist bel", epoch, 100)
    lines.step("mnist bel", 100, 100)
    assert said[0] == "mnist bel: epoch 1 of 100"
    assert said[1] == "mnist bel: epoch 4 of 100, 16 min 0 s left"
    assert said[-1] == "mnist bel: epoch 100 of 100"
    assert len(said) == 34


def test_durations():
    assert [watch.duration(s) for s in (0.4, 59, 61, 7260)] == [
        "0 s",
        "59 s",
        "1 min 1 s",
        "2 h 1 min",
    ]


def test_bars_count_only_the_epochs_of_this_session():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with watch.Bars(console) as bars:
        bars.step("mnist bel", 0, 50)
        bars.step("mnist bel", 40, 50)
        bars.step("mnist bel", 41, 50)
        (task,) = bars.bars.tasks
        assert (task.completed, task.total) == (41, 50)
        assert sum(sample.completed for sample in task._progress) <= 1
        bars.note("a [note]")
    assert "a [note]" in console.file.getvalue()
    assert "mnist bel" in console.file.getvalue()
