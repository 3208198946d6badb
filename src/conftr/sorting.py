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

from conftr.arrays import Array, Namespace, constant, fold, hard_sort, namespace, sigmoid


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


def _run(values: Array, keys: Array, dispersion: float, layers: npt.NDArray[np.int64]) -> Array:
    if len(layers) == 0:
        return values
    xp = namespace(values=values)
    partner = constant(layers.copy(), keys, integer=True)

    def layer(carried: Array, joined: tuple[Array, Array]) -> tuple[Array, tuple[()]]:
        meets, weight = joined
        return carried + weight * (xp.take(carried, meets, axis=-1) - carried), ()

    weights = _swap_weights(xp, keys, partner, dispersion)
    return fold(layer, values, (partner, weights))[0]


def _swap_weights(xp: Namespace, keys: Array, partner: Array, dispersion: float) -> Array:
    """sigmoid(-2 |x_a - x_b| / eps) for every wire of every layer, (layers, ..., n)."""
    met = xp.take(keys, xp.reshape(partner, (-1,)), axis=-1)
    met = xp.reshape(met, (*keys.shape[:-1], *partner.shape))
    distance = xp.abs(keys[..., None, :] - met)
    *rows, layers, wires = range(distance.ndim)
    return sigmoid(xp.permute_dims(distance, (layers, *rows, wires)) * (-2 / dispersion))
