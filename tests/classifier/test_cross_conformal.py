"""cross_conformal=: every row trains and calibrates; by hand, saved, promised, refused."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import conftr
from conftr.classifier import estimator_fitting
from conftr.classifier.cross_conformal import equal_folds
from conftr.classifier.estimator import ConformalClassifier
from conftr.classifier.estimator_rows import in_order
from conftr.classifier.testing import evidence_of
from conftr.jobs import summary
from conftr.members import Forest, Logistic

NAMES = np.array(["cat", "dog", "eel"])


def rows(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) + 1.2 * np.eye(3, 4)[y], NAMES[y]


X, Y = rows(62, 0)
NEW, Y_NEW = rows(300, 1)


def fitted(members=None, x=X, y=Y, **changes):
    members = members or [Forest(trees=5), Logistic()]
    settings = {"members": members, "head": "mean", "random_state": 0, "cross_conformal": 5}
    return ConformalClassifier(**(settings | changes)).fit(x, y)


@pytest.fixture(scope="module")
def clf():
    return fitted()


def test_every_row_is_in_one_fold_but_those_left_over():
    order = np.random.default_rng(0).permutation(62)
    folds = equal_folds(order, 5)
    held = np.concatenate([fold.held for fold in folds])
    assert [len(fold.held) for fold in folds] == [12] * 5
    assert len(set(held)) == 60
    for fold in folds:  # the two that are left over train every time
        assert set(fold.train) == set(range(62)) - set(fold.held)


def test_sets_are_those_of_the_function():
    """A classifier of the user's is fitted once a fold, so that it can be done here again."""
    clf = fitted(GaussianNB())
    folds = equal_folds(in_order(clf, X, Y).one_each(clf.seed_), 5)
    true_scores, places, scores = [], [], []
    for i, fold in enumerate(folds):
        model = GaussianNB().fit(X[fold.train], Y[fold.train])

        def scored(x, model=model):
            return conftr.thr(conftr.logits_from_probs(model.predict_proba(x)))

        truth = np.searchsorted(NAMES, Y[fold.held])
        true_scores.append(scored(X[fold.held])[np.arange(len(truth)), truth])
        places.append(np.full(len(truth), i))
        scores.append(scored(NEW))
    true_scores, places, scores = (
        np.concatenate(true_scores),
        np.concatenate(places),
        np.stack(scores),
    )
    for alpha in (0.1, 0.3):
        expected = conftr.cross_predict_set(true_scores, places, scores, alpha)
        np.testing.assert_array_equal(clf.predict_set(NEW, alpha=alpha), expected)
    p = conftr.cross_p_values(true_scores, places, scores)
    np.testing.assert_allclose(clf.p_values(NEW), p)
    assert clf.n_train_ == 62
    assert clf.n_calibration_ == 60


def test_saved_and_loaded(clf, tmp_path):
    conftr.save(clf, tmp_path / "model")
    same = conftr.load(tmp_path / "model")
    np.testing.assert_array_equal(same.p_values(NEW), clf.p_values(NEW))
    np.testing.assert_array_equal(same.predict_proba(NEW), clf.predict_proba(NEW))
    same.alpha = 0.3
    np.testing.assert_array_equal(same.predict_set(NEW), clf.predict_set(NEW, alpha=0.3))


def test_the_report_states_the_weaker_promise(clf):
    from conftr.report.page import page

    evidence = evidence_of(clf, NEW, Y_NEW)
    np.testing.assert_array_equal(evidence.sets(), clf.predict_set(NEW))
    sure = conftr.cross_promise(60, 5, 0.1)
    assert evidence.sure(0.1) == sure
    promise = dict(summary.lines(summary.summary(evidence)))["Promise"]
    assert f"at least {100 * sure:.1f} % of the sets" in promise
    assert "usually about 90 %" in promise
    text = page(evidence)
    assert f"at least {100 * sure:.1f}&nbsp;%" in text
    assert "took no part in training" not in text


def test_a_class_of_one_row_and_copies_of_rows():
    y = Y.copy()
    y[0] = "yak"  # the models of its fold have never met it
    assert fitted(y=y).predict_set(NEW).shape == (300, 4)
    with pytest.warns(UserWarning, match="repeat others"):
        twice = fitted(x=np.concatenate([X, X]), y=np.concatenate([Y, Y]))
    assert twice.n_train_ == 62


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cross_conformal": 1}, "at least 2"),
        ({"cross_conformal": 2.5}, "whole number"),
        ({"cross_conformal": 63}, "at most the number of different rows, 62"),
        ({"shape": conftr.Shape(avoid=[("cat", "dog")])}, "shape cannot be given"),
        ({"time_limit": 5}, "time_limit cannot be given"),
        ({"calibration_size": 20}, "calibration_size cannot be given"),
        ({"members": "one-network"}, "single network cannot be given"),
        ({"members": FrozenEstimator(GaussianNB().fit(X, Y))}, "fitted already"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        fitted(**changes)


def test_what_comes_after_is_refused_in_words(clf, tmp_path):
    from conftr.exporting.graph import ExportError

    with pytest.raises(ValueError, match="calibrated by the rows that it was fitted on"):
        clf.calibrate(NEW, Y_NEW)
    with pytest.raises(ExportError, match="cross-conformal classifier cannot be exported"):
        conftr.export(clf, tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="groups cannot be given"):
        ConformalClassifier(members=GaussianNB(), cross_conformal=5).fit(X, Y, "class")


def test_p_values_are_not_smoothed(clf, tmp_path):
    conftr.save(clf, tmp_path / "model")
    for known in (clf, conftr.load(tmp_path / "model")):
        with pytest.raises(ValueError, match="u must be None: cross-conformal p-values"):
            known.p_values(NEW, u=np.full(len(NEW), 0.5))


def test_coverage_is_above_the_promise():
    """60 rows in 10 folds at alpha .2: sure is 52 %, usual is 80 %, over draws of all rows."""
    covered = []
    for seed in range(30):
        x, y = rows(60, 2 * seed + 10)
        clf = fitted(LogisticRegression(), x, y, cross_conformal=10, alpha=0.2, random_state=seed)
        covered.append(clf.coverage(*rows(50, 2 * seed + 11)))
    mean, error = np.mean(covered), np.std(covered) / np.sqrt(len(covered))
    assert conftr.cross_promise(60, 10, 0.2) == pytest.approx(0.6 - (1 - 10 / 60) / 11)
    assert mean > conftr.cross_promise(60, 10, 0.2)
    assert abs(mean - 0.8) < 4 * error + 0.03


def test_rows_of_weight_0_train_no_fold(monkeypatch):
    """Neither members nor a head; they calibrate like all others."""
    seen = []
    before = estimator_fitting._stacked

    def stacked(rows, *others):
        seen.append(len(rows.labels))
        return before(rows, *others)

    monkeypatch.setattr(estimator_fitting, "_stacked", stacked)
    weights = (np.arange(62) % 3 > 0) * 1.0
    ConformalClassifier(members=GaussianNB(), cross_conformal=5, random_state=0).fit(
        X, Y, sample_weight=weights
    )
    assert max(seen) <= weights.sum()
