"""Wishes as a head follows them: what should stay apart enters a set together only at a price.

A set gains g for all the probability that it covers, and pays 1 for every class; if it holds both
sides of a wish, it also pays w where the truth is of them, which has the probability P. The side
of the likelier class comes first. The other, the sum of whose m largest probabilities is S_m, pays
for itself as soon as g reaches  min_m (m + w P) / S_m.  So its classes k count as

    min( p_k, max_m S_m / (m + w P) )

and what is taken off goes to the likeliest class of the row. Where sets of some classes are to be
smaller, the others of a row are divided by its mean size weight too. Nothing of this is trained,
and w is a dial: 0 changes nothing, and a large weight keeps sides apart wherever it can. Of classes
that are equally likely the first is the likeliest, also where rounding puts another before it: a
row has the same set in any company and in any runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from conftr.conformal.shaping import Shape
from conftr.features.columns import Json
from conftr.members.member import MemberError, Numbers

SMALLEST = 1e-300  # probability that a price is made of; the order of smaller ones stays
HANDICAP = 2.0**-16  # of each class against the one before: more than rounding, in logs


@dataclass(frozen=True)
class Apart:
    """Two sides that should not share a set.

    Attributes:
        first: Places of their classes.
        second: Places of their classes.
        weight: As many classes as a mixed set counts for.
        one_way: Whether only rows of the first side count.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]
    weight: float
    one_way: bool

    def limits(self, p: Numbers, ranked: Numbers) -> tuple[Numbers, Numbers]:
        """What the classes of each side count for at most, (n, 1); 1 where it comes first.

        Args:
            p: Probabilities (n, K).
            ranked: Their logs without ties, as of `without_ties`.
        """
        ours, theirs = p[:, list(self.first)], p[:, list(self.second)]
        concerned = ours.sum(axis=1) + (0.0 if self.one_way else theirs.sum(axis=1))
        price = self.weight * concerned[:, None]
        best, other = (ranked[:, list(side)].max(axis=1) for side in (self.first, self.second))
        behind = (best < other)[:, None]
        return (
            np.where(behind, _entry(ours, price), 1.0),
            np.where(behind, 1.0, _entry(theirs, price)),
        )


@dataclass(frozen=True)
class Wishes:
    """What a head follows: sides to keep apart, and the size weight of each class, (K,)."""

    apart: tuple[Apart, ...]
    sizes: tuple[float, ...]

    def followed(self, logs: Numbers) -> Numbers:
        """Log-probabilities (n, K) from those without wishes; the likeliest class stays so."""
        p, moved, ranked = np.maximum(np.exp(logs), SMALLEST), logs.copy(), without_ties(logs)
        for wish in self.apart:
            limits = wish.limits(p, ranked)
            for side, limit in zip((wish.first, wish.second), limits, strict=True):
                moved[:, list(side)] = np.minimum(moved[:, list(side)], np.log(limit))
        if self.shrinks:
            moved -= np.log((p * self.size_weights).sum(axis=1, keepdims=True))
        top = ranked.argmax(axis=1)[:, None]
        np.put_along_axis(moved, top, -np.inf, axis=1)
        rest = np.exp(moved).sum(axis=1, keepdims=True)
        np.put_along_axis(moved, top, np.log1p(-rest), axis=1)
        return moved

    @property
    def shrinks(self) -> bool:
        """Whether sets of some classes should be smaller than those of others."""
        return len(set(self.sizes)) > 1

    @property
    def size_weights(self) -> Numbers:
        """Size weights (K,), the smallest 1."""
        return np.array(self.sizes) / min(self.sizes)

    def to_json(self) -> Json:
        """Give it as plain data."""
        return {"apart": [asdict(wish) for wish in self.apart], "sizes": list(self.sizes)}


def without_ties(logs: Numbers) -> Numbers:
    """Log-probabilities (n, K) by which the first of equally likely classes is the likeliest."""
    return logs - HANDICAP * np.arange(logs.shape[1])


def wishes_of(shape: Shape, classes: Sequence[Any]) -> Wishes:
    """The wishes of a shape, in places among the classes; one without a weight has 1."""
    apart = [
        Apart(tuple(first), tuple(second), wish.weight or 1.0, wish.one_way)
        for wish, first, second in shape.sides(classes)
    ]
    return Wishes(tuple(apart), tuple(shape.class_weights(classes).tolist()))


def load(data: Json, classes: int) -> Wishes:
    """The wishes that were saved as these.

    Raises:
        MemberError: If they are not about so many classes.
    """
    apart = tuple(
        Apart(tuple(wish["first"]), tuple(wish["second"]), wish["weight"], wish["one_way"])
        for wish in data["apart"]
    )
    sizes = tuple(data["sizes"])
    sound = len(sizes) == classes and min(sizes) > 0
    for wish in apart:
        places = {*wish.first, *wish.second} <= set(range(classes))
        sound &= bool(wish.first and wish.second) and places and wish.weight > 0
    if not sound:
        raise MemberError(f"the wishes of the head do not fit {classes} classes.")
    return Wishes(apart, sizes)


def _entry(side: Numbers, price: Numbers) -> Numbers:
    """max_m S_m / (m + price), (n, 1), of a side's probabilities (n, classes of it)."""
    sums = np.cumsum(-np.sort(-side, axis=1), axis=1)
    largest: Numbers = (sums / (np.arange(1, side.shape[1] + 1) + price)).max(axis=1, keepdims=True)
    return largest
