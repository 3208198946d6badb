"""One page of HTML that holds its data, its style and its script, and asks nothing of a network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

import jinja2

from conftr.classifier.evidence import Evidence
from conftr.report import numbers, price
from conftr.report.contents import WIDEST_MATRIX, contents
from conftr.report.readable import readable
from conftr.report.sampling import sample

_SCRIPTS = ["sets.js", "draw.js", "tables.js", "cards.js", "live.js"]
# With more classes than these there is no list of the pairs that share a set.
_MOST_CLASSES = 1000
# Why a candidate was chosen, and from what, stands beside the candidates, the rest of the
# provenance in a table.
_WHY, _MEASURED = "why", "measured"
_ELSEWHERE = (_WHY, _MEASURED)
_USUAL = [0.2, 0.1, 0.05, 0.02, 0.01]


def page(evidence: Evidence) -> str:
    """The whole page as text: self-contained, opened from a disk, offline, on any screen.

    Args:
        evidence: What a classifier showed.

    Returns:
        HTML.
    """
    evidence = readable(evidence)
    held = sample(evidence)
    values = numbers.headline(held, held.alpha)
    groups = numbers.tallies(held, held.alpha)
    return _template().render(
        evidence=held,
        title=_title(held),
        why=held.provenance.get(_WHY) or "",
        values=values,
        verdict=numbers.verdict(groups),
        rows=len(held.labels) + held.unseen,
        known_rows=len(held.labels),
        all_rows=len(evidence.labels) + evidence.unseen,
        sure=numbers.rounded(100 * evidence.sure(evidence.alpha), 1),
        unseen_share=numbers.rounded(100 * evidence.unseen_share, 1),
        target=str(held.provenance.get("target") or "y"),
        all_values=numbers.headline(evidence, evidence.alpha),
        n_classes=len(held.classes),
        n_groups=len(held.group_names),
        accuracy=[numbers.accuracy(held, c) for c in range(len(held.candidates))],
        confusions=2 < len(held.classes) <= _MOST_CLASSES,
        matrix=len(held.classes) <= WIDEST_MATRIX,
        usual=_usual(held),
        measured=_measured(evidence),
        price=price.dots(evidence),
        price_width=price.WIDTH,
        price_height=price.HEIGHT,
        price_margin=price.MARGIN,
        provenance=list(_lines({n: v for n, v in held.provenance.items() if n not in _ELSEWHERE})),
        data=contents(held),
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


def _title(evidence: Evidence) -> str:
    """What was learned from, if that is known."""
    provenance = evidence.provenance
    return str(provenance.get("file") or provenance.get("dataset") or "a classifier")


def _usual(evidence: Evidence) -> list[dict[str, str]]:
    """The headline at the user's alpha and at those that people ask for."""
    alphas = sorted({evidence.alpha, *_USUAL}, reverse=True)
    return [numbers.headline(evidence, alpha) for alpha in alphas]


def _measured(evidence: Evidence) -> list[tuple[str, str]]:
    """Every head and member that was compared, the smallest sets first."""
    sizes = evidence.provenance.get(_MEASURED) or {}
    return [(name, f"{size:.3f}") for name, size in sorted(sizes.items(), key=lambda pair: pair[1])]


def _lines(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Plain data as lines of a table; what lies deeper is named by its path."""
    for name, value in values.items():
        path = f"{above}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            yield from _lines(value, f"{path} · ")
        elif isinstance(value, list | tuple):
            yield path, ", ".join(str(entry) for entry in value)
        else:
            yield path, "none" if value is None else str(value)
