"""What a loaded dataset is: three parts, class names, groups of classes, a normalisation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from conftr.data.errors import DataError
from conftr.machine.rows_on_disk import RowsOnDisk, moments

_SPLIT_SEED = 0

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float32]


class Examples(NamedTuple):
    """Inputs and their labels, row by row.

    Attributes:
        x: Inputs (n, ...).
        y: Labels (n,).
    """

    x: Array
    y: Array


@dataclass(frozen=True, eq=False)
class Normalisation:
    """Inputs enter a model as `(x - shift) * scale`, with one entry per channel or feature.

    It is kept beside the stored inputs, not applied to them: images stay bytes until the
    training step reads them.

    Attributes:
        shift: Taken off, (c,).
        scale: Multiplied with, (c,).
    """

    shift: FloatArray
    scale: FloatArray

    def __call__(self, x: Array) -> FloatArray:
        """The normalised inputs, in float32; the last axis of `x` is channels or features."""
        normalised: FloatArray = (x.astype(np.float32) - self.shift) * self.scale
        return normalised


@dataclass(frozen=True, eq=False)
class Dataset:
    """A dataset cut into training, calibration and test examples.

    Images are uint8 of shape (n, height, width, channels), grey ones with one channel; tables
    are float32 of shape (n, features); labels are int32 indices into `classes`.

    Attributes:
        name: As `conftr.data.load` takes it.
        x_train: Inputs that train.
        y_train: Their labels.
        x_cal: Inputs that calibrate.
        y_cal: Their labels.
        x_test: Inputs to test on.
        y_test: Their labels.
        classes: Names, in the order of labels.
        groups: Classes that belong together, by the name of the group.
        normalisation: What is done to inputs before a model sees them.
        held: How many examples at the end of the training split never train and only choose
            settings. Used where inputs are outputs of networks that were trained on the other
            examples.
    """

    name: str
    x_train: Array
    y_train: Array
    x_cal: Array
    y_cal: Array
    x_test: Array
    y_test: Array
    classes: tuple[str, ...]
    groups: Mapping[str, tuple[int, ...]]
    normalisation: Normalisation
    held: int = 0

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        for part in ("train", "cal", "test"):
            self._check_part(part, getattr(self, f"x_{part}"), getattr(self, f"y_{part}"))
        for group, members in self.groups.items():
            if not set(members) <= set(range(len(self.classes))):
                raise DataError(
                    f"groups[{group!r}] must hold indices of the {len(self.classes)} classes "
                    f"of {self.name!r}, got {members}."
                )

    def _check_part(self, part: str, x: Array, y: Array) -> None:
        if x.shape[1:] != self.x_train.shape[1:]:
            raise DataError(
                f"x_{part} of {self.name!r} must hold examples of shape {self.x_train.shape[1:]} "
                f"like x_train, got {x.shape[1:]}."
            )
        if y.shape != x.shape[:1]:
            raise DataError(
                f"y_{part} of {self.name!r} must have one label for each of the {len(x)} rows of "
                f"x_{part}, got shape {y.shape}."
            )
        if y.size and not (y.min() >= 0 and y.max() < len(self.classes)):
            raise DataError(
                f"y_{part} of {self.name!r} must lie in 0..{len(self.classes) - 1}, "
                f"got {y.min()}..{y.max()}."
            )


def split(examples: Examples, *sizes: int) -> tuple[Examples, ...]:
    """Shuffle the examples with the fixed seed and cut off parts of these sizes, in order.

    Files are often sorted (the last 5,000 MNIST training digits are the easiest), so a part cut
    off in file order would not be exchangeable with the others.
    """
    if sum(sizes) > len(examples.y):
        raise DataError(
            f"sizes must add up to at most the {len(examples.y)} examples there are, "
            f"got {sizes}, together {sum(sizes)}."
        )
    order = permutation(len(examples.y))
    ends = np.cumsum(sizes)
    places = [order[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    return tuple(Examples(examples.x[rows], examples.y[rows]) for rows in places)


def permutation(n: int, seed: int = _SPLIT_SEED) -> npt.NDArray[np.intp]:
    """The order in which a split takes n examples: the same on every machine and NumPy version."""
    # NumPy keeps the raw bits of a bit generator fixed for good, but not Generator.permutation.
    return np.argsort(np.random.PCG64(seed).random_raw(n), kind="stable")


def labels(values: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Labels in the one type that datasets use.

    Args:
        values: Whole numbers (n,).

    Returns:
        The same in int32.
    """
    return np.asarray(values).astype(np.int32)


def centre(top: float) -> Normalisation:
    """Bring inputs from [0, top] to [-1, 1].

    Args:
        top: The largest value, such as 255.

    Returns:
        What does it.
    """
    half = top / 2
    return Normalisation(np.array([half], np.float32), np.array([1 / half], np.float32))


def whiten(x_train: Array | RowsOnDisk) -> Normalisation:
    """Mean 0 and standard deviation 1 for each channel or feature of the training examples.

    A constant feature carries nothing: it becomes 0 and is not scaled.

    Args:
        x_train: Training inputs (n, ..., c).

    Returns:
        What does it.
    """
    if isinstance(x_train, RowsOnDisk):
        mean, std, constant = moments(x_train, x_train.shape[-1])
        return _whitening(mean, std, constant)
    columns = np.ascontiguousarray(x_train.reshape(-1, x_train.shape[-1]).T)
    mean = np.array([column.mean(dtype=np.float64) for column in columns])
    std = np.array([column.std(dtype=np.float64) for column in columns])
    # Compared value by value: rounding can leave a constant column a tiny deviation.
    constant = np.array([(column == column[0]).all() for column in columns])
    return _whitening(mean, std, constant)


def _whitening(mean: Array, std: Array, constant: Array) -> Normalisation:
    scale = 1 / np.where(constant, 1, std)
    return Normalisation(mean.astype(np.float32), scale.astype(np.float32))


def indices(classes: Sequence[str], names: Sequence[str]) -> tuple[int, ...]:
    """Where the named classes stand among all classes."""
    return tuple(classes.index(name) for name in names)
