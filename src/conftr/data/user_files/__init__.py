"""The user's own files: tables (.csv, .tsv, .parquet), arrays (.npz, .npy), pictures."""

from conftr.data.user_files.blocks import CELLS, Inputs, RowBlock, blocks
from conftr.data.user_files.examples import Roles, UserData, origin, read, read_pictures
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
    "read_pictures",
]
