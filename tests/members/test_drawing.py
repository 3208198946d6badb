"""Rows drawn in proportion to their weights."""

import numpy as np
import pytest

from conftr.members import drawing

ROWS = np.arange(100, 110)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("value", [1.0, 0.1, 7.0])
def test_equal_weights_draw_every_row_once(value, seed):
    np.testing.assert_array_equal(drawing.drawn(ROWS, np.full(10, value), seed), ROWS)


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_drawn_as_often_as_they_weigh(seed):
    weights = np.array([1, 2, 1, 1, 3, 1, 0, 1, 1, 1.0])
    rows = drawing.drawn(ROWS, weights, seed)
    np.testing.assert_array_equal(np.bincount(rows - 100, minlength=10), weights)
    far = drawing.drawn(ROWS, np.array([1.0] + [1000.0] * 9), seed)
    counts = np.bincount(far - 100, minlength=10)
    assert len(far) == 40  # not a thousand of each
    assert counts[0] <= 1
    assert set(counts[1:]) <= {4, 5}


@pytest.mark.parametrize("weights", [[5e-324, 1.0], [1.7e308, 1.7e308]])
def test_weights_may_be_as_small_and_as_large_as_numbers_are(weights):
    rows = drawing.drawn(ROWS, np.resize(weights, 10), 0)
    assert set(rows) == {*ROWS[np.resize(weights, 10) > 0.5]}
