"""Settings as a person types them, on the command line or in a file, refused in words."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from conftr.conformal import scores
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
# Networks by their kind, from the numbers after it.
_NETWORKS: Mapping[str, Callable[[tuple[int, ...]], Part]] = {
    "linear": lambda _: LINEAR,
    "mlp": lambda widths: part("MLP", hidden=widths),
    "convnet": lambda widths: part("ConvNet", channels=widths),
    "resnet34": lambda widths: part("ResNet", width=widths[0]),
    "resnet50": lambda widths: part("ResNet", width=widths[0], bottleneck=True),
}
_OF_VIEWS: Mapping[str, Callable[[tuple[int, ...]], Part]] = {
    "linear": lambda _: part("MLPOfViews", hidden=()),
    "mlp": lambda widths: part("MLPOfViews", hidden=widths),
}
_OF_MEMBERS: Mapping[str, Callable[[tuple[int, ...]], Part]] = {
    "mlp": lambda widths: part("MLPFromAverage", hidden=widths),
}
# What stands before the kind of a network: what its inputs are.
_INPUTS = {"views": _OF_VIEWS, "members": _OF_MEMBERS}
# Augmentations by their kind, from the number after it.
_AUGMENTATIONS: Mapping[str, Callable[[int | None], Part]] = {
    "flip": lambda _: part("Flip"),
    "crop": lambda pad: part("Crop", pad=pad or 4),
    "cutout": lambda size: part("Cutout", size=size or 16, fill=128.0),
    "auto-augment": lambda _: part("AutoAugment"),
    "any-view": lambda _: part("AnyView"),
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
    listed = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not listed:
        raise ValueError(f"there must be at least one name, with commas between; got {text!r}.")
    return listed


def alphas(text: str | None) -> tuple[float, ...]:
    """Values of alpha with commas between; none for None."""
    try:
        values = tuple(float(word) for word in text.split(",")) if text else ()
    except ValueError:
        raise ValueError(f"alpha must be numbers with commas between; got {text!r}.") from None
    outside = [value for value in values if not 0 < value < 1]
    if outside:
        raise ValueError(f"alpha must lie strictly between 0 and 1; got {outside[0]:g}.")
    return values


def model(text: str) -> Part:
    """A network of the data's input shape and number of classes.

    Args:
        text: linear, mlp:64x64, convnet:32x64, resnet34:4 or resnet50:64 (channels of the first
            stage), views:linear or views:mlp:64x64 for examples that are kept in several views,
            members:mlp:64x64 for views that are logits of members, from whose average it starts, or
            FILE.py:NAME, a function of (inputs, classes).

    Returns:
        The network as data.

    Raises:
        ValueError: the text is nothing of the kind.
    """
    if is_of_file(text):
        described: Part = describe(from_file(text))
        return described
    inputs, _, network = text.partition(":")
    legal = _INPUTS.get(inputs, _NETWORKS)
    kind, _, sizes = (network if inputs in _INPUTS else text).partition(":")
    widths = sizes.split("x") if kind != "linear" or sizes else []
    if kind not in legal or not all(w.isdigit() and int(w) for w in widths):
        raise ValueError(
            f"model must be linear, mlp:64x64, convnet:32x64, resnet34:4, resnet50:64, "
            f"views:linear, views:mlp:64x64, members:mlp:64x64 or FILE.py:NAME; got {text!r}."
        )
    return legal[kind](tuple(int(width) for width in widths))


def augmentation(text: str) -> Part:
    """What is done to the pictures of a step.

    Args:
        text: flip, crop:4, cutout:16, auto-augment, or any-view for examples that are kept in
            several views; several with commas between.

    Returns:
        The augmentation as data.

    Raises:
        ValueError: the text is nothing of the kind.
    """
    words = [word.strip().partition(":") for word in text.split(",")]
    for kind, _, number in words:
        if kind not in _AUGMENTATIONS or (number and not number.isdigit()):
            raise ValueError(
                f"augmentation must be among flip, crop:4, cutout:16, auto-augment and any-view, "
                f"several with commas between; got {text!r}."
            )
    parts = tuple(_AUGMENTATIONS[kind](int(n) if n else None) for kind, _, n in words)
    return parts[0] if len(parts) == 1 else part("InTurn", parts=parts)


def schedule(text: str) -> Part:
    """The learning rate over a run: cosine, constant, or steps, the paper's."""
    if text not in _SCHEDULES:
        raise ValueError(f"schedule must be one of {', '.join(_SCHEDULES)}; got {text!r}.")
    return _SCHEDULES[text]


def quantile(text: str) -> Any:
    """The estimator of the threshold in training: KIND, KIND:NUMBER or FILE.py:NAME."""
    try:
        estimator = _from_file(text) if is_of_file(text) else _quantile(text)
        if slot(estimator) == "quantile":
            return estimator
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
    known = {name: (name.upper(), part(name)) for name in scores.SCORES}
    known |= {value.kind: (name, value) for name, value in SCORES}
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
    needed = tuple(
        name for name, parameter in parameters.items() if parameter.default is parameter.empty
    )
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
