"""Which examples test, which calibrate, which choose between models, and which train.

A seed puts examples into an order that depends on what each of them holds and on nothing else. Test
examples are the first of it, calibration examples those that follow: drawn uniformly, without a
look at their classes. That makes them exchangeable with the examples to come, and so the guarantee
exact. However many are tested and calibrated on, the last 40 % of the order are neither: settings
can be compared on them without harm to any fit with the same seed.

Copies of an example have one place in the order, so that no part knows an example of another. They
train, but one of them alone tests, calibrates or chooses: new examples come once. What stands far
more often than other rows, and under several classes, is no copy but an answer that many give: new
examples give it as often, so each of its rows has a place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state  # type: ignore[import-untyped]

from conftr.conformal import checks
from conftr.conformal.quantile import examples_needed
from conftr.data.dataset import permutation
from conftr.features import rows as contents

Rows: TypeAlias = npt.NDArray[np.intp]
Size: TypeAlias = float | int | None

_SHARE = 0.2  # of the examples, for calibration and for choosing each
_ENOUGH = 5000  # examples for either, unless alpha asks for more
_PRECISE = 100  # examples beyond the threshold that make calibration precise
_FEWEST = 100  # examples that can tell models apart
_HELD_OUT = 0.6  # of the examples at the most test and calibrate
_OFTEN = 20  # times as often as most rows: nobody copies one row alone so many times


@dataclass(frozen=True, eq=False)
class Order:
    """The order in which examples are drawn.

    Attributes:
        places: Of each of n rows, (n,), from 0; copies of one example have the same.
        digests: Of what each row holds, (n,).
        copies: How many rows have the place of another.
        twins: How many rows equal another by chance.
        common: Digests of what rows hold far more often than others, under several classes.
    """

    places: Rows
    digests: contents.Digests
    copies: int = 0
    twins: int = 0
    common: contents.Digests = field(default_factory=lambda: np.zeros(0, np.uint64))

    @property
    def examples(self) -> int:
        """How many different examples there are."""
        return len(self.places) - self.copies

    def after(self, count: int) -> tuple[Rows, Order]:
        """The rows behind the first `count` places, and their order."""
        rows = np.flatnonzero(self.places >= count)
        copies = len(rows) - (self.examples - count)
        places, digests = self.places[rows] - count, self.digests[rows]
        return rows, Order(places, digests, copies, self.twins, self.common)

    def one_each(self, seed: int) -> Rows:
        """A row for each example, in their order; of copies, which may differ in class, any."""
        shuffled = permutation(len(self.places), seed)
        _, first = np.unique(self.places[shuffled], return_index=True)
        return shuffled[first]

    @property
    def most_held_out(self) -> int:
        """How many examples may test and calibrate."""
        return math.floor(_HELD_OUT * self.examples) + 1

    @property
    def never_held_out(self) -> Rows:
        """The rows that no fit with this seed tests or calibrates on."""
        return self.after(self.most_held_out)[0]


def order(x: Any, seed: int, y: npt.NDArray[Any] | None = None) -> Order:
    """The order of the n rows of x: a random one, but by what they hold, for each seed.

    Args:
        x: as in `conftr.features.rows.digests`.
        seed: of the order. The same rows in another file, or among others, stand in the same order.
        y: Classes (n,), if they are known. What stands far more often than other rows, and not
            always under one class, is no copy.

    Returns:
        Places, which copies of a row share. Rows that are equal by chance have one each.
    """
    keys = contents.digests(x)
    again = _times_before(keys)
    repeated = int(np.count_nonzero(again))
    common = keys[:0] if y is None or not repeated else _common(keys, y)
    alone = np.isin(keys, common)
    others = int(np.count_nonzero(again[~alone]))
    few = (len(keys) - repeated) ** 2 <= len(keys)  # nobody copies each row so many times
    if others and (few or contents.by_chance(x, ~alone)):
        return Order(_places(keys + again * contents.STEP, seed), keys, twins=repeated)
    places = _places(keys + np.where(alone, again, 0).astype(np.uint64) * contents.STEP, seed)
    return Order(places, keys, copies=others, twins=repeated - others, common=common)


def _common(keys: contents.Digests, y: npt.NDArray[Any]) -> contents.Digests:
    """What stands far more often than most rows do, and under several classes."""
    different, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    often = counts >= _OFTEN * np.median(counts)
    rows = np.flatnonzero(often[places])
    several = np.zeros(len(different), bool)
    first: dict[int, Any] = {}
    for place, label in zip(places[rows].tolist(), y[rows].tolist(), strict=True):
        several[place] |= first.setdefault(place, label) != label
    return different[several]


def by_number(n: int, seed: int) -> Order:
    """The order of n rows that are all different, whatever they hold."""
    numbers = np.arange(n, dtype=np.uint64)
    return Order(_places(numbers, seed), numbers)


def seed_of(random_state: Any) -> int:
    """The seed that a random state of scikit-learn gives."""
    return int(check_random_state(random_state).randint(2**31 - 1))


class Division(NamedTuple):
    """Rows of three parts; `validation` may be empty."""

    train: Rows
    validation: Rows
    calibration: Rows


def divide(
    labels: npt.NDArray[Any],
    drawn: Order,
    *,
    alpha: float,
    seed: int,
    calibration: Size = None,
    validation: Size = None,
) -> Division:
    """Divide n examples with labels (n,) in 0..K-1.

    Args:
        drawn: The order in which they are drawn. Of copies, one calibrates or chooses; all train.
        calibration: A number of examples, a share of them, or None for what is sensible: a fifth
            each, fewer of many, for calibration at least what alpha needs, and no validation where
            it would be too small to tell models apart.
        validation: Likewise.
    """
    n_calibration, n_validation = _sizes(drawn.examples, alpha, calibration, validation)
    one_each = drawn.one_each(seed)
    rest = one_each[n_calibration:]
    rest = np.random.default_rng(seed).permutation(rest)
    chosen = _stratified(labels[rest], n_validation, np.random.default_rng([seed, 3]))
    train = np.isin(drawn.places, drawn.places[rest[~chosen]])
    return Division(np.flatnonzero(train), np.sort(rest[chosen]), np.sort(one_each[:n_calibration]))


def calibration_size(examples: int, alpha: float) -> int:
    """How many of so many examples calibrate, where nothing else was asked for."""
    return _sizes(examples, alpha, None, 0)[0]


def _sizes(n: int, alpha: float, calibration: Size, validation: Size) -> tuple[int, int]:
    """How many of n examples calibrate and how many choose."""
    n_calibration = _count(calibration, n, "calibration_size")
    if n_calibration is None:
        n_calibration = _for_calibration(n, alpha)
    n_validation = _count(validation, n, "validation_size")
    if n_validation is None:
        n_validation = _for_validation(n, alpha)
    if n_calibration < 1 or n - n_calibration - n_validation < 1:
        raise ValueError(
            f"calibration_size and validation_size must leave examples to train on, and at least "
            f"one to calibrate; of {n} examples they take {n_calibration} and {n_validation}."
        )
    if n_validation == 1:
        raise ValueError(
            "validation_size must be 0 or at least 2 examples: models are compared on one half of "
            "them after calibration on the other; got 1."
        )
    return n_calibration, n_validation


def _places(keys: npt.NDArray[np.uint64], seed: int) -> Rows:
    """The place of each key among the different ones (n,), in an order that the seed makes."""
    mixed = contents.mixed(keys ^ contents.mixed(np.array([seed], np.uint64)))
    return np.unique(mixed, return_inverse=True)[1].reshape(-1)


def _times_before(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """How many rows before it have the key of each row, (n,)."""
    ordered = np.argsort(keys, kind="stable")
    first = np.append(True, np.diff(keys[ordered]) != 0)[: len(keys)]
    starts = np.maximum.accumulate(np.where(first, np.arange(len(keys)), 0))
    times = np.empty(len(keys), np.uint64)
    times[ordered] = np.arange(len(keys)) - starts
    return times


def held_out(labels: npt.NDArray[Any], *, alpha: float, seed: int) -> tuple[Rows, Rows]:
    """Of training examples with labels (n,): which still train, and which tell settings apart.

    A fifth of them, fewer of many; none where that would be too few to tell them apart.
    """
    generator = np.random.default_rng([seed, 1])
    order = generator.permutation(len(labels))
    chosen = _stratified(labels[order], _for_validation(len(labels), alpha), generator)
    return np.sort(order[~chosen]), np.sort(order[chosen])


def _for_calibration(n: int, alpha: float) -> int:
    """How many of n examples calibrate.

    A fifth of them, and no more than make thresholds precise. Where alpha needs more, up to a
    third; half of them if it takes so many for any threshold at all.
    """
    needed = examples_needed(alpha)
    count = round(min(_SHARE * n, max(_ENOUGH, _PRECISE / alpha)))
    if count < 4 * needed:
        count = min(4 * needed, n // 3)
    if count < needed <= n // 2:
        count = needed
    return max(1, count)


def _for_validation(n: int, alpha: float) -> int:
    """How many of n examples choose between models.

    A fifth of them, up to a limit. None where they would be too few to tell models apart, or half
    of them too few to calibrate at alpha.
    """
    count = min(round(_SHARE * n), _ENOUGH)
    return count if count >= max(_FEWEST, 2 * examples_needed(alpha)) else 0


def _count(size: Size, n: int, name: str) -> int | None:
    """A number of examples, from a number or a share of n."""
    if size is None:
        return None
    checks.number(size, name, at_least=0)
    if isinstance(size, int | np.integer):
        return int(size)
    if size >= 1:
        raise ValueError(f"{name} must be a whole number or a share below 1; got {size!r}.")
    return round(float(size) * n)


def _stratified(
    labels: npt.NDArray[Any], size: int, generator: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Which of the examples, already in random order, are chosen: `size`, evenly over the classes.

    The first of each class is not, as long as others are left: a class must be met in training.
    """
    by_class = np.argsort(labels, kind="stable")
    first = np.append(True, np.diff(labels[by_class]) != 0)[: len(labels)]
    free = by_class[~first]
    if len(free) < size:
        free = np.concatenate([free, by_class[first]])
    # Every (len(free) / size)-th of them, from a random start.
    steps = (np.arange(size) + generator.random()) * len(free) / max(size, 1)
    chosen = np.zeros(len(labels), bool)
    chosen[free[steps.astype(np.intp)]] = True
    return chosen
