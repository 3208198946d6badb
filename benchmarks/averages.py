"""Averages of five networks and a head on them, under the paper's protocol: 5 networks x 10 splits.

    python benchmarks/averages.py fashion-mnist mnist winequality-grades emnist-test
    conftr reproduce --stored --page docs/results.md          the page, from what is stored

Settings that are best for a single network need not be best for an average. Here settings, as
many for every method, are told apart by the sets of averages on held-out rows of the training
split: of two networks first, and of five for the best of these. Where a draw of held-out rows says
too little, the best averages of two are measured on further draws in between: at alpha = .01 a
hundred of 10,000 rows are beyond the threshold, and draws differ by more than most settings do.
A head is found on the rows of the first draw. Then networks are trained on the whole training
split, and the head is put on the average of each five. What is done is found again: a run that
was stopped goes on where it was.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from conftr.experiments import Evaluation, Specification, Training, part
from conftr.experiments.averages import FIVE, best_heads, measured_in_fives, size_of
from conftr.experiments.runner import Prepared, TrainedTrial, Workspace, prepare, run, train
from conftr.experiments.specification import stored_method
from conftr.search.methods import objective_of
from conftr.search.space import Settings, configured
from conftr.search.text import SCORES
from entries import keep, requested

METHODS = ("cross-entropy-tuned", "rwce", "conftr-class", "vr-conftr")
PAIR = 2  # networks of an average in the first round


class Protocol(NamedTuple):
    """Of a dataset: its network, what is tried, batch and alpha.

    Attributes:
        epochs: Lengths of training to try.
        decays: Weight decays to try.
        rates: Factors of a method's own learning rate to try.
        augmentations: Changes of pictures to try; an empty text is none.
        half: Whether only half of all combinations is tried, in which any two values of two
            settings occur together equally often (a fraction of a factorial design).
        draws: Of held-out rows.
        again: Averages of two that are measured on all draws, where there are several.
        kept: Settings of which five networks are tried.
        splits: Of held-out rows, at random, into calibration and test.
        averages: Of five networks each, in the end.
    """

    model: str
    epochs: tuple[int, ...]
    decays: tuple[float, ...] = (5e-4, 1e-3)
    rates: tuple[float, ...] = (1.0,)
    augmentations: tuple[str, ...] = ("",)
    batch_size: int = 100
    alpha: float = 0.01
    half: bool = False
    draws: int = 1
    again: int = 4
    kept: int = 3
    splits: int = 10
    averages: int = 5


PROTOCOLS = {
    "fashion-mnist": Protocol(
        "mlp:64x64",
        (40, 80),
        (1e-4, 5e-4),
        rates=(0.4, 1.0),
        augmentations=("", "crop:1"),
        half=True,
        draws=3,
        kept=1,
        splits=100,
        averages=1,
    ),
    "mnist": Protocol("linear", (15, 30), (5e-4,), kept=1, averages=1),
    "emnist-test": Protocol("mlp:128x128", (20, 40), (5e-4,), kept=1, averages=1),
    "winequality-grades": Protocol("mlp:64x64", (15, 30), alpha=0.1),
}
SCHEDULES = ("steps", "cosine")
# As the paper has them for each: a tenth of the learning rate where training is through sets.
OWN: dict[str, Settings] = {
    "cross-entropy-tuned": {"learning_rate": 0.05},
    "rwce": {"learning_rate": 0.05},
    "conftr-class": {"learning_rate": 0.01, "temperature": 0.1, "size_weight": 0.5},
    "vr-conftr": {"learning_rate": 0.01, "temperature": 1},
}


def grid(dataset: str, method: str) -> list[dict[str, Any]]:
    """As many settings for every method."""
    protocol = PROTOCOLS[dataset]
    base = {"model": protocol.model, "batch_size": protocol.batch_size, **OWN[method]}
    if method == "vr-conftr":
        base["quantile"] = f"nearest:{2 * protocol.alpha:g}"
    rates = [round(factor * base["learning_rate"], 6) for factor in protocol.rates]
    changes = [{"augmentation": one} if one else {} for one in protocol.augmentations]
    values = protocol.epochs, SCHEDULES, protocol.decays, rates, changes
    return [
        base
        | {"learning_rate": rate, "epochs": epochs, "schedule": schedule, "weight_decay": decay}
        | change
        for epochs, schedule, decay, rate, change in _combinations(values, protocol.half)
    ]


def _combinations(values: Sequence[Sequence[Any]], half: bool) -> Iterator[tuple[Any, ...]]:
    """All combinations of values, or those whose places among the values have an odd sum."""
    for numbered in product(*(enumerate(of_one) for of_one in values)):
        if not half or sum(place for place, _ in numbered) % 2:
            yield tuple(value for _, value in numbered)


def specification(
    dataset: str, method: str, settings: Settings, networks: int, **how: Any
) -> Specification:
    """So many networks of these settings, on the whole training split or a part of it."""
    protocol = PROTOCOLS[dataset]
    scores = tuple(one for one in SCORES if one[0] in ("THR", "APS"))
    described = configured(objective_of(method), settings, protocol.alpha)
    training = Training(dataset, *described, resampled=False, **how)
    splits = protocol.splits if how else 10  # what is reported has the paper's
    evaluation = Evaluation((protocol.alpha,), splits, scores)
    return Specification(f"{method}-averaged", training, evaluation, networks)


class Tried(NamedTuple):
    """Settings, and the mean size of sets of their networks' averages on draws of held-out rows."""

    settings: Settings
    networks: int
    draws: int
    size: float


def tried(
    dataset: str,
    method: str,
    settings: Settings,
    workspace: Workspace,
    *,
    networks: int,
    draws: int,
) -> Tried:
    """An average of so many networks, measured on so many draws of held-out rows."""
    sizes = []
    for draw in range(draws):
        wanted = on_held_out(dataset, method, settings, networks, draw)
        trials, prepared = trained(wanted, workspace)
        sizes.append(size_of(trials, wanted.evaluation, prepared))
    size = float(np.mean(sizes))
    print(dataset, method, networks, draws, f"{size:.4f}", settings, flush=True)
    return Tried(settings, networks, draws, size)


def on_held_out(
    dataset: str, method: str, settings: Settings, networks: int, draw: int
) -> Specification:
    """So many networks that a draw of training rows is held out from."""
    pool = part("held_out", share=0.2, at_most=10000, seed=draw)
    return specification(dataset, method, settings, networks, pool=pool)


def trained(wanted: Specification, workspace: Workspace) -> tuple[list[TrainedTrial], Prepared]:
    """Networks of a specification, and the rows that they speak of."""
    prepared = prepare(wanted.training, workspace.load)
    return train(wanted, prepared, workspace), prepared


def searched(dataset: str, method: str, workspace: Workspace) -> list[Tried]:
    """Averages of two with all settings, the best of them on more rows, then averages of five."""
    protocol = PROTOCOLS[dataset]
    attempt = partial(tried, dataset, method, workspace=workspace)
    pairs = [attempt(one, networks=PAIR, draws=1) for one in grid(dataset, method)]
    again: list[Tried] = []
    if protocol.draws > 1:
        best = sorted(pairs, key=_size)[: protocol.again]
        again = [attempt(one.settings, networks=PAIR, draws=protocol.draws) for one in best]
    best = sorted(again or pairs, key=_size)[: protocol.kept]
    draws = protocol.draws if len(best) > 1 else 1  # one is for its head alone
    fives = [attempt(one.settings, networks=FIVE, draws=draws) for one in best]
    return pairs + again + fives


def _size(one: Tried) -> float:
    return one.size


def entry(dataset: str, method: str, workspace: Workspace) -> dict[str, Any]:
    """Search, find a head, train networks on the whole training split, and measure them."""
    attempts = searched(dataset, method, workspace)
    chosen = min((one for one in attempts if one.networks == FIVE), key=_size)
    wanted = specification(dataset, method, chosen.settings, FIVE * PROTOCOLS[dataset].averages)
    first = on_held_out(dataset, method, chosen.settings, FIVE, draw=0)
    heads = best_heads(*trained(first, workspace), wanted.evaluation)
    record = run(wanted, workspace, lambda *them: measured_in_fives(heads, *them))
    for name in ("results", "average", "head"):
        told = [f"{one['score']} {one['inefficiency']['mean']:.3f}" for one in record[name]]
        print(dataset, method, name, *told, flush=True)
    return {
        "method": stored_method(method),
        "search": [
            {
                "networks": one.networks,
                "draws": one.draws,
                "size": round(one.size, 6),
                "settings": one.settings,
            }
            for one in attempts
        ],
        "chosen": chosen.settings,
        "record": workspace.store.path(wanted).relative_to(workspace.store.root).as_posix(),
    }


def main() -> None:
    workspace, pairs = requested(__doc__, list(PROTOCOLS), METHODS)
    for dataset, method in pairs:
        found = entry(dataset, method, workspace)
        keep(workspace.store.root / "averages" / f"{dataset}.json", dataset, found, METHODS)


if __name__ == "__main__":
    main()
