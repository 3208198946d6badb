"""Weighted calibration by hand, beside the unweighted one, and its guarantee under a shift."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import conftr

pytestmark = pytest.mark.filterwarnings("ignore:.*calibration examples")


def test_by_hand(eager):
    scores = eager.asarray(np.array([[0.1], [0.2], [0.3]]))
    labels = eager.asarray(np.zeros(3, int))
    weights, new = eager.asarray(np.array([1.0, 2.0, 6.0])), eager.asarray(np.array([1.0, 9.0, 0]))
    # Sums 1, 3, 9. Of a new row of weight 1: (1 + 1) / 10 <= .2 < (3 + 1) / 10. Of weight 9 its own
    # is half of all. Of weight 0: 1 / 9 <= .2 < 3 / 9.
    tau = conftr.weighted_calibrate(scores, labels, 0.2, weights=weights, test_weights=new)
    np.testing.assert_allclose(np.asarray(tau), [0.2, -np.inf, 0.2], rtol=1e-6)


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=40),
    st.sampled_from([0.05, 0.1, 0.2, 0.3, 1 - 0.9]),
    st.sampled_from([0.1, 1.0, 3.0]),
)
def test_equal_weights_are_no_weights(true_scores, alpha, weight):
    scores, labels = np.array(true_scores, float)[:, None] / 10, np.zeros(len(true_scores), int)
    tau = conftr.weighted_calibrate(
        scores,
        labels,
        alpha,
        weights=np.full(len(true_scores), weight),
        test_weights=np.full(2, weight),
    )
    assert (tau == conftr.calibrate(scores, labels, alpha)).all()


@given(st.lists(st.integers(0, 9), min_size=2, max_size=20), st.data())
def test_a_weight_of_two_is_two_examples(true_scores, data):
    counts = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=len(true_scores), max_size=len(true_scores)))
    )
    scores = np.array(true_scores, float)[:, None] / 10
    many = np.repeat(scores, counts, axis=0)
    tau = conftr.weighted_calibrate(
        scores, np.zeros(len(true_scores), int), 0.2, weights=counts, test_weights=np.ones(1)
    )
    if len(many):
        assert tau[0] == conftr.calibrate(many, np.zeros(len(many), int), 0.2)
    else:
        assert tau[0] == -np.inf


def test_the_promise_holds_under_the_shift_and_is_broken_without_weights():
    # Rows are easy or hard; a quarter of the calibration rows is hard, and half of the new ones.
    rng, alpha, covered = np.random.default_rng(0), 0.2, np.zeros(2)
    trials, n = 2000, 40
    for _ in range(trials):
        hard = np.append(rng.random(n) < 0.25, rng.random() < 0.5)
        scores = (rng.normal(size=n + 1) - 3 * hard)[:, None]
        weight = np.where(hard, 2.0, 2 / 3)
        labels = np.zeros(n, int)
        tau = conftr.weighted_calibrate(
            scores[:n], labels, alpha, weights=weight[:n], test_weights=weight[n:]
        )
        plain = conftr.calibrate(scores[:n], labels, alpha, score=conftr.thr_logits)
        covered += scores[n, 0] >= np.array([tau[0], plain])
    noise = 4 * np.sqrt(alpha * (1 - alpha) / trials)
    assert covered[0] / trials > 1 - alpha - noise
    assert covered[1] / trials < 1 - alpha - noise


def test_refusals():
    scores, labels = np.zeros((2, 1)), np.zeros(2, int)
    for weights, new, match in [
        (np.ones(3), np.ones(1), r"shape \(2,\)"),
        (np.ones(2), np.ones((1, 1)), "one for each new row"),
        (np.array([1.0, -1.0]), np.ones(1), "not negative"),
        (np.zeros(2), np.zeros(1), "not all be 0"),
    ]:
        with pytest.raises(ValueError, match=match):
            conftr.weighted_calibrate(scores, labels, 0.1, weights=weights, test_weights=new)
