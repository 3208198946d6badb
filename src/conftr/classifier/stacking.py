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
from conftr.classifier.asked_members import fitted_elsewhere, suitable
from conftr.classifier.choosing import Candidate, Tried, costs
from conftr.classifier.choosing_head import (
    ChosenHead,
    MeasuredModel,
    StackTask,
    choose_head,
    question_of,
)
from conftr.classifier.cross_fitting import (
    FOLDS,
    CrossFitted,
    LeftOut,
    cross_fit,
    divide,
    known_out_of_fold,
)
from conftr.classifier.dial import DialPoint
from conftr.classifier.stack import Stack, read
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

    alone: what each member alone would give, and the stack of it alone. chosen: the head, and what
    it was chosen from. left_out: members that failed or came too late. seconds: what each member
    took.
    """

    stack: Stack
    alone: dict[str, tuple[MeasuredModel, Stack]]
    chosen: ChosenHead | None
    left_out: list[LeftOut]
    seconds: dict[str, float]

    def with_head(self, own: head.Head) -> Stack:
        """The same members under another of the heads that were tried."""
        return Stack(self.stack.members, own)


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
    found, hopeless = suitable(rows) if members is None else (list(members), [])
    if len(found) == 1 and task.shape is None and _is_of_the_user(found[0]):
        return _fit_once(found[0], rows, task)
    _encode(found, rows, task)
    folds = divide(rows.labels, FOLDS, task.seed, examples)
    fitted, left = cross_fit(
        found,
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
    if not any(isinstance(one, OnFeatures) for one in members):
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
    (found,) = member.fit(rows, [fold], seed=task.seed, progress=progress)
    seconds = {member.name: time.monotonic() - begun}
    return FittedStack(Stack((found,), None), {}, None, [], seconds)


def finish(
    fitted: Sequence[CrossFitted],
    labels: npt.NDArray[Any],
    task: StackTask,
    folds: Sequence[Fold],
    left: Sequence[LeftOut] = (),
) -> FittedStack:
    """Find the head of members that are fitted; the same members can serve several tasks."""
    seconds = {one.member.name: one.seconds for one in fitted}
    if len(fitted) == 1 and task.shape is None:
        return FittedStack(Stack((fitted[0].member,), None), {}, None, list(left), seconds)
    known = known_out_of_fold(labels, folds)
    chosen = choose_head([one.logits for one in fitted], labels, task, known)
    question = question_of(labels[known], task, known)
    alone = {
        one.member.name: (
            MeasuredModel(one.member.name, float(costs(one.logits[known], question).mean())),
            Stack((one.member,), None),
        )
        for one in fitted
    }
    members = tuple(fitted[i].member for i in chosen.places)
    return FittedStack(Stack(members, chosen.head), alone, chosen, list(left), seconds)


def described(found: FittedStack, n: int) -> DescribedStack:
    """What a classifier keeps of a stack that was fitted on n training rows."""
    left = "".join(f" {one.name} was left out: {one.why}" for one in found.left_out)
    if found.chosen is None:
        (member,) = found.stack.members
        words = f"{member.words}, fitted on {n:,} examples." if n else f"{member.words}, as given."
        kept = Candidate(member.name, words, None, found.stack)
        why = f"It is all that was fitted.{left}" if left else "It was asked for."
        return DescribedStack((kept,), (), (), why)
    sizes = {one.name: one.size for one in found.chosen.measured}
    name = found.chosen.head.name
    kept = Candidate(name, _words(found.stack, sizes[name], n), sizes[name], found.stack)
    alone = [_alone(*one, n) for one in found.alone.values()]
    tried = [
        *(Tried(name, f"{size:.3f} on {n:,} training rows.", size) for name, size in sizes.items()),
        *(Tried(one.name, one.words, one.inefficiency) for one in alone),
    ]
    compared = [kept, *_unwished(found, sizes, n), *_best(alone)]
    return DescribedStack(tuple(compared), tuple(tried), _dial(found), found.chosen.why + left)


def fingerprint(rows: MemberRows, found: Stack) -> str | None:
    """The digest of training rows as members read them; None where they are read as given."""
    if isinstance(found.reader, AsGiven):
        return None
    return digests.of_arrays(rows.inputs, rows.labels)


def _words(stack: Stack, size: float, n: int) -> str:
    weights = "" if stack.head is None else _told_weights(stack)
    return f"{stack.words}{weights}; {size:.3f} on {n:,} out-of-fold training rows."


def _told_weights(stack: Stack) -> str:
    assert stack.head is not None
    return f" (weights {', '.join(f'{weight:.2f}' for weight in stack.head.weights)})"


def _alone(measured: MeasuredModel, stack: Stack, n: int) -> Candidate:
    name = f"{measured.name} alone"
    return Candidate(name, _words(stack, measured.size, n), measured.size, stack)


def _best(alone: Sequence[Candidate]) -> list[Candidate]:
    """The best of several members alone; a single member has no other beside it."""
    if len(alone) < 2:
        return []
    return [min(alone, key=lambda one: one.inefficiency or 0.0)]


def _unwished(found: FittedStack, sizes: dict[str, float], n: int) -> list[Candidate]:
    """The head without wishes, where there are some."""
    assert found.chosen is not None
    own = found.chosen.by_weight.get(0.0)
    if own is None:
        return []
    stack = found.with_head(own)
    return [Candidate("without wishes", _words(stack, sizes[own.name], n), sizes[own.name], stack)]


def _dial(found: FittedStack) -> tuple[DialPoint, ...]:
    """A stack for each point of the curve of wishes."""
    assert found.chosen is not None
    heads, chosen = found.chosen.by_weight, found.chosen.point
    return tuple(
        DialPoint(one, found.with_head(heads[one.weight]), one == chosen)
        for one in found.chosen.curve
    )
