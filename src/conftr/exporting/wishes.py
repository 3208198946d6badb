"""Wishes that a head follows as a graph: `conftr.classifier.separating`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from conftr.classifier.separating import HANDICAP, SMALLEST, Apart, Wishes
from conftr.exporting.graph import Graph, log_softmax, total


def followed(graph: Graph, logits: str, wishes: Wishes) -> str:
    """Log-probabilities (n, K) that follow wishes, from logits without them."""
    logs = log_softmax(graph, logits)
    p = graph.op("Max", graph.op("Exp", logs), graph.constant(SMALLEST))
    moved, classes = logs, len(wishes.sizes)
    ranked = graph.op("Sub", logs, graph.constant(HANDICAP * np.arange(classes)[None]))
    for wish in wishes.apart:
        limits = _limits(graph, p, ranked, wish)
        for side, limit in zip((wish.first, wish.second), limits, strict=True):
            inside = np.isin(np.arange(classes), side)
            everywhere = graph.op("Where", graph.constant(inside, np.bool_), limit, _zero(graph))
            moved = graph.op("Min", moved, everywhere)
    if wishes.shrinks:
        weighed = total(graph, graph.op("Mul", p, graph.constant(wishes.size_weights)), -1)
        moved = graph.op("Sub", moved, graph.op("Log", weighed))
    return _rest_to_the_likeliest(graph, ranked, moved, classes)


def _limits(graph: Graph, p: str, ranked: str, wish: Apart) -> tuple[str, str]:
    """The log of what classes of each side count for at most, (n, 1)."""
    ours, theirs = (_columns(graph, p, side) for side in (wish.first, wish.second))
    concerned = total(graph, ours, -1)
    if not wish.one_way:
        concerned = graph.op("Add", concerned, total(graph, theirs, -1))
    price = graph.op("Mul", concerned, graph.constant(wish.weight))
    best = [_largest(graph, _columns(graph, ranked, side)) for side in (wish.first, wish.second)]
    behind = graph.op("Less", *best)
    entries = [
        _entry(graph, p_side, len(side), price)
        for p_side, side in ((ours, wish.first), (theirs, wish.second))
    ]
    return (
        graph.op("Where", behind, entries[0], _zero(graph)),
        graph.op("Where", behind, _zero(graph), entries[1]),
    )


def _entry(graph: Graph, side: str, count: int, price: str) -> str:
    """log max_m S_m / (m + price), (n, 1)."""
    ordered = graph.first("TopK", side, graph.constant([count], np.int64), axis=-1)
    sums = graph.op("CumSum", ordered, graph.constant(1, np.int64))
    most = graph.op("Add", price, graph.constant(np.arange(1.0, count + 1)))
    return graph.op("Log", _largest(graph, graph.op("Div", sums, most)))


def _rest_to_the_likeliest(graph: Graph, ranked: str, logs: str, classes: int) -> str:
    """The likeliest class has what the others leave."""
    top = graph.op("ArgMax", ranked, axis=-1, keepdims=1)
    is_top = graph.op("Equal", graph.constant(np.arange(classes)[None], np.int64), top)
    others = graph.op("Where", is_top, _zero(graph), graph.op("Exp", logs))
    rest = graph.op("Log", graph.op("Sub", graph.constant(1.0), total(graph, others, -1)))
    return graph.op("Where", is_top, rest, logs)


def _columns(graph: Graph, p: str, side: Sequence[int]) -> str:
    return graph.op("Gather", p, graph.constant(list(side), np.int64), axis=1)


def _largest(graph: Graph, x: str) -> str:
    return graph.op("ReduceMax", x, graph.constant([-1], np.int64), keepdims=1)


def _zero(graph: Graph) -> str:
    return graph.constant(0.0)
