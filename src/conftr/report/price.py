"""The price of wishes as a small drawing on the page: mixed sets against size, over the weight."""

from __future__ import annotations

from typing import NamedTuple

from conftr.classifier.evidence import Evidence, PricePoint
from conftr.report import numbers

WIDTH, HEIGHT, MARGIN = 460, 240, 44


class Dot(NamedTuple):
    """A point of the curve where it is drawn, and in words.

    Attributes:
        label: The weight.
        size: As text.
        mixed: As text.
    """

    x: float
    y: float
    label: str
    size: str
    mixed: str
    chosen: bool


def dots(evidence: Evidence) -> list[Dot]:
    """The points of the curve, in the order of their weights; none where there is no curve."""
    points = evidence.price
    if len(points) < 2:
        return []
    left, right = min(point.size for point in points), max(point.size for point in points)
    highest = max(point.mixed for point in points) or 1.0
    return [_dot(point, left, (right - left) or 1.0, highest) for point in points]


def _dot(point: PricePoint, left: float, width: float, highest: float) -> Dot:
    x = MARGIN + (point.size - left) / width * (WIDTH - 2 * MARGIN)
    y = HEIGHT - MARGIN - point.mixed / highest * (HEIGHT - 2 * MARGIN)
    label = "no wish" if point.weight == 0 else f"{point.weight:g}"
    share = f"{numbers.rounded(100 * point.mixed, 1)}\N{NO-BREAK SPACE}%"
    return Dot(round(x, 1), round(y, 1), label, numbers.rounded(point.size, 2), share, point.chosen)
