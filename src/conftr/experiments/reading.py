"""What a person types on the command line, read into values once, refused in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conftr.experiments.settings import LINEAR, SMOOTH_SORT
from conftr.machine.plain_data import Part, part

_QUANTILES: Mapping[str, Callable[[float], Part]] = {
    "smooth-sort": lambda value: SMOOTH_SORT.replace(dispersion=value),
    "exact-smooth-sort": lambda value: SMOOTH_SORT.replace(
        dispersion=value, position=part("exact_position")
    ),
    "nearest": lambda value: part("Nearest", fraction=value),
    "kernel": lambda value: part("Kernel", bandwidth=value),
}


def names(text: str) -> tuple[str, ...]:
    """Names of methods with commas between, each once."""
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not found:
        raise ValueError(f"methods must name at least one, with commas between; got {text!r}.")
    return found


def numbers(text: str | None) -> tuple[float, ...]:
    """Values of alpha with commas between; none for None."""
    try:
        found = tuple(float(word) for word in text.split(",")) if text else ()
    except ValueError:
        raise ValueError(f"alpha must be numbers with commas between; got {text!r}.") from None
    outside = [value for value in found if not 0 < value < 1]
    if outside:
        raise ValueError(f"alpha must lie strictly between 0 and 1; got {outside[0]:g}.")
    return found


def model(text: str | None) -> Part | None:
    """linear, mlp:64x64 or convnet:32x64; None for None."""
    if text is None:
        return None
    if text == "linear":
        return LINEAR
    kind, _, sizes = text.partition(":")
    widths = sizes.split("x")
    if kind not in ("mlp", "convnet") or not all(w.isdigit() and int(w) for w in widths):
        raise ValueError(f"model must be linear, mlp:64x64 or convnet:32x64; got {text!r}.")
    shape = tuple(int(width) for width in widths)
    return part("MLP", hidden=shape) if kind == "mlp" else part("ConvNet", channels=shape)


def quantile(text: str | None) -> Part | None:
    """The estimator of the threshold in training; None for None."""
    if text is None:
        return None
    if text == "order-statistic":
        return part("OrderStatistic")
    kind, _, value = text.partition(":")
    try:
        return _QUANTILES[kind](float(value))
    except (KeyError, ValueError):
        legal = ", ".join(["order-statistic", *(f"{name}:NUMBER" for name in _QUANTILES)])
        raise ValueError(f"quantile must be one of {legal}; got {text!r}.") from None
