"""Averages of five networks and a head on them, under the paper's protocol: 5 networks x 10 splits.

    python benchmarks/averages.py fashion-mnist mnist winequality-grades emnist-test
    conftr reproduce --stored --page docs/results.md          the page, from what is stored

Settings that are best for a single network need not be best for an average. Here settings, as
many for every method, are told apart by the sets of averages on held-out rows of the training
split: of two networks first, and of five for the best of these. A head is found on the same rows.
Then five networks, or five times five where they are small, are trained on the whole training
split, and the head is put on the average of each five. What is done is found again: a run that
was stopped goes on where it was.
"""

from itertools import product
from typing import Any, NamedTuple

from conftr.experiments import Evaluation, Specification, Training, part
from conftr.experiments.averages import FIVE, best_heads, measured_in_fives, size_of
from conftr.experiments.runner import Workspace, prepare, run, train
from conftr.experiments.specification import stored_method
from conftr.search.methods import objective_of
from conftr.search.space import Settings, configured
from conftr.search.text import SCORES
from entries import keep, requested

METHODS = ("cross-entropy-tuned", "rwce", "conftr-class", "vr-conftr")
PAIR = 2  # networks of an average in the first round
HELD_OUT = part("held_out", share=0.2, at_most=10000, seed=0)


class Protocol(NamedTuple):
    """Of a dataset: its network, lengths of training and weight decays to try, batch and alpha.

    kept: settings that go on to the second round. averages: of five networks each, in the end.
    """

    model: str
    epochs: tuple[int, ...]
    decays: tuple[float, ...] = (5e-4, 1e-3)
    batch_size: int = 100
    alpha: float = 0.01
    kept: int = 3
    averages: int = 5


PROTOCOLS = {
    "fashion-mnist": Protocol("mlp:64x64", (20, 40, 80), kept=2, averages=1),
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
    return [
        base | {"epochs": epochs, "schedule": schedule, "weight_decay": decay}
        for epochs, schedule, decay in product(protocol.epochs, SCHEDULES, protocol.decays)
    ]


def specification(
    dataset: str, method: str, settings: Settings, networks: int, **how: Any
) -> Specification:
    """So many networks of these settings, on the whole training split or a part of it."""
    alpha = PROTOCOLS[dataset].alpha
    scores = tuple(one for one in SCORES if one[0] in ("THR", "APS"))
    trained = configured(objective_of(method), settings, alpha)
    training = Training(dataset, *trained, resampled=False, **how)
    return Specification(f"{method}-averaged", training, Evaluation((alpha,), 10, scores), networks)


class Tried(NamedTuple):
    """Settings, the size of sets of their networks' average on held-out rows, and the networks."""

    settings: Settings
    networks: int
    size: float
    said: Any


def tried(
    dataset: str, method: str, settings: Settings, networks: int, workspace: Workspace
) -> Tried:
    """An average of so many networks, measured on held-out rows."""
    wanted = specification(dataset, method, settings, networks, pool=HELD_OUT)
    prepared = prepare(wanted.training, workspace.load)
    trials = train(wanted, prepared, workspace)
    size = size_of(trials, wanted.evaluation, prepared)
    print(dataset, method, networks, f"{size:.4f}", settings, flush=True)
    return Tried(settings, networks, size, (trials, prepared))


def searched(dataset: str, method: str, workspace: Workspace) -> list[Tried]:
    """Averages of two networks with all settings, then of five with the best of these."""
    settings = grid(dataset, method)
    pairs = [tried(dataset, method, one, PAIR, workspace) for one in settings]
    best = sorted(pairs, key=lambda one: one.size)[: PROTOCOLS[dataset].kept]
    return pairs + [tried(dataset, method, one.settings, FIVE, workspace) for one in best]


def entry(dataset: str, method: str, workspace: Workspace) -> dict[str, Any]:
    """Search, find a head, train 25 networks, and measure them."""
    attempts = searched(dataset, method, workspace)
    chosen = min((one for one in attempts if one.networks == FIVE), key=lambda one: one.size)
    wanted = specification(dataset, method, chosen.settings, FIVE * PROTOCOLS[dataset].averages)
    heads = best_heads(*chosen.said, wanted.evaluation)
    record = run(wanted, workspace, lambda *them: measured_in_fives(heads, *them))
    for name in ("results", "average", "head"):
        told = [f"{one['score']} {one['inefficiency']['mean']:.3f}" for one in record[name]]
        print(dataset, method, name, *told, flush=True)
    return {
        "method": stored_method(method),
        "search": [
            {"networks": one.networks, "size": round(one.size, 6), "settings": one.settings}
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
