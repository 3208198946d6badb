"""`conftr monitor`: fed with files as they come, looked at any time, stopped at any time."""

import json

import numpy as np
import polars as pl
import pytest

from commands import run
from conftr.jobs import monitoring
from conftr.machine import disk

NAMES = ["cat", "dog", "eel"]


def rows(n, seed, sure=2.5):
    """Probabilities of another system, and the truth."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    logits = rng.normal(size=(n, 3)) + sure * np.eye(3)[y]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    result = pl.DataFrame({name: p[:, k] for k, name in enumerate(NAMES)})
    return result.with_columns(
        y=pl.Series([NAMES[k] for k in y]), id=pl.Series([f"{seed}-{i}" for i in range(n)])
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("monitored")
    rows(800, 0).drop("id").write_csv(folder / "rows.csv")
    out = folder / "model"
    done = run("calibrate", "probabilities", folder / "rows.csv", "--target", "y", "--out", out)
    assert done.exit_code == 0, done.output
    return out


def watch(model, tmp_path, frame, *more, code=0):
    """Feed a file; gives what is printed as JSON."""
    frame.write_csv(tmp_path / "new.csv")
    done = run(
        "monitor", model, tmp_path / "new.csv", "--state", tmp_path / "state", "--json", *more
    )
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def test_rows_of_the_same_source_are_no_cause_for_alarm(model, tmp_path):
    findings = watch(model, tmp_path, rows(300, 1))
    assert (findings["rows"], findings["labelled"]) == (300, 300)
    assert not findings["alarm"]
    assert findings["level"] == 0.01
    done = run("monitor", model, tmp_path / "new.csv", "--state", tmp_path / "state")
    assert done.exit_code == 0
    assert "Rows      300 so far" in done.stdout
    assert "nothing speaks against the promise" in " ".join(done.stdout.split())
    assert (tmp_path / "state" / "monitor.html").read_text().startswith("<!doctype html>")


def test_worse_rows_give_the_alarm_and_exit_status_three(model, tmp_path):
    watch(model, tmp_path, rows(200, 1))
    findings = watch(model, tmp_path, rows(300, 2, sure=0.5), code=3)
    assert {finding["kind"] for finding in findings["found"] if finding["alarm"]} >= {
        "promise",
        "scores",
    }
    done = run("monitor", model, tmp_path / "new.csv", "--state", tmp_path / "state")
    assert done.exit_code == 3  # an alarm stands
    assert "sets miss the true class more often than promised" in " ".join(done.stdout.split())


def test_rows_count_once_and_files_may_grow(model, tmp_path):
    first, more = rows(100, 1), rows(50, 2)
    assert watch(model, tmp_path, first)["rows"] == 100
    assert watch(model, tmp_path, first)["rows"] == 100
    findings = watch(model, tmp_path, pl.concat([first, more]))
    assert (findings["rows"], findings["labelled"]) == (150, 150)


def test_with_ids_no_row_counts_twice(model, tmp_path):
    first, more = rows(100, 1), rows(50, 2)
    assert watch(model, tmp_path, first, "--id", "id")["rows"] == 100
    overlap = pl.concat([first[80:], more])
    assert watch(model, tmp_path, overlap, "--id", "id")["labelled"] == 150
    done = run("monitor", model, tmp_path / "new.csv", "--state", tmp_path / "state")
    assert done.exit_code == 1
    assert "this monitor began with --id 'id'" in done.output


EMPTY_IDS = {
    "missing": pl.when(pl.int_range(pl.len()) % 3 == 0).then(None).otherwise(pl.col("id")),
    "spaces": pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.lit("  ")).otherwise(pl.col("id")),
    "not a number": pl.when(pl.int_range(pl.len()) % 3 == 0)
    .then(float("nan"))
    .otherwise(pl.int_range(pl.len()).cast(pl.Float64)),
}


@pytest.mark.parametrize("ids", EMPTY_IDS.values(), ids=EMPTY_IDS)
def test_rows_without_an_id_are_refused_where_ids_tell_rows_apart(model, tmp_path, ids):
    path, state = tmp_path / "new.parquet", tmp_path / "state"
    rows(100, 1).with_columns(id=ids).write_parquet(path)
    done = run("monitor", model, path, "--state", state, "--id", "id")
    assert done.exit_code == 1
    message = " ".join(done.output.split())
    assert "34 cells of the column 'id'" in message
    assert "cannot be told apart" in message
    assert not (state / monitoring.STATE).exists()
    assert watch(model, tmp_path, rows(100, 1), "--id", "id")["rows"] == 100


def test_empty_cells_are_counted_through_the_whole_file(model, tmp_path, monkeypatch):
    path = tmp_path / "new.csv"
    rows(100, 1).with_columns(id=EMPTY_IDS["missing"]).write_csv(path)
    whole = monitoring.blocks
    monkeypatch.setattr(monitoring, "blocks", lambda *given, **more: whole(*given, **more, rows=7))
    done = run("monitor", model, path, "--state", tmp_path / "state", "--id", "id")
    assert "34 cells of the column 'id'" in " ".join(done.output.split())


def test_labels_may_come_later(model, tmp_path):
    frame = rows(100, 1)
    findings = watch(model, tmp_path, frame.drop("y"))
    assert (findings["rows"], findings["labelled"]) == (100, 0)
    findings = watch(model, tmp_path, frame)
    assert (findings["rows"], findings["labelled"]) == (100, 100)


def test_labels_may_come_in_any_order_and_count_once(model, tmp_path):
    frame, day = rows(120, 1), np.random.default_rng(0).integers(0, 5, 120)
    for today in range(5):
        known = pl.when(pl.Series(day <= today)).then(pl.col("y"))
        findings = watch(model, tmp_path, frame.with_columns(y=known))
        assert (findings["rows"], findings["labelled"]) == (120, np.count_nonzero(day <= today))
    assert {finding["rows"] for finding in findings["found"] if finding["kind"] != "class"} == {120}


def test_a_file_may_grow_while_labels_of_its_rows_come(model, tmp_path):
    first, more = rows(60, 1), rows(40, 2)
    late = pl.when(pl.int_range(60) % 3 == 0).then(None).otherwise(pl.col("y")).alias("y")
    assert watch(model, tmp_path, first.with_columns(late))["labelled"] == 40
    assert watch(model, tmp_path, pl.concat([first.with_columns(late), more]))["labelled"] == 80
    findings = watch(model, tmp_path, pl.concat([first, more]))
    assert (findings["rows"], findings["labelled"]) == (100, 100)


def test_a_label_that_is_corrected_does_not_count_again(model, tmp_path):
    first = watch(model, tmp_path, rows(60, 1))
    corrected = rows(60, 1).with_columns(y=pl.col("y").reverse())
    assert watch(model, tmp_path, corrected) == first


def test_rows_without_labels_are_watched(model, tmp_path):
    findings = watch(model, tmp_path, rows(600, 3, sure=0.2).drop("y"), code=3)
    assert {finding["kind"] for finding in findings["found"] if finding["alarm"]} <= {
        "sizes",
        "confidence",
    }


def test_labels_that_are_no_class_are_told(model, tmp_path):
    findings = watch(model, tmp_path, rows(20, 1).with_columns(y=pl.lit("fox")))
    assert (findings["rows"], findings["labelled"], findings["strangers"]) == (20, 0, 20)


def test_the_level_is_chosen_before_the_first_row(model, tmp_path):
    watch(model, tmp_path, rows(20, 1), "--level", 0.05)
    assert watch(model, tmp_path, rows(20, 1), "--level", 0.05)["level"] == 0.05
    done = run(
        *("monitor", model, tmp_path / "new.csv", "--state", tmp_path / "state", "--level", 0.5)
    )
    assert done.exit_code == 1
    assert "the level of this monitor is 0.05 since it began" in done.output


def test_a_state_of_another_model_is_refused(model, tmp_path):
    watch(model, tmp_path, rows(20, 1))
    rows(500, 5).drop("id").write_csv(tmp_path / "rows.csv")
    other = tmp_path / "other"
    run("calibrate", "probabilities", tmp_path / "rows.csv", "--target", "y", "--out", other)
    done = run("monitor", other, tmp_path / "new.csv", "--state", tmp_path / "state")
    assert done.exit_code == 1
    assert "is of another model" in done.output


@pytest.mark.parametrize("step", [0, 1])
def test_stopped_at_any_write_it_goes_on_as_if_it_had_not_been(model, tmp_path, step):
    whole = watch(model, tmp_path, rows(120, 1))
    for name in ("state", "new"):
        (tmp_path / name).mkdir(exist_ok=True)
    state = tmp_path / "again"
    writes = []

    def killed(path, content):
        if len(writes) == step:
            raise KeyboardInterrupt
        writes.append(path)
        disk_write(path, content)

    disk_write = disk.write_whole
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "write_whole", killed)
        done = run("monitor", model, tmp_path / "new.csv", "--state", state)
    assert done.exit_code == 1
    assert ("The rows were counted." if step else "Nothing was written.") in done.output
    done = run("monitor", model, tmp_path / "new.csv", "--state", state, "--json")
    assert json.loads(done.stdout) == whole
    assert (state / monitoring.PAGE).exists()
