"""Camelyon: 31 features of tumour heat maps of lymph-node slides, normal or tumour; 270/100/30.

As in the paper, the challenge's training slides train and its test slides are divided between
calibration and test: 100 calibrate and the 30 that are left test. (The paper's table has 280
training and 117 test slides; this one, made by the code its features are based on, 270 and 130.)
"""

import csv
import io

import numpy as np

from conftr.data.dataset import Dataset, Examples, labels, split, whiten
from conftr.data.dataset_recipes import DatasetRecipe, Read
from conftr.data.downloads import web
from conftr.data.files import File

_TRAIN = File(
    "heatmap_features_train_all.csv",
    40_983,
    "sha256:05d2a5c0e5e4f376c09aa797c01d45c0f6c11e0f160b8b275bfccfe2b6d9d933",
)
_TEST = File(
    "heatmap_features_test.csv",
    19_539,
    "sha256:d58353c2b442084af72d234bfc8fcefa068ee3d6cb78be17c80971ef927562a0",
)
_TRUTH = File(
    "GT.csv",
    3_676,
    "sha256:cd83dc7803863e26390c1d0b3b7a093bc57adf18285975c1f54378ee7550f009",
)
HOST = (
    "https://raw.githubusercontent.com/arjunvekariyagithub/camelyon16-grand-challenge/"
    "fb453f91e792dc58f759e840d101e284377581ee/camelyon16/postprocess/"
)
_SIZES = (100, 30)


def build(read: Read) -> Dataset:
    """Training slides train; the shuffled test slides calibrate and test."""
    train = training_slides(read(_TRAIN.name))
    cal, test = split(challenge_slides(read(_TEST.name), read(_TRUTH.name)), *_SIZES)
    return Dataset(
        "camelyon",
        *train,
        *cal,
        *test,
        classes=("normal", "tumor"),
        groups={},
        normalisation=whiten(train.x),
    )


def training_slides(contents: bytes) -> Examples:
    """Features and, in the last column, the label."""
    table = _table(contents)
    return Examples(table[:, :-1], labels(table[:, -1]))


def challenge_slides(contents: bytes, truth: bytes) -> Examples:
    """Features, and the label from the second column of the truth, which has the same order."""
    rows = csv.reader(io.StringIO(truth.decode()))
    return Examples(_table(contents), labels([row[1] == "Tumor" for row in rows]))


def _table(contents: bytes) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.loadtxt(io.BytesIO(contents), delimiter=",", skiprows=1, dtype=np.float32)


CAMELYON = DatasetRecipe(
    "camelyon",
    build,
    files=(_TRAIN, _TEST, _TRUTH),
    folders=("camelyon",),
    sources=(
        web(
            {
                _TRAIN.name: f"{HOST}features/{_TRAIN.name}",
                _TEST.name: f"{HOST}features/{_TEST.name}",
                _TRUTH.name: f"{HOST}{_TRUTH.name}",
            }
        ),
    ),
    megabytes=0.1,
)
