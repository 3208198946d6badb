"""Objectives: by hand, alike in every library, differentiable, checked."""

import dataclasses
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import conftr

ALPHA = 0.1
SHAPE = conftr.Shape(shrink={0: 3}, avoid=[(1, 2)])
OBJECTIVES = {
    "cross-entropy": conftr.CrossEntropy(),
    "bel": conftr.Bel(ALPHA, size_weight=0.1),
    "covertr": conftr.CoverTr(-0.1, temperature=0.5),
    "covertr-thr": conftr.CoverTr(0.9, score=conftr.thr_probs, target_size=0),
    "conftr": conftr.ConfTr(ALPHA),
    "conftr-class": conftr.ConfTr(ALPHA, loss_matrix=conftr.identity, temperature=0.5),
    "conftr-order": conftr.ConfTr(ALPHA, quantile=conftr.OrderStatistic()),
    "conftr-nearest": conftr.ConfTr(ALPHA, quantile=conftr.Nearest(0.1), fraction=None),
    "conftr-kernel": conftr.ConfTr(ALPHA, quantile=conftr.Kernel(0.2), cross_entropy_weight=0.3),
    "conftr-thr": conftr.ConfTr(ALPHA, score=conftr.thr_probs, temperature=0.1),
    "conftr-aps": conftr.ConfTr(ALPHA, score=conftr.smooth_aps, temperature=0.1),
    "conftr-hard-aps": conftr.ConfTr(ALPHA, score=conftr.aps),
    "conftr-raps": conftr.ConfTr(ALPHA, score=partial(conftr.raps, free_rank=9)),
    "conftr-shaped": conftr.ConfTr(
        ALPHA,
        class_weights=SHAPE.class_weights(6),
        loss_matrix=SHAPE.loss_matrix(6),
        fraction=0.3,
        target_size=0,
    ),
    "focal": conftr.Focal(),
    "label-smoothing": conftr.LabelSmoothing(),
    "rwce": conftr.RWCE(),
    "dpsm": conftr.DPSM(ALPHA),
    "fano": conftr.Fano(ALPHA),
    "model-fano": conftr.ModelFano(ALPHA),
    "dpi": conftr.DPI(ALPHA),
    "uncertainty-aware": conftr.UncertaintyAware(),
    "cact": conftr.CaCT(ALPHA),
}
# Their gradient is an estimate that is not the derivative of their value.
ESTIMATED = {"conftr-nearest", "conftr-kernel"}


def batch(seed=0, n=80, k=6, scale=2.0):
    rng = np.random.default_rng(seed)
    return scale * rng.normal(size=(n, k)), rng.integers(0, k, n)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_cross_entropy_by_hand(library):
    logits = np.log(np.array([[0.5, 0.5], [0.9, 0.1]])).astype(np.float32)
    loss = library.call(conftr.CrossEntropy(), logits, np.array([0, 1]))
    assert loss == pytest.approx(-(math.log(0.5) + math.log(0.1)) / 2, rel=1e-5)


def test_conftr_by_hand(library):
    # Four examples, two classes: the first two calibrate. p(true) = .8 and .6, alpha = .5:
    # r = floor(.5 * 3) = 1, tau = log .6. Scores of the third: log .7, log .3; of the fourth:
    # log .6, log .4. Soft sets sigma(log(p / .6)) = p / (p + .6) at T = 1.
    p = np.array([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3], [0.6, 0.4]])
    labels = np.array([0, 1, 0, 1])
    objective = conftr.ConfTr(0.5, quantile=conftr.OrderStatistic(), size_weight=2.0)
    sets = p[2:] / (p[2:] + 0.6)
    omega = np.maximum(0, sets.sum(axis=1) - 1).mean()
    value = library.call(objective, np.log(p).astype(np.float32), labels)
    assert value == pytest.approx(math.log(2 * omega + 1e-8), rel=1e-3)
    # With L = I the misses 1 - C_y of the two count as well.
    missed = ((1 - sets[0, 0]) + (1 - sets[1, 1])) / 2
    with_class = dataclasses.replace(objective, loss_matrix=np.eye(2))
    value = library.call(with_class, np.log(p).astype(np.float32), labels)
    assert value == pytest.approx(math.log(2 * omega + missed + 1e-8), rel=1e-4)


def test_covertr_and_bel_by_hand(library):
    logits = np.array([[2.0, 0.0], [1.0, 3.0]], dtype=np.float32)
    labels = np.array([0, 0])
    sets = 1 / (1 + np.exp(-(logits.astype(float) - 1)))
    expected = math.log((sets[:, 0].mean() - 0.9) ** 2 + 0.5 * sets.sum(axis=1).mean() + 1e-8)
    bel = library.call(conftr.Bel(0.1, size_weight=0.5), logits, labels)
    assert bel == pytest.approx(expected, rel=1e-4)
    scores = np.log(softmax(logits.astype(float)))
    sets = 1 / (1 + np.exp(-(scores + 0.1)))
    omega = np.maximum(0, sets.sum(axis=1) - 1).mean()
    expected = math.log((1 - sets[:, 0]).mean() + 0.5 * omega + 1e-8)
    covertr = library.call(conftr.CoverTr(-0.1), logits, labels)
    assert covertr == pytest.approx(expected, rel=1e-4)


def loss_on(objective, sets, labels):
    """log(L + size_weight Omega + 1e-8), of public functions alone."""
    weights, matrix = getattr(objective, "class_weights", None), objective.loss_matrix
    omega = conftr.size_loss(sets, labels, target_size=objective.target_size, weights=weights)
    if matrix is conftr.identity:
        matrix = conftr.identity(sets.shape[1])
    loss = 0 if matrix is None else conftr.class_loss(sets, labels, matrix)
    return np.log(loss + objective.size_weight * omega + 1e-8)


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if name.startswith("conftr")])
def test_conftr_is_alg_1_of_public_functions(name):
    objective, (logits, labels) = OBJECTIVES[name], batch()
    cut = 0 if objective.fraction is None else int(objective.fraction * len(labels))
    scores = objective.score(logits)
    calibrating, predicting = (slice(cut), slice(cut, None)) if cut else (slice(None),) * 2
    tau = conftr.smooth_calibrate(
        scores[calibrating], labels[calibrating], objective.alpha, objective.quantile
    )
    sets = conftr.smooth_predict_set(scores[predicting], tau, objective.temperature)
    expected = loss_on(objective, sets, labels[predicting])
    expected += objective.cross_entropy_weight * conftr.CrossEntropy()(logits, labels)
    assert objective(logits, labels) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["covertr", "covertr-thr"])
def test_covertr_is_made_of_public_functions(name):
    objective, (logits, labels) = OBJECTIVES[name], batch()
    scores = objective.score(logits)
    sets = conftr.smooth_predict_set(scores, objective.tau, objective.temperature)
    expected = loss_on(objective, sets, labels)
    assert objective(logits, labels) == pytest.approx(expected, rel=1e-9)


def test_bel_is_made_of_public_functions():
    logits, labels = batch()
    sets = conftr.smooth_predict_set(logits, 1.0, 1.0)
    omega = conftr.size_loss(sets, labels, target_size=0)
    expected = np.log(conftr.coverage_loss(sets, labels, ALPHA) + 0.1 * omega + 1e-8)
    assert OBJECTIVES["bel"](logits, labels) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_library_gives_the_same_value(library, name):
    logits, labels = batch()
    expected = OBJECTIVES[name](logits, labels)
    value = library.call(OBJECTIVES[name], logits.astype(np.float32), labels)
    assert value == pytest.approx(float(expected), rel=2e-4, abs=1e-5)


def jax_gradient(objective, logits, labels):
    with jax.enable_x64(True):
        value = jax.jit(jax.value_and_grad(objective))(jnp.asarray(logits), jnp.asarray(labels))
        return [np.asarray(v) for v in value]


def torch_gradient(objective, logits, labels):
    x = torch.tensor(logits, requires_grad=True)
    loss = objective(x, torch.tensor(labels))
    loss.backward()
    return loss.item(), x.grad.numpy()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_jax_and_torch_gradients_agree_with_each_other(name):
    logits, labels = batch()
    value, gradient = jax_gradient(OBJECTIVES[name], logits, labels)
    torch_value, torch_grad = torch_gradient(OBJECTIVES[name], logits, labels)
    assert value == pytest.approx(torch_value, rel=1e-10)
    np.testing.assert_allclose(gradient, torch_grad, rtol=1e-5, atol=1e-12)
    assert np.any(gradient != 0)


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if name not in ESTIMATED])
def test_gradients_agree_with_finite_differences(name):
    logits, labels = batch(n=40)
    objective = OBJECTIVES[name]
    _, gradient = torch_gradient(objective, logits, labels)
    rng, h = np.random.default_rng(1), 1e-6
    for _ in range(10):
        direction = rng.normal(size=logits.shape)
        slope = (
            objective(logits + h * direction, labels) - objective(logits - h * direction, labels)
        ) / (2 * h)
        assert np.sum(gradient * direction) == pytest.approx(float(slope), rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("name", sorted(ESTIMATED))
def test_estimated_gradients_are_those_of_the_averaged_threshold(name):
    # Replace tau by a constant plus the weighted mean of the true scores: same value, and now the
    # gradient is a derivative that finite differences can check.
    objective = OBJECTIVES[name]
    logits, labels = batch(n=40)
    _, gradient = torch_gradient(objective, logits, labels)
    n = 40 if objective.fraction is None else 20
    true_scores = conftr.thr(logits)[np.arange(n), labels[:n]]
    own_t = torch.tensor(true_scores, requires_grad=True)
    tau = objective.quantile(own_t, ALPHA)
    tau.backward()
    weights, offset = own_t.grad.numpy(), tau.item() - own_t.grad.numpy() @ true_scores
    averaged = dataclasses.replace(objective, quantile=lambda s, _: s @ weights + offset)
    rng, h = np.random.default_rng(1), 1e-6
    for _ in range(5):
        direction = rng.normal(size=logits.shape)
        slope = (
            averaged(logits + h * direction, labels) - averaged(logits - h * direction, labels)
        ) / (2 * h)
        assert np.sum(gradient * direction) == pytest.approx(float(slope), rel=1e-5)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradients_are_finite_on_flat_and_sharp_logits(name):
    in_jax = jax.jit(jax.value_and_grad(OBJECTIVES[name]))
    for scale in (0.0, 1e-3, 300.0):
        logits, labels = batch(scale=scale)
        for x in (logits.astype(np.float32), np.round(logits).astype(np.float32)):  # full of ties
            tensor = torch.tensor(x, requires_grad=True)
            loss = OBJECTIVES[name](tensor, torch.tensor(labels))
            loss.backward()
            assert torch.isfinite(loss)
            assert torch.all(torch.isfinite(tensor.grad))
            value, gradient = in_jax(x, labels)
            assert jnp.isfinite(value)
            assert jnp.all(jnp.isfinite(gradient))


@pytest.mark.filterwarnings("ignore::conftr.CalibrationWarning")
@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_last_batch_of_one_example_is_learned_from(name):
    logits, labels = batch(n=1)
    for loss, gradient in (
        torch_gradient(OBJECTIVES[name], logits, labels),
        jax_gradient(OBJECTIVES[name], logits, labels),
    ):
        assert np.isfinite(loss)
        assert np.isfinite(gradient).all()


def test_without_class_loss_the_size_weight_cancels():
    logits, labels = batch()
    small, large = (
        torch_gradient(conftr.ConfTr(ALPHA, size_weight=w), logits, labels)[1] for w in (0.1, 10.0)
    )
    np.testing.assert_allclose(small, large, rtol=1e-5)


def test_first_rows_calibrate_and_only_the_rest_predicts():
    logits, labels = batch()
    objective = conftr.ConfTr(ALPHA, fraction=0.25, quantile=conftr.OrderStatistic())
    moved = logits.copy()
    order = np.argsort(conftr.thr(logits)[np.arange(80), labels][:20])
    moved[order[-1]] += 100 * np.eye(6)[labels[order[-1]]]  # a calibrating row far above tau
    assert objective(moved, labels) == pytest.approx(float(objective(logits, labels)))


def test_set_loss_stands_in_for_the_class_loss():
    logits, labels = batch()
    given = conftr.ConfTr(
        ALPHA, set_loss=lambda sets, y: conftr.class_loss(sets, y, conftr.identity(6))
    )
    built_in = conftr.ConfTr(ALPHA, loss_matrix=np.eye(6))
    assert given(logits, labels) == pytest.approx(float(built_in(logits, labels)))
    alone = conftr.CoverTr(-0.1, size_weight=0, set_loss=lambda sets, _: sets.mean() * 0 + 1.0)
    assert alone(logits, labels) == pytest.approx(0, abs=1e-7)


def test_hyper_parameters_may_be_traced():
    logits, labels = batch()
    x, y = jnp.asarray(logits, dtype=jnp.float32), jnp.asarray(labels)

    def loss(temperature, size_weight, weights, matrix):
        objective = conftr.ConfTr(
            ALPHA,
            temperature=temperature,
            size_weight=size_weight,
            class_weights=weights,
            loss_matrix=matrix,
        )
        return objective(x, y)

    temperatures = jnp.array([0.5, 1.0])
    size_weights = jnp.array([0.1, 2.0])
    weights = jnp.ones((2, 6)).at[1, 0].set(5.0)
    matrices = jnp.stack([jnp.eye(6), jnp.ones((6, 6))])
    together = jax.jit(jax.vmap(loss))(temperatures, size_weights, weights, matrices)
    for i in range(2):
        alone = conftr.ConfTr(
            ALPHA,
            temperature=float(temperatures[i]),
            size_weight=float(size_weights[i]),
            class_weights=np.asarray(weights[i]),
            loss_matrix=np.asarray(matrices[i]),
        )(x, y)
        assert together[i] == pytest.approx(float(alone), rel=1e-5)


def test_half_precision_is_computed_in_float32():
    logits, labels = batch()
    x = torch.tensor(logits, dtype=torch.bfloat16, requires_grad=True)
    loss = conftr.ConfTr(ALPHA)(x, torch.tensor(labels))
    loss.backward()
    assert loss.dtype == torch.float32
    assert x.grad.dtype == torch.bfloat16
    exact = conftr.ConfTr(ALPHA)(x.detach().float(), torch.tensor(labels))
    assert loss.item() == exact.item()


def test_small_batches_train_and_say_so():
    logits, labels = batch(n=100)
    with pytest.warns(conftr.CalibrationWarning, match="50 examples calibrate"):
        _, gradient = torch_gradient(conftr.ConfTr(0.01), logits, labels)
    assert np.all(np.isfinite(gradient))
    assert np.any(gradient != 0)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda: conftr.ConfTr(alpha=0),
            ValueError,
            "alpha must lie strictly between 0 and 1; got 0",
        ),
        (lambda: conftr.ConfTr(alpha="a"), TypeError, "alpha must be a number"),
        (
            lambda: conftr.ConfTr(temperature=0),
            ValueError,
            "temperature must be finite and above 0",
        ),
        (lambda: conftr.ConfTr(temperature="hot"), TypeError, "temperature must be a number"),
        (lambda: conftr.ConfTr(size_weight=-1), ValueError, "size_weight must be .* at least 0"),
        (lambda: conftr.ConfTr(target_size=-1), ValueError, "target_size"),
        (lambda: conftr.ConfTr(fraction=1.0), ValueError, "fraction must be .* below 1; got 1.0"),
        (lambda: conftr.ConfTr(cross_entropy_weight=-1), ValueError, "cross_entropy_weight"),
        (lambda: conftr.ConfTr(score="thr"), TypeError, "score must be a function; got 'thr'"),
        (lambda: conftr.ConfTr(quantile=0.1), TypeError, "quantile must be a function"),
        (
            lambda: conftr.ConfTr(loss_matrix=np.eye(3), set_loss=lambda s, y: 0),
            ValueError,
            "not both",
        ),
        (lambda: conftr.CoverTr(math.nan), ValueError, "tau must be finite"),
        (lambda: conftr.CoverTr(0.9, loss_matrix=None), ValueError, "loss_matrix must be given"),
        (lambda: conftr.Bel(2), ValueError, "alpha"),
        (lambda: conftr.Bel(0.1, temperature=-1), ValueError, "temperature"),
        (
            lambda: conftr.ConfTr(ALPHA, class_weights=[1, 2])(*batch()),
            ValueError,
            r"weights must have shape \(6,\)",
        ),
        (
            lambda: conftr.ConfTr(ALPHA, loss_matrix=np.eye(3))(*batch()),
            ValueError,
            r"matrix must have shape \(6, 6\)",
        ),
        (lambda: conftr.ConfTr(ALPHA)(*batch(n=0)), ValueError, "must hold examples; got none"),
    ],
)
def test_bad_settings_are_refused_by_name(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_objectives_are_values():
    assert conftr.Bel(0.1) == conftr.Bel(0.1)
    assert conftr.SmoothSort(0.1) == conftr.SmoothSort(0.1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        conftr.ConfTr(0.1).alpha = 0.2
