"""From data to values: the classes and functions that a `Part` can name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import conftr
from conftr.experiments import pools
from conftr.experiments.specification import Part, Setting

_LIGHT: list[Callable[..., Any]] = [
    conftr.CrossEntropy,
    conftr.ConfTr,
    conftr.CoverTr,
    conftr.Bel,
    conftr.SmoothSort,
    conftr.OrderStatistic,
    conftr.Nearest,
    conftr.Kernel,
    conftr.exact_position,
    conftr.paper_position,
    conftr.identity,
    conftr.thr,
    conftr.thr_probs,
    conftr.thr_logits,
    conftr.aps,
    conftr.raps,
    conftr.smooth_aps,
    pools.calibration_and_test,
    pools.held_out,
]


def build(part: Part, **known: Any) -> Any:
    """What a part says: a class with its fields, or a function with its arguments bound.

    known: fields that are not settings, as the input shape of a model.
    """
    kinds = _kinds()
    if part.kind not in kinds:
        raise ValueError(f"kind must be one of {', '.join(sorted(kinds))}; got {part.kind!r}.")
    made, fields = kinds[part.kind], {name: _built(item) for name, item in part.fields} | known
    if isinstance(made, type):
        return made(**fields)
    return partial(made, **fields) if fields else made


@cache
def shared(part: Part) -> Any:
    """What a part says, the same object each time: a process compiles a program of it once."""
    return build(part)


def _built(value: Setting) -> Any:
    if isinstance(value, tuple):
        return tuple(_built(item) for item in value)
    return build(value) if isinstance(value, Part) else value


@cache
def _kinds() -> Mapping[str, Callable[..., Any]]:
    # Imported when first needed: these bring JAX, which reading results does without.
    from conftr import training
    from conftr.training import models

    heavy: list[Callable[..., Any]] = [
        models.MLP,
        models.ConvNet,
        training.Plan,
        training.SGD,
        training.StepDecay,
        training.constant,
        training.cosine,
    ]
    return {value.__name__: value for value in [*_LIGHT, *heavy]}
