"""`conftr predict` on a CSV file of 1 GB: seconds, megabytes a second, and peak memory.

A table of 20 numbers and a category, 5 million rows, three classes; the program is started as a
user starts it, and its peak memory is what the system measured. The same rows in a file a tenth as
long tell what grows with the file and what does not. Needs 3 GB of disk; another size in MB can be
given as the first argument, and after it options of `conftr fit`, such as `--members extra-trees`:
without any, it is the default stack.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import polars as pl

COLUMNS, CLASSES, ROWS = 20, ("blue", "green", "red"), 20_000
PROGRAM = """
import sys
from conftr.cli import main
try:
    main()
finally:
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    print(status["VmHWM"].split()[0], file=sys.stderr)
"""


def rows() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, len(CLASSES), ROWS)
    numbers = rng.normal(size=(ROWS, COLUMNS)) + 0.5 * labels[:, None]
    frame = pl.DataFrame(numbers.round(6), schema=[f"x{i}" for i in range(COLUMNS)])
    site = pl.Series("site", rng.choice(["east", "north", "south", "west"], ROWS))
    return frame.with_columns(site, pl.Series("colour", np.array(CLASSES)[labels]))


def grow(frame: pl.DataFrame, path: Path, megabytes: float) -> int:
    """Write the rows over and over until the file has this size; how many rows that is."""
    header, lines = frame.write_csv().encode().split(b"\n", 1)
    times = round(megabytes * 1e6 / len(lines))
    with path.open("wb") as file:
        file.write(header + b"\n")
        for _ in range(times):
            file.write(lines)
    return times * len(frame)


class Run(NamedTuple):
    """What a run printed, seconds on the clock and of processors, megabytes at its peak."""

    printed: str
    seconds: float
    processors: float
    peak: float


def conftr(*arguments: str) -> Run:
    started, before = time.perf_counter(), busy()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True
    )
    seconds, peak = time.perf_counter() - started, int(done.stderr.split()[-1]) / 1e3
    return Run(done.stdout, seconds, busy() - before, peak)


def busy() -> float:
    """Seconds that processors spent on programs started from here and ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 1000.0
    with TemporaryDirectory() as folder:
        place, model = Path(folder), str(Path(folder) / "model")
        frame = rows()
        frame.write_csv(place / "train.csv")
        arguments = ["--target", "colour", "--out", model, "--json", *sys.argv[2:]]
        fitted = conftr("fit", str(place / "train.csv"), *arguments)
        print(json.loads(fitted.printed)["candidates"][0]["words"], flush=True)
        for size in (megabytes / 10, megabytes):
            count = grow(frame.drop("colour"), place / "new.csv", size)
            for kind in ("csv", "parquet") if size == megabytes else ("csv",):
                out = str(place / f"sets.{kind}")
                done = conftr("predict", model, str(place / "new.csv"), "--out", out, "--json")
                assert json.loads(done.printed)["rows"] == count
                print(
                    f"{size:,.0f} MB of CSV, {count:,} rows, to .{kind}: {done.seconds:.1f} s "
                    f"({done.processors:.1f} s of processors), {size / done.seconds:.0f} MB/s, "
                    f"{count / done.seconds:,.0f} rows/s, {count / done.processors:,.0f} rows for "
                    f"every second of a processor, peak memory {done.peak:,.0f} MB",
                    flush=True,
                )


if __name__ == "__main__":
    main()
