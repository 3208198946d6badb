"""Parsers against tiny files written byte by byte."""

import numpy as np
import pytest
from samples import idx_bytes

from conftr.data import DataError
from conftr.data.formats import cifar_records, idx, idx_examples


def test_idx_holds_big_endian_lengths_and_then_rows():
    contents = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6])
    assert idx(contents).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_idx_gives_arrays_that_may_be_written():
    assert idx(idx_bytes(np.zeros(3, np.uint8))).flags.writeable


def test_idx_examples_have_one_channel():
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    examples = idx_examples(idx_bytes(images), idx_bytes(np.array([7, 1], np.uint8)))
    assert examples.x.shape == (2, 3, 4, 1)
    np.testing.assert_array_equal(examples.x[..., 0], images)
    assert examples.y.tolist() == [7, 1]


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"\0\0\x08",
        bytes([0, 0, 8, 2, 0, 0, 0, 1]),
        bytes([0, 0, 13, 1, 0, 0, 0, 1, 5]),
        bytes([1, 0, 8, 1, 0, 0, 0, 1, 5]),
    ],
)
def test_idx_of_another_kind_is_refused(contents):
    with pytest.raises(DataError, match="must start with 00 00 08"):
        idx(contents)


@pytest.mark.parametrize("cut", [1, 3, 4])
def test_a_truncated_idx_is_refused(cut):
    with pytest.raises(DataError, match="must hold"):
        idx(idx_bytes(np.zeros((2, 2), np.uint8))[:-cut])


def test_cifar_records_hold_labels_and_then_colour_planes():
    image = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    record = bytes([3, 42]) + image.transpose(2, 0, 1).tobytes()
    labels, images = cifar_records(record * 2, label_bytes=2)
    assert labels.tolist() == [[3, 42], [3, 42]]
    np.testing.assert_array_equal(images[1], image)


def test_a_truncated_cifar_file_is_refused():
    with pytest.raises(DataError, match="records of 3073 bytes, got 3,072 bytes"):
        cifar_records(bytes(3072), label_bytes=1)
