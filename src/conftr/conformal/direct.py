"""THR straight from logits: thresholds and sets as from its scores, to the last bit, without them.

Scores (n, K) cost a maximum and a shift of every row, and another array of the size of the logits.
Where a probability stands beside a threshold shows in the plain exponentials of moderate logits,
but for the few that come closer to it than rounding: those rows are scored. For NumPy; elsewhere,
and where logits are not moderate, all are scored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.conformal import checks
from conftr.conformal.arrays import Array, is_numpy, pick, rows_of
from conftr.conformal.scores import thr

Floats: TypeAlias = npt.NDArray[Any]
Exponentials: TypeAlias = tuple[slice, Floats, Floats, Floats | None, float]

_BLOCK = 1 << 17  # elements of a block of rows
_MODERATE = 64.0  # exponentials of logits within, their sums and products are far from 0 and inf
_SURE = -2e-3  # scores above are not the rounded log-probability


def reaches(logits: Array, tau: float) -> Array:
    """thr(logits) >= tau, booleans (n, K)."""
    logits = checks.logits_array(logits, values=False)
    if not is_numpy(logits) or not -_MODERATE < tau < _SURE:
        return thr(logits) >= tau
    kind, sets = logits.dtype.type, np.empty(logits.shape, bool)
    wider = np.empty(sets[: _rows(logits)].shape, bool)
    unclear = [np.empty(0, np.intp)]
    for block, rows, likely, sums, roundings in _exponentials(logits):
        if sums is None:
            checks.logits_array(logits)
            sets[block] = thr(rows) >= tau
            continue
        margin = (roundings + 2 * abs(tau)) * float(np.finfo(kind).eps)
        inside, might = sets[block], wider[: len(rows)]
        enough = sums[:, None] * kind(math.exp(tau) * (1 + margin))
        np.greater_equal(likely, enough, out=inside)
        np.greater_equal(likely, enough * kind(1 - 2 * margin), out=might)
        np.not_equal(inside, might, out=might)
        close = np.flatnonzero(might) // rows.shape[1]
        unclear.append(block.start + (np.unique(close) if len(close) > len(rows) else close))
    scored = np.unique(np.concatenate(unclear))
    sets[scored] = thr(logits[scored]) >= tau
    return sets


def ranked_scores(logits: Array, labels: Array, ranks: Sequence[int]) -> Floats | None:
    """The r-th smallest of thr(logits) at the labels for each rank r; None where all are scored."""
    if not is_numpy(logits) or min(ranks) < 1:
        return None
    rough, most = np.empty(len(logits)), 0.0
    for block, rows, _, sums, roundings in _exponentials(logits):
        if sums is None:
            return None
        rough[block] = pick(rows, labels[block]) - np.log(sums)
        most = max(most, roundings)
    ordered, ranked = np.sort(rough), np.empty(len(ranks), logits.dtype)
    margin = 2 * (most + 2 * abs(ordered[0])) * float(np.finfo(logits.dtype).eps)
    for place, r in enumerate(ranks):
        near = ordered[r - 1]
        if near > _SURE:
            return None
        close = np.flatnonzero((rough >= near - margin) & (rough <= near + margin))
        scores = np.sort(pick(thr(logits[close]), labels[close]))
        ranked[place] = scores[r - 1 - np.searchsorted(ordered, near - margin)]
    return ranked


def _rows(logits: Floats) -> int:
    return max(1, _BLOCK // int(logits.shape[1]))


def _exponentials(logits: Floats) -> Iterator[Exponentials]:
    """Block by block: its place, its rows, exp of them, their sums (n,), and their roundings.

    The sums are None where logits are not moderate, or not finite. The log-probability of a class
    and its score differ by at most eps times the roundings, and twice the score: rounded are the
    sum, once a class, and each number on either way to the score.
    """
    room = np.empty(logits[: _rows(logits)].shape, logits.dtype)
    ones = np.ones(logits.shape[1], logits.dtype)
    smallest, largest = math.exp(-_MODERATE), math.exp(_MODERATE)
    for start in range(0, len(logits), _rows(logits)):
        block = slice(start, start + _rows(logits))
        rows = rows_of(logits, block)
        likely = room[: len(rows)]
        with np.errstate(all="ignore"):
            np.exp(rows, out=likely)
            sums = likely @ ones
        least, most = float(sums.min()), float(sums.max())
        if smallest < least and most < largest and likely.min() > 0:
            size = max(-math.log(least), math.log(most), 1.0)
            yield block, rows, likely, sums, len(ones) / 2 + 16 + 4 * size
        else:
            yield block, rows, likely, None, math.inf
