"""The one file that knows several array libraries exist.

Everything above the training layer is written against the Python array API standard, so one
source serves NumPy, JAX, PyTorch and any other library that follows the standard. What the
standard lacks, or what one library does much better its own way, stands here and nowhere else.
JAX and PyTorch are imported only once one of their arrays has been seen.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeAlias, TypeVar, cast

import array_api_compat as api
import numpy as np
from array_api_compat import numpy

Array: TypeAlias = Any
Namespace: TypeAlias = Any
Result = TypeVar("Result")

_BLOCK = 1 << 15  # elements in a block of rows: a few temporaries of this size stay in cache
_PLACES = 1 << 28  # as many fit into the bits that a float32 leaves free in a float64
_NUMPY, _JAX, _TORCH = "array_api_compat.numpy", "jax.numpy", "array_api_compat.torch"
_NAMESPACES: dict[type, Namespace] = {np.ndarray: numpy}  # of the types seen


def namespace(**arrays: Array) -> Namespace:
    """The array library that all the named arguments share."""
    shared = None
    for array in arrays.values():
        xp = library(array)
        if xp is None or (shared is not None and xp is not shared):
            raise _refusal(arrays)
        shared = xp
    return shared


def library(value: Any) -> Namespace:
    """The namespace of one array's library, None where the value is none; found once a type."""
    kind = type(value)
    if kind in _NAMESPACES:
        return _NAMESPACES[kind]
    if not hasattr(value, "shape"):
        return None
    _NAMESPACES[kind] = _find_library(value)
    return _NAMESPACES[kind]


def _refusal(arrays: dict[str, Any]) -> TypeError:
    for name, array in arrays.items():
        if library(array) is None:
            return TypeError(
                f"{name} must be an array of NumPy, JAX, PyTorch or another library that follows "
                f"the array API standard; got {type(array).__name__}. "
                f"numpy.asarray({name}) makes one."
            )
    named = ", ".join(f"{name} from {_name(library(array))}" for name, array in arrays.items())
    return TypeError(
        f"all arrays must come from one library; got {named}. Convert one of them: "
        f"numpy.asarray, torch.as_tensor and jax.numpy.asarray do."
    )


def _name(xp: Namespace) -> str:
    """The library of a namespace as its users call it."""
    name: str = xp.__name__.removeprefix("array_api_compat.")
    return {"numpy": "NumPy", "torch": "PyTorch", "jax.numpy": "JAX"}.get(name, name)


def _find_library(value: Any) -> Namespace:
    # PyTorch is found here and not by array_api_compat, whose caches torch.compile would warn of.
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        import array_api_compat.torch as xp

        return xp
    refuse_masked(value)
    return api.array_namespace(value) if api.is_array_api_obj(value) else None


def refuse_masked(value: Any, name: str = "an array") -> None:
    """Raise for a masked array, which everything here would read without its mask."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is masked, and what the mask hides would be read as if it were there: leave "
            f"those rows out, or make numbers missing with x.astype(float).filled(numpy.nan)."
        )


def _is(value: Any, name: str) -> bool:
    """Whether a value is an array of the library with this namespace."""
    xp = library(value)
    return xp is not None and xp.__name__ == name


def is_numpy(value: Any) -> bool:
    """Whether a value is an array of NumPy."""
    return _is(value, _NUMPY)


def _compiling() -> bool:
    """Whether torch.compile is reading the program."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling()


def is_traced(value: Any) -> bool:
    """Whether a value is not known yet, because JAX or PyTorch is tracing or it was never filled.

    While torch.compile reads the program, nothing is.
    """
    if _compiling():
        return True
    if _is(value, _TORCH):
        import torch

        return bool(value.is_meta or torch._C._functorch.is_functorch_wrapped_tensor(value))
    if _is(value, _JAX):
        import jax

        return isinstance(value, jax.core.Tracer)
    return False


def is_concrete(array: Array) -> bool:
    """Whether what is computed from the array can be looked at."""
    if is_traced(array):
        return False
    if _is(array, _JAX):
        import jax

        # Within jit even operations on known arrays are traced, which a fresh constant shows.
        return not isinstance(jax.numpy.zeros(()), jax.core.Tracer)
    return True


def settled(function: Callable[..., Result]) -> Callable[..., Result]:
    """A function of plain numbers that is run, not traced, where torch.compile reads the program.

    The compiler leaves sizes and floats open where it can; `index` and `hex` close them. It takes
    back plain values only, so that a NumPy array becomes a list.
    """

    def run(*numbers: int | str) -> Any:
        result = function(*[float.fromhex(x) if isinstance(x, str) else x for x in numbers])
        return result.tolist() if isinstance(result, np.ndarray) else result

    # What torch.compiler.assume_constant_result sets, without importing torch.
    run._dynamo_marked_constant = True  # type: ignore[attr-defined]

    @wraps(function)
    def settle(*numbers: float) -> Result:
        if not _compiling():
            return function(*numbers)
        closed = [x.hex() if isinstance(x, float) else operator.index(x) for x in numbers]
        return cast("Result", run(*closed))

    return settle


def constant(value: Any, like: Array, integer: bool = False) -> Array:
    """A number, sequence or array of settings, in the library, device and type of `like`."""
    xp = library(like)
    if _is(like, _TORCH):
        known = value if _is(value, _TORCH) else xp.asarray(host(value), copy=True)
        return known.to(like.device, xp.int64 if integer else like.dtype)
    dtype = like.dtype if not integer else xp.int32 if _is(like, _JAX) else xp.int64
    if library(value) is xp:
        return xp.astype(value, dtype, copy=False)
    return xp.asarray(host(value), dtype=dtype)


def counting(n: int, like: Array) -> Array:
    """The whole numbers below n, in the library, device and type of `like`, (n,)."""
    xp = library(like)
    if _is(like, _TORCH):
        return xp.arange(n, dtype=like.dtype, device=like.device)
    return xp.arange(n, dtype=like.dtype)


def host(value: Any) -> Any:
    """A known number, sequence or array of any library as a NumPy array."""
    # NumPy has no bfloat16, and float32 holds its numbers as they are.
    if _is(value, _TORCH):
        value = value.detach().cpu()
        return (value.float() if value.dtype is library(value).bfloat16 else value).numpy()
    if _is(value, _JAX) and value.dtype.name == "bfloat16":
        return np.asarray(value).astype(np.float32)
    return np.asarray(value)


def default_float(xp: Namespace) -> Any:
    """The floating type the library uses where nobody chose one."""
    return xp.asarray(1.0).dtype


def all_finite(x: Array) -> bool:
    """Whether known numbers are neither nan nor infinite: if their sum is not, none of them is."""
    return math.isfinite(_sum(x)) or bool(library(x).all(library(x).isfinite(x)))


def any_nan(x: Array) -> bool:
    """Whether one of the known numbers is nan: if their sum is not, none of them is."""
    return math.isnan(_sum(x)) and bool(library(x).any(library(x).isnan(x)))


def _sum(x: Array) -> float:
    if _is(x, _TORCH):
        return float(x.detach().sum().item())
    with np.errstate(over="ignore", invalid="ignore"):
        return float(library(x).sum(x))


def extremes(x: Array) -> tuple[int, int]:
    """The least and the greatest of known integers."""
    if _is(x, _TORCH):
        return tuple(end.item() for end in x.aminmax())
    xp = library(x)
    return int(xp.min(x)), int(xp.max(x))


def stop_gradient(x: Array) -> Array:
    """`x` as a constant."""
    if _is(x, _JAX):
        import jax

        return jax.lax.stop_gradient(x)
    return x.detach() if _is(x, _TORCH) else x


def with_value(x: Array, value: Array) -> Array:
    """The gradient of `x` at another value."""
    return value + (x - stop_gradient(x)) if _is(x, _JAX) or _is(x, _TORCH) else value


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow on either side."""
    if _is(x, _TORCH):
        return x.sigmoid()
    if _is(x, _JAX):
        import jax

        return jax.nn.sigmoid(x)
    xp = library(x)
    return xp.exp(-xp.logaddexp(xp.zeros_like(x), -x))


def log_softmax(x: Array) -> Array:
    """x - log sum_k exp(x_k) over the last axis."""
    if _is(x, _TORCH):
        return x.log_softmax(-1)
    if _is(x, _JAX):
        import jax

        return jax.nn.log_softmax(x, axis=-1)
    xp = library(x)
    with np.errstate(over="ignore"):  # of logits as far apart as numbers go
        shifted = x - xp.max(x, axis=-1, keepdims=True)
        shifted -= xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True))
    return shifted


def sign(x: Array) -> Array:
    """-1, 0 or 1, entry by entry."""
    return x.sign() if _is(x, _TORCH) else library(x).sign(x)


def mixed(x: Array, y: Array, share: Array) -> Array:
    """x + share (y - x)."""
    return x.lerp(y, share) if _is(x, _TORCH) else x + share * (y - x)


def total(x: Array, axis: int | None = None) -> Array:
    """The sum of all entries, or along an axis."""
    if _is(x, _TORCH):
        return x.sum() if axis is None else x.sum(axis)
    return library(x).sum(x, axis=axis)


def dot(x: Array, y: Array) -> Array:
    """sum_i x_i y_i of two vectors of one type."""
    return x.dot(y) if _is(x, _TORCH) else library(x).sum(x * y)


def running_sum(x: Array) -> Array:
    """x_1, x_1 + x_2, ... along the last axis."""
    return x.cumsum(-1) if _is(x, _TORCH) else library(x).cumulative_sum(x, axis=-1)


def sums_before(x: Array) -> Array:
    """0, x_1, x_1 + x_2, ... along the last axis, one for each entry."""
    if _is(x, _NUMPY):
        sums = np.empty((*x.shape[:-1], x.shape[-1] + 1), x.dtype)
        sums[..., 0] = 0
        np.cumsum(x, axis=-1, out=sums[..., 1:])
        return sums[..., :-1]
    return library(x).cumulative_sum(x, axis=-1, include_initial=True)[..., :-1]


def at_least(x: Array, bound: float) -> Array:
    """max(x, bound), entry by entry; its slope where the two are equal is the library's choice."""
    if _is(x, _TORCH):
        return x.relu() if bound == 0 else x.clamp_min(bound)
    xp = library(x)
    return xp.maximum(x, xp.full_like(x, bound))


def pick(table: Array, index: Array) -> Array:
    """table[i, index[i]] for every row, (n, K) and (n,) -> (n,)."""
    if _is(table, _TORCH):
        return table.gather(1, index.unsqueeze(1).long()).squeeze(1)
    return library(table).take_along_axis(table, index[:, None], axis=1)[:, 0]


def divide(x: Array, first: int) -> tuple[Array, Array]:
    """The first rows and the others."""
    if _is(x, _TORCH):
        return tuple(x.split_with_sizes([first, x.shape[0] - first]))
    return x[:first, ...], x[first:, ...]


def permuted(x: Array, order: Array) -> Array:
    """The entries of the last axis in another order, which must be one: nothing is checked."""
    if _is(x, _TORCH):
        return x.index_select(-1, order)
    if _is(x, _JAX):
        return x.at[..., order].get(mode="promise_in_bounds", unique_indices=True)
    return library(x).take(x, order, axis=-1)


def smallest(x: Array, count: int) -> Array:
    """The `count` smallest entries of a vector, in ascending order."""
    if _is(x, _TORCH):
        return x.topk(count, largest=False, sorted=True).values
    if _is(x, _JAX):
        import jax

        return -jax.lax.top_k(-x, count)[0]
    return library(x).sort(x, stable=False)[:count]


def hard_sort(x: Array) -> tuple[Array, Array]:
    """The sorted entries of the last axis, differentiable, and whence they came, for `unsort`."""
    if _is(x, _TORCH):
        return tuple(x.sort(-1))
    if _is(x, _NUMPY) and x.dtype == np.float32 and x.shape[-1] < _PLACES and all_finite(x):
        return _sort_with_places(x)
    xp = library(x)
    order = xp.argsort(stop_gradient(x), axis=-1, stable=False)
    if _is(x, _NUMPY):
        return xp.sort(x, axis=-1, stable=False), order + _first_places(x)
    return xp.take_along_axis(x, order, axis=-1), order


def _sort_with_places(x: Array) -> tuple[Array, Array]:
    """float32 rows sorted together with their flat places, in one sort of numbers.

    As float64 they end in 29 bits of zeros; 28 of them take the column and are rounded away again.
    Much faster than an argsort. Finite numbers only: an infinity with other bits set is nan.
    """
    keys = x.astype(np.float64, order="C")
    bits = keys.view(np.int64)
    bits |= np.arange(x.shape[-1])
    keys.sort(axis=-1)
    places = bits & (_PLACES - 1)
    places += _first_places(x)
    return keys.astype(np.float32), places


def _first_places(x: Array) -> Array:
    """The flat places at which rows start, (..., 1)."""
    return np.arange(0, x.size, max(1, x.shape[-1])).reshape(*x.shape[:-1], 1)


def unsort(values: Array, order: Array) -> Array:
    """Undo `hard_sort`: sorted values (..., n), or what was made of them, in their first order."""
    xp = library(values)
    if _is(values, _TORCH):
        return xp.zeros_like(values).scatter(-1, order, values)
    if _is(values, _JAX):
        return xp.put_along_axis(xp.zeros_like(values), order, values, axis=-1, inplace=False)
    if _is(values, _NUMPY):
        out = np.empty(values.shape, values.dtype)
        _put_back(values, order, out)
        return out
    return xp.take_along_axis(values, xp.argsort(order, axis=-1, stable=False), axis=-1)


def _put_back(values: Array, order: Array, out: Array) -> None:
    """Write into `out`, which is stored row by row: only then is its reshape a view."""
    out.reshape(-1)[order.reshape(-1)] = values.reshape(-1)


def fold(
    step: Callable[[Any, Any], tuple[Any, Any]],
    carry: Any,
    xs: tuple[Array, ...],
    *,
    reverse: bool = False,
) -> tuple[Any, tuple[Array, ...]]:
    """Carry a state along the first axis of `xs`, stacking the tuple that each step gives out.

    A scan under JAX, so that a long fold compiles as one step; a loop elsewhere.
    """
    if _is(xs[0], _JAX):
        import jax

        return jax.lax.scan(step, carry, xs, reverse=reverse)
    xp = library(xs[0])
    rows = list(zip(*(_rows(x) for x in xs), strict=True))
    given = []
    for row in reversed(rows) if reverse else rows:
        carry, out = step(carry, row)
        given.append(out)
    if reverse:
        given.reverse()
    return carry, tuple(xp.stack(out) for out in zip(*given, strict=True))


def _rows(x: Array) -> Iterable[Array]:
    if _is(x, _TORCH):
        return tuple(x.unbind())
    return [x[i, ...] for i in range(x.shape[0])]


def by_rows(function: Callable[..., Array], x: Array, *rows: Array) -> Array:
    """`function(x, *rows)` for a row-wise function, in blocks of rows under NumPy.

    The result has the shape of `x`; temporaries stay at the size of a block.
    """
    if not _is(x, _NUMPY):
        return function(x, *rows)
    out = np.empty(x.shape, x.dtype)
    for block in _blocks(x):
        out[block] = function(rows_of(x, block), *(row[block] for row in rows))
    return out


def unsorted_by_rows(function: Callable[..., tuple[Array, Array]], x: Array, *rows: Array) -> Array:
    """`by_rows` for a function that gives values and the order of `hard_sort` they are in."""
    if not _is(x, _NUMPY):
        return unsort(*function(x, *rows))
    out = np.empty(x.shape, x.dtype)
    for block in _blocks(x):
        _put_back(*function(rows_of(x, block), *(row[block] for row in rows)), out[block])
    return out


def rows_of(x: Array, block: slice) -> Array:
    """Some rows of a NumPy array, stored row by row.

    NumPy sums columns in another order, and a row's scores would differ in the last bit with how
    the caller's array is stored.
    """
    return np.ascontiguousarray(x[block])


def _blocks(x: Array) -> list[slice]:
    size = max(1, _BLOCK // max(1, x.shape[-1]))
    return [slice(start, start + size) for start in range(0, x.shape[0], size)]
