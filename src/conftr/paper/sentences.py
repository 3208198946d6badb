"""What the page of results says in words, read from `page.md`: a part for each exhibit, by its key.

The first part is the title of the page and its introduction.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("page.md")


def title() -> str:
    """The title of the page."""
    return next(iter(_parts()))


def introduction() -> tuple[str, ...]:
    """The paragraphs below the title."""
    return _parts()[title()]


def remarks(key: str) -> tuple[str, ...]:
    """What a reader should know of an exhibit; where ours and theirs part, why."""
    return _parts().get(key, ())


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
