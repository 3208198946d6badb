"""Standings make the sets of `calibrate` and `predict_set`, at every alpha, to the last rank."""

import numpy as np
import pytest

import conftr
from conftr.classifier.evidence import Evidence, ShownCandidate, standing

pytestmark = pytest.mark.filterwarnings("ignore::conftr.CalibrationWarning")
N, M, K = 39, 50, 4
RNG = np.random.default_rng(0)
# Few distinct scores, so that ties between calibration and test are common.
CAL, TEST = RNG.integers(0, 12, (N, K)) / 4.0, RNG.integers(0, 12, (M, K)) / 4.0
Y_CAL, Y_TEST = RNG.integers(0, K, N), RNG.integers(0, K, M)
OWN = CAL[np.arange(N), Y_CAL]
ALPHAS = [0.01, 0.024, 0.025, 0.1, 0.3, 0.5, 0.975, 0.99]


def evidence(standings, **groups):
    candidate = ShownCandidate("thr", "", standings, np.full((M, K), 1 / K))
    return Evidence(tuple("abcd"), 0.1, "thr", Y_TEST, (candidate,), **groups)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_one_threshold_for_all(alpha):
    shown = evidence(
        standing(TEST, OWN),
        groups=np.zeros(M, int),
        group_names=("all",),
        calibration_sizes=(N,),
    )
    expected = conftr.predict_set(TEST, conftr.calibrate(CAL, Y_CAL, alpha))
    np.testing.assert_array_equal(shown.sets(alpha=alpha), expected)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_one_threshold_for_each_group_of_examples(alpha):
    of_cal, of_test = RNG.integers(0, 2, N), RNG.integers(0, 2, M)
    standings = np.where(
        of_test[:, None] == 0,
        standing(TEST, OWN[of_cal == 0]),
        standing(TEST, OWN[of_cal == 1]),
    )
    shown = evidence(
        standings,
        groups=of_test,
        group_names=("left", "right"),
        calibration_sizes=tuple(np.bincount(of_cal)),
    )
    taus = conftr.calibrate(CAL, Y_CAL, alpha, groups=of_cal)
    expected = conftr.predict_set(TEST, taus[of_test][:, None])
    np.testing.assert_array_equal(shown.sets(alpha=alpha), expected)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_one_threshold_for_each_class(alpha):
    columns = [standing(TEST[:, k], OWN[k == Y_CAL]) for k in range(K)]
    shown = evidence(
        np.stack(columns, axis=1),
        groups=None,
        group_names=tuple("abcd"),
        calibration_sizes=tuple(np.bincount(Y_CAL, minlength=K)),
    )
    taus = conftr.calibrate(CAL, Y_CAL, alpha, groups="class")
    np.testing.assert_array_equal(shown.sets(alpha=alpha), conftr.predict_set(TEST, taus))


def test_by_hand():
    """Calibration scores 1 and 3: a score of 2 stands above one of them, 3 above both."""
    np.testing.assert_array_equal(
        standing(np.array([[0, 1, 2, 3]]), np.array([3, 1])), [[0, 1, 1, 2]]
    )
