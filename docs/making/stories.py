"""Run a page: its Python, then its commands, in order, and write what they print below them.

    python docs/making/stories.py docs/own-data.md

Commands stand in blocks called `console` behind a `$`. They run in a folder of their own. Lines
that only tell how far a run is are left out, and a folder of datasets is needed where a page asks
for one (CONFTR_DATA). Only sections named on the command line are run, where some are.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROGRESS = re.compile(r"^conftr: .*: \d+ of \d+.*\n", re.MULTILINE)


class Command(NamedTuple):
    """A command, and what the page says that it prints."""

    text: str
    shown: str


def sections(page: str) -> Iterator[tuple[str, str]]:
    """The title and text of every part that begins with a heading of the second level."""
    for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        yield title, text


def commands(block: str) -> list[Command]:
    """The commands of a block; one goes on after a backslash."""
    matches = re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    return [Command(text, shown) for text, shown in matches]


def run(text: str, folder: Path) -> str:
    """What a command prints, on both streams, in a shell that finds this Python's programs."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", text],
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return PROGRESS.sub("", done.stdout)


def retold(section: str, folder: Path) -> str:
    """A section with the outputs that its commands have now."""

    def anew(block: re.Match[str]) -> str:
        kind, content = block.groups()
        if kind == "python":
            subprocess.run([sys.executable, "-c", content], cwd=folder, check=True)
            return block[0]
        parts = (f"$ {command.text}\n{run(command.text, folder)}" for command in commands(content))
        return f"```console\n{''.join(parts)}```"

    return BLOCK.sub(anew, section)


def main() -> None:
    """Tell the page anew."""
    page = Path(sys.argv[1])
    with TemporaryDirectory() as folder:
        for title, text in sections(page.read_text(encoding="utf-8")):
            if title in sys.argv[2:] or not sys.argv[2:]:
                anew = retold(text, Path(folder))
                whole = page.read_text(encoding="utf-8")
                page.write_text(whole.replace(text, anew), encoding="utf-8")


if __name__ == "__main__":
    main()
