"""P-values by hand, what they have to do with sets at every alpha, and their law."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import conftr
from conftr.conformal.quantile import rank

pytestmark = pytest.mark.filterwarnings("ignore:.*calibration examples")
ALPHAS = (0.05, 0.1, 0.2, 0.3, 0.5, 1 - 0.9)

# Few distinct numbers, so that scores tie.
scores = st.lists(st.integers(-6, 0), min_size=1, max_size=30).map(lambda x: np.array(x) / 4)
tables = st.lists(st.lists(st.integers(-7, 1), min_size=3, max_size=3), min_size=1, max_size=8)


def test_by_hand(library):
    true_scores, new = np.array([0.1, 0.2, 0.3, 0.4]), np.array([[0.25, 0.05], [0.3, 0.9]])
    result = library.call(conftr.p_values, true_scores, new)
    np.testing.assert_allclose(result, [[3 / 5, 1 / 5], [4 / 5, 1.0]], rtol=1e-6)
    half = library.call(
        lambda a, b, u: conftr.p_values(a, b, u=u), true_scores, new, np.array([0.5, 0.0])
    )
    np.testing.assert_allclose(half, [[2.5 / 5, 0.5 / 5], [2 / 5, 4 / 5]], rtol=1e-6)


def test_by_hand_in_groups(eager):
    true_scores, of = np.array([0.1, 0.2, 0.3]), np.array([0, 0, 1])
    new = np.array([[0.15, 0.15], [0.35, 0.35]])
    true_scores, of, new, rows = (
        eager.asarray(x) for x in (true_scores, of, new, np.array([0, 2]))
    )
    by_class = conftr.p_values(true_scores, new, groups="class", calibration_groups=of)
    np.testing.assert_allclose(np.asarray(by_class), [[2 / 3, 1 / 2], [1, 1]], rtol=1e-6)
    by_group = conftr.p_values(true_scores, new, groups=rows, calibration_groups=of)
    np.testing.assert_allclose(np.asarray(by_group), [[2 / 3, 2 / 3], [1, 1]], rtol=1e-6)


@given(scores, tables, st.sampled_from(ALPHAS))
def test_a_class_is_in_the_set_if_its_p_value_exceeds_alpha(true_scores, new, alpha):
    new, n = np.array(new) / 4, len(true_scores)
    labels = np.zeros(n, int)
    tau = conftr.calibrate(true_scores[:, None], labels, alpha, score=conftr.thr_logits)
    sets = conftr.predict_set(new, tau, score=conftr.thr_logits)
    p = conftr.p_values(true_scores, new)
    np.testing.assert_array_equal(sets, np.rint(p * (n + 1)) > rank(n, alpha))
    if alpha in (0.05, 0.1, 0.2, 0.3, 0.5):  # decimals, which floats keep apart
        np.testing.assert_array_equal(sets, p > alpha)


@pytest.mark.parametrize("n", [9, 19, 29, 69, 99, 109, 499])
def test_a_p_value_that_equals_alpha_does_not_exceed_it(library, n):
    """The p-values r / (n + 1) beside the decimals that they equal, in the library's own type."""
    true_scores, new = -np.arange(1.0, n + 1), -np.arange(n + 1.0)[:, None] - 0.5
    p = library.call(conftr.p_values, true_scores, new)[:, 0]
    for alpha in (0.01, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.35, 0.7):
        held = n + 1 - rank(n, alpha)  # the first rows reach most scores
        assert (p > p.dtype.type(alpha)).sum() == held


@given(scores, tables, st.sampled_from(ALPHAS[:5]), st.integers(0, 99))
def test_so_it_is_in_groups(true_scores, new, alpha, seed):
    rng, new = np.random.default_rng(seed), np.array(new) / 4
    ids = rng.integers(0, 3, len(true_scores))
    table = np.repeat(true_scores[:, None], 3, axis=1)
    tau = conftr.calibrate(table, ids, alpha, groups="class", score=conftr.thr_logits)
    p = conftr.p_values(true_scores, new, groups="class", calibration_groups=ids)
    sets = conftr.predict_set(new, tau, score=conftr.thr_logits)
    np.testing.assert_array_equal(sets, p > alpha)
    rows = rng.integers(0, 3, len(new))
    p = conftr.p_values(true_scores, new, groups=rows, calibration_groups=ids)
    sets = conftr.predict_set(new, tau[rows][:, None], score=conftr.thr_logits)
    np.testing.assert_array_equal(sets, p > alpha)


@given(scores, tables, st.floats(0, 1))
def test_smoothed_lies_below_exact_and_meets_it_at_one(true_scores, new, u):
    new = np.array(new) / 4
    exact, n = conftr.p_values(true_scores, new), len(new)
    assert (conftr.p_values(true_scores, new, u=np.full(n, u)) <= exact).all()
    np.testing.assert_allclose(conftr.p_values(true_scores, new, u=np.ones(n)), exact)


@given(st.lists(st.integers(0, 5), min_size=2, max_size=25), st.floats(0.01, 0.99))
@settings(deadline=None)
def test_the_smoothed_p_value_of_the_truth_is_exactly_uniform(bag, t):
    # Any of the bag may be the new one, and U is uniform: the chance of p <= t is t.
    bag = np.array(bag, float)
    chances = []
    for i in range(len(bag)):
        true_scores, new = np.delete(bag, i), bag[i : i + 1, None]
        low = conftr.p_values(true_scores, new, u=np.zeros(1))[0, 0]
        high = conftr.p_values(true_scores, new, u=np.ones(1))[0, 0]
        chances.append(np.clip((t - low) / (high - low), 0, 1))
    assert np.mean(chances) == pytest.approx(t, abs=1e-9)


def test_scores_that_differ_by_rounding_are_equal():
    true_scores = np.array([-1.0, -0.5], np.float32)
    just_below = np.array([[-0.5 * (1 + 1e-7)]])
    assert conftr.p_values(true_scores.astype(np.float64), just_below)[0, 0] == 1
    assert conftr.p_values(true_scores, just_below.astype(np.float32))[0, 0] == 1


def test_refusals():
    true_scores, new = np.zeros(3), np.zeros((2, 2))
    with pytest.raises(ValueError, match="score of the true class"):
        conftr.p_values(np.zeros((3, 2)), new)
    with pytest.raises(ValueError, match="calibration_groups must be given"):
        conftr.p_values(true_scores, new, groups="class")
    with pytest.raises(ValueError, match="one group a row"):
        conftr.p_values(
            true_scores, new, groups=np.zeros(3, int), calibration_groups=np.zeros(3, int)
        )
    with pytest.raises(ValueError, match='"class" or integers'):
        conftr.p_values(true_scores, new, groups="kind", calibration_groups=np.zeros(3, int))
    with pytest.raises(ValueError, match="must be None where groups"):
        conftr.p_values(true_scores, new, calibration_groups=np.zeros(3, int))
    with pytest.raises(ValueError, match=r"lie in 0\.\.1"):
        conftr.p_values(true_scores, new, groups="class", calibration_groups=np.array([0, 1, 2]))
