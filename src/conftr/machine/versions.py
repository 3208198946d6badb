"""Which versions of what made a result."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version

_ALWAYS = ("conftr", "jax", "numpy")


@cache
def versions(*more: str) -> dict[str, str]:
    """The versions of the packages that decide a result, and of any others by their names."""
    return {name: version(name) for name in (*_ALWAYS, *more)}


def statement() -> dict[str, str]:
    """The versions of these packages and of Python, as results tell them."""
    return versions() | {"python": platform.python_version()}
