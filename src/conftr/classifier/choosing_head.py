"""Which head: measured on out-of-fold rows by the size of its sets, or by what wishes ask for.

The mean of the members comes first, then weights found by cross-entropy, kept if they are better.
Any other head has more numbers, and replaces them only if it is better by more than the noise of
the rows. Whichever is kept then follows the wishes, if there are any, at every weight of the curve
of `wish_weights`: at the one that was given, or at the one that is worth its price.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.classifier import deadlines, head, wish_weights
from conftr.classifier.calibration import ALL, Grouping
from conftr.classifier.choosing import MANY, Costs, Question, costs
from conftr.classifier.cross_fitting import FOLDS, Report, divide
from conftr.classifier.deadlines import TimeIsUp
from conftr.classifier.head import Head
from conftr.classifier.separating import wishes_of
from conftr.classifier.wish_weights import Point
from conftr.conformal.arrays import log_softmax
from conftr.conformal.scores import thr
from conftr.conformal.shaping import Shape
from conftr.members.member import Fold, Numbers, Rows

Labels: TypeAlias = npt.NDArray[Any]

AUTO, BY_MEAN, BY_CROSS_ENTROPY, BY_CONFTR = HEADS = ("auto", "mean", "cross-entropy", "conftr")

_ROWS = 10_000  # that a head learns from, at most
_ENTRIES = 1e7  # log-probabilities of a member that a head learns from, at most
_PER_ENTRY = 20  # rows for each entry of a matrix that is tried for size alone
_PER_NUMBER = 4  # rows for each number of a hidden layer that is tried
_BEYOND = 2.0  # standard errors by which a head with many numbers must be better
_NEGLIGIBLE = 0.001  # rise of cross-entropy, as a share of it, for which no member is kept


@dataclass(frozen=True, eq=False)
class StackTask:
    """What is wanted of a head.

    Attributes:
        classes: Their names, in the order of labels.
        alpha: The share of sets that may miss the truth.
        score: Whose sets count.
        shape: Wishes.
        head: Which heads are tried, one of `HEADS`.
        by: As in `calibrated`, of the training rows.
        groups: As in `calibrated`, of the training rows.
        until: By the monotonic clock.
    """

    classes: Sequence[Any]
    alpha: float
    score: Any = thr
    shape: Shape | None = None
    head: str = AUTO
    by: Grouping = ALL
    groups: Any = None
    seed: int = 0
    until: float = math.inf
    report: Report | None = None


class MeasuredModel(NamedTuple):
    """A head, or a member alone, and its mean set size (as wishes weigh it) on training rows."""

    name: str
    size: float


class ChosenHead(NamedTuple):
    """A head, the places of the members that it hears, and how it was chosen.

    Attributes:
        measured: Every head, the chosen one first.
        curve: The price of the wishes, first of all the sets without them.
        point: Where on it the head stands.
        by_weight: The head of every point, to draw the curve on test rows too.
    """

    head: Head
    places: list[int]
    why: str
    measured: list[MeasuredModel]
    curve: list[Point]
    point: Point | None
    by_weight: dict[float, Head]


class _Candidate(NamedTuple):
    """A head, its logits (n, K) of rows that did not train it, and their measure."""

    head: Head
    logits: Numbers
    costs: Costs


@dataclass(frozen=True, eq=False)
class _OutOfFold:
    """What heads are trained and measured on."""

    answers: list[Numbers]
    labels: Labels
    folds: list[Fold]
    question: Question

    def measured(self, tried_head: Head, logits: Numbers) -> _Candidate:
        return _Candidate(tried_head, logits, costs(logits, self.question))


def choose_head(
    answers: Sequence[Numbers], labels: Labels, task: StackTask, known: Rows | None = None
) -> ChosenHead:
    """The head with the smallest sets, in doubt the simplest.

    Args:
        answers: Out-of-fold log-probabilities (n, K) of each member.
        labels: Classes of the rows, (n,).
        task: What is wanted.
        known: The rows to learn from and to measure, as `known_out_of_fold` finds them; None for
            all.
    """
    known = np.arange(len(labels)) if known is None else known
    places, rows = _heard_members_and_rows(answers, labels, task, known)
    tried = _linear(rows)[: 1 if task.head == BY_MEAN else None]
    kept = _better(tried[0], tried[1:], beyond_noise=False)
    if _wants_trained(rows, task):
        plain = _with_matrices(kept, rows, task) + _with_hidden_layers(kept, rows, task)
        tried += plain
        by_request = task.head == BY_CONFTR and len(plain) > 0
        kept = min(plain, key=_mean_cost) if by_request else _better(kept, plain)
    wished = _with_wishes(kept, rows, task)
    by_weight = {0.0: kept} | wished if wished else {}
    curve = [
        wish_weights.point(w, candidate.logits, rows.question) for w, candidate in by_weight.items()
    ]
    point = _chosen_point(curve, task, by_weight) if wished else None
    if point is not None:
        kept = by_weight[point.weight]
        tried += wished.values()
    others = sorted((candidate for candidate in tried if candidate is not kept), key=_mean_cost)
    measured = [
        MeasuredModel(candidate.head.name, float(candidate.costs.mean()))
        for candidate in (kept, *others)
    ]
    heads = {weight: candidate.head for weight, candidate in by_weight.items()}
    why = _why(kept, tried[0], curve, point, task) + _unknown(len(labels) - len(known))
    return ChosenHead(kept.head, places, why, measured, curve, point, heads)


def question_of(labels: Labels, task: StackTask, rows: npt.NDArray[np.intp]) -> Question:
    """What is measured on rows with these labels; rows: their places among the training rows."""
    return Question(
        labels,
        task.classes,
        task.alpha,
        task.score,
        task.by,
        None if task.groups is None else np.asarray(task.groups)[rows],
        task.shape,
        task.seed,
    )


def _heard_members_and_rows(
    answers: Sequence[Numbers], labels: Labels, task: StackTask, known: Rows
) -> tuple[list[int], _OutOfFold]:
    """The members that are heard, and rows to learn from, as many as it takes."""
    n, classes, chosen = len(known), len(task.classes), known
    most = int(min(_ROWS, max(1000, _ENTRIES / classes)))
    if n > most:
        chosen = known[np.sort(np.random.default_rng([task.seed, 3]).permutation(n)[:most])]
    labels, answers = labels[chosen], [answer[chosen] for answer in answers]
    question = question_of(labels, task, chosen)
    places = _useful_members(answers, labels)
    folds = divide(labels, FOLDS, task.seed + 1)
    return places, _OutOfFold([answers[i] for i in places], labels, folds, question)


def _useful_members(answers: Sequence[Numbers], labels: Labels) -> list[int]:
    """The places of members without which cross-entropy rises: others only slow prediction down.

    One after the other the least missed is left out, as long as the loss of rows rises by less
    than its standard error or by next to nothing.
    """
    places = list(range(len(answers)))
    loss = _losses(answers, labels)
    while len(places) > 1:
        without = [[j for j in places if j != i] for i in places]
        losses = [_losses([answers[j] for j in rest], labels) for rest in without]
        least = min(range(len(places)), key=lambda i: losses[i].mean())
        rise = losses[least] - loss
        error = rise.std() / math.sqrt(len(labels))
        if rise.mean() > max(error, _NEGLIGIBLE * loss.mean()):
            break
        places, loss = without[least], losses[least]
    return places


def _losses(answers: Sequence[Numbers], labels: Labels) -> Numbers:
    """Cross-entropy of each row under the best weights, (n,)."""
    logits = head.weighted(answers, labels).logits(answers)
    losses: Numbers = -log_softmax(logits)[np.arange(len(labels)), labels]
    return losses


def _linear(rows: _OutOfFold) -> list[_Candidate]:
    """The mean, then weights, measured by those of each fold on the rows that it holds out."""
    plain = head.mean(len(rows.answers))
    measured = [rows.measured(plain, plain.logits(rows.answers))]
    if len(rows.answers) > 1:
        weights = head.weighted_out_of_fold(rows.answers, rows.labels, rows.folds)
        measured.append(rows.measured(*weights))
    return measured


def _wants_trained(rows: _OutOfFold, task: StackTask) -> bool:
    classes = len(task.classes)
    if time.monotonic() > task.until:
        return False
    if task.head == BY_CONFTR:
        return classes <= MANY
    return task.head != BY_MEAN and len(rows.labels) >= _PER_ENTRY * classes**2


def _with_matrices(kept: _Candidate, rows: _OutOfFold, task: StackTask) -> list[_Candidate]:
    """Heads with a matrix on top of the one that is kept."""
    from conftr.classifier import matrices  # which brings JAX

    trained = _trained(matrices.train, "head", [kept.head.logits(rows.answers)], rows, task)
    return [_on_top(kept.head, matrix, rows) for matrix in trained]


def _with_wishes(kept: _Candidate, rows: _OutOfFold, task: StackTask) -> dict[float, _Candidate]:
    """The head that is kept as it follows wishes, by their weight; none without wishes."""
    if task.shape is None:
        return {}
    logs, by_weight = log_softmax(kept.logits), dict[float, _Candidate]()
    for weight, shape in wish_weights.shapes(task.shape).items():
        wishes = wishes_of(shape, task.classes)
        wishing = replace(kept.head, name=f"head with wishes of weight {weight:g}", wishes=wishes)
        by_weight[weight] = rows.measured(wishing, wishes.followed(logs))
    return by_weight


def _with_hidden_layers(kept: _Candidate, rows: _OutOfFold, task: StackTask) -> list[_Candidate]:
    """Heads with a hidden layer on top of the one that is kept, where there are rows for it."""
    from conftr.classifier import hidden_layers  # which brings JAX

    count = hidden_layers.parameters(len(rows.answers), len(task.classes))
    if len(rows.labels) < _PER_NUMBER * count:
        return []
    inputs = [kept.head.logits(rows.answers), head.side_by_side(rows.answers)]
    trained = _trained(hidden_layers.train, "hidden layer", inputs, rows, task)
    return [
        rows.measured(
            replace(
                kept.head, name=f"hidden {layer.aim.name}", bias=layer.bias, hidden=layer.layer
            ),
            layer.logits,
        )
        for layer in trained
    ]


def _trained(
    train: Callable[..., list[Any]],
    name: str,
    inputs: Sequence[Numbers],
    rows: _OutOfFold,
    task: StackTask,
) -> list[Any]:
    """What is trained for each aim on these inputs; nothing where time is up."""
    from conftr.classifier import matrices

    try:
        return train(
            *inputs,
            rows.labels,
            rows.folds,
            matrices.aims(len(task.classes), task.head),
            alpha=task.alpha,
            seed=task.seed,
            report=_reporting(name, task),
        )
    except TimeIsUp:
        return []


def _reporting(name: str, task: StackTask) -> Callable[[int, int], None]:
    """Tells of epochs under a name, and ends training when time is up."""

    def report(done: int, total: int) -> None:
        if task.report is not None:
            task.report(name, done, total)
        if done < total:
            deadlines.check(task.until)

    return report


def _on_top(below: Head, matrix: Any, rows: _OutOfFold) -> _Candidate:
    """A head with a matrix."""
    headed = replace(below, name=matrix.aim.name, bias=matrix.bias, matrix=matrix.matrix)
    return rows.measured(headed, matrix.logits)


def _chosen_point(
    curve: Sequence[Point], task: StackTask, by_weight: Mapping[float, _Candidate]
) -> Point:
    """The point at the weight that was given or is affordable; the first if nothing is gained."""
    assert task.shape is not None
    if not wish_weights.has_sides(task.shape):  # the size of some sets is all that wishes are about
        return min(curve, key=lambda point: _mean_cost(by_weight[point.weight]))
    if wish_weights.without_weight(task.shape):
        return wish_weights.affordable(curve)
    given = next(point for point in curve if point.weight == wish_weights.given(task.shape))
    return given if given.mixed < curve[0].mixed else curve[0]


def _better(
    kept: _Candidate, others: Sequence[_Candidate], *, beyond_noise: bool = True
) -> _Candidate:
    """The best of several, if it is better than what is kept by more than noise.

    How much the gain varies over random halves is how much it would vary with other rows (the
    delete-half jackknife).
    """
    if not others:
        return kept
    best = min(others, key=_mean_cost)
    gain = kept.costs - best.costs
    return best if gain.mean() > (_BEYOND * gain.std() if beyond_noise else 0.0) else kept


def _mean_cost(candidate: _Candidate) -> float:
    return float(candidate.costs.mean())


def _why(
    kept: _Candidate,
    mean: _Candidate,
    curve: Sequence[Point],
    point: Point | None,
    task: StackTask,
) -> str:
    if point is not None and task.shape is not None and wish_weights.has_sides(task.shape):
        return _price(curve, point, searched=wish_weights.without_weight(task.shape))
    sentence = f"Mean set size {kept.costs.mean():.3f} on out-of-fold training rows"
    weighed = " as the wishes weigh it" * (point is not None)
    beside = f", where the members' mean has {mean.costs.mean():.3f}" * (kept is not mean)
    return f"{sentence}{weighed}{beside}."


def _unknown(rows: int) -> str:
    """A sentence on the rows that nothing was measured on, if there are some."""
    return f" Rows that are alone in their class, {rows:,}, are not among these." * (rows > 0)


def _price(curve: Sequence[Point], point: Point, *, searched: bool) -> str:
    """What wishes give and cost. searched: whether their weight was not given."""
    if point.weight == 0:
        budget = f" at sets at most {100 * wish_weights.PRICE:.0f} % larger" * searched
        return (
            f"The wishes are not followed: that did not lower the share of mixed sets{budget}, "
            f"{100 * point.mixed:.1f} % on out-of-fold training rows."
        )
    chosen = (
        f" Of the weights whose sets are at most {100 * wish_weights.PRICE:.0f} % larger, "
        f"{point.weight:g} has the fewest mixed ones." * searched
    )
    return (
        f"On out-of-fold training rows {100 * point.mixed:.1f} % of the sets concerned hold what "
        f"should stay apart, at {point.size:.2f} classes a set; without wishes "
        f"{100 * curve[0].mixed:.1f} % at {curve[0].size:.2f}.{chosen}"
    )
