"""Objectives with state: carried in `fit`, kept in checkpoints, each trial's own."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import conftr
from conftr.training import Checkpoints, Plan, TrainingSet, fit, trial_keys
from conftr.training.models import linear


def small_data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 130)
    x = rng.normal(size=(130, 5)) + 2 * np.eye(5)[y]
    return TrainingSet(x.astype(np.float32), y)


class Followed(NamedTuple):
    """A running mean of the loss, and steps."""

    mean: Any
    steps: Any


@dataclasses.dataclass(frozen=True)
class Following:
    """An objective of a user's, with state: cross-entropy less its own running mean."""

    rate: Any = 0.1

    def start(self, classes):
        return Followed(np.full(classes, 2.0, np.float32), np.float32(0))

    def __call__(self, logits, labels, state=None):
        scale = 1.0 if state is None else jnp.mean(state.mean)
        return scale * conftr.CrossEntropy()(logits, labels)

    def update(self, logits, labels, state):
        loss = conftr.CrossEntropy()(logits, labels)
        return Followed(state.mean + self.rate * (loss - state.mean), state.steps + 1)


def test_state_is_carried_checkpointed_and_each_trial_has_its_own(tmp_path):
    data, plan = small_data(), Plan(4, 20)
    model, keys = linear((5,), 3), trial_keys(0, 2)
    vary = {"rate": [0.1, 0.5]}
    whole = fit(keys, model, data, Following(), plan, vary=vary)
    state = whole.objective_state
    assert state.mean.shape == (2, 3)
    np.testing.assert_array_equal(state.steps, 4 * (len(data.y) // 20))
    assert state.mean[0, 0] != state.mean[1, 0]
    assert whole.trial(1).objective_state.mean.shape == (3,)

    def stop(progress):
        if progress.epoch == 2:
            raise KeyboardInterrupt

    kept = Checkpoints(tmp_path, epochs=1)
    with pytest.raises(KeyboardInterrupt):
        fit(keys, model, data, Following(), plan, vary=vary, checkpoints=kept, progress=stop)
    again = fit(keys, model, data, Following(), plan, vary=vary, checkpoints=kept)
    for first, other in zip(jax.tree.leaves(whole), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(first, other)
    batched = fit(keys, model, data, Following(), plan, vary=vary, batched=True)
    np.testing.assert_allclose(batched.objective_state.mean, state.mean, rtol=1e-4)


def test_a_state_that_changes_its_form_is_refused():
    @dataclasses.dataclass(frozen=True)
    class Growing(Following):
        def update(self, logits, labels, state):
            return state._replace(steps=jnp.zeros(2))

    data = small_data()
    with pytest.raises(ValueError, match="must keep the shapes and types of its state"):
        fit(trial_keys(0, 1), linear((5,), 3), data, Growing(), Plan(1, 20))


@pytest.mark.parametrize("objective", [conftr.DPSM(0.1, warm_up=3), conftr.CaCT(0.1, every=2)])
def test_ours_train(objective):
    data = small_data()
    fitted = fit(trial_keys(0, 1), linear((5,), 3), data, objective, Plan(5, 20))
    assert np.isfinite(fitted.loss).all()
    assert fitted.loss[-1, 0] < fitted.loss[0, 0] + 1
    started = jax.tree.leaves(objective.start(3))
    moved = jax.tree.leaves(fitted.trial(0).objective_state)
    assert any(np.any(a != b) for a, b in zip(started, moved, strict=True))
