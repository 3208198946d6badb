"""weights=: calibration under a known shift through the estimator, as the function does it."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB

import conftr
from conftr.classifier import estimator_fitting
from conftr.classifier.estimator import ConformalClassifier
from conftr.classifier.estimator_rows import in_order
from conftr.classifier.estimator_settings import requested_by
from conftr.classifier.testing import evidence_of


def rows(n, old, seed):
    """Rows of whom a share is old, which the last column tells; the old are harder to tell."""
    rng = np.random.default_rng(seed)
    is_old, y = rng.random(n) < old, rng.integers(0, 3, n)
    x = rng.normal(size=(n, 4)) + np.where(is_old, 0.7, 2.5)[:, None] * np.eye(3, 4)[y]
    x[:, 3] = is_old
    return x, y, np.where(is_old, 0.6 / 0.2, 0.4 / 0.8)


X, Y, W = rows(400, 0.2, 0)
NEW, Y_NEW, W_NEW = rows(600, 0.6, 1)
MODEL = FrozenEstimator(GaussianNB().fit(*rows(300, 0.2, 2)[:2]))


def fitted(**more):
    return ConformalClassifier(members=MODEL, random_state=0).fit(X, Y, **more)


def scored(x):
    return conftr.thr(conftr.logits_from_probs(MODEL.predict_proba(x)))


def test_sets_are_those_of_the_function():
    clf = fitted(calibration_weights=W)
    for alpha in (0.05, 0.1, 0.4):
        tau = conftr.weighted_calibrate(scored(X), Y, alpha, weights=W, test_weights=W_NEW)
        expected = conftr.predict_set(scored(NEW), tau[:, None])
        np.testing.assert_array_equal(clf.predict_set(NEW, alpha=alpha, weights=W_NEW), expected)
        assert clf.coverage(NEW, Y_NEW, alpha=alpha, weights=W_NEW) == pytest.approx(
            conftr.coverage(expected, Y_NEW)
        )
    p = clf.p_values(NEW, weights=W_NEW)
    np.testing.assert_array_equal(p > 0.1, clf.predict_set(NEW, alpha=0.1, weights=W_NEW))


def test_equal_weights_are_none():
    plain, weighted = fitted(), fitted(calibration_weights=np.ones(400))
    same = weighted.predict_set(NEW, weights=np.ones(600))
    np.testing.assert_array_equal(same, plain.predict_set(NEW))


def test_by_class_and_saved(tmp_path):
    clf = fitted().calibrate(X, Y, groups="class", weights=W)
    for k in range(3):
        mine = k == Y
        tau = conftr.weighted_calibrate(
            scored(X)[mine], Y[mine], 0.1, weights=W[mine], test_weights=W_NEW
        )
        expected = conftr.predict_set(scored(NEW), tau[:, None])[:, k]
        np.testing.assert_array_equal(clf.predict_set(NEW, weights=W_NEW)[:, k], expected)
    members = conftr.members.Probabilities([0, 1, 2])
    probabilities = MODEL.predict_proba(X), MODEL.predict_proba(NEW)
    clf = ConformalClassifier(members=members, random_state=0)
    clf.fit(probabilities[0], Y, calibration_weights=W)
    conftr.save(clf, tmp_path / "model")
    same = conftr.load(tmp_path / "model")
    np.testing.assert_array_equal(
        same.predict_set(probabilities[1], weights=W_NEW),
        clf.predict_set(probabilities[1], weights=W_NEW),
    )


def test_fit_weighs_the_rows_that_calibrate():
    """Rows that train have no part in it: a weight of theirs changes nothing."""
    clf = ConformalClassifier(members=GaussianNB(), random_state=0)
    first = clf.fit(X, Y, calibration_weights=W).p_values(NEW, weights=W_NEW)
    held = estimator_fitting._divide(clf, Y, in_order(clf, X, Y), requested_by(clf)).calibration
    changed = np.full(400, 7.0)
    changed[held] = W[held]
    again = clf.fit(X, Y, calibration_weights=changed).p_values(NEW, weights=W_NEW)
    np.testing.assert_array_equal(first, again)


def test_the_promise_is_kept_where_plain_calibration_breaks_it():
    """Over 60 draws of calibration and new rows; at least 90 % with weights, far less without."""
    covered = {"weighted": [], "plain": []}
    for seed in range(60):
        x, y, w = rows(200, 0.2, 10 + seed)
        new, truth, w_new = rows(200, 0.6, 1000 + seed)
        clf = ConformalClassifier(members=MODEL, random_state=0)
        clf.fit(x, y, calibration_weights=w)
        covered["weighted"].append(clf.coverage(new, truth, weights=w_new))
        covered["plain"].append(clf.calibrate(x, y).coverage(new, truth))
    error = np.std(covered["weighted"]) / np.sqrt(60)
    assert np.mean(covered["weighted"]) > 0.9 - 3 * error
    assert np.mean(covered["plain"]) < 0.85


def test_refusals(tmp_path):
    clf = fitted(calibration_weights=W)
    with pytest.raises(ValueError, match="weights must be given, one for each row"):
        clf.predict_set(NEW)
    with pytest.raises(ValueError, match=r"weights must have shape \(600,\)"):
        clf.predict_set(NEW, weights=W)
    with pytest.raises(ValueError, match="no report on weighted calibration"):
        evidence_of(clf, NEW, Y_NEW)
    with pytest.raises(ValueError, match="cannot be exported"):
        conftr.export(clf, tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="calibration rows have none"):
        fitted().predict_set(NEW, weights=W_NEW)
    with pytest.raises(ValueError, match="calibration_weights must be finite and not negative"):
        fitted(calibration_weights=-W)
