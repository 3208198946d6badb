"""What a user may pass, checked once at the public boundary, refused in words.

Shapes and types are always checked. Values are checked only where they can be looked at: under
`jax.jit` or `torch.compile` nothing is asserted on values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from conftr.arrays import Array, Namespace, is_concrete, namespace


def logits_array(logits: Array, name: str = "logits", *, values: bool = True) -> Array:
    """Finite floating point (n, K); half precision is widened to float32."""
    xp = namespace(**{name: logits})
    if logits.ndim != 2 or logits.shape[1] < 1:
        raise ValueError(
            f"{name} must have shape (n, K), one row an example and one column a class; "
            f"got shape {tuple(logits.shape)}."
        )
    logits = _floating(xp, logits, name)
    if values and is_concrete(logits) and not bool(xp.all(xp.isfinite(logits))):
        _refuse_infinite(xp, logits, name)
    return logits


def scores_array(scores: Array, name: str = "scores") -> Array:
    """Floating point (n, K) without nan; -inf is a legal score (no conformity at all)."""
    xp = namespace(**{name: scores})
    scores = logits_array(scores, name, values=False)
    if is_concrete(scores) and bool(xp.any(xp.isnan(scores))):
        raise ValueError(
            f"{name} must not contain nan; got {_first(xp, xp.isnan(scores), scores)}."
        )
    return scores


def labels_array(labels: Array, rows: Array, name: str = "labels") -> Array:
    """Integers in 0..K-1, one for each row of `rows` (n, K), from the same library."""
    xp = namespace(scores=rows, **{name: labels})
    if labels.ndim != 1 or labels.shape[0] != rows.shape[0]:
        raise ValueError(
            f"{name} must have shape (n,) with one label for each of the {rows.shape[0]} rows; "
            f"got shape {tuple(labels.shape)}."
        )
    integers_below(xp, labels, rows.shape[1], name)
    return labels


def integers_below(xp: Namespace, values: Array, bound: int, name: str) -> None:
    """Integer type, and every value in 0..bound-1."""
    if not xp.isdtype(values.dtype, "integral"):
        raise TypeError(f"{name} must be integers; got type {values.dtype}.")
    if is_concrete(values):
        bad = (values < 0) | (values >= bound)
        if bool(xp.any(bad)):
            raise ValueError(f"{name} must lie in 0..{bound - 1}; got {_first(xp, bad, values)}.")


def sets_array(sets: Array, name: str = "sets") -> Array:
    """Boolean (n, K), as `predict` gives them."""
    xp = namespace(**{name: sets})
    if sets.ndim != 2:
        raise ValueError(f"{name} must have shape (n, K); got shape {tuple(sets.shape)}.")
    if not xp.isdtype(sets.dtype, "bool"):
        raise TypeError(
            f"{name} must be boolean, as conftr.predict gives them; got type {sets.dtype}."
        )
    return sets


def probability(value: Any, name: str) -> Any:
    """A number, or a concrete array of numbers, strictly between 0 and 1."""
    if hasattr(value, "shape") and not is_concrete(value):
        raise TypeError(
            f"{name} must be known when the program is compiled, because ranks are computed from "
            f"it exactly; got a traced array. Pass it as a static argument or close over it."
        )
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be a number or an array of numbers; got {value!r}.")
    inside = (array > 0) & (array < 1)
    if not np.all(inside):
        raise ValueError(f"{name} must lie strictly between 0 and 1; got {array[~inside].flat[0]}.")
    return array


def number(
    value: Any,
    name: str,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    below: float = math.inf,
) -> None:
    """A finite number in a range; an array or a traced value is taken as it is."""
    if hasattr(value, "shape"):
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number; got {value!r}.")
    if not (math.isfinite(value) and value > above and value >= at_least and value < below):
        rule = [f"above {above:g}"] * (above > -math.inf)
        rule += [f"at least {at_least:g}"] * (at_least > -math.inf)
        rule += [f"below {below:g}"] * (below < math.inf)
        raise ValueError(f"{name} must be {' and '.join(['finite', *rule])}; got {value}.")


def uniforms(u: Any, logits: Array) -> Array:
    """U as a column (n, 1) beside the logits (n, K): from None (0), a number or an array (n,)."""
    xp = namespace(logits=logits)
    if u is None:
        return xp.zeros_like(logits[:, :1])
    if isinstance(u, int | float):
        number(u, "u", at_least=0)
        if u > 1:
            raise ValueError(f"u must lie in [0, 1]; got {u}.")
        return xp.full_like(logits[:, :1], u)
    namespace(logits=logits, u=u)
    if tuple(u.shape) != (logits.shape[0],):
        raise ValueError(
            f"u must be None, a number or an array of shape (n,) = ({logits.shape[0]},), one "
            f"uniform draw an example; got shape {tuple(u.shape)}."
        )
    u = xp.astype(_floating(xp, u, "u"), logits.dtype)
    if is_concrete(u) and not bool(xp.all((u >= 0) & (u <= 1))):
        raise ValueError(f"u must lie in [0, 1]; got {_first(xp, ~((u >= 0) & (u <= 1)), u)}.")
    return u[:, None]


def array_of_shape(value: Any, shapes: Sequence[tuple[int, ...]], name: str, meaning: str) -> None:
    """A setting whose shape must be one of `shapes` and whose values must be >= 0 and finite."""
    shape = np.shape(value) if not hasattr(value, "shape") else tuple(value.shape)
    if shape not in shapes:
        legal = " or ".join(str(s) for s in shapes)
        raise ValueError(f"{name} must have shape {legal}, {meaning}; got shape {shape}.")
    if not hasattr(value, "shape") or is_concrete(value):
        numbers = np.asarray(value)
        if not np.all(np.isfinite(numbers)) or np.any(numbers < 0):
            raise ValueError(f"{name} must be finite and not negative; got {numbers}.")


def _floating(xp: Namespace, x: Array, name: str) -> Array:
    if not xp.isdtype(x.dtype, "real floating"):
        raise TypeError(f"{name} must be floating point numbers; got type {x.dtype}.")
    return xp.astype(x, xp.float32) if xp.finfo(x.dtype).bits < 32 else x


def _refuse_infinite(xp: Namespace, logits: Array, name: str) -> None:
    found = _first(xp, ~xp.isfinite(logits), logits)
    raise ValueError(
        f"{name} must be finite; got {found}. A probability of exactly 0 has no logarithm: "
        f"raise it to the smallest number of its type before taking the log."
    )


def _first(xp: Namespace, bad: Array, values: Array) -> str:
    """Value and place of the first True of `bad`."""
    where = tuple(int(axis[0]) for axis in xp.nonzero(bad))
    return f"{values[where]} at index {where if len(where) > 1 else where[0]}"
