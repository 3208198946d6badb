"""A tiny backbone in PyTorch, trained as the example trains CIFAR's, in a process to be killed."""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[2] / "examples" / "cifar"))
import backbone

from conftr.data import Dataset, whiten


def options(folder: Path, **changes: Any) -> argparse.Namespace:
    """A run of a few steps, its weights and its state in one folder."""
    known = {
        "dataset": "cifar10",
        "layers": 34,
        "width": 2,
        "stem": 4,
        "epochs": 4,
        "batch": 20,
        "rate": 0.1,
        "decay": 1e-4,
        "strong": False,
        "seed": 0,
        "held": 20,
        "after": None,
        "threads": 1,
        "to": folder,
        "runs": folder,
    }
    return argparse.Namespace(**known | changes)


def tiny() -> Dataset:
    """120 pictures of noise, 80 of them to train on."""
    draw = np.random.default_rng(0)
    x = draw.integers(0, 256, (120, 32, 32, 3)).astype(np.uint8)
    y = draw.integers(0, 10, 120).astype(np.int32)
    names = tuple(map(str, range(10)))
    parts = x[:80], y[:80], x[80:100], y[80:100], x[100:], y[100:]
    return Dataset("tiny", *parts, names, {}, whiten(x))


def main(folder: str) -> None:
    backbone.train(options(Path(folder)), tiny())


if __name__ == "__main__":
    main(*sys.argv[1:])
