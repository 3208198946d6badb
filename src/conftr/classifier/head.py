"""Heads: logits from what members say, as the paper's linear model on a network's logits (sec. 4).

    s = log softmax( sum_m w_m log p_m ),    logits = s + s A + b + relu( x V + c ) U

The weights w begin as the members' mean, 1 / M each, and follow cross-entropy: so few numbers are
found exactly, in a moment. The matrix A (K, K) and the bias b begin as 0. Where there are rows for
it, a small hidden layer is tried too: it sees x, what all members say side by side (n, M K). Both
are trained in `conftr.classifier.matrices` and `hidden_layers`. Wishes come last, as `separating`
follows them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from conftr.classifier import separating
from conftr.classifier.separating import Wishes
from conftr.conformal.arrays import log_softmax
from conftr.features.columns import Json
from conftr.members.member import FLOOR, Files, Fold, MemberError, Numbers, product

MEAN, WEIGHTS = "mean of the members", "weighted members"

REACH = 5.0  # of log-probabilities below the floor: the further, the more they are drawn in
LOWEST = -1000.0  # log-probability; -inf has no place in a sum

_FILE = "head.safetensors"
_RIDGE = 1e-4  # on the distance from the mean
_ITERATIONS, _HALVINGS, _TOLERANCE = 50, 10, 1e-9


@dataclass(frozen=True, eq=False)
class HiddenLayer:
    """relu( x V + c ) U: inner V (M K, H), shift c (H,), outer U (H, K)."""

    inner: Numbers
    shift: Numbers
    outer: Numbers

    def moves(self, x: Numbers) -> Numbers:
        """What is added to logits (n, K), from what members say side by side, x (n, M K)."""
        return product(np.maximum(product(x, self.inner) + self.shift, 0.0), self.outer)


@dataclass(frozen=True, eq=False)
class Head:
    """A linear head, or one with a hidden layer.

    Attributes:
        name: How it came about.
        weights: (M,), one for each member.
        bias: B (K,), or None.
        matrix: A (K, K), or None.
        hidden: A hidden layer, or None.
        wishes: That its log-probabilities follow, or None.
    """

    name: str
    weights: Numbers
    bias: Numbers | None = None
    matrix: Numbers | None = None
    hidden: HiddenLayer | None = None
    wishes: Wishes | None = None

    def logits(self, answers: Sequence[Numbers]) -> Numbers:
        """Logits (n, K) from the members' log-probabilities, (n, K) of each."""
        combined = self.combined(answers)
        logits = combined if self.matrix is None else combined + product(combined, self.matrix)
        if self.hidden is not None:
            logits = logits + self.hidden.moves(side_by_side(answers))
        if self.bias is not None:
            logits = logits + self.bias
        return logits if self.wishes is None else self.wishes.followed(log_softmax(logits))

    def combined(self, answers: Sequence[Numbers]) -> Numbers:
        """s, (n, K)."""
        total = np.zeros(answers[0].shape)
        for answer, weight in zip(answers, self.weights, strict=True):
            total += weight * clipped(answer)
        logs: Numbers = log_softmax(total)
        return logs

    def to_json(self) -> Json:
        """What is no array, as plain data."""
        wishes = {} if self.wishes is None else {"wishes": self.wishes.to_json()}
        return {"name": self.name} | wishes

    def files(self) -> Files:
        """Give one file of arrays."""
        arrays = {"weights": self.weights, "bias": self.bias, "matrix": self.matrix}
        if self.hidden is not None:
            arrays |= vars(self.hidden)
        known = {name: np.ascontiguousarray(a) for name, a in arrays.items() if a is not None}
        return {_FILE: safetensors.numpy.save(known)}


def load(data: Json, files: Files, members: int, classes: int) -> Head:
    """The head that was saved as these.

    Raises:
        MemberError: If it is not one of so many members and classes.
    """
    arrays = safetensors.numpy.load(files[_FILE])
    width = len(arrays.get("shift", ()))
    shapes = {"bias": (classes,), "matrix": (classes, classes), "weights": (members,)}
    shapes |= {"inner": (members * classes, width), "shift": (width,), "outer": (width, classes)}
    if any(arrays[name].shape != shapes.get(name) for name in arrays):
        raise MemberError(f"{_FILE} does not fit {members} members and {classes} classes.")
    hidden = HiddenLayer(*(arrays[name] for name in ("inner", "shift", "outer"))) if width else None
    wishes = separating.load(data["wishes"], classes) if "wishes" in data else None
    linear = arrays["weights"], arrays.get("bias"), arrays.get("matrix")
    return Head(data["name"], *linear, hidden, wishes)


def mean(members: int) -> Head:
    """The plain mean of the members' log-probabilities."""
    return Head(MEAN, np.full(members, 1 / members))


def weighted(answers: Sequence[Numbers], labels: npt.NDArray[Any]) -> Head:
    """The weights with the smallest cross-entropy, held near the mean by a small penalty.

    Newton's method, from the mean on; a step that does not help is halved.

    Args:
        answers: Out-of-fold log-probabilities (n, K) of each member.
        labels: Classes of the rows, (n,).
    """
    stacked = np.stack([clipped(answer) for answer in answers], axis=1)
    middle = np.full(stacked.shape[1], 1 / stacked.shape[1])
    weights, value = middle, _loss(stacked, labels, middle, middle)
    for _ in range(_ITERATIONS):
        step = _newton_step(stacked, labels, weights, middle)
        moved = [weights - step / 2**i for i in range(_HALVINGS)]
        better = ((tried, _loss(stacked, labels, tried, middle)) for tried in moved)
        better_step = next(
            ((tried, new) for tried, new in better if new < value - _TOLERANCE), None
        )
        if better_step is None:
            break
        weights, value = better_step
    return Head(WEIGHTS, weights)


def weighted_out_of_fold(
    answers: Sequence[Numbers], labels: npt.NDArray[Any], folds: Sequence[Fold]
) -> tuple[Head, Numbers]:
    """The head of weights, and logits (n, K) of its rows by weights that other folds gave.

    Args:
        answers: Out-of-fold log-probabilities (n, K) of each member.
        labels: Classes of the rows, (n,).
        folds: Of these rows.
    """
    logits = np.empty(answers[0].shape)
    for train, held in folds:
        of_fold = weighted([answer[train] for answer in answers], labels[train])
        logits[held] = of_fold.logits([answer[held] for answer in answers])
    return weighted(answers, labels), logits


def _loss(stacked: Numbers, labels: npt.NDArray[Any], weights: Numbers, middle: Numbers) -> float:
    """Mean cross-entropy and the penalty on the distance from the middle."""
    logs = log_softmax(_weighted_sum(stacked, weights))
    truth = logs[np.arange(len(labels)), labels]
    return -float(truth.mean()) + _RIDGE * float(np.square(weights - middle).sum())


def _newton_step(
    stacked: Numbers, labels: npt.NDArray[Any], weights: Numbers, middle: Numbers
) -> Numbers:
    """What the loss's slopes and curvature say to take off the weights, (M,)."""
    n, members, _ = stacked.shape
    p = np.exp(log_softmax(_weighted_sum(stacked, weights)))
    expected = (stacked * p[:, None, :]).sum(axis=2)
    slopes = (expected - stacked[np.arange(n), :, labels]).mean(axis=0)
    around = stacked - expected[:, :, None]
    rows = (around * np.sqrt(p)[:, None, :]).transpose(1, 0, 2).reshape(members, -1)
    curvature = rows @ rows.T / n + 2 * _RIDGE * np.eye(members)
    step: Numbers = np.linalg.solve(curvature, slopes + 2 * _RIDGE * (weights - middle))
    return step


def _weighted_sum(stacked: Numbers, weights: Numbers) -> Numbers:
    sums: Numbers = np.einsum("nmk,m->nk", stacked, weights)
    return sums


def side_by_side(answers: Sequence[Numbers]) -> Numbers:
    """What all members say, (n, M K)."""
    return np.concatenate([clipped(answer) for answer in answers], axis=1)


def clipped(logits: Numbers) -> Numbers:
    """Log-probabilities l, of which those below the floor that members share come closer to it.

        l                                   from f = log(FLOOR / K) on
        f - REACH log(1 + (f - l) / REACH)  below

    So no member can rule a class out, and no two classes become equal: at the floor itself those
    of a network that is surer than it should be would, and sets would hold all of them or none.
    """
    logs = np.maximum(log_softmax(logits), LOWEST)
    floor = math.log(FLOOR / logs.shape[1])
    below: Numbers = REACH * np.log1p(np.maximum(floor - logs, 0.0) / REACH)
    limited: Numbers = np.maximum(logs, floor) - below
    return limited
