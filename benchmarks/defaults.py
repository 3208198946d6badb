"""`conftr fit` as it comes, on tables and images: is the promise kept, and how large are the sets?

    python benchmarks/defaults.py digits 0 1 2      a name and seeds

Each run is the command as a user gives it; another seed means other test rows, calibration rows and
networks. `digits` ship with scikit-learn; `wine` is the publisher's table with its seven grades;
`letters` is a table like the classic one of letter recognition, 16 numbers on each of 20,000
pictures of letters (EMNIST). The last two want files of the named datasets (CONFTR_DATA).
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from conftr import data
from conftr.data.dataset import permutation

ROWS = 20_000


def digits(_: Path) -> list[str]:
    return ["digits"]


def wine(_: Path) -> list[str]:
    file = data.fetch("winequality").folder / "winequality-white.csv"
    return [str(file), "--target", "quality"]


def letters(folder: Path) -> list[str]:
    dataset = data.load("emnist-test")
    x = np.concatenate([dataset.x_train, dataset.x_cal, dataset.x_test])[..., 0]
    y = np.concatenate([dataset.y_train, dataset.y_cal, dataset.y_test])
    rows = permutation(len(y))[:ROWS]
    names = [dataset.classes[k].upper() for k in y[rows]]
    described(x[rows] > 127).with_columns(letter=pl.Series(names)).write_csv(folder / "letters.csv")
    return [str(folder / "letters.csv"), "--target", "letter"]


def described(ink: np.ndarray) -> pl.DataFrame:
    """Pictures (n, h, w) of black and white as 16 numbers each: box, amount, moments, edges."""
    h, w = ink.shape[1:]
    count = np.maximum(ink.sum(axis=(1, 2)), 1)
    y, x = np.mgrid[0:h, 0:w] / (h - 1) - 0.5

    def mean(weight: np.ndarray, of: np.ndarray = ink, over: np.ndarray = count) -> np.ndarray:
        return (of * weight).sum(axis=(1, 2)) / over

    inside = [ink.any(axis=axis) for axis in (1, 2)]  # columns, rows
    starts = [side.argmax(axis=1) for side in inside]
    ends = [side.shape[1] - side[:, ::-1].argmax(axis=1) for side in inside]
    mx, my = mean(x), mean(y)
    dx, dy = x - mx[:, None, None], y - my[:, None, None]
    across = np.diff(ink, axis=2, prepend=False) & ink  # where ink begins, from the left
    down = np.diff(ink, axis=1, prepend=False) & ink
    return pl.DataFrame(
        {
            "x-box": starts[0],
            "y-box": starts[1],
            "width": ends[0] - starts[0],
            "height": ends[1] - starts[1],
            "ink": count,
            "x-mean": mx,
            "y-mean": my,
            "xx": mean(dx**2),
            "yy": mean(dy**2),
            "xy": mean(dx * dy),
            "xxy": mean(dx**2 * dy),
            "xyy": mean(dx * dy**2),
            "edges-x": across.sum(axis=(1, 2)) / h,
            "edges-x-y": mean(y, across, np.maximum(across.sum(axis=(1, 2)), 1)),
            "edges-y": down.sum(axis=(1, 2)) / w,
            "edges-y-x": mean(x, down, np.maximum(down.sum(axis=(1, 2)), 1)),
        }
    ).select(pl.all().cast(pl.Float64).round(5))


def fit(arguments: list[str], seed: str, folder: Path) -> dict:
    command = ["-m", "conftr.cli", "fit", *arguments, "--seed", seed, "--json"]
    done = subprocess.run(
        [sys.executable, *command, "--out", folder / f"model-{seed}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main() -> None:
    name, *seeds = sys.argv[1:]
    with TemporaryDirectory() as folder:
        arguments = {"digits": digits, "wine": wine, "letters": letters}[name](Path(folder))
        for seed in seeds or ["0"]:
            result = fit(arguments, seed, Path(folder))
            n, (group,) = result["test_rows"], result["groups"]
            low, high = (f"{100 * count / n:.1f}" for count in group["chance"])
            chosen, *others = result["candidates"]
            best = others[-1]  # of the members alone
            print(
                f"| {name} | {seed} | {100 * result['coverage']:.1f} % | {low} to {high} % "
                f"| {result['verdict']} | {chosen['mean_size']:.2f} | {chosen['name']} "
                f"| {best['mean_size']:.2f} | {best['name']} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
