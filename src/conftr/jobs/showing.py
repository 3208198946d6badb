"""What an example looks like on a page: the cells of a table, or a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from conftr.data.pictures import PictureFiles
from conftr.data.user_files.pictures import COLUMN
from conftr.machine.rows_on_disk import RowsOnDisk

_COLUMNS = 60
_LETTERS = 1000  # of a cell that are kept
_SIDE, _BYTES = 96, 2**25  # of a thumbnail, and of all of them


def cells(X: Any, paths: pl.Series | None = None) -> Sequence[Mapping[str, str]] | None:
    """Column name -> text, for each row of a frame; of an array (n, d) by number, d few enough.

    Args:
        paths: Of pictures, which are all that is told of them.
    """
    if paths is not None:
        return [{COLUMN: path} for path in paths.to_list()]
    if isinstance(X, pl.DataFrame):
        frame = X.select(X.columns[:_COLUMNS])
    elif X.ndim == 2 and X.shape[1] <= _COLUMNS:
        frame = pl.DataFrame(np.asarray(X), schema=[f"[{i}]" for i in range(X.shape[1])])
    else:
        return None
    numbers = pl.selectors.float()
    shown = frame.with_columns(numbers.round_sig_figs(6)).cast(pl.String).fill_null("missing")
    return shown.select(pl.all().str.head(_LETTERS)).to_dicts()


def pictures(X: Any) -> npt.NDArray[np.uint8] | None:
    """Images (n, h, w) or (n, h, w, 1 or 3) as bytes; None for all else.

    Bytes that reach beyond 127 stay as they are; others are stretched, darkest to brightest. Files
    become thumbnails, smaller where there are many.
    """
    if isinstance(X, PictureFiles):
        side = min(_SIDE, int((_BYTES / (3 * max(1, len(X)))) ** 0.5))
        return np.concatenate(list(X.blocks((side, side, 3), 64)))
    X = np.asarray(X) if isinstance(X, RowsOnDisk) else X
    if isinstance(X, pl.DataFrame) or X.ndim not in (3, 4):
        return None
    if X.ndim == 4 and X.shape[3] not in (1, 3):
        return None
    if X.ndim == 4 and X.shape[3] == 1:
        X = X[..., 0]
    if X.dtype == np.uint8 and X.max(initial=0) > 127:
        return np.ascontiguousarray(X)
    low, high = float(X.min(initial=0)), float(X.max(initial=0))
    stretched = np.asarray(X, np.float32) - low
    return (stretched * (255 / max(high - low, 1e-12)) + 0.5).astype(np.uint8)
