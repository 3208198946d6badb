"""Martingales by hand, the fairness of every bet, and what Ville promises of false alarms."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

import conftr
from conftr.conformal import martingale

few = st.lists(st.integers(0, 4), min_size=1, max_size=30).map(lambda x: np.array(x, float))


@given(few, few, st.integers(0, 99))
def test_each_p_value_is_that_among_all_before(reference, stream, seed):
    u = np.random.default_rng(seed).random(len(stream))
    result = martingale.sequential_p_values(reference, stream, u)
    for t, score in enumerate(stream):
        before = np.append(reference, stream[:t])
        assert result[t] == pytest.approx(
            conftr.p_values(before, np.array([[score]]), u=u[t : t + 1])[0, 0]
        )


def test_blocks_make_no_difference(monkeypatch, rng):
    reference, stream, u = rng.integers(0, 9, 50), rng.integers(0, 9, 300), rng.random(300)
    whole = martingale.sequential_p_values(reference, stream, u)
    monkeypatch.setattr(martingale, "_BLOCK", 7)
    np.testing.assert_array_equal(martingale.sequential_p_values(reference, stream, u), whole)


def test_misses_by_hand():
    # Three of nine below the threshold; then a miss, none, a miss.
    result = martingale.miss_chances(3, 9, [True, False, True])
    np.testing.assert_allclose(result, [3 / 10, 4 / 11, 4 / 12])
    assert len(martingale.miss_chances(3, 9, np.zeros(0, bool))) == 0


@pytest.mark.parametrize(("a", "b"), martingale.ANY)
def test_bets_on_p_values_are_fair(a, b):
    def factor(p):
        return np.exp(martingale.bets_on_p_values(np.array([p]), [(a, b)])[0, 0])

    halves = [integrate.quad(factor, *ends)[0] for ends in ((0, 0.5), (0.5, 1))]
    assert sum(halves) == pytest.approx(1, abs=1e-4)


def test_bets_on_misses_are_fair_to_the_last_sequence():
    # The expectation of the capital over all sequences of eight rows, with the chances of the urn.
    total = 0.0
    for sequence in product([False, True], repeat=8):
        misses = np.array(sequence)
        chances = martingale.miss_chances(2, 14, misses)
        probability = np.prod(np.where(misses, chances, 1 - chances))
        bets = martingale.bets_on_misses(misses, chances, 0.1)
        total += probability * np.exp(martingale.capital(bets)[-1])
    assert total == pytest.approx(1, abs=1e-9)


@given(st.lists(st.lists(st.floats(-3, 2), min_size=4, max_size=4), min_size=1, max_size=3))
def test_the_capital_is_what_its_formula_says(bets):
    bets = np.array(bets)
    kept = np.log(10) / np.log(10 + np.arange(5))
    for t in range(1, 5):
        by_hand = kept[t]
        for bet in bets:
            for s in range(1, t + 1):
                started = (kept[s - 1] - kept[s]) / len(bets)
                by_hand += started * np.exp(bet[s - 1 : t].sum())
        assert martingale.capital(bets)[t - 1] == pytest.approx(np.log(by_hand))


def test_false_alarms_are_rarer_than_the_level(rng):
    level, streams, alarms = 0.1, 300, np.zeros(2)
    for _ in range(streams):
        scores, u = rng.integers(0, 40, 400).astype(float), rng.random(300)
        p = martingale.sequential_p_values(scores[:100], scores[100:], u)
        bets = martingale.bets_on_p_values(p)
        # Distinct scores for the misses, whose threshold is one of them.
        distinct = scores + rng.random(400) / 2
        tau = np.sort(distinct[:100])[9]
        misses = distinct[100:] < tau
        others = martingale.bets_on_misses(misses, martingale.miss_chances(10, 100, misses), 0.1)
        paths = [martingale.capital(bets), martingale.capital(others)]
        alarms += [path.max() >= np.log(1 / level) for path in paths]
    assert (alarms / streams <= level + 3 * np.sqrt(level * (1 - level) / streams)).all()


@pytest.mark.parametrize("shift", [-1.0, 1.0])
def test_a_change_is_noticed_late_as_well(rng, shift):
    scores = rng.normal(size=1500)
    scores[1100:] += shift
    p = martingale.sequential_p_values(scores[:500], scores[500:], rng.random(1000))
    path = martingale.capital(martingale.bets_on_p_values(p))
    assert path[:600].max() < np.log(100)
    assert path.max() > np.log(100)


def test_scores_that_differ_by_rounding_tie():
    score = np.float64(-0.7310585786300049)
    assert martingale.coarse(score) == martingale.coarse(np.float32(score))
    assert martingale.coarse(score) != martingale.coarse(score * 1.0001)
    assert martingale.coarse(0.0) == 0
    assert martingale.coarse(-np.inf) == -np.inf
