"""Settings in a file: one format for what a sweep tries, what it found, and what trains.

methods = ["conftr", "conftr-class"]    # default: those that have a table below, or the usual ones
alpha = 0.01                            # or several: all are measured, and the first is trained for
score = "thr"                           # whose set sizes a sweep compares
resampled = true                        # whether a sweep draws training sets as trials do

[settings]                              # a value, or several: a sweep tries all combinations
batch_size = [500, 100]
learning_rate = [0.05, 0.01]
temperature = [0.1, 0.5, 1]

[settings.conftr-class]                 # where a method has values of its own
size_weight = [0.5, 1, 5]

[[stages]]                              # of a sweep; default: one stage of all epochs
share = 0.2                             # of the epochs,
repeats = 1                             # on so many divisions of the training data;
keep = 8                                # so many of the best go on to the next stage

[[stages]]
repeats = 3
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from conftr.machine.disk import write_whole
from conftr.search import space, text
from conftr.search.methods import METHODS, USUAL, objective_of

Grid: TypeAlias = Mapping[str, Sequence[Any]]

_KEYS = ("methods", "alpha", "score", "resampled", "settings", "stages", "searched")


class SettingsError(ValueError):
    """A file of settings that cannot be used; the message says what is wrong with it."""


class Stage(NamedTuple):
    """Train for this share of the epochs on so many divisions, and keep so many of the best."""

    share: float = 1.0
    repeats: int = 1
    keep: int = 1


ONE_STAGE = (Stage(),)


@dataclass(frozen=True)
class SettingsFile:
    """What a file of settings says.

    Attributes:
        shared: Values of settings, for every method that has them.
        by_method: Those of a method alone.
        methods: Which, where that is said.
        alphas: () where they are left open.
        score: None likewise.
        stages: Of a sweep.
        searched: Where the settings come from, as plain data that a sweep has written.
        resampled: Whether what a sweep trains on is drawn from five copies of what is not held out,
            as a trial's training set is (app. F); else it is all of that.
    """

    shared: Grid = field(default_factory=dict)
    by_method: Mapping[str, Grid] = field(default_factory=dict)
    methods: tuple[str, ...] = ()
    alphas: tuple[float, ...] = ()
    score: str | None = None
    stages: tuple[Stage, ...] = ONE_STAGE
    searched: Mapping[str, Any] = field(default_factory=dict)
    resampled: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The methods: those named, those that have values of their own, or the usual ones."""
        return self.methods or tuple(self.by_method) or USUAL

    def of(self, method: Any) -> dict[str, tuple[Any, ...]]:
        """A method's values: of the shared ones those that it has, and its own."""
        legal = space.names(objective_of(method))
        special = self.by_method.get(method, {})
        # Its own come last: the order of combinations, and so a sweep's name, follows that here.
        values = {
            **{name: self.shared[name] for name in self.shared if name not in special},
            **special,
        }
        return {name: tuple(value) for name, value in values.items() if name in legal}

    def only(self, method: Any) -> dict[str, Any]:
        """A method's settings where there is one value of each, refused where there are several."""
        values = self.of(method)
        several = [name for name, choices in values.items() if len(choices) > 1]
        if several:
            raise SettingsError(
                f"{several[0]} of {method} has several values; `conftr sweep` finds the best of "
                f"them and writes a file that has one."
            )
        return {name: value for name, (value,) in values.items()}

    def changed(self, **changes: Any) -> SettingsFile:
        """The same with one value of some settings for all methods, but for those that are None."""
        given = {name: (value,) for name, value in changes.items() if value is not None}
        by_method = {
            method: {name: values for name, values in grid.items() if name not in given}
            for method, grid in self.by_method.items()
        }
        return replace(self, shared={**self.shared, **given}, by_method=by_method)

    def with_methods(self, names: Sequence[str] | None) -> SettingsFile:
        """The same for these methods, refused where it has no values for one; None for all."""
        lacking = [name for name in names or () if self.by_method and name not in self.by_method]
        if lacking:
            raise SettingsError(
                f"there are values for {', '.join(self.by_method)}; got {lacking[0]!r}."
            )
        return replace(self, methods=tuple(names or self.methods))


def halved(file: SettingsFile, rounds: int) -> SettingsFile:
    """Successive halving, which keeps a third, in place of a file's stages.

    Args:
        file: the values to try.
        rounds: before the last, each with a third of the epochs of the next.

    Returns:
        The same values with other stages.
    """
    grids = [file.of(method) for method in file.names]
    most = max(math.prod(map(len, grid.values())) for grid in grids)
    before = [Stage(3.0 ** (i - rounds), 1, math.ceil(most / 3 ** (i + 1))) for i in range(rounds)]
    return replace(file, stages=(*before, Stage()))


def read(path: Path) -> SettingsFile:
    """What a file says, refused in words where it cannot be used."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"The settings {path} cannot be read ({error.strerror}).") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"The settings {path} are not valid TOML: {error}.") from None
    try:
        return _checked(content)
    except (ValueError, TypeError) as error:
        raise SettingsError(f"{path}: {error}") from None


def write(path: Path, file: SettingsFile, comment: str) -> None:
    """Write a file that `read` takes; the comment stands on top."""
    write_whole(path, toml(file, comment).encode())


def toml(file: SettingsFile, comment: str) -> str:
    """A file of settings as text, refused where a method has none."""
    unnamed = [method for method in (*file.methods, *file.by_method) if not isinstance(method, str)]
    if unnamed:
        raise SettingsError(
            f"a method in a file must be a name or FILE.py:NAME, which can be read again; got "
            f"{unnamed[0]!r}."
        )
    lines = [f"# {line}" for line in comment.splitlines()]
    head = {"methods": list(file.methods), "alpha": _listed(file.alphas), "score": file.score}
    head["resampled"] = file.resampled or None
    lines += _pairs({name: value for name, value in head.items() if value not in (None, [], ())})
    tables: dict[str, Mapping[str, Any]] = {"searched": file.searched}
    tables["settings"] = {name: _listed(values) for name, values in file.shared.items()}
    for method, grid in file.by_method.items():
        values = {name: _listed(values) for name, values in grid.items()}
        tables[f"settings.{_key(method)}"] = values
    for name, table in tables.items():
        if table or name.startswith("settings."):
            lines += ["", f"[{name}]", *_pairs(table)]
    for stage in file.stages if file.stages != ONE_STAGE else ():
        lines += ["", "[[stages]]", *_pairs(stage._asdict())]
    return "\n".join(lines) + "\n"


def _pairs(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{_key(name)} = {json.dumps(value)}" for name, value in table.items())


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _listed(values: Iterable[Any]) -> Any:
    """Several values as a list, one as itself."""
    several = list(values)
    return several[0] if len(several) == 1 else several


def _checked(content: Mapping[str, Any]) -> SettingsFile:
    _only(content, _KEYS, "a file of settings")
    table, methods = content.get("settings", {}), content.get("methods", [])
    if not isinstance(methods, list) or not isinstance(table, dict):
        raise SettingsError("methods must be a list of names, and settings a table.")
    shared = {name: _several(value) for name, value in table.items() if not isinstance(value, dict)}
    tables = {name: value for name, value in table.items() if isinstance(value, dict)}
    file = SettingsFile(
        shared,
        {name: {n: _several(v) for n, v in grid.items()} for name, grid in tables.items()},
        tuple(methods),
        _alphas(content.get("alpha", [])),
        content.get("score"),
        tuple(_stage(stage) for stage in content.get("stages", [{}])),
        content.get("searched", {}),
        content.get("resampled", False),
    )
    if not isinstance(file.resampled, bool):
        raise SettingsError(f"resampled must be true or false; got {file.resampled!r}.")
    _check_names(file)
    if file.score is not None:
        text.score(file.score)
    return file


def _check_names(file: SettingsFile) -> None:
    """Every method is one, every setting one that a method has, every value of its kind."""
    for method in file.methods:
        objective_of(method)
    every = (*METHODS, *file.by_method, *file.methods)
    _only(
        file.shared,
        [name for method in every for name in space.names(objective_of(method))],
        "[settings]",
    )
    for method, grid in file.by_method.items():
        _only(grid, space.names(objective_of(method)), f"[settings.{_key(method)}]")
    for method in file.names:
        for name, values in file.of(method).items():
            for value in values:
                space.check(objective_of(method), name, value)


def _several(value: Any) -> tuple[Any, ...]:
    """The values of a setting, each once; one stands for itself."""
    values = tuple(dict.fromkeys(value)) if isinstance(value, list) else (value,)
    if not values:
        raise SettingsError("a setting must have one or more values; got [].")
    return values


def _alphas(given: Any) -> tuple[float, ...]:
    values = tuple(given) if isinstance(given, list) else (given,)
    return text.alphas(",".join(map(str, values)))


def _stage(given: Mapping[str, Any]) -> Stage:
    _only(given, Stage._fields, "a stage")
    stage = Stage(**given)
    if not 0 < stage.share <= 1 or stage.repeats < 1 or stage.keep < 1:
        raise SettingsError(
            f"a stage must have a share of the epochs above 0 and at most 1, and at least 1 to "
            f"repeat and to keep; got {stage._asdict()}."
        )
    return stage


def _only(given: Iterable[str], legal: Sequence[str], what: str) -> None:
    unknown = [name for name in given if name not in legal]
    if unknown:
        names = ", ".join(dict.fromkeys(legal))
        raise SettingsError(f"{what} may have {names}; got {unknown[0]!r}.")
