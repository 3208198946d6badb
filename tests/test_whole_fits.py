"""The guarantee through whole fits, on data as people have them.

Copies of rows, classes never met, groups, models that are asked one row at a time; members and a
head, with wishes, by class, by group; a tuned network. CONFTR_FITS=1000 makes as many fits of each
kind, and -s shows figures: mean coverage is then known to a thousandth.
"""

import os
from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

from conftr import ConformalClassifier, Shape
from conftr.classifier import matrices
from conftr.conformal.quantile import rank
from conftr.data.user_files import UserData
from conftr.jobs import fitting, predicting
from conftr.members.forest import RANDOM, Forest
from conftr.members.logistic import Logistic

FITS = int(os.environ.get("CONFTR_FITS", "10"))
ALPHA, NEW = 0.1, 1000
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(0),
    pytest.mark.filterwarnings("ignore::conftr.CalibrationWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The number of unique classes"),
]


class Found(NamedTuple):
    """Coverage of new rows, how many they were, and how many examples calibrated."""

    coverage: float
    rows: int
    calibrated: int

    @property
    def expected(self):
        """Over all calibrations, where no scores tie: 1 - r / (n + 1). Ties can only add to it."""
        return 1 - rank(self.calibrated, ALPHA) / (self.calibrated + 1)

    @property
    def variance(self):
        """Of the share of a Beta(n + 1 - r, r) law that so many rows show."""
        n, p = self.calibrated, self.expected
        return p * (1 - p) * (1 + (n + 1) / self.rows) / (n + 2)


def measured_on(clf, x, y, groups=None):
    """Coverage of new rows of known classes, by class or group where thresholds are."""
    sets = clf.predict_set(x, groups)
    hits = sets[np.arange(len(y)), np.searchsorted(clf.classes_, y)]
    if clf.calibration_.by.kind == "class":
        groups = pl.Series(y)
    if groups is None:
        return [Found(hits.mean(), len(y), clf.calibration_.sizes[0])]
    parts = zip(clf.calibration_.names, clf.calibration_.sizes, strict=True)
    owned = [((groups == name).to_numpy(), size) for name, size in parts]
    return [
        Found(hits[rows_of_group].mean(), rows_of_group.sum(), size)
        for rows_of_group, size in owned
    ]


def examples(n, rng):
    """Five classes of unequal frequency in four columns, easy and hard ones."""
    k = rng.choice(5, n, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    hard = rng.random(n) < 0.5
    x = rng.normal(size=(n, 4)) + np.where(hard, 0.7, 3)[:, None] * np.eye(5, 4)[k]
    return x, k, hard


def frame(x):
    return pl.DataFrame(x, schema=["x0", "x1", "x2", "x3"])


# What `members="auto"` does, on members that are fitted in a moment.
STACK = {"members": [Logistic(), Forest(RANDOM, trees=5, min_leaf=5)]}
ONE_NETWORK = {"method": "cross-entropy", "time_limit": 0}


def fitted(x, y, seed, groups=None, by_class=False, **settings):
    """As `conftr fit` learns from a file."""
    clf = ConformalClassifier(ALPHA, **(settings or ONE_NETWORK), random_state=seed)
    task = fitting.FitTask(clf, by_class)
    return fitting.fit(UserData(x, y, groups, {}), task, lambda *_: None)


def copies(seed):
    """Rows that stand there up to six times, hard ones more often, and trees that know them all."""
    rng = np.random.default_rng(seed)
    x, k, hard = examples(300, rng)
    rows = rng.permutation(np.repeat(np.arange(300), np.where(hard, 6, rng.integers(1, 3, 300))))
    clf = ConformalClassifier(ALPHA, members=ExtraTreesClassifier(50), random_state=seed)
    clf.fit(x[rows], k[rows])
    x, k, _ = examples(NEW, rng)
    known = np.isin(k, clf.classes_)
    return measured_on(clf, x[known], k[known])


def copies_of_a_file(seed):
    """Every row four times, as in a file that was written to four times."""
    rng = np.random.default_rng(seed)
    x, k, _ = examples(300, rng)
    result = fitted(frame(np.tile(x, (4, 1))), np.tile(k, 4), seed)
    assert len(result.evidence.labels) + result.evidence.unseen == 60
    x, k, _ = examples(NEW, rng)
    known = np.isin(k, result.clf.classes_)
    return measured_on(result.clf, frame(x[known]), k[known])


@cache
def strangers_and_their_share(seed):
    """Coverage, and the estimated share of unknown classes less the true one."""
    rng = np.random.default_rng(seed)

    def some(n):
        x, k, _ = examples(n, rng)
        return x, np.where(rng.random(n) < 0.2, rng.integers(100, 10**6, n), k)

    x, k = some(400)
    result = fitted(frame(x), k, seed, **STACK)
    x, k = some(NEW)
    known = np.isin(k, result.clf.classes_)
    share = result.evidence.unseen_share - (1 - known.mean())
    return measured_on(result.clf, frame(x[known]), k[known]), share


def strangers(seed):
    """One row in five is of a class that no other row has; the promise is for the other classes."""
    return strangers_and_their_share(seed)[0]


def groups_called_class(seed):
    """Easy and hard rows, in a column called "class"; one called "group" says the opposite."""
    rng = np.random.default_rng(seed)

    def some(n):
        x, k, hard = examples(n, rng)
        names = pl.Series("class", np.where(hard, "b", "a"))
        return frame(x).with_columns(names, names.alias("group").reverse()), k, names

    x, k, names = some(500)
    clf = fitted(x, k, seed, names).clf
    x, k, _ = some(NEW)
    known = np.isin(k, clf.classes_)
    x = x.filter(known)
    return measured_on(clf, x, k[known], x[predicting.group_column(clf)])


@pytest.fixture(autouse=True)
def short_training_of_heads(monkeypatch):
    """The promise does not rest on how well a head has learned."""
    monkeypatch.setattr(matrices, "_STEPS", 30)


def stacked(seed, n=500, **settings):
    """Members and a head, fitted as from a file; new rows of known classes."""
    rng = np.random.default_rng(seed)
    x, k, _ = examples(n, rng)
    clf = fitted(frame(x), k, seed, **(STACK | settings)).clf
    x, k, _ = examples(NEW, rng)
    known = np.isin(k, clf.classes_)
    return clf, frame(x[known]), k[known]


def members_and_head(seed):
    """The head is chosen among all kinds; a class is in a set if its p-value says so."""
    clf, x, k = stacked(seed, n=900)
    np.testing.assert_array_equal(clf.predict_set(x), clf.p_values(x) > ALPHA)
    return measured_on(clf, x, k)


def members_by_class(seed):
    """A promise for each class, of which the rarest calibrates with about four examples."""
    clf, x, k = stacked(seed, by_class=True)
    return measured_on(clf, x, k)[:3]  # rarer ones are not in every file


def members_by_group(seed):
    """A promise for easy and for hard rows."""
    rng = np.random.default_rng(seed)

    def some(n):
        x, k, hard = examples(n, rng)
        return frame(x), k, pl.Series("class", np.where(hard, "b", "a"))

    x, k, names = some(500)
    clf = fitted(x, k, seed, names, **STACK).clf
    x, k, names = some(NEW)
    known = np.isin(k, clf.classes_)
    return measured_on(clf, x.filter(known), k[known], names.filter(known))


def members_with_wishes(seed):
    """A head that learns to keep two classes apart, its weight found at the knee."""
    return measured_on(*stacked(seed, shape=Shape(avoid=[(0, 1), (1, 0)])))


def members_on_copies(seed):
    """Rows that stand there up to six times, in one fold each."""
    rng = np.random.default_rng(seed)
    x, k, hard = examples(160, rng)
    rows = rng.permutation(np.repeat(np.arange(160), np.where(hard, 6, rng.integers(1, 3, 160))))
    clf = fitted(frame(x[rows]), k[rows], seed, **STACK).clf
    x, k, _ = examples(NEW, rng)
    known = np.isin(k, clf.classes_)
    return measured_on(clf, frame(x[known]), k[known])


def tuned(seed):
    """A network whose settings were searched on rows that train."""
    settings = {"members": "auto", "method": "conftr", "model": (), "epochs": 2, "tune": 2}
    clf, x, k = stacked(seed, n=1200, **settings)
    assert clf.tuning_["rows"] > 0  # with fewer rows nothing is searched
    return measured_on(clf, x, k)


MODELS = [
    LogisticRegression(),
    LinearDiscriminantAnalysis(),
    GaussianNB(),
    MLPClassifier((8,), max_iter=20),
    ExtraTreesClassifier(10, max_depth=3),
]


class AskedAlone:
    """A classifier that is asked about one row at a time; equal rows once."""

    def __init__(self, clf):
        self.clf, self.classes_, self.calibration_ = clf, clf.classes_, clf.calibration_

    def predict_set(self, x, groups=None):
        kinds, kind = np.unique(x, axis=0, return_inverse=True)
        alone = np.concatenate([self.clf.predict_set(row[None]) for row in kinds])[kind]
        np.testing.assert_array_equal(alone, self.clf.predict_set(x))
        return alone


def asked_alone(seed):
    """Rows of few kinds, so that many tie, and a wrapped model that is asked one row at a time."""
    rng = np.random.default_rng(seed)
    kinds, law = rng.normal(size=(12, 30)), rng.dirichlet(np.full(4, 0.5), 12)

    def some(n):
        kind = rng.integers(0, 12, n)
        return kinds[kind], (rng.random(n)[:, None] > law.cumsum(1)[kind, :-1]).sum(1)

    clf = ConformalClassifier(ALPHA, members=MODELS[seed % len(MODELS)], random_state=seed)
    clf.fit(*some(400))
    x, k = some(NEW)
    known = np.isin(k, clf.classes_)
    return measured_on(AskedAlone(clf), x[known], k[known])


KINDS = [
    copies,
    copies_of_a_file,
    strangers,
    groups_called_class,
    asked_alone,
    members_and_head,
    members_by_class,
    members_by_group,
    members_with_wishes,
    members_on_copies,
    tuned,
]


@pytest.mark.parametrize("kind", KINDS)
def test_new_data_are_covered_as_promised(kind):
    for item in zip(*[kind(seed) for seed in range(FITS)], strict=True):
        coverage = np.mean([fit.coverage for fit in item])
        expected = np.mean([fit.expected for fit in item])
        band = 4 * np.sqrt(np.sum([fit.variance for fit in item])) / FITS
        print(
            f"{kind.__name__}: {FITS} fits, coverage {coverage:.4f}; "
            f"without ties {expected:.4f} ± {band:.4f}"
        )
        assert coverage > expected - band
        assert coverage < 1 - ALPHA + 0.06


def test_the_share_of_unknown_classes_is_estimated_without_bias():
    shares = [strangers_and_their_share(seed)[1] for seed in range(FITS)]
    mean, noise = np.mean(shares), np.std(shares) / np.sqrt(FITS)
    print(f"share of unknown classes, estimated less true: {mean:.4f} ± {noise:.4f}")
    assert abs(mean) < 4 * noise
