"""The one file that knows several array libraries exist.

Everything above the training layer is written against the Python array API standard, so one
source serves NumPy, JAX, PyTorch and any other library that follows the standard. What the
standard lacks, or what one library does much better its own way, stands here and nowhere else.
JAX and PyTorch are imported only once one of their arrays has been seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import array_api_compat as api
import numpy as np

Array: TypeAlias = Any
Namespace: TypeAlias = Any

_BLOCK = 1 << 15  # elements in a block of rows: a few temporaries of this size stay in cache


def namespace(**arrays: Array) -> Namespace:
    """The array library that all the named arguments share."""
    for name, array in arrays.items():
        if not api.is_array_api_obj(array):
            raise TypeError(
                f"{name} must be an array of NumPy, JAX, PyTorch or another library that follows "
                f"the array API standard; got {type(array).__name__}. "
                f"numpy.asarray({name}) makes one."
            )
    spaces = {name: api.array_namespace(array) for name, array in arrays.items()}
    if len(set(spaces.values())) > 1:
        found = ", ".join(f"{name} from {xp.__name__}" for name, xp in spaces.items())
        raise TypeError(f"all arrays must come from one library; got {found}. Convert one of them.")
    return next(iter(spaces.values()))


def is_traced(array: Array) -> bool:
    """Whether an array has no values yet, because JAX or PyTorch is tracing."""
    if api.is_jax_array(array):
        import jax

        return isinstance(array, jax.core.Tracer)
    if api.is_torch_array(array):
        import torch

        return bool(
            torch.compiler.is_compiling() or torch._C._functorch.is_functorch_wrapped_tensor(array)
        )
    return False


def is_concrete(array: Array) -> bool:
    """Whether what is computed from the array can be looked at."""
    if is_traced(array):
        return False
    if api.is_jax_array(array):
        import jax

        # Within jit even operations on known arrays are traced, which a fresh constant shows.
        return not isinstance(jax.numpy.zeros(()), jax.core.Tracer)
    return True


def constant(value: Any, like: Array, integer: bool = False) -> Array:
    """A number, sequence or array of settings, in the library, device and type of `like`."""
    xp = api.array_namespace(like)
    dtype = like.dtype if not integer else xp.int32 if _jax(xp) else xp.int64
    if api.is_array_api_obj(value) and api.array_namespace(value) is xp:
        return xp.astype(value, dtype)
    return xp.asarray(host(value), dtype=dtype, device=None if _jax(xp) else api.device(like))


def host(value: Any) -> Any:
    """A known number, sequence or array of any library as a NumPy array."""
    if api.is_torch_array(value):
        value = value.detach().cpu().numpy()
    return np.asarray(value)


def default_float(xp: Namespace) -> Any:
    """The floating type the library uses where nobody chose one."""
    return xp.asarray(1.0).dtype


def _jax(xp: Namespace) -> bool:
    return bool(api.is_jax_namespace(xp))


def stop_gradient(x: Array) -> Array:
    """`x` as a constant."""
    if api.is_jax_array(x):
        import jax

        return jax.lax.stop_gradient(x)
    return x.detach() if api.is_torch_array(x) else x


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow on either side."""
    xp = api.array_namespace(x)
    if _jax(xp):
        import jax

        return jax.nn.sigmoid(x)
    if api.is_torch_namespace(xp):
        return x.sigmoid()
    return xp.exp(-xp.logaddexp(xp.zeros_like(x), -x))


def log_softmax(x: Array) -> Array:
    """x - log sum_k exp(x_k) over the last axis."""
    xp = api.array_namespace(x)
    if _jax(xp):
        import jax

        return jax.nn.log_softmax(x, axis=-1)
    if api.is_torch_namespace(xp):
        return x.log_softmax(-1)
    shifted = x - xp.max(x, axis=-1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True))


def pick(table: Array, index: Array) -> Array:
    """table[i, index[i]] for every row, (n, K) and (n,) -> (n,)."""
    xp = api.array_namespace(table)
    if api.is_torch_namespace(xp):
        index = index.long()
    return xp.take_along_axis(table, index[:, None], axis=1)[:, 0]


def smallest(x: Array, count: int) -> Array:
    """The `count` smallest entries of a vector, in ascending order."""
    xp = api.array_namespace(x)
    if _jax(xp):
        import jax

        return -jax.lax.top_k(-x, count)[0]
    if api.is_torch_namespace(xp):
        return x.topk(count, largest=False, sorted=True).values
    return xp.sort(x, stable=False)[:count]


def hard_sort(x: Array) -> tuple[Array, Array]:
    """The sorted entries of the last axis, differentiable, and their order, (..., n) each."""
    xp = api.array_namespace(x)
    order = xp.argsort(stop_gradient(x), axis=-1, stable=False)
    if api.is_numpy_namespace(xp):
        return xp.sort(x, axis=-1, stable=False), order
    return xp.take_along_axis(x, order, axis=-1), order


def unsort(values: Array, order: Array) -> Array:
    """Undo a sort: values (..., n) that stand at the places `order` gave, in their first order."""
    xp = api.array_namespace(values)
    if api.is_numpy_namespace(xp):
        # In order of rows, whatever that of `values` is: only then is its reshape a view.
        out, n = xp.empty(values.shape, dtype=values.dtype), values.shape[-1]
        starts = n * xp.arange(values.size // n if n else 0)
        out.reshape(-1)[(order.reshape(-1, n) + starts[:, None]).reshape(-1)] = values.reshape(-1)
        return out
    return xp.take_along_axis(values, xp.argsort(order, axis=-1, stable=False), axis=-1)


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
    xp = api.array_namespace(xs[0])
    if _jax(xp):
        import jax

        return jax.lax.scan(step, carry, xs, reverse=reverse)
    places = range(xs[0].shape[0])
    given = []
    for i in reversed(places) if reverse else places:
        carry, out = step(carry, tuple(x[i, ...] for x in xs))
        given.append(out)
    if reverse:
        given.reverse()
    return carry, tuple(xp.stack(out) for out in zip(*given, strict=True))


def by_rows(function: Callable[..., Array], x: Array, *rows: Array) -> Array:
    """`function(x, *rows)` for a row-wise function, in blocks of rows under NumPy.

    The result has the shape of `x`; temporaries stay at the size of a block.
    """
    size = max(1, _BLOCK // max(1, x.shape[-1]))
    if not api.is_numpy_array(x) or x.shape[0] <= size:
        return function(x, *rows)
    xp = api.array_namespace(x)
    out = xp.empty_like(x)
    for start in range(0, x.shape[0], size):
        block = slice(start, start + size)
        out[block] = function(x[block], *(row[block] for row in rows))
    return out
