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
        sizes: Of their sets (m,).
        confidence: The probability of their likeliest class (m,).
        labels: Their classes (m,).
        standing: The p-value of the true class (m,).
    """

    __test__ = False  # pytest would collect it by its name

    sizes: Integers
    confidence: Numbers
    labels: Integers
    standing: Numbers


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
    return TestRows(
        evidence.sets(alpha=alpha).sum(axis=1).astype(np.int64),
        confidence(shown.probabilities),
        evidence.labels.astype(np.int64),
        (1 + standing) / (1 + sizes),
    )


def confidence(probabilities: Any) -> Numbers:
    """The probability of the likeliest class, (n,), from probabilities (n, K)."""
    largest: Numbers = np.asarray(probabilities).max(axis=1).astype(np.float64)
    return largest
