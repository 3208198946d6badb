"""Numbers of the page: by hand, against the metrics, and against the exact law."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import showcase
from scipy.stats import betabinom

import conftr
from conftr.classifier.evidence import Evidence, ShownCandidate
from conftr.conformal.quantile import rank
from conftr.report import numbers
from conftr.report.slider import out_of_many, promise, stops

DIGITS = showcase.digits()
KINDS = {None: DIGITS, "class": showcase.digits("class"), "group": showcase.digits("group")}


@pytest.mark.parametrize("alpha", [0.1, 0.02, 1 - 0.9, 1 / 3, 0.0005, 0.7, 0.0123, 1e-5, 5e-324])
def test_stops_lead_from_weak_to_strong_and_hold_alpha(alpha):
    result = stops(alpha)
    assert result == sorted(set(result), reverse=True)
    assert alpha in result
    assert {0.5, 0.2, 0.05, 0.01, 0.001} <= set(result)
    assert result[0] == max(0.5, alpha)
    assert result[-1] <= min(0.001, alpha)
    assert all(a > b * (1 + 1e-9) for a, b in pairwise(result))


def test_promises_in_words():
    assert promise(0.1) == "90\N{NO-BREAK SPACE}%"
    assert promise(0.0005) == "99.95\N{NO-BREAK SPACE}%"
    assert promise(1 / 3) == "66.6667\N{NO-BREAK SPACE}%"
    assert out_of_many(0.1) == (1_000, 100)
    assert out_of_many(0.0005) == (10_000, 5)
    assert out_of_many(1 / 3) == (1_000, 333)


def test_rounding_is_of_whole_numbers_halves_upwards():
    assert numbers.share(1, 16) == "6.3\N{NO-BREAK SPACE}%"
    assert numbers.share(9_995, 10_000) == "100.0\N{NO-BREAK SPACE}%"
    assert numbers.share(0, 0) == "–"
    assert numbers.mean(1, 8) == "0.13"
    assert numbers.mean(1_005, 1_000) == "1.01"
    assert numbers.mean(0, 0) == "–"


@pytest.mark.parametrize("tail", [0.01, 0.0001])
@pytest.mark.parametrize(
    ("n_cal", "tests", "alpha"), [(500, 997, 0.1), (19, 40, 0.05), (58, 1, 0.3)]
)
def test_chance_holds_all_but_the_tail_and_no_less(n_cal, tests, alpha, tail):
    low, high = numbers.chance(n_cal, tests, alpha, tail)
    r = rank(n_cal, alpha)
    law = betabinom(tests, n_cal + 1 - r, r)
    assert law.cdf(low - 1) <= tail / 2 < law.cdf(low)
    assert law.cdf(high - 1) < 1 - tail / 2
    assert law.cdf(high) >= 1 - tail / 2 - 1e-12


def test_chance_without_a_threshold_leaves_no_choice():
    assert numbers.chance(5, 30, 0.1, 0.01) == (30, 30)
    assert numbers.chance(0, 30, 0.1, 0.01) == (30, 30)


@pytest.mark.parametrize("by", KINDS)
@pytest.mark.parametrize("alpha", [0.3, 0.02, 0.001])
def test_tallies_are_the_metrics(by, alpha):
    evidence = KINDS[by]
    sets, labels = evidence.sets(alpha=alpha), evidence.labels
    groups = numbers.tallies(evidence, alpha)
    assert sum(tally.tests for tally in groups) == len(labels)
    assert sum(tally.covered for tally in groups) / len(labels) == conftr.coverage(sets, labels)
    assert sum(tally.total for tally in groups) / len(labels) == conftr.inefficiency(sets)
    classes = numbers.class_tallies(evidence, alpha)
    shares = [tally.covered / tally.tests for tally in classes]
    np.testing.assert_array_equal(shares, conftr.class_coverage(sets, labels))
    if by == "class":
        assert [tally[:1] + tally[2:5] for tally in groups] == [tally[:4] for tally in classes]


def answers(covered, tests=200, calibration=99):
    """Evidence whose sets, at alpha = .1 and so rank 10, hold `covered` of the true classes."""
    places = np.where(np.arange(tests) < covered, 10, 9)
    standing = np.stack([places, np.zeros(tests, int)], axis=1)
    candidate = ShownCandidate("by hand", "", standing, np.full((tests, 2), 0.5))
    zeros = np.zeros(tests, int)
    return Evidence(("a", "b"), 0.1, "thr", zeros, (candidate,), zeros, ("all",), (calibration,))


@pytest.mark.parametrize(
    ("covered", "calibration", "expected"),
    [(180, 99, "agrees"), (140, 99, "below"), (200, 99, "above"), (0, 8, "everything")],
)
def test_verdicts(covered, calibration, expected):
    groups = numbers.tallies(answers(covered, calibration=calibration), 0.1)
    assert numbers.verdict(groups) == expected


def test_the_worst_group_gives_the_verdict():
    tally = numbers.tallies(answers(180), 0.1)[0]
    assert (
        numbers.verdict([tally, tally._replace(covered=100), tally._replace(covered=200)])
        == "below"
    )
    assert numbers.verdict([tally, tally._replace(covered=200)]) == "above"
    assert numbers.verdict([tally, tally._replace(everything=True)]) == "everything"


def test_headline_by_hand():
    result = numbers.headline(answers(181), 0.1)
    assert result["covered"] == "181"
    assert result["coverage"] == "90.5\N{NO-BREAK SPACE}%"
    assert result["size"] == "0.91"
    assert (result["many"], result["hits"], result["misses"]) == ("1,000", "900", "100")
    assert result["needed"] == "9"


@pytest.mark.parametrize("by", [None, "group"])
def test_classes_far_below_are_beyond_chance_and_twice_the_promise(by):
    evidence = showcase.rare(by)
    for alpha in (0.3, 0.1, 0.05, 0.01, 0.001):
        sets = evidence.sets(alpha=alpha)
        covered = conftr.class_coverage(sets, evidence.labels)
        tests = np.bincount(evidence.labels)
        r = rank(600, alpha)
        unlikely = [
            betabinom(t, 601 - r, r).cdf(round(c * t)) < numbers.TAIL / 6 if r else False
            for c, t in zip(covered, tests, strict=True)
        ]
        far = [
            evidence.classes[k]
            for k in np.argsort(covered)
            if unlikely[k] and 1 - covered[k] > 2 * alpha
        ]
        assert [tally.name for tally in numbers.far_below(evidence, alpha)] == far
    assert numbers.far_below(evidence, 0.1)
    by_class = replace(evidence, groups=None, group_names=evidence.classes)
    assert numbers.far_below(replace(by_class, calibration_sizes=(200,) * 3), 0.1) == []


def test_unseen_classes_count_as_missed_and_not_in_the_verdict():
    evidence = answers(180)
    with_others = replace(evidence, unseen=20)
    assert numbers.headline(with_others, 0.1)["coverage"] == "81.8\N{NO-BREAK SPACE}%"
    assert numbers.headline(with_others, 0.1)["known"] == "90.0\N{NO-BREAK SPACE}%"
    assert numbers.verdict(numbers.tallies(with_others, 0.1)) == "agrees"


@pytest.mark.parametrize("digits", [1, 2])
def test_ratios_are_rounded_like_counts(digits):
    for count in (8, 16, 40, 997):
        for total in range(count):
            exact = numbers.share(total, count)[:-2] if digits == 1 else numbers.mean(total, count)
            assert numbers.rounded(total / count * (100 if digits == 1 else 1), digits) == exact


@pytest.mark.parametrize("n_classes", [2, 3, 10, 12, 13, 19, 20, 21, 100, 1000, 10_000])
def test_bins_hold_every_size_once(n_classes):
    result = numbers.bins(n_classes)
    sizes = [size for low, high in result for size in range(low, high + 1)]
    assert sizes == list(range(n_classes + 1))
    assert result[0] == (0, 0)
    assert result[-1] == (n_classes, n_classes)
    assert len(result) < 20


def test_curve_and_band_are_what_each_stop_gives():
    small = replace(DIGITS, alpha=0.3)
    result, band = numbers.curve(small, 1), numbers.band(small)
    for i, alpha in list(enumerate(stops(0.3)))[::20]:
        sets = small.sets(1, alpha)
        assert result.size[i] == conftr.inefficiency(sets)
        assert result.coverage[i] == conftr.coverage(sets, small.labels)
        (group,) = numbers.tallies(small, alpha)
        assert band[i] == (group.low / group.tests, group.high / group.tests)
