"""fit: a step by hand, trials alone and together, runs interrupted, models of every library."""

import dataclasses
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import conftr
import processes
from conftr.training import (
    SGD,
    Checkpoints,
    Fitted,
    Plan,
    Progress,
    TrainingSet,
    TrainingWarning,
    constant,
    cosine,
    fit,
    predict_logits,
    resample,
    trial_keys,
    use_compilation_cache,
)
from conftr.training.checkpoints import CheckpointMismatchError, CheckpointWarning
from conftr.training.models import MLP, Custom, linear

N, D, K = 130, 5, 3
MODEL = MLP((D,), K, hidden=(7,))
LINEAR = linear((D,), K)
CONFTR = conftr.ConfTr(0.2, quantile=conftr.OrderStatistic(), temperature=0.5)
PLAN = Plan(epochs=3, batch_size=20)


def blobs(n: int = N) -> TrainingSet:
    rng = np.random.default_rng(0)
    y = rng.integers(0, K, n)
    x = rng.normal(size=(n, D)) + 2 * np.eye(D)[y]
    return TrainingSet(x.astype(np.float32), y)


DATA = blobs()


def leaves(fitted: Fitted) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(fitted)]


def same_bits(first: Fitted, other: Fitted) -> bool:
    pairs = list(zip(leaves(first), leaves(other), strict=True))
    return all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in pairs)


def close(first: Fitted, other: Fitted, atol: float = 2e-5) -> None:
    for a, b in zip(leaves(first), leaves(other), strict=True):
        np.testing.assert_allclose(a, b, atol=atol, rtol=1e-4)


@dataclasses.dataclass(frozen=True)
class Poisoned:
    """Cross-entropy until the loss falls below `until`, then something that is not finite."""

    until: Any
    poison: Callable[[Any], Any]

    def __call__(self, logits: Any, labels: Any) -> Any:
        loss = conftr.CrossEntropy()(logits, labels)
        return jax.lax.cond(loss < self.until, self.poison, lambda loss: loss, loss)


def bad_loss(loss: Any) -> Any:
    return loss + jnp.nan


def bad_gradient(loss: Any) -> Any:
    fixed = jax.lax.stop_gradient(loss)
    return fixed + jnp.sqrt(loss - fixed)  # the square root has an infinite derivative at 0


def test_one_step_of_a_linear_model_by_hand() -> None:
    data = blobs(20)
    key, model = jax.random.key(3), linear((D,), K)
    optimiser = SGD(0.1, 0.9, 0.0005)
    fitted = fit(key, model, data, conftr.CrossEntropy(), Plan(1, 20, optimiser))
    w = np.asarray(model.init(key)[0].logits.weight, np.float64)
    x, onehot = data.x.astype(np.float64), np.eye(K)[data.y]
    p = np.exp(x @ w.T)
    p /= p.sum(1, keepdims=True)
    gradient = (p - onehot).T @ x / 20 + 0.001 * w
    # Nesterov's first step goes 1 + momentum times along the gradient.
    np.testing.assert_allclose(fitted.params.logits.weight, w - 0.1 * 1.9 * gradient, atol=1e-6)
    loss = -np.mean(np.log((p * onehot).sum(1)))
    assert fitted.loss == pytest.approx(loss, rel=1e-5)
    bias = -0.1 * 1.9 * (p - onehot).mean(0)
    np.testing.assert_allclose(fitted.params.logits.bias, bias, atol=1e-6)


def test_the_schedule_reaches_the_step() -> None:
    """Epoch 2 of 2 has a tenth of the learning rate: with no momentum, a tenth of the way."""
    data, key = blobs(20), jax.random.key(0)
    late = lambda steps, total: np.where(steps < total // 2, 0.0, 0.1)  # noqa: E731
    item = SGD(0.1, 0.0, 0.0, schedule=constant)
    two = dataclasses.replace(item, schedule=late)
    start = linear((D,), K).init(key)[0].logits.weight
    short, long = (
        fit(key, linear((D,), K), data, conftr.CrossEntropy(), Plan(epochs, 20, optimiser))
        for epochs, optimiser in [(1, item), (2, two)]
    )
    moved = [np.asarray(fitted.params.logits.weight - start) for fitted in (short, long)]
    np.testing.assert_allclose(moved[1], 0.1 * moved[0], atol=1e-6)


def test_every_epoch_sees_each_row_at_most_once_in_a_new_order() -> None:
    """The objective's loss is a digit sum of the rows it saw."""
    n, batch = 10, 3
    data = TrainingSet(np.zeros((n, 1), np.float32), np.arange(n))
    model = Custom(
        lambda key: ({"w": jnp.zeros(n)}, jnp.zeros((4, 3, batch), jnp.int32)),
        lambda params, state, x, train: (jnp.zeros((x.shape[0], n)) + params["w"], state),
    )
    seen: list[np.ndarray] = []

    def record(logits: Any, labels: Any) -> Any:
        jax.debug.callback(lambda y: seen.append(np.asarray(y)), labels, ordered=True)
        return jnp.sum(logits) * 0

    fit(jax.random.key(0), model, data, record, Plan(4, batch))
    epochs = np.array(seen).reshape(4, 9)
    assert all(len(set(epoch)) == 9 for epoch in epochs.tolist())
    assert len({tuple(epoch) for epoch in epochs.tolist()}) == 4


def test_bytes_normalised_in_the_step_are_floats_normalised_before() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (100, 4, 4, 2), dtype=np.uint8), rng.integers(0, K, 100)
    shift, scale = np.array([100, 130], np.float32), np.array([0.01, 0.02], np.float32)
    model = linear((4, 4, 2), K)
    before = TrainingSet((x.astype(np.float32) - shift) * scale, y)
    inside, outside = (
        fit(jax.random.key(0), model, data, conftr.CrossEntropy(), Plan(2, 25))
        for data in (TrainingSet(x, y, shift, scale), before)
    )
    close(inside, outside)
    np.testing.assert_allclose(
        predict_logits(model, inside, x, shift=shift, scale=scale),
        predict_logits(model, inside, before.x),
        atol=1e-5,
    )


def test_steps_one_by_one_are_those_of_the_scan() -> None:
    """On a CPU a model with convolutions is stepped through, because XLA's loops slow them down."""
    dense = lambda x, w: x @ w  # noqa: E731
    layout = ("NHWC", "HWIO", "NHWC")

    def convolve(x: Any, w: Any) -> Any:
        product = jax.lax.conv_general_dilated(
            x[:, None, None], w[None, None], (1, 1), "VALID", dimension_numbers=layout
        )
        return product[:, 0, 0]

    def model(product: Callable[[Any, Any], Any]) -> Custom:
        return Custom(
            lambda key: (jax.random.normal(key, (D, K)), ()),
            lambda w, state, x, train: (product(x, w), state),
        )

    stepped, scanned = (
        fit(trial_keys(0, 2), model(product), DATA, conftr.CrossEntropy(), PLAN)
        for product in (convolve, dense)
    )
    close(stepped, scanned)


def test_training_learns() -> None:
    fitted = fit(jax.random.key(0), MODEL, DATA, conftr.CrossEntropy(), Plan(15, 20))
    assert np.mean(predict_logits(MODEL, fitted, DATA.x).argmax(1) == DATA.y) > 0.85
    assert fitted.loss[-1] < 0.5 * fitted.loss[0]
    assert fitted.failures == 0


@pytest.mark.parametrize("batched", [False, True], ids=["side by side", "batched"])
def test_equal_calls_give_equal_bits(batched: bool) -> None:
    call = {"model": MODEL, "data": DATA, "objective": CONFTR, "plan": PLAN, "batched": batched}
    first, other, another = (fit(trial_keys(seed, 4), **call) for seed in (0, 0, 1))
    assert same_bits(first, other)
    assert not same_bits(first, another)


def test_a_trial_is_the_same_alone_and_beside_others() -> None:
    keys = trial_keys(0, 4)
    rows = resample(keys, N)
    many = fit(keys, MODEL, DATA, CONFTR, PLAN, rows=rows)
    for i in (0, 3):
        alone = fit(keys[i], MODEL, DATA, CONFTR, PLAN, rows=rows[i])
        assert same_bits(many.trial(i), alone)
    close(many, fit(keys, MODEL, DATA, CONFTR, PLAN, rows=rows, batched=True))


def test_settings_of_each_trial_are_those_of_runs_of_their_own() -> None:
    keys = trial_keys(0, 2)
    vary = {
        "temperature": np.array([0.1, 1.0]),
        "size_weight": [0.05, 2.0],
        "class_weights": np.array([[1, 1, 1], [5, 1, 2]]),
        "loss_matrix": np.stack([np.eye(3), np.eye(3) + 0.1]),
        "learning_rate": [0.01, 0.1],
    }
    together, batched = (
        fit(keys, LINEAR, DATA, CONFTR, PLAN, vary=vary, batched=batched)
        for batched in (False, True)
    )
    close(together, batched)
    for i in range(2):
        settings = {name: np.asarray(value)[i] for name, value in vary.items()}
        plan = dataclasses.replace(PLAN, optimiser=SGD(float(settings.pop("learning_rate"))))
        numbers = {name: float(settings.pop(name)) for name in ("temperature", "size_weight")}
        objective = dataclasses.replace(CONFTR, **numbers, **settings)
        close(together.trial(i), fit(keys[i], LINEAR, DATA, objective, plan))


def test_a_trial_trains_on_its_own_rows() -> None:
    keys = trial_keys(0, 2)
    rows = np.stack([np.arange(60), np.arange(60, 120)])
    both = fit(keys, LINEAR, DATA, conftr.CrossEntropy(), PLAN, rows=rows)
    second = TrainingSet(DATA.x[60:120], DATA.y[60:120])
    close(both.trial(1), fit(keys[1], LINEAR, second, conftr.CrossEntropy(), PLAN))
    shared = fit(keys, LINEAR, DATA, conftr.CrossEntropy(), PLAN, rows=rows[1])
    assert same_bits(shared.trial(1), both.trial(1))
    assert not same_bits(shared.trial(0), both.trial(0))


def test_resampled_rows_are_drawn_from_five_copies_without_replacement() -> None:
    rows = resample(trial_keys(0, 20), 1000)
    assert rows.shape == (20, 1000)
    counts = np.stack([np.bincount(row, minlength=1000) for row in rows])
    assert counts.max() <= 5
    # A row is missed if none of its five copies is among the fifth that is drawn.
    assert np.mean(counts > 0) == pytest.approx(1 - 0.8**5, abs=0.01)
    assert len({row.tobytes() for row in rows}) == 20
    np.testing.assert_array_equal(resample(trial_keys(0, 7), 1000), rows[:7])
    np.testing.assert_array_equal(resample(trial_keys(0, 20)[3], 1000), rows[3])
    assert np.bincount(resample(trial_keys(0, 1)[0], 50, copies=1)).tolist() == [1] * 50


def test_old_style_keys_are_keys() -> None:
    new, old = jax.random.key(5), jax.random.PRNGKey(5)
    first, other = (fit(key, MODEL, DATA, conftr.CrossEntropy(), PLAN) for key in (new, old))
    assert same_bits(first, other)


# A model of each library, all with the weights of one. What `fit` asks of them is two functions.


def plain_model(layers: Any) -> Custom:
    first, last = layers.hidden[0].product, layers.logits
    params = {
        "first": {
            "w": first.weight.T,
            "b": first.bias,
            "scale": jnp.ones(7),
            "offset": jnp.zeros(7),
        },
        "last": {"w": last.weight.T, "b": last.bias},
    }

    def apply(params: Any, state: Any, x: Any, train: bool) -> Any:
        p, q = params["first"], params["last"]
        h = x @ p["w"] + p["b"]
        mean, var = (jnp.mean(h, 0), jnp.var(h, 0)) if train else state
        if train:
            state = (0.9 * state[0] + 0.1 * mean, 0.9 * state[1] + 0.1 * var)
        h = (h - mean) / jnp.sqrt(var + 1e-5) * p["scale"] + p["offset"]
        return jax.nn.relu(h) @ q["w"] + q["b"], state

    return Custom(lambda key: (params, (jnp.zeros(7), jnp.ones(7))), apply)


class Flax(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.first = nnx.Linear(D, 7, rngs=rngs)
        self.norm = nnx.BatchNorm(7, momentum=0.9, epsilon=1e-5, rngs=rngs)
        self.last = nnx.Linear(7, K, rngs=rngs)

    def __call__(self, x: Any, train: bool) -> Any:
        return self.last(nnx.relu(self.norm(self.first(x), use_running_average=not train)))


def flax_model(layers: Any) -> Custom:
    def init(key: Any) -> Any:
        network = Flax(nnx.Rngs(key))
        for layer, given in [
            (network.first, layers.hidden[0].product),
            (network.last, layers.logits),
        ]:
            layer.kernel[...], layer.bias[...] = given.weight.T, given.bias
        return nnx.split(network, nnx.Param, ...)[1:]

    graph = nnx.graphdef(Flax(nnx.Rngs(0)))

    def apply(params: Any, state: Any, x: Any, train: bool) -> Any:
        network = nnx.merge(graph, params, state)
        logits = network(x, train)
        return logits, nnx.split(network, nnx.Param, ...)[2]

    return Custom(init, apply)


def equinox_model(layers: Any) -> Custom:
    """Layers of Equinox itself, which see one example: the batch is vmapped over."""
    first = eqx.nn.Linear(D, 7, key=jax.random.key(0))
    last = eqx.nn.Linear(7, K, key=jax.random.key(0))
    norm = eqx.nn.BatchNorm(7, "batch", momentum=0.9, mode="batch")
    given = layers.hidden[0].product, layers.logits
    first, last = (
        eqx.tree_at(lambda m: (m.weight, m.bias), layer, (source.weight, source.bias))
        for layer, source in zip((first, last), given, strict=True)
    )
    network, state = (first, norm, last), eqx.nn.State((first, norm, last))
    params, static = eqx.partition(network, eqx.is_inexact_array)

    def apply(params: Any, state: Any, x: Any, train: bool) -> Any:
        first, norm, last = eqx.nn.inference_mode(eqx.combine(params, static), not train)

        def forward(x: Any, state: Any) -> Any:
            h, state = norm(first(x), state)
            return last(jax.nn.relu(h)), state

        return jax.vmap(forward, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, state)

    return Custom(lambda key: (params, state), apply)


LAYERS, STATE = MODEL.init(jax.random.key(9))
OURS = Custom(lambda key: (LAYERS, STATE), MODEL.apply)


@pytest.mark.parametrize("library", [plain_model, flax_model, equinox_model])
def test_models_of_other_libraries_train_alike(library: Callable[[Any], Custom]) -> None:
    keys, theirs = trial_keys(0, 2), library(LAYERS)
    first, other = (fit(keys, model, DATA, CONFTR, PLAN) for model in (OURS, theirs))
    np.testing.assert_allclose(first.loss, other.loss, atol=1e-4)
    logits = [predict_logits(m, f, DATA.x) for m, f in [(OURS, first), (theirs, other)]]
    assert logits[1].shape == (2, N, K)
    if library is not equinox_model:  # whose running statistics start from the first batch
        np.testing.assert_allclose(logits[0], logits[1], atol=1e-3)


def test_any_optax_optimiser_can_train() -> None:
    adam = Plan(15, 20, optax.adam(0.05))
    fitted = fit(jax.random.key(0), LINEAR, DATA, conftr.CrossEntropy(), adam)
    assert np.mean(predict_logits(LINEAR, fitted, DATA.x).argmax(1) == DATA.y) > 0.85
    sgd = optax.chain(optax.add_decayed_weights(0.001), optax.sgd(0.05, 0.9, nesterov=True))
    plans = Plan(2, 20, sgd), Plan(2, 20, SGD(0.05, schedule=constant))
    close(*(fit(jax.random.key(0), LINEAR, DATA, conftr.CrossEntropy(), plan) for plan in plans))


@pytest.mark.parametrize("optimiser", [SGD(), optax.adam(0.01)], ids=["sgd", "adam"])
def test_fine_tuning_moves_only_what_was_chosen(optimiser: Any) -> None:
    plan = Plan(2, 20, optimiser, trainable=lambda path: path.startswith("logits/"))
    key = jax.random.key(0)
    before, _ = MODEL.init(key)
    after = fit(key, MODEL, DATA, conftr.CrossEntropy(), plan).params
    for old, new in zip(jax.tree.leaves(before.hidden), jax.tree.leaves(after.hidden), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-6)  # the start is compiled in another way
    assert np.all(np.abs(before.logits.weight - after.logits.weight) > 1e-5)


def test_choosing_everything_is_choosing_nothing_in_particular() -> None:
    whole = fit(jax.random.key(0), MODEL, DATA, conftr.CrossEntropy(), PLAN)
    chosen = dataclasses.replace(PLAN, trainable=lambda path: True)
    close(whole, fit(jax.random.key(0), MODEL, DATA, conftr.CrossEntropy(), chosen))


@pytest.mark.parametrize("batched", [False, True], ids=["side by side", "batched"])
@pytest.mark.parametrize(("poison", "word"), [(bad_loss, "loss"), (bad_gradient, "gradient")])
def test_a_trial_that_fails_stops_and_the_others_go_on(
    poison: Callable[[Any], Any], word: str, batched: bool
) -> None:
    keys = trial_keys(0, 3)
    objective, vary = Poisoned(0.0, poison), {"until": [0.0, 0.6, 0.0]}
    words = f"trial 1 of 3 stopped at step .* the {word} of Poisoned"
    with pytest.warns(TrainingWarning, match=words) as caught:
        fitted = fit(keys, LINEAR, DATA, objective, Plan(6, 20), vary=vary, batched=batched)
    assert len(caught) == 1
    assert fitted.failures == 1
    step = int(fitted.failed_step[1])
    assert fitted.failed_step.tolist() == [-1, step, -1]
    assert f"step {step} (epoch {step // 6 + 1})" in str(caught[0].message)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((fitted.params, fitted.state)))
    epoch = step // 6
    assert np.isnan(fitted.loss[epoch + 1 :, 1]).all()
    assert np.isfinite(fitted.loss[:, [0, 2]]).all()
    clean = fit(
        keys, LINEAR, DATA, objective, Plan(6, 20), vary={"until": [0.0] * 3}, batched=batched
    )
    for i in (0, 2):
        close(fitted.trial(i), clean.trial(i))


def test_a_failed_trial_keeps_the_parameters_before_the_failure() -> None:
    """Fails at step 6, the first of epoch 2: what is left is the end of epoch 1."""
    key = jax.random.key(0)
    model = linear((D,), K)
    rise = lambda steps, total: np.where(steps == 5, 1e30, 1.0)  # noqa: E731
    plan = Plan(3, 20, SGD(1e10, 0.0, 0.0, schedule=rise))
    with pytest.warns(TrainingWarning, match=r"stopped at step 6 \(epoch 2\)"):
        fitted = fit(key, model, DATA, conftr.CrossEntropy(), plan)
    assert fitted.failed_step == 6
    assert fitted.loss.shape == (2,)  # nothing was left to train


def test_the_callback_is_told_of_each_epoch() -> None:
    messages: list[Progress] = []
    fitted = fit(
        trial_keys(0, 2), LINEAR, DATA, conftr.CrossEntropy(), PLAN, progress=messages.append
    )
    assert [(p.epoch, p.epochs) for p in messages] == [(1, 3), (2, 3), (3, 3)]
    np.testing.assert_array_equal(np.stack([p.loss for p in messages]), fitted.loss)
    assert messages[0].elapsed <= messages[1].elapsed <= messages[2].elapsed


def test_an_error_in_the_callback_ends_the_run() -> None:
    def stop(p: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(trial_keys(0, 3), LINEAR, DATA, conftr.CrossEntropy(), Plan(1000, 20), progress=stop)


@pytest.mark.parametrize("n", [0, 1, 64, 130])
def test_logits_of_every_row_whatever_the_block(n: int) -> None:
    fitted = fit(trial_keys(0, 2), MODEL, DATA, conftr.CrossEntropy(), Plan(1, 20))
    expected = [MODEL.apply(t.params, t.state, DATA.x, False)[0] for t in map(fitted.trial, (0, 1))]
    result = predict_logits(MODEL, fitted, DATA.x[:n], block=64)
    assert result.shape == (2, n, K)
    np.testing.assert_allclose(result, np.stack(expected)[:, :n], atol=1e-5)
    np.testing.assert_allclose(
        predict_logits(MODEL, fitted.trial(1), DATA.x[:n]), expected[1][:n], atol=1e-5
    )


REFUSED = {
    "batch": (lambda: {"plan": Plan(1, 131)}, "batch_size must be at most the 130 rows"),
    "batch of rows": (lambda: {"rows": np.arange(19)}, "batch_size must be at most the 19 rows"),
    "rows": (lambda: {"rows": np.full(50, 130)}, r"rows must lie in 0\.\.129; got 130"),
    "rows shape": (lambda: {"rows": np.zeros((2, 50), int)}, r"rows must be integers of shape"),
    "labels": (lambda: {"data": DATA._replace(y=DATA.y + 1)}, r"y must lie in 0\.\.2"),
    "label type": (lambda: {"data": DATA._replace(y=DATA.y * 1.0)}, "one integer for each"),
    "lengths": (lambda: {"data": DATA._replace(y=DATA.y[1:])}, "each of the 130 rows"),
    "finite": (
        lambda: {"data": DATA._replace(x=np.where(np.arange(N)[:, None] == 7, np.nan, DATA.x))},
        "x must be finite; row 7 is not",
    ),
    "vary": (lambda: {"vary": {"temprature": [1.0]}}, "vary must name fields .*temprature"),
    "vary shape": (lambda: {"vary": {"temperature": [1.0, 2.0]}}, "1 entries along its first axis"),
    "trainable": (
        lambda: {"plan": dataclasses.replace(PLAN, trainable=lambda path: False)},
        "trainable must choose some of the parameters .*hidden/0/norm/scale",
    ),
    "scalar": (lambda: {"objective": lambda logits, y: logits}, r"a scalar; got shape \(20, 3\)"),
    "epochs": (lambda: {"plan": Plan(0, 20)}, "epochs must be finite and at least 1; got 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_trained_is_refused_in_words(name: str) -> None:
    change, words = REFUSED[name]
    call = {"model": MODEL, "data": DATA, "objective": CONFTR, "plan": PLAN}
    with pytest.raises(ValueError, match=words):
        fit(jax.random.key(0), **(call | change()))


def test_types_that_cannot_be_trained_are_refused_in_words() -> None:
    with pytest.raises(TypeError, match="key must be a JAX key; got 0"):
        fit(0, MODEL, DATA, CONFTR, PLAN)
    with pytest.raises(TypeError, match="epochs must be an integer"):
        Plan(1.5, 20)
    unhashable = dataclasses.dataclass(type("Unhashable", (), {"__call__": CONFTR.__call__}))
    with pytest.raises(TypeError, match=r"must be hashable.*needs eq=False"):
        fit(jax.random.key(0), MODEL, DATA, unhashable(), PLAN)


def run(folder: Path, programs: Path) -> subprocess.Popen[str]:
    script = Path(__file__).with_name("killable_run.py")
    command = [sys.executable, str(script), str(folder), str(programs)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def epochs_and_digest(folder: Path, programs: Path) -> tuple[list[int], str]:
    with run(folder, programs) as process:
        output, _ = process.communicate()
    assert process.returncode == 0
    *epochs, (_, digest) = (line.split() for line in output.splitlines())
    return [int(epoch) for (epoch,) in epochs], digest


@pytest.mark.slow  # starts seven processes that import JAX
def test_a_run_killed_again_and_again_ends_in_the_same_bits(tmp_path: Path) -> None:
    programs, folder, rng = tmp_path / "programs", tmp_path / "killed", random.Random(time.time())
    epochs, expected = epochs_and_digest(tmp_path / "whole", programs)
    assert epochs == list(range(1, 61))
    assert list(programs.rglob("*"))  # later runs find their programs compiled
    for _ in range(4):
        with run(folder, programs) as process:
            assert process.stdout is not None
            for _ in range(rng.randint(1, 8)):
                process.stdout.readline()
            time.sleep(rng.uniform(0, 0.03))
            os.kill(process.pid, signal.SIGKILL)
    epochs, digest = epochs_and_digest(folder, programs)
    assert digest == expected
    assert epochs[0] > 1  # it did not start anew
    assert epochs[-1] == 60
    assert epochs_and_digest(folder, programs) == ([], expected)  # finished: not trained again


def kept(folder: Path, **changes: Any) -> Fitted:
    call = {"model": MODEL, "data": DATA, "objective": CONFTR, "plan": Plan(4, 20)} | changes
    return fit(
        call.pop("key", jax.random.key(0)),
        **call,
        checkpoints=Checkpoints(folder, seconds=1e9, epochs=1),
    )


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    first = kept(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}

    def report(p: Progress) -> None:
        raise AssertionError("trained")

    assert same_bits(first, kept(tmp_path, progress=report))
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}


def test_a_damaged_checkpoint_is_named_and_costs_no_more_than_an_epoch(tmp_path: Path) -> None:
    first = kept(tmp_path)
    newest = sorted(tmp_path.iterdir())[-1]
    newest.write_bytes(newest.read_bytes()[:-100])
    messages: list[Progress] = []
    with pytest.warns(CheckpointWarning, match=newest.name):
        again = kept(tmp_path, progress=messages.append)
    assert [p.epoch for p in messages] == [4]
    assert same_bits(first, again)


OTHERS = {
    "objective.temperature was 0.5": {"objective": dataclasses.replace(CONFTR, temperature=0.4)},
    "plan.batch_size was 20": {"plan": Plan(4, 10)},
    "plan.epochs was 4": {"plan": Plan(5, 20)},
    "plan.optimiser.schedule was": {"plan": Plan(4, 20, SGD(schedule=cosine))},
    "model.hidden was": {"model": MLP((D,), K, hidden=(9,))},
    "data.y.sha256 was": {"data": DATA._replace(y=DATA.y[::-1])},
    "rows.": {"rows": np.arange(100)},
    "keys was": {"key": jax.random.key(1)},
}


@pytest.mark.parametrize("words", OTHERS)
def test_checkpoints_of_another_run_are_refused(words: str, tmp_path: Path) -> None:
    kept(tmp_path)
    with pytest.raises(CheckpointMismatchError, match=words):
        kept(tmp_path, **OTHERS[words])


def test_checkpoints_hold_failures_and_random_states(tmp_path: Path) -> None:
    """A model may keep a key in its state, as one with dropout does."""

    def apply(params: Any, state: Any, x: Any, train: bool) -> Any:
        key, trial_key = jax.random.split(state)
        noise = jax.random.normal(trial_key, x.shape) if train else 0.0
        return (x + noise) @ params["w"], key

    model = Custom(lambda key: ({"w": jnp.zeros((D, K))}, key), apply)
    call = {
        "key": trial_keys(0, 2),
        "model": model,
        "objective": Poisoned(0.0, bad_loss),
        "vary": {"until": [0.0, 1.0]},
    }
    with pytest.warns(TrainingWarning, match="trial 1"):
        whole = kept(tmp_path, **call)
    for path in sorted(tmp_path.iterdir())[1:]:
        path.unlink()  # as if killed in the last epoch
    again = kept(tmp_path, **call)
    assert again.failed_step.tolist() == whole.failed_step.tolist()
    np.testing.assert_array_equal(again.params["w"], whole.params["w"])
    np.testing.assert_array_equal(
        jax.random.key_data(again.state), jax.random.key_data(whole.state)
    )


def test_checkpoints_are_written_at_the_pace_asked_for(tmp_path: Path) -> None:
    fit(
        jax.random.key(0),
        MODEL,
        DATA,
        CONFTR,
        Plan(7, 20),
        checkpoints=Checkpoints(tmp_path, 1e9, 3),
    )
    assert [path.stem for path in sorted(tmp_path.iterdir())] == [
        "checkpoint-00000006",
        "checkpoint-00000007",
    ]


def test_the_cache_of_programs_is_set_only_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "import jax, conftr.training; print(jax.config.jax_compilation_cache_dir)"
    untold = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    child = [sys.executable, "-c", command]
    assert (
        subprocess.check_output(child, env=untold, text=True, timeout=processes.PATIENCE)
        == "None\n"
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    names = [
        "jax_compilation_cache_dir",
        "jax_persistent_cache_min_compile_time_secs",
        "jax_persistent_cache_min_entry_size_bytes",
    ]
    before = {name: getattr(jax.config, name) for name in names}
    try:
        place = use_compilation_cache()
        assert place.is_dir()
        assert place.is_relative_to(tmp_path)
        assert jax.config.jax_compilation_cache_dir == str(place)
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
