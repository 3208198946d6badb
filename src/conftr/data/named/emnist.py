"""EMNIST: 28 x 28 grey images of the 52 upper- and lower-case letters of the byClass split.

`emnist` is the paper's subset, 98,800/5,200/18,800. `emnist-test` takes the letters of the
byClass test files alone, in the same proportions, 46,990/2,473/8,942.
"""

from string import ascii_lowercase, ascii_uppercase

import numpy as np

from conftr.data.dataset import Dataset, Examples, centre, split
from conftr.data.dataset_recipes import DatasetRecipe, Read
from conftr.data.downloads import web_archive
from conftr.data.files import File
from conftr.data.formats import idx_examples
from conftr.data.sources import Source, picking

_TRAIN_IMAGES = File("emnist-byclass-train-images-idx3-ubyte", 16 + 697_932 * 784)
_TRAIN_LABELS = File("emnist-byclass-train-labels-idx1-ubyte", 8 + 697_932)
_TEST_IMAGES = File("emnist-byclass-test-images-idx3-ubyte", 16 + 116_323 * 784)
_TEST_LABELS = File("emnist-byclass-test-labels-idx1-ubyte", 8 + 116_323)
_TEST_FILES = (_TEST_IMAGES, _TEST_LABELS)
FILES = (_TRAIN_IMAGES, _TRAIN_LABELS, *_TEST_FILES)

_ARCHIVE = "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip"
_ARCHIVE_CHECKSUM = "md5:58c8d27c78d21e728a6bc7b3cc06412e"
_ARCHIVE_MEGABYTES = 562
_FOLDERS = ("emnist", "EMNIST/raw")

_FIRST_LETTER = 10
SIZES = (98_800, 5_200, 18_800)
_TEST_SIZES = (46_990, 2_473, 8_942)


def build(read: Read) -> Dataset:
    """The paper's subset of letters; calibration is cut off the shuffled training letters."""
    n_train, n_cal, n_test = SIZES
    train, cal = split(
        letters(idx_examples(read(_TRAIN_IMAGES.name), read(_TRAIN_LABELS.name))), n_train, n_cal
    )
    (test,) = split(letters(idx_examples(read(_TEST_IMAGES.name), read(_TEST_LABELS.name))), n_test)
    return _dataset("emnist", train, cal, test)


def build_test(read: Read) -> Dataset:
    """All letters of the byClass test files, shuffled and cut."""
    examples = letters(idx_examples(read(_TEST_IMAGES.name), read(_TEST_LABELS.name)))
    return _dataset("emnist-test", *split(examples, *_TEST_SIZES))


def letters(examples: Examples) -> Examples:
    """The letters among digits and letters, upright: the files hold every image transposed."""
    rows = examples.y >= _FIRST_LETTER
    upright = np.ascontiguousarray(examples.x[rows].swapaxes(1, 2))
    return Examples(upright, examples.y[rows] - _FIRST_LETTER)


def _dataset(name: str, train: Examples, cal: Examples, test: Examples) -> Dataset:
    return Dataset(
        name,
        *train,
        *cal,
        *test,
        classes=tuple(ascii_uppercase + ascii_lowercase),
        groups={"upper": tuple(range(26)), "lower": tuple(range(26, 52))},
        normalisation=centre(255),
    )


def _archive(files: tuple[File, ...]) -> Source:
    members = {f"gzip/{file.name}.gz": f"{file.name}.gz" for file in files}
    return web_archive(_ARCHIVE, _ARCHIVE_CHECKSUM, picking(members))


EMNIST = DatasetRecipe(
    "emnist",
    build,
    files=FILES,
    folders=_FOLDERS,
    sources=(_archive(FILES),),
    megabytes=_ARCHIVE_MEGABYTES,
)
EMNIST_TEST = DatasetRecipe(
    "emnist-test",
    build_test,
    files=_TEST_FILES,
    folders=_FOLDERS,
    sources=(_archive(_TEST_FILES),),
    megabytes=_ARCHIVE_MEGABYTES,
)
