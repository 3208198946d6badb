"""Compiled programs: equal settings share one, and only so many are kept.

JAX keeps what it compiled for a function as long as the function lives. Here every program is a
function of its own. It goes when others have been used more lately, with all that JAX keeps of it,
and no program of the user's goes with it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np

Function: TypeAlias = Callable[..., Any]

# A fit uses four or more. One takes about three megabytes and sixty memory maps, of
# which Linux grants a process 65,530.
_KEPT = 32
_SHOWN: dict[Any, Any] = {}  # the warnings that Python need not show again


class _Program(NamedTuple):
    """A jitted function, and the warnings that were given while it was traced."""

    jitted: Any
    warnings: list[warnings.WarningMessage]


def shared(function: Function, settings: tuple[Any, ...], *operands: Any) -> Any:
    """The function of operands alone, jitted; equal settings and shapes get the same one.

    Whatever the function warns of while it is traced is said again to everyone who takes it.

    Args:
        function: called as function(*settings, *operands). Its name is that of the program.
        settings: values that are compiled into the program; hashable, equal where they mean the
            same.
        operands: arrays, or trees of them, of the shapes that the program will be called with.

    Returns:
        What `jax.jit` gives: to be called on operands, or traced and compiled ahead.
    """
    leaves, structure = jax.tree.flatten(operands)
    shapes = tuple((np.shape(leaf), getattr(leaf, "dtype", type(leaf))) for leaf in leaves)
    program = _program(function, settings, structure, shapes)
    _say(program.warnings)
    return program.jitted


def on_device(value: Any, dtype: Any = None) -> Any:
    """A number or array where programs find it, of a type; an array of JAX stays where it is.

    `jax.numpy.asarray` does the same with a program for every shape, which JAX keeps for good.
    """
    if isinstance(value, jax.Array):
        return value if dtype is None else value.astype(dtype)
    return jax.device_put(np.asarray(value, dtype))


@lru_cache(maxsize=_KEPT)
def _program(function: Function, settings: tuple[Any, ...], *shapes: Any) -> _Program:  # noqa: ARG001
    caught: list[warnings.WarningMessage] = []

    def traced(*operands: Any) -> Any:
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            result = function(*settings, *operands)
        caught[:] = given
        _say(caught)
        return result

    traced.__name__ = function.__name__
    return _Program(jax.jit(traced), caught)


def _say(caught: list[warnings.WarningMessage]) -> None:
    for warning in caught:
        warnings.warn_explicit(
            warning.message, warning.category, warning.filename, warning.lineno, registry=_SHOWN
        )
