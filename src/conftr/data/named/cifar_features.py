"""CIFAR as frozen networks see it: features or logits of several views of every picture.

`examples/cifar/features.py` makes the files, from the pictures and from weights that are kept in
results/backbones. A training picture has its own view first, then views of it that are changed at
random; calibration and test pictures have one. Rows are those of the pictures' own dataset; members
of an ensemble have never seen the last of its training pictures, on which settings are chosen.
"""

import io
from functools import partial

import numpy as np

from conftr.data.dataset import Array, Dataset, Normalisation, indices, labels, whiten
from conftr.data.dataset_recipes import DatasetRecipe, Read
from conftr.data.files import File
from conftr.data.named import cifar10, cifar100

_TRAIN, _CALIBRATION, _TEST = 45_000, 5_000, 10_000
MEMBERS, HELD = 18, 5_000  # networks of the ensemble; training pictures that none of them has seen
_HEADER = 128  # bytes of a .npy file before its numbers
_CLASSES = {"cifar10": cifar10.CLASSES, "cifar100": cifar100.CLASSES}
_UNCHANGED = Normalisation(np.zeros(1, np.float32), np.ones(1, np.float32))


def _groups(pictures: str) -> dict[str, tuple[int, ...]]:
    if pictures == "cifar100":
        return cifar100.groups()
    named = {"vehicles": cifar10.VEHICLES, "animals": cifar10.ANIMALS, "cat": ["cat"]}
    return {group: indices(cifar10.CLASSES, names) for group, names in named.items()}


def _build(name: str, pictures: str, whitened: bool, held: int, read: Read) -> Dataset:
    train, rest, y = (_array(read(f"{part}.npy")) for part in ("train", "rest", "labels"))
    # Every example of a dataset has one shape: what has one view has it several times.
    rest = np.broadcast_to(rest[:, None], (len(rest), *train.shape[1:]))
    y = labels(y)
    return Dataset(
        name,
        train,
        y[:_TRAIN],
        rest[:_CALIBRATION],
        y[_TRAIN : _TRAIN + _CALIBRATION],
        rest[_CALIBRATION:],
        y[_TRAIN + _CALIBRATION :],
        classes=_CLASSES[pictures],
        groups=_groups(pictures),
        normalisation=whiten(train[:, 0].astype(np.float32)) if whitened else _UNCHANGED,
        held=held,
    )


def _array(contents: bytes) -> Array:
    array: Array = np.load(io.BytesIO(contents), allow_pickle=False)
    return array


def _recipe(
    name: str,
    pictures: str,
    *,
    views: int,
    width: int,
    held: int = 0,
    whitened: bool = False,
) -> DatasetRecipe:
    files = (
        File("train.npy", _HEADER + 2 * _TRAIN * views * width),
        File("rest.npy", _HEADER + 2 * (_CALIBRATION + _TEST) * width),
        File("labels.npy", _HEADER + _TRAIN + _CALIBRATION + _TEST),
    )
    return DatasetRecipe(
        name,
        partial(_build, name, pictures, whitened, held),
        files=files,
        folders=(name,),
        megabytes=round(sum(file.size for file in files) / 1e6),
        by_hand=f"`python examples/cifar/features.py {name}` makes them, with PyTorch, from "
        f"{pictures} and the weights in results/backbones.",
    )


CIFAR10_RESNET34 = _recipe("cifar10-resnet34", "cifar10", views=5, width=32)
CIFAR10_RESNET34_LONG = _recipe("cifar10-resnet34-long", "cifar10", views=5, width=32)
CIFAR10_MEMBERS = _recipe("cifar10-members", "cifar10", views=5, width=10 * MEMBERS, held=HELD)
CIFAR100_RESNET50 = _recipe("cifar100-resnet50", "cifar100", views=5, width=512, held=HELD)
CIFAR100_IMAGENET = _recipe("cifar100-imagenet", "cifar100", views=1, width=256, whitened=True)
RECIPES = (
    CIFAR10_RESNET34,
    CIFAR10_RESNET34_LONG,
    CIFAR10_MEMBERS,
    CIFAR100_RESNET50,
    CIFAR100_IMAGENET,
)
