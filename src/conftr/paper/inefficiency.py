"""The runs that answer the paper's tables of inefficiency, beside the published numbers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from conftr.conformal.scores import smooth_aps, thr_probs
from conftr.paper.exhibits import ACCURACY, COVERAGE, INEFFICIENCY, Cell, Line, Quantity, published
from conftr.paper.runs import METHODS, NAMES, WHOLE, measured_at, run

_SCORES = {"THR": thr_probs, "APS": partial(smooth_aps, dispersion=0.1)}  # other than THRLP
_DEVIATIONS = {"test trials": "std_splits", "training trials": "std_trials"}
_ABLATED = {
    "batch_size, learning_rate": "batch size / learning rate",
    "size_weight": "size weight",
    "temperature": "temperature",
    "alpha": "alpha in training",
}


def _size(
    dataset: str,
    method: str,
    score: str,
    value: float | None = None,
    *,
    alpha: float = 0.01,
    labels: tuple[str, ...] = (),
    **changes: Any,
) -> Line:
    """Set size and coverage of a method; labels come last."""
    return Line(
        (NAMES[dataset], METHODS[method], score, *labels),
        run(dataset, method, **changes),
        (Cell(value, score=score, alpha=alpha), Cell(None, COVERAGE, score, alpha)),
    )


def _drawn(words: str, resampled: bool, dataset: str, *row: Any) -> Line:
    """A line of Table 1 with training sets that are drawn, or whole."""
    trials = 5 if resampled and dataset in WHOLE else None  # what is not in Table 1 besides
    line = _size(dataset, *row, resampled=resampled, trials=trials)
    return replace(line, labels=(line.labels[0], words, *line.labels[1:]))


def _protocol() -> list[Line]:
    methods = ("cross-entropy", "conftr", "conftr-class")
    return [
        _drawn(words, resampled, *row)
        for dataset in ("mnist", "fashion-mnist")
        for words, resampled in (("drawn once", True), ("whole", False))
        for row in published("table1")
        if row[0] == dataset and row[1] in methods
    ]


def _lower_alpha(method: str, score: str, *sizes: float) -> list[Line]:
    return [
        _size("emnist-test", method, score, value, alpha=alpha, labels=(f"{alpha:g}",))
        for alpha, value in zip((0.01, 0.005, 0.001), sizes, strict=True)
    ]


def _trials(over: str, method: str, *numbers: float) -> Line:
    def deviation(quantity: Quantity) -> Quantity:
        return Quantity("± of it", ((*quantity.paths[0], _DEVIATIONS[over]),), quantity.factor)

    quantities = (
        ACCURACY,
        COVERAGE,
        deviation(COVERAGE),
        INEFFICIENCY,
        deviation(INEFFICIENCY),
    )
    cells = (Cell(*pair) for pair in zip(numbers, quantities, strict=True))
    return Line((over, METHODS[method]), run("mnist", method), tuple(cells))


def _trained_with(
    dataset: str,
    method: str,
    score: str,
    test: str,
    size: float | None = None,
    accuracy: float | None = None,
) -> Line:
    """A score in training; Bel and CoverTr have it from their method."""
    has_score = method == "conftr" and score in _SCORES
    changes: dict[str, Any] = {"score": _SCORES[score]} if has_score else {}
    name = f"{method}-{score.lower()}" if changes else None
    return Line(
        (NAMES[dataset], METHODS[method], score, test),
        run(dataset, method, name=name, trials=5 if score in _SCORES else None, **changes),
        (Cell(size, score=test), Cell(accuracy, ACCURACY, test)),
    )


def _ablation(settings: str, *numbers: float) -> Line:
    """One setting of ConfTr on MNIST changed; the printed settings are the run of Table 1."""
    *values, size, accuracy = numbers
    title, value = _ABLATED[settings], " / ".join(f"{value:g}" for value in values)
    name = f"conftr-{title.split()[0]}-{value}".replace(" ", "").replace("/", "x")
    changes: dict[str, Any] = dict(zip(settings.split(", "), values, strict=True))
    alpha = changes.pop("alpha", None)
    plain = run("mnist", "conftr", trials=5)
    changed = run("mnist", "conftr", name=name, trials=5, settings=changes, alpha=alpha)
    same = changed.training == plain.training
    cells = Cell(size), Cell(accuracy, ACCURACY)
    return Line((title, value), plain if same else changed, cells)


def _binary(dataset: str, alpha: float, *row: Any) -> list[Line]:
    line = _size(dataset, *row, alpha=alpha, labels=(f"{alpha:g}",))
    batch_leaves_the_grid = (dataset, row[0]) == ("german-credit", "conftr-class")
    return [line, _german_in_the_grid()] if batch_leaves_the_grid else [line]


def _german_in_the_grid() -> Line:
    """With the nearest batch size of the paper's grid, where the printed one leaves it."""
    changed = run(
        "german-credit", "conftr-class", name="conftr-class-batch-300", settings={"batch_size": 300}
    )
    labels = NAMES["german-credit"], f"{METHODS['conftr-class']}, batch 300", "THR", "0.01"
    return Line(labels, changed, (Cell(1.77), Cell(None, COVERAGE)))


LINES: dict[str, list[Line]] = {
    "table1": [_size(*row) for row in published("table1")],
    "fig2": [
        _size(dataset, "cross-entropy", *row, alpha=measured_at(dataset))
        for dataset, *row in published("fig2")
    ],
    "table2": [line for row in published("table2") for line in _lower_alpha(*row)],
    "trials": [_trials(*row) for row in published("trials")],
    "ablation": [_ablation(*row) for row in published("ablation")],
    "training-scores": [_trained_with(*row) for row in published("training-scores")],
    "binary": [line for row in published("binary") for line in _binary(*row)],
    "protocol": _protocol(),
}
