"""Choosing between trained models on validation data, which neither trains nor calibrates.

The measure is the mean set size on one half of the validation examples after calibration on the
other, over random halves; with wishes, the size that the wishes ask to be small:

    mean_i ( omega[y_i] |C_i| + sum_{k != y_i} L[y_i,k] C_ik )

All models are measured on the same halves. A model replaces cross-entropy only if it is better by
more than the difference varies over the halves, which is how much it would vary with other
validation data (the delete-half jackknife). So must one that was trained to follow wishes: it is
the best of many tried, and of a few hundred examples some model always looks a little better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.classifier.calibration import Calibration, Grouping, calibrated
from conftr.classifier.evidence import Integers, Numbers, Sets
from conftr.classifier.stack import Stack
from conftr.conformal.shaping import Shape

Score: TypeAlias = Callable[[Any], Any]
Costs: TypeAlias = npt.NDArray[np.float64]

CROSS_ENTROPY = "cross-entropy"
RANKED = "rank-weighted cross-entropy"
CONFORMAL = "conformal training"
WISHED = "conformal training with wishes"
MANY = 2000  # classes, beyond which a loss matrix for each model takes too much memory

_HALVES = (4, 20)  # fewest and most pairs of halves
_ENTRIES = 2e8  # scores looked at for each model, about


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model and its calibration.

    Attributes:
        name: "cross-entropy", "conformal training" ….
        words: How it was trained and how it did.
        inefficiency: The measure above, None where there is nothing to measure it on.
    """

    name: str
    words: str
    inefficiency: float | None
    stack: Stack
    calibration: Calibration | None = None


@dataclass(frozen=True, eq=False)
class Question:
    """What is measured on validation examples with labels (n,); by, groups: as in `calibrated`."""

    labels: Integers
    classes: Sequence[Any]
    alpha: float
    score: Score
    by: Grouping
    groups: Any = None
    shape: Shape | None = None
    seed: int = 0


class Tried(NamedTuple):
    """A model that was trained: its family, how, and its measure."""

    name: str
    words: str
    inefficiency: float | None


class Choice(NamedTuple):
    """The best of each family by its place, the chosen family first, and a sentence on why."""

    places: Mapping[str, int]
    why: str

    @property
    def first(self) -> int:
        """The place of the chosen model."""
        return next(iter(self.places.values()))


def costs(logits: Numbers, question: Question) -> Costs:
    """The measure of one model on each random half, (halves,)."""
    scores, n = question.score(logits), len(question.labels)
    generator = np.random.default_rng(question.seed)
    pairs = int(np.clip(_ENTRIES / max(1, scores.size), *_HALVES))
    firsts = [generator.permutation(n) < n // 2 for _ in range(pairs)]
    halves = [half for first in firsts for half in (first, ~first)]
    weights = shape_weights(question.shape, question.classes)
    return np.array([_cost(scores, half, question, weights) for half in halves])


def choose(families: Sequence[str], measured: Sequence[Costs]) -> Choice:
    """The best model of each family, and the family to keep.

    Cross-entropy in the first place is kept unless another is better beyond noise. Any other
    family in the first place was asked for and is kept; the rest is there to compare with.
    """
    places: dict[str, int] = {}
    for i, family in enumerate(families):
        if family not in places or measured[i].mean() < measured[places[family]].mean():
            places[family] = i
    kept, *others = places
    comparisons = []
    for family in others:
        gain = measured[places[kept]] - measured[places[family]]
        comparisons.append(_words(kept, family, gain))
        if families[0] == CROSS_ENTROPY and gain.mean() > gain.std():
            kept = family
    why = f"{kept} ({measured[places[kept]].mean():.3f})"
    return Choice({kept: places[kept]} | places, "; ".join([why, *comparisons]))


def _words(kept: str, family: str, gain: Costs) -> str:
    mean, noise = gain.mean(), gain.std()
    verdict = "better" if mean > noise else "worse" if mean < -noise else "the same within noise"
    return f"{family} is {verdict}, {-mean:+.3f} ± {noise:.3f} against {kept}"


def shaped_size(sets: Sets, labels: Integers, weights: Numbers | None) -> float:
    """mean_i sum_k weights[y_i,k] C_ik, from sets (n, K) and labels (n,); 1 without weights."""
    if weights is None:
        return float(sets.sum(axis=1).mean())
    return float((weights[labels] * sets).sum(axis=1).mean())


def shape_weights(shape: Shape | None, classes: Sequence[Any]) -> Numbers | None:
    """omega[y] + L[y,k] off the diagonal, (K, K), or omega (K, 1) where it is all there is."""
    if shape is None:
        return None
    omega = shape.class_weights(classes)[:, None]
    if not (shape.avoid or shape.separate):
        return omega
    if len(classes) > MANY:
        raise ValueError(
            f"shape must not avoid or separate classes where there are more than {MANY:,}: every "
            f"pair takes a number for each model. There are {len(classes):,}."
        )
    matrix = shape.loss_matrix(classes)
    np.fill_diagonal(matrix, 0)
    return omega + matrix


def _cost(
    scores: Numbers, half: npt.NDArray[np.bool_], question: Question, weights: Numbers | None
) -> float:
    """Calibrate on a half, measure on the rest."""
    return shaped_size(sets_of_rest(scores, half, question), question.labels[~half], weights)


def sets_of_rest(scores: Numbers, half: npt.NDArray[np.bool_], question: Question) -> Sets:
    """Sets of the rows outside a half, calibrated on it.

    Args:
        scores: Of all rows, (n, K).
        half: Which rows calibrate, (n,).
        question: The rows' labels, alpha and groups.
    """
    groups = None if question.groups is None else np.asarray(question.groups)

    def of(rows: npt.NDArray[np.bool_]) -> Any:
        return None if groups is None else groups[rows]

    calibration = calibrated(
        scores[half],
        np.asarray(question.labels)[half],
        classes=question.classes,
        by=question.by,
        groups=of(half),
    )
    rest = ~half
    places = calibration.places(of(rest), int(rest.sum()))
    return calibration.sets(scores[rest], places, question.alpha)
