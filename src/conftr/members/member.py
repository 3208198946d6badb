"""The protocol of members: fitted on folds of training rows, asked for log-probabilities.

A member is fitted once for each fold, on the rows outside it, so that every training row has
log-probabilities of a model that never saw it. At prediction the models of the folds are averaged,
as log-probabilities: a mean of probabilities would be less certain than the single models were that
a head has learned from. Where a model can give a class no probability at all, because no leaf holds
it or its fold lacks it, the probabilities get a floor:

    log( (1 - FLOOR) p + FLOOR / K )

which does not change the order of a model's scores, and so not its sets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.conformal.arrays import log_softmax
from conftr.features import codes
from conftr.features.columns import Json
from conftr.machine.rows_on_disk import RowsOnDisk

Files: TypeAlias = dict[str, bytes]
Labels: TypeAlias = npt.NDArray[np.int32]
Numbers: TypeAlias = npt.NDArray[np.float64]
Rows: TypeAlias = npt.NDArray[np.intp]
Progress: TypeAlias = Callable[[int, int], None]

FLOOR = 1e-3
_TOGETHER = 2**22  # numbers of inputs on disk that are answered at a time


class MemberError(ValueError):
    """A member that cannot be fitted, saved or read, and what to do."""


class Fold(NamedTuple):
    """Rows that train a model, and the others, of which it gives out-of-fold answers."""

    train: Rows
    held: Rows


class Reader(Protocol):
    """What makes inputs of the user's rows."""

    def encode(self, x: Any, /) -> Any:
        """Inputs of n rows, with a first axis over rows."""

    def to_json(self) -> Json:
        """Give it as plain data."""


@dataclass(frozen=True, eq=False)
class MemberRows:
    """What members are fitted on.

    Attributes:
        X: The user's rows.
        labels: Their classes (n,) in 0..classes-1.
        names: The user's classes (K,), in the order of labels.
        weights: Of the rows (n,), if any.
        fit_params: What else the `fit` of a classifier of scikit-learn is given.
        texts: The columns of a data frame that hold texts; None recognises them.
    """

    X: Any
    labels: Labels
    classes: int
    names: Any = None
    weights: Numbers | None = None
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    texts: Sequence[str] | None = None
    _others: list[MemberRows] = field(default_factory=list, repr=False)

    def read_by(self, reader: Any, encode: Callable[[Any], Any] | None = None) -> MemberRows:
        """The same rows as another reader reads them, which it does once for all who ask.

        Args:
            reader: It lives as long as these rows do.
            encode: In place of `reader.encode`, where somebody watches.
        """
        known = (rows for rows in (self, *self._others) if rows.reader is reader)
        rows_read = next(known, None)
        if rows_read is None:
            rows_read = replace(self, _others=[])
            rows_read.__dict__["reader"] = reader  # where a cached_property looks first
            self._others.append(rows_read)
        if "inputs" not in rows_read.__dict__:
            rows_read.__dict__["inputs"] = (encode or reader.encode)(self.X)
        return rows_read

    @cached_property
    def reader(self) -> codes.RowReader:
        """How rows are read, learned once for all members."""
        return codes.learn(self.X, self.texts)

    @cached_property
    def inputs(self) -> Any:
        """The rows as `reader` reads them."""
        return self.reader.encode(self.X)

    def weights_of(self, fold: Fold) -> Numbers | None:
        """The weights of the rows that train a fold's model, if rows have any."""
        return None if self.weights is None else self.weights[fold.train]


class FittedModel(Protocol):
    """One fitted model.

    Attributes:
        kind: Names the module that loads it, as `conftr.members.loading` finds it.
        words: What it is, for people.
    """

    kind: ClassVar[str]

    @property
    def words(self) -> str: ...  # noqa: D102

    def logits(self, inputs: Any, /) -> Numbers:
        """Log-probabilities (n, K), or logits. A row's must not depend on the rows beside it."""

    def files(self) -> Files:
        """The model as files by name; raises `MemberError` where it cannot be saved."""


class Member(Protocol):
    """A kind of model with its settings.

    One whose folds know nothing of each other may have `by_fold = True`: fitted on fold i alone,
    with a seed i higher, it gives the very model i of all folds.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    def fit(
        self, rows: MemberRows, folds: Sequence[Fold], *, seed: int, progress: Progress
    ) -> list[FittedMember]:
        """Fit a model for each fold; several members where several settings are tried at once.

        Args:
            rows: The training rows.
            folds: Which of them train each model.
            seed: Of whatever is random in it.
            progress: Called with (steps done, steps in all); it may raise to end the work.
        """


@dataclass(frozen=True, eq=False)
class FittedMember:
    """Models of one kind, one for each fold, or one for all where it was not fitted here."""

    name: str
    reader: Reader
    models: tuple[FittedModel, ...]

    @property
    def words(self) -> str:
        """What it is."""
        several = f"{len(self.models)} x " * (len(self.models) > 1)
        return f"{self.name}: {several}{self.models[0].words}"

    def logits(self, x: Any) -> Numbers:
        """Log-probabilities (n, K) of n rows of the user's."""
        return self.answers(self.reader.encode(x))

    def answers(self, inputs: Any) -> Numbers:
        """Log-probabilities of rows that `reader` has encoded; a single model's as they are."""
        return averaged([_answers(model, inputs) for model in self.models])

    def out_of_fold(self, inputs: Any, folds: Sequence[Fold]) -> Numbers:
        """Log-probabilities (n, K) of training rows, each by the model that did not see it."""
        models = self.models if len(self.models) > 1 else self.models * len(folds)
        pairs = list(zip(models, folds, strict=True))
        answers = [_answers(model, inputs[fold.held]) for model, fold in pairs]
        out = np.zeros((len(inputs), answers[0].shape[1]))
        for answer, fold in zip(answers, folds, strict=True):
            out[fold.held] = answer
        return out


def _answers(model: FittedModel, inputs: Any) -> Numbers:
    """A model's log-probabilities; of rows on disk a block at a time."""
    if not isinstance(inputs, RowsOnDisk):
        return model.logits(inputs)
    return np.concatenate([model.logits(block) for block in inputs.blocks(_TOGETHER)])


def averaged(logits: Sequence[Numbers]) -> Numbers:
    """The mean of log-probabilities (n, K); a single model's logits as they are."""
    if len(logits) == 1:
        return logits[0]
    total = log_softmax(logits[0])
    for each in logits[1:]:
        total = total + log_softmax(each)
    mean: Numbers = total / len(logits)
    return mean


def floored(probabilities: Any) -> Numbers:
    """log( (1 - FLOOR) p + FLOOR / K ), (n, K)."""
    p = np.asarray(probabilities, np.float64)
    logs: Numbers = np.log((1 - FLOOR) * p + FLOOR / p.shape[1])
    return logs


def of_classes(probabilities: Any, known: Any, classes: int) -> Numbers:
    """Log-probabilities (n, classes) from probabilities of the classes that training rows held."""
    every = np.zeros((len(probabilities), classes))
    every[:, np.asarray(known, np.intp)] = probabilities
    return floored(every)


def all_log_probabilities(logits: Any, known: Any, classes: int) -> Numbers:
    """Log-probabilities (n, classes) from logits of the classes that training rows held.

    Where that was every class they are exact; otherwise they have the floor of `of_classes`.
    """
    logs: Numbers = log_softmax(logits)
    return logs if len(known) == classes else of_classes(np.exp(logs), known, classes)


def product(x: Any, matrix: Numbers, bias: Any = 0.0) -> Numbers:
    """b + x A, (n, k), one column of x (n, d) after the other.

    BLAS rounds by the number of rows; here a row's numbers are the same whatever stands beside it.
    """
    total = np.empty((matrix.shape[1], len(x)))
    total[:] = np.reshape(bias, (-1, 1))
    for column, row in zip(np.ascontiguousarray(x.T, np.float64), matrix, strict=True):
        total += row[:, None] * column
    return np.ascontiguousarray(total.T)


def fit_each(
    folds: Sequence[Fold], fit: Callable[[Fold], FittedModel], progress: Progress
) -> tuple[FittedModel, ...]:
    """A model for each fold, one after the other, with progress told before each and at the end."""
    models = []
    for number, fold in enumerate(folds):
        progress(number, len(folds))
        models.append(fit(fold))
    progress(len(folds), len(folds))
    return tuple(models)


def is_choice(known: Any, classes: int) -> bool:
    """Whether these are some of 0..classes-1, in order, as `of_classes` wants them."""
    places = np.asarray(known, np.int64)
    inside = len(places) > 0 and places[0] >= 0 and places[-1] < classes
    return inside and bool((np.diff(places) > 0).all())


def flat(inputs: Any) -> Any:
    """Inputs (n, d): a matrix as it is, images with their pixels in a row; read if on disk."""
    inputs = np.asarray(inputs) if isinstance(inputs, RowsOnDisk) else inputs
    return inputs if inputs.ndim == 2 else inputs.reshape(len(inputs), -1)
