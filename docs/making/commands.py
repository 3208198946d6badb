"""The page of commands, from the command line itself."""

import re
from typing import Any

import typer
from mkdocs.structure.files import File
from typer.cli import get_docs_for_click

from conftr.cli import app

PAGE = "commands.md"


def on_files(files: Any, config: Any) -> Any:
    """Add the page."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="conftr")
    text = get_docs_for_click(obj=command, ctx=context, name="conftr")
    files.append(File.generated(config, PAGE, content=_tidy(text)))
    return files


def _tidy(text: str) -> str:
    text = text.replace("# `conftr`", "# Commands", 1).replace("```console\n$ ", "```\n")
    text = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+\n", "", text)  # cut off in mid-sentence
    return re.sub(r"^(##+) `conftr (.*)`", r"\1 \2", text, flags=re.MULTILINE)
