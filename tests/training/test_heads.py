"""Heads on what frozen networks say: where they start, what they learn, and what they refuse."""

from typing import Any

import jax
import numpy as np
import pytest

from conftr.conformal.objectives import CrossEntropy
from conftr.training import (
    MembersAverage,
    MLPFromAverage,
    MLPOfViews,
    Plan,
    TrainingSet,
    fit,
    predict_logits,
)

KEY = jax.random.key(0)


def said(n: int, members: int, classes: int) -> np.ndarray:
    """Logits in two views, of which heads are to see the first."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, 2, members * classes)).astype(np.float32)


def test_members_are_averaged_in_log_probabilities() -> None:
    logits = said(5, 2, 3)
    both, second = MembersAverage((2, 6), 3, (0, 1)), MembersAverage((2, 6), 3, (1,))
    logs = jax.nn.log_softmax(logits[:, 0].reshape(5, 2, 3))
    np.testing.assert_allclose(both.apply({}, (), logits, False)[0], logs.mean(1), rtol=1e-5)
    np.testing.assert_allclose(second.apply({}, (), logits, False)[0], logs[:, 1], rtol=1e-5)


@pytest.mark.parametrize("hidden", [(8,), (8, 4)])
@pytest.mark.parametrize("train", [True, False])
def test_an_mlp_from_the_average_starts_as_the_average(
    hidden: tuple[int, ...], train: bool
) -> None:
    logits = said(7, 4, 3)
    head, average = MLPFromAverage((2, 12), 3, hidden), MembersAverage((2, 12), 3, (0, 1, 2, 3))
    starts, _ = head.apply(*head.init(KEY), logits, train)
    expected, _ = average.apply({}, (), logits, train)
    # Members are averaged as logits there: the same but for a constant in each row.
    np.testing.assert_allclose(
        jax.nn.log_softmax(starts), jax.nn.log_softmax(expected), rtol=1e-5, atol=1e-5
    )


def test_an_mlp_from_the_average_learns_in_all_its_parts() -> None:
    logits = said(64, 3, 2)
    # An exclusive or of the first member's logits: no weights of what members say can tell it.
    y = (logits[:, 0, 0] > 0).astype(int) ^ (logits[:, 0, 1] > 0)
    head, plan = MLPFromAverage((2, 6), 2, (32,)), Plan(60, 16)
    start, _ = head.init(KEY)
    fitted = fit(KEY, head, TrainingSet(logits, y), CrossEntropy(), plan)
    right = np.argmax(predict_logits(head, fitted, logits), 1) == y
    assert right.mean() > 0.95
    moved = jax.tree.map(lambda a, b: bool((a != b).any()), start, fitted.params)
    assert all(jax.tree.leaves((moved.average.weight, moved.correction)))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MLPOfViews((3,), 2), r"inputs must be \(views, ...\)"),
        (lambda: MembersAverage((1, 6), 3, (2,)), r"members must be some of 0..1; got \(2,\)"),
        (lambda: MembersAverage((1, 6), 3, ()), r"members must be some of 0..1; got \(\)"),
        (lambda: MLPFromAverage((1, 7), 3), r"multiple of 3 in each view; got \(1, 7\)"),
        (lambda: MLPFromAverage((6,), 3), r"must be \(views, members \* classes\)"),
        (lambda: MLPFromAverage((1, 6), 3, (0,)), "hidden of MLP"),
    ],
)
def test_inputs_that_no_members_say_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()
