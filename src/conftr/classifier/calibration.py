"""What calibration leaves behind: the true classes' scores, from which any alpha is served exactly.

One threshold for all examples, or one for each group of examples, or one for each class:

    tau_g = E_(r) among the n_g scores of group g,   r = floor(alpha (n_g + 1))
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.classifier.evidence import Integers, Numbers, Sets, standing
from conftr.classifier.labels import is_missing
from conftr.conformal import checks
from conftr.conformal.p_values import p_values
from conftr.conformal.quantile import CalibrationWarning, examples_needed, rank
from conftr.conformal.sets import lowered

Groups: TypeAlias = Integers | None  # of examples; None where each class is a group
Kind: TypeAlias = Literal["all", "class", "column"]


@dataclass(frozen=True)
class Grouping:
    """What makes the groups that have a threshold each.

    kind: "all" for one group of all examples, "class" for a group per class, "column" for groups
        that the user gave.
    column: the name of what the user gave, which may be any text; None where it has no name.
    """

    kind: Kind
    column: str | None = None

    @property
    def noun(self) -> str:
        """What one group is called in a sentence."""
        if self.kind == "column":
            return "group" if self.column is None else f"group of {self.column!r}"
        return "class" if self.kind == "class" else "example"


ALL, CLASS = Grouping("all"), Grouping("class")


@dataclass(frozen=True, eq=False)
class Calibration:
    """Scores of the true classes of calibration examples, sorted within each group.

    by: what makes the groups.
    names: of the groups.
    scores: one sorted array for each group.
    """

    by: Grouping
    names: tuple[Hashable, ...]
    scores: tuple[Numbers, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many examples calibrate each group."""
        return tuple(len(own) for own in self.scores)

    def thresholds(self, alpha: float) -> npt.NDArray[np.float64]:
        """tau of each group, (groups,); -inf where a group has too few examples for alpha."""
        ranks = [rank(n, alpha) for n in self.sizes]
        found = [own[r - 1] if r else -math.inf for own, r in zip(self.scores, ranks, strict=True)]
        return np.array(found, np.float64)

    def sets(self, scores: Numbers, groups: Groups, alpha: float) -> Sets:
        """{k : E(x,k) >= tau} as booleans, (m, K); every class where a group has no threshold.

        Up to rounding, as in `predict_set`: a model may answer a row differently in other company.
        groups: as `places` gives them; -1 is a group that calibration did not see.
        """
        taus = lowered(np.append(self.thresholds(alpha), -math.inf)).astype(scores.dtype)
        inside: Sets = scores >= (taus[None, :-1] if groups is None else taus[groups][:, None])
        return inside

    def standing(self, scores: Numbers, groups: Groups) -> Integers:
        """The place of each score (m, K) among the calibration scores of its group, (m, K)."""
        found = np.zeros(scores.shape, np.uint32)
        for g, own in enumerate(self.scores):
            if groups is None:
                found[:, g] = standing(scores[:, g], own)
            else:
                found[groups == g] = standing(scores[groups == g], own)
        return found

    def p_values(self, scores: Numbers, groups: Groups, u: Any = None) -> Numbers:
        """P-values (m, K) of the classes, as `conftr.p_values` gives them; 1 without examples.

        groups: as `places` gives them. u: uniform draws (m,) for smoothed ones.
        """
        found = np.ones(scores.shape)
        for g, own in enumerate(self.scores):
            rows = slice(None) if groups is None else groups == g
            columns = slice(g, g + 1) if groups is None else slice(None)
            draws = None if u is None else np.asarray(u)[rows]
            found[rows, columns] = p_values(own, scores[rows, columns], u=draws)
        return found

    def places(self, groups: Any, n: int) -> Groups:
        """Which group each of n examples belongs to, from the groups' names (n,); -1 if unseen."""
        if self.by.kind != "column":
            if groups is not None:
                raise ValueError("groups must be None, as thresholds are not by group here.")
            return None if self.by == CLASS else np.zeros(n, np.intp)
        if groups is None:
            raise ValueError(
                f"groups must hold the {self.by.noun} of every row: each has its threshold."
            )
        places = {name: i for i, name in enumerate(self.names)}
        return np.array([places.get(name, -1) for name in group_values(groups, n)], np.intp)

    def warn(self, alpha: float) -> None:
        """Say where there are too few examples for alpha, and how many it takes."""
        short = [
            f"{name} ({n})"
            for name, n in zip(self.names, self.sizes, strict=True)
            if not rank(n, alpha)
        ]
        if not short:
            return
        needed = examples_needed(alpha)
        if self.by == ALL:
            message = (
                f"{self.sizes[0]} calibration examples are too few for alpha = {alpha:g}, which "
                f"needs at least {needed}: every set holds every class. Give more data or a "
                f"larger alpha."
            )
        else:
            outcome = (
                "such a class is in every set"
                if self.by == CLASS
                else "sets of such examples hold every class"
            )
            message = (
                f"alpha = {alpha:g} needs at least {needed} calibration examples of each "
                f"{self.by.noun}; too few for {checks.listed(short)}: {outcome}."
            )
        warnings.warn(message, CalibrationWarning, stacklevel=4)


def warn_of_unseen(by: Grouping, groups: Any, places: Groups) -> None:
    """Name the groups that have no threshold, as their sets hold every class."""
    if places is None or (places >= 0).all():
        return
    unseen = sorted({str(name) for name in group_values(groups, len(places))[places < 0]})
    warnings.warn(
        f"no calibration example is of {by.noun} {checks.listed(unseen)}: sets of such rows hold "
        f"every class.",
        CalibrationWarning,
        stacklevel=4,
    )


def calibrated(
    scores: Numbers,
    labels: Integers,
    *,
    classes: Sequence[Hashable],
    by: Grouping = ALL,
    groups: Any = None,
) -> Calibration:
    """Keep the true classes' scores, from scores (n, K) and labels (n,), by group.

    groups: the name of each example's group, (n,), where the user gave them.
    """
    own = scores[np.arange(len(labels)), labels]
    if by == ALL:
        return Calibration(by, (ALL.kind,), (np.sort(own),))
    if by == CLASS:
        names, ids = tuple(classes), labels
    else:
        values = group_values(groups, len(labels))
        names = tuple(sorted(set(values), key=lambda name: (str(type(name)), name)))
        places = {name: i for i, name in enumerate(names)}
        ids = np.array([places[name] for name in values], np.intp)
    order = np.lexsort((own, ids))
    ends = np.cumsum(np.bincount(ids, minlength=len(names)))[:-1]
    return Calibration(by, names, tuple(np.split(own[order], ends)))


def grouping(groups: Any, n: int) -> tuple[Grouping, npt.NDArray[np.object_] | None]:
    """What makes the groups, and the group of each example where the user gave them, (n,).

    groups: None, "all", "class", or one group for each of n examples; a series may have a name.
    """
    if groups is None:
        return ALL, None
    if isinstance(groups, str):
        if groups not in (ALL.kind, CLASS.kind):
            raise ValueError(f'groups must be "class", "all" or one group a row; got {groups!r}.')
        return (CLASS if groups == CLASS.kind else ALL), None
    name = getattr(groups, "name", None)
    column = name if isinstance(name, str) and name else None
    return Grouping("column", column), group_values(groups, n)


def group_values(groups: Any, n: int) -> npt.NDArray[np.object_]:
    """The group of each example as plain values (n,), refused in words if there are not n."""
    values = np.asarray(groups)
    if values.shape != (n,):
        raise ValueError(
            f"groups must hold one group for each of the {n} rows; got shape {values.shape}."
        )
    found = np.empty(n, object)
    found[:] = [_group(value) for value in values.tolist()]
    return found


def _group(value: Any) -> Hashable:
    """Text, a number or true or false, all of which can be written down."""
    if is_missing(value):
        return "missing"
    return value if isinstance(value, str | int | float) else str(value)
