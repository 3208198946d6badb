"""The named datasets: load one, fetch what is missing, list what is there."""

from dataclasses import dataclass
from pathlib import Path

from conftr.data.dataset import Dataset
from conftr.data.dataset_recipes import DatasetRecipe, Place, locate, read_from
from conftr.data.errors import DataError
from conftr.data.fetching import missing, obtain
from conftr.data.named import RECIPES


@dataclass(frozen=True)
class Availability:
    """Whether a dataset is on this machine and how to get it.

    Attributes:
        name: Of the dataset.
        place: Where it lies; None where it is not here.
        sources: Where it can be got from.
        megabytes: How large it is.
    """

    name: str
    place: Place | None
    sources: tuple[str, ...]
    megabytes: float


def load(
    name: str = "digits",
    *,
    data_dir: str | Path | None = None,
    download: bool = True,
    progress: bool = True,
) -> Dataset:
    """A named dataset with its split, class names, groups and normalisation.

    It is looked for in `data_dir` (or the folder named by the variable CONFTR_DATA), then in
    the system's folder, then in the cache. Where it is in none of them it is fetched into the
    cache, unless `download` is false: then the error says how to get it.

    Args:
        name: As in `conftr data list`.
        data_dir: A folder to look in before all others.
        download: Whether it may be fetched.
        progress: Whether to show the download.

    Returns:
        The dataset.

    Raises:
        DataError: If there is no such dataset, or it is not here and cannot be got.
    """
    recipe = _recipe(name)
    place = locate(recipe, data_dir)
    if place is None and not download:
        raise missing(recipe)
    return read_from(recipe, place or obtain(recipe, progress=progress))


def fetch(name: str, *, data_dir: str | Path | None = None, progress: bool = True) -> Place:
    """Get what a named dataset lacks.

    Files in a data folder or the system's folder are left alone; damaged ones in the cache are
    replaced.

    Args:
        name: As in `conftr data list`.
        data_dir: A folder to look in before all others.
        progress: Whether to show the download.

    Returns:
        Where it lies.

    Raises:
        DataError: If it cannot be got.
    """
    recipe = _recipe(name)
    place = locate(recipe, data_dir)
    if place is None or place.label == "cache":
        return obtain(recipe, progress=progress)
    return place


def is_here(name: str, *, data_dir: str | Path | None = None) -> bool:
    """Whether a dataset can be loaded without being fetched; never for a name that is not known.

    Args:
        name: As in `conftr data list`.
        data_dir: A folder to look in before all others.

    Returns:
        Whether all of its files are on this machine.
    """
    known = (recipe for recipe in RECIPES if recipe.name == name)
    return any(locate(recipe, data_dir) for recipe in known)


def available(*, data_dir: str | Path | None = None) -> tuple[Availability, ...]:
    """Every named dataset, with the place where it lies; nothing is downloaded.

    Args:
        data_dir: A folder to look in before all others.

    Returns:
        One for each dataset.
    """
    return tuple(
        Availability(
            recipe.name,
            locate(recipe, data_dir),
            tuple(source.label for source in recipe.sources),
            recipe.megabytes,
        )
        for recipe in RECIPES
    )


def _recipe(name: str) -> DatasetRecipe:
    for recipe in RECIPES:
        if recipe.name == name:
            return recipe
    names = ", ".join(recipe.name for recipe in RECIPES)
    raise DataError(f"name must be one of the datasets {names}; got {name!r}.")
