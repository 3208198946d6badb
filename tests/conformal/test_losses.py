"""Losses on soft sets, by hand and said two ways."""

from functools import partial

import numpy as np
import pytest

import conftr

C = np.array([[0.9, 0.8, 0.1], [0.2, 0.5, 0.1]], dtype=np.float32)
Y = np.array([0, 1])


def test_size_loss_by_hand(library):
    # Sizes 1.8 and .8; beyond kappa = 1: .8 and 0; mean .4.
    assert library.call(conftr.size_loss, C, Y) == pytest.approx(0.4, rel=1e-5)
    everything = library.call(partial(conftr.size_loss, target_size=0), C, Y)
    assert everything == pytest.approx(1.3, rel=1e-5)
    weighted = library.call(partial(conftr.size_loss, weights=np.array([10.0, 1, 1])), C, Y)
    assert weighted == pytest.approx(4.0, rel=1e-5)  # raw weights: 10 * .8 / 2


def test_class_loss_by_hand(library):
    # L = I: misses .1 and .5, mean .3.
    loss = library.call(partial(conftr.class_loss, matrix=np.eye(3)), C, Y)
    assert loss == pytest.approx(0.3, rel=1e-5)
    # L[0,1] = 2 adds 2 * .8 to the first example: (.1 + 1.6 + .5) / 2.
    matrix = np.eye(3)
    matrix[0, 1] = 2
    loss = library.call(partial(conftr.class_loss, matrix=matrix), C, Y)
    assert loss == pytest.approx(1.1, rel=1e-5)


def test_coverage_loss_by_hand(library):
    # Mean soft coverage .7; (.7 - .9)^2 = .04.
    loss = library.call(partial(conftr.coverage_loss, alpha=0.1), C, Y)
    assert loss == pytest.approx(0.04, rel=1e-4)


def test_class_loss_of_a_full_matrix_is_class_loss_entry_by_entry(rng):
    sets, labels = rng.random((30, 4)), rng.integers(0, 4, 30)
    matrix = rng.random((4, 4))
    by_entry = 0.0
    for y in range(4):
        for k in range(4):
            wrong = 1 - sets[labels == y, k] if y == k else sets[labels == y, k]
            by_entry += matrix[y, k] * wrong.sum() / 30
    assert conftr.class_loss(sets, labels, matrix) == pytest.approx(by_entry)


def test_perfect_sets_cost_nothing():
    sets = np.eye(4)[[0, 1, 2, 3]]
    labels = np.arange(4)
    assert conftr.size_loss(sets, labels) == 0
    assert conftr.class_loss(sets, labels, np.ones((4, 4))) == 0


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda: conftr.size_loss(C, Y, weights=[1, 2]),
            ValueError,
            r"class weights must have shape \(3,\)",
        ),
        (lambda: conftr.size_loss(C, Y, weights=[1, -2, 1]), ValueError, "not negative"),
        (
            lambda: conftr.class_loss(C, Y, np.eye(2)),
            ValueError,
            r"loss matrix must have shape \(3, 3\)",
        ),
        (lambda: conftr.class_loss(C, Y, np.full((3, 3), np.nan)), ValueError, "finite"),
        (lambda: conftr.coverage_loss(C, Y, 1.0), ValueError, "alpha must lie strictly"),
        (lambda: conftr.class_loss(C, Y - 1, np.eye(3)), ValueError, "labels must lie in 0..2"),
        (lambda: conftr.class_loss(C, Y, [["a"]]), TypeError, "loss matrix must be numbers"),
        (lambda: conftr.size_loss(C > 0.5, Y), TypeError, "floating point"),
        (lambda: conftr.size_loss(C, Y[:1]), ValueError, "one label for each of the 2 rows"),
    ],
)
def test_bad_input_is_refused_in_words(make, error, words):
    with pytest.raises(error, match=words):
        make()
