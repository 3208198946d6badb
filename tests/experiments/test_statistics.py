"""Means and deviations, by hand."""

import numpy as np
import pytest

from conftr.experiments.statistics import spread, summarise


def test_spread_by_hand():
    # Trials' means 2 and 4: mean 3, deviation sqrt(2). Splits' deviations sqrt(2) and 2 sqrt(2).
    result = spread(np.array([[1.0, 3.0], [2.0, 6.0]]))
    assert result["mean"] == 3
    assert result["std_trials"] == pytest.approx(2**0.5, abs=1e-6)
    assert result["std_splits"] == pytest.approx(1.5 * 2**0.5, abs=1e-6)


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
        "coverage_confusion": [[size / 4, 0.0], [0.0, 0.5]],
        "size_histogram": [1, 3, 0],
        "coverage[some]": 0.75,
        "inefficiency[some]": 2 * size,
        "miscoverage[some->]": size / 10,
        "miscoverage[->some]": 0.5,
        "coverage[none]": None,
        "inefficiency[none]": None,
        "miscoverage[none->]": None,
        "miscoverage[->none]": 0.5,
    } | changes


def test_summary_by_hand():
    rows = [
        [measured(1.0), measured(2.0, consistent=False)],
        [measured(3.0), measured(4.0, class_inefficiency=[4.0, 7.0])],
    ]
    result = summarise(rows)
    assert result["inefficiency"]["mean"] == 2.5
    assert result["inefficiency"]["std_trials"] == pytest.approx(2**0.5, abs=1e-6)
    assert result["consistent"] == 0.75
    assert result["class_inefficiency"] == [2.5, 7.0]
    assert result["class_coverage"] == [1.0, None]
    assert result["sizes"] == [0.25, 0.75, 0.0]
    assert result["groups"]["some"]["inefficiency"]["mean"] == 5
    assert result["groups"]["some"]["leaving"]["mean"] == 0.25
    assert result["groups"]["some"]["entering"]["mean"] == 0.5
    assert result["groups"]["none"]["inefficiency"] is None
    assert result["groups"]["none"]["coverage"] is None
    assert result["groups"]["none"]["leaving"] is None
    assert result["groups"]["none"]["entering"]["mean"] == 0.5
    assert result["coverage_confusion"] == [[0.625, 0.0], [0.0, 0.5]]
    assert result["splits"]["inefficiency"] == [[1.0, 2.0], [3.0, 4.0]]


def test_a_matrix_of_many_classes_is_not_kept():
    many = measured(1.0, coverage_confusion=np.zeros((21, 21)))
    assert summarise([[many]])["coverage_confusion"] is None
