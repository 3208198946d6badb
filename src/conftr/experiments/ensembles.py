"""What trials of a method give together: their average, a head on them, and other thresholds.

A run whose training keeps rows for a head (`conftr.experiments.pooling.kept_for_a_head`) has beside
its results, which are those of single networks:

average        one model, the mean of the networks' log-probabilities
head           one model, a head on the networks that the kept rows train and choose
temperature    single networks, APS of logits / T, each T found on the kept rows (ConfTS)
by_class       single networks, a threshold for each class (THR)
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import conftr
from conftr.classifier import head, matrices
from conftr.classifier.cross_fitting import FOLDS, divide
from conftr.classifier.head import Head
from conftr.conformal.arrays import log_softmax
from conftr.conformal.quantile import examples_needed
from conftr.experiments.runner import Prepared, TrainedTrial, Workspace, measure, run
from conftr.experiments.specification import Specification
from conftr.experiments.store import Record
from conftr.members.member import averaged
from conftr.search.attempts import Evaluation
from conftr.search.held_out import SetSize

Numbers = npt.NDArray[Any]

_PER_ENTRY = 20  # kept rows for each entry of a head's matrix
_PLENTY = 2  # times as many calibrating rows of each class as alpha needs


def run_with_ensembles(specification: Specification, workspace: Workspace) -> Record:
    """The record of a run, with what its trials give together."""
    return run(specification, workspace, measured_together)


def measured_together(
    evaluation: Evaluation, trials: Sequence[TrainedTrial], prepared: Prepared
) -> dict[str, Any]:
    """What trials give together, and with other thresholds; nothing where all have failed."""
    logits = [trial.logits.astype(np.float64) for trial in trials if trial.failed_step < 0]
    if not logits:
        return {}

    def measured(of_head: Numbers) -> list[dict[str, Any]]:
        return measure(evaluation, [trial_of(of_head)], prepared)

    of_head, kind = _on_a_head(logits, evaluation, prepared)
    return {
        "average": measured(averaged(logits)),
        "head": measured(of_head),
        "head_kind": kind,
        "temperature": _with_temperature(logits, evaluation, prepared),
        "by_class": _by_class(logits, evaluation, prepared),
    }


def trial_of(logits: Numbers) -> TrainedTrial:
    """Logits as those of a trial that trained to its end."""
    return TrainedTrial(logits, np.zeros(1, np.float32), -1)


def _on_a_head(
    logits: Sequence[Numbers], evaluation: Evaluation, prepared: Prepared
) -> tuple[Numbers, str]:
    """Logits of the pool by the head with the smallest sets on the kept rows, and its name.

    A mean, weights, or a matrix on the mean where there are rows for one, each measured on rows of
    another fold. Networks have a temperature first: probabilities of conformally trained ones are
    so near 0 and 1 that the floor which members share would make them equal.
    """
    kept, alpha = prepared.examples.kept, evaluation.alphas[0]
    labels = prepared.examples.pool.y[-kept:]
    scaled = [network / calibrated_temperature(network[-kept:], labels) for network in logits]
    held = [network[-kept:] for network in scaled]
    folds = divide(labels, FOLDS, evaluation.seed)
    size = SetSize(labels, alpha, seed=evaluation.seed)
    plain = head.mean(len(scaled))
    tried = [(plain, plain.logits(held)), head.weighted_out_of_fold(held, labels, folds)]
    if enough_for_a_matrix(kept, held[0].shape[1]):
        base, aims = tried[0][1], matrices.aims(held[0].shape[1])
        for trained in matrices.train(base, labels, folds, aims, alpha=alpha, seed=evaluation.seed):
            matrix_head = Head(trained.aim.name, plain.weights, trained.bias, trained.matrix)
            tried.append((matrix_head, trained.logits))
    chosen, _ = min(tried, key=lambda pair: size(pair[1]))
    return chosen.logits(scaled), chosen.name


def enough_for_a_matrix(rows: int, classes: int) -> bool:
    """Whether so many rows can train a matrix of a head."""
    return rows >= _PER_ENTRY * classes**2


def calibrated_temperature(logits: Numbers, labels: Numbers) -> float:
    """T with the smallest cross-entropy of logits / T."""

    def entropy(t: float) -> float:
        return -float(log_softmax(logits / t)[np.arange(len(labels)), labels].mean())

    tried: list[float] = np.geomspace(0.05, 500, 61).tolist()
    return min(tried, key=entropy)


def _with_temperature(
    logits: Sequence[Numbers], evaluation: Evaluation, prepared: Prepared
) -> list[dict[str, Any]]:
    """Single networks by APS at the temperature that the kept rows find."""
    kept, alpha = prepared.examples.kept, evaluation.alphas[0]
    labels = prepared.examples.pool.y[-kept:]
    u = np.random.default_rng(evaluation.seed).random(kept)
    temperatures = [conftr.confts(network[-kept:], labels, alpha, u=u) for network in logits]
    scores = tuple(score for score in evaluation.scores if score[0] == "APS")
    aps = Evaluation(evaluation.alphas, evaluation.splits, scores, evaluation.seed)
    scaled = [trial_of(network / t) for network, t in zip(logits, temperatures, strict=True)]
    return [result | {"temperatures": temperatures} for result in measure(aps, scaled, prepared)]


def _by_class(
    logits: Sequence[Numbers], evaluation: Evaluation, prepared: Prepared
) -> list[dict[str, Any]]:
    """THR with a threshold for each class, where each has the calibrating rows that it takes."""
    examples = prepared.examples
    n, n_cal = examples.evaluated, examples.n_cal
    labels = examples.pool.y[:n]
    rarest = np.bincount(labels, minlength=logits[0].shape[1]).min() * n_cal / n
    alphas = [a for a in evaluation.alphas if rarest >= _PLENTY * examples_needed(a)]
    return [_at(alpha, logits, labels, evaluation, n_cal) for alpha in alphas]


def _at(
    alpha: float, logits: Sequence[Numbers], labels: Numbers, evaluation: Evaluation, n_cal: int
) -> dict[str, Any]:
    rows = []
    for network in logits:
        scores = conftr.thr(network[: len(labels)])
        for child in np.random.SeedSequence(evaluation.seed).spawn(evaluation.splits):
            order = np.random.default_rng(child).permutation(len(labels))
            cal, test = order[:n_cal], order[n_cal:]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", conftr.CalibrationWarning)
                tau = conftr.calibrate(scores[cal], labels[cal], alpha, groups="class")
            rows.append(_of_classes(scores[test] >= np.asarray(tau), labels[test]))
    size, covered, sizes, coverages = (np.mean(part, axis=0) for part in zip(*rows, strict=True))
    return {
        "score": "THR",
        "alpha": alpha,
        "inefficiency": round(float(size), 6),
        "coverage": round(float(covered), 6),
        "class_inefficiency": np.round(sizes, 6).tolist(),
        "class_coverage": np.round(coverages, 6).tolist(),
    }


def _of_classes(sets: Numbers, labels: Numbers) -> tuple[Any, ...]:
    """Mean size, coverage, and both of each class."""
    return (
        conftr.inefficiency(sets),
        conftr.coverage(sets, labels),
        conftr.class_inefficiency(sets, labels),
        conftr.class_coverage(sets, labels),
    )
