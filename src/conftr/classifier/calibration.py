"""What calibration leaves behind: the true classes' scores, from which any alpha is served exactly.

One threshold for all examples, or one for each group of examples, or one for each class:

    tau_g = E_(r) among the n_g scores of group g,   r = floor(alpha (n_g + 1))
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.classifier.evidence import Integers, Numbers, Sets, standing
from conftr.classifier.labels import is_missing
from conftr.conformal import checks
from conftr.conformal.p_values import p_values
from conftr.conformal.quantile import CalibrationWarning, rank, readable_examples_needed
from conftr.conformal.sets import lowered
from conftr.conformal.weighted import WEIGHT_ROUNDING, known_weights
from conftr.data import spelling

Groups: TypeAlias = Integers | None  # of examples; None where each class is a group
Kind: TypeAlias = Literal["all", "class", "column"]


@dataclass(frozen=True)
class Grouping:
    """What makes the groups that have a threshold each.

    Attributes:
        kind: "all" for one group of all examples, "class" for a group per class, "column" for
            groups that the user gave.
        column: The name of what the user gave, which may be any text; None where it has no name.
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
# Alphas whose thresholds are written down for people and programs to read.
TABLED_ALPHAS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


@dataclass(frozen=True, eq=False)
class Calibration:
    """Scores of the true classes of calibration examples, sorted within each group.

    Attributes:
        by: What makes the groups.
        names: Of the groups.
        scores: One sorted array for each group.
    """

    by: Grouping
    names: tuple[Hashable, ...]
    scores: tuple[Numbers, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many examples calibrate each group."""
        return tuple(len(scores) for scores in self.scores)

    def thresholds(self, alpha: float) -> npt.NDArray[np.float64]:
        """tau of each group, (groups,); -inf where a group has too few examples for alpha."""
        ranks = [rank(n, alpha) for n in self.sizes]
        taus = [
            scores[r - 1] if r else -math.inf for scores, r in zip(self.scores, ranks, strict=True)
        ]
        return np.array(taus, np.float64)

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
        places = np.zeros(scores.shape, np.uint32)
        for g, of_group in enumerate(self.scores):
            if groups is None:
                places[:, g] = standing(scores[:, g], of_group)
            else:
                places[groups == g] = standing(scores[groups == g], of_group)
        return places

    def p_values(self, scores: Numbers, groups: Groups, u: Any = None) -> Numbers:
        """P-values (m, K) of the classes, as `conftr.p_values` gives them; 1 without examples.

        Args:
            groups: As `places` gives them.
            u: Uniform draws (m,) for smoothed ones.
        """
        p = np.ones(scores.shape)
        for g, of_group in enumerate(self.scores):
            rows = slice(None) if groups is None else groups == g
            columns = slice(g, g + 1) if groups is None else slice(None)
            draws = None if u is None else np.asarray(u)[rows]
            p[rows, columns] = p_values(of_group, scores[rows, columns], u=draws)
        return p

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
        known = {name: i for i, name in enumerate(self.names)}
        return np.array(spelling.places(group_values(groups, n), known), np.intp)

    def warn(self, alpha: float) -> None:
        """Say where there are too few examples for alpha, and how many it takes."""
        short = [
            f"{name} ({n})"
            for name, n in zip(self.names, self.sizes, strict=True)
            if not rank(n, alpha)
        ]
        if not short:
            return
        needed = readable_examples_needed(alpha)
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


@dataclass(frozen=True, eq=False)
class WeightedCalibration(Calibration):
    """Calibration under a known shift: see `conftr.weighted_calibrate`.

    Attributes:
        weights: Of the calibration examples of each group, in the order of `scores`.
        of_rows: The weight (m,) of each row that sets are made for; None until `at` is told.
    """

    weights: tuple[Numbers, ...]
    of_rows: Numbers | None = None

    def at(self, weights: Any, n: int) -> WeightedCalibration:
        """The calibration for n new rows of these weights, (n,)."""
        if weights is None:
            raise ValueError(
                "weights must be given, one for each row: the calibration rows have weights, and "
                "what a set holds depends on the weight of its row."
            )
        return replace(self, of_rows=known_weights(weights, "weights", n))

    def thresholds(self, alpha: float) -> npt.NDArray[np.float64]:  # noqa: ARG002
        """Nan for each group: a threshold depends on the weight of the row."""
        return np.full(len(self.names), math.nan)

    def sets(self, scores: Numbers, groups: Groups, alpha: float) -> Sets:
        """{k : p_k(x) > alpha} as booleans, (m, K)."""
        inside: Sets = self.p_values(scores, groups) > alpha + WEIGHT_ROUNDING
        return inside

    def standing(self, scores: Numbers, groups: Groups) -> Integers:  # noqa: ARG002
        """Refuse: a report at every alpha takes rows that all count the same."""
        raise ValueError(
            "there is no report on weighted calibration, whose sets depend on the weights of rows. "
            "Measure coverage with clf.coverage(X, y, weights=...)."
        )

    def p_values(self, scores: Numbers, groups: Groups, u: Any = None) -> Numbers:
        """The share of weights that a class reaches, with that of its row, (m, K)."""
        if u is not None:
            raise ValueError("u must be None: weighted p-values are not smoothed.")
        if self.of_rows is None:
            self.at(None, len(scores))
        mine = np.asarray(self.of_rows)[:, None]
        p = np.ones(scores.shape)
        for g, (of_group, weights) in enumerate(zip(self.scores, self.weights, strict=True)):
            rows = slice(None) if groups is None else groups == g
            columns = slice(g, g + 1) if groups is None else slice(None)
            sums = np.append(0.0, np.cumsum(weights))
            reached = sums[standing(scores[rows, columns], of_group)]
            total = sums[-1] + mine[rows]
            # Where neither a calibration row nor the row itself counts, nothing is ruled out.
            p[rows, columns] = np.where(
                total > 0, (reached + mine[rows]) / np.where(total > 0, total, 1.0), 1.0
            )
        return p

    def warn(self, alpha: float) -> None:
        """Say nothing: how many examples it takes depends on the weights of rows."""


def calibrated(
    scores: Numbers,
    labels: Integers,
    *,
    classes: Sequence[Hashable],
    by: Grouping = ALL,
    groups: Any = None,
    weights: Any = None,
) -> Calibration:
    """Keep the true classes' scores, from scores (n, K) and labels (n,), by group.

    Args:
        groups: The name of each example's group, (n,), where the user gave them.
        weights: Of the examples, (n,), where new rows are known to be drawn otherwise.
    """
    true_scores = scores[np.arange(len(labels)), labels]
    names, ids = _named_groups(labels, classes, by, groups)
    order = np.lexsort((true_scores, ids))
    ends = np.cumsum(np.bincount(ids, minlength=len(names)))[:-1]
    by_group = tuple(np.split(true_scores[order], ends))
    if weights is None:
        return Calibration(by, names, by_group)
    known = known_weights(weights, "weights", len(labels))
    return WeightedCalibration(by, names, by_group, tuple(np.split(known[order], ends)))


def _named_groups(
    labels: Integers, classes: Sequence[Hashable], by: Grouping, groups: Any
) -> tuple[tuple[Hashable, ...], Integers]:
    """The names of the groups, and the place among them of each example, (n,)."""
    if by == ALL:
        return (ALL.kind,), np.zeros(len(labels), np.intp)
    if by == CLASS:
        return tuple(classes), labels
    values = group_values(groups, len(labels))
    different = sorted(set(values), key=lambda name: (str(type(name)), name))
    names: dict[str, Hashable] = {}  # the first of those that are spelled alike
    for name in different:
        names.setdefault(spelling.spelled(name), name)
    places = {spelled: place for place, spelled in enumerate(names)}
    known = {name: places[spelling.spelled(name)] for name in different}
    return tuple(names.values()), np.array([known[name] for name in values], np.intp)


def grouping(groups: Any, n: int) -> tuple[Grouping, npt.NDArray[np.object_] | None]:
    """What makes the groups, and the group of each example where the user gave them, (n,).

    Args:
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
    if values.dtype == "datetime64[ns]":  # as pandas has them; NumPy would make integers of them
        values = values.astype("datetime64[us]")
    if values.shape != (n,):
        raise ValueError(
            f"groups must hold one group for each of the {n} rows; got shape {values.shape}."
        )
    plain = np.empty(n, object)
    plain[:] = [_group(value) for value in values.tolist()]
    return plain


def _group(value: Any) -> Hashable:
    """Text, a number or true or false, all of which can be written down."""
    if is_missing(value):
        return "missing"
    return value if isinstance(value, str | int | float) else str(value)
