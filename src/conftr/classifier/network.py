"""A trained network with what it needs to read the user's data: X in, logits out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.features import Encoding
from conftr.training import Fitted, predict_logits
from conftr.training.models import Model

# Rows go through the network in blocks of this size, filled up with zeros: a row's logits are then
# the same to the last bit whatever stands beside it, and one program serves any number of rows.
_BLOCK = 256


@dataclass(frozen=True, eq=False)
class EncodedNetwork:
    """An encoding, a model and its trained parameters."""

    encoding: Encoding
    model: Model
    fitted: Fitted

    def logits(self, x: Any) -> npt.NDArray[np.float32]:
        """Logits (n, K) of n rows of the user's data."""
        return logits(self.model, self.fitted, self.encoding, self.encoding.encode(x))


def filled(rows: Any) -> Any:
    """Rows followed by zeros to whole blocks: programs for other numbers of rows then serve too."""
    missing = -len(rows) % _BLOCK or _BLOCK * (not len(rows))
    return np.pad(rows, [(0, missing)] + [(0, 0)] * (rows.ndim - 1)) if missing else rows


def logits(
    model: Model, fitted: Fitted, encoding: Encoding, inputs: Any
) -> npt.NDArray[np.float32]:
    """Logits of encoded rows: (n, K), or (trials, n, K)."""
    rows = inputs if len(inputs) >= _BLOCK else filled(inputs)
    found = predict_logits(
        model, fitted, rows, shift=encoding.shift, scale=encoding.scale, block=_BLOCK
    )
    return found[..., : len(inputs), :]
