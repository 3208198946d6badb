"""The price of a wish: the share of mixed sets against their size, over the wish's weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from conftr.classifier.calibration import Calibration
from conftr.classifier.choosing import Question, sets_of_rest
from conftr.classifier.stack import Stack
from conftr.conformal.shaping import Shape

WEIGHTS = (0.3, 0.6, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
PRICE = 0.03  # by which sets may grow for wishes without a weight

_HALVES = 10


class Point(NamedTuple):
    """What a weight of the wishes gives; 0 is without them.

    Attributes:
        mixed: Of the rows whose class the wishes concern, the share whose set holds what should
            stay apart.
        size: Of all sets, the mean.
    """

    weight: float
    mixed: float
    size: float


@dataclass(frozen=True, eq=False)
class DialPoint:
    """A point on out-of-fold training rows, and the stack whose head follows wishes so.

    Attributes:
        chosen: Whether sets are made with it.
    """

    point: Point
    stack: Stack
    chosen: bool
    calibration: Calibration | None = None


def without_weight(shape: Shape) -> bool:
    """Whether the weight of wishes is to be found: none of them has one."""
    return bool(_wishes(shape)) and all(wish.weight is None for wish in _wishes(shape))


def has_sides(shape: Shape) -> bool:
    """Whether something is to be avoided or kept apart."""
    return bool(_wishes(shape))


def shapes(shape: Shape) -> dict[float, Shape]:
    """The wishes at several weights, in order, among them the one that was given, if one was."""
    if not _wishes(shape):
        return {1.0: shape}
    weight_given = given(shape)
    weights = {*WEIGHTS} if without_weight(shape) else {*WEIGHTS, weight_given}
    return {weight: _scaled(shape, weight / weight_given) for weight in sorted(weights)}


def given(shape: Shape) -> float:
    """The largest weight among wishes to avoid and separate, by which a curve names its points."""
    return max((wish.weight or 1.0 for wish in _wishes(shape)), default=1.0)


def _wishes(shape: Shape) -> list[Any]:
    """What is to be avoided or kept apart; `Shape` has written every wish out."""
    return [*shape.avoid, *shape.separate]


def _scaled(shape: Shape, factor: float) -> Shape:
    def more(wishes: Any) -> list[Any]:
        return [replace(wish, weight=(wish.weight or 1.0) * factor) for wish in wishes]

    return Shape(shrink=shape.shrink, avoid=more(shape.avoid), separate=more(shape.separate))


def unwanted(shape: Shape, classes: Sequence[Any]) -> npt.NDArray[np.bool_]:
    """Which classes are not wanted in the sets of each true class, (K, K)."""
    matrix = shape.loss_matrix(classes)
    np.fill_diagonal(matrix, 0)
    return matrix > 0


def point(weight: float, logits: Any, question: Question) -> Point:
    """Measure logits (n, K) on halves of the rows after calibration on the other halves.

    Args:
        weight: What it is a point of.
        logits: Of rows that did not train them.
        question: The rows' labels, alpha, score, groups and wishes.
    """
    assert question.shape is not None
    scores, labels = question.score(logits), np.asarray(question.labels)
    wrong = unwanted(question.shape, question.classes)
    measured = []
    generator = np.random.default_rng(question.seed)
    for _ in range(_HALVES):
        half = generator.permutation(len(labels)) < len(labels) // 2
        for calibrating in (half, ~half):
            sets = sets_of_rest(scores, calibrating, question)
            measured.append((mixed(sets, labels[~calibrating], wrong), sets.sum(axis=1).mean()))
    share, size = np.mean(measured, axis=0)
    return Point(weight, float(share), float(size))


def mixed(
    sets: npt.NDArray[np.bool_], labels: npt.NDArray[Any], wrong: npt.NDArray[np.bool_]
) -> float:
    """The share of sets (n, K) that hold what should stay apart, of rows with labels (n,).

    That is a class not wanted beside the true one, and with it one that it is not wanted beside.
    A set that holds the wrong side alone is not mixed: it misses the truth, which is what alpha is
    for.

    Args:
        sets: Of n rows.
        labels: Their classes.
        wrong: (K, K), as `unwanted` gives it; rows of classes that nothing is unwanted beside do
            not count.
    """
    concerned = np.asarray(wrong.any(axis=1))[labels]
    if not concerned.any():
        return 0.0
    sets_of, truths = sets[concerned], labels[concerned]
    opposed = sets_of.astype(np.float32) @ wrong.astype(np.float32) > 0
    return float((sets_of & opposed & wrong[truths]).any(axis=1).mean())


def affordable(points: Sequence[Point]) -> Point:
    """The point with the fewest mixed sets whose sets are larger by no more than `PRICE`.

    Of several that have as few, the one with the smallest sets. points: the first is without
    wishes.
    """
    most = (1 + PRICE) * points[0].size
    return min(
        (candidate for candidate in points if candidate.size <= most),
        key=lambda candidate: (candidate.mixed, candidate.size),
    )
