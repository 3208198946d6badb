"""The paper's settings (app. F), and those that our searches found where it prints none.

They lie in `settings/`, a settings file for each dataset, as `conftr compare --settings` takes it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from conftr.search.settings import SettingsFile, read

FOLDER = Path(__file__).with_name("settings")


def path_of(dataset: str) -> Path:
    """The settings file of a dataset, or an error that lists those that have one."""
    known = sorted(path.stem for path in FOLDER.glob("*.toml"))
    if dataset not in known:
        raise ValueError(f"dataset must be one of {', '.join(known)}; got {dataset!r}.")
    return FOLDER / f"{dataset}.toml"


@cache
def settings_of(dataset: str) -> SettingsFile:
    """The settings of a dataset."""
    return read(path_of(dataset))
