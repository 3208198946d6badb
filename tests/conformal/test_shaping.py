"""Wishes become weights and matrices, or are refused in words."""

import numpy as np
import pytest

import conftr
from conftr import Avoid, Separate, Shape

NAMES = ["coat", "shirt", "bag", "boot"]


def test_shrink_by_name_or_index():
    np.testing.assert_array_equal(Shape(shrink={"bag": 10}).class_weights(NAMES), [1, 1, 10, 1])
    np.testing.assert_array_equal(Shape(shrink={2: 10}).class_weights(NAMES), [1, 1, 10, 1])
    np.testing.assert_array_equal(Shape(shrink={2: 10}).class_weights(4), [1, 1, 10, 1])
    np.testing.assert_array_equal(Shape().class_weights(4), np.ones(4))


def test_avoid_is_symmetric_unless_one_way():
    matrix = Shape(avoid=[("coat", "shirt")]).loss_matrix(NAMES)
    expected = np.eye(4)
    expected[0, 1] = expected[1, 0] = 1
    np.testing.assert_array_equal(matrix, expected)
    matrix = Shape(avoid=[Avoid("coat", "shirt", weight=0.5, one_way=True)]).loss_matrix(NAMES)
    expected[0, 1], expected[1, 0] = 0.5, 0
    np.testing.assert_array_equal(matrix, expected)


def test_separate_fills_the_blocks_between_the_groups():
    matrix = Shape(separate=[(["coat", "shirt"], ["boot"])]).loss_matrix(NAMES)
    expected = np.eye(4)
    expected[0, 3] = expected[1, 3] = expected[3, 0] = expected[3, 1] = 1
    np.testing.assert_array_equal(matrix, expected)
    one_way = Separate(["coat", "shirt"], ["boot"], weight=2, one_way=True)
    matrix = Shape(separate=[one_way]).loss_matrix(NAMES)
    expected[0, 3] = expected[1, 3] = 2
    expected[3, 0] = expected[3, 1] = 0
    np.testing.assert_array_equal(matrix, expected)


def test_the_diagonal_is_never_touched():
    shape = Shape(
        avoid=[(0, 1), Avoid(1, 2, weight=5)], separate=[Separate([0, 1], [3], weight=0.1)]
    )
    np.testing.assert_array_equal(np.diag(shape.loss_matrix(4)), np.ones(4))


def test_numbers_are_names_where_names_are_numbers():
    weights = Shape(shrink={7: 2}).class_weights([3, 5, 7])
    np.testing.assert_array_equal(weights, [1, 1, 2])
    with pytest.raises(ValueError, match="there is no class 0; the classes are 3, 5, 7"):
        Shape(shrink={0: 2}).class_weights([3, 5, 7])


def test_saying_the_same_thing_twice_is_fine():
    once, twice = Shape(avoid=[(0, 1)]), Shape(avoid=[(0, 1), (1, 0)], separate=[([0], [1])])
    np.testing.assert_array_equal(once.loss_matrix(3), twice.loss_matrix(3))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Shape(shrink={"hat": 2}).class_weights(NAMES),
            "there is no class 'hat'; the classes",
        ),
        (lambda: Shape(shrink={9: 2}).class_weights(NAMES), "there is no class 9"),
        (lambda: Shape(shrink={"bag": 0}), "shrink 'bag' must be finite and above 0; got 0"),
        (lambda: Shape(shrink={"bag": 2, 2: 3}).class_weights(NAMES), "two weights"),
        (lambda: Shape(avoid=[("bag", "bag")]).loss_matrix(NAMES), "cannot be kept from itself"),
        (lambda: Shape(avoid=[("bag", 2)]).loss_matrix(NAMES), "cannot be kept from itself"),
        (lambda: Shape(separate=[([0, 1], [1, 2])]).loss_matrix(3), "cannot be kept from itself"),
        (lambda: Shape(avoid=[(0, 1), Avoid(1, 0, weight=2)]).loss_matrix(3), "contradicts"),
        (lambda: Shape(avoid=["ab"]), "avoid takes pairs"),
        (lambda: Shape(avoid=[(0, 1, 2)]), "avoid takes pairs"),
        (lambda: Shape(separate=[("ab", "cd")]), "each a list of classes"),
        (lambda: Shape(separate=[([], [1])]), "a class on either side"),
        (lambda: Shape(avoid=[Avoid(0, 1, weight=-1)]), "above 0; got -1"),
        (lambda: Shape(shrink={"a": 2}).class_weights(["a", "a"]), "different names"),
    ],
)
def test_unknown_or_contradictory_wishes_are_refused_in_words(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_shape_enters_an_objective():
    shape = Shape(shrink={"bag": 10}, avoid=[("coat", "shirt")])
    objective = conftr.ConfTr(
        alpha=0.1,
        class_weights=shape.class_weights(NAMES),
        loss_matrix=shape.loss_matrix(NAMES),
    )
    rng = np.random.default_rng(0)
    assert np.isfinite(objective(rng.normal(size=(100, 4)), rng.integers(0, 4, 100)))
