"""Coverage of weighted and of cross-conformal sets beside what they promise, in simulation.

    python benchmarks/promises.py [--trials 300]

Weighted: rows are easy or hard, and hard ones are more frequent among new rows than among those
that calibrate, by a known factor. Cross-conformal: `ConformalClassifier(cross_conformal=)` with
logistic regression on few rows of three classes; beside it the same rows divided into training and
calibration.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

import conftr

ALPHA, K = 0.1, 3


def shifted(rng, n, hard):
    is_hard, y = rng.random(n) < hard, rng.integers(0, K, n)
    logits = rng.normal(size=(n, K)) + np.where(is_hard, 1, 4)[:, None] * np.eye(K)[y]
    return conftr.thr(logits), y, is_hard


def weighted(rng, n, before, now, new=20):
    """Coverage and mean size of weighted and of plain sets of some new rows."""
    E, y, hard = shifted(rng, n, before)
    E_new, y_new, new_hard = shifted(rng, new, now)
    weights = [
        np.where(group, now / before, (1 - now) / (1 - before)) for group in (hard, new_hard)
    ]
    tau = conftr.weighted_calibrate(E, y, ALPHA, weights=weights[0], test_weights=weights[1])
    taus = (tau[:, None], conftr.calibrate(E, y, ALPHA))
    sets = [conftr.predict_set(E_new, each) for each in taus]
    return [(conftr.coverage(each, y_new), conftr.inefficiency(each)) for each in sets]


def labelled(rng, n):
    y = rng.integers(0, K, n)
    return rng.normal(size=(n, 8)) + 1.2 * np.eye(K, 8)[y], y


def scored(model, X):
    p = np.zeros((len(X), K))
    p[:, model.classes_] = model.predict_proba(X)  # a half of few rows may lack a class
    return conftr.thr(conftr.logits_from_probs(p))


def cross(rng, n, folds, new=20):
    """Coverage and mean size of cross-conformal sets, and of those of divided rows."""
    (X, y), (X_new, y_new) = labelled(rng, n), labelled(rng, new)
    clf = conftr.ConformalClassifier(
        ALPHA, members=LogisticRegression(), cross_conformal=folds, random_state=0
    )
    sets = clf.fit(X, y).predict_set(X_new)
    if len(clf.classes_) < K:  # a class that no row has is in no set
        sets = np.insert(sets, np.setdiff1d(np.arange(K), clf.classes_), False, axis=1)
    model = LogisticRegression().fit(X[: n // 2], y[: n // 2])
    tau = conftr.calibrate(scored(model, X[n // 2 :]), y[n // 2 :], ALPHA)
    halves = conftr.predict_set(scored(model, X_new), tau)
    return [(conftr.coverage(each, y_new), conftr.inefficiency(each)) for each in (sets, halves)]


def line(name, promise, shares):
    covered, sizes = np.array(shares).T
    error = covered.std() / np.sqrt(len(covered))
    print(
        f"| {name} | {promise:.3f} | {covered.mean():.4f} ± {error:.4f} | {sizes.mean():.2f} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=300)
    trials = parser.parse_args().trials
    warnings.simplefilter("ignore", conftr.CalibrationWarning)
    print(f"alpha {ALPHA}, {trials} trials each; ± is one standard error")
    print("| sets | sure to cover | cover | mean size |\n|---|---|---|---|")
    for n, before, now in ((50, 0.2, 0.4), (200, 0.2, 0.6), (1000, 0.05, 0.5)):
        rng = np.random.default_rng([0, n])
        results = [weighted(rng, n, before, now) for _ in range(trials)]
        setting = f"{n} rows, {before:.0%} to {now:.0%} hard"
        line(f"weighted, {setting}", 1 - ALPHA, [pair for pair, _ in results])
        line(f"not weighted, {setting}", 1 - ALPHA, [pair for _, pair in results])
    for n, folds in ((30, 5), (60, 10), (200, 10)):
        rng = np.random.default_rng([1, n])
        results = [cross(rng, n, folds) for _ in range(trials)]
        promise = conftr.cross_promise(n, folds, ALPHA)
        line(f"cross-conformal, {n} rows in {folds} folds", promise, [pair for pair, _ in results])
        line(f"half trains, half calibrates, {n} rows", 1 - ALPHA, [pair for _, pair in results])


if __name__ == "__main__":
    main()
