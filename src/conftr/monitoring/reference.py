"""What new rows are compared with: calibration rows, and the test rows of the model's report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.classifier.calibration import Calibration
from conftr.classifier.evidence import Evidence

Numbers: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TestRows:
    """What the model said of rows that it was tested on, which had no part in it.

    Attributes:
        sizes: Of their sets (m + u,). The last u are those of rows of classes that were not
            learned, as new rows may have; None where the model was saved without them.
        confidence: The probability of their likeliest class (m + u,), or None, likewise.
        labels: The classes of those whose class was learned (m,).
        standing: The p-value of their true class (m,).
        left_out: How many rows of other classes the model was saved without.
    """

    __test__ = False  # pytest would collect it by its name

    sizes: Integers | None
    confidence: Numbers | None
    labels: Integers
    standing: Numbers
    left_out: int = 0


@dataclass(frozen=True, eq=False)
class Reference:
    """What is known of rows as they should be.

    Attributes:
        classes: Names.
        alpha: Of the model.
        tests: None where the model was saved without evidence.
    """

    classes: tuple[str, ...]
    alpha: float
    calibration: Calibration
    tests: TestRows | None

    @classmethod
    def of(cls, clf: Any, evidence: Evidence | None) -> Reference:
        """Make the reference of a fitted classifier and of what it showed on test rows."""
        names = tuple(str(name) for name in clf.classes_.tolist())
        tests = None if evidence is None else _tests(evidence, clf.alpha_)
        return cls(names, clf.alpha_, clf.calibration_, tests)


def _tests(evidence: Evidence, alpha: float) -> TestRows:
    shown, rows = evidence.candidates[0], np.arange(len(evidence.labels))
    ids = evidence.labels if evidence.groups is None else evidence.groups
    sizes = np.array(evidence.calibration_sizes)[ids]
    standing = shown.standing[rows, evidence.labels].astype(np.float64)
    labels, p_values = evidence.labels.astype(np.int64), (1 + standing) / (1 + sizes)
    sets, sure = evidence.sets(alpha=alpha), confidence(shown.probabilities)
    if evidence.unseen and evidence.unseen_rows is None:
        return TestRows(None, None, labels, p_values, left_out=evidence.unseen)
    if evidence.unseen_rows is not None:
        sets = np.concatenate([sets, evidence.unseen_sets(alpha)])
        sure = np.append(sure, evidence.unseen_rows.confidence.astype(np.float64))
    return TestRows(sets.sum(axis=1).astype(np.int64), sure, labels, p_values)


def confidence(probabilities: Any) -> Numbers:
    """The probability of the likeliest class, (n,), from probabilities (n, K)."""
    largest: Numbers = np.asarray(probabilities).max(axis=1).astype(np.float64)
    return largest
