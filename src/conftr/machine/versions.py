"""Versions of Python and of packages, as records keep them."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

_ALWAYS = ("conftr", "jax", "numpy")


@cache
def versions(*more: str) -> dict[str, str]:
    """The versions of the packages that decide a result, and of any others by their names.

    What is not installed is left out: calibrating takes no JAX.
    """
    known: dict[str, str] = {}
    for name in (*_ALWAYS, *more):
        try:
            known[name] = version(name)
        except PackageNotFoundError:
            continue
    return known


def statement(*more: str) -> dict[str, str]:
    """The versions of these packages and of Python, as results tell them."""
    return versions(*more) | {"python": platform.python_version()}
