"""Names that follow from content: 16 hexadecimal digits of a SHA-256."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from conftr.machine.rows_on_disk import RowsOnDisk

_DIGITS = 16


def of_bytes(content: bytes) -> str:
    """The digest of a file's content."""
    return hashlib.sha256(content).hexdigest()[:_DIGITS]


def of_arrays(*arrays: Any, start: str = "") -> str:
    """The digest of arrays: their types, shapes and values.

    Args:
        arrays: of NumPy, or rows on disk, whose digest is that of the array they would be.
        start: a text that is a part of the content, and comes first.

    Returns:
        Digits that are equal for equal arrays and, in practice, only for those.
    """
    sha = hashlib.sha256(start.encode())
    for array in arrays:
        sha.update(f"{array.dtype} {array.shape}".encode())
        for block in array.blocks() if isinstance(array, RowsOnDisk) else [array]:
            sha.update(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)
    return sha.hexdigest()[:_DIGITS]
