"""A tiny backbone in PyTorch, trained as the example trains CIFAR's, in a process to be killed."""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[2] / "examples" / "cifar"))
from backbone import train

from conftr.data import Dataset, whiten


def main(folder: str) -> None:
    draw = np.random.default_rng(0)
    x = draw.integers(0, 256, (120, 32, 32, 3)).astype(np.uint8)
    y = draw.integers(0, 10, 120).astype(np.int32)
    names = tuple(map(str, range(10)))
    parts = x[:80], y[:80], x[80:100], y[80:100], x[100:], y[100:]
    options = argparse.Namespace(
        dataset="cifar10",
        layers=34,
        width=2,
        stem=4,
        epochs=4,
        batch=20,
        rate=0.1,
        decay=1e-4,
        strong=False,
        seed=0,
        held=20,
        threads=1,
        to=Path(folder),
        runs=Path(folder),
    )
    train(options, Dataset("tiny", *parts, names, {}, whiten(x)))


if __name__ == "__main__":
    main(*sys.argv[1:])
