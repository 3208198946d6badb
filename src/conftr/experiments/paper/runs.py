"""The runs behind the paper's tables and figures: a method on a dataset, with what is changed.

Trials draw their training set once from five copies (the paper's text) on MNIST, WineQuality and
GermanCredit. On Fashion-MNIST that contradicts the published numbers (see `protocol`), on Camelyon
the paper does without, and the test split of EMNIST is small as it is: there, trials train on the
whole training set and differ in their start and shuffles.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from conftr.experiments import settings
from conftr.experiments.settings import Row, Wish
from conftr.experiments.specification import Evaluation, Specification
from conftr.machine.plain_data import Part

WHOLE = ("fashion-mnist", "emnist-test", "camelyon")
NAMES: Mapping[str, str] = {
    "mnist": "MNIST",
    "fashion-mnist": "F-MNIST",
    "emnist-test": "EMNIST (test split)",
    "winequality": "WineQuality",
    "german-credit": "GermanCredit",
    "camelyon": "Camelyon",
}
METHODS: Mapping[str, str] = {
    "baseline": "baseline",
    "baseline-tuned": "baseline, tuned",
    "bel": "Bel",
    "covertr": "CoverTr",
    "covertr-thr": "CoverTr",
    "covertr-aps": "CoverTr",
    "conftr": "ConfTr",
    "conftr-class": "ConfTr + L_class",
    "conftr-for-aps": "ConfTr, tuned for APS",
    "conftr-class-for-aps": "ConfTr + L_class, tuned for APS",
}
_TRIALS = {"emnist-test": 5}


def measured_at(dataset: str) -> float:
    """The alpha at which the paper compares methods on a dataset."""
    return 0.05 if dataset == "camelyon" else 0.01


def run(
    dataset: str,
    method: str,
    *,
    name: str | None = None,
    trials: int | None = None,
    row: Mapping[str, Any] | None = None,
    alpha: float | None = None,
    quantile: Part | None = None,
    resampled: bool | None = None,
    **objective: Any,
) -> Specification:
    """A method with its settings, but for what is given.

    name: in file names; the method's own if None.
    trials: 5 on EMNIST, else 10, if None.
    row: fields of the row of settings to change.
    alpha: to train for; measured is at the dataset's own.
    objective: fields of the objective to change.
    """
    own: Row = settings.choose(dataset, method).row
    whole = dataset in WHOLE if resampled is None else not resampled
    wish = Wish(alpha=alpha, quantile=quantile, resampled=not whole)
    training = settings.training(dataset, method, wish, dataclasses.replace(own, **(row or {})))
    training = dataclasses.replace(training, objective=training.objective.replace(**objective))
    return Specification(
        name or method,
        training,
        Evaluation(settings.setup(dataset).alphas),
        trials or _TRIALS.get(dataset, 10),
    )
