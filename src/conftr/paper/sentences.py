"""What the page of results says in words, read from `page.md`: a part for each exhibit, by its key.

The first part is the title of the page and its introduction. A remark that begins with the name of
a dataset in brackets is on that dataset alone.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("page.md")
_ON = re.compile(r"\[([\w-]+)\] (.*)")


class Remark(NamedTuple):
    """A remark, and the dataset that it is on; None for all."""

    text: str
    dataset: str | None = None


def title() -> str:
    """The title of the page."""
    return next(iter(_parts()))


def introduction() -> tuple[str, ...]:
    """The paragraphs below the title."""
    return _parts()[title()]


def remarks(key: str) -> tuple[Remark, ...]:
    """What a reader should know of an exhibit; where ours and theirs part, why."""
    return tuple(_remark(text) for text in _parts().get(key, ()))


def _remark(text: str) -> Remark:
    on = _ON.fullmatch(text)
    return Remark(on[2], on[1]) if on else Remark(text)


@cache
def _parts() -> dict[str, tuple[str, ...]]:
    """Heading -> paragraphs, each in one line."""
    parts: dict[str, tuple[str, ...]] = {}
    for block in _FILE.read_text(encoding="utf-8").split("\n\n"):
        if block.startswith("#"):
            parts[block.lstrip("#").strip()] = ()
        else:
            heading = list(parts)[-1]
            parts[heading] += (" ".join(block.split()),)
    return parts
