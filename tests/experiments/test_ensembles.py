"""Company: the average, the head and other thresholds, of rows that are kept apart."""

from dataclasses import replace

import numpy as np
import pytest

import conftr
from conftr import data
from conftr.conformal.arrays import log_softmax
from conftr.data import Examples
from conftr.experiments import Evaluation, part
from conftr.experiments.ensembles import measured_together, run_with_ensembles
from conftr.experiments.pooling import TrainAndPool, calibration_and_test, kept_for_a_head
from conftr.experiments.runner import Prepared, TrainedTrial
from small_runs import small

KEPT = part("kept_for_a_head", share=0.2, at_most=100, seed=0)


def test_rows_for_a_head_come_from_the_training_split():
    digits = data.load("digits")
    train, pool, n_cal, kept = kept_for_a_head(digits, share=0.2, at_most=100, seed=0)
    assert (kept, len(train.y)) == (100, len(digits.y_train) - 100)
    whole = calibration_and_test(digits)
    np.testing.assert_array_equal(pool.x[:-kept], whole.pool.x)
    assert n_cal == whole.n_cal
    flat = np.concatenate([train.x, pool.x[-kept:]]).reshape(len(digits.y_train), -1)
    assert sorted(map(bytes, flat)) == sorted(map(bytes, digits.x_train.reshape(len(flat), -1)))


def logits_of(trials=3, n=600, kept=200, seed=0):
    """Networks that are right but for noise of their own."""
    rng = np.random.default_rng(seed)
    truth = 2 * rng.normal(size=(n + kept, 4))
    p = np.exp(log_softmax(truth))
    y = (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1)
    logits = [(truth + rng.normal(size=truth.shape)).astype(np.float32) for _ in range(trials)]
    examples = TrainAndPool(Examples(y[:0], y[:0]), Examples(truth, y), n // 2, kept)
    results = [TrainedTrial(logit, np.zeros(1, np.float32), -1) for logit in logits]
    return results, Prepared(examples, None, None, {}), (logits, y)


def test_company_is_measured_on_the_pool_alone():
    trials, prepared, (logits, y) = logits_of()
    scores = (("THR", conftr.thr), ("APS", conftr.aps))
    evaluation = Evaluation((0.1,), 3, scores)
    result = measured_together(evaluation, trials, prepared)
    mean = sum(log_softmax(logit.astype(float)) for logit in logits)[:600] / 3
    rows = conftr.evaluate(mean, y[:600], score=conftr.thr, alpha=0.1, n_cal=300, splits=3)
    size = np.mean([row["inefficiency"] for row in rows])
    assert result["average"][0]["inefficiency"]["mean"] == pytest.approx(size, abs=1e-6)
    assert result["head_kind"] in ("mean of the members", "weighted members")
    sharp = [trial._replace(logits=50 * trial.logits) for trial in trials]
    again = measured_together(evaluation, sharp, prepared)["head"][0]["inefficiency"]["mean"]
    assert again == pytest.approx(result["head"][0]["inefficiency"]["mean"], rel=0.03)
    (scaled,) = result["temperature"]
    assert len(scaled["temperatures"]) == 3
    (by_class,) = result["by_class"]
    assert by_class["coverage"] == pytest.approx(0.9, abs=0.05)
    assert len(by_class["class_coverage"]) == 4


def test_classes_with_few_calibrating_rows_have_no_threshold_of_their_own():
    trials, prepared, _ = logits_of()
    assert measured_together(Evaluation((0.01,), 2), trials, prepared)["by_class"] == []


def test_where_all_have_failed_there_is_no_company():
    trials, prepared, _ = logits_of()
    failed = [trial._replace(failed_step=3) for trial in trials]
    assert measured_together(Evaluation((0.1,), 2), failed, prepared) == {}


def test_a_run_has_its_company_in_its_record(workspace):
    specification = small(epochs=1, resampled=False, pool=KEPT)
    specification = replace(
        specification, evaluation=Evaluation((0.1,), 2, specification.evaluation.scores[:1])
    )
    record = run_with_ensembles(specification, workspace)
    assert record["data"]["train"] == 1197 - 100
    assert record["results"][0]["inefficiency"]["std_trials"] is not None
    assert record["average"][0]["inefficiency"]["std_trials"] is None
    assert workspace.store.get(specification)["head"] == record["head"]
