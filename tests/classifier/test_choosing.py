"""The measure that chooses between models, by hand, and which one is kept."""

import numpy as np
import pytest

import conftr
from conftr.classifier.calibration import ALL, CLASS, Grouping
from conftr.classifier.choosing import (
    CONFORMAL,
    CROSS_ENTROPY,
    WISHED,
    Question,
    choose,
    costs,
    shape_weights,
    shaped_size,
)

SETS = np.array([[1, 1, 0], [0, 1, 1], [1, 1, 1]], bool)
LABELS = np.array([0, 1, 0])


def test_without_wishes_it_is_the_mean_size():
    assert shaped_size(SETS, LABELS, None) == pytest.approx(7 / 3)


def test_wishes_by_hand():
    """omega = (2, 1, 1), L[0,1] = L[1,0] = 5: 2 * 2 + 5, 1 * 2 + 0, 2 * 3 + 5."""
    shape = conftr.Shape(shrink={"a": 2}, avoid=[conftr.Avoid("a", "b", 5)])
    weights = shape_weights(shape, ["a", "b", "c"])
    assert shaped_size(SETS, LABELS, weights) == pytest.approx((9 + 2 + 11) / 3)


def test_shrinking_alone_takes_no_matrix():
    weights = shape_weights(conftr.Shape(shrink={2: 3}), range(10_000))
    assert weights.shape == (10_000, 1)
    assert shaped_size(SETS, LABELS, weights[:3]) == pytest.approx(7 / 3)


def question(n, score=conftr.thr):
    return Question(np.arange(n) % 3, ["a", "b", "c"], 0.2, score, ALL)


def test_costs_are_what_evaluate_measures():
    """Over many halves, the mean of `evaluate` over its own halves."""
    rng = np.random.default_rng(0)
    problem = question(200)
    logits = (rng.normal(size=(200, 3)) + 2 * np.eye(3)[problem.labels]).astype(np.float32)
    records = conftr.evaluate(
        logits, problem.labels, score=conftr.thr, alpha=0.2, n_cal=100, splits=200
    )
    expected = np.mean([record["inefficiency"] for record in records])
    assert costs(logits, problem).mean() == pytest.approx(expected, abs=0.02)


def test_the_same_halves_for_every_model():
    """Two models that rank everything alike have the same costs, one by one."""
    logits = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    problem = question(60, conftr.thr_logits)
    np.testing.assert_array_equal(costs(logits, problem), costs(2 * logits, problem))


@pytest.mark.parametrize("by", [CLASS, Grouping("column", "clinic")])
def test_groups_have_their_own_thresholds(by):
    groups = None if by == CLASS else np.array(["x", "y"])[np.arange(90) % 2]
    problem = Question(np.arange(90) % 3, ["a", "b", "c"], 0.2, conftr.thr, by, groups)
    logits = np.random.default_rng(0).normal(size=(90, 3)).astype(np.float32)
    assert 1 <= costs(logits, problem).mean() <= 3


def around(mean, noise=0.0):
    return mean + noise * np.tile([-1.0, 1.0], 10)


def test_cross_entropy_stays_if_in_doubt():
    families = [CROSS_ENTROPY, CROSS_ENTROPY, CONFORMAL, CONFORMAL]
    choice = choose(families, [around(2.1), around(2.0), around(1.9, 0.2), around(2.5)])
    assert list(choice.places.items()) == [(CROSS_ENTROPY, 1), (CONFORMAL, 2)]
    assert "the same within noise, -0.100 ± 0.200 against cross-entropy" in choice.why


def test_what_is_clearly_better_is_taken():
    choice = choose([CROSS_ENTROPY, CONFORMAL], [around(2.0), around(1.9, 0.05)])
    assert list(choice.places.items()) == [(CONFORMAL, 1), (CROSS_ENTROPY, 0)]
    assert choice.why.startswith("conformal training (1.900); conformal training is better")


def test_a_wish_is_followed_if_that_is_better_beyond_noise():
    families = [CROSS_ENTROPY, CONFORMAL, WISHED]
    clearly, perhaps = around(1.9, 0.05), around(1.9, 0.2)
    assert next(iter(choose(families, [around(2.0), around(3.0), clearly]).places)) == WISHED
    assert next(iter(choose(families, [around(2.0), around(3.0), perhaps]).places)) == CROSS_ENTROPY


def test_a_wish_that_was_asked_for_is_followed_whatever_the_rest_does():
    choice = choose([WISHED, CONFORMAL, CROSS_ENTROPY], [around(2.0), around(1.0), around(1.5)])
    assert next(iter(choice.places)) == WISHED


def test_what_was_asked_for_is_kept_though_cross_entropy_is_better():
    choice = choose([WISHED, CONFORMAL, CROSS_ENTROPY], [around(2.0), around(2.1), around(1.0)])
    assert list(choice.places) == [WISHED, CONFORMAL, CROSS_ENTROPY]
    assert "cross-entropy is better, -1.000" in choice.why
