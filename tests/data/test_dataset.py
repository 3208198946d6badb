"""The dataset value: splits, normalisation, and what it refuses."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftr.data import DataError, Dataset, Examples, Normalisation, centre, labels, split, whiten
from conftr.data.dataset import indices, permutation


def tiny(**changes):
    x, y = np.zeros((4, 3), np.float32), labels([0, 1, 0, 1])
    fields = {
        "name": "tiny",
        **{f"x_{part}": x for part in ("train", "cal", "test")},
        **{f"y_{part}": y for part in ("train", "cal", "test")},
        "classes": ("no", "yes"),
        "groups": {"both": (0, 1)},
        "normalisation": whiten(x),
    }
    return Dataset(**{**fields, **changes})


def test_a_dataset_is_a_frozen_value():
    with pytest.raises(dataclasses.FrozenInstanceError):
        tiny().name = "other"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y_cal": labels([0, 1])}, "y_cal of 'tiny' must have one label for each of the 4 rows"),
        ({"y_test": labels([0, 1, 2, 1])}, r"y_test of 'tiny' must lie in 0\.\.1, got 0\.\.2"),
        ({"y_train": labels([-1, 1, 0, 1])}, r"y_train of 'tiny' must lie in 0\.\.1, got -1\.\.1"),
        ({"x_test": np.zeros((4, 2))}, r"x_test of 'tiny' must hold examples of shape \(3,\)"),
        ({"groups": {"odd": (2,)}}, r"groups\['odd'\] must hold indices of the 2 classes"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(DataError, match=message):
        tiny(**changes)


@given(st.integers(0, 200), st.integers(0, 100), st.integers(0, 100))
def test_split_parts_share_no_example_and_keep_rows_together(left, a, b):
    n = a + b + left
    first, second = split(Examples(np.arange(n)[:, None] * 10, np.arange(n)), a, b)
    assert (len(first.y), len(second.y)) == (a, b)
    assert len({*first.y, *second.y}) == a + b
    np.testing.assert_array_equal(first.x[:, 0], first.y * 10)
    np.testing.assert_array_equal(second.x[:, 0], second.y * 10)


def test_split_takes_the_same_rows_on_every_machine():
    assert permutation(10).tolist() == [3, 2, 1, 8, 6, 0, 7, 4, 5, 9]


def test_split_shuffles_before_it_cuts():
    (last,) = split(Examples(np.zeros((1000, 1)), np.arange(1000)), 100)
    assert 400 < last.y.mean() < 600


def test_split_of_too_many_is_refused():
    with pytest.raises(DataError, match=r"at most the 5 examples there are, got \(4, 2\)"):
        split(Examples(np.zeros((5, 1)), np.zeros(5)), 4, 2)


def test_labels_are_int32():
    assert labels([True, False]).dtype == np.int32


def test_centre_brings_bytes_to_the_unit_interval():
    pixels = np.array([[0], [255]], np.uint8)
    np.testing.assert_allclose(centre(255)(pixels), [[-1], [1]], atol=1e-6)
    assert centre(255)(pixels).dtype == np.float32


def test_whitening_by_hand():
    x = np.array([[1.0, 10.0], [3.0, 10.0]], np.float32)
    normalisation = whiten(x)
    assert normalisation.shift.tolist() == [2.0, 10.0]
    assert normalisation.scale.tolist() == [1.0, 1.0]  # the second: constant, so not scaled
    assert normalisation(x).tolist() == [[-1.0, 0.0], [1.0, 0.0]]


def test_whitening_leaves_mean_0_and_deviation_1():
    x = np.random.default_rng(0).normal(5, [1, 100], (1000, 2)).astype(np.float32)
    white = whiten(x)(x)
    np.testing.assert_allclose(white.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(white.std(axis=0), 1, atol=1e-5)


def test_a_constant_feature_that_no_float_holds_exactly_is_not_blown_up():
    x = np.full((1001, 1), 0.1, np.float32)
    assert whiten(x).scale.tolist() == [1.0]
    assert whiten(x)(x + 1).max() < 1.001


def test_images_are_whitened_per_channel():
    images = np.zeros((5, 2, 2, 3), np.uint8)
    images[..., 1] = np.arange(20).reshape(5, 2, 2)
    images[..., 2] = 255
    normalisation = whiten(images)
    assert normalisation.shift.tolist() == [0.0, 9.5, 255.0]
    np.testing.assert_allclose(normalisation.scale, [1, 1 / np.arange(20).std(), 1], rtol=1e-6)


def test_normalisation_is_shift_then_scale():
    normalisation = Normalisation(np.float32([1, 2]), np.float32([10, 100]))
    assert normalisation(np.array([[2, 3]], np.uint8)).tolist() == [[10.0, 100.0]]


def test_indices_of_named_classes():
    assert indices(("a", "b", "c"), ["c", "a"]) == (2, 0)
