"""Sets in a plane: what cross-entropy, conformal training and a wish make of the same points."""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import altair as alt
import jax
import numpy as np

import conftr
from conftr.training import SGD, Plan, TrainingSet, fit, predict_logits
from conftr.training.models import MLP

ALPHA = 0.1
NAMES = ["A", "B", "C"]
SETS = ["none", *("".join(s) for m in (1, 2, 3) for s in itertools.combinations(NAMES, m))]
SET_COLOURS = [
    "#FFFFFF",
    "#BBDDF0",
    "#F6CFB0",
    "#B5E0D0",
    "#8C6BB1",
    "#2E9CB5",
    "#B59A2E",
    "#4D4D4D",
]
SIDE = np.linspace(-5, 5, 81, dtype=np.float32)[:-1] + np.float32(1 / 16)
GRID = np.stack(np.meshgrid(SIDE, SIDE, indexing="xy"), axis=-1).reshape(-1, 2)


def rows_of(**columns: Any) -> Any:
    """Columns of equal length, as the data of a chart."""
    listed = {name: np.asarray(column).tolist() for name, column in columns.items()}
    return alt.InlineData(
        [dict(zip(listed, row, strict=True)) for row in zip(*listed.values(), strict=True)]
    )


class Plane(NamedTuple):
    """Three classes of points: a cluster each, and a share of stragglers far from it."""

    spread: float
    stragglers: float

    def draw(self, n: int, generator: np.random.Generator) -> tuple[Any, Any]:
        """n points (n, 2) and their classes (n,)."""
        y = generator.integers(0, 3, n)
        near = np.array([[-1, 0], [1, 0], [0, 1.7]])[y]
        far = np.array([[4, -0.5], [-4, -0.5], [0, -4]])[y]
        strays = generator.random(n) < self.stragglers
        centre = np.where(strays[:, None], far, near)
        return (centre + generator.normal(size=(n, 2)) * self.spread).astype(np.float32), y


def training() -> Any:
    """Picture 5: a linear model by cross-entropy and by ConfTr, on points with stragglers."""
    objective = _conftr(loss_matrix=conftr.identity)
    named = {"cross-entropy": conftr.CrossEntropy(), "conformal training": objective}
    return _panels(Plane(0.7, 0.06), partial(MLP, hidden=()), named)


def shaping() -> Any:
    """The picture of the page on shaping: the same model without and with a wish."""
    wish = conftr.Shape(avoid=[conftr.Avoid("A", "B", weight=2)])
    named = {
        "no wish": _conftr(loss_matrix=conftr.identity),
        "avoid A, B": _conftr(loss_matrix=wish.loss_matrix(NAMES)),
    }

    def both(sets: Any) -> str:
        return f", A with B in {np.mean(sets[:, 0] & sets[:, 1]):.1%}"

    return _panels(Plane(0.9, 0.0), partial(MLP, hidden=(32, 32)), named, both)


def _conftr(**settings: Any) -> conftr.ConfTr:
    return conftr.ConfTr(alpha=ALPHA, temperature=0.1, quantile=conftr.Nearest(ALPHA), **settings)


def _panels(
    plane: Plane, model: Callable[..., MLP], objectives: dict[str, Any], more: Any = lambda _: ""
) -> Any:
    generator = np.random.default_rng(0)
    train, cal, test = (plane.draw(n, generator) for n in (3000, 5000, 20_000))
    network = model((2,), 3)
    panels = []
    for name, objective in objectives.items():
        plan = Plan(epochs=40, batch_size=200, optimiser=SGD(learning_rate=0.02))
        fitted = fit(jax.random.key(0), network, TrainingSet(*train), objective, plan)
        scores = [conftr.thr(predict_logits(network, fitted, x)) for x in (cal[0], test[0], GRID)]
        tau = conftr.calibrate(scores[0], cal[1], ALPHA)
        sets = conftr.predict_set(scores[1], tau)
        subtitle = (
            f"covers {conftr.coverage(sets, test[1]):.1%}, "
            f"mean size {conftr.inefficiency(sets):.2f}{more(sets)}"
        )
        ground, points = _ground(conftr.predict_set(scores[2], tau)), _points(*test)
        panels.append((ground + points).properties(title=alt.Title(name, subtitle=subtitle)))
    return alt.hconcat(*panels)


def _ground(sets: Any) -> Any:
    """The plane coloured by the set of each point; equal neighbours in a row are one strip."""
    half = (SIDE[1] - SIDE[0]) / 2
    names = np.array(SETS)[_number(sets)].reshape(len(SIDE), -1)
    strips = []
    for y, row in zip(SIDE, names, strict=True):
        starts = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
        ends = np.append(starts[1:], len(row)) - 1
        strips += [
            (SIDE[a] - half, SIDE[b] + half, y - half, y + 1.5 * half, row[a])
            for a, b in zip(starts, ends, strict=True)
        ]
    x, x2, y, y2, held = zip(*strips, strict=True)
    return (
        alt.Chart(rows_of(x=x, x2=x2, y=y, y2=y2, set=held))
        .mark_rect()
        .encode(
            x=alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-5, 5])),
            x2="x2",
            y=alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-5, 5])),
            y2="y2",
            color=alt.Color("set:N", scale=alt.Scale(domain=SETS, range=SET_COLOURS), title="set"),
        )
        .properties(width=290, height=290)
    )


def _number(sets: Any) -> Any:
    """The place of each set (n, 3) among SETS."""
    code = [sum(1 << NAMES.index(c) for c in name) if name != "none" else 0 for name in SETS]
    places = np.empty(8, int)
    places[code] = np.arange(8)
    return places[sets @ np.array([1, 2, 4])]


def _points(x: Any, y: Any) -> Any:
    seen = np.flatnonzero(np.abs(x).max(axis=1) < 4.8)[:400]
    x, y = x[seen], y[seen]
    return (
        alt.Chart(rows_of(x=x[:, 0], y=x[:, 1], name=np.array(NAMES)[y]))
        .mark_text(fontSize=7, opacity=0.75)
        .encode(x="x:Q", y="y:Q", text="name:N")
    )
