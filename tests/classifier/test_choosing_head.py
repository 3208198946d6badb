import time

import numpy as np
import pytest

import conftr
from conftr.classifier import wish_weights
from conftr.classifier.calibration import CLASS
from conftr.classifier.choosing_head import StackTask, choose_head
from conftr.classifier.cross_fitting import divide, known_out_of_fold
from conftr.conformal.arrays import log_softmax

pytestmark = pytest.mark.usefixtures("short_training_of_heads")

CLASSES = ["a", "b", "c", "d"]


def confused(n=800, seed=0):
    """Log-probabilities of rows whose classes lie on a line: a, b, c, d."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, n)
    place = 1.5 * labels + rng.normal(size=n)
    distance = place[:, None] - 1.5 * np.arange(4)
    return log_softmax(-(distance**2) / 2 + 0.5 * rng.normal(size=(n, 4))), labels


def noise(n=800, seed=1):
    return log_softmax(np.random.default_rng(seed).normal(size=(n, 4)))


def test_a_member_that_says_nothing_is_not_heard():
    good, labels = confused()
    chosen = choose_head([noise(), good], labels, StackTask(CLASSES, 0.1))
    assert chosen.places == [1]
    assert chosen.head.weights.shape == (1,)
    assert "Mean set size" in chosen.why


def test_members_that_complete_each_other_are_both_heard_and_better_than_their_mean():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 600)
    truth = np.eye(4)[labels]
    answers = [log_softmax(k * truth + rng.normal(size=truth.shape)) for k in (1.0, 2.5)]
    chosen = choose_head(answers, labels, StackTask(CLASSES, 0.1))
    sizes = {head.name: head.size for head in chosen.measured}
    assert chosen.places == [0, 1]
    assert sizes[chosen.head.name] <= sizes["mean of the members"]
    assert chosen.measured[0].name == chosen.head.name


def test_a_wish_is_followed_at_its_weight_and_shows_its_price():
    good, labels = confused()
    shape = conftr.Shape(avoid=[conftr.Avoid("a", "c", 7.0)])
    chosen = choose_head([good], labels, StackTask(CLASSES, 0.1, shape=shape))
    assert [point.weight for point in chosen.curve] == [0, *sorted({*wish_weights.WEIGHTS, 7.0})]
    assert chosen.point.weight == 7
    assert chosen.point.mixed < 0.3 * chosen.curve[0].mixed
    assert chosen.head is chosen.by_weight[7.0]
    assert chosen.head.wishes is not None


def test_without_a_weight_it_is_what_is_worth_its_price():
    good, labels = confused()
    shape = conftr.Shape(avoid=[("a", "c")])
    chosen = choose_head([good], labels, StackTask(CLASSES, 0.1, shape=shape))
    assert chosen.point == wish_weights.affordable(chosen.curve)
    assert chosen.point.mixed < 0.5 * chosen.curve[0].mixed
    assert chosen.point.size <= 1.03 * chosen.curve[0].size
    assert "at most 3 % larger" in chosen.why


def test_sets_of_a_class_shrink_where_that_is_all_that_is_wished():
    good, labels = confused(2000)
    shape = conftr.Shape(shrink={"b": 5.0})
    task = StackTask(CLASSES, 0.2, shape=shape, head="mean")
    chosen = choose_head([good], labels, task)
    sizes = {head.name: head.size for head in chosen.measured}
    assert chosen.head.wishes is not None
    assert sizes[chosen.head.name] < 0.98 * sizes["mean of the members"]
    assert "as the wishes weigh it" in chosen.why


def test_when_time_is_up_nothing_is_trained_and_wishes_are_followed():
    good, labels = confused()
    task = StackTask(CLASSES, 0.1, until=time.monotonic() - 1)
    chosen = choose_head([good, noise()], labels, task)
    assert chosen.head.matrix is None
    shape = conftr.Shape(avoid=[("a", "c")])
    chosen = choose_head([good], labels, StackTask(CLASSES, 0.1, shape=shape, until=task.until))
    assert chosen.head.matrix is None
    assert chosen.point.mixed < chosen.curve[0].mixed


def test_thresholds_by_class_are_measured_as_such():
    good, labels = confused()
    chosen = choose_head([good], labels, StackTask(CLASSES, 0.1, by=CLASS))
    assert chosen.measured[0].size == pytest.approx(1.5, abs=0.6)


def test_rows_alone_in_their_class_do_not_hide_which_head_is_better():
    """They are a fifth of the rows, and alpha a tenth: with them all sets hold every class."""
    good, labels = confused()
    labels = np.concatenate([labels, np.arange(4, 204)])
    logits = np.concatenate([good, noise(200)])
    answers = np.concatenate([logits, np.full((1000, 200), -20.0)], axis=1)
    known = known_out_of_fold(labels, divide(labels, 5, 0))
    assert known.tolist() == list(range(800))
    task = StackTask(range(204), 0.1)
    assert choose_head([answers], labels, task).measured[0].size > 100
    chosen = choose_head([answers], labels, task, known)
    assert chosen.measured[0].size < 4
    assert chosen.why.endswith("Rows that are alone in their class, 200, are not among these.")


def test_copies_of_one_row_are_alone_in_their_class():
    labels = np.array([0, 0, 0, 1, 1])
    folds = divide(labels, 5, 0, np.array([0, 1, 2, 3, 3]))
    assert known_out_of_fold(labels, folds).tolist() == [0, 1, 2]


def test_where_every_class_has_one_row_all_are_measured():
    labels = np.arange(4)
    assert known_out_of_fold(labels, divide(labels, 5, 0)).tolist() == [0, 1, 2, 3]
