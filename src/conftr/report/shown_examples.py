"""Test examples to look at: sets of one class, the largest sets, sets that miss the truth."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from conftr.classifier.evidence import Evidence, Integers
from conftr.conformal.shown_names import apart, shown
from conftr.report.png import picture

_EACH = 6
_CLASSES = 5
_COLUMNS = 60
_LETTERS, _TEXT = 120, 300  # of a name, of what a cell holds


def examples(evidence: Evidence) -> list[dict[str, Any]]:
    """Kinds of examples at the user's alpha, each with its rows; kinds without any are left out.

    Small and wrong sets are drawn at random, with one seed, so that nobody chose them.
    """
    sets, rng = evidence.sets(), np.random.default_rng(0)
    sizes = sets.sum(axis=1)
    covered = sets[np.arange(len(sets)), evidence.labels]
    by_size = np.argsort(-sizes, kind="stable")
    small = np.flatnonzero(covered & (sizes == 1))
    large = by_size[sizes[by_size] > 1]
    wrong = np.flatnonzero(~covered)
    kinds = [
        ("small", small, _draw(rng, small)),
        ("large", large, large[:_EACH]),
        ("wrong", wrong, _draw(rng, wrong)),
    ]
    return [
        {"kind": kind, "count": len(pool), "rows": [_example(evidence, int(i)) for i in rows]}
        for kind, pool, rows in kinds
        if len(rows)
    ]


def _draw(rng: np.random.Generator, rows: Integers) -> Integers:
    return rng.choice(rows, _EACH, replace=False) if len(rows) > _EACH else rows


def _example(evidence: Evidence, i: int) -> dict[str, Any]:
    """The likeliest classes and the true one with their probabilities, and what the input was."""
    probabilities = evidence.candidates[0].probabilities[i]
    likeliest = np.argsort(-probabilities, kind="stable")[:_CLASSES].tolist()
    truth = int(evidence.labels[i])
    listed = likeliest if truth in likeliest else [*likeliest[:-1], truth]
    cells = {} if evidence.cells is None else dict(islice(evidence.cells[i].items(), _COLUMNS))
    return {
        "row": i,
        "shown": [[k, round(float(probabilities[k]), 4)] for k in listed],
        "picture": None if evidence.pictures is None else picture(evidence.pictures[i]),
        "cells": [
            [name, shown(text, _TEXT)]
            for name, text in zip(apart(cells, _LETTERS), cells.values(), strict=True)
        ],
    }
