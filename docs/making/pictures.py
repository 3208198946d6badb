"""The pictures of the pages "The idea in five pictures" and "Shaping the sets", made by conftr.

`python docs/making/pictures.py` draws them into docs/pictures; with a folder and names, those named
into that folder.
"""

import sys
from functools import partial
from math import lgamma
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import jax
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.utils import shuffle

import conftr
from plane import rows_of, shaping, training

FOLDER = Path(__file__).parents[1] / "pictures"
BLUE, ORANGE, PALE = "#0072B2", "#D55E00", "#C8C8C8"
ALPHA = 0.1
DIGITS_ALPHA = 0.02


def two_colours(field: str, names: list[str], colours: list[str], **options: Any) -> Any:
    """The colour of each of the names."""
    return alt.Color(f"{field}:N", scale=alt.Scale(domain=names, range=colours), **options)


class Digits(NamedTuple):
    """Handwritten digits that a plain model is unsure of: images, labels, log-probabilities."""

    images: Any
    labels: Any
    logits: Any


def digits() -> tuple[Digits, Digits]:
    """Calibration and test examples, 500 each, and what a regression on 600 others says."""
    X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
    model = LogisticRegression(C=1e-3, max_iter=500).fit(X[:600], y[:600])
    parts = [slice(600, 1100), slice(1100, 1600)]
    divided = [Digits(X[rows], y[rows], model.predict_log_proba(X[rows])) for rows in parts]
    return divided[0], divided[1]


def sets() -> Any:
    """Picture 1: images, the probability of each class, and which classes are in the set."""
    cal, test = digits()
    tau = conftr.calibrate(conftr.thr(cal.logits), cal.labels, DIGITS_ALPHA)
    inside = conftr.predict_set(conftr.thr(test.logits), tau)
    sizes = inside.sum(axis=1)
    chosen = [int(np.flatnonzero(sizes == size)[place]) for size, place in [(1, 0), (2, 3), (3, 1)]]
    return alt.hconcat(*(_answer(test, inside, i) for i in chosen), spacing=30)


def _answer(test: Digits, inside: Any, i: int) -> Any:
    down, across = np.divmod(np.arange(64), 8)
    image = (
        alt.Chart(rows_of(down=down, across=across, ink=test.images[i]))
        .mark_rect()
        .encode(
            x=alt.X("across:O", axis=None),
            y=alt.Y("down:O", axis=None),
            color=alt.Color("ink:Q", scale=alt.Scale(range=["white", "black"]), legend=None),
        )
        .properties(width=90, height=90)
    )
    words = ["not in the set", "in the set"]
    answers = [words[int(k)] for k in inside[i]]
    bars = (
        alt.Chart(rows_of(digit=range(10), p=np.exp(test.logits[i]), told=answers))
        .mark_bar()
        .encode(
            x=alt.X("digit:O", title="digit", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("p:Q", title="probability", scale=alt.Scale(domain=[0, 1])),
            color=two_colours("told", words, [PALE, BLUE], legend=None),
        )
        .properties(width=170, height=110)
    )
    answer = ", ".join(map(str, np.flatnonzero(inside[i])))
    title = f"answer {{{answer}}}, truth {test.labels[i]}"
    return alt.vconcat(image, bars, center=True, title=alt.Title(title, anchor="middle"))


def calibration() -> Any:
    """Picture 2: the probabilities of the true classes of 500 examples, and where they are cut."""
    cal, _ = digits()
    true_scores = conftr.thr(cal.logits)[np.arange(len(cal.labels)), cal.labels]
    tau = conftr.calibrate(conftr.thr(cal.logits), cal.labels, DIGITS_ALPHA)
    below = int(np.sum(true_scores < tau))
    words = [f"below the threshold: {below} of {len(true_scores)}", "kept"]
    points = rows_of(p=np.exp(true_scores), told=[words[int(e >= tau)] for e in true_scores])
    bars = (
        alt.Chart(points)
        .mark_bar()
        .encode(
            x=alt.X(
                "p:Q",
                bin=alt.Bin(step=0.02),
                title="probability that the model gave to the truth",
                axis=alt.Axis(values=[0, 0.2, 0.4, 0.6, 0.8, 1]),
            ),
            y=alt.Y("count():Q", title="calibration examples"),
            color=two_colours(
                "told", words, [ORANGE, BLUE], legend=alt.Legend(title=None, orient="top")
            ),
        )
    )
    cut = alt.Chart(rows_of(p=[np.exp(tau)])).mark_rule(strokeWidth=2).encode(x="p:Q")
    note = (
        alt.Chart(rows_of(p=[np.exp(tau)], note=[f"threshold {np.exp(tau):.3f}"]))
        .mark_text(align="left", baseline="top", dx=6)
        .encode(x="p:Q", y=alt.value(4), text="note:N")
    )
    return (bars + cut + note).properties(width=520, height=200)


def promise() -> Any:
    """Picture 3: how coverage varies over calibration sets, drawn and as the law says."""
    sizes, generator = [50, 200, 1000], np.random.default_rng(0)
    charts = []
    for n in sizes:
        # Scores uniform on [0, 1]: a threshold of tau then covers exactly 1 - tau of all examples.
        scores = generator.random((3000, n, 1))
        drawn = [1 - conftr.calibrate(score, np.zeros(n, int), ALPHA) for score in scores]
        r, at = int(ALPHA * (n + 1) + 1e-9), np.linspace(0.75, 0.999, 200)
        constant = lgamma(n + 1) - lgamma(n + 1 - r) - lgamma(r)
        density = np.exp(constant + (n - r) * np.log(at) + (r - 1) * np.log(1 - at))
        counts, edges = np.histogram(drawn, bins=np.linspace(0.75, 1, 51), density=True)
        x = alt.X(
            "coverage:Q",
            title="share of all examples covered",
            axis=alt.Axis(format="%", values=[0.75, 0.8, 0.85, 0.9, 0.95, 1]),
            scale=alt.Scale(domain=[0.75, 1]),
        )
        bars = (
            alt.Chart(rows_of(coverage=edges[:-1], end=edges[1:], density=counts, zero=0 * counts))
            .mark_rect(color=PALE)
            .encode(x=x, x2="end", y=alt.Y("density:Q", title=None, axis=None), y2="zero")
        )
        line = (
            alt.Chart(rows_of(coverage=at, density=density))
            .mark_line(color=BLUE)
            .encode(x="coverage:Q", y="density:Q")
        )
        wish = alt.Chart(rows_of(coverage=[1 - ALPHA])).mark_rule(color=ORANGE, strokeDash=[5, 3])
        layers = bars + line + wish.encode(x="coverage:Q")
        charts.append(layers.properties(width=190, height=130, title=f"{n} calibration examples"))
    return alt.hconcat(*charts)


def smoothing() -> Any:
    """Picture 4: soft membership, and which scores carry the gradient of the threshold."""
    distance = np.linspace(-2, 2, 201)
    temperatures = [0.02, 0.2, 0.5, 1.0]
    soft = [conftr.smooth_predict_set(distance[:, None], 0.0, t)[:, 0] for t in temperatures]
    membership = rows_of(
        distance=np.tile(distance, len(temperatures)),
        member=np.concatenate(soft),
        T=np.repeat([f"T = {t:g}" for t in temperatures], len(distance)),
    )
    lines = (
        alt.Chart(membership, title="in the set, by degrees")
        .mark_line()
        .encode(
            x=alt.X("distance:Q", title="score minus threshold"),
            y=alt.Y("member:Q", title="membership"),
            color=alt.Color(
                "T:N",
                scale=alt.Scale(scheme="blues", reverse=True),
                legend=alt.Legend(title=None, orient="top-left"),
            ),
        )
        .properties(width=230, height=170)
    )
    panels = [_carriers(name, estimator) for name, estimator in ESTIMATORS.items()]
    title = alt.Title("which scores move the threshold (dashed)", anchor="middle")
    return alt.hconcat(lines, alt.vconcat(*panels, spacing=4, title=title), spacing=40)


ESTIMATORS = {
    "OrderStatistic()": conftr.OrderStatistic(),
    "Nearest(0.1)": conftr.Nearest(0.1),
    "Kernel(0.2)": conftr.Kernel(0.2),
    "SmoothSort(0.5)": conftr.SmoothSort(0.5),
}


def _carriers(name: str, estimator: Any) -> Any:
    """d tau / d E_i of the smallest of 50 scores."""
    scores = np.sort(np.random.default_rng(1).normal(size=50)).astype(np.float32)
    weights = np.asarray(jax.grad(partial(estimator, alpha=ALPHA))(jax.numpy.asarray(scores)))
    shown = slice(0, 14)
    bars = (
        alt.Chart(rows_of(score=scores[shown], weight=weights[shown]), title=name)
        .mark_bar(size=3, color=ORANGE)
        .encode(
            x=alt.X("score:Q", title=None, axis=alt.Axis(labels=False, tickCount=4)),
            y=alt.Y("weight:Q", title=None, axis=alt.Axis(tickCount=2)),
        )
    )
    tau = rows_of(score=[float(estimator(scores, ALPHA))])
    cut = alt.Chart(tau).mark_rule(strokeDash=[4, 3]).encode(x="score:Q")
    return (bars + cut).properties(width=240, height=26)


PICTURES = {
    "idea-1": sets,
    "idea-2": calibration,
    "idea-3": promise,
    "idea-4": smoothing,
    "idea-5": training,
    "shaping": shaping,
}


def main(folder: str | Path = FOLDER, *names: str) -> None:
    """Draw the named pictures, or all."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in names or PICTURES:
        chart = (
            PICTURES[name]().configure(font="sans-serif", aria=False).configure_view(stroke=None)
        )
        chart.save(Path(folder) / f"{name}.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])
