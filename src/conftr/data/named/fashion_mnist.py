"""Fashion-MNIST: 28 x 28 grey images of clothes; 55,000/5,000/10,000.

`fashion-mnist-long-tail` trains on fewer images of every further class, a hundredth of the first of
the last; calibration and test images are those of `fashion-mnist`, as many of each class.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from conftr.data.dataset import Dataset, centre, indices, split
from conftr.data.dataset_recipes import DatasetRecipe, Read
from conftr.data.downloads import web
from conftr.data.files import File
from conftr.data.formats import idx_examples
from conftr.data.packages import debian
from conftr.data.sources import picking

_TRAIN_IMAGES = File("train-images-idx3-ubyte", 47_040_016, "md5:f4a8712d7a061bf5bd6d2ca38dc4d50a")
_TRAIN_LABELS = File("train-labels-idx1-ubyte", 60_008, "md5:9018921c3c673c538a1fc5bad174d6f9")
_TEST_IMAGES = File("t10k-images-idx3-ubyte", 7_840_016, "md5:8181f5470baa50b63fa0f6fddb340f0a")
_TEST_LABELS = File("t10k-labels-idx1-ubyte", 10_008, "md5:15d484375f8d13e6eb1aabb0c3f46965")
FILES = (_TRAIN_IMAGES, _TRAIN_LABELS, _TEST_IMAGES, _TEST_LABELS)

HOST = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
_PACKAGE = "dataset-fashion-mnist"
_INSTALLED = "usr/share/datasets/fashion-mnist"
_CALIBRATION = 5_000
TAIL = 100
_CLASSES = (
    "t-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)


def build(read: Read) -> Dataset:
    """The ten kinds of clothes; calibration is cut off the shuffled training images."""
    train = idx_examples(read(_TRAIN_IMAGES.name), read(_TRAIN_LABELS.name))
    train, cal = split(train, len(train.y) - _CALIBRATION, _CALIBRATION)
    return Dataset(
        "fashion-mnist",
        *train,
        *cal,
        *idx_examples(read(_TEST_IMAGES.name), read(_TEST_LABELS.name)),
        classes=_CLASSES,
        groups={"shirt": indices(_CLASSES, ["shirt"])},
        normalisation=centre(255),
    )


def build_long_tail(read: Read) -> Dataset:
    """The same with n TAIL^(-k / 9) training images of class k, n those of the rarest."""
    whole = build(read)
    counts = np.bincount(whole.y_train)
    kept = counts.min() * TAIL ** (-np.arange(len(counts)) / (len(counts) - 1))
    rows = [
        np.flatnonzero(whole.y_train == k)[: max(1, round(n))] for k, n in enumerate(kept.tolist())
    ]
    chosen = np.sort(np.concatenate(rows))
    return replace(
        whole,
        name="fashion-mnist-long-tail",
        x_train=whole.x_train[chosen],
        y_train=whole.y_train[chosen],
    )


FASHION_MNIST = DatasetRecipe(
    "fashion-mnist",
    build,
    files=FILES,
    folders=("fashion-mnist", "FashionMNIST/raw"),
    system=(Path("/") / _INSTALLED,),
    sources=(
        web({file.name: f"{HOST}{file.name}.gz" for file in FILES}),
        debian(
            _PACKAGE,
            picking({f"./{_INSTALLED}/{file.name}.gz": f"{file.name}.gz" for file in FILES}),
        ),
    ),
    megabytes=30.9,
    by_hand=f"on Debian and its kin, run `apt-get install {_PACKAGE}`; it is found by itself.",
)
FASHION_MNIST_LONG_TAIL = replace(
    FASHION_MNIST, name="fashion-mnist-long-tail", build=build_long_tail
)
