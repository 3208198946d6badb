"""The price of wishes as a small drawing on the page: mixed sets against size, over the weight."""

from __future__ import annotations

from typing import NamedTuple

from conftr.classifier.evidence import Evidence, PricePoint
from conftr.report import numbers

WIDTH, HEIGHT, MARGIN = 460, 240, 44


class Dot(NamedTuple):
    """A point of the curve where it is drawn, and in words.

    label: the weight. size, mixed: as text.
    """

    x: float
    y: float
    label: str
    size: str
    mixed: str
    chosen: bool


def dots(evidence: Evidence) -> list[Dot]:
    """The points of the curve, in the order of their weights; none where there is no curve."""
    found = evidence.price
    if len(found) < 2:
        return []
    left, right = min(one.size for one in found), max(one.size for one in found)
    highest = max(one.mixed for one in found) or 1.0
    return [_dot(one, left, (right - left) or 1.0, highest) for one in found]


def _dot(one: PricePoint, left: float, width: float, highest: float) -> Dot:
    x = MARGIN + (one.size - left) / width * (WIDTH - 2 * MARGIN)
    y = HEIGHT - MARGIN - one.mixed / highest * (HEIGHT - 2 * MARGIN)
    label = "no wish" if one.weight == 0 else f"{one.weight:g}"
    share = f"{numbers.rounded(100 * one.mixed, 1)}\N{NO-BREAK SPACE}%"
    return Dot(round(x, 1), round(y, 1), label, numbers.rounded(one.size, 2), share, one.chosen)
