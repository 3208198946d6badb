"""ConformalClassifier: scikit-learn's own checks, the guarantee, choices, and worded outcomes."""

import pickle
import warnings

import jax
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import conftr
from conftr.classifier import estimator_fitting
from conftr.classifier import learn as learning
from conftr.classifier.calibration import ALL, Grouping
from conftr.classifier.choosing import CONFORMAL, CROSS_ENTROPY, RANKED, WISHED
from conftr.classifier.division import divide, order
from conftr.classifier.estimator import ConformalClassifier
from conftr.classifier.testing import evidence_of
from conftr.features.unknown_levels import CategoryWarning
from conftr.members.elsewhere import Logits, Probabilities
from conftr.members.scikit import AsGiven

RNG = np.random.default_rng(0)
NAMES = np.array(["cat", "dog", "eel"])
SHAPE = conftr.Shape(avoid=[("cat", "eel")], shrink={"dog": 2})


def blobs(n, seed=0):
    """Three classes that overlap, in four features."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) + 1.5 * np.eye(3, 4)[labels], NAMES[labels]


X, Y = blobs(600)
X_TEST, Y_TEST = blobs(500, seed=1)
SMALL = {"model": (), "epochs": 3, "random_state": 0}


def plain(**changes):
    return ConformalClassifier(**({"method": "cross-entropy", **SMALL} | changes))


def quick(**changes):
    """Without a network, where it makes no difference."""
    return ConformalClassifier(**({"members": GaussianNB(), "random_state": 0} | changes))


@pytest.fixture(scope="module")
def auto():
    """Everything at once: cross-entropy, ranks, conformal training, with and without wishes."""
    return ConformalClassifier(shape=SHAPE, **SMALL).fit(X, Y)


@pytest.fixture(scope="module")
def clf():
    """The plainest classifier."""
    return plain().fit(X, Y)


def covered(sets, y, classes):
    return sets[np.arange(len(y)), np.searchsorted(classes, y)].mean()


@pytest.mark.filterwarnings("ignore::conftr.CalibrationWarning")
@pytest.mark.parametrize("members", ["one-network", "logistic", LogisticRegression()])
def test_check_estimator(members):
    """All of scikit-learn's checks; one is about SciPy, and is run only where SciPy is told so."""
    results = check_estimator(ConformalClassifier(members=members), on_skip=None)
    others = {result["check_name"] for result in results if result["status"] != "passed"}
    assert len(results) > 50
    assert others <= {"check_array_api_input"}


def test_pipelines_and_searches():
    frame = pd.DataFrame(X, columns=list("wxyz"))
    pipeline = make_pipeline(StandardScaler(), plain())
    grid = {"conformalclassifier__alpha": [0.1, 0.2]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(frame, Y)
    assert search.best_score_ > 0.5
    assert set(search.predict(frame)) <= set(NAMES)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("conformity", "score"),
        ("aplha", "alpha"),
        ("calibration_sizes", "calibration_size"),
        ("estimator", "members"),
        ("classifier", "members"),
        ("groups", "groups of fit"),
    ],
)
def test_near_misses_of_names_are_told(name, meant):
    with pytest.raises(
        TypeError, match=f"no parameter '{name}'. Is {meant} meant\\? There are alpha, "
    ):
        ConformalClassifier(**{name: 1})
    with pytest.raises(TypeError, match=r"no parameter 'zzz'\. There are alpha, "):
        ConformalClassifier(zzz=1)


def test_score_is_a_setting_and_the_method_of_scikit_learn():
    clf = quick(score="aps")
    assert clf.get_params()["score"] == "aps"
    assert "score='aps'" in repr(clf)
    assert clf.set_params(score=conftr.raps).get_params()["score"] is conftr.raps
    assert clone(clf).get_params()["score"] is conftr.raps
    assert pickle.loads(pickle.dumps(clf)).fit(X, Y).score_ is conftr.raps
    clf.score = "thr"
    assert clf.fit(X, Y).score_ is conftr.thr
    assert clf.score(X, Y) == (clf.predict(X) == Y).mean()
    search = GridSearchCV(clf, {"score": ["thr", "raps"]}, cv=2).fit(X, Y)
    assert 0.5 < search.best_score_ < 1
    with pytest.raises(ValueError, match=r"score must be one of thr, aps, raps.*; got 'thp'"):
        quick(score="thp").fit(X, Y)


def test_clone_and_pickle(auto):
    again = clone(auto)
    assert not hasattr(again, "classes_")
    assert again.shape == auto.shape
    loaded = pickle.loads(pickle.dumps(auto))
    np.testing.assert_array_equal(loaded.predict_set(X_TEST), auto.predict_set(X_TEST))


def test_seeds():
    first, same, other = (plain(random_state=seed).fit(X, Y) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first.predict_proba(X_TEST), same.predict_proba(X_TEST))
    assert (first.predict_proba(X_TEST) != other.predict_proba(X_TEST)).any()
    state = np.random.RandomState(7)
    assert plain(random_state=state).fit(X, Y).seed_ != plain(random_state=state).fit(X, Y).seed_


def test_sets_cover(clf):
    sets = clf.predict_set(X_TEST)
    assert sets.dtype == bool
    assert sets.shape == (500, 3)
    law = conftr.coverage_law(clf.n_calibration_, 500, 0.1)
    assert 0.005 < law[round(500 * covered(sets, Y_TEST, clf.classes_))] < 0.995


def test_labels_are_the_sets_by_name(clf):
    sets, probabilities = clf.predict_set(X_TEST), clf.predict_proba(X_TEST)
    for held, p, names in zip(sets, probabilities, clf.predict_labels(X_TEST), strict=True):
        assert sorted(names) == sorted(NAMES[held].tolist())
        assert names == sorted(names, key=lambda name: -p[NAMES.tolist().index(name)])


def test_masked_arrays_are_refused(clf):
    with pytest.raises(TypeError, match="X is masked"):
        clf.predict_set(np.ma.masked_array(X, X > 1))
    with pytest.raises(TypeError, match="y is masked"):
        clf.calibrate(X, np.ma.masked_array(Y, Y == "cat"))


class Interrupted(GaussianNB):
    """What Ctrl-C meets in the middle of a fit."""

    def fit(self, X, y):
        raise KeyboardInterrupt


def test_a_fit_that_ends_early_changes_nothing():
    clf = ConformalClassifier(members=GaussianNB(), random_state=0).fit(X, Y)
    before, sets = set(vars(clf)), clf.predict_labels(X_TEST)
    clf.set_params(members=Interrupted())
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X[:, :1], np.array(["no", "yes"])[(Y == "cat").astype(int)])
    assert set(vars(clf)) == before
    assert clf.predict_labels(X_TEST) == sets
    clf.planned_members(X[:, :1], Y)  # only looks
    assert clf.predict_labels(X_TEST) == sets


def test_a_fit_that_fails_is_none():
    clf = ConformalClassifier(cross_conformal=1)
    with pytest.raises(ValueError, match="cross_conformal"):
        clf.fit(X, Y)
    with pytest.raises(NotFittedError):
        clf.predict_set(X)


def test_nothing_of_an_earlier_fit_stays():
    clf = ConformalClassifier(**SMALL).fit(X, Y)
    assert hasattr(clf, "epochs_")
    clf.set_params(model=None, epochs=None, members=GaussianNB()).fit(X, Y)
    assert not hasattr(clf, "epochs_")


def test_a_calibration_that_ends_early_changes_nothing():
    clf = ConformalClassifier(members=GaussianNB(), random_state=0).fit(X, Y)
    before = vars(clf).copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="too few"):
            clf.calibrate(X_TEST[:5], Y_TEST[:5])
    assert vars(clf) == before


def test_coverage_and_size_of_sets(clf):
    sets = clf.predict_set(X_TEST)
    assert clf.coverage(X_TEST, Y_TEST) == covered(sets, Y_TEST, clf.classes_)
    assert clf.set_size(X_TEST) == sets.sum(axis=1).mean()
    cats = Y_TEST == "cat"
    assert clf.coverage(X_TEST[cats], Y_TEST[cats]) == sets[cats, 0].mean()
    assert clf.coverage(X_TEST[:2], ["cow", "cow"]) == 0
    assert clf.coverage(X_TEST, Y_TEST, alpha=0.5) < 0.7
    assert clf.set_size(X_TEST, alpha=0.5) < clf.set_size(X_TEST)
    groups = np.array(["n", "s"])[np.arange(500) % 2]
    by_group = quick().fit(X, Y, groups=REGIONS)
    assert by_group.coverage(X_TEST, Y_TEST, groups) > 0.8
    assert 1 <= by_group.set_size(X_TEST, groups) <= 3


@pytest.mark.parametrize("steps", [[], [StandardScaler(), "passthrough"]], ids=["bare", "pipeline"])
def test_searches_can_prefer_small_sets(steps):
    """With a variance so large that no feature counts, sets hold nearly every class."""
    pipeline = make_pipeline(*steps, quick())
    grid = {"conformalclassifier__members__var_smoothing": [1e6, 1e-9]}
    search = GridSearchCV(pipeline, grid, scoring=conftr.small_sets_scorer, cv=2).fit(X, Y)
    poor, good = search.cv_results_["mean_test_score"]
    assert -3 <= poor < -2.4 < -2 < good < -0.9
    assert search.best_params_ == {"conformalclassifier__members__var_smoothing": 1e-9}


def test_any_alpha(clf):
    sizes = [clf.predict_set(X_TEST, alpha=alpha).sum() for alpha in (0.02, 0.1, 0.3)]
    assert sizes == sorted(sizes, reverse=True)
    np.testing.assert_array_equal(clf.predict_set(X_TEST, alpha=0.1), clf.predict_set(X_TEST))


def test_p_values_say_at_which_alpha_a_class_leaves_the_set():
    clf = quick().fit(X, Y)
    p = clf.p_values(X_TEST)
    assert p.shape == (len(X_TEST), 3)
    for alpha in (0.02, 0.1, 0.3):
        np.testing.assert_array_equal(p > alpha, clf.predict_set(X_TEST, alpha=alpha))
    grouped = quick().fit(X, Y, groups="class")
    np.testing.assert_array_equal(grouped.p_values(X_TEST) > 0.1, grouped.predict_set(X_TEST))


def test_smoothed_p_values_of_the_truth_are_uniform():
    clf = quick().fit(X, Y)
    places = np.searchsorted(clf.classes_, Y_TEST)
    draws = np.random.default_rng(0).random(len(X_TEST))
    p = clf.p_values(X_TEST, u=draws)[np.arange(len(X_TEST)), places]
    # One calibration set moves the whole law: by the Beta law, within 5 deviations of it.
    spread = 5 * np.sqrt(0.25 / clf.n_calibration_ + 0.25 / len(p))
    assert abs((p <= 0.5).mean() - 0.5) < spread


@pytest.mark.parametrize("change", [setattr, lambda clf, _, value: clf.set_params(alpha=value)])
def test_another_alpha_after_fit_is_served(clf, change):
    other = pickle.loads(pickle.dumps(clf))
    change(other, "alpha", np.float32(0.3))
    np.testing.assert_array_equal(other.predict_set(X_TEST), clf.predict_set(X_TEST, alpha=0.3))
    assert (other.alpha, other.alpha_) == (np.float32(0.3), 0.3)
    assert other.thresholds_ == clf.calibration_.thresholds(0.3)
    assert evidence_of(other, X_TEST, Y_TEST).alpha == 0.3
    with pytest.warns(conftr.CalibrationWarning, match="too few for alpha = 0.001"):
        change(other, "alpha", 0.001)
    assert other.predict_set(X_TEST).all()
    with pytest.raises(ValueError, match="alpha must lie strictly between 0 and 1; got 2"):
        change(other, "alpha", 2)
    assert other.calibrate(X_TEST, Y_TEST, alpha=0.2).alpha == 0.001
    assert other.alpha_ == 0.2
    assert "alpha=0.001" in repr(other)
    assert clone(other).alpha == 0.001


def test_a_row_is_answered_the_same_in_any_company(clf):
    whole = clf.predict_proba(X_TEST)
    np.testing.assert_array_equal(whole[300:], clf.predict_proba(X_TEST[300:]))
    np.testing.assert_array_equal(whole[[7]], clf.predict_proba(X_TEST[[7]]))


@pytest.mark.parametrize("score", ["aps", "raps", conftr.thr_logits])
def test_other_scores(score):
    clf = plain(score=score).fit(X, Y)
    assert covered(clf.predict_set(X_TEST), Y_TEST, clf.classes_) > 0.85


def with_gaps(logits):
    """A score that says nothing of classes below -3."""
    return np.where(logits < -3, np.nan, logits)


def ranks(logits):
    """Whole numbers: the likeliest class has the greatest."""
    return np.argsort(np.argsort(logits, axis=1), axis=1)


def outputs(n, seed=0):
    """Logits of five classes, and classes drawn by them."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, 5))
    p = np.exp(logits)
    drawn = (rng.random((n, 1)) * p.sum(axis=1, keepdims=True) > p.cumsum(axis=1)).sum(axis=1)
    return logits, drawn


def test_a_score_of_ones_own_that_gives_nan_is_refused():
    logits, y = outputs(2000)
    clf = ConformalClassifier(members=Logits(range(5)), score=with_gaps, random_state=0)
    message = "scores of with_gaps must not contain nan; got nan at index .* is -inf"
    with pytest.raises(ValueError, match=message):
        clf.fit(logits, y)
    clf.fit(np.maximum(logits, -3), y)
    with pytest.raises(ValueError, match=message):
        clf.predict_set(logits)
    with pytest.raises(ValueError, match=message):
        clf.p_values(logits)
    assert clf.coverage(np.maximum(logits, -3), y) > 0.88


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.float16])
def test_whole_numbers_are_scores_like_any_other(kind):
    logits, y = outputs(2000)
    new, _ = outputs(2000, seed=1)
    sizes = []
    for score in (lambda x: ranks(x).astype(kind), lambda x: ranks(x).astype(float)):
        clf = ConformalClassifier(0.2, members=Logits(range(5)), score=score, random_state=0)
        clf.fit(logits, y)
        sizes.append(clf.set_size(new))
        np.testing.assert_array_equal(clf.p_values(new) > 0.2, clf.predict_set(new))
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda x: x[:, 0], r"must have shape \(600, 3\), one for each logit; got shape \(600,\)"),
        (lambda x: x.tolist(), "must be an array of NumPy"),
        (lambda x: x + 1j, "must be floating point numbers; got type complex128"),
    ],
)
def test_scores_that_cannot_be(score, message):
    with pytest.raises((ValueError, TypeError), match=message):
        quick(members=FrozenEstimator(GaussianNB().fit(X, Y)), score=score).fit(X, Y)


def test_conftrs_own_scores_stay_themselves():
    clf = quick(score=conftr.thr_probs).fit(X, Y)
    assert clf.score_ is conftr.thr_probs
    assert evidence_of(clf, X_TEST, Y_TEST).score == "thr_probs"
    clf = quick(score=ranks).fit(X, Y)
    assert evidence_of(clf, X_TEST, Y_TEST).score == "ranks"


def table(x, library):
    columns = {f"x{i}": column.tolist() for i, column in enumerate(x.T)}
    columns["x3"] = [None if value > 1 else value for value in columns["x3"]]
    colours = np.array(["red", "blue", None], object)[np.digitize(x[:, 0], [0, 1.5])]
    return library(columns | {"colour": colours.tolist()})


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frames(library):
    clf = plain().fit(table(X, library), pd.Series(Y))
    assert clf.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3", "colour"]
    expected = clf.predict_set(table(X_TEST, library))
    turned = table(X_TEST, pl.DataFrame)[["colour", "x3", "x2", "x1", "x0"]]
    np.testing.assert_array_equal(clf.predict_set(turned), expected)
    with pytest.raises(ValueError, match="X must be a data frame"):
        clf.predict(X_TEST)
    with pytest.raises(ValueError, match="lacks 'colour'"):
        clf.predict(table(X_TEST, library)[["x0", "x1", "x2", "x3"]])
    strange = pl.DataFrame(table(X_TEST, pl.DataFrame)).with_columns(colour=pl.lit("green"))
    with pytest.warns(CategoryWarning, match="column 'colour'"):
        assert np.isfinite(clf.predict_proba(strange)).all()


def test_images():
    bright = RNG.integers(0, 100, (300, 5, 6), dtype=np.uint8)
    y = np.arange(300) % 3
    bright[y == 1, :3] += 100
    bright[y == 2, 3:] += 100
    clf = plain().fit(bright, y)
    assert clf.model_.inputs == (5, 6)
    assert clf.score(bright, y) > 0.9
    with pytest.raises(ValueError, match=r"shape \(n, 5, 6\)|5 features"):
        clf.predict(bright[:, :4])


def test_missing_numbers_and_constant_features():
    x = np.column_stack([X, np.full(600, 3.0)])
    x[::7, 1] = np.nan
    clf = plain().fit(x, Y)
    other = x[:50].copy()
    other[:, 4] = 1e6
    np.testing.assert_array_equal(clf.predict_proba(other), clf.predict_proba(x[:50]))


@pytest.mark.parametrize(
    "y",
    [pl.Series(Y), pd.Series(Y, dtype="category"), pd.Series(Y, dtype="string"), Y.tolist()],
    ids=["polars", "category", "string", "list"],
)
def test_labels_in_any_container(y):
    assert quick().fit(X, y).classes_.tolist() == NAMES.tolist()


@pytest.mark.parametrize("values", [[1.0, 2.5], [True, False], [3, -1], ["a", "b"]])
def test_labels_of_any_type(values):
    y = np.array(values)[(X[:, 0] > 0.5).astype(int)]
    if y.dtype.kind == "f":
        with pytest.raises(ValueError, match="Unknown label type"):
            quick().fit(X, y)
        y = np.round(y)
    clf = quick().fit(X, y)
    assert clf.predict(X).dtype == y.dtype
    assert set(clf.predict(X)) <= set(y)


def test_what_was_chosen_is_told(auto):
    assert [candidate.name for candidate in auto.candidates_[1:]] != []
    assert {candidate.name for candidate in auto.candidates_} == {
        CROSS_ENTROPY,
        RANKED,
        CONFORMAL,
        WISHED,
    }
    assert auto.method_ == auto.candidates_[0].name
    assert auto.why_.startswith("Chosen by mean set size as the wishes weigh it on 120 validation")
    assert (auto.n_train_, auto.n_validation_, auto.n_calibration_) == (360, 120, 120)
    assert auto.batch_size_ == 64
    assert auto.epochs_ == 3
    assert auto.learning_rate_ > 0
    assert auto.thresholds_.shape == (1,)
    best = min(candidate.inefficiency for candidate in auto.tried_)
    assert any(candidate.inefficiency == best for candidate in auto.candidates_)
    for candidate in auto.candidates_:
        same = [tried.inefficiency for tried in auto.tried_ if tried.name == candidate.name]
        assert candidate.inefficiency == min(same)


def rows_of(clf):
    labels = np.unique(Y, return_inverse=True)[1]
    return divide(labels, order(X, clf.seed_), alpha=clf.alpha, seed=clf.seed_)


def leaves(candidate):
    return jax.tree.leaves(candidate.stack.members[0].models[0].fitted[0].params)


def assert_same_models(first, other):
    assert [a.name for a in first.candidates_] == [b.name for b in other.candidates_]
    assert first.tried_ == other.tried_
    for ours, theirs in zip(first.candidates_, other.candidates_, strict=True):
        for a, b in zip(leaves(ours), leaves(theirs), strict=True):
            np.testing.assert_array_equal(a, b)


def test_calibration_examples_neither_train_nor_choose(auto):
    """Other labels and other inputs of theirs: the same models, the same choice, other sets."""
    held = rows_of(auto).calibration
    x, y = X.copy(), Y.copy()
    y[held] = RNG.permutation(y[held])
    x[held] = RNG.normal(size=x[held].shape)
    other = clone(auto)
    estimator_fitting.fit(other, x, y, None, other.alpha, {}, order(X, auto.seed_))
    assert_same_models(auto, other)
    assert other.thresholds_ != auto.thresholds_


def test_validation_examples_choose_but_do_not_train():
    clf = plain(alpha=0.1).set_params(random_state=0).fit(X, Y)
    labels, division = np.unique(Y, return_inverse=True)[1].astype(np.int32), rows_of(clf)
    clf.set_params(method=conftr.CrossEntropy(), model=(), epochs=3)
    results = []
    for _ in range(2):
        results.append(learning.learn(clf, X, labels, division, by=ALL, groups=None, until=np.inf))
        labels[division.validation] = RNG.permutation(labels[division.validation])
    first, other = results
    assert first.candidates[0].inefficiency != other.candidates[0].inefficiency
    pairs = zip(leaves(first.candidates[0]), leaves(other.candidates[0]), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)


def test_few_examples_are_not_compared_on():
    clf = ConformalClassifier(**SMALL).fit(X[:200], Y[:200])
    assert (clf.method_, clf.n_validation_) == (CROSS_ENTROPY, 0)
    assert "too few examples to spare" in clf.why_
    assert clf.candidates_[0].inefficiency is None


def test_any_objective():
    clf = ConformalClassifier(method=conftr.Bel(0.1), **SMALL).fit(X, Y)
    assert (clf.method_, clf.n_validation_, clf.n_train_) == ("Bel", 0, 480)
    assert clf.why_ == "Bel: it was asked for."


def test_the_time_limit():
    messages = []
    clf = ConformalClassifier(
        time_limit=0, progress=lambda *step: messages.append(step), **(SMALL | {"epochs": 40})
    ).fit(X, Y)
    assert messages == [(CROSS_ENTROPY, 1, 41)]  # one epoch, then 40 that were not begun
    assert clf.epochs_ == 1
    assert "more were not trained to the end within 0 s" in clf.why_


def test_what_was_asked_for_is_trained_however_short_the_time():
    settings = SMALL | {"epochs": None, "method": "conftr", "time_limit": 0}
    clf = ConformalClassifier(shape=SHAPE, **settings).fit(X, Y)
    assert clf.method_ == WISHED
    assert clf.epochs_ == 1


def test_a_run_that_ends_beyond_all_numbers_takes_no_other_with_it():
    """Its last step is finite; what that leads to is not."""
    settings = SMALL | {"epochs": 1, "batch_size": 360}
    clf = ConformalClassifier(learning_rate=3e38, **settings).fit(X, Y)
    assert np.isfinite(clf.predict_proba(X)).all()


def test_one_validation_example_is_refused():
    with pytest.raises(ValueError, match="validation_size must be 0 or at least 2 examples"):
        ConformalClassifier(validation_size=1, **SMALL).fit(X, Y)


def test_networks_grow_with_the_data():
    from conftr.classifier.recipes import batch_size_for, epochs_for, model_for, trained_alpha

    widths = [model_for(None, (4,), 3, n).hidden for n in (100, 500, 5000)]
    assert widths == [(), (64,), (128, 128)]
    assert model_for((8,), (4,), 3, 100).hidden == (8,)
    convolutional = model_for(conftr.training.ConvNet, (8, 8), 3, 100)
    assert convolutional == conftr.training.ConvNet((8, 8), 3)
    assert [batch_size_for(10_000, alpha) for alpha in (0.2, 0.1, 0.01)] == [64, 64, 512]
    assert [batch_size_for(n, 0.01) for n in (1, 3, 100, 1000)] == [1, 2, 64, 128]
    assert [batch_size_for(n, 0.1) for n in (60_000, 10**6)] == [128, 1024]
    assert [trained_alpha(0.01, batch) for batch in (8, 64, 128, 1024)] == [
        0.5,
        6 / 64,
        6 / 128,
        0.01,
    ]
    mlp = model_for(None, (4,), 3, 5000)
    assert [epochs_for(n, 64, mlp, (4,)) for n in (500, 50_000, 10**7)] == [50, 12, 5]


def test_calibrating_anew(clf):
    fresh, y = blobs(300, seed=2)
    other = pickle.loads(pickle.dumps(clf)).calibrate(fresh, y, alpha=0.2)
    labels = np.searchsorted(NAMES, y)
    with np.errstate(divide="ignore"):
        scores = conftr.thr(other.candidates_[0].stack.logits(fresh))
    assert other.thresholds_ == [conftr.calibrate(scores, labels, 0.2)]
    assert (other.alpha_, other.alpha, other.n_calibration_) == (0.2, 0.1, 300)
    assert other.calibrate(fresh, y).alpha_ == 0.2
    with pytest.raises(ValueError, match="classes that are not known: 'cow'"):
        other.calibrate(fresh[:1], ["cow"])


REGIONS, REGIONS_TEST = np.array(["n", "s"])[np.arange(600) % 2], np.array(["n", "s", "w"])


def test_groups_have_their_own_thresholds():
    clf = plain().fit(X, Y, groups=pd.Series(REGIONS, name="region"))
    assert clf.calibration_.by == Grouping("column", "region")
    assert clf.calibration_.names == ("n", "s")
    assert clf.thresholds_.shape == (2,)
    groups = np.array(["s", "n"])[np.arange(500) % 2]
    sets = clf.predict_set(X_TEST, groups)
    swapped = clf.predict_set(X_TEST[::-1], groups[::-1])[::-1]
    np.testing.assert_array_equal(sets, swapped)
    with pytest.warns(conftr.CalibrationWarning, match="is of group of 'region' w, x:"):
        assert clf.predict_set(X_TEST[:2], ["w", "x"]).all()
    with pytest.raises(ValueError, match="groups must hold the group of 'region' of every"):
        clf.predict_set(X_TEST)
    with pytest.raises(ValueError, match="pass the group of every row"):
        clf.calibrate(X_TEST, Y_TEST)
    assert clf.calibrate(X_TEST, Y_TEST, groups="all").thresholds_.shape == (1,)
    with pytest.raises(ValueError, match="groups must be None"):
        clf.predict_set(X_TEST, groups)


def test_classes_have_their_own_thresholds():
    clf = plain().fit(X, Y, groups="class")
    assert clf.thresholds_.shape == (3,)
    assert clf.calibrate(X_TEST, Y_TEST).thresholds_.shape == (3,)
    assert clf.predict_set(X_TEST).any(axis=0).all()


def probabilities(rng, n, classes=3):
    labels = rng.choice(classes, n, p=np.arange(1, classes + 1) / sum(range(1, classes + 1)))
    logits = rng.normal(size=(n, classes)) + np.eye(classes)[labels]
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), labels


def test_coverage_is_what_was_promised():
    """Over many calibration sets its mean is 1 - r / (n + 1), r = 3 of n = 29: exactly 0.9."""
    rng, results = np.random.default_rng(0), []
    for _ in range(400):
        clf = ConformalClassifier(members=Probabilities(range(3)))
        clf.calibrate(*probabilities(rng, 29))
        p, y = probabilities(rng, 100)
        results.append(clf.predict_set(p)[np.arange(100), y].mean())
    assert abs(np.mean(results) - 0.9) < 4 * np.std(results) / 20


def test_coverage_through_fit_with_rare_classes():
    """Of the classes that training has met, calibration and new examples must be exchangeable."""
    rng, result, unseen, messages = np.random.default_rng(0), [], [], []
    weights = np.array([0.5, 0.3, 0.1, 0.05, 0.03, 0.02])
    for seed in range(150):
        y = rng.choice(6, 400, p=weights)
        x = rng.normal(size=(400, 3)) + np.eye(6, 3)[y] + 0.5 * y[:, None]
        # Smoothed: probabilities that round to 0 would tie, and ties cover more.
        smooth = GaussianNB(var_smoothing=0.5)
        clf = quick(members=smooth, calibration_size=39, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", conftr.CalibrationWarning)
            clf.fit(x[:50], y[:50])
        known = np.isin(y[50:], clf.classes_)
        result.append(covered(clf.predict_set(x[50:][known]), y[50:][known], clf.classes_))
        messages.append(clf.n_unseen_ / 39)
        unseen.append(1 - known.mean())
    # 39 or fewer calibrate: the rank rounds down, and coverage is a little more than promised.
    assert 0.9 - 4 * np.std(result) / np.sqrt(150) < np.mean(result) < 0.95
    assert np.mean(unseen) > 0.02
    assert abs(np.mean(messages) - np.mean(unseen)) < 4 * np.std(messages) / np.sqrt(150)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_classes_that_calibration_alone_has_are_counted_and_told():
    y = np.where(np.arange(600) % 4 == 0, [f"rare {i}" for i in range(600)], Y)
    with pytest.warns(
        conftr.CalibrationWarning, match=r"and \d+ of 120 calibration rows are"
    ) as caught:
        clf = quick().fit(X, y)
    assert "more, and" in str(caught[0].message)  # and not all of them one by one
    assert clf.n_calibration_ + clf.n_unseen_ == 120
    assert len(clf.classes_) == len(set(y)) - clf.n_unseen_
    with pytest.raises(ValueError, match="every example that was drawn to calibrate is of a class"):
        quick().fit(X[:50], np.arange(50))


def test_copies_of_rows_count_once_and_are_told():
    x, y = np.tile(X, (4, 1)), np.tile(Y, 4)
    with pytest.warns(conftr.CalibrationWarning, match="1,800 rows of 2,400 repeat others"):
        clf = quick(members=KNeighborsClassifier(1)).fit(x, y)
    assert (clf.n_train_, clf.n_calibration_) == (4 * 480, 120)
    # The nearest neighbour knows copies too well: it would never be wrong on them.
    assert covered(clf.predict_set(X_TEST), Y_TEST, clf.classes_) > 0.85
    with pytest.warns(conftr.CalibrationWarning, match="1,500 rows of 2,000 repeat others"):
        clf.calibrate(np.tile(X_TEST, (4, 1)), np.tile(Y_TEST, 4))
    assert clf.n_calibration_ == 500
    frozen = ConformalClassifier(members=FrozenEstimator(GaussianNB().fit(X, Y)))
    with pytest.warns(conftr.CalibrationWarning, match="repeat others"):
        assert frozen.fit(np.tile(X_TEST, (2, 1)), np.tile(Y_TEST, 2)).n_calibration_ == 500


def test_calibrating_on_rows_that_trained_is_told(clf):
    clf = pickle.loads(pickle.dumps(clf))
    with pytest.warns(conftr.CalibrationWarning, match="about 80 % of these rows equal rows that"):
        clf.calibrate(X, Y)
    clf.calibrate(X_TEST, Y_TEST)


def test_a_classifier_of_scikit_learn():
    clf = quick().fit(X, Y)
    assert (clf.method_, clf.n_train_, clf.n_validation_) == ("GaussianNB", 480, 0)
    assert 0.85 < covered(clf.predict_set(X_TEST), Y_TEST, clf.classes_) < 0.95
    np.testing.assert_allclose(
        clf.predict_proba(X_TEST).sum(axis=1), np.ones(len(X_TEST)), rtol=1e-9
    )


def test_a_fitted_classifier_only_calibrates():
    inner = GaussianNB().fit(X, Y)
    clf = ConformalClassifier(members=FrozenEstimator(inner)).fit(X_TEST, Y_TEST)
    assert (clf.n_train_, clf.n_calibration_) == (0, 500)
    np.testing.assert_allclose(clf.predict_proba(X), inner.predict_proba(X), atol=1e-12)


def test_a_fitted_classifier_has_its_classes_in_any_order():
    inner = GaussianNB().fit(X, Y)

    class Turned(ClassifierMixin, BaseEstimator):
        classes_ = inner.classes_[[2, 0, 1]]
        is_fitted_ = True

        def fit(self, x, y):
            return self

        def predict_proba(self, x):
            return inner.predict_proba(x)[:, [2, 0, 1]]

    clf = ConformalClassifier(members=FrozenEstimator(Turned())).fit(X_TEST, Y_TEST)
    assert (clf.predict(X) == inner.predict(X)).all()


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_classifier_that_takes_no_text_is_given_our_encoding(library):
    forest = RandomForestClassifier(10, random_state=0)
    clf = ConformalClassifier(members=forest, random_state=0).fit(table(X, library), Y)
    assert clf.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3", "colour"]
    assert 0.85 < clf.coverage(table(X_TEST, library), Y_TEST) < 0.97
    strange = pl.DataFrame(table(X_TEST, pl.DataFrame)).with_columns(colour=pl.lit("green"))
    assert clf.predict_set(strange).shape == (500, 3)
    with pytest.raises(ValueError, match="lacks 'colour'"):
        clf.predict_set(table(X_TEST, library)[["x0", "x1", "x2", "x3"]])


def test_a_classifier_that_takes_a_frame_is_given_the_frame():
    frame = pd.DataFrame(X, columns=list("wxyz"))
    clf = quick().fit(frame, Y)
    assert isinstance(clf.candidates_[0].stack.reader, AsGiven)
    assert clf.feature_names_in_.tolist() == list("wxyz")
    categories = table(X, pd.DataFrame).astype({"colour": "category"})
    trees = HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype")
    clf = ConformalClassifier(members=trees, random_state=0).fit(categories, Y)
    assert isinstance(clf.candidates_[0].stack.reader, AsGiven)
    with pytest.raises(ValueError, match="NaN"):  # of numbers alone: the classifier's own words
        quick().fit(frame.mask(frame > 1), Y)


@pytest.mark.parametrize("members", ["auto", "one-network", GaussianNB()])
@pytest.mark.parametrize("x", [np.empty((60, 0)), pd.DataFrame(index=range(60))])
def test_rows_without_columns_are_refused_in_our_words(members, x):
    with pytest.raises(ValueError, match="X has no columns to tell classes by"):
        ConformalClassifier(members=members).fit(x, np.arange(60) % 2)


def test_lists_without_columns_are_refused_in_our_words():
    with pytest.raises(ValueError, match=r"X has no columns .* \(shape=\(60, 0\)\)"):
        ConformalClassifier().fit([[]] * 60, np.arange(60) % 2)


WEIGHTS = np.where(Y == "cat", 20.0, 1.0)


@pytest.mark.parametrize(
    "make", [plain, lambda **settings: quick(members=LogisticRegression(), **settings)]
)
def test_weights_are_followed_in_training_and_not_in_calibration(make):
    """Heavy cats are named more often; sets keep the promise for rows as they come."""
    usual = make().fit(X, Y)
    by_row = make().fit(X, Y, sample_weight=pd.Series(WEIGHTS))
    by_class = make(class_weight={"cat": 20}).fit(X, Y)
    cats = [(clf.predict(X_TEST) == "cat").mean() for clf in (usual, by_row, by_class)]
    assert min(cats[1:]) > cats[0] + 0.1
    np.testing.assert_array_equal(by_row.predict_set(X_TEST), by_class.predict_set(X_TEST))
    assert by_row.n_calibration_ == usual.n_calibration_
    for clf in (by_row, by_class):
        law = conftr.coverage_law(clf.n_calibration_, 500, 0.1)
        assert 0.001 < law[round(500 * clf.coverage(X_TEST, Y_TEST))] < 0.999


@pytest.mark.parametrize("members", ["logistic", "extra-trees", "boosted", GaussianNB(), "network"])
@pytest.mark.filterwarnings("ignore::conftr.CalibrationWarning")
def test_rows_of_weight_0_are_as_if_they_were_not_there(members):
    """They train no member, encoding or head; a class that has no others is not learned."""
    make = plain if members == "network" else lambda: quick(members=members)
    far = X + 1e6 * (Y == "eel")[:, None]  # would squeeze the others together in an encoding
    with pytest.warns(conftr.CalibrationWarning, match="no row that trains is of eel"):
        clf = make().fit(far, Y, sample_weight=(Y != "eel") * 1.0)
    assert clf.classes_.tolist() == ["cat", "dog"]
    assert clf.n_train_ + clf.n_validation_ < (Y != "eel").sum()
    law = conftr.coverage_law(clf.n_calibration_, 300, 0.1)
    new = X_TEST[Y_TEST != "eel"][:300], Y_TEST[Y_TEST != "eel"][:300]
    assert 0.0005 < law[round(300 * clf.coverage(*new))] < 0.9995
    assert clf.score(*new) > 0.75


@pytest.mark.parametrize("members", ["one-network", "logistic", "auto", GaussianNB()])
def test_a_single_class_with_weight_is_refused(members):
    """Whatever the seed: it was left to a network to guess before."""
    x, y = np.random.default_rng(0).uniform(size=(10, 10)), np.arange(10) % 2
    for seed in range(5):
        clf = ConformalClassifier(members=members, random_state=seed)
        with pytest.raises(ValueError, match=r"the rows that train .* hold one class only, 1"):
            clf.fit(x, y, sample_weight=y)


def test_balanced_classes_weigh_the_same():
    rare = np.concatenate([np.flatnonzero(Y != "cat"), np.flatnonzero(Y == "cat")[:20]])
    usual, balanced = (
        quick(members=LogisticRegression(), class_weight=weight).fit(X[rare], Y[rare])
        for weight in (None, "balanced")
    )
    cats = [(clf.predict(X_TEST) == "cat").mean() for clf in (usual, balanced)]
    assert cats[0] < 0.2 < cats[1]


def test_equal_weights_change_nothing():
    usual, weighted = plain().fit(X, Y), plain().fit(X, Y, sample_weight=np.full(600, 0.3))
    assert usual.fingerprint_ == weighted.fingerprint_
    np.testing.assert_array_equal(usual.predict_proba(X_TEST), weighted.predict_proba(X_TEST))


@pytest.mark.parametrize(
    ("clf", "params", "words"),
    [
        (plain(), {"sample_weight": [1, 2]}, r"sample_weight must have shape \(600,\)"),
        (plain(), {"sample_weight": -WEIGHTS}, "sample_weight must be finite and not negative"),
        (plain(), {"sample_weight": 0 * WEIGHTS}, "must not all be 0"),
        (plain(), {"weight": WEIGHTS}, "fit takes X, y, groups and sample_weight; got 'weight'"),
        (plain(tune=2), {"sample_weight": WEIGHTS}, "tune must be None where rows or classes have"),
        (plain(class_weight="even"), {}, 'class_weight must be None, "balanced" or'),
        (plain(class_weight={"cow": 2}), {}, "names classes that y does not hold: 'cow'"),
        (
            quick(members=KNeighborsClassifier(), class_weight="balanced"),
            {},
            "fit of KNeighborsClassifier takes no weights",
        ),
        (
            quick(members=FrozenEstimator(GaussianNB().fit(X, Y))),
            {"sample_weight": WEIGHTS},
            "sample_weight is for training members, and none is trained here",
        ),
        (
            quick(members=FrozenEstimator(GaussianNB().fit(X, Y)), shape=SHAPE),
            {"sample_weight": WEIGHTS},
            "sample_weight is for training members, and none is trained here",
        ),
    ],
)
def test_weights_that_cannot_be_followed_are_refused(clf, params, words):
    with pytest.raises((TypeError, ValueError), match=words):
        clf.fit(X, Y, **params)


def test_what_a_classifiers_fit_takes_is_handed_on():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    settings = {"logisticregression__sample_weight": WEIGHTS}
    clf = quick(members=pipeline).fit(X, Y, **settings)
    usual = quick(members=pipeline).fit(X, Y)
    assert (clf.predict(X_TEST) == "cat").mean() > (usual.predict(X_TEST) == "cat").mean() + 0.1


def test_texts():
    words = np.array(["meow purr", "woof bark", "swim slither"])
    labels = np.arange(90) % 3
    inner = make_pipeline(CountVectorizer(), MultinomialNB())
    clf = ConformalClassifier(members=inner, random_state=0)
    clf.fit(words[labels].tolist(), NAMES[labels])
    assert clf.predict_labels(["woof woof"])[0][0] == "dog"


def test_outputs_of_anything():
    rng = np.random.default_rng(0)
    p, y = probabilities(rng, 200)
    p[:50, 0], p[:50, 1:] = 0.0, 0.5
    names = NAMES[::-1]
    by_p = ConformalClassifier(members=Probabilities(names)).fit(p, names[y])
    with np.errstate(divide="ignore"):
        logits = np.maximum(np.log(p), -700)
    by_logits = ConformalClassifier(members=Logits(names)).fit(logits, names[y])
    np.testing.assert_array_equal(by_p.classes_, names)
    np.testing.assert_array_equal(by_p.predict_set(p[60:]), by_logits.predict_set(logits[60:]))
    with pytest.raises(ValueError, match=r"must lie in 0..1; got .* For logits use"):
        by_p.predict(logits)
    with pytest.raises(ValueError, match="one column for each of the 3 classes"):
        by_p.predict(p[:, :2])


@pytest.mark.parametrize(("first", "other"), [("float32", "float64"), ("float64", "float32")])
def test_outputs_of_two_types(first, other):
    """A truth that the outputs rule out, more often than alpha, is in the sets of either type."""
    rng = np.random.default_rng(0)
    p, y = probabilities(rng, 400)
    p[np.arange(0, 400, 4), y[::4]] = 0
    p /= p.sum(axis=1, keepdims=True)
    clf = ConformalClassifier(members=Probabilities(range(3))).fit(p.astype(first), y)
    for kind in (first, other):
        assert clf.predict_set(p.astype(kind))[np.arange(400), y].mean() > 0.9


def few_kinds(n, seed):
    """Rows of 9 kinds only, so that many have equal scores."""
    rng = np.random.default_rng(seed)
    kinds, law = rng.normal(size=(9, 30)), rng.dirichlet(np.ones(3), 9)
    kind = rng.integers(0, 9, n)
    return kinds, kinds[kind], NAMES[[rng.choice(3, p=law[k]) for k in kind]]


@pytest.mark.parametrize(
    "classifier",
    [
        DecisionTreeClassifier(max_depth=3),
        RandomForestClassifier(5, n_jobs=2),
        LogisticRegression(),
        KNeighborsClassifier(20),
        GaussianNB(),
        BernoulliNB(),
        LinearDiscriminantAnalysis(),
        SVC(probability=True),
        HistGradientBoostingClassifier(max_iter=5),
        MLPClassifier((8,), max_iter=10),
    ],
    ids=lambda item: type(item).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_a_wrapped_classifier_gives_a_row_the_same_set_in_any_company(classifier):
    """Where last bits differ they decide nothing, however many examples stand at the threshold."""
    kinds, x, y = few_kinds(400, seed=3)
    inner = clone(classifier).fit(x[:200], y[:200])
    clf = ConformalClassifier(members=FrozenEstimator(inner)).fit(x[200:], y[200:])
    for alpha in (0.1, 0.2, 0.3, 0.45, 0.6):
        alone = np.concatenate([clf.predict_set(row[None], alpha=alpha) for row in kinds])
        together = clf.predict_set(np.concatenate([x, kinds]), alpha=alpha)
        np.testing.assert_array_equal(together[400:], alone)
        by_columns = pd.DataFrame(np.asfortranarray(kinds)).to_numpy()
        np.testing.assert_array_equal(clf.predict_set(by_columns, alpha=alpha), alone)
        assert covered(together[200:400], y[200:], clf.classes_) >= 1 - alpha


def test_a_class_that_was_not_trained_on_is_not_known():
    y = np.array([0] * 20 + [1] * 20)
    x = y[:, None] + RNG.normal(size=(40, 1))
    y[-1] = 2  # which may or may not be among the training examples
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", conftr.CalibrationWarning)
        fitted = [quick(random_state=seed).fit(x, y) for seed in range(20)]
    assert {len(clf.classes_) for clf in fitted} == {2, 3}
    for clf in fitted:
        assert clf.predict_proba(x).shape == (40, len(clf.classes_))


def test_too_little_data_for_alpha():
    with pytest.warns(conftr.CalibrationWarning, match=r"20 calibration examples .* at least 99"):
        clf = quick(alpha=0.01).fit(X[:60], Y[:60])
    assert clf.predict_set(X_TEST).all()
    assert clf.thresholds_ == [-np.inf]


def test_a_class_with_three_examples():
    y = Y.copy().astype("U8")
    y[:3] = "rare"
    clf = quick().fit(X, y)
    assert clf.predict_set(X_TEST).shape == (500, 4)
    with pytest.warns(conftr.CalibrationWarning, match=r"each class; too few for rare \(\d\)"):
        clf.fit(X, y, groups="class")
    assert clf.predict_set(X_TEST)[:, 3].all()


def test_ten_thousand_classes():
    y = np.tile(np.arange(10_000), 2)
    x = np.stack([y % 100, y // 100], axis=1) + RNG.normal(size=(20_000, 2))
    clf = ConformalClassifier(model=(), epochs=1, batch_size=4096, random_state=0)
    clf.set_params(method="cross-entropy", validation_size=0, calibration_size=500)
    with pytest.warns(conftr.CalibrationWarning, match="classes that were learned"):
        clf.fit(x, y)
    sets = clf.predict_set(x[:50])
    assert sets.shape == (50, len(clf.classes_))
    assert len(clf.classes_) > 9900
    with pytest.raises(ValueError, match="avoid or separate classes where there are more than"):
        clf.set_params(method="conftr", shape=conftr.Shape(avoid=[(1, 2)])).fit(x, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0}, "alpha must lie strictly between 0 and 1; got 0"),
        ({"alpha": 1.5}, "alpha must lie strictly between 0 and 1; got 1.5"),
        ({"method": "magic"}, "method must be one of auto, cross-entropy, conftr or an"),
        ({"method": conftr.ConfTr}, "method must be one of"),
        ({"score": "lac"}, "score must be one of thr, aps, raps"),
        ({"shape": conftr.Shape(avoid=[("cat", "cow")]), "method": "auto"}, "no class 'cow'"),
        ({"batch_size": 1000}, "batch_size must be at most 360"),
        ({"epochs": 0}, "epochs must be finite and at least 1"),
        ({"learning_rate": -1}, "learning_rate must be finite and above 0"),
        ({"time_limit": -1}, "time_limit must be finite and at least 0"),
        ({"learning_rate": 1e30}, "no training run went through"),
    ],
)
def test_settings_that_cannot_be(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        plain(**settings).fit(X, Y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(600, "cat"), "y holds one class only, 'cat'"),
        (np.where(np.arange(600) == 5, np.nan, 1.0), "1 are missing, the first in row 5"),
        (np.where(np.arange(600) == 5, None, Y), "1 are missing, the first in row 5"),
        (pd.Series([pd.NA, *Y[1:]], dtype="string"), "1 are missing, the first in row 0"),
        (np.array(["a", 1], object)[np.arange(600) % 2], "one type|Unknown label type"),
        (np.linspace(0, 1, 600), "Unknown label type: continuous"),
        (None, "requires y to be passed"),
        (Y[:10], "inconsistent numbers of samples"),
    ],
)
def test_labels_that_cannot_be(y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        plain().fit(X, y)


@pytest.mark.parametrize(
    ("classes", "message"),
    [(["a"], "two or more"), (["a", "a"], "all different"), (["a", 1], "of one type")],
)
def test_classes_that_cannot_be(classes, message):
    with pytest.raises(ValueError, match=message):
        ConformalClassifier(members=Probabilities(classes)).fit(np.ones((3, 2)) / 2, ["a"] * 3)


def test_a_classifier_without_probabilities():
    with pytest.raises(ValueError, match="classifier must have predict_proba"):
        ConformalClassifier(members=LinearSVC()).fit(X, Y)


def test_a_model_that_is_none():
    with pytest.raises(TypeError, match="model must be None, widths of hidden layers"):
        plain(model="mlp").fit(X, Y)


def test_evidence_is_what_is_predicted(auto):
    shown = evidence_of(auto, X_TEST, Y_TEST, provenance={"file": "blobs"})
    assert [candidate.name for candidate in shown.candidates] == [
        candidate.name for candidate in auto.candidates_
    ]
    for alpha in (0.05, 0.1, 0.3):
        sets = auto.predict_set(X_TEST, alpha=alpha)
        np.testing.assert_array_equal(shown.sets(alpha=alpha), sets)
    np.testing.assert_array_equal(shown.candidates[0].probabilities, auto.predict_proba(X_TEST))
    assert shown.classes == ("cat", "dog", "eel")
    assert shown.group_by is None
    assert shown.wishes == ("shrink 'dog' (weight 2)", "avoid 'cat' and 'eel' (weight 1)")
    np.testing.assert_array_equal(np.argwhere(shown.unwanted), [[0, 2], [2, 0]])
    np.testing.assert_array_equal(shown.shrink, [1, 2, 1])
    # The others are calibrated on the same examples.
    other = shown.sets(candidate=1)
    assert covered(other, Y_TEST, auto.classes_) > 0.8


def test_evidence_counts_examples_of_classes_that_were_not_learned(clf):
    y = np.where(np.arange(500) % 10 == 0, "yak", Y_TEST)
    pictures = np.arange(500, dtype=np.uint8).reshape(500, 1, 1)
    shown = evidence_of(clf, X_TEST, y, pictures=pictures)
    assert (shown.unseen, len(shown.labels)) == (50, 450)
    assert shown.unseen_share == 50 / (500 + 120)
    kept = np.flatnonzero(y != "yak")
    np.testing.assert_array_equal(shown.sets(), clf.predict_set(X_TEST[kept]))
    np.testing.assert_array_equal(shown.pictures, pictures[kept])
    others = X_TEST[y == "yak"]
    for alpha in (0.05, 0.3):
        np.testing.assert_array_equal(
            shown.unseen_sets(alpha), clf.predict_set(others, alpha=alpha)
        )
    np.testing.assert_array_equal(
        shown.unseen_rows.confidence, clf.predict_proba(others).max(axis=1)
    )
    assert evidence_of(clf, X_TEST, Y_TEST).unseen_rows is None
    with pytest.raises(ValueError, match="y holds classes that are not known: 'yak'"):
        evidence_of(clf, X_TEST, np.full(500, "yak"))


@pytest.mark.parametrize("groups", ["class", REGIONS])
def test_evidence_by_group(groups):
    clf = plain().fit(X, Y, groups=groups)
    of_test = None if isinstance(groups, str) else REGIONS_TEST[np.arange(500) % 3]
    shown = evidence_of(clf, X_TEST, Y_TEST, groups=of_test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", conftr.CalibrationWarning)
        expected = clf.predict_set(X_TEST, of_test)
    np.testing.assert_array_equal(shown.sets(), expected)
    assert (shown.kind, shown.noun) == (
        ("class", "class") if of_test is None else ("column", "group")
    )
    assert len(shown.group_names) == len(shown.calibration_sizes) == 3
