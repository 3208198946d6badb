import numpy as np
import pytest

import conftr
from conftr.classifier import wish_weights
from conftr.classifier.calibration import ALL
from conftr.classifier.choosing import Question
from conftr.classifier.wish_weights import Point

SHAPE = conftr.Shape(avoid=[conftr.Avoid("a", "b", 2.0)], shrink={"c": 3.0})
CLASSES = ["a", "b", "c"]


def test_a_curve_has_points_at_weights_and_at_the_one_given():
    given = conftr.Shape(avoid=[conftr.Avoid("a", "b", 7.0)], shrink={"c": 3.0})
    result = wish_weights.shapes(given)
    assert list(result) == sorted({*wish_weights.WEIGHTS, 7.0})
    matrices = [item.loss_matrix(CLASSES)[0, 1] for item in result.values()]
    assert matrices == pytest.approx(list(result))
    assert all(item.class_weights(CLASSES)[2] == 3 for item in result.values())


def test_wishes_without_a_weight_have_theirs_found():
    unweighted = conftr.Shape(avoid=[("a", "b")])
    assert wish_weights.without_weight(unweighted)
    assert not wish_weights.without_weight(SHAPE)
    assert list(wish_weights.shapes(unweighted)) == list(wish_weights.WEIGHTS)


def test_wishes_without_a_pair_have_one_point():
    assert list(wish_weights.shapes(conftr.Shape(shrink={"c": 3.0}))) == [1]


def test_a_set_is_mixed_if_it_holds_both_sides_of_a_wish():
    wrong = wish_weights.unwanted(SHAPE, CLASSES)
    sets = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1]], bool)
    # A set of b with a, one of a without b, one of a with b alone; that of c does not count.
    assert wish_weights.mixed(sets, np.array([1, 0, 0, 2]), wrong) == 1 / 3
    assert wish_weights.mixed(sets, np.array([2, 2, 2, 2]), wrong) == 0


def test_a_set_is_mixed_without_the_truth_too_and_one_way_for_the_first_side_alone():
    groups = conftr.Shape(separate=[(["a", "b"], ["c"])])
    without_the_truth = np.array([[1, 0, 1]], bool)
    assert (
        wish_weights.mixed(without_the_truth, np.array([1]), wish_weights.unwanted(groups, CLASSES))
        == 1
    )
    one_way = conftr.Shape(avoid=[conftr.Avoid("a", "c", one_way=True)])
    wrong = wish_weights.unwanted(one_way, CLASSES)
    assert wish_weights.mixed(without_the_truth, np.array([0]), wrong) == 1
    assert wish_weights.mixed(without_the_truth, np.array([2]), wrong) == 0


def test_the_share_of_mixed_sets_counts_rows_of_the_classes_concerned():
    # Rows of a and b are certain of both, rows of c of c alone: every set of a and b is mixed.
    labels = np.tile([0, 1, 2], 40)
    logits = np.where(labels[:, None] == 2, [0.0, 0.0, 9.0], [9.0, 9.0, 0.0])
    question = Question(labels, CLASSES, 0.1, conftr.thr, ALL, None, SHAPE, 0)
    result = wish_weights.point(0.0, logits, question)
    assert result.mixed == 1
    assert result.size == pytest.approx(5 / 3, abs=0.15)
    logits = np.where(labels[:, None] == np.arange(3), 9.0, 0.0)
    assert wish_weights.point(0.0, logits, question).mixed == 0


def test_what_is_affordable_has_the_fewest_mixed_sets_at_three_per_cent():
    points = [
        Point(0, 0.10, 2.0),
        Point(1, 0.09, 2.01),
        Point(3, 0.03, 2.05),
        Point(10, 0.02, 2.07),  # larger by more than 3 %
        Point(30, 0.01, 3.0),
    ]
    assert wish_weights.affordable(points).weight == 3


def test_of_points_with_as_few_mixed_sets_the_smaller_sets_are_taken():
    points = [Point(0, 0.1, 2.0), Point(1, 0.0, 2.02), Point(3, 0.0, 2.01)]
    assert wish_weights.affordable(points).weight == 3


def test_wishes_that_give_nothing_cost_nothing():
    points = [Point(0, 0.1, 2.0), Point(1, 0.1, 2.1), Point(3, 0.1, 2.2)]
    assert wish_weights.affordable(points).weight == 0
