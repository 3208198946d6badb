"""What is known of a named dataset, and the places on this machine where it may lie."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from conftr.data import files
from conftr.data.dataset import Dataset
from conftr.data.errors import DataError, need
from conftr.data.files import File
from conftr.data.sources import Source

DATA_VARIABLE = "CONFTR_DATA"
CACHE_VARIABLE = "CONFTR_CACHE"

Read = Callable[[str], bytes]


@dataclass(frozen=True)
class DatasetRecipe:
    """A named dataset: the files it is made of, how they are read, and where to get them.

    `build` makes the dataset from a function that gives a file's contents by name. `folders`
    are the names its folder may have inside a data folder, ours first. `sources` are tried in
    turn. `by_hand` is one sentence on the package a person could use instead. A dataset with no
    files comes with an installed package, `ships_with`.
    """

    name: str
    build: Callable[[Read], Dataset]
    files: tuple[File, ...] = ()
    folders: tuple[str, ...] = ()
    system: tuple[Path, ...] = ()
    sources: tuple[Source, ...] = ()
    megabytes: float = 0.0
    by_hand: str = ""
    ships_with: str = ""


@dataclass(frozen=True)
class Place:
    """Where a dataset was found.

    Attributes:
        label: What kind of place it is.
        folder: None where it ships with a package.
    """

    label: str
    folder: Path | None


def locate(recipe: DatasetRecipe, data_dir: str | Path | None = None) -> Place | None:
    """The first place that has all files of a dataset, by name; None where no place has."""
    if recipe.ships_with:
        return Place(f"ships with {recipe.ships_with}", None)
    for place in _places(recipe, data_dir):
        folder = place.folder
        if folder is not None and all(files.find(file, folder) for file in recipe.files):
            return place
    return None


def read_from(recipe: DatasetRecipe, place: Place) -> Dataset:
    """The dataset whose files lie in `place`."""
    contents = {file.name: file for file in recipe.files}

    def read(name: str) -> bytes:
        if place.folder is None:
            raise DataError(f"{recipe.name!r} has no files to read, got {name!r}.")
        return files.read(contents[name], place.folder)

    return recipe.build(read)


def cache_folder(recipe: DatasetRecipe) -> Path:
    """Where downloads of this dataset are kept."""
    return cache_root() / recipe.folders[0]


def cache_root() -> Path:
    """The user's cache folder for data, or the one named by the variable CONFTR_CACHE."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    pooch = need("pooch", package="pooch", purpose="Finding the cache folder")
    return Path(pooch.os_cache("conftr"))


def _places(recipe: DatasetRecipe, data_dir: str | Path | None) -> Iterator[Place]:
    root = _data_root(data_dir)
    if root is not None:
        yield from (Place("data folder", root / name) for name in recipe.folders)
    yield from (Place("system", folder) for folder in recipe.system)
    yield Place("cache", cache_folder(recipe))


def _data_root(data_dir: str | Path | None) -> Path | None:
    """The data folder that was asked for, by argument or else by the variable CONFTR_DATA."""
    origin = "data_dir" if data_dir is not None else DATA_VARIABLE
    chosen = data_dir if data_dir is not None else os.environ.get(DATA_VARIABLE)
    if not chosen:
        return None
    root = Path(chosen).expanduser()
    if not root.is_dir():
        raise DataError(f"{origin} must name an existing folder of datasets, got {str(chosen)!r}.")
    return root
