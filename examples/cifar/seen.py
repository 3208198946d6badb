"""Do heads suffer from features of images that their network has seen? CIFAR-10, test images alone.

python examples/cifar/seen.py

Heads train on 5,000 calibration images, which the network has never seen, or on 5,000 of those that
it was trained on; or on all of these, each as it is, in place of five views.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from conftr import data
from conftr.experiments.runner import Workspace, run
from conftr.experiments.store import Store
from conftr.paper.runs import run as settled
from conftr.search.attempts import Evaluation
from conftr.search.text import score

NAME, SOME, HALF = "cifar10-resnet34", 5_000, 5_000
METHODS = ("cross-entropy", "conftr", "conftr-class")


def tested(dataset: data.Dataset, x: np.ndarray, y: np.ndarray) -> data.Dataset:
    """Heads train on these; half of the test images calibrates, the other half tests."""
    test = dataset.x_test[:, :1]
    parts = test[:HALF], dataset.y_test[:HALF], test[HALF:], dataset.y_test[HALF:]
    names = "x_train", "y_train", "x_cal", "y_cal", "x_test", "y_test"
    return replace(dataset, **dict(zip(names, (x[:, :1], y, *parts), strict=True)))


def variants(dataset: data.Dataset) -> Mapping[str, tuple[data.Dataset, int]]:
    """What heads train on, and for how many epochs."""
    x, y = dataset.x_train, dataset.y_train
    rows = np.random.default_rng(0).permutation(len(y))[:SOME]
    return {
        "5,000 unseen": (tested(dataset, dataset.x_cal, dataset.y_cal), 100),
        "5,000 seen": (tested(dataset, x[rows], y[rows]), 100),
        "45,000 seen": (tested(dataset, x, y), 50),
    }


def main() -> None:
    evaluation = Evaluation(scores=(score("thr"),))
    for words, (dataset, epochs) in variants(data.load(NAME)).items():
        for method in METHODS:
            chosen = settled(
                NAME, method, trials=3, settings={"epochs": epochs}, evaluation=evaluation
            )
            with tempfile.TemporaryDirectory() as folder:
                places = Store(Path(folder)), Path(folder)
                record = run(chosen, Workspace(*places, load=lambda _, one=dataset: one))
            size = record["results"][0]["inefficiency"]
            print(f"{words:14} {method:14} {size['mean']:.3f} +- {size['std_trials']:.3f}")


if __name__ == "__main__":
    main()
