"""Weights of rows and classes, and rows drawn in proportion to them."""

import numpy as np
import pytest

from conftr.classifier import weights

ROWS = np.arange(100, 110)


def test_of_classes_by_hand():
    y, classes = np.array(["b", "a", "b", "b"]), np.array(["a", "b", "c"])
    np.testing.assert_allclose(weights.of_classes({"b": 3}, y, classes), [3, 1, 3, 3])
    np.testing.assert_allclose(weights.of_classes("balanced", y, classes), [2 / 3, 2, 2 / 3, 2 / 3])
    assert weights.of_classes(None, y, classes) is None


def test_products():
    one, other = np.array([1.0, 2.0]), np.array([3.0, 0.0])
    assert weights.product(None, None) is None
    np.testing.assert_array_equal(weights.product(one, None), one)
    np.testing.assert_array_equal(weights.product(one, other), [3, 0])
    with pytest.raises(ValueError, match="must not all be 0"):
        weights.product(one, 0 * other)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("value", [1.0, 0.1, 7.0])
def test_equal_weights_draw_every_row_once(value, seed):
    np.testing.assert_array_equal(weights.drawn(ROWS, np.full(10, value), seed), ROWS)


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_drawn_as_often_as_they_weigh(seed):
    own = np.array([1, 2, 1, 1, 3, 1, 0, 1, 1, 1.0])
    found = weights.drawn(ROWS, own, seed)
    np.testing.assert_array_equal(np.bincount(found - 100, minlength=10), own)
    far = weights.drawn(ROWS, np.array([1.0] + [1000.0] * 9), seed)
    counts = np.bincount(far - 100, minlength=10)
    assert len(far) == 40  # not a thousand of each
    assert counts[0] <= 1
    assert set(counts[1:]) <= {4, 5}
