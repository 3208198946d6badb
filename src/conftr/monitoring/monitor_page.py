"""The monitor as one page of HTML, with the path of the evidence."""

from __future__ import annotations

import math
from importlib.resources import files
from typing import Any

import jinja2
import numpy as np

from conftr.monitoring.findings import Findings, amount, sentence, untested
from conftr.monitoring.streams import CONFIDENCE, SIZES, Stream

_WIDTH, _HEIGHT, _LEFT, _FOOT = 720, 260, 46, 22
_POINTS = 600  # of a path
_DRAWN = 8  # streams of a figure, those that say most
_COLOURS = ("#005e9e", "#be4e00", "#2f7d4f", "#8a4fa0", "#767e86", "#a8871a", "#b0305c", "#3f8f97")


def page(findings: Findings, streams: list[Stream], title: str) -> str:
    """The page as text: self-contained, opened from a disk, offline."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    text = files("conftr.monitoring").joinpath("page.html").read_text(encoding="utf-8")
    unlabelled = [stream for stream in streams if stream.kind in (SIZES, CONFIDENCE)]
    labelled = [stream for stream in streams if stream not in unlabelled]
    ranked = sorted(findings.found, key=lambda finding: -finding.evidence)
    return environment.from_string(text).render(
        title=title,
        findings=findings,
        lines=[
            {"finding": finding, "says": sentence(finding), "amount": amount(finding.evidence)}
            for finding in ranked
        ],
        untested=untested(findings) if findings.left_out else "",
        needed=amount(1 / findings.level),
        figures=[
            {"title": name, "drawing": _figure(some, findings.level)}
            for name, some in (("Rows with labels", labelled), ("All rows", unlabelled))
            if any(len(stream.path) for stream in some)
        ],
        width=_WIDTH,
        height=_HEIGHT,
        left=_LEFT,
        foot=_FOOT,
    )


def _figure(streams: list[Stream], level: float) -> dict[str, Any]:
    """Paths of the streams that say most, on one scale: capital times share."""
    streams = sorted(streams, key=lambda stream: -stream.evidence())[:_DRAWN]
    rows = max(len(stream.path) for stream in streams)
    tops = [math.log10(1 / level) + 1, *(math.log10(stream.evidence()) for stream in streams)]
    high, low = min(math.ceil(max(tops)), 40), -3
    scale = (_HEIGHT - _FOOT - 8) / (high - low)

    def height(value: float) -> float:
        return round(8 + scale * (high - min(max(value, low), high)), 1)

    step = max(1, math.ceil((high - low) / 6))
    return {
        "rows": rows,
        "alarm": height(math.log10(1 / level)),
        "ticks": [{"y": height(t), "text": f"{10.0**t:g}"} for t in range(low, high + 1, step)],
        "paths": [
            {
                "name": f"{stream.kind}: {stream.name}",
                "colour": colour,
                "d": _path(stream, rows, height),
            }
            for stream, colour in zip(streams, _COLOURS, strict=False)
            if len(stream.path)
        ],
    }


def _path(stream: Stream, rows: int, height: Any) -> str:
    """The path of a stream; where rows are many, the highest of those that share a point."""
    values = (stream.path + math.log(stream.share)) / math.log(10)
    spans = np.array_split(np.arange(len(values)), min(len(values), _POINTS))
    right = (_WIDTH - _LEFT - 8) / max(1, rows)
    points = [(round(_LEFT + right * (p[-1] + 1), 1), height(values[p].max())) for p in spans]
    return "M" + "L".join(f"{x} {y}" for x, y in points)
