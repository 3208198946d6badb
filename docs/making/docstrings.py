"""From docstrings as the house writes them to Markdown.

A paragraph of lines `name: what it is` lists settings, and so do those below `Args:` and `Raises:`;
one that is Python shows a call; a public name in backticks leads to its own entry.
"""

import ast
import re
from textwrap import dedent
from typing import Any

import griffe

import conftr

SHAPE = r"(?: \([^)]*\))?"
SETTING = re.compile(rf"(\w+{SHAPE}(?:, \w+{SHAPE})*): ")
SECTIONS = ("Args:", "Returns:", "Raises:")
NAME = re.compile(r"(?<!\[)`(\w+)`")


class House(griffe.Extension):
    """Rewrite every docstring."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Called for each object that was read."""
        if obj.name == "__init__" and obj.is_function:
            obj.docstring = None  # its parameters are told with the class
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value, names_of(obj), obj.name)


def names_of(obj: Any) -> set[str]:
    """The parameters of a function, the fields or parameters of a class."""
    if obj.is_function:
        return {parameter.name for parameter in obj.parameters}
    if not obj.is_class:
        return set()
    made = obj.members.get("__init__")
    return set(obj.members) | (names_of(made) if made else set())


def markdown(docstring: str, settings: set[str], own: str = "") -> str:
    """The text as Markdown."""
    return "\n\n".join(paragraph(one, settings, own) for one in docstring.split("\n\n"))


def paragraph(text: str, settings: set[str], own: str) -> str:
    """One paragraph: a list of settings, a call, a formula, or prose."""
    if text.startswith("    "):
        return text
    if text.startswith(SECTIONS):
        return section(text, own)
    found = SETTING.match(text)
    if found and re.match(r"\w+", found[1])[0] in settings:
        return "\n".join(item(line, own) for line in text.splitlines())
    return f"```python\n{text}\n```" if is_call(text) else linked(text, own)


def section(text: str, own: str) -> str:
    """A section of Google's style: its name, then a list, or for `Returns:` what is given back."""
    name, *lines = text.splitlines()
    body = dedent("\n".join(lines))
    if name == "Returns:":
        return f"Returns {linked(body, own)}"
    title = "" if name == "Args:" else f"{name}\n\n"
    return title + "\n".join(item(line, own) for line in body.splitlines())


def item(line: str, own: str) -> str:
    """A line of a list: a setting, or what goes on from the line before."""
    found = SETTING.match(line)
    if not found:
        return f"    {linked(line.strip(), own)}"
    return f"- `{found[1]}`: {linked(line[found.end() :], own)}"


def is_call(text: str) -> bool:
    """Whether it is Python that does something."""
    try:
        return any(isinstance(node, ast.Call) for node in ast.walk(ast.parse(text)))
    except SyntaxError:
        return False


def linked(text: str, own: str) -> str:
    """Public names lead to their entries."""

    def link(name: re.Match[str]) -> str:
        known = name[1] in conftr.__all__ and name[1] != own
        return f"[{name[0]}][conftr.{name[1]}]" if known else name[0]

    return NAME.sub(link, text)
