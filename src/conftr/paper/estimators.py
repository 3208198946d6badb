"""Estimators of the quantile side by side, for the paper's tables (not in the paper).

Nothing else is changed: all other settings are those chosen with the paper's own estimator.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from conftr.conformal.quantile import Kernel, Nearest, OrderStatistic, SmoothSort
from conftr.experiments.specification import Specification
from conftr.paper.exhibits import ACCURACY, COVERAGE, Cell, Line
from conftr.paper.runs import METHODS, NAMES, measured_at, run
from conftr.paper.shaping import EVEN, Matrix, entering, leaving, parted, separating

_SHARES = {"nearest (0.02)": 0.02, "nearest (0.1)": 0.1}
# None is the settings' own. Files are named by the place of an estimator here: new ones come last.
_ESTIMATORS: dict[str, Any] = {
    "smooth sort, the paper's position": None,
    "smooth sort, exact rank": SmoothSort(0.1),
    "order statistic": OrderStatistic(),
    "nearest (0.02)": Nearest(_SHARES["nearest (0.02)"]),
    "kernel (0.1)": Kernel(0.1),
    "nearest (0.1)": Nearest(_SHARES["nearest (0.1)"]),
}
_TRIALS = 5


def _estimators(dataset: str, method: str) -> list[str]:
    """The estimators that differ: the nearest one of a batch's scores is the order statistic."""
    batch = run(dataset, method).training.plan["batch_size"]
    return [words for words in _ESTIMATORS if round(_SHARES.get(words, 1) * (batch // 2)) > 1]


def _named(method: str, words: str) -> str:
    """A name for files."""
    place = list(_ESTIMATORS).index(words)
    return f"{method}-quantile{place}" if place else method


def _run(dataset: str, method: str, words: str) -> Specification:
    name = _named(method, words)
    return run(dataset, method, name=name, trials=_TRIALS, quantile=_ESTIMATORS[words])


def _table_1_and_8(dataset: str, method: str, words: str) -> Line:
    at = partial(Cell, None, alpha=measured_at(dataset))
    return Line(
        (NAMES[dataset], METHODS[method], words),
        _run(dataset, method, words),
        (at(), at(score="APS"), at(ACCURACY), at(COVERAGE)),
    )


def _table_2(words: str) -> Line:
    return Line(
        (NAMES["emnist-test"], METHODS["conftr"], words),
        _run("emnist-test", "conftr", words),
        tuple(Cell(None, alpha=alpha) for alpha in (0.01, 0.005, 0.001)),
    )


def _table_9(words: str, group: str, classes: Sequence[int]) -> list[Line]:
    """L[K0, K1] = 1, then L[K1, K0] = 1, with each estimator, and L = I with it before them."""

    def run_of(way: str, matrix: Matrix, estimator: str) -> Specification:
        name = _named(f"separate-{group}-{way}", estimator)
        return parted("mnist", name, matrix, _ESTIMATORS[estimator])

    return [
        Line(
            (NAMES["mnist"], words, f"L[{pair}] = 1", estimator),
            run_of(way, matrix, estimator),
            (Cell(None), Cell(None, leaving(group)), Cell(None, entering(group))),
            against=_run("mnist", "conftr-class", estimator),
        )
        for pair, way, matrix in zip(
            ("K0, K1", "K1, K0"), ("out", "in"), separating(classes), strict=True
        )
        for estimator in _estimators("mnist", "conftr-class")
    ]


LINES: dict[str, list[Line]] = {
    "quantiles": [
        _table_1_and_8(dataset, method, words)
        for dataset in NAMES
        if not dataset.startswith("cifar")
        for method in ("conftr", "conftr-class")
        for words in _estimators(dataset, method)
    ],
    "quantiles-table2": [_table_2(words) for words in _estimators("emnist-test", "conftr")],
    "quantiles-table9": [
        *_table_9("2 / others", "2", (2,)),
        *_table_9("even / odd", "even", EVEN),
    ],
}
