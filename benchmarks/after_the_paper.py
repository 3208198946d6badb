"""Methods after the paper under one protocol: an equal search, then 5 trainings x 10 splits.

    python benchmarks/after_the_paper.py mnist winequality-grades fashion-mnist emnist-test
    python benchmarks/after_the_paper.py fashion-mnist-long-tail
    conftr reproduce --stored --page docs/results.md          the page, from what is stored

Every method has as many configurations (`conftr.search.grids.equal_budget`), told apart by the size
of THR's sets on held-out training rows. Five networks are then trained with what was found, on the
training split without the rows that are kept for heads. What is done is found again: a run that was
stopped goes on where it was.
"""

from pathlib import Path
from typing import Any, NamedTuple

from conftr.experiments import Evaluation, Specification, Training, part
from conftr.experiments.ensembles import run_with_ensembles
from conftr.experiments.runner import Workspace
from conftr.experiments.specification import stored_method
from conftr.experiments.sweeping import path_of, run_sweeps
from conftr.paper.later import METHODS
from conftr.search.grids import equal_budget
from conftr.search.methods import objective_of
from conftr.search.settings import Stage
from conftr.search.space import configured
from conftr.search.sweeps import sweeps
from conftr.search.text import SCORES
from entries import keep, requested

KEPT = part("kept_for_a_head", share=0.1, at_most=5000, seed=0)


class Protocol(NamedTuple):
    """Of a dataset: its network, the epochs to try, the batch, alpha, and divisions of a search.

    augmentation: where rows have several views, which of them a step sees.
    """

    model: str
    epochs: tuple[int, ...]
    batch_size: int = 200
    alpha: float = 0.01
    repeats: int = 1
    augmentation: str | None = None


PROTOCOLS = {
    "mnist": Protocol("linear", (15, 30)),
    "winequality-grades": Protocol("mlp:64x64", (10, 25, 75), 100, 0.1, 2),
    "fashion-mnist": Protocol("mlp:64x64", (15, 30)),
    "emnist-test": Protocol("mlp:128x128", (10, 20)),
    "fashion-mnist-long-tail": Protocol("mlp:64x64", (20, 40), alpha=0.05),
    "cifar10-resnet34": Protocol("views:linear", (15, 30), 500, augmentation="any-view"),
    "cifar100-imagenet": Protocol("views:linear", (15, 30), 500, augmentation="any-view"),
}


def settings_of(dataset: str, method: str, workspace: Workspace) -> tuple[dict[str, Any], Path]:
    """What the search finds for a method, and where its record lies."""
    protocol = PROTOCOLS[dataset]
    stages = (Stage(repeats=protocol.repeats),)
    file = equal_budget((method,), protocol.epochs, alpha=protocol.alpha, stages=stages)
    base: dict[str, Any] = {
        "model": protocol.model,
        "batch_size": protocol.batch_size,
        "schedule": "cosine",
    }
    if protocol.augmentation is not None:
        base["augmentation"] = protocol.augmentation
    (sweep,) = sweeps(file, dataset, base | {"epochs": 1}, alpha=protocol.alpha)
    (record,) = run_sweeps([sweep], workspace)
    return base | record["chosen"], path_of(sweep, workspace.store)


def specification(dataset: str, method: str, settings: dict[str, Any]) -> Specification:
    """Five trainings and ten splits, by THR and APS."""
    alpha = PROTOCOLS[dataset].alpha
    scores = tuple(pair for pair in SCORES if pair[0] in ("THR", "APS"))
    trained = configured(objective_of(method), settings, alpha)
    training = Training(dataset, *trained, resampled=False, pool=KEPT)
    return Specification(method, training, Evaluation((alpha,), 10, scores), trials=5)


def entry(dataset: str, method: str, workspace: Workspace) -> dict[str, Any]:
    """Search, train and measure; which records belong together."""
    store = workspace.store
    settings, sweep = settings_of(dataset, method, workspace)
    wanted = specification(dataset, method, settings)
    record = run_with_ensembles(wanted, workspace)
    sizes = [
        f"{result['score']} {result['inefficiency']['mean']:.3f}" for result in record["results"]
    ]
    whole = [f"{record[name][0]['inefficiency']['mean']:.3f}" for name in ("average", "head")]
    print(dataset, method, *sizes, "average, head", *whole, settings, flush=True)
    return {
        "method": stored_method(method),
        "sweep": sweep.relative_to(store.root).as_posix(),
        "record": store.path(wanted).relative_to(store.root).as_posix(),
    }


def main() -> None:
    workspace, pairs = requested(__doc__, list(PROTOCOLS), METHODS)
    for dataset, method in pairs:
        content = entry(dataset, method, workspace)
        keep(workspace.store.root / "later" / f"{dataset}.json", dataset, content, METHODS)


if __name__ == "__main__":
    main()
