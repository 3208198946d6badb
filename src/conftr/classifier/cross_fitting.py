"""Cross-fitting: every training row gets log-probabilities of models that never saw it.

These rows, and not a further part of the data, choose between members and train the head. At
prediction the models of a member's folds are averaged. On a cluster a task is a member, or one fold
of a member whose folds know nothing of each other; what is fitted does not depend on where.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.classifier import deadlines
from conftr.classifier.deadlines import TimeIsUp
from conftr.machine.cluster import HERE, Executor
from conftr.members.member import FittedMember, Fold, Member, MemberRows, Numbers, Rows

Report: TypeAlias = Callable[[str, int, int], None]

FOLDS = 5
_FAULTS = (ValueError, TypeError, ArithmeticError, MemoryError)  # of a member on the data


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


def known_out_of_fold(labels: npt.NDArray[Any], folds: Sequence[Fold]) -> Rows:
    """The rows whose class the models that answer for them have met; all, if there are none.

    A class with one example is in no other fold: nobody could give its row the right answer, and
    such rows would hide which members and heads give it to the others.
    """
    known = [held[np.isin(labels[held], labels[train])] for train, held in folds]
    rows = np.sort(np.concatenate(known))
    return rows if len(rows) else np.arange(len(labels))


def cross_fit(
    members: Sequence[Member],
    rows: MemberRows,
    folds: Sequence[Fold],
    *,
    seed: int,
    report: Report | None = None,
    until: float = float("inf"),
    executor: Executor = HERE,
) -> tuple[list[CrossFitted], list[LeftOut]]:
    """Fit members in their order, as far as time allows.

    Args:
        members: What to fit; the first is fitted in any case.
        rows: The training rows.
        folds: As `divide` makes them.
        seed: Of whatever is random in members.
        report: Told the name of a member, steps done and steps in all.
        until: When time is up, by the monotonic clock.
        executor: Where members are fitted.

    Returns:
        The members that were fitted, and those that failed on the data or came too late.

    Raises:
        ValueError: If every one of several members failed; a single one raises what it raises.
    """
    fitted: list[CrossFitted] = []
    left: list[LeftOut] = []
    fit = _fit if executor.here else _Elsewhere(members, rows, folds, seed, executor).fit
    for member in members:
        try:
            fitted += fit(member, rows, folds, seed, report, until if fitted else float("inf"))
        except TimeIsUp:
            left.append(LeftOut(member.name, "time was up"))
        except _FAULTS as fault:
            if len(members) == 1:
                raise
            left.append(LeftOut(member.name, str(fault)))
    if not fitted:
        raise ValueError(
            "no member could be fitted: "
            + "; ".join(f"{member.name}: {member.why}" for member in left)
        )
    return fitted, left


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
    return _crossed(fitted, rows, folds, time.monotonic() - begun)


def _crossed(
    fitted: Sequence[FittedMember], rows: MemberRows, folds: Sequence[Fold], seconds: float
) -> list[CrossFitted]:
    return [
        CrossFitted(
            member,
            member.out_of_fold(rows.read_by(member.reader).inputs, folds),
            seconds / len(fitted),
        )
        for member in fitted
    ]


class _Part(NamedTuple):
    """A task: a member by its place, and the folds that it is fitted on by theirs."""

    member: int
    folds: tuple[int, ...]


class _Done(NamedTuple):
    """What came of a task: members as `fit` gives them, or the fault, and the seconds it took.

    Attributes:
        reads_alike: Of each member, whether its reader is the one that all share.
    """

    fitted: list[FittedMember]
    reads_alike: list[bool]
    fault: Exception | None
    seconds: float


class _Elsewhere:
    """Members fitted as tasks of an executor, all of which are under way from the first on."""

    def __init__(
        self,
        members: Sequence[Member],
        rows: MemberRows,
        folds: Sequence[Fold],
        seed: int,
        executor: Executor,
    ) -> None:
        self._members, self._done = list(members), dict[_Part, _Done]()
        self._pieces = [
            piece for i in range(len(members)) for piece in self._divided(i, len(folds))
        ]
        task = partial(_fit_part, self._members, rows, list(folds), seed)
        self._results: Iterator[tuple[int, _Done]] = executor.run(task, self._pieces)

    def _divided(self, i: int, folds: int) -> list[_Part]:
        if getattr(self._members[i], "by_fold", False):
            return [_Part(i, (fold,)) for fold in range(folds)]
        return [_Part(i, tuple(range(folds)))]

    def fit(
        self,
        member: Member,
        rows: MemberRows,
        folds: Sequence[Fold],
        seed: int,  # noqa: ARG002
        report: Report | None,
        until: float,
    ) -> list[CrossFitted]:
        """Wait for the tasks of a member, while others go on, and put its folds together."""
        place = next(i for i, other in enumerate(self._members) if other is member)
        pieces = [piece for piece in self._pieces if piece.member == place]
        while missing := [piece for piece in pieces if piece not in self._done]:
            if report is not None:
                report(member.name, len(pieces) - len(missing), len(pieces))
            deadlines.check(until)
            number, done = next(self._results)
            self._done[self._pieces[number]] = done
        results = [self._done.pop(piece) for piece in pieces]
        for done in results:
            if done.fault is not None:
                raise done.fault
        return _crossed(
            _joined(results, rows), rows, folds, sum(result.seconds for result in results)
        )


def _fit_part(
    members: Sequence[Member], rows: MemberRows, folds: Sequence[Fold], seed: int, part: _Part
) -> _Done:
    """In a worker: fit a member on some folds. One alone has the seed it has among all."""
    begun = time.monotonic()
    alone = len(part.folds) < len(folds)
    try:
        fitted = members[part.member].fit(
            rows,
            [folds[i] for i in part.folds],
            seed=seed + part.folds[0] if alone else seed,
            progress=lambda *_: None,
        )
    except _FAULTS as fault:
        return _Done([], [], fault, time.monotonic() - begun)
    alike = [member.reader is rows.reader for member in fitted]
    return _Done(fitted, alike, None, time.monotonic() - begun)


def _joined(results: Sequence[_Done], rows: MemberRows) -> list[FittedMember]:
    """Members whose folds were fitted apart, with the reader that is shared here."""
    members = []
    for same in zip(*(result.fitted for result in results), strict=True):
        models = tuple(model for member in same for model in member.models)
        members.append(replace(same[0], models=models))
    alike = results[0].reads_alike
    return [
        replace(member, reader=rows.reader) if shared else member
        for member, shared in zip(members, alike, strict=True)
    ]
