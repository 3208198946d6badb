"""Names of the user's as they are shown: on one line, harmless, not too long, and still apart.

Classes, columns, groups and cells hold whatever a file holds. Control characters act on terminals
and end the drawing of figures; a name of a hundred thousand letters fills every screen. What is
computed, saved or written as data keeps names as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

LETTERS = 60
_MESSAGE = 4000
# Controls, line and paragraph separators, what turns the direction of a line, halves of a
# character, and what will never be one.
_NEVER = "".join(chr((plane << 16) + last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
_UNSAFE = re.compile(
    f"[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef{_NEVER}]"
)
_LINE_BREAK = "\n"


def shown(name: object, most: int = LETTERS) -> str:
    """A name as it is shown: what acts on a screen is escaped, the middle of a long one left out.

    Args:
        name: whatever a class, column, group or cell is called.
        most: letters.

    Returns:
        Text of one line, at most so long.

    >>> shown("y\\x1b[31mes"), shown("abcdefghij", 5)
    ('y\\\\x1b[31mes', 'abc…j')
    """
    text = str(name)
    if len(text) > most:
        # What is escaped grows, so that more than is shown never has to be looked at.
        text = _cut(text, 2 * most)
    return _cut(_UNSAFE.sub(_escaped, text), most)


def apart(names: Iterable[object], most: int = LETTERS) -> tuple[str, ...]:
    """Names as they are shown, where those that would look the same are numbered.

    Args:
        names: of things that differ.
        most: letters of each, without its number.

    Returns:
        As many texts, no two of them equal.

    >>> apart(["a" * 9 + "b" + "c" * 9, "a" * 9 + "d" + "c" * 9, "e"], 5)
    ('aaa…c', 'aaa…c (2)', 'e')
    """
    texts = [shown(name, most) for name in names]
    plain, seen, distinct = set(texts), Counter[str](), list[str]()
    for text in texts:
        seen[text] += 1
        while seen[text] > 1 and f"{text} ({seen[text]})" in plain:
            seen[text] += 1
        distinct.append(text if seen[text] == 1 else f"{text} ({seen[text]})")
    return tuple(distinct)


def printable(message: str) -> str:
    """A message as it is printed: lines stay lines, all else that acts on a terminal is escaped.

    Args:
        message: what is to be said, with names of the user's in it.

    Returns:
        The message, without its middle where it is longer than a screen holds.
    """
    lines = _cut(message, _MESSAGE).split(_LINE_BREAK)
    return _LINE_BREAK.join(_UNSAFE.sub(_escaped, line) for line in lines)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def _cut(text: str, most: int) -> str:
    """The text, or its first two thirds and its end with a mark between."""
    if len(text) <= most:
        return text
    end = (most - 1) // 3
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"
