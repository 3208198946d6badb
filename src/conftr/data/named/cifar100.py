"""CIFAR-100: 32 x 32 colour images of 100 classes in 20 coarse ones; 45,000/5,000/10,000."""

import numpy as np

from conftr.data.dataset import Dataset, Examples, indices, labels, split, whiten
from conftr.data.dataset_recipes import DatasetRecipe, Read
from conftr.data.downloads import web_archive
from conftr.data.errors import DataError
from conftr.data.files import File
from conftr.data.formats import Bytes, cifar_records
from conftr.data.sources import picking

_TRAIN = File("train.bin", 50_000 * 3_074)
_TEST = File("test.bin", 10_000 * 3_074)

_ARCHIVE = "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"
_ARCHIVE_CHECKSUM = "md5:03b5dce01913d631647c71ecec9e9cb8"
_ARCHIVE_FOLDER = "cifar-100-binary"

_CALIBRATION = 5_000
COARSE = {
    "aquatic mammals": ("beaver", "dolphin", "otter", "seal", "whale"),
    "fish": ("aquarium_fish", "flatfish", "ray", "shark", "trout"),
    "flowers": ("orchid", "poppy", "rose", "sunflower", "tulip"),
    "food containers": ("bottle", "bowl", "can", "cup", "plate"),
    "fruit and vegetables": ("apple", "mushroom", "orange", "pear", "sweet_pepper"),
    "household electrical devices": ("clock", "keyboard", "lamp", "telephone", "television"),
    "household furniture": ("bed", "chair", "couch", "table", "wardrobe"),
    "insects": ("bee", "beetle", "butterfly", "caterpillar", "cockroach"),
    "large carnivores": ("bear", "leopard", "lion", "tiger", "wolf"),
    "large man-made outdoor things": ("bridge", "castle", "house", "road", "skyscraper"),
    "large natural outdoor scenes": ("cloud", "forest", "mountain", "plain", "sea"),
    "large omnivores and herbivores": ("camel", "cattle", "chimpanzee", "elephant", "kangaroo"),
    "medium mammals": ("fox", "porcupine", "possum", "raccoon", "skunk"),
    "non-insect invertebrates": ("crab", "lobster", "snail", "spider", "worm"),
    "people": ("baby", "boy", "girl", "man", "woman"),
    "reptiles": ("crocodile", "dinosaur", "lizard", "snake", "turtle"),
    "small mammals": ("hamster", "mouse", "rabbit", "shrew", "squirrel"),
    "trees": ("maple_tree", "oak_tree", "palm_tree", "pine_tree", "willow_tree"),
    "vehicles 1": ("bicycle", "bus", "motorcycle", "pickup_truck", "train"),
    "vehicles 2": ("lawn_mower", "rocket", "streetcar", "tank", "tractor"),
}
_HUMAN_MADE = (
    "food containers",
    "household electrical devices",
    "household furniture",
    "large man-made outdoor things",
    "people",
    "vehicles 1",
    "vehicles 2",
)
CLASSES = tuple(sorted(name for members in COARSE.values() for name in members))


def build(read: Read) -> Dataset:
    """The hundred classes; calibration is cut off the shuffled training images."""
    pool = examples(read(_TRAIN.name))
    train, cal = split(pool, len(pool.y) - _CALIBRATION, _CALIBRATION)
    return Dataset(
        "cifar100",
        *train,
        *cal,
        *examples(read(_TEST.name)),
        classes=CLASSES,
        groups=groups(),
        normalisation=whiten(train.x),
    )


def groups() -> dict[str, tuple[int, ...]]:
    """Human-made and natural things, as the paper divides them, and the 20 coarse classes."""
    coarse = {name: indices(CLASSES, members) for name, members in COARSE.items()}
    made = sorted(k for name in _HUMAN_MADE for k in coarse[name])
    natural = sorted(set(range(len(CLASSES))) - set(made))
    return {"human-made": tuple(made), "natural": tuple(natural), **coarse}


def examples(contents: bytes) -> Examples:
    """Images and fine labels; the coarse label beside each must be the one known for it."""
    classes, images = cifar_records(contents, label_bytes=2)
    _check_coarse(classes)
    return Examples(images, labels(classes[:, 1]))


def _check_coarse(classes: Bytes) -> None:
    known = {
        (coarse, CLASSES.index(name))
        for coarse, members in enumerate(COARSE.values())
        for name in members
    }
    strange = {(int(coarse), int(fine)) for coarse, fine in np.unique(classes, axis=0)} - known
    if strange:
        raise DataError(f"(coarse, fine) labels must be CIFAR-100's pairs, got {sorted(strange)}.")


CIFAR100 = DatasetRecipe(
    "cifar100",
    build,
    files=(_TRAIN, _TEST),
    folders=("cifar100", _ARCHIVE_FOLDER),
    sources=(
        web_archive(
            _ARCHIVE,
            _ARCHIVE_CHECKSUM,
            picking({f"{_ARCHIVE_FOLDER}/{file.name}": file.name for file in (_TRAIN, _TEST)}),
        ),
    ),
    megabytes=169,
)
