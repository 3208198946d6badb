"""The paper's settings (app. F) as data, and those that its grid gave where it prints none.

A method is a name and a function from a row of settings to an objective. Rows that the paper does
not print (Bel, CoverTr, some baselines) are read from `chosen.json`, which `conftr sweep --adopt`
writes; until a sweep has run, stand-ins are used and said to be that.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from conftr.experiments.specification import Training
from conftr.experiments.store import write
from conftr.machine.plain_data import Part, part

CHOSEN = Path(__file__).with_name("chosen.json")

LINEAR = part("MLP", hidden=())
SMOOTH_SORT = part("SmoothSort", dispersion=0.1, position=part("paper_position"))


@dataclass(frozen=True)
class Row:
    """A row of settings; those that a method does not have are left as they are.

    tau: the threshold of CoverTr.
    epochs: where a method trains for longer or shorter than the others on this data.
    """

    batch_size: int
    learning_rate: float
    temperature: float = 1.0
    size_weight: float = 1.0
    target_size: int = 1
    tau: float = -0.1
    weight_decay: float = 0.0005
    epochs: int | None = None


@dataclass(frozen=True)
class Setup:
    """A dataset's model, epochs and alphas, of which the first is trained for; rows by method."""

    model: Part
    epochs: int
    rows: Mapping[str, Row]
    alphas: tuple[float, ...] = (0.01,)


class Wish(NamedTuple):
    """What of a training the user may want otherwise; None is the default."""

    model: Part | None = None
    epochs: int | None = None
    alpha: float | None = None
    quantile: Part | None = None
    seed: int = 0
    resampled: bool = True


DEFAULTS = Wish()


class Choice(NamedTuple):
    """A row of settings and where it comes from."""

    row: Row
    origin: str


def _mlp(*hidden: int) -> Part:
    return part("MLP", hidden=hidden)


def _paper(baseline: Row | None, conftr: Row, conftr_class: Row) -> Mapping[str, Row]:
    rows = {"conftr": conftr, "conftr-class": conftr_class}
    return rows | ({"baseline": baseline} if baseline else {})


_EMNIST = Setup(
    _mlp(128, 128),
    75,
    _paper(
        Row(100, 0.05),
        Row(100, 0.01, temperature=1, size_weight=0.01, target_size=1),
        Row(100, 0.01, temperature=1, size_weight=5, target_size=1),
    ),
    alphas=(0.01, 0.005, 0.001),
)

PAPER: Mapping[str, Setup] = {
    "mnist": Setup(
        LINEAR,
        50,
        _paper(
            Row(100, 0.05),
            Row(500, 0.05, temperature=0.5, size_weight=0.01, target_size=1),
            Row(100, 0.01, temperature=1, size_weight=0.5, target_size=1),
        ),
    ),
    "fashion-mnist": Setup(
        _mlp(64, 64),
        150,
        _paper(
            Row(100, 0.05),
            Row(100, 0.01, temperature=0.1, size_weight=0.01, target_size=0),
            Row(100, 0.01, temperature=0.1, size_weight=0.5, target_size=1),
        ),
    ),
    "emnist": _EMNIST,
    "emnist-test": _EMNIST,
    "winequality": Setup(
        _mlp(256, 256),
        100,
        _paper(
            Row(500, 0.1),
            Row(100, 0.005, temperature=0.5, size_weight=0.05, target_size=1),
            Row(100, 0.005, temperature=0.1, size_weight=0.5, target_size=1),
        ),
        alphas=(0.01, 0.05),
    ),
    "german-credit": Setup(
        LINEAR,
        100,
        _paper(
            None,
            Row(200, 0.05, temperature=1, size_weight=5, target_size=1),
            Row(400, 0.05, temperature=0.1, size_weight=5, target_size=1),
        ),
    ),
    "camelyon": Setup(
        _mlp(32),
        100,
        _paper(
            None,
            Row(20, 0.005, temperature=0.1, size_weight=5, target_size=1),
            Row(10, 0.01, temperature=0.01, size_weight=5, target_size=1),
        ),
        alphas=(0.05,),
    ),
}

# Digits are not in the paper: they are here to show everything at once, quickly.
DIGITS = Setup(_mlp(32), 50, {})


def _baseline(row: Row, alpha: float, quantile: Part) -> Part:  # noqa: ARG001
    return part("CrossEntropy")


def _bel(row: Row, alpha: float, quantile: Part) -> Part:  # noqa: ARG001
    return part("Bel", alpha=alpha, temperature=row.temperature, size_weight=row.size_weight)


def _covertr(row: Row, alpha: float, quantile: Part) -> Part:  # noqa: ARG001
    return part(
        "CoverTr",
        tau=row.tau,
        score=part("thr"),
        temperature=row.temperature,
        size_weight=row.size_weight,
        target_size=row.target_size,
        loss_matrix=part("identity"),
    )


def _covertr_thr(row: Row, alpha: float, quantile: Part) -> Part:
    return _covertr(row, alpha, quantile).replace(score=part("thr_probs"))


def _covertr_aps(row: Row, alpha: float, quantile: Part) -> Part:
    return _covertr(row, alpha, quantile).replace(score=part("smooth_aps", dispersion=0.1))


def _conftr(row: Row, alpha: float, quantile: Part) -> Part:
    return part(
        "ConfTr",
        alpha=alpha,
        score=part("thr"),
        quantile=quantile,
        temperature=row.temperature,
        size_weight=row.size_weight,
        target_size=row.target_size,
        fraction=0.5,
        loss_matrix=None,
    )


def _conftr_class(row: Row, alpha: float, quantile: Part) -> Part:
    return _conftr(row, alpha, quantile).replace(loss_matrix=part("identity"))


METHODS: Mapping[str, Callable[[Row, float, Part], Part]] = {
    "baseline": _baseline,
    "baseline-tuned": _baseline,
    "bel": _bel,
    "covertr": _covertr,
    "covertr-thr": _covertr_thr,
    "covertr-aps": _covertr_aps,
    "conftr": _conftr,
    "conftr-class": _conftr_class,
    "conftr-for-aps": _conftr,
    "conftr-class-for-aps": _conftr_class,
}


def setup(dataset: str) -> Setup:
    """The settings of a dataset, or an error that lists those that have some."""
    setups = {"digits": DIGITS} | dict(PAPER)
    if dataset not in setups:
        raise ValueError(f"dataset must be one of {', '.join(setups)}; got {dataset!r}.")
    return setups[dataset]


def choose(dataset: str, method: str) -> Choice:
    """The row of a method on a dataset: printed in the paper, found by search, or a stand-in."""
    if method not in METHODS:
        raise ValueError(f"methods must be among {', '.join(METHODS)}; got {method!r}.")
    rows = setup(dataset).rows
    if method in rows:
        return Choice(rows[method], "paper")
    searched = chosen().get(dataset, {}).get(method)
    if searched is not None:
        return Choice(Row(**searched), "search")
    return Choice(_stand_in(dataset, method), "stand-in, not searched")


def training(dataset: str, method: str, wish: Wish = DEFAULTS, row: Row | None = None) -> Training:
    """What a method trains on a dataset, with its own row or another, but for what is wished."""
    return assembled(dataset, setup(dataset), method, row or choose(dataset, method).row, wish)


def assembled(dataset: str, found: Setup, method: str, row: Row, wish: Wish) -> Training:
    """What a method trains with a row of settings, on any data that a setup is known for."""
    alpha = found.alphas[0] if wish.alpha is None else wish.alpha
    return Training(
        dataset,
        wish.model or found.model,
        METHODS[method](row, alpha, wish.quantile or SMOOTH_SORT),
        plan(row, wish.epochs or row.epochs or found.epochs),
        wish.seed,
        wish.resampled,
    )


def plan(row: Row, epochs: int) -> Part:
    """The paper's optimiser with a row's batch size, learning rate and weight decay."""
    optimiser = part(
        "SGD",
        learning_rate=row.learning_rate,
        momentum=0.9,
        nesterov=True,
        weight_decay=row.weight_decay,
        schedule=part("StepDecay", factor=0.1, after=(0.4, 0.6, 0.8)),
    )
    return part("Plan", epochs=epochs, batch_size=row.batch_size, optimiser=optimiser)


def chosen() -> dict[str, dict[str, dict[str, Any]]]:
    """What searches chose: dataset -> method -> row."""
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(CHOSEN.read_text(encoding="utf-8"))
    return found


def chosen_by(method: str) -> str:
    """Whose set sizes choose a method's settings: the paper tuned for APS too."""
    return "APS" if method.endswith("-for-aps") else "THR"


def adopt(dataset: str, method: str, row: Mapping[str, Any]) -> None:
    """Make these values the default of a method on a dataset."""
    known = chosen()
    known.setdefault(dataset, {})[method] = dict(row)
    write(CHOSEN, {name: dict(sorted(known[name].items())) for name in sorted(known)})


def _stand_in(dataset: str, method: str) -> Row:
    """The nearest printed row, for a method that was neither printed nor searched."""
    rows = setup(dataset).rows
    near = rows.get("conftr-class", Row(100, 0.01, temperature=0.5, size_weight=0.5))
    if METHODS[method] is _baseline:
        near = rows.get("baseline", near)
    return dataclasses.replace(near, learning_rate=0.01)
