"""Scores as graphs beside `conftr`'s own, on flat and on sharp logits, and sets from them."""

import numpy as np
import pytest

import conftr
from conftr.conformal.sets import lowered
from conftr.exporting import checking, scoring
from conftr.exporting.graph import Graph

pytest.importorskip("onnxruntime", reason="exports are compared in onnxruntime")


def run(build, logits, **more):
    graph = Graph()
    x = graph.input("x", np.float64, ["rows", logits.shape[1]])
    result = build(graph, x)
    kind = np.bool_ if more else np.float64
    graph.output("y", result, kind, ["rows", logits.shape[1]])
    return checking.session(graph.model({})).run(None, {"x": logits})[0]


@pytest.mark.parametrize("spread", [0.1, 1, 20, 250, 2000])
@pytest.mark.parametrize("score", scoring.SCORES, ids=lambda score: score.__name__)
def test_scores_are_those_of_conftr(score, spread, rng):
    logits = rng.normal(size=(500, 7)) * spread
    logits[:50] = np.round(logits[:50])  # some tie
    logits[50:60] = logits[50:60, :1]  # all tie
    result, expected = run(scoring.SCORES[score], logits), score(logits)
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("score", [conftr.thr, conftr.aps, conftr.raps], ids=lambda s: s.__name__)
def test_sets_of_sharp_logits_are_those_of_conftr(score, rng):
    logits = rng.normal(size=(4000, 5)) * rng.choice([1, 30, 300], (4000, 1))
    labels = logits.argmax(axis=1)
    labels[::10] = rng.integers(0, 5, 400)
    for alpha in (0.02, 0.05, 0.2, 0.5):
        tau = conftr.calibrate(logits[:2000], labels[:2000], alpha, score=score)

        def sets(graph, x, tau=tau):
            graph_scores = scoring.SCORES[score](graph, x)
            return scoring.reached(graph, graph_scores, graph.constant([[tau]]), 0.0)

        expected = conftr.predict_set(logits[2000:], tau, score=score)
        np.testing.assert_array_equal(run(sets, logits[2000:], sets=True), expected)


@pytest.mark.parametrize("score", [conftr.aps, conftr.raps], ids=lambda s: s.__name__)
def test_sets_only_grow_where_rounding_decides_the_ranks(score, rng):
    logits = np.round(rng.normal(size=(2000, 5)) * 2)  # many tie
    labels, rounding = rng.integers(0, 5, 2000), 1e-6
    moved = logits + rng.uniform(-rounding, rounding, logits.shape) / 2
    tau = conftr.calibrate(logits, labels, 0.3, score=score)

    def sets(graph, x):
        graph_scores = scoring.SCORES[score](graph, x, rounding)
        return scoring.reached(graph, graph_scores, graph.constant([[tau]]), 1e-4)

    result = run(sets, logits, sets=True)
    np.testing.assert_array_equal(result, conftr.predict_set(logits, tau, score=score))
    np.testing.assert_array_equal(run(sets, moved, sets=True), result)
    changed = conftr.predict_set(moved, tau, score=score)
    assert (result & ~changed).any()
    assert not (changed & ~result).any()


@pytest.mark.parametrize("tau", [-np.inf, -1e31, -3.5, -1e-3, -1e-9, 0.0, 2.0])
def test_thresholds_are_lowered_as_conftr_lowers_them(tau):
    low = lowered(tau)
    values = np.array([[low, np.nextafter(low, -np.inf), tau]])
    values = np.maximum(values, -1e300)  # no score is -inf
    result = run(
        lambda graph, x: scoring.reached(graph, x, graph.constant([[tau]]), 0.0), values, sets=True
    )
    np.testing.assert_array_equal(result, values >= low)
