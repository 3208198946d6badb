"""Figures of the paper's experiments, drawn from stored records and from nothing else.

Colours are those of Okabe and Ito, which stay apart for colour-blind readers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import altair as alt

from conftr.experiments.store import Record, Store
from conftr.paper.exhibits import Exhibit, Line, our_number

Chart: TypeAlias = Any
Rows: TypeAlias = list[dict[str, Any]]

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#767676"
# Whose confusion is drawn whole, data and classes, and the names of the figures.
_WHOLE_MATRICES = {
    ("F-MNIST", "2, 4, 6"): "confusion-matrices",
    ("CIFAR10", "4, 5, 7"): "confusion-matrices-cifar10",
}
_DIVERGED = 1.0  # deviation of the mean set size over trials


def figures(exhibit: Exhibit, store: Store) -> dict[str, Chart]:
    """Name -> chart, for the exhibits that are drawn and as far as they have been run."""
    draw = _DRAWN.get(exhibit.key)
    done = [line for line in exhibit.lines if all(store.get(run) for run in line.runs())]
    return draw(done, store) if draw and done else {}


def _of(store: Store, line: Line) -> Record:
    record = store.get(line.run)
    assert record is not None
    return record


def _published_and_ours(lines: Sequence[Line], store: Store) -> dict[str, Chart]:
    """Table 1: each method's set size, published and ours, a panel for each dataset and score."""
    rows: Rows = []
    for line in lines:
        data, method, score = line.labels
        ours = our_number(line.cells[0], _of(store, line)).mean
        panel = f"{data}, {score}"
        rows.append({"panel": panel, "method": method, "whose": "ours", "set size": ours})
        if line.cells[0].published is not None:
            published = line.cells[0].published
            rows.append({"panel": panel, "method": method, "whose": "paper", "set size": published})
    order = list(dict.fromkeys(row["method"] for row in rows))
    chart = (
        alt.Chart(alt.InlineData(rows))
        .mark_point(size=70, filled=True)
        .encode(
            x=alt.X("set size:Q", title="mean set size", scale=alt.Scale(zero=False)),
            y=alt.Y("method:N", sort=order, title=None),
            color=_colour("whose", ["paper", "ours"], [ORANGE, BLUE]),
            shape=alt.Shape(
                "whose:N",
                scale=alt.Scale(domain=["paper", "ours"], range=["square", "circle"]),
                legend=alt.Legend(title=None, orient="top"),
            ),
        )
        .properties(width=260, height=120)
        .facet(_panels("panel", rows), columns=2)
        .resolve_scale(x="independent")
    )
    return {"table1": chart}


def _scores(lines: Sequence[Line], store: Store) -> dict[str, Chart]:
    """Fig. 2: mean set size of each score, and of each class with THR."""
    sizes: Rows = []
    classes: Rows = []
    for line in lines:
        data, _, score = line.labels
        record = _of(store, line)
        sizes.append(
            {"data": data, "score": score, "set size": our_number(line.cells[0], record).mean}
        )
        of_classes = _result(record, score, line.cells[0].alpha)["class_inefficiency"]
        if score == "THR" and 2 < len(of_classes) <= 20:
            classes += [
                {"data": data, "class": str(k), "set size": size}
                for k, size in enumerate(of_classes)
            ]
    order = list(dict.fromkeys(row["score"] for row in sizes))
    by_score = (
        alt.Chart(alt.InlineData(sizes))
        .mark_bar()
        .encode(
            x=alt.X("score:N", sort=order, title=None, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("set size:Q", title="mean set size"),
            color=_colour("score", order, [GREY, BLUE, ORANGE, GREEN], legend=False),
        )
        .properties(width=150, height=130)
        .facet(_panels("data", sizes), columns=3)
        .resolve_scale(y="independent")
    )
    by_class = (
        alt.Chart(alt.InlineData(classes))
        .mark_bar(color=BLUE)
        .encode(
            x=alt.X("class:N", sort=None, title="true class", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("set size:Q", title="mean set size, THR"),
        )
        .properties(width=260, height=130)
        .facet(_panels("data", classes), columns=2)
    )
    return {"fig2": by_score} | ({"fig2-classes": by_class} if classes else {})


def _relative_changes(lines: Sequence[Line], store: Store) -> dict[str, Chart]:
    """Change of the targeted class's and of the average set size, in per cent."""
    rows: Rows = []
    for line in (line for line in lines if line.labels[2] == "10"):  # as the paper draws them
        for cell, what in zip(line.cells, ("this class or group", "all classes"), strict=True):
            change = _change(line, cell, store)
            rows.append({"data": line.labels[0], "class": line.labels[1], "of": what, "%": change})
    order = list(dict.fromkeys(row["class"] for row in rows))
    chart = (
        alt.Chart(alt.InlineData(rows))
        .mark_bar()
        .encode(
            x=alt.X("class:N", sort=order, title="omega = 10 on", axis=alt.Axis(labelAngle=-45)),
            xOffset=alt.XOffset("of:N", sort="descending"),
            y=alt.Y("%:Q", title="change of mean set size, %"),
            color=_colour("of", ["this class or group", "all classes"], [BLUE, GREEN]),
        )
        .properties(width=420, height=170)
        .facet(_panels("data", rows), columns=1)
        .resolve_scale(x="independent")
    )
    return {"sizes": chart}


def _against_weight(lines: Sequence[Line], store: Store) -> dict[str, Chart]:
    """Confusion of the chosen and of the other pairs against the weight; matrices at weight 1."""
    rows: Rows = []
    for line in lines:
        panel = f"{line.labels[0]}: {line.labels[1]}"
        for cell, what in zip(line.cells[:2], ("chosen entries", "all others"), strict=True):
            change = _change(line, cell, store)
            rows.append({"panel": panel, "weight": line.labels[2], "of": what, "%": change})
    chart = (
        alt.Chart(alt.InlineData(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("weight:O", title="weight off the diagonal", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("%:Q", title="change of confusion, %"),
            color=_colour("of", ["chosen entries", "all others"], [BLUE, GREY]),
        )
        .properties(width=200, height=140)
        .facet(_panels("panel", rows), columns=3)
    )
    drawn = {"confusion": chart}
    strongest = {line.labels[:2]: line for line in lines}
    for labels, name in _WHOLE_MATRICES.items():
        if labels in strongest:
            drawn[name] = _matrices(strongest[labels], store)
    return drawn


def _matrices(line: Line, store: Store) -> Chart:
    """The whole confusion matrix before and after, per cent of all test examples."""
    rows: Rows = []
    assert line.against is not None
    for words, run in (("L = I", line.against), (f"{line.labels[1]}, weight 1", line.run)):
        record = store.get(run)
        assert record is not None
        matrix = _result(record, "THR", line.cells[0].alpha)["coverage_confusion"]
        rows += [
            {"panel": words, "true": y, "in the set": k, "%": round(100 * value, 2)}
            for y, values in enumerate(matrix)
            for k, value in enumerate(values)
        ]
    base = alt.Chart().encode(
        x=alt.X("in the set:O", axis=alt.Axis(labelAngle=0)), y=alt.Y("true:O", title="true class")
    )
    cells = base.mark_rect().encode(
        color=alt.Color("%:Q", title="% of examples", scale=alt.Scale(scheme="blues", type="sqrt"))
    )
    numbers = base.mark_text(fontSize=9).encode(
        text=alt.Text("%:Q", format=".1f"),
        color=alt.condition("datum['%'] > 4", alt.value("white"), alt.value("black")),
    )
    return (
        alt.layer(cells, numbers, data=alt.InlineData(rows))
        .properties(width=270, height=250, title=line.labels[0])
        .facet(_panels("panel", rows), columns=2)
    )


def _wine(lines: Sequence[Line], store: Store) -> dict[str, Chart]:
    """Set size and coverage of the two classes against what was changed."""
    rows: Rows = []
    names = ("size, bad (0)", "size, good (1)", "coverage, bad (0)", "coverage, good (1)")
    for line in lines:
        for cell, name in zip(line.cells, names, strict=False):
            what, of = name.split(", ")
            ours = our_number(cell, _of(store, line)).mean
            row = {"changed": line.labels[0], "to": float(line.labels[1])}
            rows.append(row | {"what": what, "class": of, "value": ours})
    charts = [
        alt.Chart(alt.InlineData([row for row in rows if row["what"] == what]))
        .mark_line(point=True)
        .encode(
            x=alt.X("to:Q", title="changed to", scale=alt.Scale(type="log")),
            y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=False)),
            color=_colour("class", ["bad (0)", "good (1)"], [ORANGE, BLUE]),
        )
        .properties(width=140, height=120)
        .facet(_panels("changed", rows), columns=5)
        .resolve_scale(x="independent")
        for what, title in (("size", "mean set size"), ("coverage", "coverage, %"))
    ]
    return {"wine": alt.vconcat(*charts)}


def _estimators(lines: Sequence[Line], store: Store) -> dict[str, Chart]:
    """Set size by estimator, a panel for each dataset, with the deviation over trials.

    Without those of which a trial did not train: they would make specks of all others.
    """
    rows: Rows = []
    for line in lines:
        data, method, estimator = line.labels
        ours = our_number(line.cells[0], _of(store, line))
        if ours.mean is not None and (ours.std or 0) < _DIVERGED:
            low, high = ours.mean - (ours.std or 0), ours.mean + (ours.std or 0)
            row = {"data": data, "method": method, "estimator": estimator}
            rows.append(row | {"set size": ours.mean, "low": low, "high": high})
    order = list(dict.fromkeys(row["estimator"] for row in rows))
    base = alt.Chart().encode(
        y=alt.Y("estimator:N", sort=order, title=None),
        yOffset=alt.YOffset("method:N"),
        color=_colour("method", ["ConfTr", "ConfTr + L_class"], [BLUE, ORANGE]),
    )
    bars = base.mark_rule().encode(x=alt.X("low:Q", title="mean set size"), x2="high:Q")
    dots = base.mark_point(filled=True, size=50).encode(
        x=alt.X("set size:Q", scale=alt.Scale(zero=False))
    )
    chart = (
        alt.layer(bars, dots, data=alt.InlineData(rows))
        .properties(width=210, height=150)
        .facet(_panels("data", rows), columns=2)
        .resolve_scale(x="independent")
    )
    return {"quantiles": chart}


def _change(line: Line, cell: Any, store: Store) -> float | None:
    assert line.against is not None
    against = store.get(line.against)
    assert against is not None
    before, after = our_number(cell, against).mean, our_number(cell, _of(store, line)).mean
    return None if not before or after is None else 100 * (after / before - 1)


def _result(record: Record, score: str, alpha: float) -> Record:
    matching = [r for r in record["results"] if (r["score"], r["alpha"]) == (score, alpha)]
    first: Record = matching[0]
    return first


def _panels(field: str, rows: Rows) -> Any:
    """A panel for each value of a field, in the order of the rows."""
    return alt.Facet(f"{field}:N", title=None, sort=list(dict.fromkeys(r[field] for r in rows)))


def _colour(field: str, names: Sequence[str], colours: Sequence[str], legend: bool = True) -> Any:
    scale = alt.Scale(domain=list(names), range=list(colours))
    shown = alt.Legend(title=None, orient="top") if legend else None
    return alt.Color(f"{field}:N", scale=scale, legend=shown)


_DRAWN: Mapping[str, Callable[[Sequence[Line], Store], dict[str, Chart]]] = {
    "table1": _published_and_ours,
    "fig2": _scores,
    "sizes": _relative_changes,
    "confusion": _against_weight,
    "wine": _wine,
    "quantiles": _estimators,
}
