"""What a program prints here, beside what a page shows: the same words, and numbers that agree.

Processors round differently, so what was measured may differ in its last digits from one machine to
another. A number with a decimal point or a percent sign is measured: it may differ by a unit of its
last place or by a hundredth of its value, whichever is more. Any other number counts something and
must be the same, as must every word. Spaces and line breaks follow the width of the numbers.
"""

import re
from decimal import Decimal

NUMBER = re.compile(r"((?<![\w.])-?\d+(?:\.\d+)?%?)")


def agree(shown: str, printed: str) -> bool:
    """Whether two texts have equal words, and numbers that agree."""
    ours, theirs = NUMBER.split(shown), NUMBER.split(printed)
    return (
        len(ours) == len(theirs)
        and all(a.split() == b.split() for a, b in zip(ours[::2], theirs[::2], strict=True))
        and all(map(_numbers_agree, ours[1::2], theirs[1::2]))
    )


def _numbers_agree(shown: str, printed: str) -> bool:
    if shown == printed or not {".", "%"} & set(shown):
        return shown == printed
    ours, theirs = (Decimal(number.removesuffix("%")) for number in (shown, printed))
    place = max(number.as_tuple().exponent for number in (ours, theirs))
    near = abs(ours - theirs) <= max(Decimal(1).scaleb(place), abs(ours) / 100)
    return near and shown.endswith("%") == printed.endswith("%")
