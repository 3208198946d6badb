"""The numbers a page begins with, at the user's alpha; its script finds the same at any other.

Shares and means are rounded from whole numbers, halves upwards, so that both agree to the digit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from conftr.classifier.evidence import Evidence, Integers, Numbers, Sets
from conftr.conformal.metrics import coverage_law
from conftr.conformal.quantile import rank, readable_examples_needed
from conftr.report.slider import fraction, out_of_many, promise, stops

# Chance is given 99 % of its law, over all groups together.
TAIL = 0.01
_NAMED = 8


def share(count: int, total: int) -> str:
    """count / total in per cent, one decimal; a dash where there is nothing to count."""
    if total == 0:
        return "–"
    tenths = (2000 * count + total) // (2 * total)
    return f"{tenths // 10}.{tenths % 10}\N{NO-BREAK SPACE}%"


def mean(total: int, count: int) -> str:
    """total / count with two decimals; a dash where there is nothing to count."""
    if count == 0:
        return "–"
    hundredths = (200 * total + count) // (2 * count)
    return f"{hundredths // 100}.{hundredths % 100:02d}"


def rounded(ratio: float, digits: int) -> str:
    """A ratio of whole numbers below 10^8 as `share` and `mean` round it, halves upwards."""
    scale = 10**digits
    return f"{math.floor(ratio * scale + 0.5 + 1e-9) / scale:.{digits}f}"


def _first_names(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def chance(n_cal: int, n_test: int, alpha: float, tail: float) -> tuple[int, int]:
    """Between which numbers of covered examples chance stays, but for `tail` of its law."""
    if n_cal == 0:
        return n_test, n_test
    law = coverage_law(n_cal, n_test, alpha)
    low = int(np.searchsorted(law, tail / 2, side="right"))
    return low, min(int(np.searchsorted(law, 1 - tail / 2, side="left")), n_test)


class Tally(NamedTuple):
    """Test examples of one calibration group: how many, covered, and the sum of their set sizes.

    Attributes:
        low: The least that chance lets `covered` be if the guarantee holds.
        high: The most.
        everything: Whether calibration examples are too few for alpha, and sets hold every class.
    """

    name: str
    calibration: int
    tests: int
    covered: int
    total: int
    low: int
    high: int
    everything: bool

    @property
    def verdict(self) -> str:
        """How coverage stands to the guarantee: "everything", "below", "above" or "agrees"."""
        if self.everything:
            return "everything"
        if self.covered < self.low:
            return "below"
        return "above" if self.covered > self.high else "agrees"


def _group_of(evidence: Evidence) -> Integers:
    """The calibration group of each test example, (m,): its class where each class is one."""
    return evidence.labels if evidence.groups is None else evidence.groups


def tallies(evidence: Evidence, alpha: float, candidate: int = 0) -> list[Tally]:
    """A tally for each calibration group."""
    sizes = evidence.calibration_sizes
    sets, count = evidence.sets(candidate, alpha), len(sizes)
    tests, hits, totals = _sums(sets, evidence.labels, _group_of(evidence), count)
    return [
        Tally(name, n, t, h, s, *chance(n, t, alpha, TAIL / count), everything=not rank(n, alpha))
        for name, n, t, h, s in zip(evidence.group_names, sizes, tests, hits, totals, strict=True)
    ]


class ClassTally(NamedTuple):
    """Test examples of one class, as `Tally`.

    Attributes:
        luck: How likely chance is to cover so few, if the class is as hard as all together.
    """

    name: str
    tests: int
    covered: int
    total: int
    luck: float


def class_tallies(evidence: Evidence, alpha: float) -> list[ClassTally]:
    """A tally for each class."""
    n_cal = sum(evidence.calibration_sizes)
    return [
        ClassTally(name, t, h, s, float(coverage_law(n_cal, t, alpha)[h]))
        for name, t, h, s in _by_class(evidence, alpha)
    ]


def far_below(evidence: Evidence, alpha: float) -> list[ClassTally]:
    """Classes that are covered far less than promised, the least covered first.

    Those that are missed more than twice as often as promised, and more often than chance explains
    if a class is as hard as all together. None where each class has its own threshold.
    """
    if evidence.groups is None:
        return []
    n_cal, tail = sum(evidence.calibration_sizes), TAIL / len(evidence.classes)
    lagging = [
        ClassTally(name, t, h, s, float(coverage_law(n_cal, t, alpha)[h]))
        for name, t, h, s in _by_class(evidence, alpha)
        if t - h > 2 * fraction(alpha) * t and h < chance(n_cal, t, alpha, tail)[0]
    ]
    return sorted(lagging, key=lambda tally: Fraction(tally.covered, tally.tests))


def _by_class(evidence: Evidence, alpha: float) -> Iterator[tuple[str, int, int, int]]:
    """Of each class its name, test examples, covered ones, and the sum of their set sizes."""
    sets, count = evidence.sets(0, alpha), len(evidence.classes)
    tests, hits, totals = _sums(sets, evidence.labels, evidence.labels, count)
    return zip(evidence.classes, tests, hits, totals, strict=True)


def _sums(sets: Sets, labels: Integers, keys: Integers, count: int) -> Iterator[list[int]]:
    """Test examples, covered ones and sizes of their sets, summed by key 0..count-1."""
    covered = sets[np.arange(len(sets)), labels]
    for weights in (None, covered, sets.sum(axis=1)):
        yield np.bincount(keys, weights, minlength=count).astype(int).tolist()


def verdict(groups: list[Tally]) -> str:
    """The worst verdict of any group, as `Tally.verdict`."""
    verdicts = {group.verdict for group in groups}
    return next(word for word in ["below", "above", "everything", "agrees"] if word in verdicts)


def headline(evidence: Evidence, alpha: float) -> dict[str, str]:
    """What sentences of the page say at alpha, by the names the page knows them by."""
    groups = tallies(evidence, alpha)
    tests = sum(group.tests for group in groups)
    covered = sum(group.covered for group in groups)
    single = int(np.count_nonzero(evidence.sets(0, alpha).sum(axis=1) == 1))
    behind = [group.name for group in groups if group.verdict == "below"]
    lagging = far_below(evidence, alpha)
    return at_stop(alpha) | {
        "covered": f"{covered:,}",
        "coverage": share(covered, tests + evidence.unseen),
        "known": share(covered, tests),
        "lagging": _first_names(
            [f"{tally.name} ({share(tally.covered, tally.tests)})" for tally in lagging]
        ),
        "size": mean(sum(group.total for group in groups), tests),
        "single": share(single, tests),
        "low": share(groups[0].low, groups[0].tests),
        "high": share(groups[0].high, groups[0].tests),
        "behind": _first_names(behind),
        "agreeing": f"{len(groups) - len(behind):,}",
    }


def at_stop(alpha: float) -> dict[str, str]:
    """What follows from alpha alone."""
    many, misses = out_of_many(alpha)
    return {
        "alpha": f"{alpha:.6g}",
        "promise": promise(alpha),
        "many": f"{many:,}",
        "hits": f"{many - misses:,}",
        "misses": f"{misses:,}",
        "needed": f"{readable_examples_needed(alpha)}",
    }


def count_right(evidence: Evidence, candidate: int) -> int:
    """How many test examples have their own class as the likeliest."""
    likeliest = np.argmax(evidence.candidates[candidate].probabilities, axis=1)
    return int(np.count_nonzero(likeliest == evidence.labels))


def accuracy(evidence: Evidence, candidate: int) -> str:
    """Share of test examples whose own class is the likeliest, in words."""
    return share(count_right(evidence, candidate), len(evidence.labels))


class Curve(NamedTuple):
    """Mean set size and coverage of a candidate at every stop, (stops,)."""

    size: Numbers
    coverage: Numbers


def curve(evidence: Evidence, candidate: int) -> Curve:
    """The trade-off between the promise and the size of sets."""
    sizes, covered = [], []
    for alpha in stops(evidence.alpha):
        sets = evidence.sets(candidate, alpha)
        sizes.append(np.count_nonzero(sets) / len(sets))
        covered.append(np.count_nonzero(sets[np.arange(len(sets)), evidence.labels]) / len(sets))
    return Curve(np.array(sizes), np.array(covered))


def band(evidence: Evidence) -> list[tuple[float, float]]:
    """Between which coverages chance stays at every stop, where one threshold serves all."""
    (n_cal,), tests = evidence.calibration_sizes, len(evidence.labels)
    counts = (chance(n_cal, tests, alpha, TAIL) for alpha in stops(evidence.alpha))
    return [(low / tests, high / tests) for low, high in counts]


def bins(n_classes: int) -> list[tuple[int, int]]:
    """Set sizes that are counted together, from 0 to K: single sizes at first, both ends inclusive.

    Up to 12 classes every size stands alone; otherwise 0 to 5, then 6-9, 10-19, 20-49, and K.
    """
    if n_classes <= 12:
        return [(size, size) for size in range(n_classes + 1)]
    edges = [6, 10]
    while edges[-1] < n_classes:
        decade = 10 ** (len(str(edges[-1])) - 1)
        edges.append({1: 2, 2: 5, 5: 10}[edges[-1] // decade] * decade)
    starts = [*range(6), *(edge for edge in edges if edge < n_classes), n_classes]
    return [(a, b - 1) for a, b in zip(starts, [*starts[1:], n_classes + 1], strict=True)]
