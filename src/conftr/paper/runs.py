"""The runs behind the paper's tables and figures: a method on a dataset, with what is changed.

Trials draw their training set once from five copies (the paper's text) on MNIST, WineQuality and
GermanCredit. On Fashion-MNIST that contradicts the published numbers (see `protocol`), on Camelyon
the paper does without, and the test split of EMNIST is small as it is: there, trials train on the
whole training set and differ in their start and shuffles. On CIFAR a trial draws the rows on which
a head is trained, all of them rows that the networks behind it have seen too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conftr.experiments.specification import Specification
from conftr.machine.plain_data import describe
from conftr.paper.settings import settings_of
from conftr.search.attempts import Evaluation, Training
from conftr.search.methods import METHODS as OBJECTIVES
from conftr.search.space import configured
from conftr.search.text import score

WHOLE = ("fashion-mnist", "emnist-test", "camelyon")
NAMES: Mapping[str, str] = {
    "mnist": "MNIST",
    "fashion-mnist": "F-MNIST",
    "emnist-test": "EMNIST (test split)",
    "winequality": "WineQuality",
    "german-credit": "GermanCredit",
    "camelyon": "Camelyon",
    "cifar10-resnet34-long": "CIFAR10",
    "cifar10-resnet34": "CIFAR10",
    "cifar10-members": "CIFAR10",
    "cifar100-resnet50": "CIFAR100",
    "cifar100-imagenet": "CIFAR100 (ImageNet features)",
}
METHODS: Mapping[str, str] = {
    "cross-entropy": "cross-entropy",
    "cross-entropy-tuned": "cross-entropy, tuned",
    "bel": "Bel",
    "covertr": "CoverTr",
    "covertr-thr": "CoverTr",
    "covertr-aps": "CoverTr",
    "conftr": "ConfTr",
    "conftr-class": "ConfTr + L_class",
    "conftr-for-aps": "ConfTr, tuned for APS",
    "conftr-class-for-aps": "ConfTr + L_class, tuned for APS",
}
_CONFTR = ("conftr", "conftr-class")
# Scores that are measured, where that takes longer than training: those in tables.
_CIFAR100 = ("cifar100-resnet50", "cifar100-imagenet")
_SCORES: Mapping[tuple[str, str], tuple[str, ...]] = {
    **{(data, method): ("thr", "aps") for data in _CIFAR100 for method in ("bel", *_CONFTR)},
    **{("cifar10-members", method): ("thr",) for method in _CONFTR},
    ("cifar10-members", "cross-entropy"): ("thr", "thr_logits", "aps"),
}
_TRIALS = {"emnist-test": 5, "cifar100-imagenet": 5}


def measured_at(dataset: str) -> float:
    """The alpha at which the paper compares methods on a dataset."""
    return 0.05 if dataset == "camelyon" else 0.01


def run(
    dataset: str,
    method: str,
    *,
    name: str | None = None,
    trials: int | None = None,
    settings: Mapping[str, Any] | None = None,
    alpha: float | None = None,
    resampled: bool | None = None,
    evaluation: Evaluation | None = None,
    **objective: Any,
) -> Specification:
    """A method with its settings, but for what is given.

    Args:
        dataset: its name.
        method: its name.
        name: in file names; the method's own if None.
        trials: 5 on EMNIST and on features from ImageNet, else 10, if None.
        settings: to change.
        alpha: to train for; measured is at the dataset's own.
        resampled: whether training sets are drawn; as the paper's numbers tell, if None.
        evaluation: what is measured; every score at the dataset's own alphas, if None.
        objective: fields of the objective to change, values or plain data; None leaves one alone.

    Returns:
        What is to be run.
    """
    file = settings_of(dataset)
    known = {**file.only(method), **(settings or {})}
    model, minimised, plan = configured(OBJECTIVES[method], known, alpha or file.alphas[0])
    changes = {field: describe(value) for field, value in objective.items() if value is not None}
    whole = dataset in WHOLE if resampled is None else not resampled
    training = Training(dataset, model, minimised.replace(**changes), plan, resampled=not whole)
    measured = evaluation or _evaluation(dataset, method, file.alphas)
    return Specification(name or method, training, measured, trials or _TRIALS.get(dataset, 10))


def _evaluation(dataset: str, method: str, alphas: tuple[float, ...]) -> Evaluation:
    names = _SCORES.get((dataset, method))
    return Evaluation(alphas, scores=tuple(map(score, names))) if names else Evaluation(alphas)
