import numpy as np
import pytest

from conftr.members.member import (
    FLOOR,
    FittedMember,
    Fold,
    averaged,
    floored,
    of_classes,
    product,
)


class Constant:
    kind = "constant"
    words = "always the same"

    def __init__(self, p):
        self.p = p

    def logits(self, inputs):
        return np.log(np.tile(self.p, (len(inputs), 1)))


class AsIs:
    def encode(self, x):
        return np.asarray(x)


def test_models_of_folds_are_averaged_as_log_probabilities():
    member = FittedMember("two", AsIs(), (Constant([0.5, 0.5]), Constant([0.8, 0.2])))
    expected = [np.log(0.5 * 0.8) / 2, np.log(0.5 * 0.2) / 2]
    np.testing.assert_allclose(member.logits(np.zeros((1, 1))), [expected])
    assert member.words == "two: 2 x always the same"


def test_logits_of_a_single_model_stay_as_they_are():
    logits = np.array([[900.0, -900.0]])
    assert averaged([logits]) is logits


def test_every_row_is_answered_by_the_model_that_did_not_see_it():
    first, second = Constant([0.9, 0.1]), Constant([0.2, 0.8])
    folds = [Fold(np.array([1]), np.array([0, 2])), Fold(np.array([0, 2]), np.array([1]))]
    answers = FittedMember("two", AsIs(), (first, second)).out_of_fold(np.zeros((3, 1)), folds)
    np.testing.assert_allclose(np.exp(answers), [[0.9, 0.1], [0.2, 0.8], [0.9, 0.1]])


def test_a_model_that_was_not_fitted_here_answers_for_every_fold():
    folds = [Fold(np.array([1]), np.array([0])), Fold(np.array([0]), np.array([1]))]
    member = FittedMember("one", AsIs(), (Constant([0.7, 0.3]),))
    np.testing.assert_allclose(np.exp(member.out_of_fold(np.zeros((2, 1)), folds))[:, 0], 0.7)


def test_the_floor_keeps_the_order_and_the_sum():
    p = np.array([[0.0, 0.25, 0.75]])
    answers = np.exp(floored(p))
    assert answers.sum() == pytest.approx(1)
    assert answers[0, 0] == pytest.approx(FLOOR / 3)
    assert (np.diff(answers) > 0).all()


def test_a_class_that_training_rows_lack_gets_the_floor():
    answers = of_classes(np.array([[0.4, 0.6]]), [0, 2], 3)
    assert np.exp(answers[0, 1]) == pytest.approx(FLOOR / 3)
    assert np.isfinite(answers).all()


def test_a_product_and_a_bias():
    x, matrix = np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([[1.0, 0.0, 3.0], [2.0, 1.0, 0.5]])
    np.testing.assert_array_equal(product(x, matrix), [[5, 2, 4], [-2, -1, -0.5]])
    np.testing.assert_array_equal(product(x, matrix, np.array([1, 2, 3]))[1], [-1, 1, 2.5])
    assert product(x[:0], matrix).shape == (0, 3)


def test_a_product_of_a_row_has_the_same_bits_alone_and_among_others():
    rng = np.random.default_rng(0)
    x, matrix = rng.normal(size=(300, 40)).astype(np.float32), rng.normal(size=(40, 7))
    alone = np.concatenate([product(row[None], matrix) for row in x])
    np.testing.assert_array_equal(alone, product(x, matrix))
