"""A grid by its name, or from a file: which methods, which settings, which values, which stages.

methods = ["conftr", "conftr-class"]
alpha = 0.01                            # default: the dataset's
score = "THR"                           # whose set sizes are compared

[grid]                                  # a value or several: all combinations are tried
batch_size = [500, 100]
learning_rate = [0.05, 0.01]
temperature = [0.1, 0.5, 1]

[grid.conftr-class]                     # where a method has values of its own
size_weight = [0.5, 1, 5]

[[stages]]                              # default: one stage of all epochs
share = 0.2                             # of the epochs,
repeats = 1                             # on so many divisions of the training data;
keep = 8                                # so many of the best go on to the next stage

[[stages]]
repeats = 3
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conftr.experiments import comparison
from conftr.experiments.grids import (
    Grid,
    GridError,
    Stage,
    Wanted,
    check,
    coarse,
    known,
    paper,
    settings_of,
)
from conftr.experiments.settings import METHODS

PAPER, COARSE = "paper", "coarse"

_AS_TEXT = ("model", "quantile")


def wanted(
    spec: str, dataset: str, methods: Sequence[str] | None, *, rows: int, epochs: int
) -> Wanted:
    """The grid that is called `paper` or `coarse`, or that a file describes.

    methods: of which; None for the usual five, or all that the file has.
    rows: how many examples train. epochs: of the dataset, where nothing else is said.
    """
    names = methods or comparison.METHODS
    if spec == PAPER:
        return paper(dataset, names, rows)
    if spec == COARSE:
        return coarse(dataset, names, rows, epochs)
    found = read(Path(spec))
    lacking = [name for name in methods or () if known(name) not in found.grids]
    if lacking:
        raise GridError(f"{spec} has values for {', '.join(found.grids)}; got {lacking[0]!r}.")
    return found._replace(grids={name: found.grids[name] for name in methods or found.grids})


def alpha_of(spec: str) -> float | None:
    """The alpha that a grid asks for; None where it leaves that open."""
    return None if spec in (PAPER, COARSE) else read(Path(spec)).alpha


def read(path: Path) -> Wanted:
    """The grid that a file describes, refused in words where it describes none."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GridError(
            f"--grid must be paper, coarse or a file that can be read; got {path} "
            f"({error.strerror})."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GridError(f"The grid {path} is not valid TOML: {error}.") from None
    try:
        return _wanted(found)
    except (GridError, TypeError) as error:
        raise GridError(f"{path}: {error}") from None


def _wanted(found: Mapping[str, Any]) -> Wanted:
    _only(found, ("methods", "alpha", "score", "grid", "stages"), "a grid")
    methods, table = found.get("methods", []), found.get("grid", {})
    if not methods or not isinstance(methods, list):
        raise GridError(f"methods must list some of {', '.join(METHODS)}; got {methods!r}.")
    if not isinstance(table, dict) or not table:
        raise GridError("there must be a table [grid] with values of settings.")
    shared = {name: value for name, value in table.items() if not isinstance(value, dict)}
    grids = {method: _grid(method, shared, table.get(method, {})) for method in methods}
    _only(table, (*shared, *grids), "[grid]")
    stages = tuple(_stage(one) for one in found.get("stages", [{}]))
    wanted = Wanted(grids, stages, found.get("alpha"), found.get("score"))
    return check(wanted)


def _grid(method: str, shared: Mapping[str, Any], own: Mapping[str, Any]) -> Grid:
    """A method's values: of the shared ones those that it has, and its own."""
    legal = settings_of(method)
    _only(own, legal, f"[grid.{method}]")
    _only(shared, [name for one in METHODS for name in settings_of(one)], "[grid]")
    values = {name: value for name, value in {**shared, **own}.items() if name in legal}
    for name in ("batch_size", "learning_rate"):
        if name not in values:
            raise GridError(f"{name} must be in the grid of {method}.")
    return {name: _several(name, value) for name, value in values.items()}


def _several(name: str, value: Any) -> tuple[Any, ...]:
    """The values of a setting; one stands for itself."""
    values = tuple(value) if isinstance(value, list) else (value,)
    kinds = (str,) if name in _AS_TEXT else (int, float)
    if not values or not all(isinstance(one, kinds) and one is not True for one in values):
        what = "texts" if name in _AS_TEXT else "numbers"
        raise GridError(f"{name} must be one or more {what}; got {value!r}.")
    return tuple(dict.fromkeys(values))


def _stage(found: Mapping[str, Any]) -> Stage:
    _only(found, Stage._fields, "a stage")
    stage = Stage(**found)
    if not 0 < stage.share <= 1 or stage.repeats < 1 or stage.keep < 1:
        raise GridError(
            f"a stage must have a share of the epochs above 0 and at most 1, and at least 1 to "
            f"repeat and to keep; got {stage._asdict()}."
        )
    return stage


def _only(found: Mapping[str, Any], legal: Sequence[str], what: str) -> None:
    unknown = [name for name in found if name not in legal]
    if unknown:
        names = ", ".join(dict.fromkeys(legal))
        raise GridError(f"{what} may have {names}; got {unknown[0]!r}.")
