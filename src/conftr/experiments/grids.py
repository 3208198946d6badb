"""What a sweep tries: values of each method's settings, and stages that narrow the field.

The paper's grid (app. F) and a thinned one are built in; `gridfile.py` reads any other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple, TypeAlias

from conftr.experiments.settings import METHODS, SMOOTH_SORT, Row
from conftr.experiments.specification import SCORES

Grid: TypeAlias = Mapping[str, Sequence[Any]]

_OF_EVERY_METHOD = ("model", "batch_size", "learning_rate", "weight_decay", "epochs")


class GridError(ValueError):
    """A grid that cannot be tried; the message says what is wrong with it."""


class Stage(NamedTuple):
    """Train for this share of the epochs on so many divisions, and keep so many of the best."""

    share: float = 1.0
    repeats: int = 1
    keep: int = 1


ONE_STAGE = (Stage(),)


class Wanted(NamedTuple):
    """What is to be tried: values by method, and the stages.

    alpha: None for the data's. score: whose set sizes are compared; None for the method's own.
    """

    grids: Mapping[str, Grid]
    stages: tuple[Stage, ...] = ONE_STAGE
    alpha: float | None = None
    score: str | None = None


_RATES = (0.05, 0.01, 0.005)
_PAPER: dict[str, Sequence[Any]] = {
    "learning_rate": _RATES,
    "temperature": (0.01, 0.1, 0.5, 1),
    "size_weight": (1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 0.5, 1, 5, 10),
    "target_size": (0, 1),
}
# As the paper has them (app. E); of APS it thresholds the mass down to a class, we what is below.
_TAUS: Mapping[str, Sequence[float]] = {
    "covertr": (-0.1, -0.01),
    "covertr-thr": (0.9, 0.99),
    "covertr-aps": (0.1, 0.01),
}
_COVERTR: dict[str, Sequence[Any]] = {
    "learning_rate": _RATES,
    "temperature": (0.1, 1),
    "size_weight": (0.01, 0.1, 1),
    "target_size": (0, 1),
}
_CONFTR: Grid = {"learning_rate": _RATES, "temperature": (0.1, 0.5, 1), "target_size": (0, 1)}
_CONFTR_CLASS: Grid = {
    "learning_rate": _RATES,
    "temperature": (0.1, 0.5, 1),
    "size_weight": (0.01, 0.1, 0.5, 1, 5),
    "target_size": (0, 1),
}
_COARSE: Mapping[str, Grid] = {
    "baseline": {"learning_rate": (0.1, *_RATES)},
    "baseline-tuned": {"learning_rate": (0.1, *_RATES), "weight_decay": (0.0, 5e-5, 5e-4)},
    "bel": {
        "learning_rate": _RATES,
        "temperature": (0.1, 0.5, 1),
        "size_weight": (0.001, 0.01, 0.1, 1, 10),
    },
    **{method: _COVERTR | {"tau": taus} for method, taus in _TAUS.items()},
    "conftr": _CONFTR,
    "conftr-class": _CONFTR_CLASS,
    "conftr-for-aps": _CONFTR,
    "conftr-class-for-aps": _CONFTR_CLASS,
}
_BATCHES: Mapping[str, Sequence[int]] = {
    "german-credit": (300, 200, 100, 50),
    "camelyon": (80, 40, 20, 10),
    "digits": (200, 100, 50),
}
_FEW_EPOCHS_FIRST = (Stage(0.2, 1, 8), Stage(1.0, 2, 1))
_ALL_EPOCHS = (Stage(1.0, 1, 8), Stage(1.0, 3, 1))
# Where all epochs of one model take half a minute, a tenth of them must tell the field apart.
_LARGE = (Stage(0.1, 1, 4), Stage(1.0, 1, 1))
# The held-out part of a small dataset says little: more divisions of it.
_SMALL = (Stage(1.0, 3, 10), Stage(1.0, 10, 1))
_STAGES: Mapping[str, tuple[Stage, ...]] = {
    "mnist": _FEW_EPOCHS_FIRST,
    "winequality": _ALL_EPOCHS,
    "fashion-mnist": _LARGE,
    "emnist": _LARGE,
    "emnist-test": _LARGE,
    "german-credit": _SMALL,
    "camelyon": _SMALL,
    "digits": _SMALL,
}


def paper(dataset: str, methods: Sequence[str], rows: int) -> Wanted:
    """The paper's grid for each method: every combination, all epochs.

    Without a class loss the size weight cancels in the gradient, so there is none to try.
    rows: how many train; larger batches are left out.
    """
    batches = _batches(dataset, (1000, 500, 100), rows)
    cancelled = {"conftr": ("size_weight",), "conftr-for-aps": ("size_weight",)}
    grids = {
        method: {"batch_size": batches}
        | {
            name: values
            for name, values in (_PAPER | {"tau": _TAUS.get(method, ())}).items()
            if name in settings_of(method) and name not in cancelled.get(method, ())
        }
        for method in methods
    }
    return Wanted(grids)


def coarse(dataset: str, methods: Sequence[str], rows: int, epochs: int) -> Wanted:
    """The paper's grid, thinned out, in stages that two cores finish in minutes."""
    stages = _STAGES.get(dataset, _SMALL if rows < 5000 else _FEW_EPOCHS_FIRST)
    batches = _batches(dataset, (500, 100), rows)
    grids = {method: {"batch_size": batches} | dict(_COARSE[known(method)]) for method in methods}
    if "baseline-tuned" in grids:
        grids["baseline-tuned"]["epochs"] = (epochs // 5, epochs // 2, epochs)
        stages = stages if stages is _SMALL else _ALL_EPOCHS
    return Wanted(grids, stages)


def halved(wanted: Wanted, rounds: int) -> Wanted:
    """Successive halving, which keeps a third, in place of a grid's own stages.

    rounds: before the last, each with a third of the epochs of the next.
    """
    most = max(math.prod(map(len, grid.values())) for grid in wanted.grids.values())
    before = [Stage(3.0 ** (i - rounds), 1, math.ceil(most / 3 ** (i + 1))) for i in range(rounds)]
    return wanted._replace(stages=(*before, Stage()))


def check(wanted: Wanted) -> Wanted:
    """Refuse an alpha or a score that is none."""
    if wanted.alpha is not None and not 0 < wanted.alpha < 1:
        raise GridError(f"alpha must lie strictly between 0 and 1; got {wanted.alpha!r}.")
    if wanted.score is not None and wanted.score not in dict(SCORES):
        raise GridError(f"score must be one of {', '.join(dict(SCORES))}; got {wanted.score!r}.")
    return wanted


def settings_of(method: str) -> tuple[str, ...]:
    """The settings that make a difference to a method."""
    objective = METHODS[known(method)](Row(1, 1), 0.1, SMOOTH_SORT)
    settings = (*(field.name for field in fields(Row)), "quantile")
    return (*_OF_EVERY_METHOD, *(name for name, _ in objective.fields if name in settings))


def known(method: str) -> str:
    """A method's name, refused if there is none such."""
    if method not in METHODS:
        raise GridError(f"methods must be among {', '.join(METHODS)}; got {method!r}.")
    return method


def _batches(dataset: str, usual: Sequence[int], rows: int) -> Sequence[int]:
    fitting = [size for size in _BATCHES.get(dataset, usual) if size <= rows]
    return tuple(fitting or [max(1, rows // 4)])
