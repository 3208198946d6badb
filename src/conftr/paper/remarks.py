"""What the page of results says in words, read from `page.md`: a part for each exhibit, by its key.

The first part is the title of the page and its introduction. A remark on one dataset alone begins
with its name in brackets.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("page.md")


class Remark(NamedTuple):
    """A sentence or more below an exhibit; where it is on one dataset alone, on which."""

    text: str
    dataset: str | None = None


def title() -> str:
    """The title of the page."""
    return next(iter(_sections()))


def introduction() -> tuple[str, ...]:
    """The paragraphs below the title."""
    return _sections()[title()]


def remarks(key: str) -> tuple[Remark, ...]:
    """What a reader should know of an exhibit; where ours and theirs part, why."""
    return tuple(_remark(paragraph) for paragraph in _sections().get(key, ()))


def _remark(paragraph: str) -> Remark:
    dataset, text = re.fullmatch(r"(?:\[(.+?)\] )?(.*)", paragraph).groups()  # type: ignore[union-attr]
    return Remark(text, dataset)


@cache
def _sections() -> dict[str, tuple[str, ...]]:
    """Heading -> paragraphs, each in one line."""
    sections: dict[str, tuple[str, ...]] = {}
    for block in _FILE.read_text(encoding="utf-8").split("\n\n"):
        if block.startswith("#"):
            sections[block.lstrip("#").strip()] = ()
        else:
            heading = list(sections)[-1]
            sections[heading] += (" ".join(block.split()),)
    return sections
