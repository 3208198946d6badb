"""Bad input is refused with the argument, the rule and the value; under jit nothing is asserted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import conftr

LOGITS = np.random.default_rng(0).normal(size=(40, 3))
LABELS = np.random.default_rng(1).integers(0, 3, 40)
ON_LOGITS = [
    conftr.thr,
    conftr.thr_probs,
    conftr.thr_logits,
    conftr.aps,
    conftr.raps,
    conftr.smooth_aps,
]
ON_BATCHES = [
    conftr.CrossEntropy(),
    conftr.ConfTr(0.1),
    conftr.CoverTr(-0.1),
    conftr.Bel(0.1),
    conftr.accuracy,
    lambda x, y: conftr.evaluate(x, y, score=conftr.thr, alpha=0.1, n_cal=20),
]
ON_SCORES = [
    lambda e, y: conftr.calibrate(e, y, 0.1),
    lambda e, y: conftr.calibrate(e, y, 0.1, groups="labels"),
]


def with_entry(value):
    logits = LOGITS.copy()
    logits[7, 2] = value
    return logits


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("score", ON_LOGITS)
def test_logits_must_be_finite(eager, score, value):
    with pytest.raises(
        ValueError, match=r"logits must be finite; got .*(nan|inf).* at index \(7, 2\)"
    ):
        score(eager.asarray(with_entry(value)))


@pytest.mark.parametrize("function", ON_BATCHES)
def test_batches_are_checked(eager, function):
    x, y = eager.asarray(LOGITS), eager.asarray(LABELS)
    with pytest.raises(ValueError, match="logits must be finite"):
        function(eager.asarray(with_entry(np.nan)), y)
    with pytest.raises(ValueError, match=r"logits must have shape \(n, K\).*got shape \(40,\)"):
        function(x[:, 0], y)
    _labels_are_checked(eager, function, x, y)


@pytest.mark.parametrize("function", ON_SCORES)
def test_calibration_is_checked(eager, function):
    x, y = eager.asarray(LOGITS), eager.asarray(LABELS)
    with pytest.raises(
        ValueError, match=r"scores must not contain nan; got .*nan.* at index \(7, 2\)"
    ):
        function(eager.asarray(with_entry(np.nan)), y)
    with pytest.raises(ValueError, match="at least one calibration example"):
        function(x[:0, :], y[:0])
    _labels_are_checked(eager, function, x, y)


def _labels_are_checked(eager, function, x, y):
    for bad, error, words in [
        (LABELS - 1, ValueError, r"labels must lie in 0..2; got .*-1.* at index"),
        (LABELS + 1, ValueError, r"labels must lie in 0..2; got .*3.* at index"),
        (LABELS * 1.0, TypeError, "labels must be integers; got type"),
        (LABELS[:-1], ValueError, r"one label for each of the 40 rows; got shape \(39,\)"),
        (np.eye(3, dtype=int)[LABELS], ValueError, r"labels must have shape \(n,\)"),
    ]:
        with pytest.raises(error, match=words):
            function(x, eager.asarray(bad))


@pytest.mark.parametrize("function", [*ON_BATCHES, *ON_SCORES])
def test_libraries_are_not_mixed(function):
    with pytest.raises(TypeError, match=r"all arrays must come from one library; got .* from"):
        function(torch.asarray(LOGITS), LABELS)
    with pytest.raises(TypeError, match="one library"):
        function(jnp.asarray(LOGITS), LABELS)
    with pytest.raises(
        TypeError, match=r"labels must be an array of NumPy, JAX, PyTorch .* got list"
    ):
        function(LOGITS, LABELS.tolist())


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, np.nan, np.array([0.1, 2.0])])
def test_alpha_lies_strictly_between_0_and_1(alpha):
    with pytest.raises(ValueError, match="alpha must lie strictly between 0 and 1; got"):
        conftr.calibrate(LOGITS, LABELS, alpha)
    with pytest.raises(ValueError, match="alpha must lie strictly"):
        conftr.evaluate(LOGITS, LABELS, score=conftr.thr, alpha=alpha, n_cal=20)


@pytest.mark.parametrize("alpha", ["0.1", None, [None], True])
def test_alpha_is_a_number(alpha):
    with pytest.raises(TypeError, match="alpha must be a number"):
        conftr.calibrate(LOGITS, LABELS, alpha)


def test_traced_alpha_is_refused_in_words():
    with pytest.raises(TypeError, match="alpha must be known when the program is compiled"):
        jax.jit(conftr.calibrate)(LOGITS, LABELS, 0.1)


@pytest.mark.parametrize(
    ("u", "error", "words"),
    [
        (np.full(40, 1.5), ValueError, r"u must lie in \[0, 1\]; got 1.5"),
        (np.full(40, np.nan), ValueError, r"u must lie in \[0, 1\]"),
        (2.0, ValueError, r"u must lie in \[0, 1\]; got 2.0"),
        (-0.5, ValueError, "u must be"),
        (np.zeros(3), ValueError, r"shape \(n,\) = \(40,\).*got shape \(3,\)"),
        (np.zeros((40, 3)), ValueError, "one uniform draw an example"),
        (np.zeros(40, dtype=int), TypeError, "u must be floating point"),
    ],
)
def test_u_is_checked(u, error, words):
    for score in (conftr.aps, conftr.raps, conftr.smooth_aps):
        with pytest.raises(error, match=words):
            score(LOGITS, u)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: conftr.thr(LOGITS.astype(int)), TypeError, "logits must be floating point"),
        (lambda: conftr.thr(LOGITS.tolist()), TypeError, r"got list. numpy.asarray\(logits\)"),
        (lambda: conftr.thr(np.zeros((3, 0))), ValueError, "one column a class"),
        (lambda: conftr.raps(LOGITS, penalty=-1), ValueError, "penalty must be .* at least 0"),
        (lambda: conftr.raps(LOGITS, free_rank="a"), TypeError, "free_rank must be a number"),
        (lambda: conftr.smooth_aps(LOGITS, dispersion=0), ValueError, "dispersion must be"),
        (lambda: conftr.smooth_predict(LOGITS, 0.0, 0), ValueError, "temperature must be"),
        (
            lambda: conftr.predict(LOGITS, np.zeros(7)),
            ValueError,
            r"tau must broadcast .* \(40, 3\)",
        ),
        (lambda: conftr.predict(LOGITS, np.nan), ValueError, "tau must not be nan"),
        (
            lambda: conftr.calibrate(LOGITS, LABELS, 0.1, groups="class"),
            ValueError,
            "groups must be",
        ),
        (
            lambda: conftr.calibrate(LOGITS, LABELS, 0.1, groups=np.zeros(3, dtype=int)),
            ValueError,
            "one group an example",
        ),
        (
            lambda: conftr.calibrate(LOGITS, LABELS, 0.1, groups=np.full(40, 5), n_groups=3),
            ValueError,
            r"groups must lie in 0..2; got 5",
        ),
    ],
)
def test_the_rest_is_refused_in_words(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_under_jit_nothing_is_asserted_on_values():
    bad = jnp.asarray(with_entry(np.nan))
    assert jnp.isnan(jax.jit(conftr.thr)(bad)).any()
    assert jnp.isnan(jax.jit(conftr.CrossEntropy())(bad, jnp.asarray(LABELS)))
    jax.jit(lambda e, y: conftr.calibrate(e, y, 0.1))(bad, jnp.asarray(LABELS) + 9)


def test_closed_over_arrays_are_fine_under_jit():
    x, y = jnp.asarray(LOGITS), jnp.asarray(LABELS)
    found = jax.jit(lambda scale: conftr.ConfTr(0.1)(scale * x, y))(1.0)
    assert found == pytest.approx(float(conftr.ConfTr(0.1)(x, y)), rel=1e-5)
    taus = jax.jit(lambda shift: conftr.calibrate(x, y, 0.1) + shift)(1.0)
    assert taus == pytest.approx(conftr.calibrate(x, y, 0.1) + 1)


def test_torch_transforms_see_no_values():
    x, y = torch.asarray(LOGITS), torch.asarray(LABELS)
    stacked = torch.stack([x, 2 * x])
    found = torch.func.vmap(lambda one: conftr.ConfTr(0.1)(one, y))(stacked)
    assert found[1].item() == pytest.approx(conftr.ConfTr(0.1)(2 * x, y).item())
    gradient = torch.func.grad(lambda one: conftr.ConfTr(0.1)(one, y))(x)
    assert torch.all(torch.isfinite(gradient))
