"""The guarantee through whole fits, on data as people have them: copies, classes never met, groups.

CONFTR_FITS=1000 makes as many fits of each kind; the mean coverage of new data is then known to a
few thousandths.
"""

import os

import jax
import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from conftr import ConformalClassifier
from conftr.data.own import Own
from conftr.jobs import fitting, predicting

FITS = int(os.environ.get("CONFTR_FITS", "10"))
ALPHA, NEW = 0.1, 1000
pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]


def examples(n, rng):
    """Five classes of unequal frequency in four columns, easy and hard ones."""
    k = rng.choice(5, n, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    hard = rng.random(n) < 0.5
    x = rng.normal(size=(n, 4)) + np.where(hard, 0.7, 3)[:, None] * np.eye(5, 4)[k]
    return x, k, hard


def covered(sets, y, classes):
    return sets[np.arange(len(y)), np.searchsorted(classes, y)]


def fitted(x, y, seed, groups=None, **asked):
    """As `conftr fit` learns from a file."""
    frame = pl.DataFrame(x, schema=[f"x{i}" for i in range(x.shape[1])])
    if groups is not None:
        frame = frame.with_columns(groups, groups.alias("group").reverse())
    own = Own(frame, y, groups, {})
    settings = {"method": "cross-entropy", "time_limit": 0, "random_state": seed}
    task = fitting.FitTask(ConformalClassifier(ALPHA, **settings), **asked)
    return fitting.fit(own, task, lambda *_: None)


def copies(seed):
    """Rows that stand there up to six times, hard ones more often, and trees that know them all."""
    rng = np.random.default_rng(seed)
    x, k, hard = examples(300, rng)
    rows = rng.permutation(np.repeat(np.arange(300), np.where(hard, 6, rng.integers(1, 3, 300))))
    clf = ConformalClassifier(ALPHA, members=ExtraTreesClassifier(50), random_state=seed)
    clf.fit(x[rows], k[rows])
    x, k, _ = examples(NEW, rng)
    known = np.isin(k, clf.classes_)
    return [covered(clf.predict_set(x[known]), k[known], clf.classes_).mean()]


def copies_of_a_file(seed):
    """Every row four times, as in a file that was written to four times."""
    rng = np.random.default_rng(seed)
    x, k, _ = examples(300, rng)
    result = fitted(np.tile(x, (4, 1)), np.tile(k, 4), seed)
    assert len(result.evidence.labels) + result.evidence.unseen == 60
    x, k, _ = examples(NEW, rng)
    clf, known = result.clf, np.isin(k, result.clf.classes_)
    frame = pl.DataFrame(x[known], schema=clf.feature_names_in_.tolist())
    return [covered(clf.predict_set(frame), k[known], clf.classes_).mean()]


def strangers(seed):
    """One row in five is of a class that no other row has; the promise is for the other classes."""
    rng = np.random.default_rng(seed)

    def some(n):
        x, k, _ = examples(n, rng)
        return x, np.where(rng.random(n) < 0.2, rng.integers(100, 10**6, n), k)

    if seed % 50 == 0:
        jax.clear_caches()  # every fit has other classes, and so a program of its own
    x, k = some(400)
    result = fitted(x, k, seed)
    clf = result.clf
    x, k = some(NEW)
    known = np.isin(k, clf.classes_)
    frame = pl.DataFrame(x[known], schema=clf.feature_names_in_.tolist())
    # That the share of unknown classes is estimated without bias is asked like a coverage of 0.9.
    unbiased = 0.9 + result.evidence.unseen_share - (1 - known.mean())
    return [covered(clf.predict_set(frame), k[known], clf.classes_).mean(), unbiased]


def groups_called_class(seed):
    """Easy and hard rows, in a column called "class"; one called "group" says the opposite."""
    rng = np.random.default_rng(seed)
    x, k, hard = examples(500, rng)
    names = pl.Series("class", np.where(hard, "b", "a"))
    clf = fitted(x, k, seed, names).clf
    x, k, hard = examples(NEW, rng)
    known = np.isin(k, clf.classes_)
    names = pl.Series("class", np.where(hard, "b", "a"))
    frame = pl.DataFrame(x, schema=["x0", "x1", "x2", "x3"]).with_columns(
        names, names.alias("group").reverse()
    )
    column = predicting.group_column(clf)
    hits = covered(
        clf.predict_set(frame.filter(known), frame[column].filter(known)), k[known], clf.classes_
    )
    return [hits[~hard[known]].mean(), hits[hard[known]].mean()]


@pytest.mark.filterwarnings("ignore::conftr.CalibrationWarning")
@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("kind", [copies, copies_of_a_file, strangers, groups_called_class])
def test_new_data_are_covered_as_promised(kind):
    found = np.array([kind(seed) for seed in range(FITS)])
    mean, noise = found.mean(axis=0), found.std(axis=0) / np.sqrt(FITS)
    print(f"{kind.__name__}: {FITS} fits, coverage {mean.round(4)} ± {noise.round(4)}")
    assert (mean > 1 - ALPHA - 4 * noise).all()
    assert (mean < 1 - ALPHA + 0.05).all()
