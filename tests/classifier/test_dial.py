import numpy as np
import pytest

import conftr
from conftr.classifier import dial
from conftr.classifier.calibration import ALL
from conftr.classifier.choosing import Question
from conftr.classifier.dial import Point

SHAPE = conftr.Shape(avoid=[conftr.Avoid("a", "b", 2.0)], shrink={"c": 3.0})
CLASSES = ["a", "b", "c"]


def test_a_curve_has_points_at_weights_and_at_the_one_given():
    found = dial.shapes(SHAPE)
    assert list(found) == [1, 2, 3, 10, 30, 100]
    assert [one.loss_matrix(CLASSES)[0, 1] for one in found.values()] == [1, 2, 3, 10, 30, 100]
    assert all(one.class_weights(CLASSES)[2] == 3 for one in found.values())


def test_wishes_without_a_weight_have_theirs_found():
    unweighted = conftr.Shape(avoid=[("a", "b")])
    assert dial.by_knee(unweighted)
    assert not dial.by_knee(SHAPE)
    assert list(dial.shapes(unweighted)) == [1, 3, 10, 30, 100]


def test_wishes_without_a_pair_have_one_point():
    assert list(dial.shapes(conftr.Shape(shrink={"c": 3.0}))) == [1]


def test_a_set_is_mixed_if_it_holds_a_class_unwanted_beside_its_own():
    wrong = dial.unwanted(SHAPE, CLASSES)
    sets = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1]], bool)
    # A set of b with a, one of a without b, one of a with b alone; that of c does not count.
    assert dial.mixed(sets, np.array([1, 0, 0, 2]), wrong) == 2 / 3
    assert dial.mixed(sets, np.array([2, 2, 2, 2]), wrong) == 0


def test_the_share_of_mixed_sets_counts_rows_of_the_classes_concerned():
    # Rows of a and b are certain of both, rows of c of c alone: every set of a and b is mixed.
    labels = np.tile([0, 1, 2], 40)
    logits = np.where(labels[:, None] == 2, [0.0, 0.0, 9.0], [9.0, 9.0, 0.0])
    question = Question(labels, CLASSES, 0.1, conftr.thr, ALL, None, SHAPE, 0)
    found = dial.point(0.0, logits, question)
    assert found.mixed == 1
    assert found.size == pytest.approx(5 / 3, abs=0.15)
    logits = np.where(labels[:, None] == np.arange(3), 9.0, 0.0)
    assert dial.point(0.0, logits, question).mixed == 0


def test_the_knee_is_where_more_begins_to_cost_more_than_it_gives():
    points = [
        Point(0, 0.10, 2.0),
        Point(1, 0.09, 2.01),
        Point(3, 0.03, 2.05),  # most is gone, and little is paid
        Point(10, 0.02, 2.5),
        Point(30, 0.01, 3.0),
    ]
    assert dial.knee(points).weight == 3


def test_the_knee_is_never_the_point_without_wishes():
    points = [Point(0, 0.1, 2.0), Point(1, 0.1, 2.1), Point(3, 0.1, 2.2)]
    assert dial.knee(points).weight == 1
