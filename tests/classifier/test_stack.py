import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import conftr
from conftr.classifier import choosing_members, stack
from conftr.classifier.choosing_head import StackTask
from conftr.classifier.choosing_members import suitable
from conftr.classifier.stacking import described, fit_stack
from conftr.conformal.metrics import coverage_law
from conftr.members.forest import Forest
from conftr.members.logistic import Logistic
from conftr.members.member import MemberError, MemberRows
from conftr.members.scikit import Scikit
from small_table import frame

pytestmark = pytest.mark.usefixtures("short_training_of_heads")

SMALL = [Logistic(), Forest(trees=20)]
CLASSES = ["red", "green", "blue"]


@pytest.fixture(scope="module")
def fitted():
    x, y = frame(300)
    return fit_stack(MemberRows(x, y, 3), StackTask(CLASSES, 0.1), SMALL)


def test_a_stack_says_what_each_member_alone_would_give(fitted):
    assert list(fitted.alone) == ["logistic regression", "extra trees"]
    sizes = {head.name: head.size for head in fitted.chosen.measured}
    best = min(head.size for head, _ in fitted.alone.values())
    assert sizes[fitted.chosen.head.name] < best + 0.1
    assert set(fitted.seconds) == set(fitted.alone)


def test_a_loaded_stack_and_a_row_alone_give_the_same_bits(fitted):
    x, _ = frame(40, seed=1)
    logits = fitted.stack.logits(x)
    again = stack.load(fitted.stack.files(), 3)
    np.testing.assert_array_equal(again.logits(x), logits)
    alone = np.concatenate([again.logits(x.iloc[i : i + 1]) for i in range(40)])
    np.testing.assert_array_equal(alone, logits)
    assert again.words == fitted.stack.words


def test_a_single_member_needs_no_head():
    x, y = frame(60)
    result = fit_stack(MemberRows(x, y, 3), StackTask(CLASSES, 0.1), [Logistic()])
    assert result.stack.head is None
    again = stack.load(result.stack.files(), 3)
    np.testing.assert_array_equal(again.logits(x), result.stack.logits(x))


def test_a_wish_reaches_a_model_without_gradients():
    x, y = frame(300)
    shape = conftr.Shape(avoid=[conftr.Avoid("red", "green", 30.0)])
    result = fit_stack(
        MemberRows(x, y, 3), StackTask(CLASSES, 0.02, shape=shape), [Forest(trees=20)]
    )
    assert result.chosen.point.weight == 30
    assert result.chosen.point.mixed < result.chosen.curve[0].mixed


def test_members_that_cannot_be_saved_say_so():
    x, y = frame(60)
    numbers = np.nan_to_num(x[["u", "v", "w"]].to_numpy())
    result = fit_stack(
        MemberRows(numbers, y, 3), StackTask(CLASSES, 0.1), [Scikit(LogisticRegression())]
    )
    with pytest.raises(MemberError, match="only pickle could save"):
        result.stack.files()


def test_what_is_tried_depends_on_the_rows():
    x, y = frame(60)
    names = names_of(suitable(MemberRows(x, y, 3)).members)
    assert names[:4] == ["logistic regression", "extra trees", "random forest", "network"]
    ids = np.arange(60, dtype=np.int32)
    many = names_of(suitable(MemberRows(x, ids, 60)).members)
    assert "boosted trees" not in many
    images = np.zeros((10, 4, 4), np.uint8)
    assert names_of(suitable(MemberRows(images, y[:10], 2)).members)[0] == "network"


def names_of(members):
    return [member.name for member in members]


def test_members_that_so_many_rows_and_classes_make_hopeless_are_left_out():
    """A forest of 16,000 rows and 5,000 classes takes 100 GB, a network an hour."""
    y = np.arange(16_000, dtype=np.int32) % 5000
    result = suitable(MemberRows(np.zeros((16_000, 5)), y, 5000))
    assert names_of(result.members) == ["logistic regression"]
    assert result.hopeless == ["extra trees", "random forest", "network", "network with bins"]
    wide = suitable(MemberRows(np.zeros((16_000, 100)), y, 5000))
    assert names_of(wide.members) == ["network"]
    few = suitable(MemberRows(np.zeros((16_000, 5)), y % 100, 100))
    assert not few.hopeless


def test_words_tell_of_members_that_are_hopeless(monkeypatch):
    monkeypatch.setattr(choosing_members, "_LEAVES", 100)
    monkeypatch.setattr(choosing_members, "_NETWORKS", 2)
    monkeypatch.setattr(choosing_members, "_BOOSTED", 2)
    x, y = frame(60)
    result = fit_stack(MemberRows(x, y, 3), StackTask(CLASSES, 0.1))
    why = described(result, 60).why
    assert why.startswith("It is all that was fitted. extra trees, random forest, network")


@pytest.mark.parametrize("n", [10, 12])
def test_ten_rows_are_enough(n):
    x, y = frame(n)
    y = np.arange(n, dtype=np.int32) % 3
    result = fit_stack(MemberRows(x, y, 3), StackTask(CLASSES, 0.1), SMALL)
    assert np.isfinite(result.stack.logits(x)).all()


def test_coverage_is_as_promised():
    """Calibration rows that neither members nor head have seen: the mean over draws is exact."""
    alpha, n_cal, n_test, draws, covered = 0.2, 30, 40, 25, 0
    for seed in range(draws):
        x, y = frame(60 + n_cal + n_test, seed=100 + seed)
        rows, task = MemberRows(x[:60], y[:60], 3), StackTask(CLASSES, alpha, seed=seed)
        result = fit_stack(rows, task, [Logistic(), Forest(trees=3)])
        scores = conftr.thr(result.stack.logits(x[60:]))
        tau = conftr.calibrate(scores[:n_cal], y[60 : 60 + n_cal], alpha)
        covered += int((scores[n_cal:] >= tau)[np.arange(n_test), y[60 + n_cal :]].sum())
    law = np.diff(coverage_law(n_cal, n_test, alpha), prepend=0)
    counts = np.arange(n_test + 1)
    mean, variance = law @ counts, law @ counts**2 - (law @ counts) ** 2
    assert abs(covered - draws * mean) < 4 * np.sqrt(draws * variance)
