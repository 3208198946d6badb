"""Streams: their shares of the level, what they notice, and how seldom they are wrong."""

import math
from dataclasses import replace

import made_up
import numpy as np
import pytest

from conftr.classifier.calibration import ALL, CLASS
from conftr.conformal.quantile import rank
from conftr.monitoring.findings import findings, words
from conftr.monitoring.monitor_page import page
from conftr.monitoring.observed import Observed
from conftr.monitoring.reference import Reference
from conftr.monitoring.streams import missed, streams


def of(reference, observed):
    return {(stream.kind, stream.name): stream for stream in streams(reference, observed)}


@pytest.mark.parametrize("by", [ALL, CLASS], ids=lambda by: by.kind)
def test_shares_of_the_level_sum_to_one(rng, by):
    reference = made_up.model(rng, by=by)
    result = of(reference, made_up.seen(reference, *made_up.rows(rng, 50)))
    assert sum(stream.share for stream in result.values()) == pytest.approx(1)
    assert result["promise", "all rows"].share == 0.5
    kind = "class" if by == ALL else "group"
    assert {name for stream_kind, name in result if stream_kind == kind} == set(made_up.NAMES)


def test_without_test_rows_there_are_streams_of_labelled_rows_alone(rng):
    reference = made_up.model(rng)
    bare = Reference(reference.classes, reference.alpha, reference.calibration, None)
    result = of(bare, made_up.seen(bare, *made_up.rows(rng, 50)))
    assert {kind for kind, _ in result} == {"promise", "scores"}
    assert result["scores", "all rows"].share == 0.5


def test_misses_of_distinct_scores_are_those_of_the_sets(rng):
    scores, labels = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    reference = made_up.model(rng, n=250)
    observed = made_up.seen(reference, scores, labels)
    standing = observed.labelled.columns["standing"]
    # Scores of calibration rows tie, as they have two digits; those of new rows tie with none.
    np.testing.assert_array_equal(missed(reference, observed), standing <= reference.alpha)


def test_of_ties_with_the_threshold_a_part_is_missed(rng):
    reference = made_up.model(rng)
    true_scores = reference.calibration.scores[0]
    true_scores[:] = 0  # all tie: then the rank alone tells the share
    scores, labels = np.zeros((4000, 3)), np.zeros(4000, int)
    shares = [
        missed(reference, made_up.seen(reference, scores, labels, seed=seed)).mean()
        for seed in range(20)
    ]
    expected = rank(300, 0.1) / 301
    assert np.mean(shares) == pytest.approx(expected, abs=5 * math.sqrt(0.1 * 0.9 / 300 / 20))


@pytest.mark.parametrize("by", [ALL, CLASS], ids=lambda by: by.kind)
def test_false_alarms_are_rarer_than_the_level(rng, by):
    alarms, trials, level = 0, 60, 0.2
    for seed in range(trials):
        reference = made_up.model(rng, by=by, n=150, m=100)
        observed = made_up.seen(reference, *made_up.rows(rng, 200), seed=seed, level=level)
        alarms += findings(reference, observed).alarm
    assert alarms / trials <= level + 3 * math.sqrt(level * (1 - level) / trials)


def in_any_order(rng, observed, days):
    """The same rows, as if the label of each had come on a day of its own."""
    day, labelled = rng.integers(0, days, len(observed.labelled)), observed.labelled
    grown = Observed.begin("made up", observed.level, observed.seed, None).labelled
    for today in range(days):
        known = np.flatnonzero(day <= today)
        columns = {name: column[known] for name, column in labelled.columns.items()}
        grown = grown.with_rows(known, columns)
    return replace(observed, labelled=grown)


def test_false_alarms_are_rarer_than_the_level_where_labels_come_in_any_order(rng):
    alarms, trials, level = 0, 60, 0.2
    for seed in range(trials):
        reference = made_up.model(rng, n=150, m=100)
        observed = made_up.seen(reference, *made_up.rows(rng, 100), seed=seed, level=level)
        later = in_any_order(rng, observed, days=20)
        assert len(later.labelled) == 100
        alarms += findings(reference, later).alarm
    assert alarms / trials <= level + 3 * math.sqrt(level * (1 - level) / trials)


def test_worse_rows_are_noticed_by_the_promise_and_by_the_scores(rng):
    reference = made_up.model(rng)
    parts = [made_up.rows(rng, 300), made_up.rows(rng, 400, shift=1.5)]
    scores, labels = (np.concatenate(both) for both in zip(*parts, strict=True))
    result = of(reference, made_up.seen(reference, scores, labels))
    for kind in ("promise", "scores"):
        alarm = result[kind, "all rows"].alarm(0.05)
        assert alarm is not None
        assert alarm > 300


def test_a_single_class_that_is_worse_is_named(rng):
    reference = made_up.model(rng, n=600, m=600)
    observed = made_up.seen(reference, *made_up.rows(rng, 900, shift=1.2, only=1))
    result = of(reference, observed)
    assert result["class", "dog"].alarm(0.05) is not None
    assert result["class", "cat"].alarm(0.05) is None


def test_rows_without_labels_are_noticed_by_their_sizes_or_confidence(rng):
    reference = made_up.model(rng)
    observed = made_up.seen(reference, *made_up.rows(rng, 500, shift=2.0))
    result = of(reference, observed)
    alarms = [result[kind, "all rows"].alarm(0.05) for kind in ("sizes", "confidence")]
    assert any(alarm is not None for alarm in alarms)


def test_a_day_later_the_paths_begin_as_they_did(rng):
    reference = made_up.model(rng)
    scores, labels = made_up.rows(rng, 300)
    first = of(reference, made_up.seen(reference, scores[:100], labels[:100]))
    later = of(reference, made_up.seen(reference, scores, labels))
    for name in (("promise", "all rows"), ("scores", "all rows"), ("sizes", "all rows")):
        np.testing.assert_allclose(later[name].path[:100], first[name].path)


def test_words_and_page(rng):
    reference = made_up.model(rng)
    fine = made_up.seen(reference, *made_up.rows(rng, 40))
    messages = dict(words(findings(reference, fine)))
    assert messages["Rows"].startswith("40 so far, 40 of them with their class")
    assert "the alarm is given at 20." in messages["Verdict"]
    bad = made_up.seen(reference, *made_up.rows(rng, 500, shift=3))
    every_stream = streams(reference, bad)
    result = findings(reference, bad, every_stream)
    assert "more often than promised" in str(list(words(result)))
    text = page(result, every_stream, "<model>")
    assert "&lt;model&gt;" in text
    assert text.count("<path") == len(every_stream)
    assert "Alarm: new rows are not" in text


def test_before_the_first_row_there_is_a_page_too(rng):
    reference = made_up.model(rng)
    nothing = made_up.seen(reference, np.zeros((0, 3)), np.zeros(0, int))
    every_stream = streams(reference, nothing)
    result = findings(reference, nothing, every_stream)
    assert not result.alarm
    assert "<svg" not in page(result, every_stream, "model")
