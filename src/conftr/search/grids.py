"""The values that a sweep tries where nothing else is said: the paper's grid, thinned out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conftr.search import space
from conftr.search.methods import objective_of
from conftr.search.settings import Grid, SettingsFile, Stage

RATES = (0.05, 0.01, 0.005)
# The thresholds of coverage training (app. E). Of APS the paper thresholds the mass down to a
# class, we what is below.
TAUS: Mapping[str, Sequence[float]] = {
    "covertr": (-0.1, -0.01),
    "covertr-thr": (0.9, 0.99),
    "covertr-aps": (0.1, 0.01),
}
_COVERTR: dict[str, Sequence[Any]] = {
    "learning_rate": RATES,
    "temperature": (0.1, 1),
    "size_weight": (0.01, 0.1, 1),
    "target_size": (0, 1),
}
_CONFTR: Grid = {"learning_rate": RATES, "temperature": (0.1, 0.5, 1), "target_size": (0, 1)}
_CONFTR_CLASS: Grid = {
    "learning_rate": RATES,
    "temperature": (0.1, 0.5, 1),
    "size_weight": (0.01, 0.1, 0.5, 1, 5),
    "target_size": (0, 1),
}
_THINNED: Mapping[str, Grid] = {
    "cross-entropy": {"learning_rate": (0.1, *RATES)},
    "cross-entropy-tuned": {"learning_rate": (0.1, *RATES), "weight_decay": (0.0, 5e-5, 5e-4)},
    "bel": {
        "learning_rate": RATES,
        "temperature": (0.1, 0.5, 1),
        "size_weight": (0.001, 0.01, 0.1, 1, 10),
    },
    **{method: _COVERTR | {"tau": taus} for method, taus in TAUS.items()},
    "conftr": _CONFTR,
    "conftr-class": _CONFTR_CLASS,
    "conftr-for-aps": _CONFTR,
    "conftr-class-for-aps": _CONFTR_CLASS,
    "vr-conftr": _CONFTR_CLASS,
    "label-smoothing": {"learning_rate": RATES, "smoothing": (0.02, 0.05, 0.1)},
    "focal": {"learning_rate": RATES, "gamma": (0.5, 1, 2)},
    "rwce": {"learning_rate": RATES, "weight_decay": (0.0, 5e-5, 5e-4)},
    "dpsm": {"learning_rate": RATES, "size_weight": (0.05, 0.1), "temperature": (0.1, 1)},
    "fano": {"learning_rate": RATES, "temperature": (0.1, 0.5, 1)},
    "model-fano": {"learning_rate": RATES, "temperature": (0.1, 0.5, 1)},
    "dpi": {"learning_rate": RATES, "temperature": (0.1, 0.5, 1)},
    "uncertainty-aware": {"learning_rate": RATES, "weight": (0.02, 0.2, 1)},
    "cact": {"learning_rate": RATES, "penalty": (0.01, 0.1, 1)},
}
# Two values of the one setting that matters most to a method, about what its source has.
_FIELD_GRIDS: Mapping[str, Grid] = {
    "cross-entropy-tuned": {"weight_decay": (5e-5, 5e-4)},
    "label-smoothing": {"smoothing": (0.02, 0.1)},
    "focal": {"gamma": (1, 2)},
    "rwce": {"weight_decay": (5e-5, 5e-4)},
    # At its published temperature of 1 the soft size hardly moves: probabilities sum to 1.
    "dpsm": {"temperature": (0.1, 1)},
    "fano": {"temperature": (0.1, 1)},
    "model-fano": {"temperature": (0.1, 1)},
    "dpi": {"temperature": (0.1, 1)},
    "uncertainty-aware": {"weight": (0.05, 0.2)},
    "cact": {"penalty": (0.01, 0.1)},
    "conftr": {"temperature": (0.1, 1)},
    "conftr-class": {"temperature": (0.1, 1), "size_weight": (0.5,)},
    "vr-conftr": {"temperature": (0.1, 1)},
}
FEW_EPOCHS_FIRST = (Stage(0.2, 1, 8), Stage(1.0, 2, 1))
ALL_EPOCHS = (Stage(1.0, 1, 8), Stage(1.0, 3, 1))
# The held-out part of a small dataset says little: more divisions of it.
SMALL = (Stage(1.0, 3, 10), Stage(1.0, 10, 1))

_BATCHES = (500, 100)


def coarse(
    methods: Sequence[Any],
    *,
    rows: int,
    epochs: int,
    batches: Sequence[int] = _BATCHES,
    stages: tuple[Stage, ...] | None = None,
) -> SettingsFile:
    """A thinned grid, in stages that two cores finish in minutes.

    Args:
        methods: which. One from a file has learning rates, and its own numbers ten times more and
            less.
        rows: how many train; larger batches are left out.
        epochs: of a whole training.
        batches: sizes to try.
        stages: other than those for so many rows.

    Returns:
        The values and the stages.
    """
    sizes = tuple(size for size in batches if size <= rows) or (max(1, rows // 4),)
    by_method = {method: {"batch_size": sizes} | dict(_thinned(method)) for method in methods}
    stages = stages or (SMALL if rows < 5000 else FEW_EPOCHS_FIRST)
    if "cross-entropy-tuned" in by_method:
        by_method["cross-entropy-tuned"]["epochs"] = (epochs // 5, epochs // 2, epochs)
        stages = stages if stages is SMALL else ALL_EPOCHS
    return SettingsFile(by_method=by_method, methods=tuple(methods), stages=stages)


def equal_budget(
    methods: Sequence[Any],
    epochs: Sequence[int],
    *,
    alpha: float,
    stages: tuple[Stage, ...] = (Stage(),),
) -> SettingsFile:
    """As many configurations for every method, with the epochs among the settings.

    Two learning rates, two values of a setting of the method's own (weight decay where it has
    none), and the epochs given.

    Args:
        methods: Names, FILE.py:NAME, or values.
        epochs: The lengths of training to try.
        alpha: What is trained for; `vr-conftr` averages over twice that share of scores.
        stages: Of the sweep.
    """
    common: Grid = {"learning_rate": (0.05, 0.01), "epochs": tuple(epochs)}
    by_method = {method: {**common, **_field_grid(method)} for method in methods}
    if "vr-conftr" in by_method:
        by_method["vr-conftr"]["quantile"] = (f"nearest:{2 * alpha:g}",)
    return SettingsFile({}, by_method, tuple(methods), (alpha,), stages=stages)


def _field_grid(method: Any) -> Grid:
    """Two values of a setting of the method's own: its first number, or else weight decay."""
    if method in _FIELD_GRIDS:
        return _FIELD_GRIDS[method]
    objective = objective_of(method)
    known = {name: getattr(objective, name) for name in space.weights(objective)}
    name = next((name for name, value in known.items() if value), None)
    if name is None:
        return {"weight_decay": (5e-5, 5e-4)}
    return {name: (float(f"{known[name] / 10:.6g}"), known[name])}


def _thinned(method: Any) -> Grid:
    objective = objective_of(method)
    if method in _THINNED:
        return _THINNED[method]
    weights = {name: getattr(objective, name) for name in space.weights(objective)}
    return {"learning_rate": RATES} | {
        name: tuple(float(f"{value * factor:.6g}") for factor in (0.1, 1, 10))
        for name, value in weights.items()
        if value
    }
