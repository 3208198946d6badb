"""Static word vectors: every piece of a word has a vector; a text has means of its pieces'.

The vectors are a file of the package `wordllama` (MIT licence), which was trained on many
sentences of many languages and is read here without running anything of that package. A text
becomes the mean of its pieces' vectors, in which rare pieces of training texts count more, the
largest and the smallest number of each coordinate, and how long it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.features.columns import Doubles, Json
from conftr.features.encoders import Encoder, EncoderError

Vectors: TypeAlias = npt.NDArray[np.float32]
Bytes: TypeAlias = npt.NDArray[np.uint8]

NOTHING = 128  # the byte that stands for 0
STEP = 1 / 32  # between bytes: numbers of a vector are rarely larger than 4

_PACKAGE, _NAME = "wordllama", "wordllama-l2-supercat-256"
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_PIECES = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_NEARLY_ALL, _LONGEST = 95, 64  # per cent of the texts, and pieces of a text
_INSTALL = "pip install 'conftr[text]' adds them"


class _Files(NamedTuple):
    """The vectors (pieces, d), what cuts texts into pieces, and which encoder it is."""

    vectors: Vectors
    tokenizer: Any
    encoder: Encoder


def is_here() -> bool:
    """Whether the vectors are installed."""
    return all(find_spec(name) is not None for name in (_PACKAGE, "tokenizers"))


@dataclass(frozen=True, eq=False)
class WordVectors:
    """What was learned of one column of texts.

    Attributes:
        pieces: Those that training texts hold.
        counts: Of training texts that hold each.
        texts: How many training texts there were.
        encoder: Whose vectors are meant.
    """

    pieces: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    texts: int
    encoder: Encoder

    @classmethod
    def learn(cls, texts: Sequence[str]) -> WordVectors:
        """Learn from cleaned training texts."""
        held = [np.unique(pieces) for pieces in _pieces(texts)]
        pieces_held, counts = np.unique(np.concatenate([_NONE, *held]), return_counts=True)
        return cls(pieces_held, counts, len(texts), _files().encoder)

    @property
    def width(self) -> int:
        """How many numbers a text becomes."""
        return 3 * int(_files().vectors.shape[1]) + 1

    def encode(self, texts: Sequence[str]) -> Doubles:
        """Cleaned texts -> (n, width)."""
        weights = self._weights()
        encoded = np.zeros((len(texts), self.width))
        for row, pieces in zip(encoded, _pieces(texts), strict=True):
            if len(pieces):
                row[:] = _summary(_files().vectors[pieces], weights[pieces])
        return encoded

    def _weights(self) -> Doubles:
        """The weight of every piece there is: the rarer in training texts, the more."""
        held = np.zeros(len(_files().vectors))
        held[self.pieces] = self.counts
        weights: Doubles = np.log((1 + self.texts) / (1 + held)) + 1
        return weights

    def to_json(self) -> Json:
        """Give it as plain data."""
        return {
            "encoder": self.encoder.to_json(),
            "pieces": self.pieces.tolist(),
            "counts": self.counts.tolist(),
            "texts": self.texts,
        }

    @classmethod
    def from_json(cls, data: Json) -> WordVectors:
        """What was written as this; refused where other vectors are installed."""
        encoder = Encoder.from_json(data["encoder"])
        encoder.check(_files().encoder)
        pieces, counts = (np.array(data[name], np.int64) for name in ("pieces", "counts"))
        return cls(pieces, counts, int(data["texts"]), encoder)


@dataclass(frozen=True)
class WordOrder:
    """Texts as the vectors of their pieces, one after the other, in bytes.

    The byte `NOTHING` is 0; bytes differ by `STEP`, and what lies further out is drawn in.

    Attributes:
        length: Pieces that are read of a text.
        encoder: Whose vectors are meant.
    """

    length: int
    encoder: Encoder

    @classmethod
    def learn(cls, texts: Sequence[str]) -> WordOrder:
        """Learn how long nearly all training texts are, up to a limit."""
        lengths = [len(pieces) for pieces in _pieces(texts)] or [0]
        usual = math.ceil(np.percentile(lengths, _NEARLY_ALL))
        return cls(int(np.clip(usual, 1, _LONGEST)), _files().encoder)

    @property
    def inputs(self) -> tuple[int, int]:
        """The shape of one text: pieces, and numbers of a vector."""
        return self.length, int(_files().vectors.shape[1])

    def encode(self, texts: Sequence[str]) -> Bytes:
        """Cleaned texts -> (n, *inputs); after the end of a text there is nothing."""
        encoded = np.full((len(texts), *self.inputs), NOTHING, np.uint8)
        for row, pieces in zip(encoded, _pieces(texts), strict=True):
            some = _files().vectors[pieces[: self.length]] / STEP
            row[: len(some)] = np.clip(np.round(some) + NOTHING, 1, 255)
        return encoded

    def to_json(self) -> Json:
        """Give it as plain data."""
        return {"encoder": self.encoder.to_json(), "length": self.length}

    @classmethod
    def from_json(cls, data: Json) -> WordOrder:
        """What was written as this; refused where other vectors are installed."""
        encoder = Encoder.from_json(data["encoder"])
        encoder.check(_files().encoder)
        return cls(int(data["length"]), encoder)


_NONE = np.empty(0, np.int64)


def _summary(vectors: Vectors, weights: Doubles) -> Doubles:
    mean = weights @ vectors / weights.sum()
    return np.concatenate([mean, vectors.max(axis=0), vectors.min(axis=0), [np.log(len(vectors))]])


def _pieces(texts: Sequence[str]) -> list[npt.NDArray[np.int64]]:
    tokenised = _files().tokenizer.encode_batch(list(texts), add_special_tokens=False)
    return [np.array(tokens.ids, np.int64) for tokens in tokenised]


@cache
def _files() -> _Files:
    """The files of the package; read once, they take 32 MB."""
    if not is_here():
        raise EncoderError(f"word vectors are not installed: {_INSTALL}.")
    import safetensors.numpy
    from tokenizers import Tokenizer

    spec = find_spec(_PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    paths = [folder / _WEIGHTS, folder / _PIECES]
    encoder = Encoder.of(_NAME, _PACKAGE, paths)
    (vectors,) = safetensors.numpy.load_file(paths[0]).values()
    return _Files(vectors.astype(np.float32), Tokenizer.from_file(str(paths[1])), encoder)
