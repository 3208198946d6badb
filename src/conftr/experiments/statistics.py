"""What a record says of its trials: every split's numbers, and means and deviations over them.

A deviation is that of a sample (n - 1); with fewer than two it is None. Trials that failed to
train have no numbers here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.conformal.trials import Record as Measured

Rows: TypeAlias = Sequence[Sequence[Measured]]  # trials x splits

_DIGITS = 6
_CLASSES_WITH_MATRIX = 20


def summarise(rows: Rows) -> dict[str, Any]:
    """One score at one alpha: `rows` are the trials, and in each the splits."""
    groups = [name[9:-1] for name in rows[0][0] if name.startswith("coverage[")]
    return {
        "inefficiency": spread(_numbers(rows, "inefficiency")),
        "coverage": spread(_numbers(rows, "coverage")),
        "accuracy": spread(_numbers(rows, "accuracy")),
        "consistent": _rounded(np.mean(_numbers(rows, "consistent"))),
        "class_inefficiency": _means(rows, "class_inefficiency"),
        "class_coverage": _means(rows, "class_coverage"),
        "coverage_confusion": _matrix(rows, "coverage_confusion"),
        "sizes": _means(rows, "size_histogram", over=rows[0][0]["n_test"]),
        "groups": {name: _group(rows, name) for name in groups},
        "splits": {name: _rounded(_numbers(rows, name)) for name in ("inefficiency", "coverage")},
    }


def spread(values: npt.NDArray[np.float64]) -> dict[str, float | None]:
    """Mean of (trials, splits), deviation of the trials' means, mean deviation over the splits."""
    trials, splits = values.shape
    return {
        "mean": _rounded(values.mean()),
        "std_trials": _rounded(values.mean(axis=1).std(ddof=1)) if trials > 1 else None,
        "std_splits": _rounded(values.std(axis=1, ddof=1).mean()) if splits > 1 else None,
    }


def _group(rows: Rows, name: str) -> dict[str, Any]:
    """What is measured of a group of classes; None where it has no examples.

    leaving: share of its examples whose set holds a class of another group (mis-coverage).
    entering: share of the others' examples whose set holds a class of it.
    """
    numbers = {
        "inefficiency": _numbers(rows, f"inefficiency[{name}]"),
        "coverage": _numbers(rows, f"coverage[{name}]"),
        "leaving": _numbers(rows, f"miscoverage[{name}->]"),
        "entering": _numbers(rows, f"miscoverage[->{name}]"),
    }
    return {what: None if np.isnan(v).any() else spread(v) for what, v in numbers.items()}


def _matrix(rows: Rows, name: str) -> list[list[float]] | None:
    """Means over trials and splits of a matrix (K, K); None where it has too many entries to keep.

    Shares are of all examples, so that every entry is a number.
    """
    values = np.array([row[name] for trial in rows for row in trial], np.float64)
    if values.shape[-1] > _CLASSES_WITH_MATRIX:
        return None
    means: list[list[float]] = _rounded(values.mean(axis=0))
    return means


def _numbers(rows: Rows, name: str) -> npt.NDArray[np.float64]:
    """One number of every trial and split, (trials, splits); nan for None."""
    return np.array([[row[name] for row in trial] for trial in rows], np.float64)


def _means(rows: Rows, name: str, over: float = 1.0) -> list[float | None]:
    """Means over trials and splits of a list of numbers; splits that have none are left out."""
    values = np.array([row[name] for trial in rows for row in trial], np.float64) / over
    known = ~np.isnan(values)
    counts, sums = known.sum(axis=0), np.where(known, values, 0.0).sum(axis=0)
    return [_rounded(s / n) if n else None for s, n in zip(sums, counts, strict=True)]


def _rounded(value: Any) -> Any:
    return np.round(value, _DIGITS).tolist()
