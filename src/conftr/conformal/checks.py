"""What a user may pass, checked once at the public boundary, refused in words.

Shapes and types are always checked. Values are checked only where they can be looked at: under
`jax.jit` or `torch.compile` nothing is asserted on values.
"""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from conftr.conformal.arrays import (
    Array,
    Namespace,
    all_finite,
    any_nan,
    constant,
    extremes,
    host,
    is_concrete,
    is_traced,
    namespace,
)
from conftr.conformal.shown_names import apart

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_ABOVE_ONE = 1e-6  # by how much a rounded probability may exceed 1
_OFF_ONE = 0.1  # by how much rounded probabilities of a row may miss 1 in sum


def listed(names: Iterable[str], most: int = 10) -> str:
    """The first names for a message, and how many more there are."""
    known = list(names)
    more = f" and {len(known) - most} more" if known[most:] else ""
    return ", ".join(apart(known[:most])) + more


def near_misses(
    meant: Mapping[str, str],
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Let a function refuse parameters that it does not have, and say which one may be meant.

    Args:
        meant: What parameters are called elsewhere, and how here.
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        known = [name for name in inspect.signature(function).parameters if name != "self"]

        @wraps(function)
        def call(*given: Parameters.args, **named: Parameters.kwargs) -> Result:
            for name in set(named) - set(known):
                raise TypeError(_unknown(name, known, meant))
            return function(*given, **named)

        return call

    return decorate


def _unknown(name: str, known: Sequence[str], meant: Mapping[str, str]) -> str:
    likely = [meant[name]] if name in meant else difflib.get_close_matches(name, known, 1)
    advice = f"Is {likely[0]} meant? " if likely else ""
    return f"there is no parameter {name!r}. {advice}There are {', '.join(known)}."


def logits_array(logits: Array, name: str = "logits", *, values: bool = True) -> Array:
    """Finite floating point (n, K); half precision is widened to float32."""
    xp = namespace(**{name: logits})
    if logits.ndim != 2 or logits.shape[1] < 1:
        raise ValueError(
            f"{name} must have shape (n, K), one row an example and one column a class; "
            f"got shape {tuple(logits.shape)}."
        )
    logits = _floating(xp, logits, name)
    if values and is_concrete(logits) and not all_finite(logits):
        _refuse_infinite(xp, logits, name)
    return logits


def probabilities_array(probs: Array) -> Array:
    """Probabilities (n, K) in 0..1, whose rows sum to 1 up to what rounding leaves."""
    xp, probs = namespace(probabilities=probs), logits_array(probs, "probabilities")
    if probs.shape[0] == 0 or not is_concrete(probs):
        return probs
    least, most = float(xp.min(probs)), float(xp.max(probs))
    if least < 0 or most > 1 + _ABOVE_ONE:
        raise ValueError(
            f"probabilities must lie in 0..1; got {least:g}..{most:g}. For logits use "
            f"conftr.members.Logits, or score them as they are."
        )
    sums = xp.sum(probs, axis=1)
    strange = xp.abs(sums - 1) > _OFF_ONE
    if bool(xp.any(strange)):
        row = int(xp.nonzero(strange)[0][0])
        raise ValueError(
            f"the probabilities of a row must sum to 1; those of row {row} sum to "
            f"{float(sums[row]):g}. Is there a column that stands for no class?"
        )
    return probs


def scores_array(scores: Array, name: str = "scores") -> Array:
    """Floating point (n, K) without nan; -inf is a legal score (no conformity at all)."""
    xp = namespace(**{name: scores})
    scores = logits_array(scores, name, values=False)
    if is_concrete(scores) and any_nan(scores):
        raise ValueError(
            f"{name} must not contain nan; got {_first(xp, xp.isnan(scores), scores)}. The score "
            f"of a class that does not conform at all is -inf."
        )
    return scores


def labels_array(labels: Array, rows: Array, beside: str = "logits") -> Array:
    """Integers in 0..K-1, one for each row of `rows` (n, K), from the same library."""
    xp = namespace(**{beside: rows}, labels=labels)
    if labels.ndim != 1 or labels.shape[0] != rows.shape[0]:
        raise ValueError(
            f"labels must have shape (n,) with one label for each of the {rows.shape[0]} rows; "
            f"got shape {tuple(labels.shape)}."
        )
    return integers_below(xp, labels, rows.shape[1], "labels")


def integers_below(xp: Namespace, values: Array, bound: int, name: str) -> Array:
    """Integers, every one in 0..bound-1, in the library's type for indices."""
    if not xp.isdtype(values.dtype, "integral"):
        raise TypeError(
            f"{name} must be integers; got type {values.dtype}. With the names of all of them in a "
            f"list, in the order of their numbers, numpy.array([names.index(one) for one in "
            f"{name}]) numbers them; numbering those that occur here would not, where one is "
            f"lacking."
        )
    values = constant(values, values, integer=True)
    if values.shape[0] == 0 or not is_concrete(values):
        return values
    least, greatest = extremes(values)
    if least < 0 or greatest >= bound:
        bad = (values < 0) | (values >= bound)
        raise ValueError(f"{name} must lie in 0..{bound - 1}; got {_first(xp, bad, values)}.")
    return values


def sets_array(sets: Array, name: str = "sets") -> Array:
    """Boolean (n, K), as `predict_set` gives them."""
    xp = namespace(**{name: sets})
    if sets.ndim != 2:
        raise ValueError(f"{name} must have shape (n, K); got shape {tuple(sets.shape)}.")
    if not xp.isdtype(sets.dtype, "bool"):
        raise TypeError(
            f"{name} must be boolean, as conftr.predict_set gives them; got type {sets.dtype}."
        )
    return sets


def probability(value: Any, name: str) -> Any:
    """A number, or a known array of numbers, strictly between 0 and 1, as a NumPy array."""
    if is_traced(value):
        raise TypeError(
            f"{name} must be known when the program is compiled, because ranks are computed from "
            f"it exactly; got a traced array. Pass it as a static argument or close over it."
        )
    array = host(value)
    if array.dtype.kind not in "fiu" or array.size == 0:
        raise TypeError(f"{name} must be a number or an array of numbers; got {value!r}.")
    inside = (array > 0) & (array < 1)
    if not np.all(inside):
        raise ValueError(f"{name} must lie strictly between 0 and 1; got {array[~inside].flat[0]}.")
    return array


def one_probability(value: Any, name: str) -> float:
    """A single number strictly between 0 and 1: the decimal it prints as in its own type."""
    if type(value) is float and 0 < value < 1:
        return value
    known = probability(value, name)
    if known.ndim:
        raise ValueError(f"{name} must be a single number here; got {value!r}.")
    return float(str(known[()]))


def number(
    value: Any,
    name: str,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    below: float = math.inf,
) -> None:
    """A finite number in a range; a traced value is taken as it is."""
    if is_traced(value):
        return
    if isinstance(value, bool | str) or value is None or host(value).dtype.kind not in "fiu":
        raise TypeError(f"{name} must be a number; got {value!r}.")
    if host(value).ndim:
        raise ValueError(f"{name} must be a single number; got shape {host(value).shape}.")
    value = float(value)
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
    if not hasattr(u, "shape") or u.shape == ():
        number(u, "u")
        if not is_traced(u) and not 0 <= float(u) <= 1:
            raise ValueError(f"u must lie in [0, 1]; got {u}.")
        return xp.zeros_like(logits[:, :1]) + constant(u, logits)
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


def array_of_shape(value: Any, shape: tuple[int, ...], name: str, meaning: str) -> None:
    """A setting of this shape whose values are finite and not negative."""
    of_shape(not_negative(value, name), shape, name, meaning)


def of_shape(value: Array, shape: tuple[int, ...], name: str, meaning: str) -> None:
    """An array of settings of this shape."""
    if tuple(value.shape) != shape:
        raise ValueError(
            f"{name} must have shape {shape}, {meaning}; got shape {tuple(value.shape)}."
        )


def not_negative(value: Any, name: str) -> Array:
    """An array of settings that are finite and not negative; sequences become one."""
    if not hasattr(value, "shape"):
        value = _numbers(value, name)
    if not is_traced(value):
        numbers = _numbers(host(value), name)
        if not np.all(np.isfinite(numbers)) or np.any(numbers < 0):
            raise ValueError(f"{name} must be finite and not negative; got {numbers}.")
    return value


def _numbers(value: Any, name: str) -> Any:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers in equal rows; got {value!r}.") from None


def _floating(xp: Namespace, x: Array, name: str) -> Array:
    if x.dtype in (xp.float32, xp.float64):
        return x
    if not xp.isdtype(x.dtype, "real floating"):
        raise TypeError(f"{name} must be floating point numbers; got type {x.dtype}.")
    return xp.astype(x, xp.float32) if xp.finfo(x.dtype).bits < 32 else x


def _refuse_infinite(xp: Namespace, logits: Array, name: str) -> None:
    shown_value = _first(xp, ~xp.isfinite(logits), logits)
    advice = "A model that gives nan has diverged or was given nan."
    if not bool(xp.any(xp.isnan(logits))):
        advice = (
            "If they are logs of probabilities, some are exactly 0: "
            "conftr.logits_from_probs(p) gives logs that are finite."
        )
    raise ValueError(f"{name} must be finite; got {shown_value}. {advice}")


def _first(xp: Namespace, bad: Array, values: Array) -> str:
    """Value and place of the first True of `bad`."""
    where = tuple(int(axis[0]) for axis in xp.nonzero(bad))
    return f"{values[where]} at index {where if len(where) > 1 else where[0]}"
