"""Runs: the record, and that nothing is trained twice, lost, or different the second time."""

import shutil
import signal
import subprocess
import sys
import textwrap
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import conftr
from conftr import data
from conftr.experiments import Evaluation, Store, runner
from conftr.experiments.runner import RunError, Workspace, run
from small_runs import CONFORMAL, Steps, small, without_times


@pytest.fixture
def no_training(monkeypatch):
    def refuse(*args, **named):
        raise AssertionError("trained again")

    monkeypatch.setattr(runner, "fit", refuse)


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """A folder in which `small()` was run, its record, and what was told."""
    place, steps = tmp_path_factory.mktemp("first"), Steps()
    return (
        place,
        run(small(), Workspace(Store(place / "results"), place / "runs", display=steps)),
        steps,
    )


@pytest.fixture
def finished(first_run, workspace):
    """A workspace in which `small()` was run."""
    shutil.copytree(first_run[0], workspace.runs.parent, dirs_exist_ok=True)
    return workspace


def test_a_run_ends_with_a_record_that_says_everything(first_run, finished):
    _, record, steps = first_run
    assert finished.store.get(small()) == record
    assert record["failed"] == 0
    assert [(r["score"], r["alpha"]) for r in record["results"]] == [
        (score, alpha) for score in ("THR", "THRL", "APS", "RAPS") for alpha in (0.1, 0.05)
    ]
    first = record["results"][0]
    assert 0.8 < first["coverage"]["mean"] <= 1
    assert 1 / 10 < first["accuracy"]["mean"] < 1
    assert len(first["class_inefficiency"]) == 10
    assert sum(first["sizes"]) == pytest.approx(1, abs=1e-4)
    assert set(first["groups"]) == {"even", "odd", "2"}
    assert np.shape(first["splits"]["inefficiency"]) == (2, 3)
    assert record["data"]["pool"] == 600
    assert set(record["made"]["versions"]) == {"conftr", "jax", "numpy", "python"}
    assert steps.steps == [("digits small", done, 2) for done in (0, 1, 2)]
    assert np.shape(first["coverage_confusion"]) == (10, 10)
    assert finished.store.path(small()).stat().st_size < 30_000


def test_the_mean_is_that_of_the_stored_splits(first_run):
    for result in first_run[1]["results"]:
        assert result["inefficiency"]["mean"] == pytest.approx(
            np.mean(result["splits"]["inefficiency"]), abs=1e-6
        )


def test_a_finished_run_is_not_run_again(first_run, finished, no_training):
    assert run(small(), finished) == first_run[1]
    with pytest.raises(AssertionError, match="trained again"):
        run(small(epochs=3), finished)


def test_a_record_of_other_data_of_the_name_is_told(first_run, finished, no_training):
    """Features that were made anew are other data under the same name."""
    assert run(small(), finished) == first_run[1]
    assert finished.display.notes == []
    digits = data.load("digits")
    changed = replace(digits, x_test=digits.x_test + 1)
    there = replace(finished, load=lambda _: changed)
    assert run(small(), there) == first_run[1]
    (note,) = finished.display.notes
    assert str(finished.store.path(small())) in note
    assert first_run[1]["data"]["fingerprint"] in note
    assert "move the file away to run this" in note


def test_data_that_are_not_here_are_not_fetched_for_a_stored_record(first_run, finished):
    def refuse(name):
        raise AssertionError("fetched")

    elsewhere = replace(finished, load=refuse, is_here=lambda _: False)
    assert run(small(), elsewhere) == first_run[1]


def test_other_alphas_and_scores_are_measured_without_training(finished, no_training):
    scores = (("APS", conftr.aps),)
    other = replace(small(), evaluation=Evaluation((0.2,), splits=2, scores=scores))
    (result,) = run(other, finished)["results"]
    assert (result["score"], result["alpha"]) == ("APS", 0.2)


def test_more_trials_train_only_those_that_are_missing(finished, monkeypatch, tmp_path):
    trained, fit = [], runner.fit
    monkeypatch.setattr(runner, "fit", lambda *a, **k: trained.append(len(a[0])) or fit(*a, **k))
    extended = run(small(trials=3), finished)
    assert trained == [1]
    at_once = run(small(trials=3), Workspace(Store(tmp_path / "other"), tmp_path / "others"))
    assert without_times(extended) == without_times(at_once)


def test_equal_seeds_give_equal_records_and_others_do_not(first_run, tmp_path):
    same, other = (
        run(small(seed=seed), Workspace(Store(tmp_path / "new"), tmp_path / "new runs"))
        for seed in (0, 1)
    )
    assert without_times(same) == without_times(first_run[1])
    assert other["results"] != same["results"]


def test_resampling_is_what_it_says(workspace, monkeypatch):
    rows = []

    def look(*args, **named):
        rows.append(named["rows"])
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "fit", look)
    for resampled in (True, False):
        with pytest.raises(KeyboardInterrupt):
            run(small(resampled=resampled), workspace)
    assert rows[0].shape == (2, 1197)
    assert len(np.unique(rows[0][0])) < 1000
    assert rows[1] is None


def test_failed_trials_are_counted_and_left_out(workspace, steps):
    record = run(small(learning_rate=1e30), workspace)
    assert record["failed"] == 2
    assert record["results"] == []
    assert all(trial["failed_step"] >= 0 for trial in record["trials"])
    assert "is not finite" in steps.notes[0]


def test_warnings_of_ours_become_notes_and_others_stay(steps):
    def warn():
        with runner.warnings_noted(steps.note):
            warnings.warn("from elsewhere", UserWarning, stacklevel=1)
            for _ in range(2):
                warnings.warn("too few", runner.TrainingWarning, stacklevel=1)

    with pytest.warns(UserWarning, match="from elsewhere") as caught:
        warn()
    assert steps.notes == ["too few"]
    assert len(caught) == 1


def test_a_damaged_file_of_logits_is_made_again(first_run, finished, tmp_path):
    (damaged,) = (tmp_path / "runs").glob("*/trial-001.npz")
    damaged.write_bytes(damaged.read_bytes()[:100])
    again = run(small(), replace(finished, store=Store(tmp_path / "other")))
    assert without_times(again) == without_times(first_run[1])


def test_other_data_under_the_same_name_do_not_meet_old_logits(first_run, finished, tmp_path):
    digits = data.load("digits")
    other = replace(
        digits, x_train=digits.x_train[::-1].copy(), y_train=digits.y_train[::-1].copy()
    )
    there = replace(finished, store=Store(tmp_path / "other"), load=lambda name: other)
    assert run(small(), there)["data"]["fingerprint"] != first_run[1]["data"]["fingerprint"]
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_two_processes_do_not_train_the_same(workspace):
    def both():
        with runner.one_process(workspace.runs / "one"), runner.one_process(workspace.runs / "one"):
            pass

    with pytest.raises(RunError, match="Another process"):
        both()


def test_nothing_but_json_is_in_the_results(finished):
    assert {p.suffix for p in finished.store.root.rglob("*") if p.is_file()} == {".json"}


LONG = """
    import sys
    from pathlib import Path
    from small_runs import CONFORMAL, Steps, small
    from conftr.experiments import Store
    from conftr.experiments.runner import Workspace, run

    class Loud(Steps):
        def step(self, task, done, total):
            print(done, flush=True)

    place = Path(sys.argv[1])
    workspace = Workspace(Store(place), place / "runs", display=Loud(), seconds=0)
    run(small(40, objective=CONFORMAL), workspace)
"""


@pytest.mark.slow  # kills processes at many moments
def test_a_killed_run_goes_on_and_ends_in_the_same_record(tmp_path, steps):
    place = tmp_path / "killed"
    code = [sys.executable, "-c", textwrap.dedent(LONG), str(place)]
    with subprocess.Popen(
        code, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True
    ) as child:
        assert any(int(line) == 5 for line in child.stdout)
        child.send_signal(signal.SIGKILL)
    specification = small(40, objective=CONFORMAL)
    assert Store(place).get(specification) is None
    resumed = run(specification, Workspace(Store(place), place / "runs", display=steps))
    assert steps.steps[1][1] > 4
    undisturbed = run(specification, Workspace(Store(tmp_path), tmp_path / "runs"))
    assert without_times(resumed) == without_times(undisturbed)


def test_an_objective_with_state_has_a_record(workspace):
    objective = conftr.DPSM(warm_up=2)
    record = run(small(epochs=1, trials=1, objective=objective), workspace)
    assert record["specification"]["training"]["objective"]["kind"] == "DPSM"
    assert record["failed"] == 0
