"""5,000 CIFAR-10 pictures as PNG files: what `conftr fit` makes of them, beside two simpler ways.

python benchmarks/pictures.py [--seed 0] [--pictures 5000] [--only logistic]
python benchmarks/pictures.py --memory [--members logistic] [--files 10000 100000] [--side 16]

The second shows the most memory that reading, `conftr fit` and `conftr predict` take, by number of
files: the peak of all that is resident in a process of its own (VmHWM of Linux), mapped files and
libraries included, with one thread for products of matrices. Where files are so many that the
frozen network would take hours, `--stand-in` runs it once and makes up the other features: what is
kept, read and learned from has the same size. With `--one-model` the model of the fewest files
predicts for all: other models may hear other members.

Pictures are the first of CIFAR-10's training part, a folder for each class. One division for all:
a fifth of the pictures tests, the rest is learned from and calibrated on as `conftr fit` does it.

default    what `conftr fit photos/` does: members on ImageNet features, networks of ours, a head
logistic   scikit-learn's logistic regression on the same features (whitened, C = 0.01), fitted once
           on all training pictures, one threshold
convnet    our ConvNet alone (`--members convnet`)

Time is that of the processor, one core, with reading the files and encoding them where that is
done. Every result is kept as it is made, in results/pictures; what is there is not done again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import conftr
from conftr import data
from conftr.classifier.division import divide, order, seed_of
from conftr.classifier.estimator import ConformalClassifier
from conftr.classifier.testing import evidence_of
from conftr.data.user_files import Roles, read
from conftr.features.frozen_pictures import frozen_pictures
from conftr.jobs.fitting import FitTask, divided

ALPHAS = (0.1, 0.05)
RESULTS = Path("results/pictures")


def write_pictures(folder: Path, count: int) -> None:
    """The first pictures of CIFAR-10's training part, as files."""
    cifar = data.load("cifar10")
    for i in range(count):
        place = folder / cifar.classes[int(cifar.y_train[i])]
        place.mkdir(exist_ok=True)
        Image.fromarray(np.asarray(cifar.x_train[i])).save(place / f"{i:05}.png")


def sizes(sets: Any, y: Any) -> dict[str, float]:
    """What sets are worth."""
    return {
        "size": float(conftr.inefficiency(sets)),
        "coverage": float(conftr.coverage(sets, y)),
    }


def stacked(members: str, seed: int) -> Callable[..., dict[str, Any]]:
    """A classifier of ours, at all alphas."""

    def measure(given: Any, parts: Any) -> dict[str, Any]:
        rest, test = given.take(parts.rest), given.take(parts.test)
        clf = ConformalClassifier(members=members, random_state=seed).fit(rest.X, rest.y)
        shown = evidence_of(clf, test.X, test.y)
        (kept, *_), y = shown.candidates, shown.labels
        by_name: dict[str, Any] = {
            str(alpha): sizes(shown.sets_at(kept.standing, alpha), y) for alpha in ALPHAS
        }
        accuracy = float((kept.probabilities.argmax(1) == y).mean())
        return by_name | {"accuracy": accuracy, "chosen": clf.candidates_[0].words, "why": clf.why_}

    return measure


def logistic(seed: int) -> Callable[..., dict[str, Any]]:
    """Logistic regression on frozen features, and one threshold."""

    def measure(given: Any, parts: Any) -> dict[str, Any]:
        features = np.asarray(frozen_pictures(given.X.shape[1:]).encode(given.X), np.float64)
        rest, test = parts.rest, parts.test
        labels = np.unique(given.y[rest], return_inverse=True)[1]
        n = divide(labels, parts.drawn, alpha=0.1, seed=seed_of(seed), validation=0)
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=300))
        model.fit(features[rest[n.train]], given.y[rest[n.train]])
        classes = list(model.classes_)
        held = conftr.thr(model.predict_log_proba(features[rest[n.calibration]]))
        tested = conftr.thr(model.predict_log_proba(features[test]))
        places = {name: i for i, name in enumerate(classes)}
        y = np.array([places[name] for name in given.y])
        by_name: dict[str, Any] = {}
        for alpha in ALPHAS:
            tau = conftr.calibrate(held, y[rest[n.calibration]], alpha)
            by_name[str(alpha)] = sizes(conftr.predict_set(tested, tau), y[test])
        return by_name | {"accuracy": float((tested.argmax(1) == y[test]).mean())}

    return measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("default", "logistic", "convnet"))
    parser.add_argument("--pictures", type=int, default=5000)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--members", default="logistic", help="of the fit whose memory is shown")
    parser.add_argument("--files", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--side", type=int, default=16, help="pixels of those files")
    parser.add_argument("--stand-in", action="store_true", help="for the frozen network")
    parser.add_argument("--one-model", action="store_true", help="fitted on the fewest files")
    options = parser.parse_args()
    if options.memory:
        before = _STAND_IN if options.stand_in else ""
        memory(options.members, sorted(options.files), options.side, before, options.one_model)
        return
    RESULTS.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_pictures(folder, options.pictures)
        seed = options.seed
        ways = {
            "logistic": logistic(seed),
            "default": stacked("auto", seed),
            "convnet": stacked("convnet", seed),
        }
        for name in [options.only] if options.only else ways:
            path = RESULTS / f"cifar10-{options.pictures}-{name}-seed{seed}.json"
            if not path.exists():
                run(path, folder, ways[name], seed)
    show(options.pictures)


def run(path: Path, folder: Path, measure: Callable[..., Any], seed: int) -> None:
    """Read the files, divide them, measure, keep."""
    begun = time.process_time()
    given = read(folder, Roles())
    parts = divided(order(given.X, seed_of(seed)), FitTask(ConformalClassifier(random_state=seed)))
    result = measure(given, parts) | {"processor_seconds": time.process_time() - begun}
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(path, json.dumps(result), flush=True)


def memory(
    members: str, counts: Sequence[int], side: int, before: str = "", one_model: bool = False
) -> None:
    """The most memory of processes that read, fit and predict, by number of files.

    Args:
        members: As in `conftr fit`.
        counts: Numbers of files.
        side: Pixels of theirs.
        before: Python that every process runs first.
        one_model: Whether the first model predicts for all, and no other is fitted.
    """
    steps = {"read to fit": _READ, "fit": _FIT, "predict": _PREDICT}
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for count in counts:
            photos = folder / str(count)
            model = folder / f"{counts[0] if one_model else count}-model"
            write_noise(photos, count, side)
            for what, code in steps.items():
                if what != "predict" and model.exists():
                    continue
                shown = in_process(before + code, photos, model, members, folder / "sets.csv")
                print(f"{count:,} files of {side} x {side}, {what}: {shown}", flush=True)


def in_process(code: str, *arguments: object) -> str:
    """What a piece of Python prints in a process of its own, and the most memory of that."""
    command = [sys.executable, "-c", code + _PEAK, *map(str, arguments)]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | threads
    )
    return done.stdout.strip().splitlines()[-1]


def write_noise(folder: Path, count: int, side: int = 16) -> None:
    """So many square pictures in two classes, of which one is a little brighter."""
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
    for i in range(count):
        pixels = rng.integers(0, 245, (side, side, 3), np.uint8) + np.uint8(10 * (i % 2))
        Image.fromarray(pixels).save(folder / "ab"[i % 2] / f"{i:06}.png", compress_level=1)


_READ = """
import sys
from conftr.data.user_files import Roles, read
given = read(sys.argv[1], Roles())
"""
_FIT = """
import sys
from conftr.cli import app
arguments = ["fit", sys.argv[1], "--out", sys.argv[2], "--members", sys.argv[3], "--quiet"]
app(arguments, standalone_mode=False)
"""
_PREDICT = """
import sys
from conftr.cli import app
app(["predict", sys.argv[2], sys.argv[1], "--out", sys.argv[4], "--quiet"], standalone_mode=False)
"""
_STAND_IN = """
import numpy as np
from conftr.features import frozen_pictures
through, is_loaded = frozen_pictures._through, []
def stand_in(block, side):
    is_loaded or is_loaded.append(through(block, side))
    noise = np.random.default_rng(int(block.sum())).normal(size=(len(block), 1280))
    return (noise + block.mean(axis=(1, 2, 3))[:, None] / 10).astype(np.float32)
frozen_pictures._through = stand_in
"""
_PEAK = """
import time
from pathlib import Path
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
peak = int(status["VmHWM"].split()[0]) * 1024 / 1e6
print(f"{peak:.0f} MB at most, {time.process_time():.0f} s of a processor")
"""


def show(count: int) -> None:
    """The mean over seeds, as a table."""
    print("| | size, alpha .1 | size, alpha .05 | coverage | accuracy | processor, s | seeds |")
    print("|---|---|---|---|---|---|---|")
    for name in ("default", "logistic", "convnet"):
        files = sorted(RESULTS.glob(f"cifar10-{count}-{name}-seed*.json"))
        records = [json.loads(file.read_text()) for file in files]
        if not records:
            continue

        def mean(get: Callable[[Any], float], records: list[Any] = records) -> float:
            return float(np.mean([get(record) for record in records]))

        sizes = [mean(lambda record, a=a: record[str(a)]["size"]) for a in ALPHAS]
        coverage = [mean(lambda record, a=a: record[str(a)]["coverage"]) for a in ALPHAS]
        print(
            f"| {name} | {sizes[0]:.3f} | {sizes[1]:.3f} | {coverage[0]:.3f}, {coverage[1]:.3f} | "
            f"{mean(lambda record: record['accuracy']):.3f} | "
            f"{mean(lambda record: record['processor_seconds']):.0f} | {len(records)} |"
        )


if __name__ == "__main__":
    main()
