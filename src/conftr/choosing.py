"""Choosing between trained models on validation data, which neither trains nor calibrates.

The measure is the mean set size on one half of the validation examples after calibration on the
other, over many random halves; with wishes, the size that the wishes ask to be small:

    mean_i ( omega[y_i] |C_i| + sum_{k != y_i} L[y_i,k] C_ik )

The same halves serve every model, so that differences are paired. A model replaces cross-entropy
only if it is better by more than that difference varies over the halves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr import candidates, features
from conftr.calibration import calibrated
from conftr.division import Division
from conftr.evidence import Integers, Numbers, Sets
from conftr.shaping import Shape

Score: TypeAlias = Callable[[Any], Any]
Costs: TypeAlias = npt.NDArray[np.float64]

_HALVES = 20


@dataclass(frozen=True, eq=False)
class Question:
    """What is measured: labels (n,) of the validation examples, groups as in `calibrated`."""

    labels: Integers
    classes: Sequence[Any]
    alpha: float
    score: Score
    by: str
    groups: Any = None
    shape: Shape | None = None
    seed: int = 0


def costs(logits: Numbers, question: Question) -> Costs:
    """The measure of one model on each random half, (halves,)."""
    scores, y = question.score(logits), question.labels
    return np.array([_cost(scores, y, half, question) for half in _halves(question)])


def _halves(question: Question) -> list[npt.NDArray[np.bool_]]:
    """Random halves and their complements, as booleans (n,)."""
    n, generator = len(question.labels), np.random.default_rng(question.seed)
    firsts = [generator.permutation(n) < n // 2 for _ in range(_HALVES)]
    return [half for first in firsts for half in (first, ~first)]


def _cost(
    scores: Numbers, labels: Integers, half: npt.NDArray[np.bool_], question: Question
) -> float:
    """Calibrate on a half, measure on the rest."""
    groups = None if question.groups is None else np.asarray(question.groups)
    calibration = calibrated(
        scores[half],
        labels[half],
        classes=question.classes,
        by=question.by,
        groups=None if groups is None else groups[half],
    )
    rest = ~half
    places = calibration.places(None if groups is None else groups[rest], int(rest.sum()))
    sets = calibration.sets(scores[rest], places, question.alpha)
    return shaped_size(sets, labels[rest], question.classes, question.shape)


def shaped_size(sets: Sets, labels: Integers, classes: Sequence[Any], shape: Shape | None) -> float:
    """mean_i ( omega[y_i] |C_i| + sum_{k != y_i} L[y_i,k] C_ik ); without wishes the mean size."""
    if shape is None:
        return float(sets.sum(axis=1).mean())
    weights = shape.loss_matrix(classes) * (1 - np.eye(len(classes)))
    weights += shape.class_weights(classes)[:, None]
    return float((weights[labels] * sets).sum(axis=1).mean())


def train_and_choose(
    clf: Any, X: Any, labels: Integers, division: Division, by: str, groups: Any
) -> None:
    """Train what the method asks for and put the chosen one first."""
    from conftr.estimator import Candidate

    classes = clf.classes_.tolist()
    encoding = features.learn(features.take(X, division.train))
    n = len(division.train)
    model = _model(clf.model, encoding.inputs, len(classes), n)
    batch_size = clf.batch_size or candidates.batch_size_for(n, clf.alpha)
    epochs = clf.epochs or candidates.epochs_for(n, batch_size)
    inputs = encoding.encode(X)
    materials = candidates.Materials(
        encoding,
        model,
        inputs[division.train],
        labels[division.train],
        inputs[division.validation],
        batch_size,
        clf.seed_,
    )
    recipes = _recipes(clf, epochs, len(division.validation) > 0)
    report = clf.progress or (lambda *_: None)
    trained = candidates.train(recipes, materials, report)
    question = Question(
        labels[division.validation],
        classes,
        clf.alpha,
        clf.score_,
        by,
        None if by in ("all", "class") else np.asarray(groups)[division.validation],
        clf.shape,
        clf.seed_,
    )
    if len(division.validation):
        measured = [costs(one.validation, question) for one in trained]
    else:
        measured = [np.zeros(1) for one in trained]
    best: dict[str, int] = {}
    for i, one in enumerate(trained):
        family = one.recipe.family
        if family not in best or measured[i].mean() < measured[best[family]].mean():
            best[family] = i
    picked = next(iter(best))
    for family in best:
        gain = measured[best[picked]] - measured[best[family]]
        if gain.mean() > gain.std():
            picked = family
    order = [picked, *(f for f in best if f != picked)]
    clf.candidates_ = tuple(
        Candidate(
            family,
            f"{trained[best[family]].recipe.words}.",
            float(measured[best[family]].mean()) if len(division.validation) else None,
            trained[best[family]].network,
        )
        for family in order
    )
    chosen = trained[best[picked]].recipe
    clf.model_, clf.batch_size_, clf.epochs_ = model, batch_size, chosen.epochs
    clf.learning_rate_, clf.method_ = chosen.learning_rate, picked
    clf.why_ = "v1"


def _model(asked: Any, inputs: Any, classes: int, n: int) -> Any:
    if asked is None:
        return candidates.model_for(inputs, classes, n)
    if callable(asked):
        return asked(inputs, classes)
    return candidates.MLP(inputs, classes, tuple(asked))


def _recipes(clf: Any, epochs: int, several: bool) -> list[candidates.Recipe]:
    classes, rate = clf.classes_.tolist(), clf.learning_rate
    plain = candidates.cross_entropy(epochs, rate)
    if not isinstance(clf.method, str):
        return [candidates.Recipe(type(clf.method).__name__, clf.method, rate or 0.01, epochs)]
    if clf.method not in ("auto", "cross-entropy", "conformal"):
        raise ValueError(
            f'method must be "auto", "cross-entropy", "conformal" or an objective such as '
            f"conftr.ConfTr(...); got {clf.method!r}."
        )
    wished = candidates.conformal(clf.alpha, len(classes), epochs, rate)
    if clf.shape is not None:
        wished = candidates.wished(clf.alpha, classes, clf.shape, epochs, rate) + wished
    if clf.method == "conformal":
        return wished if several else wished[:1]
    if clf.method == "cross-entropy" or not several:
        return plain if several else plain[:1]
    return plain + wished
