"""Many fits in one process take no more memory than a few.

CONFTR_FITS=1000 makes it so many fits, after a quarter of which nothing may grow; -s shows figures.
"""

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

import conftr
from conftr.classifier import matrices
from conftr.members.boosted import Boosted, is_here
from conftr.members.forest import Forest
from conftr.members.logistic import Logistic
from conftr.members.network import Network
from conftr.training import programs

MAPS = Path("/proc/self/maps")
FITS = int(os.environ.get("CONFTR_FITS", "0"))
SHAPE = conftr.Shape(avoid=[(0, 1)])
LEAST = 64  # memory maps; a fit that left its programs behind would add more than twice as many

pytestmark = [
    pytest.mark.skipif(not MAPS.exists(), reason="memory maps are told by Linux alone"),
    pytest.mark.timeout(0 if FITS else 300),
    pytest.mark.filterwarnings("ignore::conftr.CalibrationWarning"),
]


def equal_settings(_):
    """The same data and settings in every fit."""
    return 0.1, load_wine(return_X_y=True)


def other_settings(i):
    """Another alpha in every fit, and another number of columns and classes than in the last."""
    rng, columns, classes = np.random.default_rng(i), 2 + i % 15, 2 + i % 7
    y = np.arange(150) % classes
    return 0.1 + i / 10_000, (rng.normal(size=(150, columns)) + np.eye(classes, columns)[y] * 3, y)


def one_network(alpha, seed):
    return conftr.ConformalClassifier(alpha, method="conftr", epochs=1, random_state=seed)


def members_and_head(alpha, seed):
    """All kinds of members that `fit` has by itself, small, and heads trained in three ways."""
    network = Network(hidden=(8,), steps=20)
    members = [Logistic(), Forest(trees=3), network, *([Boosted(rounds=3)] if is_here() else [])]
    return conftr.ConformalClassifier(alpha, members=members, random_state=seed, shape=SHAPE)


def fit(make, settings, i):
    alpha, (x, y) = settings(i)
    make(alpha, i).fit(x, y).predict_set(x[:5])


# Every kind of member and head is compiled for each of several shapes.
MAKERS = [one_network, pytest.param(members_and_head, marks=pytest.mark.slow)]


def taken():
    """Memory maps of this process, and megabytes of memory that it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return len(MAPS.read_text().splitlines()), pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measured(make, settings, fits):
    readings, name = [], f"{make.__name__}, {settings.__name__}"
    for i in range(fits):
        fit(make, settings, i)
        readings.append(taken())
        if (i + 1) % max(1, fits // 20) == 0:
            print(
                f"{name}: {i + 1} fits, {readings[-1][0]} maps, {readings[-1][1]:.0f} MB",
                flush=True,
            )
    return np.array(readings)


@pytest.mark.parametrize("make", MAKERS)
def test_fits_with_equal_settings_leave_nothing_behind(make, monkeypatch):
    monkeypatch.setattr(matrices, "_STEPS", 10)
    maps, memory = measured(make, equal_settings, FITS or 6).T
    assert maps[-1] - maps[len(maps) // 4] < LEAST
    if FITS:
        assert memory[-1] < 1.1 * memory[len(memory) // 4]


@pytest.mark.parametrize("make", MAKERS)
def test_fits_with_other_settings_leave_no_more_programs_than_are_kept(make, monkeypatch):
    monkeypatch.setattr(matrices, "_STEPS", 10)
    if not FITS:  # a few programs are kept, so that a few fits show it
        monkeypatch.setattr(programs, "_program", lru_cache(4)(programs._program.__wrapped__))
    maps, memory = measured(make, other_settings, FITS or 4).T
    assert maps[-1] - maps[max(1, FITS // 4)] < LEAST
    if FITS:
        assert memory[-1] < 1.1 * memory[len(memory) // 4]
