"""Hashed n-grams: words, pairs of words, and runs of 3 to 5 letters within words, by TF-IDF.

Nothing has to be downloaded, and any language in Unicode goes. An n-gram is known by a hash of 64
bits; those that at least two training texts hold, at most 2^15 of each kind, have a column:

    (1 + log count) log((1 + n) / (1 + texts that hold it)) + 1,   each kind of n-gram of length 1

so that most cells of a row are 0, and only the others are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.data.sentences import words
from conftr.features.columns import Doubles, Json
from conftr.features.rows import mixed

Hashes: TypeAlias = npt.NDArray[np.uint64]

_MOST = 2**15  # n-grams of a kind
_FEWEST = 2  # texts that hold an n-gram
_LENGTHS = (3, 4, 5)  # of runs of letters
_PIECE = 2048  # texts that are looked at together
_FACTOR = np.uint64(0x100000001B3)
_BLANK = ord(" ")


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The n-grams of one kind that have a column.

    Attributes:
        hashes: Of them, rising.
        counts: Of training texts that hold each.
        texts: How many there were.
    """

    hashes: Hashes
    counts: npt.NDArray[np.int64]
    texts: int

    @classmethod
    def learn(cls, texts: Sequence[Hashes], most: int) -> Vocabulary:
        """Learn from the n-grams of each training text."""
        held = [np.unique(text) for text in texts]
        hashes, counts = np.unique(np.concatenate([_NONE, *held]), return_counts=True)
        common = np.flatnonzero(counts >= _FEWEST)
        common = np.sort(common[np.argsort(-counts[common], kind="stable")[:most]])
        return cls(hashes[common], counts[common], len(texts))

    @cached_property
    def weights(self) -> Doubles:
        """How much each n-gram weighs: the rarer, the more."""
        weights: Doubles = np.log((1 + self.texts) / (1 + self.counts)) + 1
        return weights

    def rows(self, texts: Sequence[Hashes]) -> Any:
        """A sparse matrix (n, columns) of rows of length 1, from the n-grams of each text."""
        from scipy import sparse  # type: ignore[import-untyped]

        owner, every = _owners(texts), np.concatenate([_NONE, *texts])
        known = np.isin(every, self.hashes)
        place, width = np.searchsorted(self.hashes, every[known]), len(self.hashes)
        cells, counts = np.unique(owner[known] * width + place, return_counts=True)
        owner, place = np.divmod(cells, max(1, width))
        values = (1 + np.log(counts)) * self.weights[place]
        values /= np.sqrt(np.bincount(owner, values**2, len(texts)))[owner]
        bounds = np.searchsorted(owner, np.arange(len(texts) + 1))
        return sparse.csr_array((values, place, bounds), shape=(len(texts), width))

    def to_json(self) -> Json:
        """Give it as plain data; hashes in hexadecimal digits: JSON lacks numbers of 64 bits."""
        digits = self.hashes.astype(">u8").tobytes().hex()
        return {"hashes": digits, "counts": self.counts.tolist(), "texts": self.texts}

    @classmethod
    def from_json(cls, data: Json) -> Vocabulary:
        """What was written as this."""
        hashes = np.frombuffer(bytes.fromhex(data["hashes"]), ">u8").astype(np.uint64)
        counts = np.array(data["counts"], np.int64)
        if len(hashes) != len(counts) or (hashes[1:] <= hashes[:-1]).any():
            raise ValueError("a vocabulary of n-grams must have a count for each, in their order.")
        return cls(hashes, counts, int(data["texts"]))


def _owners(texts: Sequence[Hashes]) -> npt.NDArray[np.int64]:
    """The text that each n-gram is of."""
    return np.repeat(np.arange(len(texts)), [len(text) for text in texts]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Ngrams:
    """N-grams of words and of letters of one column of texts."""

    of_words: Vocabulary
    of_letters: Vocabulary

    @classmethod
    def learn(cls, texts: Sequence[str], most: int = _MOST) -> Ngrams:
        """Learn from cleaned training texts."""
        return cls(*(Vocabulary.learn(hashes, most) for hashes in _both(texts)))

    @property
    def width(self) -> int:
        """How many columns a row has."""
        return len(self.of_words.hashes) + len(self.of_letters.hashes)

    def encode(self, texts: Sequence[str]) -> Any:
        """A sparse matrix (n, width) of cleaned texts."""
        from scipy import sparse

        kinds = zip((self.of_words, self.of_letters), _both(texts), strict=True)
        return sparse.hstack(
            [vocabulary.rows(hashes) for vocabulary, hashes in kinds], format="csr"
        )

    def to_json(self) -> Json:
        """Give it as plain data."""
        return {"words": self.of_words.to_json(), "letters": self.of_letters.to_json()}

    @classmethod
    def from_json(cls, data: Json) -> Ngrams:
        """What was written as this."""
        return cls(Vocabulary.from_json(data["words"]), Vocabulary.from_json(data["letters"]))


_NONE = np.empty(0, np.uint64)


def _both(texts: Sequence[str]) -> tuple[list[Hashes], list[Hashes]]:
    return [_words(text) for text in texts], list(_letters(texts))


def _words(text: str) -> Hashes:
    """Hashes of the words of a text and of its pairs of words."""
    single = np.array([_hash(word) for word in words(text)], np.uint64)
    return np.concatenate([single, mixed(single[:-1] * _FACTOR + single[1:])])


@lru_cache(2**16)
def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")


def _letters(texts: Sequence[str]) -> Iterator[Hashes]:
    """Hashes of the runs of letters of each text that have no blank inside."""
    for start in range(0, len(texts), _PIECE):
        piece = [f" {text} " for text in texts[start : start + _PIECE]]
        signs = np.frombuffer("".join(piece).encode("utf-32-le"), "<u4").astype(np.uint64)
        ends = np.cumsum([len(text) for text in piece])
        runs = [_runs(signs, length) for length in _LENGTHS]
        for first, end in zip([0, *ends[:-1]], ends, strict=True):
            of_text = [
                hashes[first:last][whole[first:last]]
                for (hashes, whole), length in zip(runs, _LENGTHS, strict=True)
                if (last := end - length + 1) > first
            ]
            yield np.concatenate([_NONE, *of_text])


def _runs(signs: Hashes, length: int) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    """The hash of each run of so many signs, and whether it has no blank but at its ends."""
    count = max(0, len(signs) - length + 1)
    hashes, whole = np.full(count, np.uint64(length)), np.ones(count, bool)
    for i in range(length):
        letters = signs[i : i + count]
        hashes = hashes * _FACTOR + letters
        if 0 < i < length - 1:
            whole &= letters != _BLANK
    return mixed(hashes), whole
