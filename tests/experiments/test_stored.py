"""Stored results keep their names: a change of the code must not orphan a record.

`stored.txt` lists every result of version 0.1, whose file name ends in the digest of what was run.
"""

import json
from pathlib import Path

import pytest

from conftr.experiments import Store
from conftr.experiments.specification import Specification, shown_method
from conftr.experiments.sweeping import path_of
from conftr.paper import EXHIBITS
from conftr.paper.exhibits import runs
from conftr.paper.settings import settings_of
from conftr.search.settings import SettingsFile, Stage
from conftr.search.sweeps import sweeps

RESULTS = Path(__file__).parents[2] / "results"
STORED = Path(__file__).with_name("stored.txt").read_text().split()
RECORDS = [name for name in STORED if name.startswith("records/")]


def test_nothing_stored_is_lost():
    assert [name for name in STORED if not (RESULTS / name).exists()] == []


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_named_by_the_digest_of_its_specification(name):
    record = json.loads((RESULTS / name).read_text())
    result = Specification.from_json(record["specification"])
    assert result.name == record["name"]
    assert Store(RESULTS).path(result) == RESULTS / name


def test_the_paper_asks_for_these_records():
    """All but three of estimators that are no longer asked for."""
    paths = {Store(RESULTS).path(run) for run in runs(EXHIBITS.values())}
    rest = {name for name in RECORDS if RESULTS / name not in paths}
    assert len(rest) == 3
    assert all("quantile3" in name for name in rest)


@pytest.mark.parametrize("name", [name for name in STORED if name.startswith("sweeps/")])
def test_a_sweep_is_named_by_the_digest_of_what_it_tries(name):
    content = json.loads((RESULTS / name).read_text())["sweep"]
    grid = {setting: tuple(values) for setting, values in content["grid"].items()}
    stages = tuple(Stage(**stage) for stage in content["stages"])
    shared = settings_of(content["dataset"]).shared
    method, alpha, score = (
        shown_method(content["method"]),
        content["alpha"],
        content["score"].lower(),
    )
    file = SettingsFile(shared, {method: grid}, (), (alpha,), score, stages)
    (sweep,) = sweeps(file, content["dataset"], {}, alpha=alpha)
    assert path_of(sweep, Store(RESULTS)) == RESULTS / name
