"""Answers as a file: a row for each row asked about, written as they come, whole or not there.

row         1 for the first
...         columns copied from the file asked about
set         the classes, likeliest first; joined by "|" in .csv and .tsv, a list elsewhere
size        how many they are
likeliest   the class with the highest probability, in the set or not
p_CLASS     the probability of each class
pvalue_CLASS  its p-value, where asked for: it is in the set at alpha if that exceeds alpha

In .csv and .tsv a class that a spreadsheet would take for a formula, such as =1+1, has a ' in front
(see `conftr.data.spreadsheets`); copied columns are as they were.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt
import polars as pl
from polars.io.plugins import register_io_source

from conftr.conformal.arrays import log_softmax
from conftr.data import DataError, spreadsheets
from conftr.machine import disk
from conftr.machine.threads import Started

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

_JOIN, _DIGITS = "|", 6
_SINKS: Mapping[str, Callable[..., Any]] = {
    ".csv": partial(pl.LazyFrame.sink_csv, float_precision=_DIGITS),
    ".tsv": partial(pl.LazyFrame.sink_csv, float_precision=_DIGITS, separator="\t"),
    ".parquet": pl.LazyFrame.sink_parquet,
    ".jsonl": pl.LazyFrame.sink_ndjson,
}


def frame(
    first: int,
    sets: npt.NDArray[np.bool_],
    logits: npt.NDArray[Any],
    classes: Sequence[str],
    kept: pl.DataFrame,
    *,
    with_probabilities: bool = True,
    p_values: npt.NDArray[Any] | None = None,
) -> pl.DataFrame:
    """The answers to rows `first`, `first` + 1, ... with sets, logits and p-values (n, K).

    Classes are ordered by logits, because very small probabilities are equal to 0.
    """
    n = len(sets)
    rows, members = np.nonzero(sets)
    likeliest_first = np.lexsort((-logits[rows, members], rows))
    names = pl.Series(classes, dtype=pl.String)
    listed = (
        pl.DataFrame({"row": rows, "set": names.gather(members)})
        .select(pl.all().gather(likeliest_first))
        .group_by("row", maintain_order=True)
        .agg("set")
    )
    answers = (
        pl.DataFrame({"row": np.arange(n)})
        .join(listed, on="row", how="left", maintain_order="left")
        .select(pl.col("set").fill_null([]))
    )
    columns = [
        pl.Series("row", np.arange(first, first + n)),
        *kept.iter_columns(),
        answers["set"],
        pl.Series("size", sets.sum(axis=1)),
        names.gather(logits.argmax(axis=1)).alias("likeliest"),
    ]
    if with_probabilities:
        probabilities = np.exp(log_softmax(logits))
        columns += [pl.Series(f"p_{name}", probabilities[:, k]) for k, name in enumerate(classes)]
    if p_values is not None:
        columns += [pl.Series(f"pvalue_{name}", p_values[:, k]) for k, name in enumerate(classes)]
    return pl.DataFrame(columns)


def check(out: Path | TextIO, file: Path, classes: Sequence[str], kept: Sequence[str]) -> None:
    """Raise, before any work, where answers could not be written as wanted.

    Args:
        file: The file asked about, which they may not replace.
    """
    suffix = out.suffix if isinstance(out, Path) else ".csv"
    if suffix not in _SINKS:
        raise DataError(f"--out must be a {', '.join(_SINKS)} file; got {out}.")
    if isinstance(out, Path):
        _check_place(out, file)
    taken_by_answers = answer_columns(classes)
    taken = [name for name in kept if name in taken_by_answers]
    if taken:
        raise DataError(f"--keep {taken[0]!r} is the name of a column of the answers themselves.")
    odd = [name for name in classes if _JOIN in name]
    if suffix in (".csv", ".tsv") and odd:
        raise DataError(
            f"the class {odd[0]!r} holds {_JOIN!r}, which stands between the classes of a set in "
            f"{suffix} files: write to a .parquet or .jsonl file."
        )


def answer_columns(classes: Sequence[str]) -> set[str]:
    """The columns that answers may have themselves."""
    fixed = {"row", "set", "size", "likeliest"}
    return fixed | {f"{kind}_{name}" for name in classes for kind in ("p", "pvalue")}


def _check_place(out: Path, file: Path) -> None:
    if not out.parent.is_dir():
        raise DataError(f"there is no folder {out.parent} for --out.")
    if out.is_dir():
        raise DataError(f"--out must be a file; {out} is a folder.")
    if out.exists() and file.exists() and out.samefile(file):
        raise DataError(f"--out {out} is the file that is asked about, and would replace it.")
    fault = disk.why_not_writable(out.parent)
    if fault:
        raise DataError(f"--out {out} cannot be written: {fault}.")


def write(frames: Iterator[pl.DataFrame], out: Path | TextIO) -> None:
    """Write frames of one schema to a file of the kind that its name says, or print them as CSV.

    A file is written beside its place and renamed when it is whole. What a process that was killed
    left beside it is written over.
    """
    if not isinstance(out, Path):
        _print(frames, out)
        return
    beside = out.with_name(f".{out.name}.conftr-part")
    with contextlib.ExitStack() as cleaning:
        with disk.uninterrupted():  # or what is made here could be left behind
            cleaning.enter_context(_alone(beside, out))
            cleaning.callback(beside.unlink, missing_ok=True)
        _sink(frames, out.suffix, beside)
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        with disk.uninterrupted():
            beside.replace(out)


@contextlib.contextmanager
def _alone(beside: Path, out: Path) -> Iterator[None]:
    """Refuse to write where another process is writing; where the system has no locks, do not."""
    with beside.open("ab") as held:
        if fcntl is not None:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DataError(f"another process is writing {out}: wait for it.") from None
        yield


def _print(frames: Iterator[pl.DataFrame], out: TextIO) -> None:
    try:
        for i, frame in enumerate(map(_joined, frames)):
            out.write(frame.write_csv(include_header=i == 0, float_precision=_DIGITS))
        out.flush()
    except BrokenPipeError:
        # The reader has seen enough; nothing is left to be flushed at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def _joined(frame: pl.DataFrame) -> pl.DataFrame:
    """Sets as text, safe in a spreadsheet; one without a class is an empty cell."""
    names = pl.col("set").list.eval(_harmless(pl.element())).list.join(_JOIN)
    text = pl.when(pl.col("size") > 0).then(names)
    return frame.with_columns(set=text, likeliest=_harmless(pl.col("likeliest")))


def _harmless(texts: pl.Expr) -> pl.Expr:
    """Treat a column as `spreadsheets.cell` treats a cell."""
    number = texts.str.contains(spreadsheets.NUMBER)
    is_formula = texts.str.contains(spreadsheets.FORMULA) & ~number
    return pl.when(is_formula).then(pl.lit("'") + texts).otherwise(texts)


def _sink(frames: Iterator[pl.DataFrame], kind: str, place: Path) -> None:
    if kind in (".csv", ".tsv"):
        frames = map(_joined, frames)
    first = next(frames)
    stop = threading.Event()

    def source(*_: Any) -> Iterator[pl.DataFrame]:
        for frame in chain([first], frames):
            if stop.is_set():
                raise KeyboardInterrupt
            yield frame

    lazy = register_io_source(source, schema=first.schema)
    # In a thread of its own: Ctrl-C is heard at once and not when the last row is written.
    written = Started(partial(_SINKS[kind], lazy, place, maintain_order=True))
    try:
        written.result()
    except BaseException:
        stop.set()
        with contextlib.suppress(BaseException):
            written.result()
        raise
