"""How long `conftr fit` takes as it comes: 100,000 rows x 20 columns, and the wines.

    python benchmarks/fitting.py                          both
    python benchmarks/fitting.py large --time-limit 60    one of them, with options of `conftr fit`

`large` has numbers in clouds, three for each of five classes, and one label in twenty drawn at
random, so that neither a linear model nor a few trees are enough. The program is started as a user
starts it. Seconds on the clock are those of this machine and of what else it does; seconds of
processors count what `fit` itself used: on two idle cores it ends after half of them or later.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from sklearn.datasets import make_classification

from conftr import data
from prediction import conftr

ROWS, COLUMNS, CLASSES, ALPHA = 100_000, 20, 5, 0.05


def large(folder: Path) -> list[str]:
    """Write the table; the arguments of `conftr fit`."""
    x, y = make_classification(
        ROWS,
        COLUMNS,
        n_informative=COLUMNS // 2,
        n_classes=CLASSES,
        n_clusters_per_class=3,
        flip_y=0.05,
        random_state=0,
    )
    frame = pl.DataFrame(x.round(5), schema=[f"x{i}" for i in range(COLUMNS)])
    frame.with_columns(kind=pl.Series([f"kind {k}" for k in y])).write_csv(folder / "large.csv")
    return [str(folder / "large.csv"), "--target", "kind"]


def wine(_: Path) -> list[str]:
    """The publisher's file; the arguments of `conftr fit`."""
    file = data.fetch("winequality").folder / "winequality-white.csv"
    return [str(file), "--target", "quality"]


TABLES = {"large": large, "wine": wine}


def main() -> None:
    names = [word for word in sys.argv[1:] if word in TABLES] or list(TABLES)
    options = [word for word in sys.argv[1:] if word not in TABLES]
    with TemporaryDirectory() as folder:
        for name in names:
            arguments = [*TABLES[name](Path(folder)), "--alpha", str(ALPHA), *options]
            done = conftr("fit", *arguments, "--out", f"{folder}/{name}-model", "--json")
            content = json.loads(done.printed)
            print(
                f"{name}: {done.seconds:.0f} s, {done.processors:.0f} s of processors, peak memory "
                f"{done.peak:,.0f} MB; {content['candidates'][0]['mean_size']:.3f} classes a set, "
                f"{100 * content['coverage']:.1f} % covered, {content['verdict']}"
            )
            print(*(word["words"] for word in content["candidates"]), sep="\n", flush=True)


if __name__ == "__main__":
    main()
