"""Metrics by hand, absent classes, and the exact law of coverage."""

import math
import re

import numpy as np
import pytest
from scipy import stats

import conftr

# Three classes; class 2 has no example. Sets {0}, {0,1}, {}, {0,1,2}, {0}.
SETS = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 1], [1, 0, 0]], dtype=bool)
LABELS = np.array([0, 0, 0, 1, 1])


def test_by_hand(library):
    # Covered: yes, yes, no, yes, no. Sizes 1, 2, 0, 3, 1.
    assert library.call(conftr.coverage, SETS, LABELS) == pytest.approx(0.6)
    assert library.call(conftr.inefficiency, SETS) == pytest.approx(1.4)
    np.testing.assert_allclose(
        library.call(conftr.class_coverage, SETS, LABELS), [2 / 3, 1 / 2, np.nan], rtol=1e-6
    )
    np.testing.assert_allclose(
        library.call(conftr.class_inefficiency, SETS, LABELS), [1, 2, np.nan], rtol=1e-6
    )
    np.testing.assert_allclose(
        library.call(conftr.coverage_confusion, SETS, LABELS),
        np.array([[2, 1, 0], [2, 1, 1], [0, 0, 0]]) / 5,
        rtol=1e-6,
    )
    np.testing.assert_array_equal(library.call(conftr.size_histogram, SETS), [1, 2, 1, 1])
    np.testing.assert_allclose(
        library.call(conftr.size_stratified_coverage, SETS, LABELS), [0, 0.5, 1, 1], rtol=1e-6
    )


def test_names_of_classes_are_refused_with_advice_that_serves():
    names, labels = ["cat", "dog", "eel"], np.array(["dog", "dog", "eel", "dog", "eel"])
    with pytest.raises(TypeError, match="labels must be integers; got type <U3") as refused:
        conftr.coverage(SETS, labels)
    advice = re.search(r"numpy\.array\(\[.*?\]\)", str(refused.value))[0]
    numbered = eval(advice, {"numpy": np, "names": names, "labels": labels})
    assert (
        conftr.coverage(SETS, numbered) == 0.4
    )  # the second and the fourth, though no row is a cat


def test_groups_by_hand(library):
    groups = [[0, 2], [1], [2], [0, 1, 2]]
    result = library.call(lambda s, y: conftr.group_inefficiency(s, y, groups), SETS, LABELS)
    np.testing.assert_allclose(result, [1, 2, np.nan, 1.4], rtol=1e-6)
    result = library.call(lambda s, y: conftr.group_coverage(s, y, groups), SETS, LABELS)
    np.testing.assert_allclose(result, [2 / 3, 1 / 2, np.nan, 0.6], rtol=1e-6)


def test_miscoverage_by_hand(library):
    # Of the three examples of class 0, one set holds class 1; of the two of class 1, both hold 0.
    into = library.call(lambda s, y: conftr.miscoverage(s, y, [0], [1, 2]), SETS, LABELS)
    assert into == pytest.approx(1 / 3)
    back = library.call(lambda s, y: conftr.miscoverage(s, y, [1], [0]), SETS, LABELS)
    assert back == pytest.approx(1)
    none = library.call(lambda s, y: conftr.miscoverage(s, y, [2], [0]), SETS, LABELS)
    assert math.isnan(none)


def test_accuracy_by_hand(library):
    logits = np.array([[2, 1], [0, 1], [3, 4]], dtype=np.float32)
    result = library.call(conftr.accuracy, logits, np.array([0, 0, 1]))
    assert result == pytest.approx(2 / 3)


def test_sums_agree_with_a_loop(rng):
    sets, labels = rng.random((500, 7)) < 0.4, rng.integers(0, 6, 500)  # class 6 is absent
    for y in range(6):
        mine = labels == y
        assert conftr.class_coverage(sets, labels)[y] == pytest.approx(sets[mine, y].mean())
        assert conftr.class_inefficiency(sets, labels)[y] == pytest.approx(sets[mine].sum(1).mean())
        np.testing.assert_allclose(
            conftr.coverage_confusion(sets, labels)[y], sets[mine].sum(axis=0) / 500
        )
    assert np.isnan(conftr.class_coverage(sets, labels)[6])
    assert conftr.size_histogram(sets).sum() == 500
    overall = conftr.coverage_confusion(sets, labels)
    assert np.trace(overall) == pytest.approx(conftr.coverage(sets, labels))
    assert overall.sum() == pytest.approx(conftr.inefficiency(sets))


@pytest.mark.parametrize(
    ("n_cal", "n_test", "alpha"), [(99, 50, 0.1), (500, 2000, 0.01), (9, 3, 0.1)]
)
def test_coverage_law_is_the_beta_binomial(n_cal, n_test, alpha):
    r = math.floor(alpha * (n_cal + 1) + 1e-9)
    law = conftr.coverage_law(n_cal, n_test, alpha)
    expected = stats.betabinom(n_test, n_cal + 1 - r, r).cdf(np.arange(n_test + 1))
    np.testing.assert_allclose(law, expected, rtol=1e-7, atol=1e-12)


def test_coverage_law_without_a_threshold_covers_everything():
    np.testing.assert_array_equal(conftr.coverage_law(50, 4, 0.01), [0, 0, 0, 0, 1])


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: conftr.coverage(SETS * 1.0, LABELS), TypeError, "sets must be boolean"),
        (lambda: conftr.coverage(SETS, LABELS[:2]), ValueError, "one label for each of the 5 rows"),
        (lambda: conftr.coverage(SETS, LABELS + 5), ValueError, r"labels must lie in 0..2; got 5"),
        (lambda: conftr.inefficiency(SETS[0]), ValueError, r"sets must have shape \(n, K\)"),
        (lambda: conftr.group_coverage(SETS, LABELS, [[7]]), ValueError, "classes in 0..2; got 7"),
    ],
)
def test_bad_input_is_refused_in_words(make, error, words):
    with pytest.raises(error, match=words):
        make()
