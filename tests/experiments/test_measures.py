"""Means and deviations, by hand."""

import numpy as np
import pytest

from conftr.experiments.measures import spread, summarise


def test_spread_by_hand():
    # Trials' means 2 and 4: mean 3, deviation sqrt(2). Splits' deviations sqrt(2) and 2 sqrt(2).
    found = spread(np.array([[1.0, 3.0], [2.0, 6.0]]))
    assert found["mean"] == 3
    assert found["std_trials"] == pytest.approx(2**0.5, abs=1e-6)
    assert found["std_splits"] == pytest.approx(1.5 * 2**0.5, abs=1e-6)


def test_one_trial_or_split_has_no_deviation():
    assert spread(np.array([[1.0]])) == {"mean": 1, "std_trials": None, "std_splits": None}


def measured(size, **changes):
    return {
        "n_test": 4,
        "inefficiency": size,
        "coverage": 0.5,
        "accuracy": 0.25,
        "consistent": True,
        "class_inefficiency": [size, None],
        "class_coverage": [1.0, None],
        "size_histogram": [1, 3, 0],
        "coverage[some]": 0.75,
        "inefficiency[some]": 2 * size,
        "coverage[none]": None,
        "inefficiency[none]": None,
    } | changes


def test_summary_by_hand():
    rows = [
        [measured(1.0), measured(2.0, consistent=False)],
        [measured(3.0), measured(4.0, class_inefficiency=[4.0, 7.0])],
    ]
    found = summarise(rows)
    assert found["inefficiency"]["mean"] == 2.5
    assert found["inefficiency"]["std_trials"] == pytest.approx(2**0.5, abs=1e-6)
    assert found["consistent"] == 0.75
    assert found["class_inefficiency"] == [2.5, 7.0]
    assert found["class_coverage"] == [1.0, None]
    assert found["sizes"] == [0.25, 0.75, 0.0]
    assert found["groups"]["some"]["inefficiency"]["mean"] == 5
    assert found["groups"]["none"] == {"inefficiency": None, "coverage": None}
    assert found["splits"]["inefficiency"] == [[1.0, 2.0], [3.0, 4.0]]
