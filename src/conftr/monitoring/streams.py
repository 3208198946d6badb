"""The tests: streams of rows, each with a capital that is large only where rows have changed.

| stream | rows | bets that |
|---|---|---|
| promise | labelled | sets miss the truth more often than promised |
| promise of a group or class | its labelled rows, where it has a threshold | the same |
| scores | labelled | scores of the true classes have changed |
| class | labelled rows of a class | scores of the class have become lower |
| sizes, confidence | all | these have changed; labels are not needed |

The capitals live in different worlds (each knows its own stream alone), and a mean of such capitals
promises nothing. The level is divided instead: a stream with share s of it gives the alarm when its
capital reaches 1 / (s level), and all of them together give a false one with probability at most
the level, at any time, whatever they have to do with each other. Half of it is for the promise
itself, the rest is divided evenly, between kinds and within them. Which streams there are depends
on the model alone.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.classifier.calibration import ALL, CLASS
from conftr.conformal import martingale
from conftr.conformal.quantile import rank
from conftr.conformal.shown_names import shown
from conftr.monitoring.observed import Observed
from conftr.monitoring.reference import Numbers, Reference

PROMISE, GROUP, SCORES, CLASSES = "promise", "group", "scores", "class"
SIZES, CONFIDENCE = "sizes", "confidence"

_FEWEST = 10  # test rows of a class that is watched
_OF_PROMISE = 0.5  # of the level
# Draws of their own for each use, so that one does not depend on another.
_TIES, _PLACES, _OF_SIZES, _OF_CONFIDENCE, _THRESHOLDS = range(5)


@dataclass(frozen=True, eq=False)
class Stream:
    """A stream of rows and what was bet on it.

    Attributes:
        kind: One of the rows of the table above.
        name: Of the group or class, or the kind.
        share: Of the level.
        path: The log of the capital after each of its rows, (T,).
    """

    kind: str
    name: str
    share: float
    path: Numbers

    def evidence(self) -> float:
        """The largest capital so far, times the share: an alarm where it reaches 1 / level."""
        return self.share * math.exp(min(700.0, float(self.path.max(initial=0.0))))

    def alarm(self, level: float) -> int | None:
        """After how many rows of the stream the alarm was given; None if it was not."""
        reached = np.flatnonzero(self.path >= -math.log(level * self.share))
        return int(reached[0]) + 1 if len(reached) else None


def streams(reference: Reference, observed: Observed) -> list[Stream]:
    """Every stream of a model, with the rows that were seen so far."""
    kinds = (_promises, _scores, _classes, _unlabelled)
    every = [stream for kind in kinds for stream in kind(reference, observed)]
    others = [stream.kind for stream in every if stream.kind != PROMISE]
    each = (1 - _OF_PROMISE) / max(1, len(set(others)))
    return [
        Stream(
            stream.kind,
            stream.name,
            _OF_PROMISE if stream.kind == PROMISE else each / others.count(stream.kind),
            stream.path,
        )
        for stream in every
    ]


def missed(reference: Reference, observed: Observed) -> npt.NDArray[np.bool_]:
    """Whether the true class of each labelled row scores below its threshold, (T,).

    Ties with the threshold are divided by draws, as if scores were distinct: the chance of a miss
    is then known exactly. The sets themselves hold what ties.
    """
    scores, groups = _labelled(observed, "score"), observed.labelled.columns["group"]
    draws = _draws(observed, _TIES).random(len(scores))
    misses = np.zeros(len(scores), bool)
    for g, of_group in enumerate(reference.calibration.scores):
        r = rank(len(of_group), reference.alpha)
        if not r:
            continue
        known = martingale.coarse(of_group)
        tau = known[r - 1]
        lower, ties = np.count_nonzero(known < tau), np.count_nonzero(known == tau)
        # Of the ties' own draws, in order, the one that stands at the rank.
        drawn = _draws(observed, _THRESHOLDS, g).beta(r - lower, ties - (r - lower) + 1)
        mine = groups == g
        misses[mine] = (scores[mine] < tau) | ((scores[mine] == tau) & (draws[mine] < drawn))
    return misses


def _promises(reference: Reference, observed: Observed) -> list[Stream]:
    calibration = reference.calibration
    ranks = [rank(n, reference.alpha) for n in calibration.sizes]
    if not any(ranks):
        return []
    each = [] if calibration.by == ALL else [g for g, r in enumerate(ranks) if r]
    misses, groups = missed(reference, observed), observed.labelled.columns["group"]
    chances = np.ones(len(misses))
    for g, (n, r) in enumerate(zip(calibration.sizes, ranks, strict=True)):
        if r:
            chances[groups == g] = martingale.miss_chances(r, n, misses[groups == g])
    known = np.isin(groups, np.flatnonzero(ranks))

    def path(rows: npt.NDArray[np.bool_]) -> Numbers:
        bets = martingale.bets_on_misses(misses[rows], chances[rows], reference.alpha)
        return martingale.capital(bets)

    by_group = [Stream(GROUP, _text(calibration.names[g]), 1, path(groups == g)) for g in each]
    return [Stream(PROMISE, "all rows", 1, path(known)), *by_group]


def _scores(reference: Reference, observed: Observed) -> list[Stream]:
    scores, groups = _labelled(observed, "score"), observed.labelled.columns["group"]
    draws, p = _draws(observed, _PLACES).random(len(scores)), np.zeros(len(scores))
    for g, of_group in enumerate(reference.calibration.scores):
        mine = groups == g
        p[mine] = martingale.sequential_p_values(
            martingale.coarse(of_group), scores[mine], draws[mine]
        )
    bets = martingale.bets_on_p_values(p[groups >= 0])
    return [Stream(SCORES, "all rows", 1, martingale.capital(bets))]


def _classes(reference: Reference, observed: Observed) -> list[Stream]:
    tests = reference.tests
    if tests is None or reference.calibration.by == CLASS:
        return []
    counts = np.bincount(tests.labels, minlength=len(reference.classes))
    watched = np.flatnonzero(counts >= _FEWEST).tolist()
    labels, standing = observed.labelled.columns["label"], _labelled(observed, "standing")
    draws, by_class = _draws(observed, _PLACES).random(len(labels)), []
    for k in watched:
        mine, before = labels == k, martingale.coarse(tests.standing[tests.labels == k])
        p = martingale.sequential_p_values(before, standing[mine], draws[mine])
        path = martingale.capital(martingale.bets_on_p_values(p, martingale.LOW))
        by_class.append(Stream(CLASSES, _text(reference.classes[k]), 1, path))
    return by_class


def _unlabelled(reference: Reference, observed: Observed) -> list[Stream]:
    tests = reference.tests
    if tests is None or tests.sizes is None:
        return []
    columns, n = observed.counted.columns, len(observed.counted)
    by_kind = []
    for kind, before, now, use in (
        (SIZES, tests.sizes, columns["size"], _OF_SIZES),
        (CONFIDENCE, tests.confidence, columns["confidence"], _OF_CONFIDENCE),
    ):
        p = martingale.sequential_p_values(
            martingale.coarse(before),
            martingale.coarse(now),
            _draws(observed, use).random(n),
        )
        path = martingale.capital(martingale.bets_on_p_values(p))
        by_kind.append(Stream(kind, "all rows", 1, path))
    return by_kind


def _labelled(observed: Observed, column: str) -> Numbers:
    return martingale.coarse(observed.labelled.columns[column])


def _draws(observed: Observed, *use: int) -> Any:
    """Draws that are the same each time and go on where they stopped as rows come."""
    return np.random.default_rng([observed.seed, *use])


def _text(name: Hashable) -> str:
    return shown(str(name))
