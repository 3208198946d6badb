"""THR straight from logits gives what its scores give, to the last bit."""

import itertools

import numpy as np
import pytest

import conftr
from conftr.conformal.direct import ranked_scores, reaches

RNG = np.random.default_rng(0)


def some_logits(scale, classes, dtype, n=400, order="C"):
    logits = (scale * RNG.normal(size=(n, classes))).astype(dtype)
    logits[: n // 4] = np.round(logits[: n // 4])  # rows with ties, within and between them
    logits[n // 4 : n // 2] = logits[: n // 4]
    return np.asarray(logits, order=order)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("scale", "classes"), [*itertools.product([0.01, 1, 4, 30, 300], [1, 2, 10, 300])]
)
def test_sets_are_those_of_the_scores(scale, classes, dtype):
    logits = some_logits(scale, classes, dtype)
    scores = conftr.thr(logits)
    true_scores = RNG.choice(scores.ravel(), 25)
    for tau in (
        *true_scores,
        *np.nextafter(true_scores, np.inf, dtype=dtype),
        -np.inf,
        np.inf,
        0,
        -1e-3,
        -70,
    ):
        wanted = conftr.predict_set(scores, tau)
        np.testing.assert_array_equal(conftr.predict_set(logits, tau, score=conftr.thr), wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("scale", "classes"), [*itertools.product([0.01, 1, 4, 30, 300], [2, 10, 300])]
)
def test_thresholds_are_those_of_the_scores(scale, classes, dtype):
    logits = some_logits(scale, classes, dtype)
    labels = RNG.integers(0, classes, len(logits))
    alphas = np.array([[0.01, 0.05], [0.5, 0.9]])
    wanted = conftr.calibrate(conftr.thr(logits), labels, alphas)
    tau = conftr.calibrate(logits, labels, alphas, score=conftr.thr)
    np.testing.assert_array_equal(tau, wanted)
    assert tau.dtype == wanted.dtype
    assert conftr.calibrate(logits, labels, 0.05, score=conftr.thr) == wanted[0, 1]


def test_moderate_logits_are_not_all_scored():
    """Or there would be nothing to gain; few rows come close to the threshold."""
    logits = RNG.normal(size=(5000, 10)).astype(np.float32)
    labels = RNG.integers(0, 10, 5000)
    tau = conftr.calibrate(conftr.thr(logits), labels, 0.1)
    assert ranked_scores(logits, labels, [500]) is not None
    assert ranked_scores(100 * logits, labels, [500]) is None
    assert reaches(logits, tau).mean() > 0.5


def test_how_logits_are_stored_and_in_what_company_changes_nothing():
    logits = some_logits(3, 10, "float32", n=30_000)
    labels = logits.argmax(axis=1)
    labels[::3] = RNG.integers(0, 10, len(labels[::3]))
    tau = conftr.calibrate(logits, labels, 0.1, score=conftr.thr)
    sets = conftr.predict_set(logits, tau, score=conftr.thr)
    by_columns = np.asfortranarray(logits)
    assert conftr.calibrate(by_columns, labels, 0.1, score=conftr.thr) == tau
    np.testing.assert_array_equal(conftr.predict_set(by_columns, tau, score=conftr.thr), sets)
    for rows in (slice(0, 1), slice(7, 8), slice(1, 30_000, 7)):
        np.testing.assert_array_equal(
            conftr.predict_set(logits[rows], tau, score=conftr.thr), sets[rows]
        )
    far = np.concatenate([logits, 1000 * logits[:1]])
    np.testing.assert_array_equal(conftr.predict_set(far, tau, score=conftr.thr)[:-1], sets)


def test_no_rows():
    assert conftr.predict_set(np.empty((0, 3)), -1.0, score=conftr.thr).shape == (0, 3)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_by_its_place(bad):
    logits = RNG.normal(size=(30_000, 10))
    logits[20_001, 7] = bad
    with pytest.raises(ValueError, match="logits must be finite") as refused:
        conftr.thr(logits)
    with pytest.raises(ValueError, match="logits must be finite") as same:
        conftr.predict_set(logits, -1.0, score=conftr.thr)
    assert str(same.value) == str(refused.value)
    with pytest.raises(ValueError, match="logits must be finite"):
        conftr.calibrate(logits, np.zeros(30_000, int), 0.1, score=conftr.thr)


def test_too_few_examples_are_warned_of():
    with pytest.warns(conftr.CalibrationWarning, match="too few for alpha = 0.1"):
        tau = conftr.calibrate(np.zeros((3, 2)), np.zeros(3, int), 0.1, score=conftr.thr)
    assert tau == -np.inf


def test_groups_and_other_scores():
    logits, labels = some_logits(2, 5, "float64"), RNG.integers(0, 5, 400)
    u = RNG.random(400)
    per_class = conftr.calibrate(conftr.thr(logits), labels, 0.1, groups="class")
    thresholds = conftr.calibrate(logits, labels, 0.1, groups="class", score=conftr.thr)
    np.testing.assert_array_equal(thresholds, per_class)
    np.testing.assert_array_equal(
        conftr.predict_set(logits, per_class, score=conftr.thr),
        conftr.predict_set(conftr.thr(logits), per_class),
    )
    tau = conftr.calibrate(logits, labels, 0.1, score=conftr.aps, u=u)
    assert tau == conftr.calibrate(conftr.aps(logits, u), labels, 0.1)
    np.testing.assert_array_equal(
        conftr.predict_set(logits, tau, score=conftr.aps, u=u),
        conftr.predict_set(conftr.aps(logits, u), tau),
    )
    with pytest.raises(TypeError, match=r"score must be a function such as conftr\.thr"):
        conftr.predict_set(logits, tau, score="aps")


def test_other_libraries(library):
    logits = RNG.normal(size=(50, 4)).astype(np.float32)
    labels = RNG.integers(0, 4, 50)

    def directly(logits, labels):
        tau = conftr.calibrate(logits, labels, 0.1, score=conftr.thr)
        return conftr.predict_set(logits, tau, score=conftr.thr)

    def by_scores(logits, labels):
        scores = conftr.thr(logits)
        return conftr.predict_set(scores, conftr.calibrate(scores, labels, 0.1))

    made, same = (library.call(item, logits, labels) for item in (directly, by_scores))
    np.testing.assert_array_equal(made, same)
