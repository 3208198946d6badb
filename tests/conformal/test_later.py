"""Methods after the paper: values by hand, states that move as they say, what is refused."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import conftr
from conftr.conformal.later.cact import CaCTState
from conftr.conformal.later.dpsm import DPSMState
from conftr.conformal.stateful import is_stateful

# Two classes; the first two rows calibrate. p(true) = .8 and .6, alpha = .5: tau = log .6, so that
# soft sets at T = 1 are p / (p + .6).
P = np.array([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3], [0.6, 0.4]])
LABELS = np.array([0, 1, 0, 1])
SETS = P[2:] / (P[2:] + 0.6)
COVERED = SETS[[0, 1], [0, 1]]
LOGITS = np.log(P).astype(np.float32)
HALF = {"alpha": 0.5, "quantile": conftr.OrderStatistic()}
ENTROPY = math.log(2)  # h_b(.5)
SHARE = 1 - 0.5 + 1 / 3


def mean_over(values, weights):
    return (values * weights).sum() / weights.sum()


def test_focal_by_hand(library):
    true_scores = np.array([0.8, 0.6, 0.7, 0.4])
    expected = -np.mean((1 - true_scores) ** 2 * np.log(true_scores))
    assert library.call(conftr.Focal(), LOGITS, LABELS) == pytest.approx(expected, rel=1e-5)
    plain = library.call(conftr.CrossEntropy(), LOGITS, LABELS)
    assert library.call(conftr.Focal(0), LOGITS, LABELS) == pytest.approx(float(plain), rel=1e-6)


def test_label_smoothing_by_hand(library):
    true_scores = np.array([0.8, 0.6, 0.7, 0.4])
    expected = -0.9 * np.log(true_scores).mean() - 0.1 * np.log(P).mean()
    value = library.call(conftr.LabelSmoothing(0.1), LOGITS, LABELS)
    assert value == pytest.approx(expected, rel=1e-5)


def test_rwce_by_hand(library):
    # The truth is on top in the first three rows, and second in the last.
    expected = -(math.log(0.8) + math.log(0.6) + math.log(0.7) + 2 * math.log(0.4)) / 4
    assert library.call(conftr.RWCE(), LOGITS, LABELS) == pytest.approx(expected, rel=1e-5)


def test_fano_by_hand(library):
    # Both soft sizes lie below 1, so nothing is left of log |C|; K - |C| is above 1.
    sizes = SETS.sum(axis=1)
    outside = mean_over(np.log(np.maximum(2 - sizes, 1)), 1 - COVERED)
    inside = mean_over(np.log(np.maximum(sizes, 1)), COVERED)
    value = library.call(conftr.Fano(**HALF), LOGITS, LABELS)
    assert value == pytest.approx(ENTROPY + 0.5 * outside + SHARE * inside, rel=1e-5)


def test_model_fano_by_hand(library):
    def weighted_loss(weights):
        q = P[2:] * weights
        return -np.log(q[[0, 1], [0, 1]] / q.sum(axis=1))

    inside, outside = (
        mean_over(weighted_loss(SETS), COVERED),
        mean_over(weighted_loss(1 - SETS), 1 - COVERED),
    )
    value = library.call(conftr.ModelFano(**HALF), LOGITS, LABELS)
    assert value == pytest.approx(ENTROPY + 0.5 * outside + SHARE * inside, rel=1e-5)


@pytest.mark.parametrize("objective", [conftr.Fano(0.5), conftr.ModelFano(0.5)])
def test_a_bound_of_one_row_whose_set_surely_holds_the_truth_is_finite(objective):
    """Compiled, a sum of one weight and an epsilon may lose the epsilon."""
    logits = jnp.asarray([[0.0, 900.0], [3000.0, 0.0]], jnp.float32)
    labels = jnp.asarray([0, 0])  # the first row calibrates: tau is -900, and the second scores 0
    compiled = jax.jit(jax.value_and_grad(objective))
    value, slope = compiled(logits, labels)
    assert np.isfinite(value)
    assert np.isfinite(slope).all()
    np.testing.assert_allclose(value, objective(logits, labels), rtol=1e-5)


def test_dpi_by_hand(library):
    entropy = -np.log([0.8, 0.6, 0.7, 0.4]).mean()
    q = (P[2:] * SETS).sum(axis=1).mean()
    expected = ENTROPY + entropy + 0.5 * math.log(q) + 0.5 * math.log(1 - q)
    assert library.call(conftr.DPI(**HALF), LOGITS, LABELS) == pytest.approx(expected, rel=1e-5)


def test_the_bounds_bound_the_entropy():
    """Of a model that is right, with hard sets and many rows."""
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(20_000, 5))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1)
    entropy = -(p * np.log(p)).sum(axis=1).mean()
    for bound in (conftr.Fano, conftr.ModelFano, conftr.DPI):
        settings = {"alpha": 0.1, "temperature": 1e-6, "quantile": conftr.OrderStatistic()}
        assert bound(**settings)(logits, labels) > entropy - 0.01


def test_uncertainty_aware_by_hand(library):
    # Three of four rows have cross-entropy; the last alone has U = .618 and a truth below .6.
    entropy = -np.log([0.8, 0.6, 0.7]).mean()
    score = 0.6 + 0.6180339887 * 0.4
    objective = conftr.UncertaintyAware(weight=0.5)
    value = library.call(objective, LOGITS, LABELS)
    assert value == pytest.approx(entropy + 0.5 * abs(score - 1), rel=1e-5)


def test_scores_of_a_model_that_is_right_are_nearly_uniform():
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(20_000, 5))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1)

    def distance(x):
        with_it = conftr.UncertaintyAware(weight=1.0)(x, labels)
        return float(with_it - conftr.UncertaintyAware(weight=0.0)(x, labels))

    assert distance(logits) < 0.03
    assert distance(3 * logits) > 0.1


def test_dpsm_by_hand(library):
    state = DPSMState(np.float32(0.5), np.float32(9))
    objective = conftr.DPSM(0.25, size_weight=2.0, temperature=0.5, warm_up=5)
    sets = 1 / (1 + np.exp(-(0.5 - (1 - P)) / 0.5))
    entropy = -np.log([0.8, 0.6, 0.7, 0.4]).mean()
    value = library.call(lambda x, y: objective(x, y, state), LOGITS, LABELS)
    assert value == pytest.approx(entropy + 2 * sets.sum(axis=1).mean(), rel=1e-5)


def test_dpsm_moves_its_threshold_by_the_pinball_loss(library):
    # s of the truths: .2, .4, .3, .6; three of four lie below .5, nine tenths should.
    objective = conftr.DPSM(0.1, rate=0.1, warm_up=5)
    state = DPSMState(np.float32(0.5), np.float32(9))
    tau = library.call(lambda x, y: objective.update(x, y, state).tau, LOGITS, LABELS)
    assert tau == pytest.approx(0.5 - 0.1 * (0.75 - 0.9), rel=1e-5)


def test_dpsm_warms_up_with_cross_entropy_and_the_quantile_of_batches(library):
    objective = conftr.DPSM(0.4, warm_up=5)
    state = objective.start(2)
    plain = library.call(conftr.CrossEntropy(), LOGITS, LABELS)
    value = library.call(lambda x, y: objective(x, y, state), LOGITS, LABELS)
    assert value == pytest.approx(float(plain), rel=1e-6)
    # r = floor(.4 * 5) = 2: the second largest of .2, .4, .3, .6.
    tau = library.call(lambda x, y: objective.update(x, y, state).tau, LOGITS, LABELS)
    assert tau == pytest.approx(0.4, rel=1e-5)


def test_dpsm_tends_to_the_quantile():
    rng = np.random.default_rng(0)
    objective = conftr.DPSM(0.1, rate=0.01, warm_up=1)
    state = objective.start(5)
    for _ in range(2000):
        state = objective.update(rng.normal(size=(100, 5)), rng.integers(0, 5, 100), state)
    x, y = rng.normal(size=(20_000, 5)), rng.integers(0, 5, 20_000)
    p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    assert np.mean(1 - p[np.arange(len(y)), y] < state.tau) == pytest.approx(0.9, abs=0.02)


def test_cact_by_hand(library):
    # z of the two rows that predict, of class 0 and 1; lambda + rho z is negative for the second.
    z = SETS.sum(axis=1) - 0.5
    ones = np.ones(2, np.float32)
    state = CaCTState(
        np.array([0.3, 0.0], np.float32), ones * [1, 4], *(4 * [0 * ones]), np.float32(0)
    )
    objective = conftr.CaCT(0.5, target_size=0.5, penalty=0.2, quantile=conftr.OrderStatistic())
    rho, multiplier = np.array([0.2, 0.8]), np.array([0.3, 0.0])
    penalties = (np.maximum(multiplier + rho * z, 0) ** 2 - multiplier**2) / (2 * rho)
    entropy = -np.log([0.8, 0.6, 0.7, 0.4]).mean()
    value = library.call(lambda x, y: objective(x, y, state), LOGITS, LABELS)
    assert value == pytest.approx(entropy + penalties.mean(), rel=1e-5)


def test_cact_moves_the_classes_that_it_saw(library):
    objective = conftr.CaCT(0.5, target_size=0.5, penalty=0.2, every=2, **{"fraction": 0.5})
    labels = np.array([0, 1, 0, 0])

    def states(x, y):
        first = objective.update(x, y, objective.start(2))
        second = objective.update(x, y, first)
        return first.multipliers, second.multipliers, second.growth, second.seen

    first, second, growth, seen = (
        np.asarray(library.call(lambda x, y, i=i: states(x, y)[i], LOGITS, labels))
        for i in range(4)
    )
    np.testing.assert_array_equal(first, 0)
    assert second[0] > 0
    assert second[1] == 0
    np.testing.assert_allclose(growth, [1.2, 1.0], rtol=1e-6)
    np.testing.assert_array_equal(seen, 0)


def test_what_has_state_says_so():
    assert is_stateful(conftr.DPSM())
    assert is_stateful(conftr.CaCT())
    assert not is_stateful(conftr.RWCE())
    assert not is_stateful(torch.nn.functional.cross_entropy)


@pytest.mark.parametrize("objective", [conftr.DPSM(0.1, warm_up=0), conftr.CaCT(0.1, every=1)])
def test_a_state_follows_the_library_and_has_no_gradient(objective):
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(40, 4)), rng.integers(0, 4, 40)
    leaf, y = torch.tensor(logits, requires_grad=True), torch.tensor(labels)
    state = objective.update(leaf, y, objective.start(4))
    assert all(isinstance(part, torch.Tensor) and not part.requires_grad for part in state)
    objective(leaf, y, state).backward()
    in_jax = jax.jit(objective.update)(jnp.asarray(logits), jnp.asarray(labels), objective.start(4))
    for first, other in zip(state, in_jax, strict=True):
        np.testing.assert_allclose(first, other, rtol=1e-4, atol=1e-5)


def test_confts_finds_the_temperature_of_the_smallest_sets():
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(4000, 10))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1)

    def size(temperature):
        scores = conftr.aps(logits / temperature)
        return conftr.inefficiency(
            conftr.predict_set(scores, conftr.calibrate(scores, labels, 0.1))
        )

    value = conftr.confts(logits, labels, 0.1)
    assert size(value) <= min(size(t) for t in (0.1, 0.3, 1.0, 3.0))
    # Logits ten times sharper want a temperature ten times higher.
    assert conftr.confts(10 * logits, labels, 0.1) == pytest.approx(10 * value, rel=0.4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: conftr.Focal(-1), "gamma"),
        (lambda: conftr.LabelSmoothing(1.0), "smoothing must be .* below 1"),
        (lambda: conftr.DPSM(0), "alpha"),
        (lambda: conftr.DPSM(size_weight=-1), "size_weight"),
        (lambda: conftr.Fano(temperature=0), "temperature"),
        (lambda: conftr.ModelFano(fraction=1.0), "fraction"),
        (lambda: conftr.DPI(alpha=1), "alpha"),
        (lambda: conftr.UncertaintyAware(weight=-1), "weight"),
        (lambda: conftr.CaCT(penalty=0), "penalty"),
        (lambda: conftr.CaCT(every=0), "every"),
    ],
)
def test_bad_settings_are_refused_by_name(make, words):
    with pytest.raises(ValueError, match=words):
        make()
