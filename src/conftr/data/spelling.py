"""Names of classes, groups and categories are compared by one spelling, whoever wrote them.

One hospital is 3 in Python, "3" in a file, and "3.0" in a file of pandas where another cell of the
column is empty; true is "True" to pandas and "true" to polars.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

_WHOLE = re.compile(r"([+-]?\d+)\.0*")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.0+)?")


def spelled(name: Any) -> str:
    """The spelling by which names are compared.

    Args:
        name: A text, a number, true or false, or a date; not a missing value.

    Returns:
        Text without blanks around it; a whole number without a point, `true` or `false` in small
        letters, a date without the time where that is midnight.
    """
    is_whole = isinstance(name, float) and name.is_integer()
    text = str(int(name) if is_whole else name).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    if whole := _WHOLE.fullmatch(text):
        return whole[1]
    if moment := _MOMENT.fullmatch(text):
        return moment[1] if moment[2] == "00:00:00" else f"{moment[1]} {moment[2]}"
    return text


def places(values: Iterable[Hashable], known: Mapping[Any, int]) -> list[int]:
    """Where each value stands among known names; -1 where it is none of them.

    Args:
        values: As the user or a file has them.
        known: The place of each name. A value that is one is it; of others the spelling decides,
            unless names in different places share it.
    """
    spellings: dict[str, int] = {}
    for name, place in known.items():
        text = spelled(name)
        spellings[text] = place if spellings.get(text, place) == place else -1
    met: dict[Any, int] = dict(known)
    found = []
    for value in values:
        if value not in met:
            met[value] = spellings.get(spelled(value), -1)
        found.append(met[value])
    return found
