"""Conformity scores as graphs, in double precision, and sets from them.

`thr` is exact also where a probability rounds to 1, as in `conftr.thr`. `aps` and `raps` compare
every two classes of a row, so that masses stay in logs and nothing underflows, however sharp logits
are: a row takes K x K numbers, which is fine up to some hundred classes. Their ranks jump where two
logits change places, so logits nearer to each other than `rounding` count as equal, which only
makes scores larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from inspect import signature

import numpy as np

from conftr.conformal import scores, sets
from conftr.exporting.graph import Graph, log_softmax, total

_LOG1P = tuple(1 / k for k in range(6, 0, -1))  # of -log(1 - r) / r, highest power first


def thr(graph: Graph, logits: str, rounding: float = 0.0) -> str:  # noqa: ARG001
    """`conftr.thr`: the likeliest class, where it is nearly certain, by what the others have."""
    plain = graph.op("Max", log_softmax(graph, logits), graph.constant(scores.FARTHEST))
    sure = graph.op("Greater", plain, graph.constant(scores.SURE))
    rivals = graph.op("Where", sure, graph.constant(scores.FARTHEST), plain)
    rest = total(graph, graph.op("Exp", rivals), -1)
    log_rest = graph.op("ReduceLogSumExp", rivals, graph.constant([-1], np.int64), keepdims=1)
    beyond = graph.op("Sub", graph.constant(math.log(scores.UNDERFLOW)), log_rest)
    scaled = graph.op("Div", beyond, graph.constant(scores.BOUND))
    beyond = graph.op("Div", beyond, graph.op("Add", scaled, graph.constant(1.0)))
    beyond = graph.op("Mul", beyond, graph.constant(scores.UNDERFLOW))
    tiny = graph.op("Less", rest, graph.constant(scores.UNDERFLOW))
    exact = graph.op("Where", tiny, beyond, _log_of_one_less(graph, rest))
    return graph.op("Where", sure, exact, plain)


def _log_of_one_less(graph: Graph, rest: str) -> str:
    """log(1 - r) for r below a thousandth, by its series: ONNX has no log1p."""
    series = graph.constant(_LOG1P[0])
    for part in _LOG1P[1:]:
        series = graph.op("Add", graph.op("Mul", series, rest), graph.constant(part))
    return graph.op("Neg", graph.op("Mul", series, rest))


def aps(graph: Graph, logits: str, rounding: float = 0.0) -> str:
    """`conftr.aps` at U = 0: the log of the mass of all classes that are at most as likely."""
    return _log_mass(graph, logits, *_ranks(graph, logits, rounding))


def raps(graph: Graph, logits: str, rounding: float = 0.0) -> str:
    """`conftr.raps` with its default penalty, at U = 0."""
    usual = signature(scores.raps).parameters
    penalty, free_rank = usual["penalty"].default, usual["free_rank"].default
    gaps, above = _ranks(graph, logits, rounding)
    log_mass = _log_mass(graph, logits, gaps, above)
    steps = total(graph, graph.cast(above, np.float64), -1, keep=False)
    steps = graph.op("Add", steps, graph.constant(float(1 - free_rank)))
    steps = graph.op("Max", steps, graph.constant(0.0))
    return _penalised(graph, log_mass, steps, penalty)


def _ranks(graph: Graph, logits: str, rounding: float) -> tuple[str, str]:
    """By how much the logits of all exceed that of each, (n, K, K), and which are above it."""
    axes = (graph.constant([1], np.int64), graph.constant([2], np.int64))
    gaps = graph.op("Sub", *(graph.op("Unsqueeze", logits, axis) for axis in axes))
    return gaps, graph.op("Greater", gaps, graph.constant(rounding))


def _log_mass(graph: Graph, logits: str, gaps: str, above: str) -> str:
    masses = graph.op("Where", above, graph.constant(0.0), graph.op("Exp", _capped(graph, gaps)))
    sums = graph.op("Log", total(graph, masses, -1, keep=False))
    unscaled = graph.op("Add", logits, sums)
    # The most likely class has all mass: its score is 0 to the last bit.
    whole = graph.op("ReduceMax", unscaled, graph.constant([-1], np.int64), keepdims=1)
    return graph.op("Sub", unscaled, whole)


def _capped(graph: Graph, gaps: str) -> str:
    return graph.op("Min", gaps, graph.constant(0.0))


def _penalised(graph: Graph, log_mass: str, steps: str, penalty: float) -> str:
    """As `conftr.conformal.scores` has it: log f - 8192 l."""
    zero, level = graph.constant(0.0), graph.constant(scores.LEVEL)
    lowest = graph.constant(-scores.LEVEL)
    units = graph.op("Div", graph.op("Exp", log_mass), graph.constant(penalty))
    whole = graph.op("Min", graph.op("Floor", units), steps)
    part = graph.op("Sub", units, whole)
    taken = graph.op("Greater", whole, zero)
    positive = graph.op("And", taken, graph.op("Greater", part, zero))
    rest = graph.op("Mul", part, graph.constant(penalty))
    logs = graph.op("Log", graph.op("Where", positive, rest, graph.constant(1.0)))
    log_part = graph.op("Where", positive, logs, lowest)
    log_part = graph.op("Max", graph.op("Where", taken, log_part, log_mass), lowest)
    return graph.op("Sub", log_part, graph.op("Mul", level, graph.op("Sub", steps, whole)))


def thr_logits(graph: Graph, logits: str, rounding: float = 0.0) -> str:  # noqa: ARG001
    """`conftr.thr_logits`."""
    return logits


def thr_probs(graph: Graph, logits: str, rounding: float = 0.0) -> str:  # noqa: ARG001
    """`conftr.thr_probs`."""
    return graph.op("Exp", log_softmax(graph, logits))


SCORES: Mapping[object, Callable[[Graph, str, float], str]] = {
    scores.thr: thr,
    scores.aps: aps,
    scores.raps: raps,
    scores.thr_logits: thr_logits,
    scores.thr_probs: thr_probs,
}


def reached(graph: Graph, values: str, tau: str, margin: float) -> str:
    """Whether scores reach thresholds up to rounding, as `conftr.predict_set` has it.

    Args:
        margin: What the rounding of another runtime may take off besides, so that sets only grow.
    """
    largest, unit = graph.constant(sets.LARGEST), graph.constant(1.0)
    size = graph.op("Min", graph.op("Abs", tau), largest)
    near = graph.op("Min", graph.op("Mul", size, graph.constant(float(sets.NEAR_ONE))), unit)
    slack = graph.op("Mul", graph.op("Add", size, near), graph.constant(sets.ROUNDING))
    lowered = graph.op("Sub", tau, graph.op("Add", slack, graph.constant(margin)))
    return graph.op("GreaterOrEqual", values, lowered)
