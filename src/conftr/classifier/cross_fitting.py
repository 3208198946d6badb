"""Cross-fitting: every training row gets log-probabilities of models that never saw it.

These rows, and not a further part of the data, choose between members and train the head. At
prediction the models of a member's folds are averaged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.classifier import deadlines
from conftr.classifier.deadlines import TimeIsUp
from conftr.members.member import FittedMember, Fold, Member, MemberRows, Numbers

Report: TypeAlias = Callable[[str, int, int], None]

FOLDS = 5


class CrossFitted(NamedTuple):
    """A fitted member, its log-probabilities (n, K) of the training rows, and how long it took."""

    member: FittedMember
    logits: Numbers
    seconds: float


@dataclass(frozen=True)
class LeftOut:
    """A member that is not there, and why."""

    name: str
    why: str


def divide(
    labels: npt.NDArray[Any], count: int, seed: int, examples: npt.NDArray[Any] | None = None
) -> list[Fold]:
    """Divide rows into folds, each class evenly among them.

    A class with fewer rows than folds is in as many folds as it has rows.

    Args:
        labels: Classes of the rows, (n,).
        count: How many folds; fewer where there are fewer rows.
        seed: Of the division.
        examples: The example that each row is a copy of, (n,); copies stay in one fold, or a model
            would answer for rows that it has seen. None where there are no copies.

    Returns:
        For each fold the rows outside it, which train, and its own.
    """
    if examples is None:
        examples = np.arange(len(labels))
    _, first, example = np.unique(examples, return_index=True, return_inverse=True)
    n = len(first)
    order = np.random.default_rng([seed, 2]).permutation(n)
    by_class = order[np.argsort(labels[first][order], kind="stable")]
    of_example = np.empty(n, np.intp)
    of_example[by_class] = np.arange(n) % min(count, n)
    fold, places = of_example[example.reshape(-1)], range(min(count, n))
    return [Fold(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in places]


def cross_fit(
    members: Sequence[Member],
    rows: MemberRows,
    folds: Sequence[Fold],
    *,
    seed: int,
    report: Report | None = None,
    until: float = float("inf"),
) -> tuple[list[CrossFitted], list[LeftOut]]:
    """Fit members in their order, as far as time allows.

    Args:
        members: What to fit; the first is fitted in any case.
        rows: The training rows.
        folds: As `divide` makes them.
        seed: Of whatever is random in members.
        report: Told the name of a member, steps done and steps in all.
        until: When time is up, by the monotonic clock.

    Returns:
        The members that were fitted, and those that failed on the data or came too late.

    Raises:
        ValueError: If every one of several members failed; a single one raises what it raises.
    """
    found: list[CrossFitted] = []
    left: list[LeftOut] = []
    for member in members:
        try:
            found += _fit(member, rows, folds, seed, report, until if found else float("inf"))
        except TimeIsUp:
            left.append(LeftOut(member.name, "time was up"))
        except (ValueError, TypeError, ArithmeticError, MemoryError) as fault:
            if len(members) == 1:
                raise
            left.append(LeftOut(member.name, str(fault)))
    if not found:
        raise ValueError(
            "no member could be fitted: " + "; ".join(f"{one.name}: {one.why}" for one in left)
        )
    return found, left


def _fit(
    member: Member,
    rows: MemberRows,
    folds: Sequence[Fold],
    seed: int,
    report: Report | None,
    until: float,
) -> list[CrossFitted]:
    def progress(done: int, total: int) -> None:
        if report is not None:
            report(member.name, done, total)
        if done < total:
            deadlines.check(until)

    begun = time.monotonic()
    fitted = member.fit(rows, folds, seed=seed, progress=progress)
    seconds = (time.monotonic() - begun) / len(fitted)
    return [
        CrossFitted(one, one.out_of_fold(rows.read_by(one.reader).inputs, folds), seconds)
        for one in fitted
    ]
