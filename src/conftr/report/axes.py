"""What figures share: data as rows, colours, and axes of promises, shares and sizes."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import altair as alt

from conftr.classifier.evidence import Evidence

# altair's own methods are not typed.
Chart: TypeAlias = Any

# Colours that stay apart for colour-blind eyes and in print: Okabe and Ito, a little darker.
BLUE, ORANGE, GREY = "#005e9e", "#be4e00", "#767e86"
_DASHES = [[1, 0], [6, 3], [2, 3]]
_PROMISES = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001, 0.0001, 0.00001]
_LEAST_SIZE = 1e-3


def drawn(rows: list[dict[str, Any]]) -> Chart:
    """A chart of rows, each field -> value."""
    return alt.Chart({"values": rows})


def promise_axis() -> alt.X:
    """Promised coverage on the scale of its nines, stronger promises to the right."""
    scale = alt.Scale(type="log", reverse=True, nice=False)
    text = "format(1 - datum.value, '~%')"
    axis = alt.Axis(values=_PROMISES, labelExpr=text, grid=False)
    return alt.X("alpha:Q", title="promised coverage", scale=scale, axis=axis)


def promise_rule(evidence: Evidence) -> Chart:
    """The user's promise, on an axis of promises."""
    return drawn([{"alpha": evidence.alpha}]).mark_rule(strokeDash=[2, 3]).encode(alt.X("alpha:Q"))


def share_axis(field: str, title: str, *, from_zero: bool = False) -> alt.X:
    """Shares in per cent; of coverages the upper end is 1, of others the lower end 0."""
    scale = alt.Scale(zero=True) if from_zero else alt.Scale(zero=False, domainMax=1)
    return alt.X(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(format="~%", tickCount=5))


def share_rule(evidence: Evidence) -> Chart:
    """The user's promise, on an axis of coverages."""
    return drawn([{"promise": 1 - evidence.alpha}]).mark_rule().encode(alt.X("promise:Q"))


def size_axis(sizes: list[float]) -> alt.Y:
    """Mean set sizes on a logarithmic scale, with ticks at 1, 2, 5, 10 ..."""
    low, high = max(min(sizes), _LEAST_SIZE), max(*sizes, 1.0)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
    axis = alt.Axis(values=[step for step in steps if low <= step <= high], format="~g")
    scale = alt.Scale(type="log", domain=[low, high], clamp=True)
    return alt.Y("size:Q", title="mean set size", scale=scale, axis=axis)


def name_axis(names: tuple[str, ...]) -> alt.Axis:
    """Names of classes along the foot; short ones stand upright."""
    return alt.Axis(labelAngle=0 if max(map(len, names)) <= 3 else -90)


def training_colour(evidence: Evidence) -> alt.Color:
    """A colour for each candidate."""
    names = [candidate.name for candidate in evidence.candidates]
    return alt.Color(
        "training:N",
        scale=alt.Scale(domain=names, range=[BLUE, ORANGE, GREY]),
        legend=alt.Legend(title=None, labelLimit=0) if len(names) > 1 else None,
    )


def training_dash(evidence: Evidence) -> alt.StrokeDash:
    """Dashes for each candidate, for those who see no colours."""
    names = [candidate.name for candidate in evidence.candidates]
    return alt.StrokeDash("training:N", scale=alt.Scale(domain=names, range=_DASHES))
