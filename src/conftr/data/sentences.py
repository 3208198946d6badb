"""Columns of texts: told from columns of categories by many different values of several words."""

from __future__ import annotations

import re
from collections.abc import Sequence

TEXT = "text"  # the column of texts that come without a name

_FEWEST = 20  # different texts that a column of texts has
_CATEGORIES = 100  # more different texts of several words than this are no categories
_SHARE = 0.5  # of the texts are different where there are fewer
_WORDS = 3.0  # of a text, on average
_LOOKED_AT = 1000  # texts
_LETTERS = 1000  # of a text that are looked at
# Chinese, Japanese, Thai, Lao and Khmer have no blanks between words: two signs count as one.
_UNSPACED = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]{{1,2}}|[^\W{_UNSPACED}]+(?:['’.-]\w+)*")


def are_sentences(texts: Sequence[str], known: int) -> bool:
    """Whether a column holds texts to read, and not names of categories.

    Args:
        texts: The different texts of a column.
        known: How many of its cells are not empty.

    Returns:
        True where they are many and have three words or more on average.
    """
    if len(texts) < _FEWEST or (len(texts) <= _CATEGORIES and len(texts) < _SHARE * known):
        return False
    step = max(1, len(texts) // _LOOKED_AT)
    counts = [len(words(text[:_LETTERS])) for text in texts[::step]]
    return sum(counts) >= _WORDS * len(counts)


def words(text: str) -> list[str]:
    """The words of a text in any language; of those written without blanks, pairs of signs."""
    return _WORD.findall(text)
