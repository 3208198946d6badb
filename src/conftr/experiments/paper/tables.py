"""The paper's tables of inefficiency: published numbers and the runs that answer them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeAlias

from conftr.experiments.exhibits import (
    ACCURACY,
    COVERAGE,
    INEFFICIENCY,
    Cell,
    Exhibit,
    Line,
    Quantity,
)
from conftr.experiments.paper.runs import METHODS, NAMES, WHOLE, measured_at, run
from conftr.machine.plain_data import part

# method -> score at test -> published; None where the paper has no number.
Published: TypeAlias = Mapping[str, Mapping[str, float | None]]

_TABLE_1: Mapping[str, Published] = {
    "mnist": {
        "baseline": {"THR": 2.23, "APS": 2.50},
        "baseline-tuned": {"THR": None, "APS": None},
        "bel": {"THR": 2.70},
        "conftr": {"THR": 2.18, "APS": 2.16},
        "conftr-class": {"THR": 2.11, "APS": 2.14},
    },
    "fashion-mnist": {
        "baseline": {"THR": 2.05, "APS": 2.36},
        "baseline-tuned": {"THR": None, "APS": None},
        "bel": {"THR": 1.90},
        "conftr": {"THR": 1.69, "APS": 1.82},
        "conftr-for-aps": {"APS": 1.82},
        "conftr-class": {"THR": 1.67, "APS": 1.72},
        "conftr-class-for-aps": {"APS": 1.72},
    },
    "emnist-test": {
        "baseline": {"THR": 2.66, "APS": 4.23},
        "baseline-tuned": {"THR": None, "APS": None},
        "bel": {"THR": 3.48},
        "conftr": {"THR": 2.66, "APS": 2.86},
        "conftr-class": {"THR": 2.49, "APS": 2.87},
    },
}


def _sizes(
    dataset: str, published: Published, *, alpha: float = 0.01, **changes: Any
) -> list[Line]:
    """A line for each method and score."""
    return [
        Line(
            (NAMES[dataset], METHODS[method], score),
            run(dataset, method, **changes),
            (Cell(value, score=score, alpha=alpha), Cell(None, COVERAGE, score, alpha)),
        )
        for method, scores in published.items()
        for score, value in scores.items()
    ]


TABLE_1 = Exhibit(
    "table1",
    "Main inefficiency results, alpha = .01",
    "Table 1",
    ("data", "method", "score at test"),
    ("set size", "coverage %"),
    tuple(line for dataset, rows in _TABLE_1.items() for line in _sizes(dataset, rows)),
    (
        "EMNIST is trained, calibrated and tested on letters of the byClass test split alone, "
        "about a sixth of the paper's data: its numbers are not comparable one to one.",
        "“Baseline, tuned” is cross-entropy with epochs, batch size, learning rate and weight "
        "decay searched on held-out training data, as hard as ConfTr's settings were. On "
        "Fashion-MNIST that is 30 epochs in place of 150, and sets as small as those of ConfTr + "
        "L_class: most of the published gain there is what the last 120 epochs cost "
        "cross-entropy. On MNIST, with a linear model, nothing of the kind is found, and ConfTr + "
        "L_class stays ahead; without a class loss ConfTr is ahead of the paper's baseline by "
        "0.007 classes, well within the deviation.",
        "APS is measured with the settings printed for THR. The paper tuned for APS separately and "
        "does not print what it found. On Fashion-MNIST that parts the numbers: ConfTr without a "
        "class loss makes logits so sharp there that sets by APS are twice as large. “Tuned for "
        "APS” has settings that the paper's grid, thinned out, gave for APS on held-out training "
        "data.",
    ),
)


def _drawn(dataset: str, words: str, resampled: bool) -> list[Line]:
    trials = 5 if resampled and dataset in WHOLE else None  # what is not in Table 1 besides
    published = {name: _TABLE_1[dataset][name] for name in ("baseline", "conftr", "conftr-class")}
    return [
        dataclasses.replace(line, labels=(line.labels[0], words, *line.labels[1:]))
        for line in _sizes(dataset, published, resampled=resampled, trials=trials)
    ]


PROTOCOL = Exhibit(
    "protocol",
    "Training sets drawn once from five copies, or whole",
    "Appendix F, random training trials",
    ("data", "training sets", "method", "score at test"),
    ("set size", "coverage %"),
    tuple(
        line
        for dataset in ("mnist", "fashion-mnist")
        for words, resampled in (("drawn once", True), ("whole", False))
        for line in _drawn(dataset, words, resampled)
    ),
    (
        "The paper's text draws a training set once for each trial; its authors' code draws one "
        "for each epoch. Drawn once, two thirds of the examples remain and an MLP overfits them.",
    ),
)


_BASELINES: Mapping[str, Mapping[str, float | None]] = {
    "mnist": {"THRL": 3.57, "THR": 2.23, "APS": 2.50, "RAPS": None},
    "fashion-mnist": {"THRL": 2.52, "THR": 2.05, "APS": 2.36, "RAPS": None},
    "emnist-test": {"THRL": 5.07, "THR": 2.66, "APS": 4.23, "RAPS": None},
    "winequality": {"THRL": 1.76, "THR": 1.76, "APS": 1.79, "RAPS": None},
    "german-credit": {"THRL": 1.89, "THR": 1.86, "APS": 1.90, "RAPS": None},
    "camelyon": {"THRL": 1.41, "THR": 1.47, "APS": 1.59, "RAPS": None},
}

BASELINES = Exhibit(
    "fig2",
    "Conformal predictors on one cross-entropy baseline",
    "Figure 2; tables 6 to 8",
    ("data", "method", "score at test"),
    ("set size", "coverage %"),
    tuple(
        line
        for dataset, row in _BASELINES.items()
        for line in _sizes(dataset, {"baseline": row}, alpha=measured_at(dataset))
    ),
    (
        "RAPS has a penalty of .01 and one free rank.",
        "Camelyon at alpha = .05; the paper prints its best model there, ours are means.",
    ),
)

_LOWER_ALPHA: Mapping[str, Mapping[str, Mapping[float, float]]] = {
    "baseline": {
        "THRL": {0.01: 5.07, 0.005: 9.23, 0.001: 23.89},
        "THR": {0.01: 2.66, 0.005: 4.10, 0.001: 15.73},
        "APS": {0.01: 4.23, 0.005: 6.04, 0.001: 19.33},
    },
    "conftr": {"THR": {0.01: 2.66, 0.005: 3.37, 0.001: 13.65}},
}

LOWER_ALPHA = Exhibit(
    "table2",
    "Lower alpha on EMNIST, trained for alpha = .01",
    "Table 2, right; Table 7",
    ("data", "method", "score at test", "alpha"),
    ("set size", "coverage %"),
    tuple(
        Line(
            (NAMES["emnist-test"], METHODS[method], score, f"{alpha:g}"),
            run("emnist-test", method),
            (Cell(value, score=score, alpha=alpha), Cell(None, COVERAGE, score, alpha)),
        )
        for method, scores in _LOWER_ALPHA.items()
        for score, sizes in scores.items()
        for alpha, value in sizes.items()
    ),
    (
        "Letters of the byClass test split alone, see Table 1. At alpha = .001 the threshold is "
        "the second smallest of 2,473 calibration scores: sets are half as large again, for every "
        "method, and none of them is better beyond the deviation.",
    ),
)


def _deviation(name: str, quantity: Quantity, which: str) -> Quantity:
    return Quantity(name, ((*quantity.paths[0], which),), quantity.factor)


RANDOM_TRIALS = Exhibit(
    "trials",
    "Random trials on MNIST",
    "Table 4",
    ("deviation over", "method"),
    ("accuracy %", "coverage %", "± of it", "set size", "± of it"),
    tuple(
        Line(
            (over, METHODS[method]),
            run("mnist", method),
            (
                Cell(accuracy, ACCURACY),
                Cell(coverage, COVERAGE),
                Cell(of_coverage, _deviation("± of it", COVERAGE, which)),
                Cell(size, INEFFICIENCY),
                Cell(of_size, _deviation("± of it", INEFFICIENCY, which)),
            ),
        )
        for over, which, rows in (
            (
                "test trials",
                "std_splits",
                {
                    "baseline": (92.45, 99.09, 0.2, 2.23, 0.15),
                    "conftr": (90.38, 99.05, 0.2, 2.14, 0.13),
                    "conftr-class": (91.14, 99.03, 0.19, 2.09, 0.12),
                },
            ),
            (
                "training trials",
                "std_trials",
                {
                    "baseline": (92.4, 99.09, 0.8, 2.23, 0.01),
                    "conftr": (90.2, 99.03, 0.22, 2.18, 0.025),
                    "conftr-class": (91.2, 99.05, 0.21, 2.11, 0.028),
                },
            ),
        )
        for method, (accuracy, coverage, of_coverage, size, of_size) in rows.items()
    ),
    (
        "For test trials the paper uses one fixed model; ours is the mean deviation over the "
        "splits of ten models.",
    ),
)

_IN_TRAINING: Mapping[str, Mapping[str, Any]] = {
    "THR": {"score": part("thr_probs")},
    "APS": {"score": part("smooth_aps", dispersion=0.1)},
}


def _trained_with(
    dataset: str, method: str, score: str, cells: Mapping[str, tuple[float | None, float | None]]
) -> list[Line]:
    changes = _IN_TRAINING.get(score, {}) if method == "conftr" else {}
    few = 5 if score in _IN_TRAINING else None
    name = f"{method}-{score.lower()}" if changes else None
    asked = run(dataset, method, name=name, trials=few, **changes)
    return [
        Line(
            (NAMES[dataset], METHODS[method], score, test),
            asked,
            (Cell(size, score=test), Cell(accuracy, ACCURACY, test)),
        )
        for test, (size, accuracy) in cells.items()
    ]


IN_TRAINING = Exhibit(
    "training-scores",
    "Scores in training: Bel, CoverTr and ConfTr",
    "Tables 4, 6 and 7",
    ("data", "method", "score in training", "score at test"),
    ("set size", "accuracy %"),
    (
        *_trained_with("mnist", "bel", "THRL", {"THRL": (2.73, 81.41), "THR": (2.70, 90.01)}),
        *_trained_with("mnist", "covertr-thr", "THR", {"THR": (6.34, 83.85)}),
        *_trained_with("mnist", "covertr-aps", "APS", {"APS": (4.86, 88.53)}),
        *_trained_with("mnist", "covertr", "THRLP", {"THR": (2.50, 92.63), "APS": (2.76, 92.63)}),
        *_trained_with("mnist", "conftr", "THRLP", {"THR": (2.18, 90.24), "APS": (2.16, 90.21)}),
        *_trained_with("mnist", "conftr", "THR", {"THR": (None, None), "APS": (None, None)}),
        *_trained_with("mnist", "conftr", "APS", {"THR": (None, None), "APS": (5.79, 87.9)}),
        *_trained_with(
            "fashion-mnist", "bel", "THRL", {"THRL": (1.83, 84.29), "THR": (1.90, 84.61)}
        ),
        *_trained_with("fashion-mnist", "covertr-thr", "THR", {"THR": (4.03, 89.23)}),
        *_trained_with("fashion-mnist", "covertr", "THRLP", {"THR": (2.69, 87.48)}),
        *_trained_with("emnist-test", "bel", "THRL", {"THRL": (3.95, 80.69), "THR": (3.48, 80.69)}),
    ),
    (
        "Settings of Bel and CoverTr are printed nowhere: they come from a search on held-out "
        "training data over the paper's grid, thinned out (results/sweeps/). On Fashion-MNIST it "
        "tells configurations apart after 15 of 150 epochs and trains four of them to the end; a "
        "fuller search may well find better settings for both.",
        "With THRL at test the paper's Bel on MNIST is another model, tuned for THRL, as its "
        "accuracy shows; ours is the one tuned for THR.",
        "ConfTr trained with THR or APS uses the settings printed for THRLP: as in the paper, some "
        "trials find small sets and some do not train, and the deviation is the result.",
        "CoverTr trained with APS does better here than in the paper, with settings from our own "
        "search (by sets with THR, on held-out training data); why is not known.",
    ),
)


def _ablation(title: str, value: str, cells: tuple[float, float], **changes: Any) -> Line:
    """One setting of ConfTr on MNIST changed; the printed settings are the run of Table 1."""
    name = f"conftr-{title.split()[0]}-{value}".replace(" ", "").replace("/", "x")
    plain = run("mnist", "conftr", trials=5)
    changed = run("mnist", "conftr", name=name, trials=5, **changes)
    asked = plain if changed.training == plain.training else changed
    size, accuracy = cells
    return Line((title, value), asked, (Cell(size), Cell(accuracy, ACCURACY)))


_BATCH_AND_RATE = {
    (1000, 0.05): (2.27, 89.05),
    (1000, 0.01): (2.24, 89.18),
    (1000, 0.005): (2.24, 89.06),
    (500, 0.05): (2.18, 90.23),
    (500, 0.01): (2.18, 90.22),
    (500, 0.005): (2.17, 90.27),
    (100, 0.05): (8.04, 11.5),
    (100, 0.01): (7.32, 22.46),
    (100, 0.005): (9.66, 12.13),
}
_SIZE_WEIGHT = {
    0.001: (2.18, 90.2),
    0.005: (2.18, 20.23),
    0.01: (2.18, 90.23),
    0.05: (2.19, 90.2),
    0.1: (2.19, 90.25),
    1: (2.19, 90.23),
    10: (2.16, 90.26),
}
_TEMPERATURE = {
    0.01: (2.39, 88.54),
    0.05: (2.23, 89.94),
    0.1: (2.2, 90.02),
    0.5: (2.19, 90.24),
    1: (2.18, 90.28),
    5: (2.2, 90.05),
    10: (2.29, 89.63),
}
_ALPHA = {0.1: (8.07, 12.88), 0.05: (7.23, 39.82), 0.01: (2.18, 90.23), 0.005: (2.17, 89.47)}

ABLATION = Exhibit(
    "ablation",
    "Hyper-parameters of ConfTr on MNIST, one at a time",
    "Table 5",
    ("setting", "value"),
    ("set size", "accuracy %"),
    (
        *(
            _ablation(
                "batch size / learning rate",
                f"{batch} / {rate:g}",
                cells,
                row={"batch_size": batch, "learning_rate": rate},
            )
            for (batch, rate), cells in _BATCH_AND_RATE.items()
        ),
        *(
            _ablation("size weight", f"{value:g}", cells, row={"size_weight": value})
            for value, cells in _SIZE_WEIGHT.items()
        ),
        *(
            _ablation("temperature", f"{value:g}", cells, row={"temperature": value})
            for value, cells in _TEMPERATURE.items()
        ),
        *(
            _ablation("alpha in training", f"{value:g}", cells, alpha=value)
            for value, cells in _ALPHA.items()
        ),
    ),
    (
        "Sets are calibrated for alpha = .01 whatever alpha was trained for.",
        "Where the paper's runs do not converge (batch size 100, alpha .05 and .1), some of ours "
        "do and some do not, as their deviations say; a mean of such runs means little.",
        "The published accuracy of 20.23 at a size weight of .005 looks like a misprint of 90.23.",
    ),
)

_WINE: Mapping[float, Published] = {
    0.01: {
        "baseline": {"THRL": 1.76, "THR": 1.76, "APS": 1.79},
        "baseline-tuned": {"THR": None},
        "bel": {"THR": 1.77},
        "covertr": {"THR": 1.81},
        "conftr": {"THR": 1.75, "APS": 1.82},
        "conftr-class": {"THR": 1.74, "APS": 1.77},
    },
    0.05: {
        "baseline": {"THRL": 1.48, "THR": 1.49, "APS": 1.53},
        "baseline-tuned": {"THR": None},
        "bel": {"THR": 1.57},
        "covertr": {"THR": 1.50},
        "conftr": {"THR": 1.51},
        "conftr-class": {"THR": 1.52},
    },
}
_GERMAN: Published = {
    "baseline": {"THRL": 1.89, "THR": 1.86, "APS": 1.90},
    "baseline-tuned": {"THR": None},
    "bel": {"THR": 1.85},
    "conftr": {"THR": 1.88},
    "conftr-class": {"THR": 1.77},
}
_CAMELYON: Published = {
    "baseline": {"THRL": 1.41, "THR": 1.47, "APS": 1.59},
    "baseline-tuned": {"THR": None},
    "bel": {"THR": 1.25},
    "conftr": {"THR": 1.2},
    "conftr-class": {"THR": 1.25},
}


def _at(alpha: float, dataset: str, published: Published) -> list[Line]:
    return [
        Line((*line.labels, f"{alpha:g}"), line.run, line.cells)
        for line in _sizes(dataset, published, alpha=alpha)
    ]


def _german_in_the_grid() -> Line:
    """With the nearest batch size of the paper's grid, where the printed one leaves it."""
    asked = run(
        "german-credit", "conftr-class", name="conftr-class-batch-300", row={"batch_size": 300}
    )
    labels = NAMES["german-credit"], f"{METHODS['conftr-class']}, batch 300", "THR", "0.01"
    return Line(labels, asked, (Cell(1.77), Cell(None, COVERAGE)))


BINARY = Exhibit(
    "binary",
    "Binary datasets",
    "Table 8",
    ("data", "method", "score at test", "alpha"),
    ("set size", "coverage %"),
    (
        *(line for alpha, rows in _WINE.items() for line in _at(alpha, "winequality", rows)),
        *_at(0.01, "german-credit", _GERMAN),
        _german_in_the_grid(),
        *_at(0.05, "camelyon", _CAMELYON),
    ),
    (
        "WineQuality is cut 3500/500/898 without repeated rows (the sizes printed do not add up, "
        "and the authors' code repeats training rows in the test set).",
        "On Camelyon the paper prints the best of its models; ours are means over ten starts, on "
        "a table of 270 + 130 examples where the paper's has 280 + 117.",
        "On GermanCredit the batch size printed for + L_class, 400 of 700 examples, is not among "
        "those of the paper's grid and leaves one step an epoch, since what does not fill a batch "
        "is left out here. With 300, the nearest of the grid, over a quarter of the difference "
        "goes. The paper chose its settings on the 300 examples that it reports on; held-out "
        "training data chose ours where they were searched (tuned, Bel, CoverTr).",
        "WineQuality at .05 is the model trained for .01, calibrated for .05.",
    ),
)
