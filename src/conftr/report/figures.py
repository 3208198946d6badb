"""The page's figures as files, for slides and papers: at the user's alpha, or over all promises."""

from __future__ import annotations

import altair as alt
import numpy as np

from conftr.classifier.evidence import Evidence, Numbers
from conftr.conformal import metrics
from conftr.report import axes, numbers
from conftr.report.axes import BLUE, ORANGE, Chart
from conftr.report.readable import readable
from conftr.report.slider import stops

NAMES = ["trade_off", "coverage", "set_sizes", "classes", "confusion", "wishes", "price"]

_WIDTH, _HEIGHT, _LINE = 460, 260, 18
_MOST = 30
_LETTERS = 32  # of a name beside an axis


def figures(evidence: Evidence) -> dict[str, Chart]:
    """Figures by `NAMES`, which are those of their files; what would be empty is left out."""
    evidence = readable(evidence, _LETTERS)
    charts = {
        "trade_off": _trade_off(evidence),
        "coverage": coverage(evidence) if len(evidence.group_names) == 1 else groups(evidence),
        "set_sizes": _set_sizes(evidence),
        "classes": classes(evidence),
    }
    if len(evidence.classes) <= _MOST:
        charts["confusion"] = confusion(evidence)
    if evidence.unwanted is not None and evidence.unwanted.any():
        charts["wishes"] = wishes(evidence)
    if len(evidence.price) > 1:
        charts["price"] = price(evidence)
    return {name: _styled(chart) for name, chart in charts.items()}


def _trade_off(evidence: Evidence) -> Chart:
    """Mean set size at every promise, of each candidate."""
    sizes = [numbers.curve(evidence, c).size.tolist() for c in range(len(evidence.candidates))]
    rows = [
        {"alpha": alpha, "size": size, "training": candidate.name}
        for candidate, of_candidate in zip(evidence.candidates, sizes, strict=True)
        for alpha, size in zip(stops(evidence.alpha), of_candidate, strict=True)
    ]
    lines = (
        axes.drawn(rows)
        .mark_line()
        .encode(
            axes.promise_axis(),
            axes.size_axis([size for of_candidate in sizes for size in of_candidate]),
            axes.training_colour(evidence),
            axes.training_dash(evidence),
        )
    )
    return (lines + axes.promise_rule(evidence)).properties(width=_WIDTH, height=_HEIGHT)


def coverage(evidence: Evidence) -> Chart:
    """Measured minus promised coverage at every promise, over what chance allows."""
    alphas, measured = stops(evidence.alpha), numbers.curve(evidence, 0).coverage.tolist()
    rows = [
        {
            "alpha": alpha,
            "low": 100 * (low - 1 + alpha),
            "high": 100 * (high - 1 + alpha),
            "measured": 100 * (share - 1 + alpha),
        }
        for alpha, share, (low, high) in zip(alphas, measured, numbers.band(evidence), strict=True)
    ]
    chart = axes.drawn(rows).encode(axes.promise_axis())
    band = chart.mark_area(color=BLUE, opacity=0.15).encode(
        alt.Y("low:Q", title="coverage above the promise, points"), alt.Y2("high:Q")
    )
    line = chart.mark_line(color=BLUE).encode(alt.Y("measured:Q"))
    drawn = band + line + axes.promise_rule(evidence)
    return drawn.properties(width=_WIDTH, height=_HEIGHT)


def groups(evidence: Evidence) -> Chart:
    """Coverage of each calibration group, over what chance allows; the least covered first."""
    tested = [tally for tally in numbers.tallies(evidence, evidence.alpha) if tally.tests]
    rows = [
        {
            "group": tally.name,
            "measured": tally.covered / tally.tests,
            "low": tally.low / tally.tests,
            "high": tally.high / tally.tests,
        }
        for tally in sorted(tested, key=lambda tally: tally.covered / tally.tests)[:_MOST]
    ]
    title = _some("class" if evidence.groups is None else evidence.group_by or "group", len(tested))
    # Vega would put the title into an expression, in which a backslash means something.
    chart = axes.drawn(rows).encode(
        alt.Y("group:N", sort=None, title=title), alt.Description("group:N")
    )
    band = chart.mark_bar(color=BLUE, opacity=0.15, height=8).encode(
        axes.share_axis("low", "coverage"), alt.X2("high:Q")
    )
    dots = chart.mark_point(color=BLUE, filled=True, size=50, opacity=1).encode(alt.X("measured:Q"))
    drawn = band + dots + axes.share_rule(evidence)
    return drawn.properties(width=_WIDTH, height=_LINE * len(rows))


def _set_sizes(evidence: Evidence) -> Chart:
    """How many sets have each size, and how many of them hold the truth."""
    sets = evidence.sets()
    held = sets[np.arange(len(sets)), evidence.labels]
    sizes = sets.sum(axis=1)
    rows = [
        {
            "size": f"{low}" if low == high else f"{low}–{high}",
            "sets": int(np.sum((low <= sizes) & (sizes <= high) & (held == truth))),
            "truth": "in the set" if truth else "missed",
        }
        for low, high in numbers.bins(len(evidence.classes))
        for truth in (True, False)
    ]
    colours = alt.Scale(domain=["in the set", "missed"], range=[BLUE, ORANGE])
    bars = (
        axes.drawn(rows)
        .mark_bar()
        .encode(
            alt.X("size:N", sort=None, title="classes in the set", axis=alt.Axis(labelAngle=0)),
            alt.Y("sets:Q", title="sets"),
            alt.Color("truth:N", scale=colours, title="the truth is"),
        )
    )
    return bars.properties(width=_WIDTH, height=_HEIGHT)


def classes(evidence: Evidence) -> Chart:
    """Coverage and mean set size of each class, the one furthest below the promise first."""
    tested = [line for line in numbers.class_tallies(evidence, evidence.alpha) if line.tests]
    rows = [
        {
            "class": line.name,
            "coverage": line.covered / line.tests,
            "size": line.total / line.tests,
        }
        for line in sorted(tested, key=lambda line: line.luck)[:_MOST]
    ]
    chart, height = axes.drawn(rows), _LINE * len(rows)
    title = _some("true class", len(tested))
    dots = chart.mark_point(color=BLUE, filled=True, size=50, opacity=1).encode(
        axes.share_axis("coverage", "coverage"), alt.Y("class:N", sort=None, title=title)
    )
    bars = chart.mark_bar(color=BLUE, height=8).encode(
        alt.X("size:Q", title="mean set size", axis=alt.Axis(tickCount=5)),
        alt.Y("class:N", sort=None, axis=None),
    )
    left = (dots + axes.share_rule(evidence)).properties(width=_WIDTH // 2, height=height)
    return left | bars.properties(width=_WIDTH // 2, height=height)


def confusion(evidence: Evidence) -> Chart:
    """Of the examples of a true class, the share whose set holds each class."""
    sigma = np.asarray(metrics.coverage_confusion(evidence.sets(), evidence.labels))
    tests = np.bincount(evidence.labels, minlength=len(evidence.classes))
    shares = sigma * len(evidence.labels) / np.maximum(tests, 1)[:, None]
    rows = [
        {"truth": truth, "other": other, "share": float(shares[y, k])}
        for y, truth in enumerate(evidence.classes)
        for k, other in enumerate(evidence.classes)
    ]
    colours, legend = alt.Scale(range=["#f3f5f6", BLUE], domain=[0, 1]), alt.Legend(format="~%")
    axis, side = axes.name_axis(evidence.classes), max(160, _LINE * len(evidence.classes))
    cells = (
        axes.drawn(rows)
        .mark_rect()
        .encode(
            alt.X("other:N", sort=None, title="class in the set", axis=axis),
            alt.Y("truth:N", sort=None, title="true class"),
            alt.Color("share:Q", scale=colours, title="share of sets", legend=legend),
        )
    )
    return cells.properties(width=side, height=side)


def wishes(evidence: Evidence) -> Chart:
    """Of the examples of each class concerned, the share whose set holds an unwanted class."""
    shares = [unwanted_shares(evidence, c) for c in range(len(evidence.candidates))]
    concerned = np.flatnonzero(~np.isnan(shares[0]))
    worst = concerned[np.argsort(-np.max(shares, axis=0)[concerned], kind="stable")]
    rows = [
        {"class": evidence.classes[y], "share": float(of_classes[y]), "training": candidate.name}
        for candidate, of_classes in zip(evidence.candidates, shares, strict=True)
        for y in worst[:_MOST]
    ]
    bars = (
        axes.drawn(rows)
        .mark_bar()
        .encode(
            axes.share_axis("share", "sets that hold an unwanted class", from_zero=True),
            alt.Y("class:N", sort=None, title=_some("true class", len(concerned))),
            axes.training_colour(evidence),
            yOffset=alt.YOffset("training:N", sort=None),
        )
    )
    return bars.properties(width=_WIDTH, height=alt.Step(12))


def price(evidence: Evidence) -> Chart:
    """Mixed sets against mean size, over the weight of the wishes; the chosen one stands out."""
    rows = [
        {
            "size": point.size,
            "mixed": point.mixed,
            "order": i,
            "weight": "no wish" if point.weight == 0 else f"{point.weight:g}",
            "chosen": point.chosen,
        }
        for i, point in enumerate(evidence.price)
    ]
    chart = axes.drawn(rows).encode(
        alt.X("size:Q", title="mean set size", scale=alt.Scale(zero=False)),
        alt.Y("mixed:Q", title="sets that hold what should stay apart", axis=alt.Axis(format="~%")),
    )
    line = chart.mark_line(color=BLUE).encode(alt.Order("order:Q"))
    dots = chart.mark_point(filled=True, opacity=1).encode(
        color=alt.condition(alt.datum.chosen, alt.value(ORANGE), alt.value(BLUE)),
        size=alt.condition(alt.datum.chosen, alt.value(140), alt.value(50)),
    )
    names = chart.mark_text(align="left", dx=8, dy=-8).encode(alt.Text("weight:N"))
    return (line + dots + names).properties(width=_WIDTH, height=_HEIGHT)


def unwanted_shares(evidence: Evidence, candidate: int) -> Numbers:
    """Share of each class's sets that hold a class unwanted there, (K,); nan where none is."""
    unwanted = np.asarray(evidence.unwanted)
    mixed = (evidence.sets(candidate) & unwanted[evidence.labels]).any(axis=1)
    tests = np.bincount(evidence.labels, minlength=len(unwanted))
    counts = np.bincount(evidence.labels, mixed, minlength=len(unwanted))
    return np.where(unwanted.any(axis=1) & (tests > 0), counts / np.maximum(tests, 1), np.nan)


def _some(what: str, count: int) -> str:
    return what if count <= _MOST else f"{what}, {_MOST} of {count:,}"


def _styled(chart: Chart) -> Chart:
    return chart.configure_view(stroke=None).configure_axis(
        titleFontWeight="normal",
        labelFontSize=11,
        titleFontSize=12,
        gridColor="#e4e7e9",
        labelLimit=0,  # names are cut already, and by a rule that keeps them apart
        maxExtent=400,
    )
