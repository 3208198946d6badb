"""Which examples train, choose and calibrate: sizes, chances, and what calibration never sees."""

import numpy as np
import pytest

from conftr.classifier.division import divide
from conftr.conformal.quantile import examples_needed

LABELS = np.repeat(np.arange(5), [400, 300, 200, 97, 3])


@pytest.mark.parametrize("alpha", [0.01, 0.1])
def test_every_row_is_in_one_part(alpha):
    parts = divide(LABELS, alpha=alpha, seed=0)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(len(LABELS)))


@pytest.mark.parametrize(
    ("n", "alpha", "expected"),
    [
        (1000, 0.1, (600, 200, 200)),
        (1000, 0.01, (467, 200, 333)),  # a third, as alpha asks for many
        (200, 0.1, (160, 0, 40)),  # 40 could not tell models apart
        (150, 0.01, (100, 0, 50)),  # too few for alpha in any case
        (200, 0.01, (101, 0, 99)),  # half, so that there is a threshold
        (10, 0.1, (7, 0, 3)),
        (1_000_000, 0.1, (990_000, 5000, 5000)),
        (1_000_000, 0.001, (895_000, 5000, 100_000)),
    ],
)
def test_sizes(n, alpha, expected):
    parts = divide(np.zeros(n, int), alpha=alpha, seed=0)
    assert tuple(map(len, parts)) == expected


def test_asked_sizes():
    parts = divide(LABELS, alpha=0.1, seed=0, calibration=100, validation=0.3)
    assert tuple(map(len, parts)) == (600, 300, 100)


def test_calibration_rows_do_not_depend_on_labels():
    """They are drawn before anything is known of them."""
    turned = np.random.default_rng(0).permutation(LABELS)
    one, other = (divide(labels, alpha=0.1, seed=3) for labels in (LABELS, turned))
    np.testing.assert_array_equal(one.calibration, other.calibration)


def test_every_row_has_the_same_chance_to_calibrate():
    """Rare classes too: were they kept for training, sets would miss them more often than told."""
    counts = np.zeros(len(LABELS))
    for seed in range(400):
        counts[divide(LABELS, alpha=0.1, seed=seed).calibration] += 1
    rare = counts[LABELS == 4].mean() / 400
    assert abs(rare - 0.2) < 4 * np.sqrt(0.2 * 0.8 / (3 * 400))


def test_validation_is_even_over_the_classes():
    parts = divide(LABELS, alpha=0.1, seed=0)
    rest = np.concatenate([parts.train, parts.validation])
    expected = np.bincount(LABELS[rest], minlength=5) * len(parts.validation) / len(rest)
    assert np.abs(np.bincount(LABELS[parts.validation], minlength=5) - expected).max() <= 1.5


def test_classes_are_met_in_training():
    labels = np.repeat(np.arange(300), 3)
    parts = divide(labels, alpha=0.1, seed=0)
    left = set(range(300)) - set(labels[parts.train])
    assert left <= set(range(300)) - set(labels[parts.validation])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"calibration": 0}, "leave examples to train on, and at least one to calibrate"),
        ({"calibration": 900, "validation": 100}, "they take 900 and 100"),
        ({"calibration": 1.5}, "whole number or a share below 1; got 1.5"),
        ({"validation": -1}, "validation_size must be finite and at least 0"),
    ],
)
def test_sizes_that_cannot_be(sizes, message):
    with pytest.raises(ValueError, match=message):
        divide(LABELS, alpha=0.1, seed=0, **sizes)


def test_there_is_a_threshold_where_half_of_the_examples_suffice():
    for n in range(20, 400, 7):
        for alpha in (0.05, 0.1, 0.2):
            calibration = len(divide(np.zeros(n, int), alpha=alpha, seed=0).calibration)
            needed = examples_needed(alpha)
            assert calibration >= min(needed, n // 3)
            assert calibration >= needed or needed > n // 2
