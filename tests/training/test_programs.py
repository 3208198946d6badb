"""Compiled programs: shared by equal settings, let go when others came since."""

import gc
import warnings
import weakref
from contextlib import contextmanager

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import conftr
from conftr.training import Plan, TrainingSet, fit, predict_logits, programs
from conftr.training.models import linear
from conftr.training.programs import on_device, shared

X = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
Y = np.arange(64) % 3


@contextmanager
def compiling():
    """How many programs were compiled, or read from disk, so far."""
    seen = []

    def listen(event, _seconds, **_):
        if event.endswith("backend_compile_duration"):
            seen.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield seen
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def scaled(factor, x):
    return x * factor


def warned(factor, x):
    warnings.warn("traced", UserWarning, stacklevel=1)
    return x * factor


def objective(alpha=0.25):
    return conftr.ConfTr(alpha, quantile=conftr.Nearest(0.5), loss_matrix=np.eye(3))


def train(objective, columns=4):
    data, model = TrainingSet(X[:, :columns], Y), linear((columns,), 3)
    fitted = fit(jax.random.key(0), model, data, objective, Plan(1, 32))
    return predict_logits(model, fitted, data.x)


def test_equal_settings_and_shapes_share_a_program():
    assert shared(scaled, (2.0,), X) is shared(scaled, (2.0,), X + 1)
    assert shared(scaled, (2.0,), X) is not shared(scaled, (3.0,), X)
    assert shared(scaled, (2.0,), X) is not shared(scaled, (2.0,), X[:5])
    assert shared(scaled, (2.0,), X) is not shared(scaled, (2.0,), X.astype(np.float16))


def test_a_program_computes_and_has_the_name_of_its_function():
    program = shared(scaled, (2.0,), X)
    np.testing.assert_array_equal(program(X), 2 * X)
    assert "jit_scaled" in program.lower(X).as_text()


def test_only_so_many_programs_are_kept_and_none_of_the_users_goes():
    users = jax.jit(lambda x: x + 1)
    users(X)
    first = weakref.ref(shared(scaled, (-1.0,), X))
    first()(X)
    for i in range(programs._KEPT):
        assert first() is not None
        shared(scaled, (float(i),), X)
    gc.collect()
    assert first() is None
    with compiling() as seen:
        users(X)
    assert not seen


def test_warnings_of_tracing_are_said_to_everyone_who_takes_the_program():
    for _ in range(2):
        with pytest.warns(UserWarning, match="traced"):
            shared(warned, (2.0,), X)(X)


def test_too_small_a_batch_is_said_again_where_the_program_is_known():
    for _ in range(2):
        with pytest.warns(conftr.CalibrationWarning, match="16 examples calibrate"):
            train(objective(0.01))


def test_training_with_an_equal_objective_compiles_nothing():
    first = train(objective())
    with compiling() as seen:
        again = train(objective())
    assert not seen
    np.testing.assert_array_equal(first, again)


def test_data_of_another_shape_compile_what_trains_and_what_predicts():
    train(objective())
    with compiling() as seen:
        train(objective(), columns=3)
    assert len(seen) <= 3  # start, train, predict


def test_what_goes_on_the_device_needs_no_program():
    with compiling() as seen:
        result = on_device(np.arange(21).reshape(3, 7), np.float32)
    assert not seen
    assert result.dtype == jnp.float32
    assert on_device(result) is result
