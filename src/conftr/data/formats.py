"""The binary formats of image datasets: idx (MNIST and its kin) and CIFAR's records."""

import math

import numpy as np
import numpy.typing as npt

from conftr.data.dataset import Examples, labels
from conftr.data.errors import DataError

Bytes = npt.NDArray[np.uint8]

_IDX_BYTES = b"\0\0\x08"
_CIFAR_IMAGE = (3, 32, 32)


def idx(contents: bytes) -> Bytes:
    """The array of unsigned bytes in an idx file: type, rank, big-endian lengths, then values."""
    header = 4 + 4 * contents[3] if contents[:3] == _IDX_BYTES and len(contents) > 3 else 0
    if not header or len(contents) < header:
        raise DataError(
            "an idx file of bytes must start with 00 00 08, its rank and its lengths, "
            f"got {contents[: header or 4].hex(' ')}."
        )
    shape = tuple(np.frombuffer(contents[4:header], dtype=">u4").tolist())
    values = np.frombuffer(contents, dtype=np.uint8, offset=header)
    if values.size != math.prod(shape):
        raise DataError(
            f"an idx file of shape {shape} must hold {math.prod(shape)} values, got {values.size}."
        )
    return values.reshape(shape).copy()


def idx_examples(images: bytes, classes: bytes) -> Examples:
    """Grey images (n, height, width, 1) and labels from a pair of idx files."""
    return Examples(idx(images)[..., None], labels(idx(classes)))


def cifar_records(contents: bytes, label_bytes: int) -> tuple[Bytes, Bytes]:
    """Label columns (n, label_bytes) and images (n, 32, 32, 3) of a CIFAR binary file."""
    length = label_bytes + math.prod(_CIFAR_IMAGE)
    if len(contents) % length:
        raise DataError(
            f"a CIFAR file must consist of records of {length} bytes, got {len(contents):,} bytes."
        )
    records = np.frombuffer(contents, dtype=np.uint8).reshape(-1, length)
    images = records[:, label_bytes:].reshape(-1, *_CIFAR_IMAGE).transpose(0, 2, 3, 1)
    return records[:, :label_bytes], np.ascontiguousarray(images)
