"""The paper's grid of settings (app. F) for a dataset, whole or thinned out, as a settings file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conftr.paper.settings import settings_of
from conftr.search import space
from conftr.search.grids import ALL_EPOCHS, FEW_EPOCHS_FIRST, RATES, SMALL, TAUS, coarse
from conftr.search.methods import METHODS
from conftr.search.settings import SettingsFile, Stage

_PAPER: Mapping[str, Sequence[Any]] = {
    "learning_rate": RATES,
    "temperature": (0.01, 0.1, 0.5, 1),
    "size_weight": (1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 0.5, 1, 5, 10),
    "target_size": (0, 1),
}
# Without a class loss the size weight cancels in the gradient, so there is none to try.
_CANCELLED = {"conftr": ("size_weight",), "conftr-for-aps": ("size_weight",)}
_BATCHES: Mapping[str, Sequence[int]] = {
    "german-credit": (300, 200, 100, 50),
    "camelyon": (80, 40, 20, 10),
    "digits": (200, 100, 50),
}
# Where all epochs of one model take half a minute, a tenth of them must tell the field apart.
_LARGE = (Stage(0.1, 1, 4), Stage(1.0, 1, 1))
_STAGES: Mapping[str, tuple[Stage, ...]] = {
    "mnist": FEW_EPOCHS_FIRST,
    "winequality": ALL_EPOCHS,
    "fashion-mnist": _LARGE,
    "emnist": _LARGE,
    "emnist-test": _LARGE,
    "german-credit": SMALL,
    "camelyon": SMALL,
    "digits": SMALL,
}
# Heads on CIFAR were searched in a few minutes, with all epochs at once.
_ON_CIFAR: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "cross-entropy-tuned": {
        "learning_rate": (0.1, 0.05, 0.01),
        "weight_decay": (0.0, 5e-4),
        "epochs": (10, 25, 50),
    },
    "bel": {
        "learning_rate": (0.05, 0.01),
        "temperature": (0.1, 1),
        "size_weight": (0.01, 0.1, 1),
    },
    "covertr": {
        "learning_rate": (0.05, 0.01),
        "temperature": (0.1, 1),
        "size_weight": (0.01, 0.1, 1),
        "target_size": (1,),
        "tau": (-0.1, -0.01),
    },
    "conftr-class": {
        "learning_rate": (0.05, 0.01, 0.005),
        "temperature": (0.1, 1),
        "size_weight": (0.01, 0.1, 0.5),
        "target_size": (1,),
    },
}
# On what members of an ensemble say: the same for every head, which `--model` names.
_ON_MEMBERS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "cross-entropy": {
        "batch_size": (1000, 500),
        "learning_rate": (0.02, 0.01, 0.005),
        "weight_decay": (2e-3, 5e-3, 1e-2, 2e-2),
        "epochs": (15, 25, 50),
    },
    "conftr": {
        "alpha": (0.01, 0.05),
        "batch_size": (500,),
        "learning_rate": (0.01, 0.005),
        "weight_decay": (5e-4, 2e-3, 1e-2),
        "quantile": ("smooth-sort:0.1", "nearest:0.02"),
        "temperature": (0.5, 1),
        "cross_entropy_weight": (0, 0.2),
        "target_size": (0,),
    },
}
# Where settings are told apart by images that no network has seen, training sets are drawn as those
# of trials are: what suits all images learns a draw by heart. One training says less of a head than
# settings differ by: the best are trained again.
_ON_UNSEEN: Mapping[str, tuple[Stage, ...]] = {
    "cifar10-members": (Stage(1.0, 1, 8), Stage(1.0, 6, 1)),
    "cifar100-resnet50": (Stage(1.0, 1, 4), Stage(1.0, 4, 1)),
}
_MANY = 10**6  # rows: no batch of these is left out


def whole_grid(dataset: str, methods: Sequence[str]) -> SettingsFile:
    """Every combination of the paper's values, for all epochs."""
    batches = {"batch_size": _BATCHES.get(dataset, (1000, 500, 100))}
    return _on(dataset, SettingsFile(by_method={m: batches | _values(m) for m in methods}))


def thinned_grid(dataset: str, methods: Sequence[str]) -> SettingsFile:
    """What our searches tried, in stages that two cores finish in minutes or hours."""
    if dataset.startswith("cifar"):
        known = _ON_MEMBERS if dataset == "cifar10-members" else _ON_CIFAR
        grids = {m: {"batch_size": (500,)} | dict(known[m]) for m in methods if m in known}
        file = SettingsFile(by_method=grids)
        if dataset in _ON_UNSEEN:
            file = replace(file, stages=_ON_UNSEEN[dataset], resampled=True)
        return _on(dataset, file)
    (epochs,) = settings_of(dataset).shared["epochs"]
    batches = _BATCHES.get(dataset, (500, 100))
    stages = _STAGES[dataset]
    return _on(dataset, coarse(methods, rows=_MANY, epochs=epochs, batches=batches, stages=stages))


def _values(method: str) -> dict[str, Sequence[Any]]:
    values = {**_PAPER, "tau": TAUS.get(method, ())}
    legal = set(space.names(METHODS[method])) - set(_CANCELLED.get(method, ()))
    return {name: several for name, several in values.items() if name in legal}


def _on(dataset: str, grid: SettingsFile) -> SettingsFile:
    """Complete settings by the network, epochs and alpha of a dataset."""
    known = settings_of(dataset)
    return replace(
        grid, shared=known.shared, alphas=known.alphas[:1], methods=tuple(grid.by_method)
    )
