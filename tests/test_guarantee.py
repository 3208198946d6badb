"""The guarantee itself: coverage given the calibration set follows Beta(n + 1 - r, r).

The pool is large, so the coverage of a threshold is known almost exactly: it is one minus the
distribution function of the true scores. Over many random calibration sets it must follow the
Beta law (Kolmogorov-Smirnov, fixed seeds).
"""

import numpy as np
import pytest
from scipy import stats

import conftr
from conftr.conformal.quantile import rank

N_POOL, TRIALS = 400_000, 2000


def pool(seed, k=4):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, N_POOL)
    return rng.normal(size=(N_POOL, k)) + 1.5 * np.eye(k)[labels], labels, rng


def follows_beta(coverages, n, alpha):
    r = rank(n, alpha)
    return bool(stats.kstest(coverages, stats.beta(n + 1 - r, r).cdf).pvalue > 0.01)


@pytest.mark.parametrize(("n", "alpha"), [(99, 0.1), (250, 0.01), (40, 0.3)])
@pytest.mark.parametrize("score", [conftr.thr, conftr.aps], ids=["thr", "aps"])
def test_marginal_coverage_follows_the_beta_law(score, n, alpha):
    logits, labels, rng = pool(seed=n)
    args = [rng.random(N_POOL)] if score is conftr.aps else []
    scores = score(logits, *args)
    true_scores = np.sort(scores[np.arange(N_POOL), labels])
    coverages = []
    for _ in range(TRIALS):
        rows = rng.choice(N_POOL, n, replace=False)
        tau = conftr.calibrate(scores[rows], labels[rows], alpha)
        coverages.append(1 - np.searchsorted(true_scores, tau) / N_POOL)
    assert follows_beta(coverages, n, alpha)
    assert np.mean(coverages) >= 1 - alpha - 3 * np.std(coverages) / np.sqrt(TRIALS)


def test_the_law_would_catch_a_threshold_one_rank_off():
    logits, labels, rng = pool(seed=1)
    true_scores = conftr.thr(logits)[np.arange(N_POOL), labels]
    ordered, n, alpha = np.sort(true_scores), 99, 0.1
    for shift, holds in [(0, True), (1, False), (-1, False)]:
        taus = [
            np.sort(rng.choice(true_scores, n, replace=False))[10 - 1 + shift]
            for _ in range(TRIALS)
        ]
        assert follows_beta(1 - np.searchsorted(ordered, taus) / N_POOL, n, alpha) == holds


@pytest.mark.filterwarnings("ignore::conftr.CalibrationWarning")
def test_class_conditional_coverage_follows_the_beta_law():
    logits, labels, rng = pool(seed=2)
    scores = conftr.thr(logits)
    per_class, alpha = 60, 0.1
    rows_of = [np.flatnonzero(labels == y) for y in range(4)]
    ordered = [np.sort(scores[rows, y]) for y, rows in enumerate(rows_of)]
    coverages = [[] for _ in range(4)]
    for _ in range(TRIALS // 2):
        rows = np.concatenate([rng.choice(r, per_class, replace=False) for r in rows_of])
        tau = conftr.calibrate(scores[rows], labels[rows], alpha, groups="class")
        for y in range(4):
            coverages[y].append(1 - np.searchsorted(ordered[y], tau[y]) / len(ordered[y]))
    for y in range(4):
        assert follows_beta(coverages[y], per_class, alpha)
