"""Calibrate and predict by hand, their laws, groups, and their smooth twins."""

import math
import warnings
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import conftr
from conftr import CalibrationWarning

pytestmark = pytest.mark.filterwarnings("ignore:scores hold")  # any numbers serve as scores here

# Nine true scores .1 ... .9 in column 0, labels all 0.
SCORES = np.stack([np.arange(1, 10) / 10, np.full(9, 0.55)], axis=1)
LABELS = np.zeros(9, dtype=np.int64)


def test_by_hand(library):
    # n = 9: alpha = .1 gives r = floor(.1 * 10) = 1, the smallest; alpha = .3 the third.
    assert library.call(partial(conftr.calibrate, alpha=0.1), SCORES, LABELS) == pytest.approx(0.1)
    assert library.call(partial(conftr.calibrate, alpha=0.3), SCORES, LABELS) == pytest.approx(0.3)
    sets = library.call(lambda s: conftr.predict_set(s, 0.55), SCORES)
    np.testing.assert_array_equal(sets[:, 0], np.arange(1, 10) > 5)
    np.testing.assert_array_equal(sets[:, 1], np.ones(9))  # equal to tau is inside


def test_tau_is_a_float_and_keeps_its_rank_in_float32(eager, rng):
    scores = rng.normal(size=(40, 3)).astype(np.float32)
    labels = rng.integers(0, 3, 40)
    tau = conftr.calibrate(eager.asarray(scores), eager.asarray(labels), 0.2)
    assert isinstance(tau, float)
    true_scores = scores[np.arange(40), labels]
    sets = np.asarray(conftr.predict_set(eager.asarray(scores), tau))
    assert (
        np.sum(~sets[np.arange(40), labels]) == np.sum(true_scores < np.sort(true_scores)[7]) == 7
    )


def test_several_alphas_at_once(library):
    alphas = np.array([[0.1, 0.2], [0.5, 0.9]])
    taus = library.call(lambda s, y: conftr.calibrate(s, y, alphas), SCORES, LABELS)
    np.testing.assert_allclose(taus, alphas, rtol=1e-6)


def test_alpha_may_be_an_array_of_the_library_itself():
    alphas = jnp.asarray([0.01, 0.05])  # float32: .01 is a hair below one hundredth
    scores = np.arange(99.0)[:, None] * np.ones((1, 2))
    taus = conftr.calibrate(jnp.asarray(scores), jnp.zeros(99, dtype=int), alphas)
    np.testing.assert_array_equal(taus, [0, 4])


@pytest.mark.parametrize(
    "alphas",
    [torch.tensor([0.1, 0.3], dtype=torch.bfloat16), jnp.asarray([0.1, 0.3], jnp.bfloat16)],
    ids=["torch", "jax"],
)
def test_alpha_may_be_of_a_type_that_numpy_lacks(alphas):
    scores, labels = -np.arange(1.0, 10)[:, None], np.zeros(9, int)
    np.testing.assert_array_equal(conftr.calibrate(scores, labels, alphas), [-9, -7])
    assert conftr.calibrate(scores, labels, alphas[1]) == -7


def test_too_few_examples_give_every_class_and_say_how_many_it_takes(eager):
    scores, labels = eager.asarray(SCORES), eager.asarray(LABELS)
    with pytest.warns(CalibrationWarning, match=r"9 calibration examples .* needs at least 99"):
        tau = conftr.calibrate(scores, labels, 0.01)
    assert tau == -math.inf
    assert np.all(np.asarray(conftr.predict_set(scores, tau)))


def test_one_threshold_per_class(eager):
    # Class 0 scores 1..9, class 1 scores 10, 20, 30, class 2 none.
    true_scores = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30.0])
    labels = np.repeat([0, 1], [9, 3])
    scores = np.where(np.arange(3) == labels[:, None], true_scores[:, None], -1.0)
    order = np.random.default_rng(0).permutation(12)
    scores, labels = eager.asarray(scores[order]), eager.asarray(labels[order])
    with pytest.warns(CalibrationWarning, match=r"class 2 \(0 examples\)"):
        tau = conftr.calibrate(scores, labels, 0.25, groups="class")
    np.testing.assert_array_equal(np.asarray(tau), [2, 10, -np.inf])
    with pytest.warns(CalibrationWarning):
        taus = conftr.calibrate(scores, labels, np.array([0.25, 0.5]), groups="class")
    np.testing.assert_array_equal(np.asarray(taus), [[2, 10, -np.inf], [5, 20, -np.inf]])
    assert np.all(np.asarray(conftr.predict_set(scores, tau))[:, 2])


def test_one_threshold_per_group(eager, rng):
    scores = rng.normal(size=(300, 4)).astype(np.float32)
    labels, groups = rng.integers(0, 4, 300), rng.integers(0, 3, 300)
    arrays = [eager.asarray(a) for a in (scores, labels)]
    tau = conftr.calibrate(*arrays, 0.1, groups=eager.asarray(groups))
    for g in range(3):
        alone = conftr.calibrate(scores[groups == g], labels[groups == g], 0.1)
        assert float(tau[g]) == alone
    with pytest.warns(CalibrationWarning, match=r"group 3 \(0 examples\), group 4 \(0 examples\)"):
        tau = conftr.calibrate(*arrays, 0.1, groups=eager.asarray(groups), n_groups=5)
    assert tuple(tau.shape) == (5,)
    sets = conftr.predict_set(arrays[0], np.asarray(tau)[groups][:, None])
    assert 0.88 < conftr.coverage(sets, arrays[1]) < 0.93


def test_groups_under_jit_agree(rng):
    scores = rng.normal(size=(200, 4)).astype(np.float32)
    labels, groups = rng.integers(0, 4, 200), rng.integers(0, 3, 200)
    by_group = jax.jit(lambda s, y, g: conftr.calibrate(s, y, 0.1, groups=g, n_groups=4))
    with pytest.warns(CalibrationWarning):
        expected = conftr.calibrate(scores, labels, 0.1, groups=groups, n_groups=4)
    np.testing.assert_array_equal(by_group(scores, labels, groups), expected)
    by_class = jax.jit(lambda s, y: conftr.calibrate(s, y, 0.1, groups="class"))
    expected = conftr.calibrate(scores, labels, 0.1, groups="class")
    np.testing.assert_array_equal(by_class(scores, labels), expected)


def test_ten_thousand_classes_need_no_square_array():
    labels = np.arange(10_000)
    scores = np.broadcast_to(np.float32(0.5), (10_000, 10_000))
    with pytest.warns(CalibrationWarning, match="and 9990 more"):
        tau = conftr.calibrate(scores, labels, 0.3, groups="class")
    assert np.all(tau == -np.inf)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.data())
@pytest.mark.filterwarnings("ignore::conftr.CalibrationWarning")
def test_laws(n, data):
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    # Further apart than what counts as rounding, of which exp makes another amount.
    scores, labels = rng.permutation(5 * n).reshape(n, 5) / n, rng.integers(0, 5, n)
    small, large = sorted(data.draw(st.tuples(st.floats(0.01, 0.99), st.floats(0.01, 0.99))))
    tight, loose = (conftr.calibrate(scores, labels, a) for a in (small, large))
    assert tight <= loose  # larger alpha, higher threshold, smaller sets
    order = rng.permutation(n)
    assert conftr.calibrate(scores[order], labels[order], small) == tight
    monotone = np.exp(scores)
    same = conftr.predict_set(monotone, conftr.calibrate(monotone, labels, small))
    np.testing.assert_array_equal(same, conftr.predict_set(scores, tight))
    true_scores = scores[np.arange(n), labels]
    assert np.mean(true_scores >= tight) >= 1 - small  # on the calibration set itself


def test_smooth_predict_by_hand_and_in_the_limit(library):
    scores = np.array([[1.0, 0.0]], dtype=np.float32)
    soft = library.call(lambda s: conftr.smooth_predict_set(s, 0.5, 0.25), scores)
    np.testing.assert_allclose(soft, [[1 / (1 + math.exp(-2)), 1 / (1 + math.exp(2))]], rtol=1e-5)
    hard = library.call(lambda s: conftr.smooth_predict_set(s, 0.5, 1e-6), scores)
    np.testing.assert_array_equal(hard, [[1, 0]])


def test_smooth_calibrate_tends_to_calibrate(library, rng):
    scores = rng.normal(size=(50, 3)).astype(np.float32)
    labels = rng.integers(0, 3, 50)
    expected = conftr.calibrate(scores, labels, 0.1)
    for quantile in (conftr.SmoothSort(1e-5), conftr.OrderStatistic(), conftr.Kernel(0.1)):
        soft = library.call(
            partial(conftr.smooth_calibrate, alpha=0.1, quantile=quantile), scores, labels
        )
        np.testing.assert_allclose(soft, expected, atol=1e-4)


def test_default_estimator_of_smooth_calibrate(rng):
    scores, labels = rng.normal(size=(50, 3)), rng.integers(0, 3, 50)
    assert conftr.smooth_calibrate(scores, labels, 0.1) == conftr.smooth_calibrate(
        scores, labels, 0.1, quantile=conftr.SmoothSort(0.1)
    )


def test_logits_that_were_not_scored_are_asked_about(eager, rng):
    logits, labels = rng.normal(size=(50, 3)) * 5, rng.integers(0, 3, 50)
    logits, labels = eager.asarray(logits), eager.asarray(labels)
    with pytest.warns(CalibrationWarning, match=r"at most 1. If these are logits, pass score="):
        conftr.calibrate(logits, labels, 0.1)
    with pytest.warns(CalibrationWarning, match=r"scores hold 1\d\.\d+, and those of conftr.thr"):
        conftr.predict_set(logits, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for score in (conftr.thr, conftr.thr_logits, conftr.aps, conftr.raps, conftr.thr_probs):
            tau = conftr.calibrate(logits, labels, 0.1, score=score)
            conftr.predict_set(logits, tau, score=score)
            if score is not conftr.thr_logits:
                conftr.predict_set(score(logits), conftr.calibrate(score(logits), labels, 0.1))
        conftr.evaluate(logits, labels, score=conftr.thr_logits, alpha=0.1, n_cal=20, splits=1)


def test_no_warning_where_there_are_enough():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        conftr.calibrate(SCORES, LABELS, 0.1)


def test_scores_still_attached_to_a_model_calibrate_without_a_word(rng):
    logits = torch.tensor(rng.normal(size=(50, 3)), requires_grad=True)
    labels = torch.tensor(rng.integers(0, 3, 50))
    expected = conftr.calibrate(conftr.thr(logits.detach()), labels, 0.1)
    assert conftr.calibrate(conftr.thr(logits), labels, 0.1) == expected
    assert not conftr.calibrate(conftr.thr(logits), labels, [0.1, 0.2]).requires_grad


@pytest.mark.parametrize("score", [conftr.thr, conftr.thr_probs, conftr.aps, conftr.raps])
@pytest.mark.parametrize(("first", "other"), [("float32", "float64"), ("float64", "float32")])
def test_a_threshold_of_one_type_serves_scores_of_another(score, first, other, rng):
    """Of few distinct rows, so that many examples stand exactly at the threshold."""
    logits, labels = rng.normal(size=(9, 4))[rng.integers(0, 9, 300)], rng.integers(0, 4, 300)
    for alpha in (0.05, 0.1, 0.2, 0.3, 0.5, 0.7):
        scores = score(logits.astype(first))
        tau = conftr.calibrate(scores, labels, alpha)
        wanted = conftr.predict_set(scores, tau)
        sets = conftr.predict_set(score(logits.astype(other)), tau)
        np.testing.assert_array_equal(sets, wanted)
        np.testing.assert_array_equal(
            conftr.predict_set(logits.astype(other), tau, score=score), wanted
        )


def test_what_misses_the_threshold_by_rounding_alone_reaches_it(library):
    tau = np.float32(-2.5)
    below = np.nextafter(tau, np.float32(-9), dtype=np.float32)
    scores = np.array([[tau, below, -2.5001, -9]], np.float32)
    for threshold in (-2.5, np.array([-2.5], np.float32)):
        result = library.call(conftr.predict_set, scores, threshold)
        np.testing.assert_array_equal(result, [[True, True, False, False]])


def test_thresholds_without_end_and_the_smallest_scores_keep_their_order(library):
    scores = np.array([[-1e30, 0.0, 1e-30, 2e-30]], np.float32)
    wanted = {-math.inf: 4, 0.0: 3, 1e-30: 2, 2e-30: 1, math.inf: 0}
    for tau, count in wanted.items():
        assert library.call(lambda s, tau=tau: conftr.predict_set(s, tau), scores).sum() == count
        taus = np.array([tau], np.float32)
        assert library.call(conftr.predict_set, scores, taus).sum() == count
