"""Averages of five networks of one training, and a head on them that held-out rows have found.

As in scikit-learn's stacking: a head learns what networks of a part of the training rows say of the
others, and is put on networks of all training rows. A record then has beside its results, which are
those of single networks:

average    the mean of the log-probabilities of each five networks
head       the head of each score on that mean
heads      by score, the name of the head and its temperature
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

import conftr
from conftr.classifier import head, matrices
from conftr.classifier.cross_fitting import FOLDS, divide
from conftr.conformal.arrays import log_softmax
from conftr.conformal.trials import takes_u
from conftr.experiments.ensembles import (
    calibrated_temperature,
    enough_for_a_matrix,
    trial_of,
)
from conftr.experiments.runner import Prepared, TrainedTrial, measure
from conftr.machine.plain_data import build
from conftr.members.member import averaged
from conftr.search.attempts import Evaluation
from conftr.search.held_out import SetSize

FIVE = 5

Numbers = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Stacked:
    """logits = (s + s A + b) / T of an average, s = log softmax(average / T0).

    Attributes:
        name: How A and b were found.
        first: T0.
        matrix: A (K, K).
        bias: B (K,).
        temperature: T.
    """

    name: str
    first: float
    matrix: Numbers
    bias: Numbers
    temperature: float = 1.0

    def logits(self, average: Numbers) -> Numbers:
        """Logits (n, K) of the average's log-probabilities (n, K)."""
        s = log_softmax(average / self.first)
        logits: Numbers = (s + s @ self.matrix + self.bias) / self.temperature
        return logits


def size_of(trials: Sequence[TrainedTrial], evaluation: Evaluation, prepared: Prepared) -> float:
    """The mean size of the sets of the trials' average, by the evaluation's first score."""
    first = replace(evaluation, scores=evaluation.scores[:1])
    results = measure(first, [next(averages(trials))], prepared)
    return float(results[0]["inefficiency"]["mean"])


def averages(trials: Sequence[TrainedTrial]) -> Iterator[TrainedTrial]:
    """The average of each five trials that did not fail; of fewer, where fewer are left."""
    sound = [trial.logits.astype(np.float64) for trial in trials if trial.failed_step < 0]
    for start in range(0, len(sound), FIVE):
        yield trial_of(averaged(sound[start : start + FIVE]))


def measured_in_fives(
    heads: Mapping[str, Stacked],
    evaluation: Evaluation,
    trials: Sequence[TrainedTrial],
    prepared: Prepared,
) -> dict[str, Any]:
    """What averages of five give, alone and under the heads, which are named by their scores."""
    of_five = list(averages(trials))
    return {
        "average": measure(evaluation, of_five, prepared),
        "head": [
            result
            for name, score in evaluation.scores
            for result in measure(
                replace(evaluation, scores=((name, score),)),
                [trial_of(heads[name].logits(trial.logits)) for trial in of_five],
                prepared,
            )
        ],
        "heads": {
            name: {"kind": stacked.name, "temperature": round(stacked.temperature, 6)}
            for name, stacked in heads.items()
        },
    }


def best_heads(
    trials: Sequence[TrainedTrial], prepared: Prepared, evaluation: Evaluation
) -> dict[str, Stacked]:
    """The head of each score with the smallest sets on held-out rows.

    Args:
        trials: Networks with their logits of the held-out rows.
        prepared: Whose pool is the held-out rows.
        evaluation: Scores and alpha.

    Returns:
        Heads by the scores' names: the average itself or a matrix on it, trained by cross-entropy
        or through conformal prediction, and where a score counts mass a temperature (ConfTS).
    """
    average, labels = next(averages(trials)).logits, prepared.examples.pool.y
    tried = list(_tried(average, labels, evaluation))
    return {
        name: _best(tried, labels, build(score), evaluation) for name, score in evaluation.scores
    }


def _tried(
    average: Numbers, labels: Numbers, evaluation: Evaluation
) -> Iterator[tuple[Stacked, Numbers]]:
    """Heads, and their logits of the rows by what other folds have found."""
    classes = average.shape[1]
    first = calibrated_temperature(average, labels)
    plain = Stacked(head.MEAN, first, np.zeros((classes, classes)), np.zeros(classes))
    s = plain.logits(average)
    yield plain, s
    if enough_for_a_matrix(len(labels), classes):
        folds = divide(labels, FOLDS, evaluation.seed)
        alpha, aims = evaluation.alphas[0], matrices.aims(classes)
        for trained in matrices.train(s, labels, folds, aims, alpha=alpha, seed=evaluation.seed):
            yield Stacked(trained.aim.name, first, trained.matrix, trained.bias), trained.logits


def _best(
    tried: Sequence[tuple[Stacked, Numbers]],
    labels: Numbers,
    score: Callable[..., Any],
    evaluation: Evaluation,
) -> Stacked:
    alpha = evaluation.alphas[0]
    size = SetSize(labels, alpha, score, seed=evaluation.seed)
    u = np.random.default_rng(evaluation.seed).random(len(labels))
    measured = []
    for stacked, logits in tried:
        t = conftr.confts(logits, labels, alpha, score=score, u=u) if takes_u(score) else 1.0
        measured.append((size(logits / t), replace(stacked, temperature=t)))
    return min(measured, key=lambda pair: pair[0])[1]
