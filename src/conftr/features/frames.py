"""Data frames of any library that narwhals knows: columns by name, numbers or categories."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conftr.conformal import checks
from conftr.data import spelling
from conftr.features.columns import Doubles, Integers, Json, Levels, Numbers


@dataclass(frozen=True, eq=False)
class Frame:
    """What was learned of a data frame; the order of its columns does not matter.

    Attributes:
        names: Of the columns in fit.
        numeric: Those of numbers and booleans, side by side in `numbers`.
        numbers: What training rows have in them, which saved models keep.
        levels: The others, categories.
    """

    names: tuple[str, ...]
    numeric: tuple[str, ...]
    numbers: Numbers
    levels: Mapping[str, Levels]

    def to_json(self) -> Json:
        """Give it as plain data."""
        return {
            "kind": "frame",
            "names": list(self.names),
            "numeric": list(self.numeric),
            "numbers": self.numbers.to_json(),
            "levels": {name: column.to_json() for name, column in self.levels.items()},
        }

    @classmethod
    def from_json(cls, data: Json) -> Frame:
        """What was written as this."""
        levels = {name: Levels.from_json(column) for name, column in data["levels"].items()}
        numbers, numeric = Numbers.from_json(data["numbers"]), data["numeric"]
        if sorted(data["names"]) != sorted([*numeric, *levels]):
            raise ValueError("each column of a frame must be one of numbers or have levels")
        return cls(tuple(data["names"]), tuple(numeric), numbers, levels)


def is_frame(x: Any) -> bool:
    """Whether x is a data frame: rows with named columns."""
    return hasattr(type(x), "columns")


def learn(x: Any) -> Frame:
    """The encoding of the rows of a data frame."""
    frame = opened(x)
    if not frame.columns or not len(frame):
        raise ValueError(f"X must have rows and columns; got shape {frame.shape}.")
    numeric = tuple(name for name in frame.columns if _is_numeric(frame[name]))
    known = set(numeric)
    levels = {name: _learn_levels(frame[name]) for name in frame.columns if name not in known}
    encoding = Frame(tuple(frame.columns), numeric, Numbers.learn(doubles(frame, numeric)), levels)
    if not encoding.numbers.width and not any(column.width for column in levels.values()):
        empty = checks.listed(map(repr, encoding.names))
        raise ValueError(f"X holds nothing to learn from: {empty} are empty.")
    return encoding


def check_columns(columns: Sequence[str], names: Sequence[str]) -> None:
    """Raise unless a frame has the columns `names` that it had in fit, in any order."""
    there, known = set(columns), set(names)
    lacks = [name for name in names if name not in there]
    extra = [name for name in columns if name not in known]
    if lacks or extra:
        faults = [f"lacks {checks.listed(map(repr, lacks))}"] * bool(lacks)
        unseen = checks.listed(map(repr, extra))
        faults += [f"has {unseen}, which fit did not see"] * bool(extra)
        raise ValueError(
            f"X must have the columns it had in fit, in any order: it {' and '.join(faults)}."
        )


def names(x: Any) -> list[str]:
    """The names of the columns."""
    return list(opened(x).columns)


def has_categories(x: Any) -> bool:
    """Whether a column of a data frame holds something else than numbers."""
    frame = opened(x)
    return not all(_is_numeric(frame[name]) for name in frame.columns)


def opened(x: Any) -> Any:
    """Open a data frame as one of narwhals in memory, with text for names."""
    try:
        import narwhals.stable.v2 as nw
    except ImportError as missing:
        raise ImportError("Data frames need narwhals: pip install 'conftr[tables]'.") from missing

    if hasattr(x, "collect"):
        raise ValueError("X must be a data frame in memory; got a lazy one, which has collect().")
    if hasattr(x, "set_axis"):  # only pandas allows names that are no text
        texts = [str(name) for name in x.columns]
        twins = [name for name, count in Counter(texts).items() if count > 1]
        if twins:
            raise ValueError(
                f"X must have a name of its own for each column, as text; two are called "
                f"{twins[0]!r}: rename one."
            )
        x = x.set_axis(texts, axis=1)
    return nw.from_native(x, eager_only=True)


def _is_numeric(column: Any) -> bool:
    """Whether a column holds numbers, and not categories or nothing; refuses what is neither."""
    import narwhals.stable.v2 as nw

    kind = column.dtype
    if column.is_null().all():
        return False
    if kind == nw.Object:
        return _is_numeric_object(column)
    if kind.is_temporal():
        _refuse(column, f"dates or times ({kind})")
    if kind.is_nested():
        _refuse(column, str(kind))
    return bool(kind.is_numeric() or kind == nw.Boolean)


def _is_numeric_object(column: Any) -> bool:
    """The same, of a column of Python objects."""
    kinds = {type(value) for value in column.drop_nulls().to_list()}
    strange = [kind for kind in kinds if not issubclass(kind, numbers.Real | np.bool_ | str)]
    if strange:
        _refuse(column, strange[0].__name__)
    return not any(issubclass(kind, str) for kind in kinds)


def _refuse(column: Any, what: str) -> None:
    raise ValueError(
        f"column {column.name!r} holds {what}, and a column must hold numbers or categories: leave "
        f"it out, or make one of these of it (of a date the month, or the age in days)."
    )


def doubles(frame: Any, columns: Sequence[str]) -> Doubles:
    """Columns as doubles (n, len(columns)), nan where missing."""
    import narwhals.stable.v2 as nw

    values = np.empty((len(frame), len(columns)))
    for i, name in enumerate(columns):
        try:
            values[:, i] = frame[name].cast(nw.Float64).to_numpy()
        except Exception as fault:  # every library has its own
            raise ValueError(
                f"column {name!r} must hold numbers, as it did in fit; it holds "
                f"{frame[name].dtype}."
            ) from fault
        if np.isinf(values[:, i]).any():
            row = np.flatnonzero(np.isinf(values[:, i]))[0]
            raise ValueError(f"column {name!r} must hold finite numbers; row {row} is infinite.")
    return values


def _learn_levels(column: Any) -> Levels:
    counts = levels_as_text(column.drop_nulls()).value_counts(name="count")
    known = dict(zip(counts[column.name].to_list(), counts["count"].to_list(), strict=True))
    return Levels.learn(known, int(column.is_null().sum()))


def level_places(levels: Levels, column: Any) -> Integers:
    """The place of each cell among the levels of its column (n,); -1 for any other and missing."""
    if not levels.levels:
        return np.full(len(column), -1)
    texts = levels_as_text(column)
    known = {level: place for place, level in enumerate(levels.levels)}
    places = _replaced(texts, known)
    strange = texts.filter(places < 0).drop_nulls().unique().to_list()
    if strange:
        found = spelling.places(strange, known)
        places = _replaced(texts, known | dict(zip(strange, found, strict=True)))
    return np.asarray(places.to_numpy(), np.intp)


def _replaced(texts: Any, places: Mapping[str, int]) -> Any:
    import narwhals.stable.v2 as nw

    replaced = texts.replace_strict(
        list(places), list(places.values()), default=-1, return_dtype=nw.Int64
    )
    return replaced.fill_null(-1)


def levels_as_text(column: Any) -> Any:
    """Levels as text. Of numbers, whole ones have no point: where one is missing, pandas makes
    floats of integers.
    """
    import narwhals.stable.v2 as nw

    texts = column.cast(nw.String)
    return texts.str.replace_all(r"\.0$", "") if _of_numbers(column) else texts


def _of_numbers(column: Any) -> bool:
    """Whether the levels of a column are numbers, also where it is a pandas Categorical of them."""
    if column.dtype.is_numeric():
        return True
    levels = getattr(column.to_native().dtype, "categories", None)
    return getattr(getattr(levels, "dtype", None), "kind", "") in ("i", "u", "f")
