"""The exported graph beside the classifier: equal sets, or larger ones where rounding decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.classifier.stack import Stack
from conftr.exporting.graph import ExportError
from conftr.features.codes import Columns
from conftr.features.columns import Numbers
from conftr.features.frame_columns import FrameColumns
from conftr.features.images import Images
from conftr.features.spread import Spread

Feeds: TypeAlias = Mapping[str, npt.NDArray[Any]]

_MADE_UP = 512
_FAR = 1e-3  # by which log-probabilities may differ; more is no rounding
_SAFETY = 4.0  # times the largest difference seen is what rounding may do elsewhere


class Rounding(NamedTuple):
    """What the rounding of a runtime may change.

    Attributes:
        logs: Of a log-probability.
        score: Of a score whose class keeps its rank.
    """

    logs: float
    score: float


NO_ROUNDING = Rounding(0.0, 0.0)


def session(content: bytes) -> Any:
    """A session of onnxruntime."""
    try:
        import onnxruntime  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise ExportError(
            "an export is checked in onnxruntime, which is not installed: "
            "pip install 'conftr[onnx]'."
        ) from None
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3  # it warns of inputs that have a default
    return onnxruntime.InferenceSession(content, settings, providers=["CPUExecutionProvider"])


def rounding(
    content: bytes, given: Feeds, logits: npt.NDArray[Any], score: Callable[[Any], Any]
) -> Rounding:
    """What the rounding of the runtime may change of what decides.

    Args:
        content: The graph.
        given: Rows.
        logits: What the classifier says of them.
        score: Its score.

    Returns:
        Several times the largest differences on these rows.

    Raises:
        ExportError: If they differ by more than rounding.
    """
    (logs,) = session(content).run(["log_probabilities"], dict(given))
    gap = float(np.max(np.abs(logs - _log_softmax(logits)), initial=0.0))
    if not gap < _FAR:
        raise ExportError(
            f"the exported graph answers otherwise than the classifier, by {gap:g} in a "
            f"log-probability: this is a fault of the export, and nothing was written."
        )
    scores = np.asarray(score(_log_softmax(logits)), np.float64)
    same = np.asarray(score(logs), np.float64)
    apart = np.abs(scores - same)
    # Scores that jump where logits move by rounding would make any margin too large.
    largest = max(gap, float(np.max(apart[apart < _FAR], initial=0.0)))
    return Rounding(_SAFETY * gap, _SAFETY * largest)


def compare(
    content: bytes, given: Feeds, sets: npt.NDArray[np.bool_], allowed: float
) -> npt.NDArray[np.bool_]:
    """The sets of the graph, refused where one lacks a class that the classifier's has.

    Raises:
        ExportError: If so, or if sets are larger than rounding explains.
    """
    (made,) = session(content).run(["sets"], dict(given))
    if (sets & ~made).any():
        row = int(np.flatnonzero((sets & ~made).any(axis=1))[0])
        raise ExportError(
            f"the exported graph leaves a class out of the set of row {row} that the classifier "
            f"has in it; nothing was written."
        )
    grown = int((made & ~sets).any(axis=1).sum())
    if grown > 1 + len(sets) // 100:
        raise ExportError(
            f"the exported graph has larger sets than the classifier for {grown} of {len(sets)} "
            f"rows, more than rounding explains ({allowed:g} of a score); nothing was written."
        )
    grown_sets: npt.NDArray[np.bool_] = np.asarray(made, bool)
    return grown_sets


def made_up(stack: Stack, classes: int) -> Any:
    """Rows to compare on where none are given: plausible, odd and missing values."""
    rng, reader = np.random.default_rng(0), stack.reader
    if isinstance(reader, Columns):
        return _numbers(rng, *_spread(stack, reader.width))
    if isinstance(reader, Images):
        scale = 1 / np.maximum(np.asarray(reader.scale), 1e-12)
        noise = rng.normal(size=(_MADE_UP, *reader.inputs))
        return (np.asarray(reader.shift) + scale * noise).astype(np.float32)
    if isinstance(reader, FrameColumns):
        return _frame(rng, reader)
    logits = rng.normal(size=(_MADE_UP, classes)) * 3
    return np.exp(_log_softmax(logits))  # sum to 1, and are logits as well


def _frame(rng: np.random.Generator, reader: FrameColumns) -> Any:
    import polars as pl

    frame = reader.frame
    values = _numbers(rng, *_of_numbers(frame.numbers))
    columns = {name: pl.Series(values[:, j]) for j, name in enumerate(frame.numeric)}
    for name, known in frame.levels.items():
        levels = [*known.levels, "something else", None]
        columns[name] = pl.Series([levels[i] for i in rng.integers(0, len(levels), _MADE_UP)])
    ordered = {name: columns[name] for name in frame.names}
    return pl.DataFrame(ordered).with_columns(pl.col(frame.numeric).fill_nan(None))


def _spread(stack: Stack, width: int) -> tuple[Any, Any]:
    """Middle and spread of the columns of an array, where a member has learned them."""
    models = [model for member in stack.members for model in member.models]
    for model in models:
        known = getattr(model, "spread", None) or getattr(model, "encoding", None)
        if isinstance(known, Spread):
            return _of_numbers(known.numbers)
    return np.zeros(width), np.ones(width)


def _of_numbers(numbers: Numbers) -> tuple[Any, Any]:
    tells = numbers.scale > 0
    return numbers.shift, np.where(tells, 1 / np.where(tells, numbers.scale, 1), 1)


def _numbers(rng: np.random.Generator, shift: Any, scale: Any) -> npt.NDArray[np.float64]:
    numbers: npt.NDArray[np.float64] = shift + scale * rng.normal(size=(_MADE_UP, len(shift)))
    numbers[rng.random(numbers.shape) < 0.02] = np.nan
    return numbers


def _log_softmax(logits: Any) -> npt.NDArray[np.float64]:
    from conftr.conformal.arrays import log_softmax

    logs: npt.NDArray[np.float64] = log_softmax(np.asarray(logits, np.float64))
    return logs
