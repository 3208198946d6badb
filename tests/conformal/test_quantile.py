"""The exact rank for every (n, alpha), and the estimators of the quantile's gradient."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import conftr
from conftr.conformal.quantile import (
    _halves,
    exact_position,
    examples_needed,
    paper_position,
    rank,
    readable_examples_needed,
)

ESTIMATORS = {
    "smooth-sort": conftr.SmoothSort(0.1),
    "smooth-sort-paper": conftr.SmoothSort(0.1, position=paper_position),
    "order-statistic": conftr.OrderStatistic(),
    "nearest": conftr.Nearest(0.1),
    "kernel": conftr.Kernel(0.2),
}
EXACT = ["order-statistic", "nearest", "kernel"]  # they keep the value of the order statistic
every_estimator = pytest.mark.parametrize("quantile", ESTIMATORS.values(), ids=ESTIMATORS)


@pytest.mark.parametrize("percent", [1, 5, 10, 20, 30, 50, 70, 90, 95, 99])
def test_rank_is_exact_for_every_n(percent):
    for n in range(1, 3000):
        expected = math.floor(Fraction(percent, 100) * (n + 1))
        assert rank(n, percent / 100) == expected, n
        assert rank(n, 1 - (100 - percent) / 100) == expected, n
        assert rank(n, np.float32(percent / 100)) == expected, n


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 10**7), st.integers(1, 99999))
def test_rank_is_exact_for_decimal_alphas(n, hundred_thousandths):
    exact = math.floor(Fraction(hundred_thousandths, 100000) * (n + 1))
    assert rank(n, hundred_thousandths / 100000) == exact


def test_the_named_traps():
    assert rank(9, 0.1) == 1
    assert rank(4999, 0.01) == 50
    assert rank(9, 0.3) == 3
    assert rank(9, 1 - 0.9) == 1
    assert rank(98, 0.01) == 0
    assert rank(99, 0.01) == 1
    assert rank(1, 0.999999) == 1
    assert rank(10, np.nextafter(1.0, 0.0)) == 10
    assert rank(9999, np.float16(0.01)) == 100
    assert rank(5_000_000, np.float32(0.01)) == 50_000
    assert rank(71_630, np.float32(0.1627228)) == 11_655


@pytest.mark.parametrize(
    "alpha",
    [0.5, 0.3, 0.1, 0.05, 0.01, 1 / 3, 0.07, 1 - 0.9, 1 / 49, np.float32(0.01), 1e-20, 5e-324],
)
def test_examples_needed_is_the_smallest_n_with_a_threshold(alpha):
    n = examples_needed(alpha)
    assert rank(n, alpha) == 1
    assert n == 1 or rank(n - 1, alpha) == 0


@pytest.mark.parametrize(
    ("alpha", "n", "words"),
    [
        (0.05, 19, "19"),
        (1e-6, 999_999, "999,999"),
        (1e-20, 10**20 - 1, "10^20"),
        (5e-324, 2 * 10**323 - 1, "10^323"),
    ],
)
def test_as_many_examples_are_asked_for_as_a_tiny_alpha_needs(alpha, n, words):
    """The rounding that is granted to 1 - 0.9 is far more than such an alpha."""
    assert examples_needed(alpha) == n
    assert readable_examples_needed(alpha) == words
    assert rank(n, alpha) == 1 > rank(n - 1, alpha)


def test_memory_grows_with_the_scores_and_not_with_their_square():
    halves = _halves(500_000, 3, 4)  # a square of these would be two terabytes
    assert (halves[3], halves[4], halves.sum()) == (0.5, 0.5, 1.0)


def test_positions_by_hand():
    assert exact_position(250, 0.01) == (1, 1)  # rank 2
    assert paper_position(250, 0.01) == (2, 3)  # ranks 3 and 4
    assert exact_position(50, 0.01) == (0, 0)  # rank 0 is clamped
    assert paper_position(1, 0.5) == (0, 0)
    assert paper_position(3, 0.75) == (2, 2)  # h = .75 * 4/3 * 2 = 2


@pytest.mark.parametrize("quantile", [ESTIMATORS[n] for n in EXACT], ids=EXACT)
def test_estimators_keep_the_exact_value(library, quantile, rng):
    for n, alpha in [(9, 0.1), (40, 0.1), (250, 0.01), (33, 0.5), (7, 0.9)]:
        if rank(n, alpha) == 0:
            continue
        scores = rng.normal(size=n).astype(np.float32)
        result = library.call(lambda s, a=alpha: quantile(s, a), scores)
        assert result == np.sort(scores)[rank(n, alpha) - 1]


def test_smooth_sort_tends_to_the_order_statistic(library, rng):
    scores = rng.normal(size=60).astype(np.float32)
    soft = library.call(lambda s: conftr.SmoothSort(1e-5)(s, 0.1), scores)
    np.testing.assert_allclose(soft, np.sort(scores)[5], atol=1e-4)
    at_paper = conftr.SmoothSort(1e-5, position=paper_position)
    soft = library.call(lambda s: at_paper(s, 0.1), scores)  # h = .1 * 61/60 * 59 = 5.998
    np.testing.assert_allclose(soft, np.sort(scores)[5:7].mean(), atol=1e-4)


def gradient(quantile, scores, alpha):
    return np.asarray(jax.grad(lambda s: quantile(s, alpha))(jnp.asarray(scores)))


def test_gradients_by_hand():
    # The third smallest of five is 3; its nearest neighbours are 2.5, then 3.7.
    scores = np.array([9, 3, 1, 3.7, 2.5], dtype=np.float32)
    np.testing.assert_array_equal(
        gradient(conftr.OrderStatistic(), scores, 0.5), np.array([0, 1, 0, 0, 0])
    )
    np.testing.assert_allclose(
        gradient(conftr.Nearest(0.4), scores, 0.5), np.array([0, 0.5, 0, 0, 0.5])
    )
    np.testing.assert_allclose(
        gradient(conftr.Nearest(0.6), scores, 0.5), np.array([0, 1, 0, 1, 1]) / 3, rtol=1e-6
    )
    weights = np.exp(-0.5 * ((scores - 3) / 0.5) ** 2)
    np.testing.assert_allclose(
        gradient(conftr.Kernel(0.5), scores, 0.5), weights / weights.sum(), rtol=1e-5
    )


def test_ties_share_the_gradient_of_the_order_statistic():
    scores = np.array([2, 1, 1, 1, 5], dtype=np.float32)
    np.testing.assert_allclose(
        gradient(conftr.OrderStatistic(), scores, 0.5), np.array([0, 1, 1, 1, 0]) / 3, rtol=1e-6
    )


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.floats(-9, 9, width=16), min_size=1, max_size=30),
    st.floats(0.02, 0.98),
    st.floats(0.01, 1),
)
@pytest.mark.filterwarnings("ignore::conftr.CalibrationWarning")
def test_nearest_averages_the_m_nearest(scores, alpha, fraction):
    scores = np.array(scores, dtype=np.float32)
    m = max(1, round(fraction * len(scores)))
    tau = np.sort(scores)[exact_position(len(scores), alpha)[0]]
    distances = np.abs(scores - tau)
    nearest = distances <= np.sort(distances)[m - 1]
    x = torch.tensor(scores, requires_grad=True)
    conftr.Nearest(fraction)(x, alpha).backward()
    np.testing.assert_allclose(x.grad, nearest / nearest.sum(), rtol=1e-5)


@every_estimator
@pytest.mark.parametrize("n", [1, 2, 3, 10, 50])
@pytest.mark.filterwarnings("ignore::conftr.CalibrationWarning")
def test_finite_at_every_n_and_alpha_with_ties_too(quantile, n, rng):
    for scores in (
        rng.normal(size=n),
        np.zeros(n),
        rng.integers(0, 2, n),
        1e4 * rng.normal(size=n),
    ):
        for alpha in (1e-6, 0.01, 0.5, 0.99, 1 - 1e-9):
            x = torch.tensor(scores, dtype=torch.float32, requires_grad=True)
            tau = quantile(x, alpha)
            tau.backward()
            assert torch.isfinite(tau)
            assert torch.all(torch.isfinite(x.grad))
            np.testing.assert_allclose(x.grad.sum(), 1, atol=1e-4)


@every_estimator
def test_too_small_a_batch_says_so_and_clamps(quantile, rng):
    scores = rng.normal(size=50).astype(np.float32)
    with pytest.warns(conftr.CalibrationWarning, match=r"50 examples .* needs at least 99"):
        tau = quantile(scores, 0.01)
    assert np.isfinite(tau)
    if quantile in [ESTIMATORS[name] for name in EXACT]:
        assert tau == scores.min()


@every_estimator
def test_shift_equivariance(quantile, rng):
    scores = rng.normal(size=64)
    np.testing.assert_allclose(quantile(scores + 3, 0.1), quantile(scores, 0.1) + 3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: conftr.SmoothSort(0), "dispersion must be finite and above 0; got 0"),
        (lambda: conftr.Nearest(0), "fraction must be"),
        (lambda: conftr.Nearest(1.5), "fraction must be at most 1; got 1.5"),
        (lambda: conftr.Kernel(-1), "bandwidth must be"),
        (lambda: conftr.OrderStatistic()(np.zeros((2, 2)), 0.5), r"scores must have shape \(n,\)"),
        (lambda: conftr.OrderStatistic()(np.zeros(0), 0.5), "n >= 1"),
        (
            lambda: conftr.OrderStatistic()(np.zeros(3), 1.5),
            "alpha must lie strictly between 0 and",
        ),
    ],
)
def test_bad_settings_are_refused_in_words(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("quantile", [ESTIMATORS[n] for n in EXACT], ids=EXACT)
def test_scores_of_minus_infinity_do_not_spoil_the_others(library, quantile):
    scores = np.array([-np.inf, 0, 1, 2], dtype=np.float32)
    assert library.call(lambda s: quantile(s, 0.5), scores) == 0
