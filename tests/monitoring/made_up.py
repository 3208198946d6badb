"""Rows of a model as the monitor sees them, without a model."""

import numpy as np

from conftr.classifier.calibration import ALL, CLASS, calibrated
from conftr.monitoring.observed import Observed
from conftr.monitoring.reference import Reference, TestRows

K = 3
NAMES = ("cat", "dog", "eel")


def rows(rng, n, shift=0.0, only=None):
    """Scores (n, K) and classes; a shift lowers the score of the true class, or of one class."""
    labels = rng.integers(0, K, n)
    scores = rng.normal(size=(n, K)).round(2)
    worse = np.ones(n, bool) if only is None else labels == only
    scores[np.arange(n), labels] += 2 - shift * worse
    return scores, labels


def model(rng, alpha=0.1, by=ALL, n=300, m=200):
    """What calibration and test rows leave behind."""
    scores, labels = rows(rng, n)
    calibration = calibrated(scores, labels, classes=NAMES, by=by)
    tested, truth = rows(rng, m)
    numbers = statistics(calibration, tested, truth, alpha)
    tests = TestRows(numbers["size"], numbers["confidence"], truth, numbers["standing"])
    return Reference(NAMES, alpha, calibration, tests)


def statistics(calibration, scores, labels, alpha):
    truths = np.arange(len(labels)), labels
    groups = calibration.places(None, len(labels))
    return {
        "size": calibration.sets(scores, groups, alpha).sum(axis=1),
        "confidence": scores.max(axis=1),
        "score": scores[truths],
        "standing": calibration.p_values(scores, groups)[truths],
        "label": labels,
        "group": labels if calibration.by == CLASS else np.zeros(len(labels), np.int64),
    }


def seen(reference, scores, labels, *, seed=0, level=0.05):
    begun = Observed.begin("made up", level, seed, None)
    columns = statistics(reference.calibration, scores, labels, reference.alpha)
    digests = np.random.default_rng(seed).integers(0, 2**60, len(labels)).astype(np.uint64)
    return begun.grown(
        begun.counted.with_file(digests, columns),
        begun.labelled.with_rows(np.arange(len(labels)), columns),
        strangers=0,
        unseen=0,
    )
