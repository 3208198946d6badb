"""CIFAR: heads on what frozen networks say (sec. 4.1, app. F): fine-tuned, extended, on ensembles.

A head is a linear layer or an MLP on features ("extend"), or on the logits of several networks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conftr.conformal.objectives import CrossEntropy
from conftr.data.named.cifar_features import MEMBERS
from conftr.experiments.specification import Specification
from conftr.machine.plain_data import part
from conftr.paper.exhibits import ACCURACY, Cell, Line, published
from conftr.paper.runs import METHODS, NAMES, run
from conftr.paper.settings import settings_of
from conftr.search.attempts import Evaluation, Training
from conftr.search.text import schedule, score


@dataclass(frozen=True)
class _HeadSettings:
    """What a head changes in the settings of its dataset, for all methods, then for some.

    Attributes:
        name: In file names.
        settings: For all methods.
        by_method: For one method each.
    """

    name: str
    settings: Mapping[str, Any]
    by_method: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


_HEADS: Mapping[str, _HeadSettings] = {
    # As printed.
    "extend": _HeadSettings(
        "extend",
        {"model": "views:mlp:128x128"},
        {
            "conftr": {
                "batch_size": 100,
                "learning_rate": 0.01,
                "temperature": 1,
                "size_weight": 0.005,
                "target_size": 0,
            },
            "conftr-class": {
                "batch_size": 500,
                "learning_rate": 0.05,
                "temperature": 0.1,
                "size_weight": 0.1,
                "target_size": 1,
            },
        },
    ),
    # As the authors' code has it.
    "linear, learning rate .005": _HeadSettings("slow", {"learning_rate": 0.005}),
    # Both found on images that the network of CIFAR-100 has not seen (results/sweeps).
    "linear, settings searched": _HeadSettings(
        "searched", {"batch_size": 500, "learning_rate": 0.05}
    ),
    "linear, with cross-entropy": _HeadSettings(
        "and-cross-entropy",
        {
            "batch_size": 500,
            "learning_rate": 0.01,
            "quantile": "nearest:0.02",
            "cross_entropy_weight": 0.5,
        },
    ),
    # The smallest sets on images that no network has seen (results/sweeps), as the ensemble's MLP.
    "ensemble, MLP from the average": _HeadSettings(
        "from-average",
        {"model": "members:mlp:128x128", "batch_size": 500, "epochs": 50},
        {
            "cross-entropy": {"learning_rate": 0.01, "weight_decay": 0.01},
            "conftr": {
                "alpha": 0.05,
                "learning_rate": 0.005,
                "weight_decay": 0.0005,
                "temperature": 1,
                "cross_entropy_weight": 0.2,
            },
        },
    ),
    "ensemble, linear": _HeadSettings(
        "linear",
        {"model": "views:linear", "batch_size": 500, "epochs": 50},
        {
            "cross-entropy": {"learning_rate": 0.01, "weight_decay": 0.01},
            "conftr": {
                "alpha": 0.05,
                "learning_rate": 0.01,
                "weight_decay": 0.002,
                "temperature": 1,
                "cross_entropy_weight": 0.2,
            },
        },
    ),
}


def _run(dataset: str, words: str, method: str) -> Specification:
    head = _HEADS.get(words)
    if head is None:
        return run(dataset, method)
    changes = {**head.settings, **head.by_method.get(method, {})}
    return run(dataset, method, name=f"{method}-{head.name}", settings=changes)


def _line(
    dataset: str,
    head: str,
    method: str,
    score: str,
    alpha: float,
    size: float | None = None,
    accuracy: float | None = None,
) -> Line:
    return Line(
        (NAMES[dataset], head, METHODS[method], score, f"{alpha:g}"),
        _run(dataset, head, method),
        (Cell(size, score=score, alpha=alpha), Cell(accuracy, ACCURACY, score, alpha)),
    )


def averaged(members: tuple[int, ...]) -> Specification:
    """Members of the ensemble as they are, averaged if there are several; nothing is trained."""
    dataset = "cifar10-members"
    training = Training(
        dataset,
        part("MembersAverage", members=members),
        CrossEntropy(),
        part(
            "Plan",
            epochs=1,
            batch_size=500,
            optimiser=part(
                "SGD",
                learning_rate=0.01,
                momentum=0.9,
                nesterov=True,
                weight_decay=0.0005,
                schedule=schedule("constant"),
            ),
        ),
        resampled=False,
    )
    name = f"member-{members[0]}" if len(members) == 1 else "members-averaged"
    measured = Evaluation(settings_of(dataset).alphas, scores=(score("thr"),))
    return Specification(name, training, measured, trials=1)


def _as_they_are() -> list[Line]:
    rows: list[tuple[str, tuple[int, ...]]] = [(f"member {i + 1}", (i,)) for i in range(MEMBERS)]
    rows.append(("members averaged", tuple(range(MEMBERS))))
    return [
        Line(
            (NAMES["cifar10-members"], "none", words, "THR", "0.01"),
            averaged(members),
            (Cell(None), Cell(None, ACCURACY)),
        )
        for words, members in rows
    ]


def _lines() -> list[Line]:
    """The paper's rows, with the members before their ensemble."""
    lines = [_line(*row) for row in published("cifar")]
    first = next(i for i, line in enumerate(lines) if line.labels[1].startswith("ensemble"))
    return [*lines[:first], *_as_they_are(), *lines[first:]]


LINES: dict[str, list[Line]] = {"cifar": _lines()}
