"""Layers by hand, initial weights by their law, and what is refused."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import correlate2d

from conftr.training.models import (
    MLP,
    BatchNorm,
    ConvNet,
    Convolution,
    Dense,
    Running,
    linear,
)


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


def test_dense_is_a_product_and_a_bias(x: np.ndarray) -> None:
    layer = Dense(jnp.arange(8.0).reshape(2, 4), jnp.array([1.0, -1.0]))
    expected = x @ np.arange(8).reshape(2, 4).T + [1, -1]
    np.testing.assert_allclose(layer(x), expected, rtol=1e-5, atol=1e-5)


def test_batch_norm_in_training_uses_the_batch_and_moves_the_running_statistics(
    x: np.ndarray,
) -> None:
    layer = BatchNorm(jnp.full(4, 2.0), jnp.full(4, 3.0))
    out, running = layer(x, Running(jnp.ones(4), jnp.full(4, 4.0)), True)
    mean, var = x.mean(0), x.var(0)
    np.testing.assert_allclose(out, 2 * (x - mean) / np.sqrt(var + 1e-5) + 3, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(running.mean, 0.9 + 0.1 * mean, rtol=1e-5)
    np.testing.assert_allclose(running.var, 3.6 + 0.1 * var, rtol=1e-5)


def test_batch_norm_afterwards_uses_the_running_statistics_and_keeps_them(x: np.ndarray) -> None:
    layer, running = BatchNorm(jnp.ones(4), jnp.zeros(4)), Running(jnp.ones(4), jnp.full(4, 4.0))
    out, kept = layer(x, running, False)
    np.testing.assert_allclose(out, (x - 1) / np.sqrt(4 + 1e-5), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(kept.mean, running.mean)
    np.testing.assert_array_equal(kept.var, running.var)


def test_batch_norm_of_images_shares_statistics_over_places() -> None:
    images = np.random.default_rng(0).normal(3.0, 2.0, (5, 4, 3, 2)).astype(np.float32)
    layer = BatchNorm(jnp.ones(2), jnp.zeros(2))
    out, _ = layer(images, Running(jnp.zeros(2), jnp.ones(2)), True)
    np.testing.assert_allclose(np.mean(out, (0, 1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(np.std(out, (0, 1, 2)), 1, atol=1e-4)


def test_convolution_is_a_cross_correlation_of_the_same_size() -> None:
    rng = np.random.default_rng(0)
    images, weight = rng.normal(size=(2, 5, 6, 3)), rng.normal(size=(3, 3, 3, 2))
    layer = Convolution(jnp.asarray(weight, jnp.float32), jnp.array([0.5, 0.0]))
    out = layer(jnp.asarray(images, jnp.float32))
    by_hand = sum(
        correlate2d(images[1, :, :, c], weight[:, :, c, 0], mode="same") for c in range(3)
    )
    np.testing.assert_allclose(out[1, :, :, 0], by_hand + 0.5, rtol=1e-4, atol=1e-4)


def test_mlp_is_dense_norm_relu_then_dense(x: np.ndarray) -> None:
    model = MLP((2, 2), 3, hidden=(5,))
    params, state = model.init(jax.random.key(1))
    logits, (running,) = model.apply(params, state, x.reshape(6, 2, 2), True)
    first, last = params.hidden[0].product, params.logits
    h = x @ np.asarray(first.weight).T
    h = np.maximum((h - h.mean(0)) / np.sqrt(h.var(0) + 1e-5), 0)
    np.testing.assert_allclose(logits, h @ np.asarray(last.weight).T, rtol=1e-4, atol=1e-4)
    assert not np.array_equal(running.mean, state[0].mean)


def test_linear_has_no_hidden_layer_and_no_state(x: np.ndarray) -> None:
    model = linear((4,), 3)
    params, state = model.init(jax.random.key(0))
    assert state == ()
    logits, _ = model.apply(params, state, x, True)
    np.testing.assert_allclose(logits, x @ np.asarray(params.logits.weight).T, rtol=1e-5, atol=1e-6)


def test_conv_net_gives_logits_and_gradients() -> None:
    model = ConvNet((8, 9, 3), 4, channels=(3, 5))
    params, state = model.init(jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (6, 8, 9, 3))

    @jax.jit
    def total(params: Any) -> Any:
        logits, moved = model.apply(params, state, x, True)
        return jnp.sum(logits**2), (logits, moved)

    gradients, (logits, moved) = jax.grad(total, has_aux=True)(params)
    assert logits.shape == (6, 4)
    assert [running.mean.shape for running in moved] == [(3,), (5,)]
    # A bias before a batch norm changes nothing; everything else must have a gradient.
    weights = [block.product.weight for block in gradients.hidden] + [gradients.logits.weight]
    assert all(float(jnp.abs(g).max()) > 1e-4 for g in weights)


def test_a_conv_net_halves_the_image_at_each_stage_and_leaves_out_an_odd_edge() -> None:
    model = ConvNet((5, 7), 2, channels=(3,))
    params, state = model.init(jax.random.key(0))
    x = np.random.default_rng(0).normal(size=(2, 5, 7)).astype(np.float32)
    h = np.maximum(params.hidden[0].product(x[..., None]) / np.sqrt(1 + 1e-5), 0)
    pooled = [h[:, i : i + 2, j : j + 2].max((1, 2)) for i in (0, 2) for j in (0, 2, 4)]
    expected = np.concatenate(pooled, axis=1) @ np.asarray(params.logits.weight).T
    logits, _ = model.apply(params, state, x, False)
    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("model", [MLP((400,), 50, (300,)), ConvNet((4, 4, 40), 10, (50,))])
def test_weights_are_truncated_normals_scaled_by_the_fan_in(model: MLP | ConvNet) -> None:
    params, _ = model.init(jax.random.key(0))
    weight = np.asarray(params.hidden[0].product.weight)
    fan_in = 400 if isinstance(model, MLP) else 9 * 40
    scaled = weight * np.sqrt(fan_in)
    assert np.abs(scaled).max() <= 2
    assert np.abs(scaled).max() > 1.9
    # The standard deviation of a standard normal cut off at 2 is 0.8796.
    assert scaled.std() == pytest.approx(0.8796, rel=0.02)
    assert scaled.mean() == pytest.approx(0, abs=0.02)
    assert not np.any(params.hidden[0].product.bias)
    assert not np.any(params.logits.bias)


def test_a_model_is_a_value() -> None:
    assert MLP((4,), 3) == MLP((4,), 3)
    assert hash(ConvNet((8, 8), 3)) == hash(ConvNet((8, 8), 3))
    assert MLP((4,), 3) != MLP((4,), 3, hidden=(64,))
    with pytest.raises(dataclasses.FrozenInstanceError):
        MLP((4,), 3).classes = 4


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MLP((4,), 0), "classes of MLP must be positive"),
        (lambda: MLP((4,), 3, hidden=[64]), "hidden of MLP .* in a tuple"),
        (lambda: ConvNet((8,), 3), "inputs must be \\(height, width\\)"),
        (lambda: ConvNet((3, 8), 3), "at least 4 pixels high and wide"),
    ],
)
def test_sizes_that_make_no_network_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()
