"""Methods by their names: the objectives that are compared, or any other from a user's file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from conftr.conformal.later.cact import CaCT
from conftr.conformal.later.dpi import DPI
from conftr.conformal.later.dpsm import DPSM
from conftr.conformal.later.fano import Fano
from conftr.conformal.later.focal import Focal
from conftr.conformal.later.label_smoothing import LabelSmoothing
from conftr.conformal.later.model_fano import ModelFano
from conftr.conformal.later.rwce import RWCE
from conftr.conformal.later.uncertainty_aware import UncertaintyAware
from conftr.conformal.objectives import Bel, ConfTr, CoverTr, CrossEntropy
from conftr.conformal.quantile import Nearest, SmoothSort, paper_position
from conftr.conformal.scores import smooth_aps, thr_probs
from conftr.conformal.shaping import identity
from conftr.machine.names import from_file
from conftr.search.text import is_of_file, slot, valued

_CONFTR = ConfTr(quantile=SmoothSort(0.1, paper_position), size_weight=1.0)
_CONFTR_CLASS = replace(_CONFTR, loss_matrix=identity)
_COVERTR = CoverTr(-0.1, size_weight=1.0)

# Objectives before their settings. Some names differ in their settings alone.
METHODS: Mapping[str, Any] = {
    "cross-entropy": CrossEntropy(),
    "cross-entropy-tuned": CrossEntropy(),
    "bel": Bel(0.01),
    "covertr": _COVERTR,
    "covertr-thr": replace(_COVERTR, score=thr_probs),
    "covertr-aps": replace(_COVERTR, score=partial(smooth_aps, dispersion=0.1)),
    "conftr": _CONFTR,
    "conftr-class": _CONFTR_CLASS,
    "conftr-for-aps": _CONFTR,
    "conftr-class-for-aps": _CONFTR_CLASS,
    "vr-conftr": replace(_CONFTR_CLASS, quantile=Nearest(0.02), size_weight=0.5),
    "label-smoothing": LabelSmoothing(),
    "focal": Focal(),
    "rwce": RWCE(),
    "dpsm": DPSM(),
    "fano": Fano(),
    "model-fano": ModelFano(),
    "dpi": DPI(),
    "uncertainty-aware": UncertaintyAware(),
    "cact": CaCT(),
}
# Those that came after the paper, and what people try first.
LATER = (
    "label-smoothing",
    "focal",
    "rwce",
    "dpsm",
    "fano",
    "model-fano",
    "dpi",
    "uncertainty-aware",
    "cact",
    "vr-conftr",
)
USUAL = ("cross-entropy", "bel", "covertr", "conftr", "conftr-class")


def objective_of(method: Any) -> Any:
    """The objective of a method, before its settings.

    Args:
        method: a name of `METHODS`; FILE.py:NAME; or a value. A file's value, or the value itself,
            is an objective, or a part of conformal training: a loss on sets, a score or a quantile,
            told apart by the names of its arguments (see `conftr.search.text.slot`).

    Returns:
        A callable on (logits, labels).

    Raises:
        ValueError: there is no such method.
    """
    if not isinstance(method, str):
        return _completed(valued(method))
    if is_of_file(method):
        return _completed(valued(from_file(method)))
    if method not in METHODS:
        raise ValueError(
            f"methods must be among {', '.join(METHODS)}, or FILE.py:NAME; got {method!r}."
        )
    return METHODS[method]


def title_of(method: Any) -> str:
    """What a method is called in tables and file names."""
    if isinstance(method, str):
        return method.rpartition(":")[2]
    return getattr(method, "__name__", None) or type(method).__name__


def _completed(value: Any) -> Any:
    """An objective; for a part of conformal training, ConfTr with it in its place."""
    place = slot(value)
    if place == "objective":
        return value
    return replace(_CONFTR if place == "set_loss" else _CONFTR_CLASS, **{place: value})
