"""A data frame with columns of texts: as one matrix, as sparse rows of n-grams, as words in order.

The first two have the other columns of the frame beside the texts. The matrix is what networks,
trees and linear models of tables take; sparse rows are for a linear model of n-grams alone, words
in their order for a network that looks at neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conftr.features import frames, word_vectors
from conftr.features.columns import Doubles, Json
from conftr.features.frame_columns import FrameColumns
from conftr.features.frames import Frame
from conftr.features.ngrams import Ngrams
from conftr.features.spread import Spread
from conftr.features.texts import cleaned
from conftr.features.topics import Topics
from conftr.features.word_vectors import Bytes, WordOrder, WordVectors


@dataclass(frozen=True, eq=False)
class TextVectors:
    """One column of texts as numbers: topics, and word vectors where they are installed."""

    topics: Topics
    vectors: WordVectors | None

    @classmethod
    def learn(cls, texts: Sequence[str]) -> TextVectors:
        """Learn from cleaned training texts."""
        vectors = WordVectors.learn(texts) if word_vectors.is_here() else None
        return cls(Topics.learn(texts), vectors)

    @property
    def width(self) -> int:
        """How many numbers a text becomes."""
        return self.topics.width + (0 if self.vectors is None else self.vectors.width)

    def encode(self, texts: Sequence[str]) -> Doubles:
        """Cleaned texts -> (n, width)."""
        topics = self.topics.encode(texts)
        return topics if self.vectors is None else np.hstack([topics, self.vectors.encode(texts)])

    def to_json(self) -> Json:
        """Give it as plain data."""
        vectors = None if self.vectors is None else self.vectors.to_json()
        return {"topics": self.topics.to_json(), "vectors": vectors}

    @classmethod
    def from_json(cls, data: Json) -> TextVectors:
        """What was written as this."""
        vectors = None if data["vectors"] is None else WordVectors.from_json(data["vectors"])
        return cls(Topics.from_json(data["topics"]), vectors)


@dataclass(frozen=True, eq=False)
class _BesideTexts:
    """What both know of a frame.

    Attributes:
        names: Of all columns in fit.
        table: Of the others than texts; None where there are none.
    """

    names: tuple[str, ...]
    table: FrameColumns | None

    @property
    def numeric(self) -> tuple[str, ...]:
        """The columns of numbers."""
        return () if self.table is None else self.table.numeric


@dataclass(frozen=True, eq=False)
class TextColumns(_BesideTexts):
    """The matrix: other columns as `FrameColumns` has them, then the numbers of each text."""

    texts: Mapping[str, TextVectors]

    @classmethod
    def learn(cls, x: Any, texts: Sequence[str]) -> TextColumns:
        """Learn from training rows and the names of their columns of texts."""
        opened = frames.opened(x)
        vectors = {name: TextVectors.learn(cleaned(opened[name])) for name in texts}
        table = _table(opened, texts)
        if table is None and not any(column.width for column in vectors.values()):
            raise ValueError(
                f"X holds nothing to learn from: no two texts of column {texts[0]!r} have a word "
                f"in common."
            )
        return cls(tuple(opened.columns), table, vectors)

    @property
    def width(self) -> int:
        """How many columns the matrix has."""
        width = sum(column.width for column in self.texts.values())
        return width if self.table is None else width + self.table.width

    @property
    def levels(self) -> dict[int, int]:
        """The columns of the matrix that are categories, and how many levels each has."""
        return {} if self.table is None else self.table.levels

    def encode(self, x: Any) -> Doubles:
        """A frame of n rows -> (n, width); nan is missing."""
        opened = _checked(x, self.names)
        blocks = [] if self.table is None else [self.table.encode(opened.drop(*self.texts))]
        blocks += [column.encode(cleaned(opened[name])) for name, column in self.texts.items()]
        return np.concatenate(blocks, axis=1)

    def to_json(self) -> Json:
        """Give it as plain data."""
        return {"kind": "text columns"} | _as_json(self.names, self.table, self.texts)

    @classmethod
    def from_json(cls, data: Json) -> TextColumns:
        """What was written as this."""
        texts = {name: TextVectors.from_json(column) for name, column in data["texts"].items()}
        return cls(tuple(data["names"]), _table_from_json(data["table"]), texts)


@dataclass(frozen=True, eq=False)
class NgramColumns(_BesideTexts):
    """Sparse rows: n-grams of every text, then the other columns, whitened and spread."""

    spread: Spread | None
    texts: Mapping[str, Ngrams]

    @classmethod
    def learn(cls, x: Any, texts: Sequence[str]) -> NgramColumns:
        """Learn from training rows and the names of their columns of texts."""
        opened = frames.opened(x)
        table = _table(opened, texts)
        spread = None
        if table is not None:
            spread = Spread.learn(table.encode(opened.drop(*texts)), table.levels)
        ngrams = {name: Ngrams.learn(cleaned(opened[name])) for name in texts}
        return cls(tuple(opened.columns), table, spread, ngrams)

    @property
    def width(self) -> int:
        """How many columns a row has."""
        width = sum(column.width for column in self.texts.values())
        return width if self.spread is None else width + self.spread.inputs[0]

    def encode(self, x: Any) -> SparseRows:
        """A frame of n rows as a sparse matrix (n, width)."""
        from scipy import sparse  # type: ignore[import-untyped]

        opened = _checked(x, self.names)
        blocks = [column.encode(cleaned(opened[name])) for name, column in self.texts.items()]
        if self.table is not None and self.spread is not None:
            spread = self.spread.encode(self.table.encode(opened.drop(*self.texts)))
            # As long as a text's n-grams are, about.
            blocks.append(sparse.csr_array(spread.astype(np.float64) / np.sqrt(spread.shape[1])))
        return SparseRows(sparse.hstack(blocks, format="csr"))

    def to_json(self) -> Json:
        """Give it as plain data."""
        spread = None if self.spread is None else self.spread.to_json()
        return {"kind": "n-gram columns", "spread": spread} | _as_json(
            self.names, self.table, self.texts
        )

    @classmethod
    def from_json(cls, data: Json) -> NgramColumns:
        """What was written as this."""
        texts = {name: Ngrams.from_json(column) for name, column in data["texts"].items()}
        spread = None if data["spread"] is None else Spread.from_json(data["spread"])
        return cls(tuple(data["names"]), _table_from_json(data["table"]), spread, texts)


@dataclass(frozen=True, eq=False)
class WordColumns(_BesideTexts):
    """Bytes: the vectors of the words of every text in their order, one text after the other.

    Nothing of the other columns is read.
    """

    texts: Mapping[str, WordOrder]

    @classmethod
    def learn(cls, x: Any, texts: Sequence[str]) -> WordColumns:
        """Learn from training rows and the names of their columns of texts."""
        opened = frames.opened(x)
        columns = {name: WordOrder.learn(cleaned(opened[name])) for name in texts}
        return cls(tuple(opened.columns), _table(opened, texts), columns)

    @property
    def inputs(self) -> tuple[int, int]:
        """The shape of one row: places of words, and numbers of a vector."""
        shapes = [column.inputs for column in self.texts.values()]
        return sum(length for length, _ in shapes), shapes[0][1]

    @property
    def width(self) -> int:
        """How much a row takes, in numbers of eight bytes."""
        return math.prod(self.inputs) // 8

    def encode(self, x: Any) -> Bytes:
        """A frame of n rows -> (n, *inputs)."""
        opened = _checked(x, self.names)
        encoded = [column.encode(cleaned(opened[name])) for name, column in self.texts.items()]
        return np.concatenate(encoded, axis=1)

    def to_json(self) -> Json:
        """Give it as plain data."""
        return {"kind": "word columns"} | _as_json(self.names, self.table, self.texts)

    @classmethod
    def from_json(cls, data: Json) -> WordColumns:
        """What was written as this."""
        texts = {name: WordOrder.from_json(column) for name, column in data["texts"].items()}
        return cls(tuple(data["names"]), _table_from_json(data["table"]), texts)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A sparse matrix in rows, of which some can be taken as of an array."""

    matrix: Any

    def __len__(self) -> int:
        """How many rows there are."""
        return int(self.matrix.shape[0])

    def __getitem__(self, rows: Any) -> SparseRows:
        """Some of them."""
        return SparseRows(self.matrix[rows])


def _table(opened: Any, texts: Sequence[str]) -> FrameColumns | None:
    """How the other columns are read, if there are some that tell anything."""
    others = opened.drop(*texts)
    if not others.columns or all(others[name].is_null().all() for name in others.columns):
        return None
    return FrameColumns.learn(others)


def _checked(x: Any, names: Sequence[str]) -> Any:
    if not frames.is_frame(x):
        raise ValueError("X must be a data frame with named columns, as it was in fit.")
    opened = frames.opened(x)
    frames.check_columns(opened.columns, names)
    return opened


def _as_json(names: Sequence[str], table: FrameColumns | None, texts: Mapping[str, Any]) -> Json:
    return {
        "names": list(names),
        "table": None if table is None else table.to_json(),
        "texts": {name: column.to_json() for name, column in texts.items()},
    }


def _table_from_json(data: Json) -> FrameColumns | None:
    return None if data is None else FrameColumns(Frame.from_json(data["frame"]))
