"""Which test examples a page holds: all of them, or as many at random as keep it small."""

from __future__ import annotations

import dataclasses

import numpy as np

from conftr.classifier.evidence import Evidence, Integers
from conftr.conformal.quantile import rank
from conftr.report.slider import stops

# Entries of all standings together: what a phone goes through in the blink of an eye, and what
# three megabytes hold of places that some stop tells apart.
_ENTRIES = 8_000_000
_TELLING = 2_000_000


def sample(evidence: Evidence) -> Evidence:
    """The same evidence on fewer test examples, drawn without looking at them, where needed."""
    m, n_classes = evidence.candidates[0].standing.shape
    if m == 0:
        raise ValueError("a report needs at least one test example; the evidence holds none.")
    entries = n_classes * len(evidence.candidates)
    telling = sum(int(np.count_nonzero(places)) for places in clipped(evidence))
    rows = max(1, min(m, _ENTRIES // entries, m * _TELLING // max(telling, 1)))
    if rows == m:
        return evidence
    held = rows_of(evidence, np.sort(np.random.default_rng(0).choice(m, rows, replace=False)))
    return dataclasses.replace(held, unseen=round(evidence.unseen * rows / m))


def clipped(evidence: Evidence) -> list[Integers]:
    """Each candidate's standings with the places that no stop tells apart made one, (m, K).

    Below the lowest rank above 0 a class is in no set unless it is in all; from the highest
    rank on it is in every set.
    """
    ranks = {rank(n, alpha) for n in evidence.calibration_sizes for alpha in stops(evidence.alpha)}
    low, high = min(ranks - {0}, default=1), max(ranks)
    kept = (np.minimum(candidate.standing, high) for candidate in evidence.candidates)
    return [np.where(places < low, 0, places) for places in kept]


def rows_of(evidence: Evidence, rows: Integers) -> Evidence:
    """The same evidence on some of the test examples."""
    candidates = tuple(
        dataclasses.replace(
            candidate,
            standing=candidate.standing[rows],
            probabilities=candidate.probabilities[rows],
        )
        for candidate in evidence.candidates
    )
    return dataclasses.replace(
        evidence,
        labels=evidence.labels[rows],
        candidates=candidates,
        groups=None if evidence.groups is None else evidence.groups[rows],
        pictures=None if evidence.pictures is None else evidence.pictures[rows],
        cells=None if evidence.cells is None else [evidence.cells[i] for i in rows],
    )
