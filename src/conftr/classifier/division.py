"""Which examples train, which choose between models, and which calibrate.

Calibration examples are drawn uniformly, before anything is known of them: that makes them
exchangeable with the examples to come, and so the guarantee exact. They neither train nor choose.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.conformal import checks
from conftr.conformal.quantile import examples_needed

Rows: TypeAlias = npt.NDArray[np.intp]
Size: TypeAlias = float | int | None

_SHARE = 0.2  # of the examples, for calibration and for choosing each
_ENOUGH = 5000  # examples for either, unless alpha asks for more
_PRECISE = 100  # examples beyond the threshold that make calibration precise
_FEWEST = 100  # examples that can tell models apart


class Division(NamedTuple):
    """Rows of three parts; `validation` may be empty."""

    train: Rows
    validation: Rows
    calibration: Rows


def divide(
    labels: npt.NDArray[Any],
    *,
    alpha: float,
    seed: int,
    calibration: Size = None,
    validation: Size = None,
) -> Division:
    """Divide n examples with labels (n,) in 0..K-1.

    calibration, validation: a number of examples, a share of them, or None for what is sensible:
        a fifth each, fewer of many, for calibration at least what alpha needs, and no validation
        where it would be too small to tell models apart.
    """
    n = len(labels)
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
    generator = np.random.default_rng(seed)
    order = generator.permutation(n)
    rest = order[n_calibration:]
    chosen = _stratified(labels[rest], n_validation, generator)
    return Division(np.sort(rest[~chosen]), np.sort(rest[chosen]), np.sort(order[:n_calibration]))


def held_out(labels: npt.NDArray[Any], *, alpha: float, seed: int) -> tuple[Rows, Rows]:
    """Of training examples with labels (n,): which still train, and which tell settings apart.

    A fifth of them, fewer of many; none where that would be too few to tell them apart.
    """
    generator = np.random.default_rng([seed, 1])
    order = generator.permutation(len(labels))
    chosen = _stratified(labels[order], _for_validation(len(labels), alpha), generator)
    return np.sort(order[~chosen]), np.sort(order[chosen])


def _for_calibration(n: int, alpha: float) -> int:
    """A fifth; more where alpha needs it, up to a third (half at the most); never very many."""
    needed = examples_needed(alpha)
    wanted = min(round(_SHARE * n), max(_ENOUGH, round(_PRECISE / alpha)))
    if wanted < 4 * needed:
        wanted = min(4 * needed, n // 3)
    if wanted < needed <= n // 2:
        wanted = needed
    return max(1, wanted)


def _for_validation(n: int, alpha: float) -> int:
    """A fifth, never very many; none if half of it could not calibrate, or says too little."""
    wanted = min(round(_SHARE * n), _ENOUGH)
    return wanted if wanted >= max(_FEWEST, 2 * examples_needed(alpha)) else 0


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
