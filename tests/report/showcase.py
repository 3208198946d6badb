"""Evidence from small real classifiers, made without training through calibration."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.linear_model import LogisticRegression

import conftr
from conftr.classifier.evidence import Evidence, PricePoint, ShownCandidate, standing

PRICE = (
    PricePoint(0.0, 0.25, 1.4, False),
    PricePoint(3.0, 0.1, 1.45, True),
    PricePoint(30.0, 0.0, 1.9, False),
)


def split(n: int, sizes: tuple[int, int, int]) -> list[np.ndarray]:
    """Rows for training, calibration and test, shuffled with one seed."""
    order = np.random.default_rng(0).permutation(n)
    return np.split(order[: sum(sizes)], np.cumsum(sizes)[:-1])


def candidate(
    name: str, model: Any, X: Any, y: Any, cal: Any, test: Any, by: Any
) -> ShownCandidate:
    """`by`: None for one threshold, "class", or a group of each row."""
    E_cal = conftr.thr(model.predict_log_proba(X[cal]))[np.arange(len(cal)), y[cal]]
    E_test = conftr.thr(model.predict_log_proba(X[test]))
    if by is None:
        places = standing(E_test, E_cal)
    elif isinstance(by, str):
        columns = [standing(E_test[:, k], E_cal[y[cal] == k]) for k in range(E_test.shape[1])]
        places = np.stack(columns, axis=1)
    else:
        places = np.zeros(E_test.shape, np.uint32)
        for g in np.unique(by):
            places[by[test] == g] = standing(E_test[by[test] == g], E_cal[by[cal] == g])
    words = f"{name} on {len(model.classes_)} classes."
    return ShownCandidate(name, words, places, model.predict_proba(X[test]))


@cache
def digits(by: str | None = None) -> Evidence:
    """Digits with pictures; `by`: None, "class", or "group" for halves of the table's rows."""
    X, y = load_digits(return_X_y=True)
    X = X / 16
    train, cal, test = split(len(X), (300, 500, 997))
    rows = np.arange(len(X)) % 3 if by == "group" else by
    good = LogisticRegression(C=0.3, max_iter=500).fit(X[train], y[train])
    poor = LogisticRegression(C=0.02, max_iter=500).fit(X[train], y[train])
    parts = [
        candidate("conformal training", good, X, y, cal, test, rows),
        candidate("cross-entropy", poor, X, y, cal, test, rows),
    ]
    groups: dict[str, Any] = {
        "groups": np.zeros(len(test), int),
        "group_names": ("all",),
        "calibration_sizes": (len(cal),),
    }
    if by == "class":
        groups = {
            "groups": None,
            "group_names": tuple(map(str, range(10))),
            "calibration_sizes": tuple(np.bincount(y[cal], minlength=10).tolist()),
        }
    elif by == "group":
        groups = {
            "groups": rows[test],
            "group_names": ("north", "south", "west"),
            "calibration_sizes": tuple(np.bincount(rows[cal]).tolist()),
            "group_by": "site",
        }
    return Evidence(
        classes=tuple(map(str, range(10))),
        alpha=0.02,
        score="thr",
        labels=y[test],
        candidates=tuple(parts),
        **groups,
        pictures=(X[test].reshape(-1, 8, 8) * 255).astype(np.uint8),
        provenance={
            "file": "digits.npz",
            "seed": 0,
            "versions": {"conftr": "0.1.0", "numpy": np.__version__},
            "parts": {"training": 300, "calibration": 500, "test": 997},
        },
    )


@cache
def wished() -> Evidence:
    """Digits whose 4 and 9 are to be kept apart, and 8 to be small."""
    unwanted = np.zeros((10, 10), bool)
    unwanted[4, 9] = unwanted[9, 4] = True
    shrink = np.ones(10)
    shrink[8] = 10
    return replace(
        digits(),
        wishes=("avoid '4' and '9'", "smaller sets for '8'"),
        unwanted=unwanted,
        price=PRICE,
        shrink=shrink,
    )


@cache
def wine() -> Evidence:
    """A small table of three classes, one candidate, cells and no pictures."""
    bunch = load_wine()
    X, y = bunch.data / bunch.data.max(axis=0), bunch.target
    train, cal, test = split(len(X), (60, 58, 60))
    model = LogisticRegression(C=0.5).fit(X[train], y[train])
    return Evidence(
        classes=("barolo", "grignolino", "barbera"),
        alpha=0.05,
        score="thr",
        labels=y[test],
        candidates=(candidate("cross-entropy", model, X, y, cal, test, None),),
        groups=np.zeros(len(test), int),
        group_names=("all",),
        calibration_sizes=(len(cal),),
        cells=[
            dict(zip(bunch.feature_names, [f"{v:g}" for v in row], strict=True))
            for row in bunch.data[test]
        ],
        provenance={"file": "wine.csv", "seed": 0},
    )


@cache
def many(n_classes: int, tests: int, calibration: int = 2000, alpha: float = 0.1) -> Evidence:
    """Many classes: logits of a model that finds the true class among a few."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, calibration + tests)
    logits = rng.normal(size=(calibration + tests, n_classes)) * 1.2
    logits[np.arange(len(labels)), labels] += rng.normal(4, 1.5, len(labels))
    scores = conftr.thr(logits)
    true_scores = scores[np.arange(calibration), labels[:calibration]]
    made = ShownCandidate(
        "cross-entropy",
        "",
        standing(scores[calibration:], true_scores),
        np.exp(scores[calibration:]),
    )
    return Evidence(
        classes=tuple(f"class {k}" for k in range(n_classes)),
        alpha=alpha,
        score="thr",
        labels=labels[calibration:],
        candidates=(made,),
        groups=np.zeros(tests, int),
        group_names=("all",),
        calibration_sizes=(calibration,),
        provenance={"file": "many.parquet"},
    )


@cache
def rare(by: str | None = None) -> Evidence:
    """Three classes of which two are rare and hard, and test examples of classes never met.

    by: None, or "group" for halves of the examples with a threshold each.
    """
    rng = np.random.default_rng(0)
    labels = rng.choice(3, 1200, p=[0.85, 0.1, 0.05])
    scores = conftr.thr(
        rng.normal(size=(1200, 3)) + np.array([2.5, 0, 0]) + 0.8 * np.eye(3)[labels]
    )
    true_scores, half = scores[np.arange(600), labels[:600]], np.arange(1200) % 2 * (by == "group")
    places = np.zeros((600, 3), np.uint32)
    for g in range(2):
        places[half[600:] == g] = standing(
            scores[600:][half[600:] == g], true_scores[half[:600] == g]
        )
    names = ("north", "south") if by else ("all",)
    return Evidence(
        classes=("healthy", "ill", "very ill"),
        alpha=0.1,
        score="thr",
        labels=labels[600:],
        candidates=(ShownCandidate("cross-entropy", "", places, np.exp(scores[600:])),),
        groups=half[600:],
        group_names=names,
        calibration_sizes=(300, 300) if by else (600,),
        group_by="site" if by else None,
        unseen=37,
        unseen_share=0.06,
        provenance={"file": "patients.csv", "target": "state"},
    )


NASTY = (
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror=\"window.hacked = 1\"> & 'quotes'",
    "\N{CJK UNIFIED IDEOGRAPH-5BFF}\N{CJK UNIFIED IDEOGRAPH-53F8} {{ 7 * 7 }} ${alert(1)} <!-- "
    + "very" * 40,
)


# Control characters, what is no character, and two names that differ in the middle alone.
UNPRINTABLE = (
    "\0y\x07\x0b\x1b[31mes\x85\ufffe\u202e\ud800\n",
    "a" * 50_000 + "b" + "c" * 50_000,
    "a" * 50_000 + "d" + "c" * 50_000,
)


def nasty(names: tuple[str, str, str] = NASTY) -> Evidence:
    """Wine whose classes, columns and everything else that a user names attack the page."""
    mild = wine()
    unwanted = np.zeros((3, 3), bool)
    unwanted[0, 1] = True
    return replace(
        mild,
        classes=names,
        groups=np.arange(len(mild.labels)) % 2,
        group_names=names[:2],
        calibration_sizes=(58, 58),
        group_by=names[0],
        wishes=names,
        unwanted=unwanted,
        price=PRICE,
        cells=[{names[i % 3]: names[(i + 1) % 3]} for i in range(len(mild.labels))],
        candidates=(
            replace(mild.candidates[0], name=names[1], words=names[0]),
            replace(mild.candidates[0], name=names[0], words=names[1]),
        ),
        provenance={"file": names[0], names[1]: {names[0]: [*names]}},
    )


def unprintable() -> Evidence:
    """Wine whose names can neither be printed nor read to the end."""
    return nasty(UNPRINTABLE)


def two() -> Evidence:
    """Two classes, and so few calibration examples that strong promises are out of reach."""
    mild = wine()
    rows = np.flatnonzero(mild.labels < 2)
    candidate = replace(
        mild.candidates[0],
        standing=mild.candidates[0].standing[rows, :2],
        probabilities=mild.candidates[0].probabilities[rows, :2],
    )
    return replace(
        mild,
        classes=("no", "yes"),
        alpha=0.25,
        labels=mild.labels[rows],
        candidates=(candidate,),
        groups=np.zeros(len(rows), int),
        cells=None,
        provenance={},
    )
