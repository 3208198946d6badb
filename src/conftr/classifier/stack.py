"""A stack: members, cross-fitted, and the head that makes one classifier of them.

Nothing here looks at calibration rows: members and head learn, and are chosen, on training rows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from conftr.classifier import head
from conftr.classifier.choosing import costs
from conftr.classifier.choosing_head import (
    ChosenHead,
    MeasuredModel,
    StackTask,
    choose_head,
    question_of,
)
from conftr.classifier.cross_fitting import FOLDS, CrossFitted, LeftOut, cross_fit, divide
from conftr.classifier.head import Head
from conftr.features.encoding import Images
from conftr.members import boosted, loading
from conftr.members.boosted import Boosted
from conftr.members.forest import EXTRA, RANDOM, Forest
from conftr.members.logistic import Logistic
from conftr.members.member import Files, FittedMember, Member, MemberRows, Numbers
from conftr.members.network import Network

_STACK = "stack.json"
_LINEAR = 1e6  # encoded numbers beyond which no linear model is tried
_BOOSTED = 20  # classes beyond which no boosted trees are


@dataclass(frozen=True, eq=False)
class Stack:
    """Fitted members and a head; a single member needs none."""

    members: tuple[FittedMember, ...]
    head: Head | None

    def logits(self, x: Any) -> Numbers:
        """Logits (n, K) of n rows of the user's. Rows are read once for all members."""
        readers = {id(one.reader): one.reader for one in self.members}
        inputs = {key: reader.encode(x) for key, reader in readers.items()}
        return self.combine([one.answers(inputs[id(one.reader)]) for one in self.members])

    def combine(self, said: Sequence[Numbers]) -> Numbers:
        """Logits (n, K) from what each member says of the rows."""
        return said[0] if self.head is None else self.head.logits(said)

    @property
    def words(self) -> str:
        """What it is made of."""
        return "; ".join(one.words for one in self.members)

    def files(self) -> Files:
        """Everything as files by name; raises `MemberError` where a member cannot be saved."""
        told, files = loading.pack(self.members)
        if self.head is not None:
            told["head"] = self.head.to_json()
            files |= self.head.files()
        return files | {_STACK: json.dumps(told, indent=1).encode()}


def load(files: Files, classes: int) -> Stack:
    """The stack that was saved as these files."""
    told = json.loads(files[_STACK])
    members = loading.unpack(told, files)
    if "head" not in told:
        return Stack(members, None)
    return Stack(members, head.load(told["head"], files, len(members), classes))


class FittedStack(NamedTuple):
    """A stack, and how it came about.

    alone: what each member alone would give. chosen: the head, and what it was chosen from.
    left_out: members that failed or came too late. seconds: what each member took.
    """

    stack: Stack
    alone: list[MeasuredModel]
    chosen: ChosenHead | None
    left_out: list[LeftOut]
    seconds: dict[str, float]


def default_members(rows: MemberRows) -> list[Member]:
    """What suits rows of this kind and number; `fit_stack` keeps those that are missed.

    Extra trees with single rows as leaves remember, which suits clean tables; a random forest with
    larger leaves suits noisy ones; networks with weak and with strong decay likewise. Boosted
    trees grow a tree for each class and round, too many where classes are many.
    """
    if isinstance(rows.reader, Images):
        return [Network()]
    width = rows.reader.width + sum(rows.reader.levels.values())
    found: list[Member] = [Logistic()] if len(rows.labels) * width <= _LINEAR else []
    found += [Forest(EXTRA), Forest(RANDOM, min_leaf=5), Network()]
    if boosted.is_here() and rows.classes <= _BOOSTED:
        found.append(Boosted())
    return found


def fit_stack(
    X: Any,
    labels: npt.NDArray[Any],
    task: StackTask,
    members: Sequence[Member] | None = None,
) -> FittedStack:
    """Fit members and a head on training rows.

    Args:
        X: Training rows: a data frame, an array (n, d), or images. No calibration row is in it.
        labels: Their classes (n,), in 0..K-1.
        task: What is wanted.
        members: What to fit; None for what suits the rows.

    Returns:
        The stack, and how it came about.

    Raises:
        ValueError: If no member could be fitted.
    """
    rows = MemberRows(X, np.asarray(labels, np.int32), len(task.classes))
    folds = divide(rows.labels, FOLDS, task.seed)
    fitted, left = cross_fit(
        members if members is not None else default_members(rows),
        rows,
        folds,
        seed=task.seed,
        report=task.report,
        until=task.until,
    )
    return finish(fitted, rows.labels, task, left)


def finish(
    fitted: Sequence[CrossFitted],
    labels: npt.NDArray[Any],
    task: StackTask,
    left: Sequence[LeftOut] = (),
) -> FittedStack:
    """Find the head of members that are fitted; the same members can serve several tasks."""
    seconds = {one.member.name: one.seconds for one in fitted}
    if len(fitted) == 1 and task.shape is None:
        return FittedStack(Stack((fitted[0].member,), None), [], None, list(left), seconds)
    chosen = choose_head([one.logits for one in fitted], labels, task)
    question = question_of(labels, task, np.arange(len(labels)))
    alone = [
        MeasuredModel(one.member.name, float(costs(one.logits, question).mean())) for one in fitted
    ]
    members = tuple(fitted[i].member for i in chosen.places)
    return FittedStack(Stack(members, chosen.head), alone, chosen, list(left), seconds)
