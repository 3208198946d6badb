"""Bad input is refused with the argument, the rule and the value; under jit nothing is asserted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import conftr

pytestmark = pytest.mark.filterwarnings("ignore:scores hold")  # any numbers serve as scores here

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
    lambda e, y: conftr.calibrate(e, y, 0.1, groups="class"),
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
    with pytest.raises(TypeError, match=r"one library; got \w+ from PyTorch, labels from NumPy"):
        function(torch.asarray(LOGITS), LABELS)
    with pytest.raises(TypeError, match=r"one library; got \w+ from JAX, labels from NumPy"):
        function(jnp.asarray(LOGITS), LABELS)
    with pytest.raises(
        TypeError, match=r"labels must be an array of NumPy, JAX, PyTorch .* got list"
    ):
        function(LOGITS, LABELS.tolist())


@pytest.mark.parametrize("function", [*ON_BATCHES, *ON_SCORES])
def test_masks_are_not_ignored(function):
    with pytest.raises(TypeError, match=r"is masked, .* leave those rows out"):
        function(np.ma.masked_array(LOGITS, LOGITS > 0), LABELS)
    with pytest.raises(TypeError, match=r"is masked, .* leave those rows out"):
        function(LOGITS, np.ma.masked_array(LABELS, LABELS > 0))


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
        (-0.5, ValueError, r"u must lie in \[0, 1\]; got -0.5"),
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
        (lambda: conftr.smooth_predict_set(LOGITS, 0.0, 0), ValueError, "temperature must be"),
        (
            lambda: conftr.predict_set(LOGITS, np.zeros(7)),
            ValueError,
            r"tau must broadcast .* \(40, 3\)",
        ),
        (lambda: conftr.predict_set(LOGITS, np.nan), ValueError, "tau must not be nan"),
        (
            lambda: conftr.calibrate(LOGITS, LABELS, 0.1, groups="names"),
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
    result = jax.jit(lambda scale: conftr.ConfTr(0.1)(scale * x, y))(1.0)
    assert result == pytest.approx(float(conftr.ConfTr(0.1)(x, y)), rel=1e-5)
    taus = jax.jit(lambda shift: conftr.calibrate(x, y, 0.1) + shift)(1.0)
    assert taus == pytest.approx(conftr.calibrate(x, y, 0.1) + 1)


def test_torch_transforms_see_no_values():
    x, y = torch.asarray(LOGITS), torch.asarray(LABELS)
    stacked = torch.stack([x, 2 * x])
    result = torch.func.vmap(lambda item: conftr.ConfTr(0.1)(item, y))(stacked)
    assert result[1].item() == pytest.approx(conftr.ConfTr(0.1)(2 * x, y).item())
    gradient = torch.func.grad(lambda item: conftr.ConfTr(0.1)(item, y))(x)
    assert torch.all(torch.isfinite(gradient))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32"])
def test_labels_of_any_integer_type(eager, dtype):
    logits = np.random.default_rng(0).normal(size=(30, 100)).astype(np.float32)
    labels = np.arange(30).astype(dtype)
    x, y = eager.asarray(logits), eager.asarray(labels)
    assert conftr.calibrate(x, y, 0.1) == conftr.calibrate(logits, labels.astype(int), 0.1)
    objective = conftr.ConfTr(0.1, class_weights=np.ones(100), loss_matrix=conftr.identity)
    assert np.isfinite(float(objective(x, y)))
    assert 0 <= conftr.accuracy(x, y) <= 1


def test_a_type_too_narrow_for_the_classes():
    labels = torch.arange(20, dtype=torch.uint8)
    assert np.isfinite(conftr.calibrate(torch.randn(20, 256), labels, 0.1))
    assert conftr.accuracy(np.eye(300)[[256, 256]], np.zeros(2, np.uint8)) == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda v: conftr.ConfTr(0.1, temperature=v),
        lambda v: conftr.ConfTr(0.1, size_weight=v),
        lambda v: conftr.ConfTr(0.1, fraction=v),
        lambda v: conftr.SmoothSort(v),
        lambda v: conftr.Nearest(v),
        lambda v: conftr.raps(LOGITS, penalty=v),
        lambda v: conftr.aps(LOGITS, v),
        lambda v: conftr.Shape(shrink={"a": v}),
    ],
)
@pytest.mark.parametrize("value", [np.float64(-1), np.float32(-1), np.array(-1.0), -1])
def test_numbers_of_numpy_are_checked_too(make, value):
    with pytest.raises(ValueError, match="must"):
        make(value)


def test_settings_of_another_library_are_converted():
    weights = [1.0, 5.0, 1.0]
    x, y = torch.asarray(LOGITS), torch.asarray(LABELS)
    expected = conftr.ConfTr(0.1, class_weights=weights)(x, y).item()
    for make in (np.asarray, jnp.asarray, lambda w: torch.tensor(w, requires_grad=True)):
        assert conftr.ConfTr(0.1, class_weights=make(weights))(x, y).item() == pytest.approx(
            expected
        )
    assert (
        conftr.predict_set(torch.zeros(2, 3), jnp.array([1, -1, 1])).tolist()
        == [[False, True, False]] * 2
    )


def test_a_known_alpha_of_jax_is_known_under_jit_too():
    x, y, alpha = jnp.asarray(LOGITS), jnp.asarray(LABELS), jnp.float32(0.1)
    tau = jax.jit(lambda s, t: conftr.calibrate(s, t, alpha))(x, y)
    assert tau == conftr.calibrate(x, y, 0.1)
    assert jnp.isfinite(jax.jit(conftr.ConfTr(alpha=alpha))(x, y))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: conftr.ConfTr(alpha=[0.1, 0.2]), ValueError, "alpha must be a single number"),
        (lambda: conftr.ConfTr(score=None), TypeError, "score must be a function; got None"),
        (
            lambda: conftr.ConfTr(quantile=conftr.SmoothSort),
            TypeError,
            r"such as SmoothSort\(...\)",
        ),
        (lambda: conftr.predict_set(LOGITS, None), TypeError, "tau must be a number"),
        (lambda: conftr.smooth_calibrate(LOGITS, LABELS - 1, 0.1), ValueError, "labels must lie"),
        (
            lambda: conftr.smooth_predict_set(LOGITS.astype(int), 0.5, 1.0),
            TypeError,
            "scores must be",
        ),
        (lambda: conftr.coverage_law(5, 3, 2), ValueError, "alpha must lie"),
        (lambda: conftr.coverage_law(0, 3, 0.1), ValueError, "n_cal must be"),
        (lambda: conftr.raps(LOGITS, penalty=1e-40), ValueError, "penalty must be 0 or at least"),
        (lambda: conftr.raps(LOGITS, free_rank=1.5), ValueError, "free_rank a whole number"),
        (lambda: conftr.calibrate(LOGITS, LABELS, []), TypeError, "alpha must be a number"),
        (
            lambda: conftr.evaluate(LOGITS, LABELS, score="aps", alpha=0.1, n_cal=20),
            TypeError,
            "score must be a function",
        ),
        (
            lambda: conftr.evaluate(LOGITS, LABELS, score=conftr.thr, alpha=0.1, n_cal=20.0),
            TypeError,
            "n_cal must be a whole number",
        ),
        (
            lambda: conftr.evaluate(LOGITS, LABELS, score=conftr.thr, alpha=0.1, n_cal=9, splits=0),
            ValueError,
            "splits must be",
        ),
    ],
)
def test_slips_are_named(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_warnings_point_to_the_caller():
    for options in ({}, {"groups": "class"}):
        with pytest.warns(conftr.CalibrationWarning) as caught:
            conftr.calibrate(LOGITS, LABELS, 0.001, **options)
        assert caught[0].filename == __file__
