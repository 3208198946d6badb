"""The helpers that each library gets its own version of: alike in all of them."""

import numpy as np
import pytest

from conftr.conformal.arrays import all_finite, any_nan, at_least, hard_sort, sums_before, unsort

SHAPES = [(1,), (1, 1), (7, 1), (1, 9), (400, 130)]


@pytest.mark.parametrize("shape", SHAPES)
def test_sorting_and_putting_back(eager, shape, rng):
    x = rng.integers(-50, 50, shape).astype(np.float32)
    values, order = hard_sort(eager.asarray(x))
    np.testing.assert_array_equal(np.asarray(values), np.sort(x, axis=-1))
    np.testing.assert_array_equal(np.asarray(unsort(values, order)), x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_sorting_loses_no_bit(dtype, shape, rng):
    # Zeros of either sign, the tiniest and the hugest numbers, ties: what a place packed into the
    # same number as the entry could spoil.
    edges = [0.0, -0.0, 1.0, -1.0, np.finfo(dtype).max, np.finfo(dtype).min, 1e-45, -1e-45]
    x = rng.normal(size=shape) * 10.0 ** rng.integers(-44, 38, shape)
    x = np.where(rng.random(shape) < 0.3, rng.choice(edges, shape), x).astype(dtype)
    for view in (x, np.asfortranarray(x), x[..., ::-1]):
        values, order = hard_sort(view)
        np.testing.assert_array_equal(values, np.sort(view, axis=-1))
        np.testing.assert_array_equal(unsort(values, order), view)


def test_sorting_with_infinities(eager):
    # An infinity with a place packed into its bits would be nan, and a nan stands last.
    x = np.array([[3.0, -np.inf, 2.0, np.inf, -np.inf, 0.0]], dtype=np.float32)
    values, order = hard_sort(eager.asarray(x))
    np.testing.assert_array_equal(np.asarray(values), np.sort(x, axis=-1))
    np.testing.assert_array_equal(np.asarray(unsort(values, order)), x)


def test_sums_before_by_hand(eager):
    x = eager.asarray(np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]], dtype=np.float32))
    np.testing.assert_array_equal(np.asarray(sums_before(x)), [[0, 1, 3], [0, 8, 24]])


def test_at_least_by_hand(eager):
    x = eager.asarray(np.array([-2.0, 0.0, 3.0, -np.inf], dtype=np.float32))
    np.testing.assert_array_equal(np.asarray(at_least(x, 0.0)), [0, 0, 3, 0])
    np.testing.assert_array_equal(np.asarray(at_least(x, -1.0)), [-1, 0, 3, -1])


def test_one_bad_number_is_found_and_huge_ones_are_not_bad(eager):
    huge = np.full((3, 4), np.finfo(np.float32).max)
    for value, finite, nan in [(0, True, False), (np.inf, False, False), (np.nan, False, True)]:
        x = huge.copy()
        x[1, 2] = value
        assert all_finite(eager.asarray(x)) is finite
        assert any_nan(eager.asarray(x)) is nan
    both = np.array([np.inf, -np.inf], dtype=np.float32)  # whose sum is nan
    assert not any_nan(eager.asarray(both))
