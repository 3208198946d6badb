"""SGD and learning rates by hand."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from conftr.training.optimisers import (
    SGD,
    StepDecay,
    constant,
    cosine,
    factors,
    transformation,
    update,
)


def steps_of(optimiser: Any, gradients: list[float], rates: list[float]) -> list[float]:
    """Where one parameter, 1 at the start, goes."""
    params, path = jnp.array(1.0), []
    memory = transformation(optimiser).init(params)
    for gradient, rate in zip(gradients, rates, strict=True):
        params, memory = update(optimiser, jnp.array(gradient), memory, params, rate)
        path.append(float(params))
    return path


def by_hand(lr: float, mu: float, wd: float, nesterov: bool, gradients: list[float]) -> list[float]:
    theta, m, path = 1.0, 0.0, []
    for gradient in gradients:
        g = gradient + 2 * wd * theta
        m = mu * m + g
        theta -= lr * (g + mu * m if nesterov else m)
        path.append(theta)
    return path


@pytest.mark.parametrize("nesterov", [True, False])
@pytest.mark.parametrize(("mu", "wd"), [(0.9, 0.0005), (0.9, 0.0), (0.0, 0.1)])
def test_momentum_and_weight_decay_by_hand(nesterov: bool, mu: float, wd: float) -> None:
    gradients = [0.3, -1.0, 2.0, 0.1]
    optimiser = SGD(0.05, mu, wd, nesterov=nesterov)
    result = steps_of(optimiser, gradients, [1.0] * 4)
    np.testing.assert_allclose(result, by_hand(0.05, mu, wd, nesterov, gradients), rtol=1e-5)


def test_the_penalty_has_no_half() -> None:
    # 0.0005 * theta^2 has the gradient 0.001 theta.
    (moved,) = steps_of(SGD(1.0, 0.0, 0.0005), [0.0], [1.0])
    assert moved == pytest.approx(1 - 0.001, abs=1e-7)


def test_the_factor_scales_the_step_and_not_the_momentum() -> None:
    first, second = steps_of(SGD(1.0, 0.5, 0.0), [1.0, 0.0], [0.0, 1.0])
    assert first == 1.0
    assert second == pytest.approx(1 - 0.5 * 0.5)  # m = .5 after the second step


def test_any_optax_transformation_is_applied_as_it_is() -> None:
    result = steps_of(optax.adam(0.1), [1.0, 1.0], [7.0, 7.0])
    np.testing.assert_allclose(result, [0.9, 0.8], atol=1e-4)


@pytest.mark.parametrize("epochs", [5, 50, 75, 150])
@pytest.mark.parametrize("steps", [1, 7, 550])
def test_the_learning_rate_falls_after_two_three_and_four_fifths_of_the_epochs(
    epochs: int, steps: int
) -> None:
    result = StepDecay()(np.arange(epochs * steps), epochs * steps).reshape(epochs, steps)
    expected = [0.1 ** sum(5 * epoch >= k * epochs for k in (2, 3, 4)) for epoch in range(epochs)]
    np.testing.assert_allclose(result, np.repeat(expected, steps).reshape(epochs, steps))


def test_schedules_over_ten_steps() -> None:
    at = np.array([0, 4, 5, 9])
    np.testing.assert_allclose(StepDecay(0.5, (0.45,))(at, 10), [1, 1, 0.5, 0.5])
    np.testing.assert_allclose(StepDecay(0.5, ())(at, 10), [1, 1, 1, 1])
    np.testing.assert_allclose(constant(at, 10), [1, 1, 1, 1])
    expected = [1, (1 + np.cos(0.4 * np.pi)) / 2, 0.5, (1 + np.cos(0.9 * np.pi)) / 2]
    np.testing.assert_allclose(cosine(at, 10), expected)
    np.testing.assert_array_equal(
        factors(SGD(schedule=cosine), at, 10), cosine(at, 10).astype("f4")
    )
    np.testing.assert_array_equal(factors(optax.sgd(0.1), at, 10), [1, 1, 1, 1])


@pytest.mark.parametrize(
    "settings", [{"learning_rate": 0.0}, {"momentum": 1.0}, {"weight_decay": -1.0}]
)
def test_settings_out_of_range_are_refused_by_name(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        SGD(**settings)
