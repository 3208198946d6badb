"""Stored results keep their names: a change of the code must not orphan a record.

`stored.txt` lists every result of version 0.1, whose file name ends in the digest of what was run.
"""

import json
from pathlib import Path

import pytest

from conftr.experiments import Store, settings
from conftr.experiments.exhibits import runs
from conftr.experiments.grids import Stage, Wanted
from conftr.experiments.paper import EXHIBITS
from conftr.experiments.specification import Specification
from conftr.experiments.sweep import asked

RESULTS = Path(__file__).parents[2] / "results"
STORED = Path(__file__).with_name("stored.txt").read_text().split()
RECORDS = [name for name in STORED if name.startswith("records/")]


def test_nothing_stored_is_lost():
    assert [name for name in STORED if not (RESULTS / name).exists()] == []


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_named_by_the_digest_of_its_specification(name):
    record = json.loads((RESULTS / name).read_text())
    found = Specification.from_json(record["specification"])
    assert found.name == record["name"]
    assert Store(RESULTS).path(found) == RESULTS / name


def test_the_paper_asks_for_these_records():
    """All but three of estimators that are no longer asked for."""
    asked = {Store(RESULTS).path(one) for one in runs(EXHIBITS.values())}
    rest = {name for name in RECORDS if RESULTS / name not in asked}
    assert len(rest) == 3
    assert all("quantile3" in name for name in rest)


@pytest.mark.parametrize("name", [name for name in STORED if name.startswith("sweeps/")])
def test_a_sweep_is_named_by_the_digest_of_what_it_tries(name):
    found = json.loads((RESULTS / name).read_text())["sweep"]
    grid = {setting: tuple(values) for setting, values in found["grid"].items()}
    stages = tuple(Stage(**one) for one in found["stages"])
    wanted = Wanted({found["method"]: grid}, stages, found["alpha"], found["score"])
    (sweep,) = asked(wanted, found["dataset"], settings.setup(found["dataset"]))
    assert sweep.path(Store(RESULTS)) == RESULTS / name
