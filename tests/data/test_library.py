"""Loading, fetching and listing by name."""

import subprocess
import sys

import pytest
from samples import file_of

from conftr import data
from conftr.data import DataError, library
from conftr.data.dataset_recipes import DatasetRecipe
from conftr.data.named import RECIPES
from conftr.data.sources import Source

NAMES = [
    "digits",
    "mnist",
    "fashion-mnist",
    "fashion-mnist-long-tail",
    "emnist",
    "emnist-test",
    "winequality",
    "winequality-grades",
    "german-credit",
    "camelyon",
    "cifar10",
    "cifar100",
    "cifar10-resnet34",
    "cifar10-resnet34-long",
    "cifar10-members",
    "cifar100-resnet50",
    "cifar100-imagenet",
]


@pytest.fixture
def toy(monkeypatch):
    """A dataset of one file that its source writes."""
    file = file_of("one", b"1")
    source = Source("a source", lambda files, folder, progress: put(folder))
    recipe = DatasetRecipe("toy", lambda read: read("one"), (file,), ("toy",), sources=(source,))
    monkeypatch.setattr(library, "RECIPES", (recipe,))
    return recipe


def put(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "one").write_bytes(b"1")


def test_the_names():
    assert [recipe.name for recipe in RECIPES] == NAMES


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(DataError, match=r"name must be one of .*fashion-mnist.*; got 'imagenet'"):
        data.load("imagenet")


def test_digits_are_the_default_and_ship_with_a_package():
    assert data.load().name == "digits"


def test_load_gets_what_is_missing(toy, cache):
    assert data.load("toy", progress=False) == b"1"
    assert (cache / "toy" / "one").read_bytes() == b"1"


def test_load_without_download_tells_the_three_ways(toy, cache):
    with pytest.raises(DataError) as refusal:
        data.load("toy", download=False)
    message = str(refusal.value)
    assert "'toy' is not on this machine" in message
    assert "conftr data fetch toy" in message
    assert "put one (plain or .gz) into FOLDER/toy and set CONFTR_DATA=FOLDER" in message
    assert "package" in message
    assert not cache.exists()


@pytest.mark.parametrize("recipe", RECIPES[1:], ids=lambda recipe: recipe.name)
def test_every_dataset_can_be_told_how_to_get(recipe):
    way = f"conftr data fetch {recipe.name}"
    made = f"python examples/cifar/features.py {recipe.name}"
    with pytest.raises(DataError, match=way if recipe.sources else made):
        raise library.missing(recipe)


def test_load_from_a_data_folder_downloads_nothing(toy, tmp_path, cache):
    put(tmp_path / "toy")
    assert data.load("toy", data_dir=tmp_path) == b"1"
    assert not cache.exists()


def test_fetch_fills_the_cache_once(toy, cache):
    assert data.fetch("toy", progress=False) == data.Place("cache", cache / "toy")
    assert data.fetch("toy", progress=False) == data.Place("cache", cache / "toy")


def test_fetch_replaces_a_damaged_file_in_the_cache(toy, cache):
    data.fetch("toy", progress=False)
    (cache / "toy" / "one").write_bytes(b"2")
    with pytest.raises(DataError, match="not the published file"):
        data.load("toy")
    data.fetch("toy", progress=False)
    assert data.load("toy") == b"1"


def test_fetch_leaves_a_data_folder_alone(toy, tmp_path, cache):
    put(tmp_path / "toy")
    assert data.fetch("toy", data_dir=tmp_path).label == "data folder"
    assert not cache.exists()


def test_the_list_tells_where_each_lies_and_downloads_nothing(toy, tmp_path, cache):
    (before,) = data.available()
    assert (before.name, before.place, before.sources) == ("toy", None, ("a source",))
    put(tmp_path / "toy")
    (after,) = data.available(data_dir=tmp_path)
    assert after.place == data.Place("data folder", tmp_path / "toy")
    assert not cache.exists()


def test_importing_is_light():
    code = (
        "import sys, conftr.data;"
        "heavy = {'jax', 'torch', 'sklearn', 'pooch', 'requests', 'PIL'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(DataError, match=r"'digits' needs the package 'scikit-learn'.*pip install"):
        data.load("digits")
