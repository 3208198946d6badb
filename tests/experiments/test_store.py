"""The store: found by content, written once, damage named."""

import json

import pytest

from conftr.experiments import Store
from conftr.experiments.store import StoreError, read, write
from small_runs import small


def record_of(specification, **more):
    return {"name": specification.name, "specification": specification.to_json()} | more


def test_a_record_is_found_by_its_specification(tmp_path):
    store, specification = Store(tmp_path), small()
    assert store.get(specification) is None
    path = store.put(record_of(specification, value=1))
    assert path == tmp_path / "records" / "digits" / f"small-{specification.name}.json"
    assert store.get(specification)["value"] == 1
    assert store.get(small(epochs=3)) is None


def test_what_is_there_is_not_written_over(tmp_path):
    store = Store(tmp_path)
    store.put(record_of(small(), value=1))
    store.put(record_of(small(), value=2))
    assert store.get(small())["value"] == 1


def test_find_by_fields(tmp_path):
    store = Store(tmp_path)
    for epochs in (2, 3):
        for seed in (0, 1):
            store.put(record_of(small(epochs, seed=seed), epochs=epochs, seed=seed))
    result = store.find(lambda s: s.training.plan["epochs"] == 3 and s.training.seed == 1)
    assert [(record["epochs"], record["seed"]) for record in result] == [(3, 1)]
    assert len(list(store)) == 4


def test_files_are_json_with_a_line_for_each_entry(tmp_path):
    path = tmp_path / "deep" / "file.json"
    record = {"a": 1, "b": [{"c": [1, 2]}, {"c": []}], "d": {"e": None}}
    write(path, record)
    assert json.loads(path.read_text()) == record
    assert path.read_text().count("\n") == 8
    assert [other.name for other in path.parent.iterdir()] == ["file.json"]


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "file.json"
    path.write_text('{"a": ')
    with pytest.raises(StoreError, match=r"file\.json is damaged .*remove it"):
        read(path)
    with pytest.raises(StoreError, match=r"no results file .*other\.json"):
        read(tmp_path / "other.json")


def test_numbers_that_json_lacks_are_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        write(tmp_path / "file.json", {"a": float("nan")})
