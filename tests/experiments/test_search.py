"""The search: on held-out training data alone, resumed by groups, the best is chosen."""

import json
from dataclasses import replace

import numpy as np
import pytest
from small_runs import small

from conftr import data
from conftr.experiments import Store, settings
from conftr.experiments import search as searching
from conftr.experiments.runner import Workshop, run
from conftr.experiments.search import Search, Stage, default, search

ASKED = Search(
    "digits",
    "covertr",
    {"batch_size": (400, 200), "learning_rate": (0.05, 1e-6), "temperature": (0.5, 1)},
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
    place = tmp_path_factory.mktemp("searched")
    return Workshop(Store(place), place / "runs", load=poisoned)


@pytest.fixture(scope="module")
def searched(there):
    return search(ASKED, there)


def test_calibration_and_test_examples_are_not_looked_at(searched):
    entries = [*searched["stage_1"], *searched["stage_2"]]
    assert all(1 <= entry["inefficiency"] < 10 for entry in entries)


def test_the_models_of_a_search_would_not_survive_the_poison(workshop):
    """What the test above relies on."""
    asked = replace(small(), trials=1)
    with pytest.raises(ValueError, match="must be finite"):
        run(asked, replace(workshop, load=poisoned))


def test_every_configuration_has_a_score_and_the_best_goes_on(searched):
    first, second = searched["stage_1"], searched["stage_2"]
    assert len(first) == 8
    assert [entry["inefficiency"] for entry in first] == sorted(
        entry["inefficiency"] for entry in first
    )
    assert [len(entry["repeats"]) for entry in second] == [2, 2]
    kept = [entry["settings"] for entry in first[:2]]
    assert all(entry["settings"] in kept for entry in second)
    assert searched["chosen"] == second[0]["settings"]
    assert searched["chosen"]["learning_rate"] == 0.05


def test_a_finished_search_is_read_and_another_is_not_taken_for_it(searched, there, monkeypatch):
    def refuse(*args, **named):
        raise AssertionError("trained again")

    monkeypatch.setattr(searching, "fit", refuse)
    assert search(ASKED, there) == searched
    with pytest.raises(AssertionError, match="trained again"):
        search(replace(ASKED, stages=(Stage(0.02, 1, 1),)), there)


def test_a_search_that_was_cut_trains_only_the_missing_groups(workshop, monkeypatch):
    here = replace(workshop, load=poisoned)
    asked = replace(ASKED, stages=(Stage(0.04, 1, 1),))
    trained, fit = [], searching.fit

    def count(*args, **named):
        trained.append(len(args[0]))
        if len(trained) == 2:
            raise KeyboardInterrupt
        return fit(*args, **named)

    monkeypatch.setattr(searching, "fit", count)
    with pytest.raises(KeyboardInterrupt):
        search(asked, here)
    search(asked, here)
    assert trained == [4, 4, 4]


def test_numbers_that_vary_within_a_program_are_each_configurations_own(workshop):
    """A batched group gives what its members give alone."""
    alone = [
        replace(ASKED, grid={name: (value,) for name, value in values.items()})
        for values in ASKED.configurations()[:2]
    ]
    together = replace(ASKED, grid=ASKED.grid | {"batch_size": (400,), "learning_rate": (0.05,)})
    once = (Stage(0.1, 1, 1),)
    here = replace(workshop, load=poisoned)
    both = search(replace(together, stages=once), here)["stage_1"]
    for one in alone:
        (entry,) = search(replace(one, stages=once), here)["stage_1"]
        (same,) = [other for other in both if other["settings"] == entry["settings"]]
        assert entry["inefficiency"] == pytest.approx(same["inefficiency"], rel=0.02)


def test_all_default_searches_can_be_asked():
    for dataset in ("digits", *settings.PAPER):
        for method in settings.METHODS:
            asked = default(dataset, method)
            first = asked.training(asked.configurations()[0], asked.stages[0], 0)
            assert first.pool.kind == "held_out"
            assert not first.resampled
            assert json.dumps(asked.question())
