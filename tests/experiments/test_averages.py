"""Averages of five networks, and heads that other rows have found."""

import numpy as np
import pytest

import conftr
from conftr.conformal.arrays import log_softmax
from conftr.data import Examples
from conftr.experiments import Evaluation
from conftr.experiments.averages import averages, best_heads, measured_in_fives, size_of
from conftr.experiments.pooling import TrainAndPool
from conftr.experiments.runner import Prepared, TrainedTrial

SCORES = (("THR", conftr.thr), ("APS", conftr.aps))
EVALUATION = Evaluation((0.1,), 3, SCORES)


def answers_of(networks, n=800, seed=0, noise=1.0):
    """Networks that are right but for noise of their own, and the rows they speak of."""
    rng = np.random.default_rng(seed)
    truth = 2 * rng.normal(size=(n, 4))
    y = (np.exp(log_softmax(truth)).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    trials = [
        TrainedTrial((truth + noise * rng.normal(size=truth.shape)).astype(np.float32), None, -1)
        for _ in range(networks)
    ]
    return trials, Prepared(TrainAndPool(None, Examples(truth, y), n // 2), None, None, {})


def test_each_five_are_averaged_and_those_that_failed_are_not_heard():
    trials, _ = answers_of(12)
    trials[0] = trials[0]._replace(failed_step=3)
    sizes = [5, 5, 1]
    result = list(averages(trials))
    assert len(result) == len(sizes)
    by_hand = np.mean([log_softmax(trial.logits.astype(float)) for trial in trials[1:6]], axis=0)
    np.testing.assert_allclose(result[0].logits, by_hand)
    np.testing.assert_array_equal(result[2].logits, trials[11].logits)


def test_an_average_has_smaller_sets_than_one_network():
    trials, prepared = answers_of(5)
    assert size_of(trials, EVALUATION, prepared) < size_of(trials[:1], EVALUATION, prepared)


@pytest.mark.slow  # trains networks and heads
def test_a_head_is_measured_on_rows_that_did_not_find_it():
    heads = best_heads(*answers_of(5), EVALUATION)
    trials, prepared = answers_of(10, seed=1)
    result = measured_in_fives(heads, EVALUATION, trials, prepared)
    assert [item["score"] for item in result["head"]] == ["THR", "APS"]
    assert result["average"][0]["inefficiency"]["std_trials"] is not None
    assert result["heads"]["THR"]["temperature"] == 1
    for item in result["head"]:
        assert item["coverage"]["mean"] == pytest.approx(0.9, abs=0.04)


@pytest.mark.slow  # trains networks and heads
def test_the_head_for_a_score_that_counts_mass_has_a_temperature_of_its_own():
    """Overconfident networks under APS: what calibrates them is not what has the smallest sets."""
    trials, prepared = answers_of(5)
    heads = best_heads(trials, prepared, EVALUATION)
    fresh, there = answers_of(10, seed=1)
    result = measured_in_fives(heads, EVALUATION, fresh, there)
    plain, under = (result[name][1]["inefficiency"]["mean"] for name in ("average", "head"))
    assert heads["APS"].temperature != 1
    assert under < plain
