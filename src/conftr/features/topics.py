"""Topics of texts: the n-grams of a text, brought from thousands of columns to a few hundred.

The frequent n-grams of training texts make a sparse matrix; its first right singular vectors are
the topics (latent semantic analysis), and a text has a number for each. They are kept as bytes,
with a scale each.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.features.columns import Doubles, Json
from conftr.features.ngrams import Ngrams

_NGRAMS = 2**12  # of a kind
_MOST = 256  # topics
_TEXTS = 8  # for each topic, at least
_LARGEST = 127  # that a signed byte holds


@dataclass(frozen=True, eq=False)
class Topics:
    """What was learned of one column of texts.

    Attributes:
        ngrams: Those that count.
        loadings: Of each on each topic, in units of `scales` (topics,).
    """

    ngrams: Ngrams
    loadings: npt.NDArray[np.int8]
    scales: Doubles

    @classmethod
    def learn(cls, texts: Sequence[str]) -> Topics:
        """Learn from cleaned training texts; no topic where they have nothing in common."""
        from sklearn.utils.extmath import randomized_svd  # type: ignore[import-untyped]

        ngrams = Ngrams.learn(texts, _NGRAMS)
        count = min(_MOST, len(texts) // _TEXTS, ngrams.width - 1)
        if count < 1:
            return cls(ngrams, np.zeros((ngrams.width, 0), np.int8), np.zeros(0))
        vectors = randomized_svd(ngrams.encode(texts), count, n_iter=2, random_state=0)[2].T
        scales = np.abs(vectors).max(axis=0) / _LARGEST
        scales[scales == 0] = 1.0
        return cls(ngrams, np.round(vectors / scales).astype(np.int8), scales)

    @property
    def width(self) -> int:
        """How many topics there are."""
        return len(self.scales)

    @cached_property
    def _vectors(self) -> Doubles:
        vectors: Doubles = self.loadings * self.scales
        return vectors

    def encode(self, texts: Sequence[str]) -> Doubles:
        """Cleaned texts -> (n, topics). Sparse rows are multiplied one by one."""
        topics: Doubles = self.ngrams.encode(texts) @ self._vectors
        return topics

    def to_json(self) -> Json:
        """Give it as plain data."""
        loadings = base64.b64encode(np.ascontiguousarray(self.loadings).tobytes()).decode()
        return {
            "ngrams": self.ngrams.to_json(),
            "scales": self.scales.tolist(),
            "loadings": loadings,
        }

    @classmethod
    def from_json(cls, data: Json) -> Topics:
        """What was written as this."""
        ngrams, scales = Ngrams.from_json(data["ngrams"]), np.array(data["scales"], np.float64)
        loadings: Any = np.frombuffer(base64.b64decode(data["loadings"]), np.int8)
        return cls(ngrams, loadings.reshape(ngrams.width, len(scales)), scales)
