"""The page of results: every exhibit with its figure, its table and its remarks, from the store.

As Markdown for the documentation, with figures in files beside it, and as one self-contained HTML
file.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from types import ModuleType
from typing import Any

from conftr.experiments.specification import Specification
from conftr.experiments.store import Store
from conftr.machine.disk import write_whole
from conftr.machine.table import Table, markdown_table
from conftr.paper import averages, later
from conftr.paper.exhibit_table import table_of
from conftr.paper.exhibits import Exhibit
from conftr.paper.figures import figures
from conftr.paper.remarks import introduction, remarks, title

_SECTIONS = (averages, later)  # what goes beyond the paper


def write(exhibits: Sequence[Exhibit], store: Store, path: Path) -> None:
    """The page at `path` (.md), its figures in `figures/` beside it, and the same as .html."""
    drawn = {exhibit.key: figures(exhibit, store) for exhibit in exhibits}
    pictures = {name: _svg(chart) for charts in drawn.values() for name, chart in charts.items()}
    for name, picture in pictures.items():
        write_whole(path.parent / "figures" / f"{name}.svg", picture.encode())
    write_whole(path, as_markdown(exhibits, store, drawn).encode())
    write_whole(path.with_suffix(".html"), _as_html(exhibits, store, drawn, pictures).encode())


def as_markdown(
    exhibits: Sequence[Exhibit], store: Store, drawn: Mapping[str, Mapping[str, Any]]
) -> str:
    """The page as Markdown, for a folder beside that of the results."""

    def link(run: Specification) -> str:
        file = store.path(run).relative_to(store.root)
        return f"[{run.name[:8]}](../results/{file.as_posix()})"

    def blocks() -> Iterator[str]:
        yield f"# {title()}"
        yield from introduction()
        for exhibit in exhibits:
            table = table_of(exhibit, store, link)
            yield f"## {table.title}"
            yield f"```\nconftr reproduce {exhibit.key}\n```"
            for name in drawn[exhibit.key]:
                yield f"![{exhibit.title}](figures/{name}.svg)"
            yield markdown_table(table)
            yield from table.remarks
        for section in _SECTIONS:
            yield f"## {section.TITLE}"
            yield f"```\n{section.COMMAND} {' '.join(section.TITLES)}\n```"
            yield from _section_texts(section, store)
            for table in section.tables(store, _linked):
                yield f"### {table.title}"
                yield markdown_table(table)
                yield from table.remarks

    return "\n\n".join(blocks()) + "\n"


def _as_html(
    exhibits: Sequence[Exhibit],
    store: Store,
    drawn: Mapping[str, Mapping[str, Any]],
    pictures: Mapping[str, str],
) -> str:
    """The page as one HTML file with its figures inside."""

    def blocks() -> Iterator[str]:
        yield f"<h1>{title()}</h1>"
        yield from (f"<p>{html.escape(text)}</p>" for text in introduction())
        links = (
            f'<a href="#{exhibit.key}">{html.escape(exhibit.title)}</a>' for exhibit in exhibits
        )
        yield f"<nav>{' · '.join(links)}</nav>"
        for exhibit in exhibits:
            table = table_of(exhibit, store)
            yield f'<h2 id="{exhibit.key}">{html.escape(table.title)}</h2>'
            yield f"<pre>conftr reproduce {exhibit.key}</pre>"
            yield from (f"<figure>{pictures[name]}</figure>" for name in drawn[exhibit.key])
            yield _html_table(table)
            yield from (f"<p>{html.escape(text)}</p>" for text in table.remarks)
        for section in _SECTIONS:
            yield f'<h2 id="{section.KEY}">{html.escape(section.TITLE)}</h2>'
            yield from (f"<p>{html.escape(text)}</p>" for text in _section_texts(section, store))
            for table in section.tables(store, lambda path: path.stem[-16:-8]):
                yield f"<h3>{html.escape(table.title)}</h3>"
                yield _html_table(table)
                yield from (f"<p>{html.escape(text)}</p>" for text in table.remarks)

    frame = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
    return frame.substitute(title=f"conftr: {title().lower()}", body="\n".join(blocks()))


def _section_texts(section: ModuleType, store: Store) -> Iterator[str]:
    """What to know of a section beyond the paper, and what has not been run of it."""
    yield from (remark.text for remark in remarks(section.KEY))
    missing, command = section.missing(store), section.COMMAND
    if missing:
        yield f"Not run yet: {', '.join(missing)}. `{command} {' '.join(missing)}` does that."


def _linked(path: Path) -> str:
    return f"[{path.stem[-16:-8]}](../results/{path.as_posix()})"


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
