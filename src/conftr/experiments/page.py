"""The page of results: every exhibit with its figure, its table and its remarks, from the store.

As Markdown for the documentation, with figures in files beside it, and as one self-contained HTML
file.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from conftr.experiments.exhibits import Exhibit
from conftr.experiments.figures import figures
from conftr.experiments.sheets import sheet
from conftr.experiments.specification import Specification
from conftr.experiments.store import Store
from conftr.machine.table import Table, markdown_table

TITLE = "Results"
INTRODUCTION = (
    "The paper's numbers beside ours. Every number of ours is read from a file in results/, named "
    "in the last column, which holds every setting, seed and version; this page is made from those "
    "files alone, by `conftr reproduce --stored --page docs/results.md`.",
    "Set size (inefficiency) is the mean over training trials and, for each, random "
    "calibration/test splits; ± is the deviation over training trials. Trials draw their training "
    "set once from five copies (the paper's text) on MNIST, WineQuality and GermanCredit; on "
    "Fashion-MNIST, EMNIST and Camelyon they train on the whole training set from fresh starts, "
    "for the reason that the comparison of the two protocols below shows.",
    "“Baseline, tuned” is the same number for cross-entropy with epochs, batch size, learning rate "
    "and weight decay searched on held-out training data, as hard as ConfTr's settings were; its "
    "records are named in Tables 1 and 8.",
    "A dash stands where the paper has no number or a run has not been made.",
)


def write(exhibits: Sequence[Exhibit], store: Store, path: Path) -> None:
    """The page at `path` (.md), its figures in `figures/` beside it, and the same as .html."""
    drawn = {one.key: figures(one, store) for one in exhibits}
    folder = path.parent / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {name: _svg(chart) for charts in drawn.values() for name, chart in charts.items()}
    for name, picture in pictures.items():
        (folder / f"{name}.svg").write_text(picture, encoding="utf-8")
    path.write_text(as_markdown(exhibits, store, drawn), encoding="utf-8")
    page = as_html(exhibits, store, drawn, pictures)
    path.with_suffix(".html").write_text(page, encoding="utf-8")


def as_markdown(
    exhibits: Sequence[Exhibit], store: Store, drawn: Mapping[str, Mapping[str, Any]]
) -> str:
    """The page as Markdown, for a folder beside that of the results."""

    def link(run: Specification) -> str:
        file = store.path(run).relative_to(store.root)
        return f"[{run.name[:8]}](../results/{file.as_posix()})"

    def parts() -> Iterator[str]:
        yield f"# {TITLE}"
        yield from INTRODUCTION
        for exhibit in exhibits:
            table = sheet(exhibit, store, link)
            yield f"## {table.title}"
            yield f"```\nconftr reproduce {exhibit.key}\n```"
            for name in drawn[exhibit.key]:
                yield f"![{exhibit.title}](figures/{name}.svg)"
            yield markdown_table(table)
            yield from table.remarks

    return "\n\n".join(parts()) + "\n"


def as_html(
    exhibits: Sequence[Exhibit],
    store: Store,
    drawn: Mapping[str, Mapping[str, Any]],
    pictures: Mapping[str, str],
) -> str:
    """The page as one HTML file with its figures inside."""

    def parts() -> Iterator[str]:
        yield f"<h1>{TITLE}</h1>"
        yield from (f"<p>{html.escape(text)}</p>" for text in INTRODUCTION)
        links = (f'<a href="#{one.key}">{html.escape(one.title)}</a>' for one in exhibits)
        yield f"<nav>{' · '.join(links)}</nav>"
        for exhibit in exhibits:
            table = sheet(exhibit, store)
            yield f'<h2 id="{exhibit.key}">{html.escape(table.title)}</h2>'
            yield f"<pre>conftr reproduce {exhibit.key}</pre>"
            yield from (f"<figure>{pictures[name]}</figure>" for name in drawn[exhibit.key])
            yield _html_table(table)
            yield from (f"<p>{html.escape(text)}</p>" for text in table.remarks)

    frame = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
    return frame.substitute(title=f"conftr: {TITLE.lower()}", body="\n".join(parts()))


def _html_table(table: Table) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

    body = "\n".join(row(cells, "td") for cells in table.cells)
    head = row(table.columns, "th")
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def _svg(chart: Any) -> str:
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg(chart.to_dict())
    return drawn
