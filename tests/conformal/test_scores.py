"""Scores: values by hand, exactness on sharp logits, ties, laws."""

import math
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import conftr

P = np.array([[0.6, 0.3, 0.1]])
SCORES = {
    "thr": conftr.thr,
    "aps": conftr.aps,
    "raps": partial(conftr.raps, penalty=0.05, free_rank=1),
}


def log(p):
    return np.log(p).astype(np.float32)


def test_probabilities_enter_as_logs_with_one_bound_for_all_types(library):
    p = np.array([[0.5, 0.5, 0.0], [1.0, 1e-38, 0.0]])
    for dtype in (np.float32, np.float64):
        result = library.call(conftr.logits_from_probs, p.astype(dtype))
        np.testing.assert_allclose(result[0, :2], [math.log(0.5)] * 2, rtol=1e-6)
        np.testing.assert_array_equal(result[1], [0, -87, -87])
        assert result[0, 2] == -87


def test_what_is_no_probability_is_refused(eager):
    for p, words in [
        ([[1.5, -0.5]], r"probabilities must lie in 0..1; got -0.5..1.5. For logits use"),
        ([[0.5, 0.5], [0.5, 0.2]], "those of row 1 sum to 0.7"),
        ([[0.5, np.nan]], "probabilities must be finite"),
    ]:
        with pytest.raises(ValueError, match=words):
            conftr.logits_from_probs(eager.asarray(np.array(p)))
    assert conftr.logits_from_probs(eager.asarray(np.empty((0, 3)))).shape == (0, 3)


def test_thr_by_hand(library):
    # log softmax(log p) is log p again; shifting the logits changes nothing.
    np.testing.assert_allclose(library.call(conftr.thr, log(P) + 7), np.log(P), rtol=1e-5)
    np.testing.assert_allclose(library.call(conftr.thr_probs, log(P) + 7), P, rtol=1e-5)
    np.testing.assert_array_equal(library.call(conftr.thr_logits, log(P)), log(P))


def test_aps_by_hand(library):
    # Ascending mass .1, .3, .6; U = .25 keeps .75 of a class's own mass:
    # class 0: .1 + .3 + .45 = .85; class 1: .1 + .225 = .325; class 2: .075.
    u = np.array([0.25], dtype=np.float32)
    scores = library.call(conftr.aps, log(P), u)
    np.testing.assert_allclose(np.exp(scores), [[0.85, 0.325, 0.075]], rtol=1e-5)
    # U = None is U = 0: the class's whole mass counts, so the likeliest class scores log 1.
    np.testing.assert_allclose(np.exp(library.call(conftr.aps, log(P))), [[1, 0.4, 0.1]], rtol=1e-5)
    # U = 1 counts only what lies strictly below.
    scores = library.call(conftr.aps, log(P), np.array([1.0], dtype=np.float32))
    np.testing.assert_allclose(np.exp(scores), [[0.4, 0.1, 0.0]], rtol=1e-5)


def test_raps_by_hand(library):
    # penalty .2 a rank beyond the first; at U = 0 mass - penalty: 1 - 0, .4 - .2, .1 - .4.
    # .2 is positive, so its log; -.3 lies .1 above the second multiple of .2 below 0.
    scores = library.call(partial(conftr.raps, penalty=0.2), log(P))
    np.testing.assert_allclose(
        scores, [[0, math.log(0.2), math.log(0.1) - 2 * 8192]], rtol=1e-5, atol=1e-6
    )
    free = library.call(partial(conftr.raps, penalty=0.2, free_rank=3), log(P))
    np.testing.assert_allclose(free, library.call(conftr.aps, log(P)), rtol=1e-6)
    without = library.call(partial(conftr.raps, penalty=0.0), log(P))
    np.testing.assert_array_equal(without, library.call(conftr.aps, log(P)))


def test_smooth_aps_tends_to_aps(library, rng):
    logits = rng.normal(size=(20, 6)).astype(np.float32)
    u = rng.random(20).astype(np.float32)
    soft = library.call(partial(conftr.smooth_aps, dispersion=1e-5), logits, u)
    np.testing.assert_allclose(soft, np.exp(conftr.aps(logits, u)), atol=1e-5)


def test_smooth_aps_by_hand(library):
    # Two classes, p = (.6, .4), eps = .2: swap weight w = sigmoid(-2 * .2 / .2) = sigmoid(-2).
    # Soft masses .4 + .2 w and .6 - .2 w; at U = 0 the running sums .4 + .2 w and 1 mix back.
    w = 1 / (1 + math.exp(2))
    low = 0.4 + 0.2 * w
    expected = [[1 + w * (low - 1), low + w * (1 - low)]]
    soft = library.call(partial(conftr.smooth_aps, dispersion=0.2), log([[0.6, 0.4]]))
    np.testing.assert_allclose(soft, expected, rtol=1e-5)


def exact_scores(row, u, penalty, free_rank):
    """THR, APS and RAPS of one example from their definitions, in exact arithmetic."""
    weights = [mpmath.exp(mpmath.mpf(float(x))) for x in row]
    total = mpmath.fsum(weights)
    p = [x / total for x in weights]
    mass = [
        mpmath.fsum(q for q in p if q < x)
        + (1 - mpmath.mpf(float(u))) * mpmath.fsum(q for q in p if q == x)
        for x in p
    ]
    ranks = [1 + sum(q > x for q in p) for x in p]
    penalised = [m - penalty * max(0, r - free_rank) for m, r in zip(mass, ranks, strict=True)]
    return {"thr": p, "aps": mass, "raps": penalised}


@lru_cache
def sharp_case(scale):
    """Logits, labels, U and, for every score and alpha, the sets of exact arithmetic."""
    rng = np.random.default_rng(scale)
    n, k = 60, 8
    logits = (scale * rng.normal(size=(n, k))).astype(np.float32)
    u = rng.random(n).astype(np.float32)
    # Half the labels are the top class: at large alphas the threshold is a probability next to 1.
    labels = np.where(rng.random(n) < 0.5, logits.argmax(1), rng.integers(0, k, n))
    sets = {}
    with mpmath.workdps(1500):  # enough for 1 - exp(-2400)
        rows = [
            exact_scores(row, v, mpmath.mpf("0.05"), 1) for row, v in zip(logits, u, strict=True)
        ]
        for name in SCORES:
            true_scores = sorted(row[name][y] for row, y in zip(rows, labels, strict=True))
            for r, alpha in [(3, 0.05), (6, 0.1), (15, 0.25), (30, 0.5)]:
                sets[name, alpha] = np.array(
                    [[e >= true_scores[r - 1] for e in row[name]] for row in rows]
                )
    return logits, labels, u, sets


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("scale", [1, 30, 300])
def test_sharp_logits_give_the_sets_of_exact_arithmetic(library, name, scale):
    logits, labels, u, sets = sharp_case(scale)
    scores = library.call(SCORES[name], logits, *([] if name == "thr" else [u]))
    for alpha in (0.05, 0.1, 0.25, 0.5):
        rounded_sets = scores >= conftr.calibrate(scores, labels, alpha)  # not even up to rounding
        np.testing.assert_array_equal(rounded_sets, sets[name, alpha])


@pytest.mark.parametrize("name", SCORES)
def test_float32_agrees_with_float64_on_many_sharp_rows(name):
    rng = np.random.default_rng(3)
    logits = (300 * rng.normal(size=(20_000, 10))).astype(np.float32)
    u = rng.random(20_000).astype(np.float32)
    labels = rng.integers(0, 10, 20_000)
    sets = []
    for dtype in (np.float32, np.float64):
        args = [] if name == "thr" else [u.astype(dtype)]
        scores = SCORES[name](logits.astype(dtype), *args)
        sets.append(conftr.predict_set(scores, conftr.calibrate(scores, labels, 0.1)))
    # A score within rounding of the threshold may fall on either side: a handful in 200,000.
    assert np.mean(sets[0] != sets[1]) < 1e-4
    assert 0 < np.mean(sets[0]) < 1


@pytest.mark.parametrize("name", SCORES)
def test_saturated_probabilities_do_not_fill_the_sets(library, name):
    # softmax of these is exactly 0 or 1 in float32; 1 - p and cumsum(p) tie and give size K.
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 10, 500)
    logits = (200 * rng.normal(size=(500, 10))).astype(np.float32)
    logits[np.arange(500), labels] += 600
    u = rng.random(500).astype(np.float32)
    scores = library.call(SCORES[name], logits, *([] if name == "thr" else [u]))
    sets = conftr.predict_set(scores, conftr.calibrate(scores, labels, 0.05))
    assert 0.94 < conftr.coverage(sets, labels) < 0.97
    assert conftr.inefficiency(sets) < 1.5


@pytest.mark.parametrize("name", SCORES)
def test_equal_logits_give_equal_scores(library, name, rng):
    logits = rng.integers(0, 3, size=(50, 8)).astype(np.float32)
    u = rng.random(50).astype(np.float32)
    scores = library.call(SCORES[name], logits, *([] if name == "thr" else [u]))
    for row, given_row in zip(scores, logits, strict=True):
        for value in np.unique(given_row):
            assert len(np.unique(row[given_row == value])) == 1
        assert len(np.unique(row)) == len(np.unique(given_row))


def test_tied_classes_count_with_each_other(library):
    # p = (.4, .4, .2): below the tie lies .2, in it .8; U = .5 gives .2 + .4 to both.
    scores = library.call(conftr.aps, log([[0.4, 0.4, 0.2]]), np.array([0.5], dtype=np.float32))
    np.testing.assert_allclose(np.exp(scores), [[0.6, 0.6, 0.1]], rtol=1e-5)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(SCORES)))
def test_scores_follow_the_classes_through_a_permutation(data, name):
    k = data.draw(st.integers(1, 7))
    row = data.draw(st.lists(st.floats(-500, 500, width=32), min_size=k, max_size=k))
    order = data.draw(st.permutations(range(k)))
    logits = np.array([row], dtype=np.float32)
    args = [] if name == "thr" else [np.array([0.3], dtype=np.float32)]
    np.testing.assert_allclose(
        SCORES[name](logits[:, order], *args), SCORES[name](logits, *args)[:, order], rtol=1e-5
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-100, 100, width=32), min_size=2, max_size=9, unique=True),
    st.floats(0, 0.99),
)
def test_scores_rise_with_the_logit(row, u):
    logits = np.array([row])
    order = np.argsort(row)
    for name in ("thr", "aps", "raps"):
        args = [] if name == "thr" else [u]
        assert np.all(np.diff(SCORES[name](logits, *args)[0][order]) >= 0)


def test_the_likeliest_class_scores_highest_exactly_at_u_none(rng):
    logits = (50 * rng.normal(size=(3000, 12))).astype(np.float32)
    assert np.all(conftr.aps(logits).max(axis=1) == 0.0)


def test_blocks_of_rows_change_nothing(rng):
    logits = rng.normal(size=(30_000, 11)).astype(np.float32)
    u = rng.random(30_000).astype(np.float32)
    for name, score in SCORES.items():
        args = [] if name == "thr" else [u]
        whole = score(logits, *args)
        part = score(logits[17_000:17_003], *[a[17_000:17_003] for a in args])
        np.testing.assert_array_equal(whole[17_000:17_003], part)


@pytest.mark.parametrize("k", [3, 10, 100, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [*SCORES, "thr_probs"])
def test_a_row_scores_the_same_alone_and_however_it_is_stored(rng, name, dtype, k):
    # A data frame's rows are stored by columns, those taken out of it by rows. Where scores tie,
    # as a tree's do, one bit of difference takes the truth out of many sets.
    score = SCORES.get(name, conftr.thr_probs)
    logits = rng.normal(size=(200, k)).astype(dtype)
    scores = score(logits)
    np.testing.assert_array_equal(score(np.asfortranarray(logits)), scores)
    np.testing.assert_array_equal(score(logits[::-1].T.copy().T), scores[::-1])
    np.testing.assert_array_equal(score(logits[7:8]), scores[7:8])


def test_one_class_and_no_rows(library):
    item = np.zeros((3, 1), dtype=np.float32)
    for score in SCORES.values():
        np.testing.assert_array_equal(library.call(score, item), item)
        assert library.call(score, np.zeros((0, 4), dtype=np.float32)).shape == (0, 4)


@pytest.mark.parametrize("k", [3, 10, 100])
def test_the_likeliest_class_scores_log_1_in_every_library(eager, k):
    # Or sets lose their likeliest class to rounding as soon as accuracy exceeds 1 - alpha.
    logits = (3 * np.random.default_rng(k).normal(size=(500, k))).astype(np.float32)
    for score in (conftr.aps, conftr.raps):
        assert np.all(eager.call(score, logits).max(axis=1) == 0.0)


def test_small_own_shares_of_small_classes_keep_their_order():
    # The share (1 - U) of a class 79.9 below the largest is smaller than any normal float32.
    logits = np.array([[0, -79.9], [0, -81]], dtype=np.float32)
    u = np.array([0.9999, 0.999], dtype=np.float32)
    expected = [-79.9 + math.log(1 - np.float64(u[0])), -81 + math.log(1 - np.float64(u[1]))]
    np.testing.assert_allclose(conftr.aps(logits, u)[:, 1], expected, rtol=1e-5)


def test_many_draws_of_u_at_once():
    logits = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    u = np.random.default_rng(1).random((3, 6)).astype(np.float32)
    expected = np.stack([conftr.aps(logits, item) for item in u])
    in_jax = jax.vmap(lambda item: conftr.aps(jnp.asarray(logits), item))(u)
    np.testing.assert_allclose(in_jax, expected, rtol=1e-5, atol=1e-6)
    in_torch = torch.func.vmap(lambda item: conftr.aps(torch.asarray(logits), item))
    np.testing.assert_allclose(in_torch(torch.asarray(u)), expected, rtol=1e-5, atol=1e-6)
