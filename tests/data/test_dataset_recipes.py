"""Where a dataset is looked for, and in which order."""

import pytest
from samples import file_of

from conftr.data import DataError
from conftr.data.dataset_recipes import (
    DatasetRecipe,
    Place,
    cache_folder,
    cache_root,
    locate,
    read_from,
)

ONE, TWO = file_of("one", b"1"), file_of("two", b"2")


def recipe(**changes):
    known = {"files": (ONE, TWO), "folders": ("toy", "Toy/raw")}
    return DatasetRecipe("toy", lambda read: read("one") + read("two"), **{**known, **changes})


def put(folder, names=("one", "two")):
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_bytes(b"1" if name == "one" else b"2")
    return folder


def test_nothing_is_found_on_an_empty_machine():
    assert locate(recipe()) is None


def test_a_data_folder_is_searched_by_argument_and_by_variable(tmp_path, monkeypatch):
    folder = put(tmp_path / "data" / "toy")
    assert locate(recipe(), tmp_path / "data") == Place("data folder", folder)
    monkeypatch.setenv("CONFTR_DATA", str(tmp_path / "data"))
    assert locate(recipe()) == Place("data folder", folder)


def test_the_argument_stands_before_the_variable(tmp_path, monkeypatch):
    put(tmp_path / "variable" / "toy")
    folder = put(tmp_path / "argument" / "toy")
    monkeypatch.setenv("CONFTR_DATA", str(tmp_path / "variable"))
    assert locate(recipe(), str(tmp_path / "argument")) == Place("data folder", folder)


def test_folder_names_of_other_libraries_are_known(tmp_path):
    folder = put(tmp_path / "Toy" / "raw")
    assert locate(recipe(), tmp_path) == Place("data folder", folder)


def test_places_are_tried_in_turn(tmp_path, cache):
    cached, system = put(cache / "toy"), put(tmp_path / "usr")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert locate(recipe(), empty) == Place("cache", cached)
    assert locate(recipe(system=(system,)), empty) == Place("system", system)


def test_a_place_that_lacks_a_file_is_passed_over(tmp_path, cache):
    put(tmp_path / "toy", names=["one"])
    cached = put(cache / "toy")
    assert locate(recipe(), tmp_path) == Place("cache", cached)


def test_a_dataset_of_a_package_is_always_there():
    shipped = DatasetRecipe("toy", lambda _: None, ships_with="a package")
    assert locate(shipped) == Place("ships with a package", None)


@pytest.mark.parametrize("origin", ["data_dir", "CONFTR_DATA"])
def test_a_data_folder_that_does_not_exist_is_an_error(origin, tmp_path, monkeypatch):
    wrong = str(tmp_path / "typo")
    if origin == "CONFTR_DATA":
        monkeypatch.setenv(origin, wrong)
    with pytest.raises(DataError, match=f"{origin} must name an existing folder .*typo"):
        locate(recipe(), wrong if origin == "data_dir" else None)


def test_an_empty_variable_means_no_folder(monkeypatch):
    monkeypatch.setenv("CONFTR_DATA", "")
    assert locate(recipe()) is None


def test_the_cache_is_the_variable_or_the_users_own(cache, monkeypatch):
    assert cache_root() == cache
    assert cache_folder(recipe()) == cache / "toy"
    monkeypatch.delenv("CONFTR_CACHE")
    assert "conftr" in str(cache_root())


def test_files_are_checked_as_they_are_read(tmp_path):
    folder = put(tmp_path / "toy")
    assert read_from(recipe(), Place("data folder", folder)) == b"12"
    (folder / "two").write_bytes(b"3")
    with pytest.raises(DataError, match="two is not the published file"):
        read_from(recipe(), Place("data folder", folder))
