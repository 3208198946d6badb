"""From training rows to a stack: members are cross-fitted, then a head is found for them.

Nothing here looks at calibration rows: members and head learn, and are chosen, on training rows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from conftr.classifier import head
from conftr.classifier.choosing import Candidate, Tried, costs
from conftr.classifier.choosing_head import (
    ChosenHead,
    MeasuredModel,
    StackTask,
    choose_head,
    question_of,
)
from conftr.classifier.choosing_members import fitted_elsewhere, suitable
from conftr.classifier.cross_fitting import (
    FOLDS,
    CrossFitted,
    LeftOut,
    cross_fit,
    divide,
    known_out_of_fold,
)
from conftr.classifier.stack import Stack, read
from conftr.classifier.wish_weights import DialPoint
from conftr.machine import digests
from conftr.machine.cluster import HERE, Executor
from conftr.members.member import Fold, Member, MemberRows
from conftr.members.on_features import OnFeatures, reader_of
from conftr.members.scikit import AsGiven, Scikit


class DescribedStack(NamedTuple):
    """A stack, what it is compared with, what was measured, the price of wishes, and why."""

    candidates: tuple[Candidate, ...]
    tried: tuple[Tried, ...]
    dial: tuple[DialPoint, ...]
    why: str


class FittedStack(NamedTuple):
    """A stack, and how it came about.

    Attributes:
        alone: What each member alone would give, and the stack of it alone.
        chosen: The head, and what it was chosen from.
        left_out: Members that failed or came too late.
        seconds: What each member took.
    """

    stack: Stack
    alone: dict[str, tuple[MeasuredModel, Stack]]
    chosen: ChosenHead | None
    left_out: list[LeftOut]
    seconds: dict[str, float]

    def with_head(self, other: head.Head) -> Stack:
        """The same members under another of the heads that were tried."""
        return Stack(self.stack.members, other)


def fit_stack(
    rows: MemberRows,
    task: StackTask,
    members: Sequence[Member] | None = None,
    examples: npt.NDArray[Any] | None = None,
    executor: Executor = HERE,
) -> FittedStack:
    """Fit members and a head on training rows.

    Args:
        rows: Training rows, no calibration row among them.
        task: What is wanted.
        members: What to fit; None for what suits the rows.
        examples: The example that each row is a copy of, (n,); copies stay in one fold.
        executor: Where members are fitted.

    Returns:
        The stack, and how it came about.

    Raises:
        ValueError: If no member could be fitted.
    """
    to_fit, hopeless = suitable(rows) if members is None else (list(members), [])
    if len(to_fit) == 1 and task.shape is None and _is_of_the_user(to_fit[0]):
        return _fit_once(to_fit[0], rows, task)
    _encode(to_fit, rows, task)
    folds = divide(rows.labels, FOLDS, task.seed, examples)
    fitted, left = cross_fit(
        to_fit,
        rows,
        folds,
        seed=task.seed,
        report=task.report,
        until=task.until,
        executor=executor,
    )
    why = f"{rows.classes:,} classes are too many for it on so many rows."
    left = [*(LeftOut(name, why) for name in hopeless), *left]
    return finish(fitted, rows.labels, task, folds, left)


def _encode(members: Sequence[Member], rows: MemberRows, task: StackTask) -> None:
    """Let a frozen encoder read the rows, before anything is fitted and with word of how far."""
    if not any(isinstance(member, OnFeatures) for member in members):
        return
    reader = reader_of(rows)
    rows.read_by(reader, lambda x: read(reader, x, task.report, "training rows"))


def _is_of_the_user(member: Member) -> bool:
    return isinstance(member, Scikit) or fitted_elsewhere(member)


def _fit_once(member: Member, rows: MemberRows, task: StackTask) -> FittedStack:
    """Fit a member on all rows. Folds are for choosing and for a head, and there is neither."""
    every, begun = np.arange(len(rows.labels)), time.monotonic()

    def progress(done: int, total: int) -> None:
        if task.report is not None:
            task.report(member.name, done, total)

    fold = Fold(every, every[:0])
    (fitted,) = member.fit(rows, [fold], seed=task.seed, progress=progress)
    seconds = {member.name: time.monotonic() - begun}
    return FittedStack(Stack((fitted,), None), {}, None, [], seconds)


def finish(
    fitted: Sequence[CrossFitted],
    labels: npt.NDArray[Any],
    task: StackTask,
    folds: Sequence[Fold],
    left: Sequence[LeftOut] = (),
) -> FittedStack:
    """Find the head of members that are fitted; the same members can serve several tasks."""
    seconds = {each.member.name: each.seconds for each in fitted}
    if len(fitted) == 1 and task.shape is None:
        return FittedStack(Stack((fitted[0].member,), None), {}, None, list(left), seconds)
    known = known_out_of_fold(labels, folds)
    chosen = choose_head([each.logits for each in fitted], labels, task, known)
    question = question_of(labels[known], task, known)
    alone = {
        each.member.name: (
            MeasuredModel(each.member.name, float(costs(each.logits[known], question).mean())),
            Stack((each.member,), None),
        )
        for each in fitted
    }
    members = tuple(fitted[i].member for i in chosen.places)
    return FittedStack(Stack(members, chosen.head), alone, chosen, list(left), seconds)


def described(fitted: FittedStack, n: int) -> DescribedStack:
    """What a classifier keeps of a stack that was fitted on n training rows."""
    left = _left_out_in_words(fitted.left_out)
    if fitted.chosen is None:
        (member,) = fitted.stack.members
        words = f"{member.words}, fitted on {n:,} examples." if n else f"{member.words}, as given."
        kept = Candidate(member.name, words, None, fitted.stack)
        why = f"It is all that was fitted.{left}" if left else "It was asked for."
        return DescribedStack((kept,), (), (), why)
    sizes = {model.name: model.size for model in fitted.chosen.measured}
    name = fitted.chosen.head.name
    kept = Candidate(name, _words(fitted.stack, sizes[name], n), sizes[name], fitted.stack)
    alone = [_alone(*pair, n) for pair in fitted.alone.values()]
    tried = [
        *(Tried(name, f"{size:.3f} on {n:,} training rows.", size) for name, size in sizes.items()),
        *(Tried(candidate.name, candidate.words, candidate.inefficiency) for candidate in alone),
    ]
    compared = [kept, *_unwished(fitted, sizes, n), *_best(alone)]
    return DescribedStack(tuple(compared), tuple(tried), _dial(fitted), fitted.chosen.why + left)


def _left_out_in_words(skipped: Sequence[LeftOut]) -> str:
    """A sentence for each reason, with all members that were left out for it."""
    by_reason: dict[str, list[str]] = {}
    for member in skipped:
        by_reason.setdefault(member.why.rstrip("."), []).append(member.name)
    return "".join(
        f" {', '.join(names)} {'was' if len(names) == 1 else 'were'} left out: {why}."
        for why, names in by_reason.items()
    )


def fingerprint(rows: MemberRows, stack: Stack) -> str | None:
    """The digest of training rows as members read them; None where they are read as given."""
    if isinstance(stack.reader, AsGiven):
        return None
    return digests.of_arrays(rows.inputs, rows.labels)


def _words(stack: Stack, size: float, n: int) -> str:
    weights = "" if stack.head is None else _weights_in_words(stack)
    return f"{stack.words}{weights}; {size:.3f} on {n:,} out-of-fold training rows."


def _weights_in_words(stack: Stack) -> str:
    assert stack.head is not None
    return f" (weights {', '.join(f'{weight:.2f}' for weight in stack.head.weights)})"


def _alone(measured: MeasuredModel, stack: Stack, n: int) -> Candidate:
    name = f"{measured.name} alone"
    return Candidate(name, _words(stack, measured.size, n), measured.size, stack)


def _best(alone: Sequence[Candidate]) -> list[Candidate]:
    """The best of several members alone; a single member has no other beside it."""
    if len(alone) < 2:
        return []
    return [min(alone, key=lambda candidate: candidate.inefficiency or 0.0)]


def _unwished(fitted: FittedStack, sizes: dict[str, float], n: int) -> list[Candidate]:
    """The head without wishes, where there are some."""
    assert fitted.chosen is not None
    plain = fitted.chosen.by_weight.get(0.0)
    if plain is None:
        return []
    stack = fitted.with_head(plain)
    return [
        Candidate("without wishes", _words(stack, sizes[plain.name], n), sizes[plain.name], stack)
    ]


def _dial(fitted: FittedStack) -> tuple[DialPoint, ...]:
    """A stack for each point of the curve of wishes."""
    assert fitted.chosen is not None
    heads, chosen = fitted.chosen.by_weight, fitted.chosen.point
    return tuple(
        DialPoint(point, fitted.with_head(heads[point.weight]), point == chosen)
        for point in fitted.chosen.curve
    )
