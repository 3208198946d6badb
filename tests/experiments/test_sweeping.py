"""Sweeps: on held-out training data alone, batched or not the same, killed or not the same."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftr import data
from conftr.experiments import Store
from conftr.experiments.runner import Workspace, run
from conftr.experiments.sweeping import (
    chosen,
    measurements,
    outcome,
    run_sweeps,
    without_record,
    write_settings,
)
from conftr.machine.cluster import Here
from conftr.search import held_out
from conftr.search.cost import cost
from conftr.search.settings import Stage, read
from conftr.search.stages import best_of
from conftr.search.sweeps import Sweep
from small_runs import Steps, small, without_times

SWEEP = Sweep(
    "digits",
    "covertr",
    {"batch_size": (400, 200), "learning_rate": (0.05, 1e-6), "temperature": (0.5, 1)},
    {"model": "linear", "epochs": 50},
    (Stage(0.04, 1, 2), Stage(0.08, 2, 1)),
)


def poisoned(name):
    """Digits whose calibration and test examples ruin whatever looks at them."""
    digits = data.load(name)
    bad = {f"x_{part}": np.full((300, 8, 8, 1), np.nan, np.float32) for part in ("cal", "test")}
    labels = {f"y_{part}": np.zeros(300, np.int32) for part in ("cal", "test")}
    return replace(digits, x_train=digits.x_train.astype(np.float32), **bad, **labels)


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    place = tmp_path_factory.mktemp("swept")
    return Workspace(Store(place), place / "runs", load=poisoned)


@pytest.fixture(scope="module")
def swept(there):
    (record,) = run_sweeps([SWEEP], there)
    return record


@pytest.fixture
def no_training(monkeypatch):
    def refuse(*args, **named):
        raise AssertionError("trained again")

    monkeypatch.setattr(held_out, "fit", refuse)


def test_calibration_and_test_examples_are_not_looked_at(swept):
    entries = [*swept["stage_1"], *swept["stage_2"]]
    assert all(1 <= entry["inefficiency"] < 10 for entry in entries)


def test_a_sweep_of_other_data_of_the_name_is_told(there, swept, no_training):
    display = Steps()
    assert run_sweeps([SWEEP], replace(there, display=display)) == [swept]
    assert display.notes == []

    def fewer(name):
        digits = poisoned(name)
        return replace(digits, x_train=digits.x_train[1:], y_train=digits.y_train[1:])

    assert run_sweeps([SWEEP], replace(there, load=fewer, display=display)) == [swept]
    (note,) = display.notes
    assert "other data named digits" in note


def test_calibration_and_test_examples_are_not_even_there(workspace):
    """Nothing that trains or measures for a sweep, here or elsewhere, can get at them."""
    given = measurements(workspace).source.load("digits")
    assert len(given.y_train) == len(data.load("digits").y_train)
    assert given.x_cal.size == given.y_cal.size == given.x_test.size == given.y_test.size == 0


def test_the_models_of_a_sweep_would_not_survive_the_poison(workspace):
    """What the first test relies on."""
    specification = replace(small(), trials=1)
    with pytest.raises(ValueError, match="must be finite"):
        run(specification, replace(workspace, load=poisoned))


def test_every_configuration_has_a_score_and_the_best_goes_on(swept):
    first, second = swept["stage_1"], swept["stage_2"]
    assert len(first) == 8
    assert [entry["inefficiency"] for entry in first] == sorted(
        entry["inefficiency"] for entry in first
    )
    assert [len(entry["repeats"]) for entry in second] == [2, 2]
    kept = [entry["settings"] for entry in first[:2]]
    assert all(entry["settings"] in kept for entry in second)
    assert swept["chosen"] == second[0]["settings"]
    assert swept["chosen"]["learning_rate"] == 0.05
    assert outcome(SWEEP, swept)["inefficiency"] == second[0]["inefficiency"]
    assert best_of([SWEEP], [swept]).cells[0][:2] == ["covertr", f"{second[0]['inefficiency']:.5g}"]


def test_a_finished_sweep_is_read_and_another_is_not_taken_for_it(swept, there, no_training):
    assert run_sweeps([SWEEP], there) == [swept]
    for other in (
        replace(SWEEP, stages=(Stage(0.02, 1, 1),)),
        replace(SWEEP, alpha=0.1),
        replace(SWEEP, seed=1),
    ):
        assert other.name != SWEEP.name
        with pytest.raises(AssertionError, match="trained again"):
            run_sweeps([other], there)


def test_a_larger_sweep_measures_only_what_is_new(swept, there, monkeypatch):
    trained, fit = [], held_out.fit
    monkeypatch.setattr(held_out, "fit", lambda *a, **k: trained.append(len(a[0])) or fit(*a, **k))
    grid = SWEEP.grid | {"temperature": (0.5, 1, 0.1)}
    larger = replace(SWEEP, grid=grid, stages=SWEEP.stages[:1])
    (record,) = run_sweeps([larger], there)
    assert trained == [2, 2]
    assert len(record["stage_1"]) == 12
    assert all(entry in record["stage_1"] for entry in swept["stage_1"])


@pytest.mark.parametrize("at_a_time", [1, 3])
def test_a_configuration_is_the_same_whatever_trains_beside_it(swept, workspace, at_a_time):
    """To the last digit: so bundles may be made and lost in any way."""
    (record,) = run_sweeps([SWEEP], replace(workspace, load=poisoned), Here(most=at_a_time))
    assert without_times(record) == without_times(swept)


def test_training_sets_are_drawn_where_that_is_asked(workspace, monkeypatch):
    whole, given = held_out.fit, []

    def fit(*arguments, rows, **options):
        given.append(rows)
        return whole(*arguments, rows=rows, **options)

    monkeypatch.setattr(held_out, "fit", fit)
    sweep = replace(SWEEP, grid={"batch_size": (200,), "learning_rate": (0.05,)}, stages=(Stage(),))
    on_all, drawn = run_sweeps([sweep, replace(sweep, resampled=True)], workspace)
    (rows,) = [rows for rows in given if rows is not None]
    assert len(given) == 2
    assert 0.6 < len(np.unique(rows)) / rows.shape[1] < 0.75
    assert on_all["stage_1"] != drawn["stage_1"]
    assert drawn["sweep"]["resampled"]


def test_programs_are_compiled_once_for_all_bundles(workspace, monkeypatch):
    """What makes small bundles cheap."""
    import jax

    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda name, *_, **__: compiled.append(name)
    )
    try:
        once = replace(SWEEP, stages=(Stage(0.02),), grid=SWEEP.grid | {"batch_size": (401,)})
        run_sweeps([once], replace(workspace, load=poisoned), Here(most=1))
    finally:
        jax.monitoring.clear_event_listeners()
    # The epoch, the start of a trial and the logits; never one for each of four configurations.
    assert 1 <= sum("backend_compile" in name for name in compiled) <= 8


def test_the_best_so_far_is_shown(workspace, steps):
    once = replace(SWEEP, stages=SWEEP.stages[:1])
    run_sweeps([once], workspace, Here(most=2))
    *shown, last = [table for table in steps.tables if table.cells or not table.title]
    assert [table.title for table in shown] == [
        f"best of {n} of 8 configurations so far" for n in (2, 4, 6, 8)
    ]
    assert shown[-1].cells[0][0] == "covertr"
    assert last.cells == []
    assert steps.steps[0] == ("digits stage 1", 0, 16)
    assert steps.steps[-1] == ("digits stage 1", 16, 16)


def test_failures_come_last_and_are_told(workspace, steps):
    grid = {"batch_size": (400,), "learning_rate": (1e30, 0.05)}
    failing = replace(SWEEP, grid=grid, stages=(Stage(0.02),))
    (record,) = run_sweeps([failing], workspace)
    last = record["stage_1"][-1]
    assert last["inefficiency"] is None
    assert last["settings"]["learning_rate"] == 1e30
    assert record["chosen"]["learning_rate"] == 0.05
    assert best_of([failing], [record]).cells[1][1] == "failed"
    assert steps.notes == []


def test_methods_are_swept_side_by_side(swept, there):
    grid = {"batch_size": (400,), "learning_rate": (1,)}
    plain = replace(SWEEP, method="cross-entropy", grid=grid, stages=(Stage(0.02),))
    first, other = run_sweeps([SWEEP, plain], there)
    assert first == swept
    assert outcome(plain, other)["method"] == "cross-entropy"
    assert other["sweep"]["method"] == "baseline"  # as version 0.1 stored it


def test_what_was_found_is_a_settings_file(swept, there):
    file = read(write_settings([SWEEP], [swept], there.store))
    assert file == chosen([SWEEP], [swept])
    assert file.only("covertr") == SWEEP.base | swept["chosen"]
    assert (file.alphas, file.searched) == ((0.01,), {"data": "digits", "seed": 0})


def test_the_cost_is_counted_before_it_is_paid(swept, there, workspace, steps):
    new = measurements(replace(workspace, load=poisoned))
    result = cost([SWEEP], new, Here(), steps)
    assert result.configurations == 8
    assert result.programs == 2
    assert result.epochs == 8 * 2 + 2 * 2 * 4
    assert result.seconds > 0
    assert "8 configurations" in result.words()
    assert steps.steps[-1] == ("timing the programs", 4, 4)
    assert without_record([SWEEP], there.store) == []
    assert cost([], measurements(there), Here()).epochs == 0


KILLABLE = """
import sys
from pathlib import Path
from test_sweeping import SWEEP
from conftr.experiments import Store
from conftr.experiments.runner import Workspace
from conftr.experiments.sweeping import run_sweeps
from conftr.machine.progress import Lines
from conftr.training import use_compilation_cache
from test_sweeping import poisoned
from conftr.machine.cluster import Here
place = Path(sys.argv[1])
use_compilation_cache(place.parent / "programs")
display = Lines(lambda line: print(line, flush=True), seconds=0)
shop = Workspace(Store(place), place / "runs", poisoned, display, seconds=0)
run_sweeps([SWEEP], shop, Here(most=2))
print("done", flush=True)
"""


@pytest.mark.slow  # starts at least three processes that import JAX
def test_killed_again_and_again_it_ends_in_the_same_record(swept, tmp_path):
    """SIGKILL after a random number of lines; every time it gets further."""
    place, chance = tmp_path / "killed", random.Random(4)
    command = [sys.executable, "-c", KILLABLE, str(place)]
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    for attempt in range(9):
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": paths}
        ) as child:
            patience = chance.randrange(3, 8) if attempt < 2 else 10**6
            lines = [line for _, line in zip(range(patience), child.stdout, strict=False)]
            if lines and lines[-1] == "done\n":
                break
            time.sleep(chance.uniform(0, 0.2))
            child.send_signal(signal.SIGKILL)
    assert attempt >= 2
    (record,) = run_sweeps([SWEEP], Workspace(Store(place), place / "runs", load=poisoned))
    assert without_times(record) == without_times(swept)
