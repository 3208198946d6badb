import pickle
import time

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from conftr.classifier.cross_fitting import cross_fit, divide
from conftr.machine.cluster import connect
from conftr.members.boosted import Boosted
from conftr.members.forest import EXTRA, RANDOM, Forest
from conftr.members.logistic import Logistic
from conftr.members.member import MemberRows
from conftr.members.scikit import Scikit


def noise(n=60, classes=3):
    rng = np.random.default_rng(0)
    return MemberRows(rng.normal(size=(n, 2)), rng.integers(0, classes, n, np.int32), classes)


def test_folds_divide_rows_and_classes_evenly():
    labels = np.repeat([0, 1, 2], [50, 20, 7])
    folds = divide(labels, 5, seed=0)
    np.testing.assert_array_equal(np.sort(np.concatenate([f.held for f in folds])), np.arange(77))
    for fold in folds:
        assert not set(fold.train) & set(fold.held)
        counts = np.bincount(labels[fold.held], minlength=3)
        assert (np.abs(counts - [10, 4, 1.4]) < 1).all()


def test_a_class_with_fewer_rows_than_folds_still_trains_most_models():
    labels = np.append(np.zeros(20, int), [1, 1])
    folds = divide(labels, 5, seed=1)
    assert sum((labels[fold.held] == 1).any() for fold in folds) == 2
    assert all((labels[fold.train] == 1).any() for fold in folds)


def test_there_are_no_more_folds_than_rows():
    assert len(divide(np.array([0, 1, 0]), 5, seed=0)) == 3


def test_no_row_is_answered_by_a_model_that_saw_it():
    rows = noise()
    remembers = Scikit(KNeighborsClassifier(1))
    folds = divide(rows.labels, 5, seed=0)
    (fitted,), left = cross_fit([remembers], rows, folds, seed=0)
    guessed = (fitted.logits.argmax(axis=1) == rows.labels).mean()
    assert guessed < 0.7  # 1 if it remembered
    assert not left


class Fails:
    name = "fails"

    def fit(self, rows, folds, *, seed, progress):
        raise ValueError("of no use here")


def test_a_member_that_fails_is_left_out_and_named():
    rows = noise()
    folds = divide(rows.labels, 3, seed=0)
    fitted, left = cross_fit([Fails(), Scikit(DecisionTreeClassifier())], rows, folds, seed=0)
    assert [member.member.name for member in fitted] == ["DecisionTreeClassifier"]
    assert [(member.name, member.why) for member in left] == [("fails", "of no use here")]


def test_it_is_an_error_if_all_fail():
    rows = noise()
    with pytest.raises(ValueError, match="no member could be fitted: fails: of no use here"):
        cross_fit([Fails(), Fails()], rows, divide(rows.labels, 3, seed=0), seed=0)


def test_a_single_member_fails_in_its_own_words():
    rows = noise()
    with pytest.raises(ValueError, match=r"^of no use here"):
        cross_fit([Fails()], rows, divide(rows.labels, 3, seed=0), seed=0)


def test_copies_of_an_example_are_in_one_fold():
    labels, examples = np.repeat([0, 1, 0, 1, 0, 1], 4), np.repeat(np.arange(6), 4)
    for fold in divide(labels, 3, 0, examples):
        assert not set(examples[fold.train]) & set(examples[fold.held])
        assert len(fold.held) == 8


def test_when_time_is_up_the_first_member_is_there():
    rows, tree, seen = noise(), Scikit(DecisionTreeClassifier()), []
    fitted, left = cross_fit(
        [tree, tree],
        rows,
        divide(rows.labels, 3, seed=0),
        seed=0,
        report=lambda *now: seen.append(now),
        until=time.monotonic() - 1,
    )
    assert len(fitted) == 1
    assert left[0].why == "time was up"
    assert seen[3] == ("DecisionTreeClassifier", 3, 3)


class InBytes:
    """An executor that sends tasks and results as bytes, the last result first or the first."""

    here = False

    def __init__(self, order):
        self.order = order

    def run(self, task, items, *, ahead=None):
        sent = pickle.dumps(task)
        for number, item in self.order(list(enumerate(items))):
            yield number, pickle.loads(pickle.dumps(pickle.loads(sent)(item)))


def compared(members, executor):
    rows = noise(120)
    folds = divide(rows.labels, 3, seed=4)
    here, left = cross_fit(members, rows, folds, seed=4)
    there, left_there = cross_fit(members, rows, folds, seed=4, executor=executor)
    assert left == left_there
    for first, other in zip(here, there, strict=True):
        assert first.member.words == other.member.words
        assert other.member.reader is rows.reader
        np.testing.assert_array_equal(first.logits, other.logits)
        np.testing.assert_array_equal(
            first.member.logits(rows.X), other.member.logits(rows.X), strict=True
        )
    return left


def test_members_fitted_elsewhere_are_those_fitted_here_to_the_last_bit():
    trees = [Forest(EXTRA, 5), Forest(RANDOM, 5, min_leaf=5), Boosted(rounds=5)]
    left = compared([Logistic(), Fails(), *trees], InBytes(reversed))
    assert [member.why for member in left] == ["of no use here"]


def test_members_that_come_too_late_from_elsewhere_are_left_out():
    rows, members = noise(), [Forest(EXTRA, 5), Forest(RANDOM, 5)]
    folds = divide(rows.labels, 3, seed=0)
    late = time.monotonic() - 1
    executor = InBytes(list)
    fitted, left = cross_fit(members, rows, folds, seed=0, until=late, executor=executor)
    assert [member.member.name for member in fitted] == [EXTRA]
    assert [(member.name, member.why) for member in left] == [(RANDOM, "time was up")]


@pytest.mark.slow  # starts a Ray cluster
def test_members_fitted_on_ray_are_those_fitted_here_to_the_last_bit():
    pytest.importorskip("ray")
    from conftr.members.network import Network

    with connect("local") as executor:
        compared([Forest(EXTRA, 5), Network(hidden=(8,), steps=20)], executor)
