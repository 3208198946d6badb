"""Fit and show: most examples are learned from, a part is kept for testing and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone  # type: ignore[import-untyped]

from conftr.classifier import estimator_fitting, repeats
from conftr.classifier.choosing_members import AUTO
from conftr.classifier.cross_fitting import FOLDS
from conftr.classifier.division import Order, Rows, calibration_size, order, seed_of
from conftr.classifier.estimator import ConformalClassifier
from conftr.classifier.evidence import Evidence
from conftr.classifier.testing import evidence_of
from conftr.data import DataError
from conftr.data.user_files import UserData
from conftr.features import frames, word_vectors
from conftr.features.texts import columns_of_texts
from conftr.jobs.showing import cells, pictures
from conftr.machine.versions import statement
from conftr.members import boosted
from conftr.members.forest import RANDOM

SHARE, MOST = 0.2, 10_000  # of the rows are tested on, but no more than so many


@dataclass(frozen=True, eq=False)
class FitTask:
    """What is asked for.

    Attributes:
        clf: A classifier with its settings, not fitted; its random state is the seed of all.
        by_class: A threshold for each class.
        test_share: Of the rows, kept to test on; None is a fifth, at most 10,000 rows.
    """

    clf: ConformalClassifier = field(default_factory=lambda: ConformalClassifier(random_state=0))
    by_class: bool = False
    test_share: float | None = None

    @property
    def seed(self) -> Any:
        """The seed of all that is random."""
        return self.clf.random_state


@dataclass(frozen=True, eq=False)
class Result:
    """A classifier, what it showed on test examples, and what the user should know of those."""

    clf: ConformalClassifier
    evidence: Evidence
    notes: tuple[str, ...]


class DividedRows(NamedTuple):
    """Rows to learn from and the order in which they are drawn, rows to test on, and notes."""

    rest: Rows
    drawn: Order
    test: Rows
    notes: tuple[str, ...]


def fit(
    given: UserData,
    task: FitTask,
    progress: Callable[[str, int, int], None],
    announce: Callable[[str], None] = lambda _: None,
) -> Result:
    """Train on most of the examples, and test on the others.

    Args:
        progress: As in `ConformalClassifier`.
        announce: Told what is going to be fitted.
    """
    drawn = order(given.X, seed_of(task.seed), given.y)
    division = divided(drawn, task)
    _check_held_out(drawn, len(division.test), task.clf.alpha)
    learned, test = given.take(division.rest), given.take(division.test)
    if not np.isin(test.y, learned.y).any():
        raise DataError(
            f"there is no row to test on: the {len(test.y):,} rows drawn for it are the only ones "
            f"of their classes. It takes more rows, or another --seed."
        )
    announce(_plan(task.clf, learned))
    clf = clone(task.clf).set_params(progress=progress)
    groups = "class" if task.by_class else learned.groups
    estimator_fitting.fit(clf, learned.X, learned.y, groups, clf.alpha, {}, division.drawn)
    return Result(clf, show(clf, test, task), division.notes)


def _plan(clf: ConformalClassifier, given: UserData) -> str:
    """What will be fitted, in a sentence."""
    names = clone(clf).planned_members(given.X, given.y)
    folds = f", each on {FOLDS} folds of the training rows" * (len(names) > 1)
    sentences = f"To be fitted: {', '.join(names)}{folds}."
    tables = RANDOM in names  # pictures have no boosted trees in any case
    if tables and clf.members == AUTO and not boosted.is_here():
        sentences += " Boosted trees are left out: pip install 'conftr[boosted]' adds LightGBM."
    return sentences + _read_as_texts(clf, given.X)


def _read_as_texts(clf: ConformalClassifier, X: Any) -> str:
    """Which columns are read as texts, and what would be missed; nothing where there are none."""
    if not frames.is_frame(X):
        return ""
    columns = columns_of_texts(frames.opened(X), clf.texts)
    if not columns:
        return ""
    sentences = f" Read as texts: {', '.join(map(repr, columns))}."
    if not word_vectors.is_here():
        sentences += " Word vectors are left out: pip install 'conftr[text]' adds them."
    return sentences


def divided(drawn: Order, task: FitTask) -> DividedRows:
    """Rows to learn from and rows to test on, one for each example: the first that are drawn."""
    n = drawn.examples
    count = min(round(SHARE * n), MOST) if task.test_share is None else round(task.test_share * n)
    if not 1 <= count < n:
        raise DataError(
            f"--test-share must leave rows to test on and rows to learn from; of {n:,} different "
            f"rows it takes {count:,} to test on."
        )
    rest, behind = drawn.after(count)
    note = repeats.sentence(drawn)
    return DividedRows(
        rest, behind, drawn.one_each(seed_of(task.seed))[:count], (note,) * bool(note)
    )


def _check_held_out(drawn: Order, tested: int, alpha: float) -> None:
    """Raise where a sweep with the same seed may have seen rows that test or calibrate."""
    calibrated = calibration_size(drawn.examples - tested, alpha)
    if tested + calibrated > drawn.most_held_out:
        raise DataError(
            f"--test-share is too large: with the {calibrated:,} rows that calibrate, {tested:,} "
            f"test rows are more than 60 % of the {drawn.examples:,}. The others are never tested "
            f"or calibrated on, whatever is asked for, so that settings can be compared on them."
        )


def show(
    clf: ConformalClassifier,
    test: UserData,
    task: FitTask,
    more_provenance: Mapping[str, Any] | None = None,
) -> Evidence:
    """What the classifier shows on test examples, with where all of it comes from.

    Args:
        more_provenance: Entries to add to the record of where the classifier comes from.
    """
    # Single networks tell of what was tried in their words.
    stacked = clf.candidates_[0].stack.head is not None
    measured = {candidate.name: candidate.inefficiency for candidate in clf.tried_ if stacked}
    provenance = {
        **test.origin,
        **(more_provenance or {}),
        "rows": _rows(clf, len(test.y)),
        "seed": task.seed,
        "method": clf.method_,
        "why": clf.why_,
        **({"measured": measured} if measured else {}),
        **({"tuning": clf.tuning_} if getattr(clf, "tuning_", None) else {}),
        "versions": statement(),
    }
    return evidence_of(
        clf,
        test.X,
        test.y,
        groups=test.groups,
        cells=cells(test.X, test.paths),
        pictures=pictures(test.X),
        provenance=provenance,
    )


def _rows(clf: ConformalClassifier, tested: int) -> dict[str, int]:
    chosen = {"chosen on": clf.n_validation_} if clf.n_validation_ else {}
    counts = {
        "trained on": clf.n_train_,
        **chosen,
        "calibrated on": clf.n_calibration_,
        "tested on": tested,
    }
    return counts | ({"of classes that were not learned": clf.n_unseen_} if clf.n_unseen_ else {})
