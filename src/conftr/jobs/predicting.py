"""Sets for the rows of a file of any size, some rows at a time, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt
import polars as pl

from conftr.classifier import artefact
from conftr.classifier.calibration import Groups
from conftr.classifier.estimator import ConformalClassifier
from conftr.classifier.stack import Answers, Stack
from conftr.data import DataError
from conftr.data.pictures import SMALL, PictureShape
from conftr.data.user_files import CELLS, Inputs, Roles, RowBlock, blocks, by_text, places, tables
from conftr.features import unknown_levels
from conftr.features.codes import Columns
from conftr.features.frame_columns import FrameColumns
from conftr.features.frozen_pictures import FrozenPictures
from conftr.features.images import Images
from conftr.features.text_columns import NgramColumns, TextColumns, WordColumns
from conftr.features.texts import long_texts, long_texts_sentence
from conftr.jobs import answers
from conftr.machine.cluster import HERE, Executor, spread
from conftr.report.numbers import rounded

# What reads data frames: columns by name.
_OF_FRAMES = (FrameColumns, TextColumns, NgramColumns, WordColumns)


@dataclass(frozen=True)
class Request:
    """What to answer.

    Attributes:
        alpha: None for that of the classifier.
        target: The column of true classes, which the file need not have.
        keep: Columns to copy; texts are copied in any case.
        probabilities: Whether to write them.
        p_values: Whether to write them.
        picture: The column of paths of pictures, as in `Roles`.
    """

    alpha: float | None = None
    target: str | None = None
    keep: tuple[str, ...] = ()
    probabilities: bool = True
    p_values: bool = False
    picture: str | None = None


@dataclass
class Counts:
    """What was counted on the way: rows, classes in their sets, and sets without any.

    Attributes:
        labelled: Rows that have a label.
        covered: Of these, by their sets.
        strangers: Of these, with a label that is no class.
        unseen: Rows of a group that has no threshold.
        long: Texts that are not read to their end.
        categories: Of each column of categories, how many cells are filled, and how many of these
            training did not see.
    """

    rows: int = 0
    classes: int = 0
    empty: int = 0
    labelled: int = 0
    covered: int = 0
    strangers: int = 0
    unseen: int = 0
    long: int = 0
    categories: unknown_levels.Counts = field(default_factory=dict)

    def add(self, other: Counts) -> None:
        """Count what was counted elsewhere too."""
        for name, count in vars(other).items():
            if name != "categories":
                setattr(self, name, getattr(self, name) + count)
        self.categories = unknown_levels.added(self.categories, other.categories)


def predict(
    clf: ConformalClassifier,
    path: Path,
    out: Path | TextIO,
    request: Request,
    progress: Callable[[int], None],
    executor: Executor = HERE,
) -> Counts:
    """Write the set of every row of a file to another, or print them. See `answers`.

    Args:
        progress: Called with the number of rows done.
        executor: Where blocks of rows are answered; what is written does not depend on it.
    """
    names = list(by_text(clf.classes_.tolist()))
    beside = [name for name in _texts_of(clf) if name not in answers.answer_columns(names)]
    request = replace(request, keep=tuple(dict.fromkeys([*beside, *request.keep])))
    answers.check(out, path, names, request.keep)
    if request.alpha is not None:
        clf.calibration_.warn(request.alpha)
    tally = Counts()
    answers.write(_frames(clf, path, request, tally, progress, executor), out)
    return tally


def inputs_of(clf: ConformalClassifier, path: Path, others: Iterable[str | None]) -> Inputs:
    """What a classifier takes from a file.

    Of a table, outputs of another system are the columns with the names of the classes. Where the
    classifier learned from an array (n, d), all columns but `others` are taken, in their order.
    """
    stack = clf.candidates_[0].stack
    if stack.of_outputs:
        names = tuple(by_text(clf.classes_.tolist()))
        return Inputs(names, names) if tables.is_table(path) else Inputs()
    taken = _pictures_of(stack)
    if taken is not None and (path.is_dir() or tables.is_table(path)):
        return Inputs(pictures=taken, classes=tuple(by_text(clf.classes_.tolist())))
    if isinstance(stack.reader, _OF_FRAMES):
        return Inputs(stack.reader.names, stack.reader.numeric)
    if not isinstance(stack.reader, Columns) or not tables.is_table(path):
        return Inputs()
    names = tuple(name for name in tables.columns(path) if name not in set(others))
    if len(names) != clf.n_features_in_:
        raise DataError(
            f"{path} must have {clf.n_features_in_} columns of numbers, as the array that the "
            f"model learned from; it has {len(names)}, without the target and those to be kept."
        )
    return Inputs(names, names)


def _pictures_of(stack: Stack) -> PictureShape | None:
    """(height, width, channels) that a stack takes of picture files; None if it takes none."""
    for member in stack.members:
        if isinstance(member.reader, FrozenPictures):
            return member.reader.of_files
        if isinstance(member.reader, Images) and member.reader.of_bytes:
            shape = (*member.reader.inputs, 1)[:3]
            if max(shape[:2]) <= SMALL and shape[2] in (1, 3):
                return shape
    return None


def _texts_of(clf: ConformalClassifier) -> tuple[str, ...]:
    """The columns of texts that a classifier takes."""
    return tuple(getattr(clf.candidates_[0].stack.reader, "texts", ()))


def as_taken(clf: ConformalClassifier, X: Any) -> Any:
    """Rows as the classifier takes them: a frame if it learned from one, else an array."""
    return X if isinstance(clf.candidates_[0].stack.reader, _OF_FRAMES) else np.asarray(X)


def group_column(clf: ConformalClassifier) -> str | None:
    """The column whose groups have thresholds of their own; None where there are no such groups."""
    by = clf.calibration_.by
    if by.kind == "column" and by.column is None:
        raise DataError(
            "the model has a threshold for each group, and the groups were given without a name: "
            "no column of a file is known to hold them. Fit or calibrate it with a named series "
            "as groups."
        )
    return by.column


def target_of(model: Path) -> str | None:
    """The column of the classes that a saved classifier learned from, if that is known."""
    shown = artefact.evidence(model)
    return None if shown is None else shown.provenance.get("target")


def words(tally: Counts, request: Request) -> str:
    """What was counted, in a sentence or two."""
    if not tally.rows:
        return "there are no rows."
    sentences = [f"{tally.rows:,} rows, {rounded(tally.classes / tally.rows, 2)} classes a set."]
    if tally.empty:
        sentences.append(f"{tally.empty:,} sets hold no class: nothing is likely enough.")
    if tally.labelled:
        share = rounded(100 * tally.covered / tally.labelled, 1)
        sentences.append(
            f"{share} % of the {tally.labelled:,} sets whose {request.target or 'y'!r} is "
            f"known hold it."
        )
    if tally.strangers:
        sentences.append(
            f"{tally.strangers:,} of these rows are of classes that the model never met."
        )
    if tally.unseen:
        sentences.append(
            f"{tally.unseen:,} rows are of groups without a threshold: they get every class."
        )
    if tally.long:
        sentences.append(long_texts_sentence(tally.long))
    unknown = unknown_levels.sentence(tally.categories)
    if unknown:
        sentences.append(f"{unknown[0].upper()}{unknown[1:]}")
    return " ".join(sentences)


def _frames(
    clf: ConformalClassifier,
    path: Path,
    request: Request,
    tally: Counts,
    progress: Callable[[int], None],
    executor: Executor,
) -> Iterator[pl.DataFrame]:
    roles = Roles(request.target, groups=group_column(clf), picture=request.picture)
    inputs = inputs_of(clf, path, [roles.target, roles.groups, *request.keep])
    rows = CELLS // max(len(clf.classes_), _width(clf)) + 1
    read_blocks = blocks(path, inputs, roles, keep=request.keep, rows=rows)
    for _, (frame, counted) in spread(
        partial(_answered, clf, path, request), read_blocks, executor
    ):
        tally.add(counted)
        progress(tally.rows)
        yield frame


def _width(clf: ConformalClassifier) -> int:
    """How many numbers a row becomes, where it has texts: many more than cells."""
    readers = {id(member.reader): member.reader for member in clf.candidates_[0].stack.members}
    wide = (TextColumns, WordColumns)
    return sum(reader.width for reader in readers.values() if isinstance(reader, wide))


def _answered(
    clf: ConformalClassifier, path: Path, request: Request, block: RowBlock
) -> tuple[pl.DataFrame, Counts]:
    """The task: the answers to some rows, and what was counted on them."""
    classes, tally = clf.classes_.tolist(), Counts()
    logits, scores = answers_of(clf, block, path)
    rows = clf.calibration_.places(block.groups, len(logits))
    sets = _sets(clf, scores, rows, request.alpha, tally)
    _count(tally, sets, block, classes)
    tally.long += long_texts(block.X, _texts_of(clf))
    tally.categories = unknown_levels.counted(clf.candidates_[0].stack.reader, block.X)
    frame = answers.frame(
        block.first,
        sets,
        logits,
        list(by_text(classes)),
        block.kept,
        with_probabilities=request.probabilities,
        p_values=clf.calibration_.p_values(scores, rows) if request.p_values else None,
    )
    return frame, tally


def answers_of(clf: ConformalClassifier, block: RowBlock, path: Path) -> Answers:
    """What is said of some rows of a file, refused with the place where it cannot be read."""
    try:
        return clf.candidates_[0].stack.answers(as_taken(clf, block.X), clf.score_)
    except ValueError as fault:
        raise DataError(f"{path}, from row {block.first}: {fault}") from fault


def _sets(
    clf: ConformalClassifier,
    scores: npt.NDArray[Any],
    rows: Groups,
    alpha: float | None,
    tally: Counts,
) -> npt.NDArray[np.bool_]:
    if rows is not None:
        tally.unseen += int(np.count_nonzero(rows < 0))
    level = clf.alpha_ if alpha is None else alpha
    return clf.calibration_.sets(scores, rows, level)


def _count(
    tally: Counts, sets: npt.NDArray[np.bool_], block: RowBlock, classes: Sequence[Any]
) -> None:
    sizes = sets.sum(axis=1)
    tally.rows += len(sets)
    tally.classes += int(sizes.sum())
    tally.empty += int(np.count_nonzero(sizes == 0))
    if block.labels is None:
        return
    known = block.labels.is_not_null().to_numpy()
    truth = places(block.labels, classes)
    tally.labelled += int(np.count_nonzero(known))
    tally.strangers += int(np.count_nonzero(known & (truth < 0)))
    tally.covered += int(np.count_nonzero(sets[np.arange(len(sets)), truth] & (truth >= 0)))
