"""Images as inputs of a network: kept as they are stored, bytes as bytes.

They are normalised inside the network's first step, by `shift` and `scale`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from conftr.data.dataset import Normalisation, whiten
from conftr.features.columns import Json
from conftr.machine.rows_on_disk import RowShape, RowsOnDisk


@dataclass(frozen=True, eq=False)
class Images:
    """An array (n, height, width) or (n, height, width, channels), or with more axes.

    Attributes:
        of_bytes: Whether pixels were bytes, as those of picture files are.
    """

    inputs: RowShape
    normalisation: Normalisation
    of_bytes: bool = False

    @property
    def shift(self) -> Any:
        """What is taken off each channel."""
        return self.normalisation.shift

    @property
    def scale(self) -> Any:
        """What each channel is multiplied by then."""
        return self.normalisation.scale

    def encode(self, x: Any) -> Any:
        """The images as they are, on disk where they are there; doubles become floats."""
        x = numeric(x)
        if x.shape[1:] != self.inputs:
            expected = ", ".join(map(str, self.inputs))
            raise ValueError(f"X must have shape (n, {expected}), as it had in fit; got {x.shape}.")
        if x.dtype.kind == "f" and np.isnan(x).any():
            row = np.argwhere(np.isnan(x))[0, 0]
            raise ValueError(f"X holds nan in image {row}: pixels must not be missing.")
        return x if x.dtype in (np.uint8, np.float32) else x.astype(np.float32)

    def to_json(self) -> Json:
        """Give it as plain data."""
        shift, scale = (np.asarray(value).tolist() for value in (self.shift, self.scale))
        data = {"kind": "images", "inputs": list(self.inputs), "shift": shift, "scale": scale}
        return data | {"of_bytes": self.of_bytes}

    @classmethod
    def from_json(cls, data: Json) -> Images:
        """What was written as this."""
        shift, scale = (np.array(data[name], np.float32) for name in ("shift", "scale"))
        of_bytes = bool(data.get("of_bytes", False))
        return cls(tuple(data["inputs"]), Normalisation(shift, scale), of_bytes)


def learn(x: Any) -> Images:
    """How training images (n, height, width, ...) are normalised.

    images = learn(X[train]); inputs = images.encode(X)
    """
    # Grey images have one number a pixel; colours are the last axis of four.
    channels = x if x.ndim == 4 else x.reshape(len(x), -1, 1)
    return Images(x.shape[1:], whiten(channels), x.dtype == np.uint8)


def numeric(x: Any) -> Any:
    """An array of finite numbers or nan, refused in words if it is none."""
    if isinstance(x, RowsOnDisk):
        return x  # pictures of bytes, which can be nothing but finite
    x = np.asarray(x)
    if x.dtype.kind not in "fiub":
        raise ValueError(
            f"X must hold numbers; got an array of type {x.dtype}. Columns of other kinds belong "
            f"in a data frame, of pandas or polars."
        )
    if x.dtype.kind == "f" and np.isinf(x).any():
        place = tuple(int(i) for i in np.argwhere(np.isinf(x))[0])
        raise ValueError(f"X must be finite (nan is missing); it is infinite at {place}.")
    return x
