"""Logistic regression by blocks finds what scikit-learn finds on the whole."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from conftr.machine import rows_on_disk
from conftr.members.logistic_by_blocks import regressed


def problem(classes, n=600, width=5):
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, n)
    x = (rng.normal(size=(n, width)) + np.eye(classes, width)[y]).astype(np.float32)
    return x, 2 * y  # whose names are not their places


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("dtype", "near"), [(np.float64, 1e-6), (np.float32, 1e-4)])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_it_is_scikit_learns(classes, dtype, near, weighted, monkeypatch):
    monkeypatch.setattr(rows_on_disk, "IN_MEMORY", 0)
    x, y = problem(classes)
    x = x.astype(dtype)
    heights = np.random.default_rng(1).uniform(0.5, 3, len(y)) if weighted else None
    rows = rows_on_disk.collected([x], len(x), x.shape[1:], x.dtype)
    weights, bias, known = regressed(rows, y, heights, 3.0, 1e-7)
    theirs = LogisticRegression(C=1 / 3, tol=1e-7, max_iter=1000)
    theirs.fit(x.astype(np.float64), y, heights)
    np.testing.assert_array_equal(known, theirs.classes_)
    logits = x @ weights + bias
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(probabilities, theirs.predict_proba(x), atol=near)
