"""What a classifier showed on examples it never saw: all that its report is made from.

A test example's score for a class matters only through its place among the calibration scores.
Keeping that place, a whole number, instead of the score makes sets at any alpha exact, small to
store, and possible to re-make anywhere, in a browser too:

    k is in the set at alpha   iff   standing[i, k] >= r,   r = floor(alpha (n + 1))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.conformal.cross import cross_promise
from conftr.conformal.quantile import rank
from conftr.conformal.sets import lowered

Integers: TypeAlias = npt.NDArray[np.integer[Any]]
Numbers: TypeAlias = npt.NDArray[np.floating[Any]]
Sets: TypeAlias = npt.NDArray[np.bool_]


def standing(scores: Numbers, calibration: Numbers) -> Integers:
    """How many calibration scores (n,) are at most each of the scores (m, K): (m, K), 0..n.

    Up to rounding, as in `predict_set`.
    """
    reached = lowered(np.sort(calibration).astype(np.float64))
    reached = reached.astype(np.result_type(scores, np.float32))
    return np.searchsorted(reached, scores, side="right").astype(np.uint32)


@dataclass(frozen=True)
class ShownCandidate:
    """One trained model's answers on the test examples.

    Attributes:
        name: Short, as in "cross-entropy" or "conformal training".
        words: One sentence on what it is and how it did on validation data.
        standing: (m, K) place of each class among the calibration scores of its group.
        probabilities: (m, K), for showing.
    """

    name: str
    words: str
    standing: Integers
    probabilities: Numbers


class UnseenRows(NamedTuple):
    """What the chosen candidate answers on test examples of classes that were not learned.

    Attributes:
        standing: (u, K) place of each class, as in `ShownCandidate`.
        confidence: (u,) the probability of the likeliest class.
        groups: (u,) as in `Evidence`.
    """

    standing: Integers
    confidence: Numbers
    groups: Integers | None


class PricePoint(NamedTuple):
    """What a weight of the wishes gives on test examples; 0 is without wishes.

    Attributes:
        mixed: Of the examples whose class the wishes concern, the share whose set holds what should
            stay apart.
        size: Of all sets, the mean.
        chosen: Whether it is in force.
    """

    weight: float
    mixed: float
    size: float
    chosen: bool


@dataclass(frozen=True)
class Evidence:
    """Test examples and what each candidate answers on them; the chosen candidate comes first.

    Attributes:
        classes: K names, as shown.
        alpha: The user's.
        score: "thr", "aps" or "raps".
        labels: (m,) true classes of the test examples, indices.
        candidates: The chosen one, then those it is compared with.
        group_names: Of the calibration groups; one where one threshold serves all.
        calibration_sizes: Of each calibration group, the number of examples.
        groups: (m,) the calibration group of each test example; None where each class is a group
            and has its own threshold.
        group_by: The name of the column that groups are made by; None where it has none, and where
            one threshold serves all or each class is a group.
        unseen: How many further test examples are of classes that were not learned, which every set
            misses.
        unseen_rows: What is answered on those, for tests of new examples, which are of any class;
            None where there are none, and where this was not kept.
        unseen_share: Of all examples, as estimated from those kept aside.
        wishes: Each in words.
        unwanted: (K, K), true where a set of true class row should not hold class column.
        shrink: (K,) size weights, 1 where nothing was wished.
        price: The curve of wishes over their weight, where a head follows them.
        pictures: (m, h, w) or (m, h, w, 3) uint8, where inputs are images.
        cells: For tables, column name -> text, of each test example.
        provenance: Plain data: versions, seed, file, fingerprint, sizes of the parts, settings,
            choice.
        cross_folds: How many folds cross-conformal sets are made of, whose promise is weaker; 0
            where calibration rows did not train.
    """

    classes: tuple[str, ...]
    alpha: float
    score: str
    labels: Integers
    candidates: tuple[ShownCandidate, ...]
    groups: Integers | None
    group_names: tuple[str, ...]
    calibration_sizes: tuple[int, ...]
    group_by: str | None = None
    unseen: int = 0
    unseen_rows: UnseenRows | None = None
    unseen_share: float = 0.0
    wishes: tuple[str, ...] = ()
    unwanted: Sets | None = None
    shrink: Numbers | None = None
    price: tuple[PricePoint, ...] = ()
    pictures: npt.NDArray[np.uint8] | None = None
    cells: Sequence[Mapping[str, str]] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    cross_folds: int = 0

    @property
    def kind(self) -> str:
        """What groups are made by: "class", a "column", or nothing: "all"."""
        if self.groups is None:
            return "class"
        return "all" if self.group_by is None and len(self.group_names) == 1 else "column"

    @property
    def noun(self) -> str:
        """What one group is called in a sentence."""
        if self.groups is None:
            return "class"
        return "group" if self.group_by is None else f"group of {self.group_by!r}"

    def sure(self, alpha: float) -> float:
        """The coverage that is sure at alpha, at least."""
        if not self.cross_folds:
            return 1 - alpha
        return cross_promise(sum(self.calibration_sizes), self.cross_folds, alpha)

    def sets(self, candidate: int = 0, alpha: float | None = None) -> Sets:
        """The sets (m, K) of a candidate at any alpha, as `calibrate` and `predict_set` make."""
        return self.sets_at(
            self.candidates[candidate].standing, self.alpha if alpha is None else alpha
        )

    def sets_at(self, standing: Integers, alpha: float) -> Sets:
        """The sets (m, K) at alpha of a model with this standing."""
        return self._reached(standing, self.groups, alpha)

    def unseen_sets(self, alpha: float) -> Sets | None:
        """The sets (u, K) at alpha of the examples of classes that were not learned, if known."""
        rows = self.unseen_rows
        return None if rows is None else self._reached(rows.standing, rows.groups, alpha)

    def _reached(self, standing: Integers, groups: Integers | None, alpha: float) -> Sets:
        ranks = np.array([rank(n, alpha) for n in self.calibration_sizes])
        needed = ranks[None, :] if groups is None else ranks[groups][:, None]
        return standing >= needed
