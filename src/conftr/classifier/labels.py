"""The user's classes (words, numbers, true and false) as 0..K-1, refused in words where unclear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.conformal import checks
from conftr.data import spelling

Classes: TypeAlias = npt.NDArray[Any]
Labels: TypeAlias = npt.NDArray[np.int32]


def check(y: npt.NDArray[Any]) -> None:
    """Raise where a row has no class, or classes are of several types."""
    missing = np.zeros(len(y), bool)
    if y.dtype.kind == "f":
        missing = ~np.isfinite(y)
    elif y.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in y], bool)
    if missing.any():
        raise ValueError(
            f"y must hold a class for every row: {missing.sum()} are missing, the first in row "
            f"{np.flatnonzero(missing)[0]}. Leave those rows out."
        )
    if y.dtype.kind == "O" and len({isinstance(value, str) for value in y}) > 1:
        raise ValueError("y must hold classes of one type, all text or all numbers.")


def is_missing(value: Any) -> bool:
    """Whether a value of any library stands for none: None, nan, or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # NA is neither equal to itself nor not
        return True


def learn(y: npt.NDArray[Any]) -> tuple[Classes, Labels]:
    """The classes (K,) in order, and the place of each label among them, (n,)."""
    classes, labels = np.unique(y, return_inverse=True)
    _refuse_single(classes, "y holds")
    return classes, labels.astype(np.int32)


def learn_from(y: npt.NDArray[Any], rows: npt.NDArray[np.intp]) -> tuple[Classes, Labels]:
    """The classes (K,) that some rows have, in order, and each label's place among them, (n,).

    A label that none of those rows has is in place -1.
    """
    classes = np.unique(y[rows])
    _refuse_single(
        classes, "the rows that train (none with a sample_weight or class_weight of 0) hold"
    )
    places = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    return classes, np.where(classes[places] == y, places, -1).astype(np.int32)


def _refuse_single(classes: Classes, where: str) -> None:
    if len(classes) == 1:
        raise ValueError(
            f"{where} one class only, {classes.tolist()[0]!r}: there must be two or more to tell "
            f"apart."
        )


def named(classes: Sequence[Any]) -> Classes:
    """Classes that someone else put in order, (K,): distinct, at least two, of one type."""
    known = np.asarray(classes)
    if known.ndim != 1 or len(known) < 2 or len(set(known.tolist())) < len(known):
        raise ValueError(f"classes must be two or more, all different; got {classes!r}.")
    if known.dtype.kind in "US" and not all(isinstance(name, str | bytes) for name in classes):
        raise ValueError(f"classes must be of one type, all text or all numbers; got {classes!r}.")
    return known


def known_rows(y: npt.NDArray[Any], classes: Classes) -> npt.NDArray[np.intp]:
    """The rows whose labels, of (n,), are known classes; all rows where none is, to be refused."""
    rows = np.flatnonzero(places_or_none(y, classes) >= 0)
    return rows if len(rows) else np.arange(len(y))


def places_or_none(y: npt.NDArray[Any], classes: Classes) -> Labels:
    """The place of each label among known classes, by its spelling, (n,); -1 for any other."""
    known = {name: place for place, name in enumerate(classes.tolist())}
    return np.array(spelling.places(y.tolist(), known), np.int32)


def places(y: npt.NDArray[Any], classes: Classes) -> Labels:
    """The place of each label among known classes, by its spelling, (n,)."""
    found = places_or_none(y, classes)
    unknown = list(dict.fromkeys(map(repr, y[found < 0].tolist())))
    if unknown:
        raise ValueError(
            f"y holds classes that are not known: {checks.listed(unknown)}. Known are "
            f"{checks.listed(map(repr, classes.tolist()))}."
        )
    return found
