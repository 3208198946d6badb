"""The user's own files: tables (.csv, .tsv, .parquet) and arrays (.npz, .npy)."""

from conftr.data.user_files.blocks import CELLS, Inputs, RowBlock, blocks
from conftr.data.user_files.examples import Roles, UserData, origin, read
from conftr.data.user_files.labels import by_text, places

__all__ = [
    "CELLS",
    "Inputs",
    "Roles",
    "RowBlock",
    "UserData",
    "blocks",
    "by_text",
    "origin",
    "places",
    "read",
]
