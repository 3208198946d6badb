"""BANKING77: sets of intents for customers' messages, on the dataset's own test split.

    python benchmarks/texts.py FOLDER 0 1 2     the folder of train.csv and test.csv, and seeds
    python benchmarks/texts.py --summary        only what is stored

Of the 10,003 messages of train.csv some calibrate, as `conftr fit` draws them; settings were chosen
on out-of-fold rows of the others. The 3,080 messages of test.csv, 40 of each of 77 intents, are
looked at here alone. Beside conftr stands what is quickly written: logistic regression on the mean
of a message's word vectors, whitened, with the same training and calibration messages and one
threshold on probabilities. A wish keeps a lost or stolen card, or one that somebody else uses,
apart from ordinary questions of cards; its dial is told at alpha .05. Seconds are those of the
processor, of fitting alone. Records are kept in results/texts.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import betabinom
from sklearn.linear_model import LogisticRegression

import conftr
from conftr.classifier.division import divide, order
from conftr.features.texts import clean
from conftr.features.word_vectors import WordVectors

ALPHAS = (0.05, 0.01)
URGENT = ["lost_or_stolen_card", "compromised_card", "card_payment_not_recognised"]
HARMLESS = [
    "activate_my_card",
    "card_about_to_expire",
    "card_arrival",
    "card_delivery_estimate",
    "card_linking",
    "card_not_working",
    "getting_spare_card",
    "order_physical_card",
]
RESULTS = Path(__file__).parents[1] / "results" / "texts"


def band(n: int, m: int, alpha: float) -> list[float]:
    """Where coverage on m new rows lies in 99 of 100 cases, after calibrating on n."""
    r = int(np.floor(alpha * (n + 1) + 1e-9))
    covered = betabinom(m, n + 1 - r, r)
    return [float(covered.ppf(q)) / m for q in (0.005, 0.995)]


def ours(train: pl.DataFrame, test: pl.DataFrame, seed: int) -> dict:
    """What `conftr fit` gives at the first alpha, served at both."""
    begun = time.process_time()
    clf = conftr.ConformalClassifier(alpha=ALPHAS[0], random_state=seed)
    clf.fit(train.select("text"), train["category"].to_numpy())
    seconds = time.process_time() - begun
    sets = {alpha: clf.predict_set(test.select("text"), alpha=alpha) for alpha in ALPHAS}
    truth = np.searchsorted(clf.classes_, test["category"].to_numpy())
    return {
        "seconds": seconds,
        "accuracy": clf.score(test.select("text"), test["category"].to_numpy()),
        "calibrated_on": clf.n_calibration_,
        "members": clf.candidates_[0].words,
        "sets": {str(alpha): _measured(of_alpha, truth) for alpha, of_alpha in sets.items()},
    }


def plain(train: pl.DataFrame, test: pl.DataFrame, seed: int) -> dict:
    """Logistic regression on mean vectors, on the same messages."""
    y = train["category"].to_numpy()
    names = np.unique(y)
    labels = np.searchsorted(names, y)
    drawn = order(train.select("text"), seed)
    parts = divide(labels, drawn, alpha=ALPHAS[0], seed=seed, calibration=None, validation=0)
    begun = time.process_time()
    vectors = WordVectors.learn([clean(text) for text in train["text"].to_list()])
    x, x_test = (
        vectors.encode([clean(text) for text in part["text"].to_list()])[:, :256]
        for part in (train, test)
    )
    shift, scale = x[parts.train].mean(axis=0), x[parts.train].std(axis=0)
    x, x_test = (x - shift) / scale, (x_test - shift) / scale
    model = LogisticRegression(C=0.1, max_iter=300).fit(x[parts.train], labels[parts.train])
    seconds = time.process_time() - begun
    scores, held = model.predict_log_proba(x[parts.calibration]), labels[parts.calibration]
    truth = np.searchsorted(names, test["category"].to_numpy())
    logits = model.predict_log_proba(x_test)
    sets = {a: conftr.predict_set(logits, conftr.calibrate(scores, held, a)) for a in ALPHAS}
    return {
        "seconds": seconds,
        "accuracy": float((logits.argmax(axis=1) == truth).mean()),
        "calibrated_on": len(held),
        "sets": {str(a): _measured(of_alpha, truth) for a, of_alpha in sets.items()},
    }


def wished(train: pl.DataFrame, test: pl.DataFrame, seed: int) -> dict:
    """The dial of the wish: mixed sets and size on test messages, for every weight."""
    shape = conftr.Shape(separate=[(URGENT, HARMLESS)])
    clf = conftr.ConformalClassifier(alpha=ALPHAS[0], shape=shape, random_state=seed)
    clf.fit(train.select("text"), train["category"].to_numpy())
    names, x = clf.classes_.tolist(), test.select("text")
    sides = [np.isin(names, side) for side in (URGENT, HARMLESS)]
    concerned = np.isin(test["category"].to_numpy(), [*URGENT, *HARMLESS])
    points = [(f"weight {turned.point.weight:g}", turned) for turned in clf.dial_]
    shown = {}
    for name, turned in [("chosen", clf.candidates_[0]), *points]:
        logits = turned.stack.logits(x)
        sets = turned.calibration.sets(clf.score_(logits), None, ALPHAS[0])
        mixed = sets[:, sides[0]].any(axis=1) & sets[:, sides[1]].any(axis=1)
        shown[name] = {
            "mixed": float(mixed[concerned].mean()),
            "size": float(sets.sum(axis=1).mean()),
            "coverage": float(sets[np.arange(len(x)), _places(names, test)].mean()),
        }
    return {"why": clf.why_, "concerned": int(concerned.sum()), "points": shown}


def _places(names: list[str], test: pl.DataFrame) -> np.ndarray:
    return np.searchsorted(names, test["category"].to_numpy())


def _measured(sets: np.ndarray, truth: np.ndarray) -> dict:
    return {
        "size": float(sets.sum(axis=1).mean()),
        "coverage": float(sets[np.arange(len(sets)), truth].mean()),
    }


RUNS = {"conftr": ours, "mean-vectors": plain, "wish": wished}


def line(path: Path) -> str:
    name, seed = path.stem.rsplit("-", 1)
    content = json.loads(path.read_text())
    if name == "wish":
        points = "; ".join(
            f"{where}: {100 * point['mixed']:.1f} % mixed, {point['size']:.3f}"
            for where, point in content["points"].items()
        )
        return f"wish, seed {seed}: {points}"
    cells = []
    for alpha, numbers in content["sets"].items():
        low, high = band(content["calibrated_on"], 3080, float(alpha))
        where = "in" if low <= numbers["coverage"] <= high else "outside"
        cells.append(
            f"alpha {alpha}: size {numbers['size']:.3f}, "
            f"coverage {100 * numbers['coverage']:.2f} % "
            f"({where} {100 * low:.2f} to {100 * high:.2f})"
        )
    return f"{name}, seed {seed}: {'; '.join(cells)}; {content['seconds']:.0f} s of a processor"


def main() -> None:
    folder, *seeds = sys.argv[1:]
    if folder != "--summary":
        train, test = (pl.read_csv(Path(folder, f"{name}.csv")) for name in ("train", "test"))
        RESULTS.mkdir(parents=True, exist_ok=True)
        for name, run in RUNS.items():
            for seed in seeds or ["0"]:
                path = RESULTS / f"{name}-{seed}.json"
                if not path.exists():
                    result = run(train, test, int(seed))
                    path.write_text(json.dumps(result, indent=1) + "\n")
                    print(line(path), flush=True)
    for path in sorted(RESULTS.glob("*.json")):
        print(line(path))


if __name__ == "__main__":
    main()
