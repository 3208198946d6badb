"""Weights of rows and classes."""

import numpy as np
import pytest

from conftr.classifier import weights


def test_of_classes_by_hand():
    y, classes = np.array(["b", "a", "b", "b"]), np.array(["a", "b", "c"])
    np.testing.assert_allclose(weights.of_classes({"b": 3}, y, classes), [3, 1, 3, 3])
    np.testing.assert_allclose(weights.of_classes("balanced", y, classes), [2 / 3, 2, 2 / 3, 2 / 3])
    assert weights.of_classes(None, y, classes) is None


def test_products():
    first, other = np.array([1.0, 2.0]), np.array([3.0, 0.0])
    assert weights.product(None, None) is None
    np.testing.assert_array_equal(weights.product(first, None), first)
    np.testing.assert_array_equal(weights.product(first, other), [3, 0])
    with pytest.raises(ValueError, match="must not all be 0"):
        weights.product(first, 0 * other)
