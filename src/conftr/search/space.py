"""What may vary: the settings of a method, read off the fields of its objective and of SGD.

Where an objective holds a value of the user's, as a loss on sets, the fields of that value are
settings too. A setting is a number, or a text that names a function or class (see
`conftr.search.text`). Numbers of a field of the objective that is annotated `Any` may be traced:
configurations that differ in those alone share a compiled program. Any other is a part of the
program.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from conftr.machine.names import thing_of
from conftr.machine.plain_data import Part, describe, part
from conftr.search import text

Settings: TypeAlias = Mapping[str, Any]

OF_THE_RUN = ("model", "epochs", "batch_size")
_OPTIONAL = ("augmentation",)  # of the run, but not of every one
_OF_THE_PLAN = (*OF_THE_RUN, *_OPTIONAL)
# What SGD has where nothing else is said. Not read off its class, which brings JAX.
SGD: dict[str, Any] = {
    "learning_rate": 0.05,
    "momentum": 0.9,
    "nesterov": True,
    "weight_decay": 0.0005,
    "schedule": "cosine",
}
_RATES = ("learning_rate", "weight_decay")
_TEXTS = {"model": text.model, "schedule": text.schedule, "augmentation": text.augmentation}
_REACH = {"learning_rate": 5.0, "temperature": 5.0}  # as a factor either way; of others 10


class Configured(NamedTuple):
    """What is trained, as plain data: a network, what is minimised, and how."""

    model: Part
    objective: Part
    plan: Part


def names(objective: Any) -> tuple[str, ...]:
    """The settings that make a difference to an objective."""
    return (*_OF_THE_PLAN, *SGD, *_fields(objective), *_held(objective))


def configured(objective: Any, settings: Settings, alpha: float) -> Configured:
    """An objective with its settings, and what trains it.

    Args:
        objective: before its settings, as `conftr.search.methods.objective_of` gives it.
        settings: `model`, `epochs` and `batch_size`, perhaps `augmentation`, and any others that
            differ from the defaults of `SGD` and of the objective.
        alpha: what is trained for, if the objective has one and settings say no other.

    Returns:
        Plain data.

    Raises:
        ValueError: a setting is of another kind than the field that it is for.
    """
    elsewhere = (*_fields(objective), *_held(objective), *_OF_THE_PLAN)
    steps = SGD | {name: value for name, value in settings.items() if name not in elsewhere}
    optimiser = part("SGD", **{**steps, "schedule": text.schedule(steps["schedule"])})
    changed = {name: text.augmentation(settings[name]) for name in _OPTIONAL if name in settings}
    return Configured(
        text.model(settings["model"]),
        describe(_changed(objective, settings, alpha)),
        part(
            "Plan",
            epochs=settings["epochs"],
            batch_size=settings["batch_size"],
            optimiser=optimiser,
            **changed,
        ),
    )


def numbers(described: Part) -> dict[str, Any]:
    """The numbers of a described value that may differ within a compiled program."""
    free = _traced(described.kind)
    return {name: value for name, value in described.fields if name in free and _is_number(value)}


def program_of(described: Part) -> Part:
    """A value without such numbers: equal for all that differ in them alone."""
    free = _traced(described.kind)
    return described.replace(**{name: free[name] for name in numbers(described)})


def around(objective: Any, optimiser: Any, n: int, seed: int) -> list[dict[str, float]]:
    """Settings near those that an objective and an optimiser have, even in the logarithm.

    A number has others up to 10 times more or less (the learning rate and the temperature 5). What
    is 0 or a whole number, and all that may not differ within a compiled program, stays.

    Args:
        objective: a frozen dataclass.
        optimiser: `SGD`, or another, of which nothing is known.
        n: how many.
        seed: of the draw.

    Returns:
        n settings, of which the first are those given.

    Raises:
        ValueError: n is below 1, or there is no such number.
    """
    known = {name: getattr(optimiser, name) for name in _RATES if name in _fields(optimiser)}
    known |= {name: getattr(objective, name) for name in weights(objective)}
    given = {name: float(value) for name, value in known.items() if _is_number(value) and value > 0}
    if n < 1 or not given:
        raise ValueError(
            f"n must be at least 1, and the objective or SGD must have a number above 0 to search "
            f"around; got n = {n}, {objective!r} and {optimiser!r}."
        )
    places = np.random.default_rng(seed).uniform(-1, 1, (n, len(given)))
    places[0] = 0
    return [
        {
            name: float(f"{value * _REACH.get(name, 10.0) ** float(place):.3g}") if place else value
            for place, (name, value) in zip(row, given.items(), strict=True)
        }
        for row in places
    ]


def weights(objective: Any) -> list[str]:
    """The fields that may be traced and whose default is a number that is not a count."""
    fields = dataclasses.fields(objective) if _fields(objective) else ()
    free = [field for field in fields if _is_traced(field)]
    return [field.name for field in free if isinstance(field.default, float)]


def _changed(objective: Any, settings: Settings, alpha: float) -> Any:
    """An objective with its settings, and those of what it holds."""
    named = [name for name in settings if name in _fields(objective)]
    changes = {name: _value(objective, name, settings[name]) for name in named}
    if "alpha" in _fields(objective):
        changes.setdefault("alpha", alpha)
    for name, place in _held(objective).items():
        held = changes.get(place, getattr(objective, place))
        if name in settings and name in _fields(held):
            changes[place] = dataclasses.replace(held, **{name: _value(held, name, settings[name])})
    return dataclasses.replace(objective, **changes) if changes else objective


def _held(objective: Any) -> dict[str, str]:
    """The fields of values of the user's that an objective holds, each with the field they are in.

    Those of conftr's are no settings: a quantile is a text that has its number.
    """
    taken = {*_fields(objective), *_OF_THE_PLAN, *SGD}
    places = [name for name in _fields(objective) if _is_users(getattr(objective, name))]
    return {
        name: place
        for place in places
        for name in _fields(getattr(objective, place))
        if name not in taken
    }


def _is_users(value: Any) -> bool:
    return type(value).__module__.split(".")[0] != "conftr" and bool(_fields(value))


def _fields(value: Any) -> list[str]:
    return [f.name for f in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []


@cache
def _traced(kind: str) -> dict[str, Any]:
    """The fields of a class that may be traced, each with a value that is legal."""
    made = thing_of(kind)
    fields = dataclasses.fields(made) if dataclasses.is_dataclass(made) else ()
    free = [field for field in fields if _is_traced(field)]
    return {f.name: f.default if _is_number(f.default) else 1 for f in free}


def _is_traced(field: Any) -> bool:
    return field.type is Any or field.type in ("Any", "typing.Any")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check(objective: Any, name: str, given: Any) -> None:
    """Refuse, in words, a setting that an objective or what trains it cannot have."""
    if name in _TEXTS:
        if not isinstance(given, str):
            raise ValueError(f"{name} must be a text; got {given!r}.")
        _TEXTS[name](given)
    elif name in _fields(objective):
        _value(objective, name, given)
    elif name in _held(objective):
        _value(getattr(objective, _held(objective)[name]), name, given)
    elif not _is_number(given) and name != "nesterov":
        raise ValueError(f"{name} must be a number; got {given!r}.")


def _value(objective: Any, name: str, given: Any) -> Any:
    """A setting as the field of an objective takes it: a number as it is, a text as what it names.

    A field that holds None, as a loss that is off, takes either.
    """
    held = getattr(objective, name)
    if isinstance(given, str):
        if not _is_number(held):
            return text.quantile(given) if name == "quantile" else text.thing(given)
    elif held is None or _is_number(held):
        return given
    what = "a number" if _is_number(held) else "a text"
    raise ValueError(f"{name} must be {what}; got {given!r}.")
