"""One page of HTML that holds its data, its style and its script, and asks nothing of a network."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

import jinja2
import numpy as np

from conftr.evidence import Evidence, Integers
from conftr.report import numbers
from conftr.report.examples import examples
from conftr.report.sampling import clipped, sample
from conftr.report.stops import fraction, stops

_SCRIPTS = ["sets.js", "draw.js", "tables.js", "cards.js", "live.js"]
# Wider matrices of confusions become a list of pairs, and beyond the second bound nothing at all.
_MATRIX, _PAIRS = 30, 1000
_USUAL = [0.2, 0.1, 0.05, 0.02, 0.01]


def page(evidence: Evidence) -> str:
    """The whole page as text: self-contained, opened from a disk, offline, on any screen."""
    held = sample(evidence)
    values = numbers.headline(held, held.alpha)
    groups = numbers.tallies(held, held.alpha)
    return _template().render(
        evidence=held,
        title=_title(held),
        values=values,
        verdict=numbers.verdict(groups),
        rows=len(held.labels),
        all_rows=len(evidence.labels),
        all_values=numbers.headline(evidence, evidence.alpha),
        n_classes=len(held.classes),
        n_groups=len(held.group_names),
        accuracy=[
            numbers.share(_right(held, c), len(held.labels)) for c in range(len(held.candidates))
        ],
        confusions=2 < len(held.classes) <= _PAIRS,
        matrix=len(held.classes) <= _MATRIX,
        usual=_usual(held),
        provenance=list(_lines(held.provenance)),
        data=_json(_data(held)),
        style=_text("page.css"),
        script="\n".join(_text(name) for name in _SCRIPTS),
    )


def _template() -> jinja2.Template:
    """Everything put into it is escaped but for style, script and data, which are our own."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_text("page.html"))


def _text(name: str) -> str:
    return files("conftr.report").joinpath("template", name).read_text(encoding="utf-8")


def _data(evidence: Evidence) -> dict[str, Any]:
    """What the script works on: places, labels, groups, and what it shows them with."""
    alphas = stops(evidence.alpha)
    ratios = [fraction(alpha) for alpha in alphas]
    return {
        "classes": evidence.classes,
        "labels": _packed(evidence.labels),
        "groups": None if evidence.groups is None else _packed(evidence.groups),
        "groupNames": evidence.group_names,
        "calibrationSizes": evidence.calibration_sizes,
        "candidates": [
            {"name": candidate.name, "places": _packed(places), **_curve(evidence, c)}
            for c, (candidate, places) in enumerate(
                zip(evidence.candidates, clipped(evidence), strict=True)
            )
        ],
        "stops": [
            {"ratio": [str(ratio.numerator), str(ratio.denominator)], **numbers.at_stop(alpha)}
            for alpha, ratio in zip(alphas, ratios, strict=True)
        ],
        "start": alphas.index(evidence.alpha),
        "right": _right(evidence),
        "tail": numbers.TAIL,
        "band": numbers.band(evidence) if len(evidence.group_names) == 1 else None,
        "bins": numbers.bins(len(evidence.classes)),
        "matrix": len(evidence.classes) <= _MATRIX,
        "examples": examples(evidence),
        "unwanted": _unwanted(evidence),
        "shrink": [] if evidence.shrink is None else np.flatnonzero(evidence.shrink > 1).tolist(),
    }


def _unwanted(evidence: Evidence) -> list[list[int]] | None:
    """Of each true class, the classes its sets should not hold."""
    if evidence.unwanted is None or not evidence.unwanted.any():
        return None
    return [np.flatnonzero(row).tolist() for row in evidence.unwanted]


def _curve(evidence: Evidence, candidate: int) -> dict[str, list[float]]:
    found = numbers.curve(evidence, candidate)
    return {"sizes": found.size.round(4).tolist(), "coverages": found.coverage.round(5).tolist()}


def _packed(values: Integers) -> dict[str, str]:
    """Whole numbers in the narrowest type, compressed, as text."""
    narrow = np.ascontiguousarray(values, np.min_scalar_type(int(np.max(values, initial=0))))
    little = narrow.astype(narrow.dtype.newbyteorder("<"))
    squeezed = gzip.compress(little.tobytes(), 9, mtime=0)
    return {"bits": str(8 * narrow.itemsize), "data": base64.b64encode(squeezed).decode()}


def _json(data: Mapping[str, Any]) -> str:
    """JSON that cannot end the script element it stands in, whatever a class is called."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _title(evidence: Evidence) -> str:
    """What was learned from, if that is known."""
    return str(evidence.provenance.get("file") or "a classifier")


def _right(evidence: Evidence, candidate: int = 0) -> int:
    """How many test examples have their own class as the likeliest."""
    likeliest = np.argmax(evidence.candidates[candidate].probabilities, axis=1)
    return int(np.count_nonzero(likeliest == evidence.labels))


def _usual(evidence: Evidence) -> list[dict[str, str]]:
    """The headline at the user's alpha and at those that people ask for."""
    alphas = sorted({evidence.alpha, *_USUAL}, reverse=True)
    return [numbers.headline(evidence, alpha) for alpha in alphas]


def _lines(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Plain data as lines of a table; what lies deeper is named by its path."""
    for name, value in values.items():
        path = f"{above}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            yield from _lines(value, f"{path} · ")
        elif isinstance(value, list | tuple):
            yield path, ", ".join(str(one) for one in value)
        else:
            yield path, "none" if value is None else str(value)
