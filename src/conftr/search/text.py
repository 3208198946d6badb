"""Settings as a person types them, on the command line or in a file, refused in words."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

from conftr.conformal.quantile import SmoothSort, exact_position, paper_position
from conftr.machine.names import from_file, thing_of
from conftr.machine.plain_data import Part, describe, part

LINEAR = part("MLP", hidden=())

# What is measured by default: the names that tables have for scores, and the scores.
SCORES = (
    ("THR", part("thr")),
    ("THRL", part("thr_logits")),
    ("APS", part("aps")),
    ("RAPS", part("raps", penalty=0.01, free_rank=1)),
)

_POSITIONS = {"smooth-sort": paper_position, "exact-smooth-sort": exact_position}
_SCHEDULES: Mapping[str, Part] = {
    "cosine": part("cosine"),
    "constant": part("constant"),
    "steps": part("StepDecay", factor=0.1, after=(0.4, 0.6, 0.8)),
}
# What the arguments of a function tell it to be.
_SLOTS = {
    ("logits", "labels"): "objective",
    ("sets", "labels"): "set_loss",
    ("scores", "alpha"): "quantile",
    ("logits",): "score",
}


def names(text: str) -> tuple[str, ...]:
    """Names of methods or scores with commas between, each once."""
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not found:
        raise ValueError(f"there must be at least one name, with commas between; got {text!r}.")
    return found


def alphas(text: str | None) -> tuple[float, ...]:
    """Values of alpha with commas between; none for None."""
    try:
        found = tuple(float(word) for word in text.split(",")) if text else ()
    except ValueError:
        raise ValueError(f"alpha must be numbers with commas between; got {text!r}.") from None
    outside = [value for value in found if not 0 < value < 1]
    if outside:
        raise ValueError(f"alpha must lie strictly between 0 and 1; got {outside[0]:g}.")
    return found


def model(text: str) -> Part:
    """linear, mlp:64x64, convnet:32x64, or FILE.py:NAME, a function of (inputs, classes)."""
    if is_of_file(text):
        found: Part = describe(from_file(text))
        return found
    kind, _, sizes = text.partition(":")
    widths = sizes.split("x") if kind != "linear" or sizes else []
    if kind not in ("linear", "mlp", "convnet") or not all(w.isdigit() and int(w) for w in widths):
        raise ValueError(
            f"model must be linear, mlp:64x64, convnet:32x64 or FILE.py:NAME; got {text!r}."
        )
    shape = tuple(int(width) for width in widths)
    return part("ConvNet", channels=shape) if kind == "convnet" else part("MLP", hidden=shape)


def schedule(text: str) -> Part:
    """The learning rate over a run: cosine, constant, or steps, the paper's."""
    if text not in _SCHEDULES:
        raise ValueError(f"schedule must be one of {', '.join(_SCHEDULES)}; got {text!r}.")
    return _SCHEDULES[text]


def quantile(text: str) -> Any:
    """The estimator of the threshold in training: KIND, KIND:NUMBER or FILE.py:NAME."""
    try:
        found = _from_file(text) if is_of_file(text) else _quantile(text)
        if slot(found) == "quantile":
            return found
    except (TypeError, ValueError) as error:
        if is_of_file(text):
            raise error
    raise ValueError(
        f"quantile must be order-statistic, smooth-sort:NUMBER, exact-smooth-sort:NUMBER, "
        f"nearest:NUMBER, kernel:NUMBER or FILE.py:NAME; got {text!r}."
    )


def _quantile(text: str) -> Any:
    """A class of conftr by its name with dashes, and its first field."""
    kind, _, number = text.partition(":")
    if kind in _POSITIONS:
        return SmoothSort(float(number), _POSITIONS[kind])
    made = thing_of("".join(word.title() for word in kind.split("-")))
    return made(float(number)) if number else made()


def score(text: str) -> tuple[str, Any]:
    """The name that tables have for a score, and the score: thr, aps, ... or FILE.py:NAME."""
    if is_of_file(text):
        return text.rpartition(":")[2], _from_file(text)
    known = {value.kind: (name, value) for name, value in SCORES}
    if text not in known:
        raise ValueError(f"score must be one of {', '.join(known)} or FILE.py:NAME; got {text!r}.")
    return known[text]


def thing(text: str) -> Any:
    """A function of conftr by its name, or FILE.py:NAME."""
    return _from_file(text) if is_of_file(text) else thing_of(text)


def is_of_file(text: str) -> bool:
    """Whether a text names what a file defines."""
    return ".py:" in text


def slot(value: Any) -> str:
    """What a function or callable value is, told by the names of its arguments.

    Args:
        value: called as (logits, labels), (sets, labels), (scores, alpha) or (logits); what a
            score takes besides must have a default.

    Returns:
        "objective", "set_loss", "quantile" or "score".

    Raises:
        ValueError: its arguments have other names.
    """
    parameters = inspect.signature(value).parameters if callable(value) else {}
    needed = tuple(name for name, one in parameters.items() if one.default is one.empty)
    if needed not in _SLOTS:
        raise ValueError(
            f"{value!r} must be a function of (logits, labels), an objective; of (sets, labels), a "
            f"loss on sets; of (scores, alpha), a quantile; or of (logits), a score; its arguments "
            f"are ({', '.join(needed)})."
        )
    return _SLOTS[needed]


def valued(given: Any) -> Any:
    """A value, or a class as the value that it has by default."""
    if not isinstance(given, type):
        return given
    if not dataclasses.is_dataclass(given):
        raise ValueError(f"{given.__name__} must be a frozen dataclass, or a function.")
    try:
        return given()
    except TypeError as error:
        raise ValueError(f"every field of {given.__name__} must have a default: {error}.") from None


def _from_file(text: str) -> Any:
    return valued(from_file(text))
