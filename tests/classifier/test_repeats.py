"""What is said of rows that repeat others, and of rows that a model already knows."""

import warnings

import numpy as np
import pytest

import conftr
from conftr.classifier import repeats
from conftr.classifier.division import order
from conftr.classifier.repeats import KnownRows, sentence, warn_of_copies

ROWS = np.random.default_rng(0).normal(size=(400, 3))


def test_copies_are_counted_in_words():
    assert sentence(order(ROWS, 0)) == ""
    result = sentence(order(np.concatenate([ROWS, ROWS[:1]]), 0))
    assert result.startswith("1 row of 401 repeat")
    with pytest.warns(conftr.CalibrationWarning, match="800 rows of 1,200 repeat others"):
        warn_of_copies(order(np.tile(ROWS, (3, 1)), 0))
    coincidence = np.random.default_rng(0).integers(0, 3, (1000, 3))
    assert "each counts as a row of its own" in sentence(order(coincidence, 0))
    common = np.concatenate([ROWS, ROWS[:2], np.zeros((100, 3))])
    both = sentence(order(common, 0, np.arange(502) % 2))
    assert "2 rows of 502 repeat others" in both
    assert "100 rows of 502 hold what stands far more often" in both


def test_a_few_copies_are_not_worth_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_copies(order(np.concatenate([ROWS, ROWS[:4]]), 0))


@pytest.mark.parametrize("kept", [2**14, 100])
def test_rows_that_a_model_has_learned_from_are_found_again(monkeypatch, kept):
    monkeypatch.setattr(repeats, "_KEPT", kept)
    drawn = order(ROWS, 0)
    known = KnownRows.of(drawn, np.arange(300))
    assert len(known.digests) == min(300, kept)
    assert known.share(drawn.digests[:300]) == 1
    assert known.share(drawn.digests[300:]) == 0
    assert known.share(drawn.digests[:0]) == 0
    assert known.share(drawn.digests) == pytest.approx(0.75, abs=0 if kept > 300 else 0.15)
    with pytest.warns(conftr.CalibrationWarning, match="rows that the model has learned from"):
        known.warn(drawn)


def test_what_stands_far_more_often_than_others_is_no_sign():
    X = np.concatenate([ROWS, np.zeros((100, 3))])
    drawn = order(X, 0, np.arange(500) % 2)
    known = KnownRows.of(drawn, np.arange(500))
    assert known.share(drawn.digests) == 400 / 500
    assert known.share(drawn.digests[400:]) == 0


def test_rows_that_are_equal_by_chance_are_no_sign():
    drawn = order(np.random.default_rng(0).integers(0, 3, (1000, 3)), 0)
    assert KnownRows.of(drawn, np.arange(500)).share(drawn.digests) == 0
