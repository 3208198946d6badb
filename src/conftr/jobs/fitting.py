"""Fit and show: most examples are learned from, a part is kept for testing and nothing else."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np

from conftr.classifier.estimator import ConformalClassifier, evidence_of
from conftr.classifier.evidence import Evidence
from conftr.conformal.shaping import Shape
from conftr.data import DataError
from conftr.data.dataset import permutation
from conftr.data.own import Own
from conftr.data.own.labels import Integers, Labels
from conftr.jobs.showing import cells, pictures

SHARE, MOST = 0.2, 10_000  # of the rows are tested on, but no more than so many


@dataclass(frozen=True)
class Task:
    """What is asked for.

    alpha, score, method, shape, tune, time_limit: as in `ConformalClassifier`.
    by_class: a threshold for each class.
    test_share: of the rows, kept to test on; None is a fifth, at most 10,000 rows.
    seed: of all that is random.
    training: arguments of `ConformalClassifier` that say how to train, in place of `method`.
    """

    alpha: float = 0.1
    score: str = "thr"
    method: str = "auto"
    shape: Shape | None = None
    by_class: bool = False
    tune: int | None = None
    time_limit: float | None = None
    test_share: float | None = None
    seed: int = 0
    training: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Result:
    """A classifier, what it showed on test examples, and what the user should know of those."""

    clf: ConformalClassifier
    evidence: Evidence
    notes: tuple[str, ...]


def fit(own: Own, task: Task, progress: Callable[[str, int, int], None]) -> Result:
    """Train on most of the examples, and test on the others.

    progress: as in `ConformalClassifier`.
    """
    rest, test, notes = divided(own.y, task)
    clf = ConformalClassifier(
        alpha=task.alpha,
        score=task.score,
        shape=task.shape,
        tune=task.tune,
        time_limit=task.time_limit,
        random_state=task.seed,
        progress=progress,
        **{"method": task.method, **task.training},
    )
    learned = own.take(rest)
    clf.fit(learned.X, learned.y, "class" if task.by_class else learned.groups)
    return Result(clf, show(clf, own.take(test), task), notes)


def divided(y: Labels, task: Task) -> tuple[Integers, Integers, tuple[str, ...]]:
    """Rows to learn from and rows to test on, drawn at random; notes on classes too rare for both.

    A class that would only be tested on is only learned from instead.
    """
    n = len(y)
    count = min(round(SHARE * n), MOST) if task.test_share is None else round(task.test_share * n)
    if not 1 <= count < n:
        raise DataError(
            f"--test-share must leave rows to test on and rows to learn from; of {n:,} rows it "
            f"takes {count:,} to test on."
        )
    tested = np.zeros(n, bool)
    tested[permutation(n, task.seed)[:count]] = True
    classes, labels = np.unique(y, return_inverse=True)
    rare = np.bincount(labels[~tested], minlength=len(classes)) == 0
    tested &= ~rare[labels]
    if not tested.any():
        raise DataError(
            f"there is no row to test on: of the {n:,} rows, those drawn for it are the only ones "
            f"of their classes. It takes more rows, or another --seed."
        )
    names = ", ".join(str(name) for name in classes[rare])
    notes = (f"too rare to be tested on, and only learned from: {names}.",) if names else ()
    return np.flatnonzero(~tested), np.flatnonzero(tested), notes


def show(clf: ConformalClassifier, test: Own, task: Task) -> Evidence:
    """What the classifier shows on test examples, with where all of it comes from."""
    parts = {
        "trained on": clf.n_train_,
        "chosen on": clf.n_validation_,
        "calibrated on": clf.n_calibration_,
        "tested on": len(test.y),
    }
    provenance = {
        **test.origin,
        "rows": parts,
        "seed": task.seed,
        "method": clf.method_,
        "why": clf.why_,
        **({"tuning": clf.tuning_} if getattr(clf, "tuning_", None) else {}),
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("conftr", "jax", "numpy")},
    }
    return evidence_of(
        clf,
        test.X,
        test.y,
        groups=test.groups,
        cells=cells(test.X),
        pictures=pictures(test.X),
        provenance=provenance,
    )
