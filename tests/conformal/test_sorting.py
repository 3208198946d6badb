"""The soft sorting network: its laws, and a comparator by hand."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftr.conformal.sorting import mix, partners, soft_sort, unmix

values = st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=40)


def test_one_comparator_by_hand(library):
    # x = (1, 0), eps = .5: sorted (0, 1), w = sigmoid(2 (0 - 1) / .5) = sigmoid(-4).
    w = 1 / (1 + math.exp(4))
    x = np.array([1, 0], dtype=np.float32)
    sorted_softly = library.call(partial(soft_sort, dispersion=0.5), x)
    np.testing.assert_allclose(sorted_softly, [w, 1 - w], rtol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13, 100, 250, 256])
def test_every_wire_meets_a_partner_that_meets_it(n):
    table = partners(n)
    assert table.shape == (sum(range(1, (n - 1).bit_length() + 1)), n)
    for layer in table:
        np.testing.assert_array_equal(layer[layer], np.arange(n))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 8, 12, 31, 33])
def test_the_comparators_are_a_sorting_network(n, rng):
    # Run hard on unsorted keys, smaller to the lower wire: by the 0-1 principle random zeros and
    # ones are enough.
    for _ in range(200):
        x = rng.integers(0, 2, n)
        for layer in partners(n):
            low = np.arange(n) < layer
            x = np.where(low, np.minimum(x, x[layer]), np.maximum(x, x[layer]))
        assert np.all(np.diff(x) >= 0)


@settings(max_examples=50, deadline=None)
@given(values, st.randoms(use_true_random=False), st.floats(0.01, 2))
def test_the_order_of_the_input_does_not_matter(x, random, eps):
    shuffled = random.sample(x, len(x))
    np.testing.assert_allclose(
        soft_sort(np.array(x), eps), soft_sort(np.array(shuffled), eps), atol=1e-9
    )


@settings(max_examples=50, deadline=None)
@given(values, st.floats(-3, 3), st.floats(0.1, 10))
def test_it_follows_shifts_and_scales(x, shift, scale):
    x = np.array(x)
    np.testing.assert_allclose(soft_sort(x + shift, 0.3), soft_sort(x, 0.3) + shift, atol=1e-9)
    np.testing.assert_allclose(
        soft_sort(scale * x, scale * 0.3), scale * soft_sort(x, 0.3), atol=1e-8
    )


@settings(max_examples=50, deadline=None)
@given(values, st.floats(0.01, 2))
def test_it_keeps_the_sum_and_the_range(x, eps):
    result = soft_sort(np.array(x), eps)
    np.testing.assert_allclose(result.sum(), np.sum(x), atol=1e-8)
    assert result.min() >= min(x) - 1e-9
    assert result.max() <= max(x) + 1e-9


def test_small_dispersion_is_the_hard_sort(library, rng):
    x = rng.normal(size=(3, 17)).astype(np.float32)
    soft = library.call(partial(soft_sort, dispersion=1e-6), x)
    np.testing.assert_allclose(soft, np.sort(x, axis=-1), atol=1e-5)


def test_unmix_is_the_transpose_of_mix(library, rng):
    keys = np.sort(rng.normal(size=11)).astype(np.float32)
    eye = np.eye(11, dtype=np.float32)
    there = library.call(lambda k, v: mix(v, k, 0.3), np.tile(keys, (11, 1)), eye)
    back = library.call(lambda k, v: unmix(v, k, 0.3), np.tile(keys, (11, 1)), eye)
    np.testing.assert_allclose(there, back.T, atol=1e-6)
    np.testing.assert_allclose(there.sum(axis=0), np.ones(11), atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 7, 50])
@pytest.mark.parametrize("ties", [False, True])
def test_gradients_of_every_entry_sum_to_one(n, ties, rng):
    x = rng.integers(0, 3, n) if ties else rng.normal(size=n)
    jacobian = jax.jacobian(lambda v: soft_sort(v, 0.1))(jnp.asarray(x, dtype=jnp.float32))
    assert np.all(np.isfinite(jacobian))
    np.testing.assert_allclose(jacobian.sum(axis=1), np.ones(n), atol=1e-4)
