"""A table of text: as Markdown, or drawn on a terminal."""

from __future__ import annotations

from typing import Any, NamedTuple

RECORD = "record"  # the column of the names of records


class Table(NamedTuple):
    """A title, the names of the columns, cells as text, and remarks below."""

    title: str
    columns: list[str]
    cells: list[list[str]]
    remarks: list[str]


def markdown(table: Table) -> str:
    """Write a table as Markdown, with title and remarks."""
    return "\n\n".join([f"**{table.title}**", markdown_table(table), *table.remarks]) + "\n"


def markdown_table(table: Table) -> str:
    """Columns and cells alone, as Markdown."""
    lines = [table.columns, ["---"] * len(table.columns), *table.cells]
    return "\n".join("| " + " | ".join(line).replace("\n", ", ") + " |" for line in lines)


def draw(table: Table) -> Any:
    """Draw a table with rich."""
    from rich.table import Table as Drawn

    remarks = "\n".join(table.remarks) or None
    drawn = Drawn(title=table.title, title_justify="left", caption=remarks, caption_justify="left")
    for i, column in enumerate(table.columns):
        # The name of a record is the name of its file: it is never cut, as other cells may be.
        whole = column == RECORD
        drawn.add_column(
            column,
            justify="right" if i else "left",
            no_wrap=whole,
            overflow="fold" if whole else "ellipsis",
        )
    for line in table.cells:
        drawn.add_row(*line)
    return drawn
