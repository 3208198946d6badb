"""The soft sorting network of sec. 2.2: a bitonic network whose comparators swap by degrees.

A comparator on the wires a < b swaps with weight w = sigmoid(2 (x_a - x_b) / eps) and mixes the
values it carries accordingly,

    v_a <- (1 - w) v_a + w v_b,     v_b <- w v_a + (1 - w) v_b.

The keys x are sorted first, hard, which makes the result independent of the order of the input
and keeps the weights the same for all layers that join the same wires. eps -> 0 is the hard sort.
This file knows nothing of conformal prediction.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from conftr.conformal.arrays import (
    Array,
    Namespace,
    constant,
    fold,
    hard_sort,
    mixed,
    namespace,
    permuted,
    settled,
    sigmoid,
    sign,
)


@settled
@lru_cache(maxsize=64)
def partners(n: int) -> npt.NDArray[np.int64]:
    """The wire each wire meets, (layers, n), in a bitonic network on n wires, any n >= 1.

    All comparators point the same way (the first step of a merge meets the mirrored wire), so
    wires beyond n, which would carry +inf, never move and need not be there: a wire whose partner
    would lie beyond n meets itself.
    """
    wire = np.arange(n)
    masks = [
        mask
        for phase in range(1, (n - 1).bit_length() + 1)
        for mask in [2**phase - 1, *(2**bit for bit in reversed(range(phase - 1)))]
    ]
    meets = wire ^ np.asarray(masks, dtype=np.int64)[:, None]
    return np.where(meets < n, meets, wire)


def soft_sort(x: Array, dispersion: float) -> Array:
    """Smooth ascending sort along the last axis, (..., n) -> (..., n). Hard twin: `xp.sort`."""
    keys, _ = hard_sort(x)
    return mix(keys, keys, dispersion)


def mix(values: Array, keys: Array, dispersion: float) -> Array:
    """Send values (..., n) through the network whose weights come from sorted keys (..., n)."""
    return _run(values, keys, dispersion, partners(keys.shape[-1]))


def unmix(values: Array, keys: Array, dispersion: float) -> Array:
    """The transpose of `mix`: the same layers from last to first, each its own transpose."""
    return _run(values, keys, dispersion, partners(keys.shape[-1])[::-1])


def read(keys: Array, constants: Array, dispersion: float) -> tuple[Array, Array]:
    """sum_j c_j soft_sort(x)_j for sorted keys x (n,) and constants c (n,), and its slopes (n,).

    The slopes are its derivatives by the keys. With v the values between two layers and g what a
    change of each is worth at the end, both are carried through the network at once, v from first
    layer to last and g, by the transposed layers, from last to first; a comparator on a and b then
    adds dw (g_a - g_b) (v_b - v_a). No library needs to record the layers for this.
    """
    xp, n = namespace(keys=keys, constants=constants), keys.shape[0]
    if n == 1:
        return xp.sum(constants * keys), constants
    meets = constant(_there_and_back(n), keys, integer=True)
    apart = _apart(xp, keys, meets[:, :n])
    weights = sigmoid(xp.abs(apart) * (-2 / dispersion))

    def layer(carried: Array, joined: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        partner, weight = joined
        exchanged = permuted(carried, partner)
        return mixed(carried, exchanged, weight), (carried, exchanged)

    both_ways = xp.concat([weights, xp.flip(weights, axis=0)], axis=1)
    ends, (carried, exchanged) = fold(layer, xp.concat([keys, constants]), (meets, both_ways))
    gaps = exchanged - carried
    change = weights * (1 - weights) * sign(apart) * (-2 / dispersion)
    turned = change * gaps[:, :n] * xp.flip(gaps[:, n:], axis=0)
    return xp.sum(constants * ends[:n]), ends[n:] + xp.sum(turned, axis=0)


@settled
@lru_cache(maxsize=64)
def _there_and_back(n: int) -> npt.NDArray[np.int64]:
    """The partners (layers, 2 n) of n wires and of n more that run from last layer to first."""
    forward = np.asarray(partners(n))
    return np.concatenate([forward, n + forward[::-1]], axis=1)


def _run(values: Array, keys: Array, dispersion: float, layers: npt.NDArray[np.int64]) -> Array:
    if len(layers) == 0:
        return values
    xp = namespace(values=values)
    partner = constant(layers.copy(), keys, integer=True)

    def layer(carried: Array, joined: tuple[Array, Array]) -> tuple[Array, tuple[()]]:
        meets, weight = joined
        return mixed(carried, permuted(carried, meets), weight), ()

    weights = sigmoid(xp.abs(_apart(xp, keys, partner)) * (-2 / dispersion))
    return fold(layer, values, (partner, weights))[0]


def _apart(xp: Namespace, keys: Array, partner: Array) -> Array:
    """x_b - x_a for every wire a and the wire b it meets, (layers, ..., n)."""
    across = xp.take(keys, xp.reshape(partner, (-1,)), axis=-1)
    across = xp.reshape(across, (*keys.shape[:-1], *partner.shape))
    *rows, layers, wires = range(across.ndim)
    return xp.permute_dims(across - keys[..., None, :], (layers, *rows, wires))
