"""What new rows are compared with: test rows of classes that were not learned are among them."""

import math
from dataclasses import replace

import numpy as np
import pytest

from conftr import ConformalClassifier
from conftr.classifier.testing import evidence_of
from conftr.members.elsewhere import Probabilities
from conftr.monitoring.findings import findings, words
from conftr.monitoring.monitor_page import page
from conftr.monitoring.observed import Observed
from conftr.monitoring.reference import Reference, confidence
from conftr.monitoring.streams import streams

NAMES = np.array(["cat", "dog", "eel"])
YAK = "yak"


def rows(rng, n, unknown=0.15):
    """Probabilities of another system, sure of the classes it knows and of no other, and names."""
    places = rng.integers(0, 3, n)
    strange = rng.random(n) < unknown
    logits = rng.normal(size=(n, 3)) + np.where(strange, 0, 4)[:, None] * np.eye(3)[places]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return p, np.where(strange, YAK, NAMES[places])


def fitted(rng, groups=None):
    p, names = rows(rng, 200, unknown=0)
    of_rows = groups if groups is None or isinstance(groups, str) else groups[np.arange(200) % 2]
    return ConformalClassifier(members=Probabilities(NAMES)).fit(p, names, of_rows)


def seen(clf, p, level=0.2, seed=0):
    """A monitor that saw rows without labels."""
    begun = Observed.begin("", level, seed, None)
    columns = {"size": clf.predict_set(p).sum(axis=1), "confidence": confidence(p)}
    counted = begun.counted.with_file(np.arange(len(p), dtype=np.uint64), columns)
    return begun.grown(counted, begun.labelled, strangers=0, unseen=0)


def kinds(reference, observed):
    return {stream.kind for stream in streams(reference, observed)}


@pytest.mark.parametrize(
    "groups", [None, "class", np.array(["n", "s"])], ids=["all", "class", "by"]
)
def test_sizes_and_confidence_are_those_of_all_test_rows(rng, groups):
    clf = fitted(rng, groups)
    p, names = rows(rng, 100)
    of_rows = None if groups is None or isinstance(groups, str) else groups[np.arange(100) % 2]
    tests = Reference.of(clf, evidence_of(clf, p, names, groups=of_rows)).tests
    assert 5 < np.count_nonzero(names == YAK) < 30
    sets = clf.predict_set(p, of_rows)
    np.testing.assert_array_equal(np.sort(tests.sizes), np.sort(sets.sum(axis=1)))
    np.testing.assert_allclose(np.sort(tests.confidence), np.sort(clf.predict_proba(p).max(axis=1)))
    assert len(tests.labels) == len(tests.standing) == np.count_nonzero(names != YAK)
    assert tests.left_out == 0


def test_false_alarms_are_rarer_than_the_level_where_some_classes_were_not_learned(rng):
    alarms, trials, level = 0, 40, 0.2
    for seed in range(trials):
        clf = fitted(rng)
        reference = Reference.of(clf, evidence_of(clf, *rows(rng, 150, unknown=0.3)))
        new = rows(rng, 250, unknown=0.3)[0]
        alarms += findings(reference, seen(clf, new, level, seed)).alarm
    assert alarms / trials <= level + 3 * math.sqrt(level * (1 - level) / trials)


def test_sizes_and_confidence_are_not_tested_where_the_model_was_saved_without_some_rows(rng):
    clf = fitted(rng)
    shown = evidence_of(clf, *rows(rng, 150))
    reference = Reference.of(clf, replace(shown, unseen_rows=None))
    observed = seen(clf, rows(rng, 30)[0])
    assert kinds(Reference.of(clf, shown), observed) - kinds(reference, observed) == {
        "sizes",
        "confidence",
    }
    assert sum(stream.share for stream in streams(reference, observed)) == pytest.approx(1)
    result = findings(reference, observed)
    note = dict(words(result))["Note"]
    assert note.startswith("sizes and confidence are not tested")
    assert f"its {shown.unseen} test rows of classes that were not learned" in note
    assert "sizes and confidence are not tested" in page(result, streams(reference, observed), "m")


def test_where_all_classes_were_learned_nothing_is_left_out(rng):
    clf = fitted(rng)
    reference = Reference.of(clf, evidence_of(clf, *rows(rng, 150, unknown=0)))
    observed = seen(clf, rows(rng, 30)[0])
    assert kinds(reference, observed) >= {"sizes", "confidence"}
    assert "Note" not in dict(words(findings(reference, observed)))
