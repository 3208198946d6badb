"""Links in docstrings: a public name in backticks leads to its own entry."""

import re
from typing import Any

import griffe

import conftr

NAME = re.compile(r"(?<!\[)`(\w+)`")


class Links(griffe.Extension):
    """Rewrite every docstring."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Called for each object that was read."""
        if obj.name == "__init__" and obj.is_function:
            obj.docstring = None  # its parameters are told with the class
        if obj.docstring:
            obj.docstring.value = linked(obj.docstring.value, obj.name)


def linked(text: str, of: str) -> str:
    """Public names lead to their entries, but for the name of the entry itself."""

    def link(name: re.Match[str]) -> str:
        known = name[1] in conftr.__all__ and name[1] != of
        return f"[{name[0]}][conftr.{name[1]}]" if known else name[0]

    return NAME.sub(link, text)
