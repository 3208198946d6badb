"""ConformalClassifier on members and a head: what is fitted, wishes on any model, the guarantee."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import conftr
from conftr.classifier.choosing_members import requested_members
from conftr.classifier.testing import evidence_of
from conftr.classifier.wish_weights import WEIGHTS
from conftr.conformal.metrics import coverage_law
from conftr.members.boosted import Boosted
from conftr.members.forest import Forest
from conftr.members.logistic import Logistic
from conftr.members.scikit import Scikit
from small_table import frame

pytestmark = pytest.mark.usefixtures("short_training_of_heads")

NAMES = np.array(["red", "green", "blue"])
SMALL = [Logistic(), Forest(trees=8)]
WISH = conftr.Shape(avoid=[("red", "green")])


def fitted(n=300, seed=0, **settings):
    x, y = frame(n, seed)
    given = {"members": SMALL, "random_state": seed}
    return conftr.ConformalClassifier(**given | settings).fit(x, NAMES[y])


@pytest.fixture(scope="module")
def wished():
    return fitted(600, alpha=0.05, shape=WISH)


def test_members_and_head_are_told():
    clf = fitted()
    assert clf.planned_members(*frame(300)) == ["logistic regression", "extra trees"]
    names = {member.name for member in clf.tried_}
    assert {"mean of the members", "extra trees alone", "logistic regression alone"} <= names
    assert clf.candidates_[0].name == clf.method_
    assert clf.candidates_[-1].name.endswith(" alone")
    assert "out-of-fold training rows" in clf.why_
    assert (clf.n_validation_, clf.n_train_ + clf.n_calibration_) == (0, 300)
    x, y = frame(400, seed=5)
    assert 0.8 < clf.coverage(x, NAMES[y]) < 0.98


def test_a_saved_stack_gives_the_same_bits(wished, tmp_path):
    x, _ = frame(50, seed=7)
    again = conftr.load(conftr.save(wished, tmp_path))
    np.testing.assert_array_equal(again.predict_proba(x), wished.predict_proba(x))
    np.testing.assert_array_equal(again.predict_set(x), wished.predict_set(x))
    assert again.method_ == wished.method_


def test_the_price_of_a_wish_is_a_curve(wished):
    weights = [turned.point.weight for turned in wished.dial_]
    assert weights == [0, *WEIGHTS]
    assert sum(turned.chosen for turned in wished.dial_) == 1
    x, y = frame(300, seed=3)
    shown = evidence_of(wished, x, NAMES[y])
    assert [turned.weight for turned in shown.price] == weights
    assert shown.price[-1].mixed <= shown.price[0].mixed
    (chosen,) = (turned for turned in shown.price if turned.chosen)
    sets = wished.predict_set(x)
    assert chosen.size == pytest.approx(sets.sum(axis=1).mean())
    red, green = (wished.classes_.tolist().index(name) for name in ("red", "green"))
    concerned = np.isin(NAMES[y], ["red", "green"])
    both = sets[:, [red, green]].all(axis=1)
    assert chosen.mixed == pytest.approx(both[concerned].mean())


def test_a_weight_that_is_given_is_the_one_that_is_followed():
    shape = conftr.Shape(avoid=[conftr.Avoid("red", "green", 30.0)])
    clf = fitted(600, alpha=0.05, shape=shape)
    (chosen,) = (turned.point for turned in clf.dial_ if turned.chosen)
    assert chosen.weight in (0, 30)  # 0 where nothing was gained
    assert chosen.weight or chosen.mixed <= min(turned.point.mixed for turned in clf.dial_)


def test_wishes_reach_a_model_that_was_fitted_elsewhere():
    x, y = frame(900)
    numbers = np.nan_to_num(x[["u", "v", "w"]].to_numpy())
    model = LogisticRegression().fit(numbers[:100], NAMES[y[:100]])
    given = {"alpha": 0.05, "members": [FrozenEstimator(model)], "random_state": 0}
    clf = conftr.ConformalClassifier(**given, shape=WISH).fit(numbers[100:600], NAMES[y[100:600]])
    assert clf.n_train_ > 0
    assert clf.dial_[-1].point.mixed < clf.dial_[0].point.mixed
    plain = conftr.ConformalClassifier(**given).fit(numbers[100:600], NAMES[y[100:600]])
    assert plain.n_train_ == 0
    assert 490 < plain.n_calibration_ <= 500  # copies count once
    np.testing.assert_allclose(
        plain.predict_proba(numbers[600:]), model.predict_proba(numbers[600:]), atol=1e-9
    )


@pytest.mark.parametrize("head", ["mean", "conftr"])
def test_a_head_that_was_asked_for(head):
    name = fitted(head=head).method_
    assert name == "mean of the members" if head == "mean" else "conformal training" in name


def test_members_by_name_and_by_value():
    requested = requested_members("boosted, forest")
    assert [member.name for member in requested] == ["boosted trees", "random forest"]
    mixed = requested_members([LogisticRegression(), "logistic", Boosted()])
    assert [type(member) for member in mixed] == [Scikit, Logistic, Boosted]
    for wrong, words in [
        ("trees", "some of networks, boosted"),
        ("", "some of networks"),
        ([], "t least one"),
    ]:
        with pytest.raises(ValueError, match=words):
            requested_members(wrong)
    with pytest.raises(TypeError, match=r"conftr.members.Function\(it, classes\)"):
        requested_members(lambda x: x)


def test_what_cannot_go_together_is_refused():
    with pytest.raises(ValueError, match="epochs is a setting of a single network"):
        fitted(epochs=3)
    with pytest.raises(ValueError, match="head must be one of auto, mean"):
        fitted(head="median")


def test_a_member_that_fails_is_left_out_and_named():
    x, y = frame(200)
    numbers = np.nan_to_num(x[["u", "v", "w"]].to_numpy())
    clf = conftr.ConformalClassifier(members=[LinearSVC(), *SMALL], random_state=0)
    clf.fit(numbers, NAMES[y])
    assert [member.name for member in clf.left_out_] == ["LinearSVC"]
    assert "LinearSVC was left out: a classifier must have predict_proba" in clf.why_


def test_when_time_is_up_one_member_is_there():
    clf = fitted(members=[Forest(trees=3), Logistic(), Logistic()], time_limit=0)
    assert [member.why for member in clf.left_out_] == ["time was up"] * 2
    assert clf.why_.endswith("logistic regression, logistic regression were left out: time was up.")
    assert clf.method_ == "extra trees"


@pytest.mark.filterwarnings("ignore::conftr.CalibrationWarning")
@pytest.mark.parametrize("n", [12, 20])
def test_very_few_rows(n):
    clf = fitted(n, alpha=0.4)
    assert clf.predict_set(frame(5)[0]).shape == (5, len(clf.classes_))


@pytest.mark.slow  # dozens of whole fits
@pytest.mark.filterwarnings("ignore::conftr.CalibrationWarning")
@pytest.mark.parametrize(
    ("groups", "shape"), [(None, None), ("class", None), ("column", None), (None, WISH)]
)
def test_the_guarantee_through_the_whole_of_fit(groups, shape):
    """Members, head and choice have seen no calibration row: the mean over draws is exact."""
    alpha, draws, n_test, coverages = 0.2, 12, 200, []
    for seed in range(draws):
        x, y = frame(160 + n_test, seed=500 + seed)
        column = np.where(x["u"].fillna(0) > 0, "high", "low")
        by = {"class": "class", "column": column[:160]}.get(groups)
        members = [Logistic(), Forest(trees=2)]
        clf = conftr.ConformalClassifier(alpha, members=members, shape=shape, random_state=seed)
        clf.fit(x[:160], NAMES[y[:160]], by)
        new = column[160:] if groups == "column" else None
        coverages.append(clf.coverage(x[160:], NAMES[y[160:]], new))
    if groups is not None:  # a rank is rounded in each group: at least the promise
        assert np.mean(coverages) > 1 - alpha - 3 * 0.08 / np.sqrt(draws)
        return
    law = np.diff(coverage_law(clf.n_calibration_, n_test, alpha), prepend=0)
    counts = np.arange(n_test + 1) / n_test
    mean, variance = law @ counts, law @ counts**2 - (law @ counts) ** 2
    assert abs(np.mean(coverages) - mean) < 4 * np.sqrt(variance / draws)
