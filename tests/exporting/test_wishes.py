"""Wishes as a graph beside the head's own."""

import numpy as np
import pytest

import conftr
from conftr.classifier.separating import wishes_of
from conftr.conformal.arrays import log_softmax
from conftr.exporting import checking, wishes
from conftr.exporting.graph import Graph

pytest.importorskip("onnxruntime", reason="exports are compared in onnxruntime")

CLASSES = list("abcdefg")
SHAPE = conftr.Shape(
    {"b": 3.0},
    [conftr.Avoid("a", "b", 5.0), conftr.Avoid("c", "d", 2.0, one_way=True)],
    [conftr.Separate(["e", "f"], ["a", "g", "b"], 10.0)],
)


@pytest.mark.parametrize("spread", [0.1, 1, 20, 250])
def test_they_are_followed_as_the_head_follows_them(spread, rng):
    logits, wished = rng.normal(size=(500, 7)) * spread, wishes_of(SHAPE, CLASSES)
    logits[:50] = np.round(logits[:50])  # some tie
    logits[50:60] = logits[50:60, :1]  # all tie
    np.testing.assert_allclose(
        exported(wished, logits), wished.followed(log_softmax(logits)), rtol=1e-9, atol=1e-12
    )


def test_ties_are_decided_alike_where_rounding_differs(rng):
    logits, wished = np.round(rng.normal(size=(500, 7)) * 2), wishes_of(SHAPE, CLASSES)
    moved = logits + rng.normal(size=logits.shape) * 1e-7
    np.testing.assert_allclose(
        exported(wished, moved), wished.followed(log_softmax(logits)), atol=1e-5
    )


def exported(wished, logits):
    """What the graph makes of logits."""
    graph = Graph()
    followed = wishes.followed(graph, graph.input("x", np.float64, ["rows", 7]), wished)
    graph.output("y", followed, np.float64, ["rows", 7])
    return checking.session(graph.model({})).run(None, {"x": logits})[0]
