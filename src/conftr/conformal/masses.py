"""The probability mass ranked below each class, in logs (what APS and RAPS are made of, sec. 2.1).

For logits (n, K) and U (n, 1): log( mass of the classes with a smaller logit + (1 - U) mass of the
classes with this logit ), the class itself among the latter. Built from the smallest class
upwards, so that nothing is lost next to the largest; equal logits get equal masses.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from conftr.conformal.arrays import (
    Array,
    Namespace,
    counting,
    fold,
    hard_sort,
    is_concrete,
    namespace,
    sums_before,
)

_SPAN = 80.0  # exp of minus this is still a normal float32; log(1 - u) is above minus half of it


class Masses(NamedTuple):
    """The classes of each row in ascending order of their logit, each broadcasting to (n, K)."""

    order: Array  # whence the classes came, for `unsort`
    log_mass: Array
    greater: Array  # how many classes have a greater logit


def ranked_masses(logits: Array, u: Array) -> Masses:
    """Sort the classes of each row and cumulate their mass.

    Where no logit of a row repeats or lies far below the largest, sums of exponentials do; other
    rows take a running log-sum-exp. Which of the two is a matter of the row alone.
    """
    xp = namespace(logits=logits)
    s, order = hard_sort(logits)
    if not (is_concrete(logits) and is_concrete(u)):
        return Masses(order, *_running(xp, s, u))
    if s.shape[0] == 0:
        return Masses(order, *_plain(xp, s, u))
    # First, quickly, whether there can be anything odd at all: few blocks of rows have ties.
    span, entries = s[:, :1] - s[:, -1:], xp.reshape(s, (-1,))
    near = bool(xp.all((span > -_SPAN / 2) & (u < 1)))
    if near and not bool(xp.any(entries[1:] == entries[:-1])):
        return Masses(order, *_plain(xp, s, u))
    smallest = span + xp.log(xp.where(u < 1, 1 - u, 1.0))
    odd = (smallest < -_SPAN) | (u >= 1) | xp.any(s[:, 1:] == s[:, :-1], axis=1, keepdims=True)
    if not bool(xp.any(odd)):
        return Masses(order, *_plain(xp, s, u))
    tame = _plain(xp, xp.where(odd, 0.0, s), xp.where(odd, 0.0, u))
    (rows,) = xp.nonzero(odd[:, 0])
    special = _running(xp, xp.take(s, rows, axis=0), xp.take(u, rows, axis=0))
    return Masses(order, *(_merge(xp, a, b, odd) for a, b in zip(tame, special, strict=True)))


def _merge(xp: Namespace, tame: Array, special: Array, odd: Array) -> Array:
    """Rows (n, K), those that are odd (n, 1) from a table of their own."""
    n, k = odd.shape[0], special.shape[1]
    seen = xp.cumulative_sum(xp.astype(odd[:, 0], xp.int32))
    row = xp.where(odd[:, 0], n - 1 + seen, counting(n, seen))
    return xp.take(xp.concat([xp.broadcast_to(tame, (n, k)), special]), row, axis=0)


def _plain(xp: Namespace, s: Array, u: Array) -> tuple[Array, Array]:
    """log(sum_{i<j} exp(s_i) + (1 - U) exp(s_j)) - log(sum_i exp(s_i)) for sorted logits (n, K)."""
    mass = xp.exp(s - s[:, -1:])
    below = sums_before(mass)
    # Not the last running sum: at U = 0 the top class must score log 1 exactly, and a library's
    # running sum may round otherwise than the sum made here.
    total = below[:, -1:] + mass[:, -1:]
    log_mass = (1 - u) * mass
    log_mass += below
    log_mass = xp.log(log_mass)
    log_mass -= xp.log(total)
    return log_mass, (s.shape[1] - 1 - counting(s.shape[1], s))[None, :]


def _running(xp: Namespace, s: Array, u: Array) -> tuple[Array, Array]:
    """The same for any sorted logits (n, K), class after class, with the classes that tie."""
    columns, k = xp.permute_dims(s - s[:, -1:], (1, 0)), s.shape[1]
    tie = columns[1:, :] == columns[:-1, :]
    log_below, seen = _log_below(xp, columns, tie)
    tied = _group_size(xp, seen, tie)
    kept = xp.permute_dims(1 - u, (1, 0))
    some = kept > 0
    below = xp.exp(log_below)
    log_sum = xp.where(some, xp.log(below + xp.where(some, kept, 1.0) * tied), log_below)
    total = columns[-1, :] + xp.log(below[-1, :] + tied[-1, :])
    place = counting(k, s)[:, None]
    greater = k - 1 - place + seen - tied
    return xp.permute_dims(columns + log_sum - total, (1, 0)), xp.permute_dims(greater, (1, 0))


def _log_below(xp: Namespace, s: Array, tie: Array) -> tuple[Array, Array]:
    """For sorted logits (K, n): the log mass below a class, relative to the class, and its place
    among those tied with it.

    With b_j = log sum_{i: s_i < s_j} exp(s_i - s_j) and c classes tied so far,
    b_{j+1} = log(exp(b_j) + c) - (s_{j+1} - s_j). No term overflows, and none is lost to
    underflow because b itself stays in logs.
    """
    ones = xp.ones_like(s[0, :])

    def step(carry: tuple[Array, Array], row: tuple[Array, Array]) -> tuple[Any, Any]:
        (below, seen), (gap, tied) = carry, row
        below = xp.where(tied, below, xp.log(xp.exp(below) + seen) - gap)
        seen = xp.where(tied, seen + ones, ones)
        return (below, seen), (below, seen)

    first = (ones * -math.inf, ones)
    if s.shape[0] == 1:
        return first[0][None, :], first[1][None, :]
    _, rest = fold(step, first, (s[1:, :] - s[:-1, :], tie))
    below, seen = (xp.concat([a[None, :], b]) for a, b in zip(first, rest, strict=True))
    return below, seen


def _group_size(xp: Namespace, seen: Array, tie: Array) -> Array:
    """How many classes share a logit: the last count of each group, carried back to its first."""
    if seen.shape[0] == 1:
        return seen

    def step(later: Array, row: tuple[Array, Array]) -> tuple[Array, tuple[Array]]:
        count, tied_with_next = row
        size = xp.where(tied_with_next, later, count)
        return size, (size,)

    last = seen[-1, :]
    _, (sizes,) = fold(step, last, (seen[:-1, :], tie), reverse=True)
    return xp.concat([sizes, last[None, :]])
