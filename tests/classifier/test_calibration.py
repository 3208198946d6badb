"""Kept calibration scores give the thresholds of `calibrate` and the sets of `predict_set`."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import conftr
from conftr.classifier.calibration import ALL, CLASS, Grouping, calibrated, group_values, grouping
from conftr.conformal.quantile import examples_needed

pytestmark = pytest.mark.filterwarnings("ignore::conftr.CalibrationWarning")
N, M, K = 45, 60, 3
RNG = np.random.default_rng(0)
CAL = RNG.integers(0, 20, (N, K)).astype(np.float32) / 8
TEST = RNG.integers(0, 20, (M, K)).astype(np.float32) / 8
Y = RNG.integers(0, K, N)
IDS, TEST_IDS = RNG.integers(0, 3, N), RNG.integers(0, 3, M)
NAMES = np.array(["north", "south", "west"])
REGION = Grouping("column", "region")
ALPHAS = pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.25, 0.5, 0.9])


def kept(**groups):
    return calibrated(CAL, Y, classes=["a", "b", "c"], **groups)


@ALPHAS
def test_one_threshold(alpha):
    tau = conftr.calibrate(CAL, Y, alpha)
    calibration = kept()
    assert calibration.thresholds(alpha) == [tau]
    sets = calibration.sets(TEST, calibration.places(None, M), alpha)
    np.testing.assert_array_equal(sets, conftr.predict_set(TEST, tau))


@ALPHAS
def test_one_for_each_class(alpha):
    taus = conftr.calibrate(CAL, Y, alpha, groups="class")
    calibration = kept(by=CLASS)
    np.testing.assert_array_equal(calibration.thresholds(alpha), taus)
    sets = calibration.sets(TEST, calibration.places(None, M), alpha)
    np.testing.assert_array_equal(sets, conftr.predict_set(TEST, taus))


@ALPHAS
def test_one_for_each_group(alpha):
    taus = conftr.calibrate(CAL, Y, alpha, groups=IDS)
    calibration = kept(by=REGION, groups=NAMES[IDS])
    np.testing.assert_array_equal(calibration.thresholds(alpha), taus)
    sets = calibration.sets(TEST, calibration.places(NAMES[TEST_IDS], M), alpha)
    np.testing.assert_array_equal(sets, conftr.predict_set(TEST, taus[TEST_IDS][:, None]))


@pytest.mark.parametrize("by", [ALL, CLASS, REGION], ids=lambda by: by.kind)
def test_standings_make_the_same_sets(by):
    calibration = kept(by=by, groups=NAMES[IDS] if by == REGION else None)
    places = calibration.places(NAMES[TEST_IDS] if by == REGION else None, M)
    standing = calibration.standing(TEST, places)
    for alpha in (0.05, 0.2, 0.7):
        ranks = np.array([conftr.conformal.quantile.rank(n, alpha) for n in calibration.sizes])
        needed = ranks[None, :] if places is None else ranks[places][:, None]
        np.testing.assert_array_equal(standing >= needed, calibration.sets(TEST, places, alpha))


@pytest.mark.parametrize("by", [ALL, CLASS, REGION], ids=lambda by: by.kind)
def test_p_values_make_the_same_sets(by):
    calibration = kept(by=by, groups=NAMES[IDS] if by == REGION else None)
    places = calibration.places(NAMES[TEST_IDS] if by == REGION else None, M)
    p = calibration.p_values(TEST, places)
    for alpha in (0.05, 0.2, 0.7):
        np.testing.assert_array_equal(p > alpha, calibration.sets(TEST, places, alpha))
    smoothed = calibration.p_values(TEST, places, np.full(M, 0.5))
    assert ((smoothed > 0) & (smoothed < p)).all()


def test_an_unseen_group_has_p_values_of_one():
    calibration = kept(by=REGION, groups=NAMES[IDS])
    p = calibration.p_values(TEST[:2], calibration.places(["east", "north"], 2))
    assert (p[0] == 1).all()
    assert (p[1] < 1).any()


def test_an_unseen_group_gets_every_class():
    calibration = kept(by=REGION, groups=NAMES[IDS])
    places = calibration.places(["east", "north"], 2)
    np.testing.assert_array_equal(places, [-1, 0])
    assert calibration.sets(TEST[:2], places, 0.5)[0].all()


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({}, f"45 calibration examples are too few for alpha = 0.01, .* least {99}"),
        ({"by": CLASS}, r"each class; too few for a \(\d+\), b \(\d+\), c"),
        ({"by": REGION, "groups": NAMES[IDS]}, r"each group of 'region'; too few for north"),
    ],
)
@pytest.mark.filterwarnings("default::conftr.CalibrationWarning")
def test_too_few_examples_are_named(groups, message):
    assert examples_needed(0.01) == 99
    with pytest.warns(conftr.CalibrationWarning, match=message):
        kept(**groups).warn(0.01)


def test_groups_are_plain_values():
    stamp = np.datetime64("2026-01-01", "D")
    assert list(group_values(np.array([stamp, None], object), 2)) == ["2026-01-01", "missing"]
    assert list(group_values([1.5, float("nan")], 2)) == [1.5, "missing"]
    with pytest.raises(ValueError, match=r"each of the 3 rows; got shape \(2,\)"):
        group_values([1, 2], 3)


DAYS = pd.to_datetime(["2026-01-01", "2026-01-02"])
SAME = [
    ([1, 2], ["1", "2"]),
    ([1.0, 2.0], ["1", "2.0"]),
    ([True, False], ["True", "false"]),
    (pd.Series([1, 2]).astype("category"), [" 1", "2 "]),
    (DAYS, ["2026-01-01", "2026-01-02 00:00:00"]),
    (DAYS.date, ["2026-01-01", "2026-01-02"]),
    ([1, None], ["1", None]),
]


@pytest.mark.parametrize(("typed", "of_file"), [*SAME, *(pair[::-1] for pair in SAME)])
def test_groups_are_known_by_their_spelling(typed, of_file):
    calibration = kept(by=Grouping("column"), groups=np.resize(np.asarray(typed), N))
    result = calibration.places(pl.Series(of_file) if of_file[0] == "1" else of_file, 2)
    np.testing.assert_array_equal(result, calibration.places(typed, 2))
    assert sorted(result) == [0, 1]


def test_groups_that_are_spelled_alike_are_one():
    result = kept(by=Grouping("column"), groups=np.array(["2.0", " 1", "1", "2", "1.0"] * 9))
    assert result.names == (" 1", "2")
    assert result.sizes == (27, 18)


def test_what_groups_are_called():
    assert grouping(None, 2)[0] == ALL
    assert grouping("class", 2) == (CLASS, None)
    assert grouping([1, 2], 2)[0] == Grouping("column")
    # A name is a name: none of them means a kind of groups.
    for name in ("clinic", "class", "all", "group", "column"):
        assert grouping(pl.Series(name, [1, 2]), 2)[0] == Grouping("column", name)
    with pytest.raises(ValueError, match='"class", "all" or one group a row'):
        grouping("clinic", 2)
