"""Cross-conformal sets by hand, beside p-values, and what they are sure to cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import conftr


def test_by_hand():
    true_scores, folds = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 0, 1, 1])
    scores = np.array([[[0.15, 0.05]], [[0.35, 0.45]]])  # two models, one row, two classes
    result = conftr.cross_p_values(true_scores, folds, scores)
    np.testing.assert_allclose(result, [[3 / 5, 3 / 5]])  # .1 and .3; .3 and .4
    assert conftr.cross_predict_set(true_scores, folds, scores, 0.5).all()
    assert not conftr.cross_predict_set(true_scores, folds, scores, 0.6).any()


@given(st.lists(st.integers(0, 9), min_size=4, max_size=30), st.sampled_from([0.1, 0.2, 0.5]))
def test_models_that_agree_give_plain_p_values(true_scores, alpha):
    true_scores, new = np.array(true_scores) / 10, np.linspace(0, 1, 12).reshape(4, 3)
    folds = np.arange(len(true_scores)) % 2
    same = np.stack([new, new])
    plain = conftr.p_values(true_scores, new)
    np.testing.assert_allclose(conftr.cross_p_values(true_scores, folds, same), plain)
    sets = conftr.cross_predict_set(true_scores, folds, same, alpha)
    np.testing.assert_array_equal(sets, plain > alpha)


def test_what_is_promised():
    # 100 rows in 10 folds: 1 - .2 - min(2 * .9 / 11, .9 / 11).
    assert conftr.cross_promise(100, 10, 0.1) == pytest.approx(0.8 - 0.9 / 11)
    assert conftr.cross_promise(100, 100, 0.1) == pytest.approx(0.8)  # leave-one-out
    assert conftr.cross_promise(10, 2, 0.5) == 0


def test_refusals():
    with pytest.raises(ValueError, match=r"\(F, m, K\)"):
        conftr.cross_p_values(np.zeros(2), np.zeros(2, int), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="one for each training row"):
        conftr.cross_p_values(np.zeros(2), np.zeros(3, int), np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match=r"folds must lie in 0\.\.1"):
        conftr.cross_p_values(np.zeros(2), np.array([0, 2]), np.zeros((2, 2, 2)))
