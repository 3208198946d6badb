"""The user's own files: tables (.csv, .tsv, .parquet) and arrays (.npz, .npy)."""

from conftr.data.own.blocks import CELLS, Inputs, RowBlock, blocks
from conftr.data.own.examples import Own, Wanted, origin, read
from conftr.data.own.labels import by_text, places

__all__ = [
    "CELLS",
    "Inputs",
    "Own",
    "RowBlock",
    "Wanted",
    "blocks",
    "by_text",
    "origin",
    "places",
    "read",
]
