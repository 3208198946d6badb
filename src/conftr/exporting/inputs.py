"""Inputs of the graph, and what readers and encodings make of them.

| input | of | holds |
|---|---|---|
| numbers | tables | doubles (rows, columns); nan is missing |
| categories | tables with categories | texts (rows, columns); an empty text is missing |
| images | images | floats (rows, height, width, ...) |
| outputs | outputs of another system | doubles (rows, K) |
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from conftr.exporting.graph import ExportError, Graph
from conftr.features import frames
from conftr.features.bins import Binned
from conftr.features.codes import Columns
from conftr.features.columns import FARTHEST, Levels, Numbers
from conftr.features.frame_columns import FrameColumns
from conftr.features.frames import Frame
from conftr.features.images import Images
from conftr.features.spread import Spread
from conftr.members.scikit import AsGiven

NUMBERS, CATEGORIES, IMAGES, OUTPUTS = "numbers", "categories", "images", "outputs"
_ROWS, _MISSING = "rows", ""


def read(graph: Graph, reader: Any, classes: int) -> str:
    """The matrix, images or outputs that a reader makes of the user's rows."""
    if isinstance(reader, Columns):
        return graph.input(NUMBERS, np.float64, [_ROWS, reader.width])
    if isinstance(reader, FrameColumns):
        return _frame(graph, reader.frame)
    if isinstance(reader, Images):
        return graph.input(IMAGES, np.float32, [_ROWS, *reader.inputs])
    if isinstance(reader, AsGiven):
        return graph.input(OUTPUTS, np.float64, [_ROWS, classes])
    raise ExportError(f"rows that are read by {type(reader).__name__} cannot be exported.")


def _frame(graph: Graph, frame: Frame) -> str:
    matrices = []
    if frame.numeric:
        matrices.append(graph.input(NUMBERS, np.float64, [_ROWS, len(frame.numeric)]))
    if frame.levels:
        _refuse_empty_texts(frame)
        texts = graph.input(CATEGORIES, np.str_, [_ROWS, len(frame.levels)])
        matrices += [
            _codes(graph, texts, j, levels) for j, levels in enumerate(frame.levels.values())
        ]
    return matrices[0] if len(matrices) == 1 else graph.op("Concat", *matrices, axis=1)


def _refuse_empty_texts(frame: Frame) -> None:
    for name, levels in frame.levels.items():
        if _MISSING in levels.levels:
            raise ExportError(
                f"column {name!r} has the empty text as a category, which an exported model takes "
                f"as missing: rows without a value would be answered as that category. Give it a "
                f"name, such as 'none', in training rows, and fit again."
            )


def _codes(graph: Graph, texts: str, column: int, levels: Levels) -> str:
    """The places of a column's texts among its levels, their number for any other, nan without."""
    cells = graph.op("Gather", texts, graph.constant([column], np.int64), axis=1)
    names = [*levels.levels, _MISSING]
    codes = [*(float(place) for place in range(len(levels.levels))), np.nan]
    encoded = graph.op(
        "LabelEncoder",
        cells,
        domain="ai.onnx.ml",
        keys_strings=names,
        values_floats=codes,
        default_float=float(len(levels.levels)),
    )
    return graph.cast(encoded, np.float64)


def whitened(graph: Graph, x: str, numbers: Numbers) -> str:
    """Columns of numbers as `Numbers.encode` makes them, floats."""
    values = graph.op("Sub", x, graph.constant(numbers.shift))
    values = graph.op("Mul", values, graph.constant(numbers.scale))
    missing = graph.op("IsNaN", values)
    fill = graph.constant((numbers.fill - numbers.shift) * numbers.scale)
    values = graph.op("Where", missing, fill, values)
    ends = (graph.constant(-FARTHEST), graph.constant(FARTHEST))
    values = graph.cast(graph.op("Clip", values, *ends), np.float32)
    if not len(numbers.gaps):
        return values
    gaps = graph.op("Gather", missing, graph.constant(numbers.gaps, np.int64), axis=1)
    return graph.op("Concat", values, graph.cast(gaps, np.float32), axis=1)


def spread(graph: Graph, matrix: str, encoding: Spread) -> str:
    """The matrix as networks and linear models take it, floats."""
    pieces = []
    if len(encoding.numeric):
        cells = graph.op("Gather", matrix, graph.constant(encoding.numeric, np.int64), axis=1)
        pieces.append(whitened(graph, cells, encoding.numbers))
    for column, levels in encoding.categories.items():
        cells = graph.op("Gather", matrix, graph.constant([column], np.int64), axis=1)
        if levels.levels:
            places = graph.constant(np.arange(len(levels.levels))[None, :])
            pieces.append(graph.cast(graph.op("Equal", cells, places), np.float32))
        if levels.gap:
            pieces.append(graph.cast(graph.op("IsNaN", cells), np.float32))
    return pieces[0] if len(pieces) == 1 else graph.op("Concat", *pieces, axis=1)


def binned(graph: Graph, matrix: str, encoding: Binned) -> str:
    """The matrix as `Binned.encode` makes it, floats."""
    pieces = [spread(graph, matrix, encoding.spread)]
    ends = (graph.constant(0.0), graph.constant(1.0))
    for column, edges in zip(encoding.spread.numeric, encoding.edges, strict=True):
        if len(edges) < 2:
            continue
        cells = graph.op("Gather", matrix, graph.constant([column], np.int64), axis=1)
        cells = graph.op("Where", graph.op("IsNaN", cells), graph.constant(edges[0]), cells)
        above = graph.op("Sub", cells, graph.constant(edges[None, :-1]))
        come = graph.op("Div", above, graph.constant(np.diff(edges)[None, :]))
        pieces.append(graph.cast(graph.op("Clip", come, *ends), np.float32))
    return graph.op("Concat", *pieces, axis=1)


def feeds(reader: Any, x: Any) -> dict[str, npt.NDArray[Any]]:
    """The user's rows as inputs of the graph, by name."""
    if isinstance(reader, Columns):
        return {NUMBERS: np.asarray(x, np.float64)}
    if isinstance(reader, Images):
        return {IMAGES: np.asarray(x, np.float32)}
    if isinstance(reader, AsGiven):
        return {OUTPUTS: np.asarray(x, np.float64)}
    frame, opened = reader.frame, frames.opened(x)
    inputs: dict[str, npt.NDArray[Any]] = {}
    if frame.numeric:
        inputs[NUMBERS] = frames.doubles(opened, frame.numeric)
    if frame.levels:
        columns = [_texts(levels, opened[name]) for name, levels in frame.levels.items()]
        inputs[CATEGORIES] = np.stack(columns, axis=1)
    return inputs


def _texts(levels: Levels, column: Any) -> npt.NDArray[np.object_]:
    """Cells as the graph knows them: levels as training saw them."""
    cells = np.empty(len(column), object)
    cells[:] = frames.levels_as_text(column).to_list()
    places = frames.level_places(levels, column)
    cells[places >= 0] = np.array(levels.levels, object)[places[places >= 0]]
    cells[column.is_null().to_numpy()] = _MISSING
    return cells
