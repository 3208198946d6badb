"""Digits: 1,797 grey images of 8 x 8 pixels that ship with scikit-learn; 1,197/300/300."""

import numpy as np

from conftr.data.dataset import Dataset, Examples, centre, labels, split
from conftr.data.dataset_recipes import DatasetRecipe, Read
from conftr.data.errors import need

_SIZES = (1197, 300, 300)
_BRIGHTEST = 16


def build(_: Read) -> Dataset:
    """The ten digits, shuffled and cut."""
    datasets = need("sklearn.datasets", package="scikit-learn", purpose="The dataset 'digits'")
    digits = datasets.load_digits()
    images = digits.images.astype(np.uint8)[..., None]
    train, cal, test = split(Examples(images, labels(digits.target)), *_SIZES)
    return Dataset(
        "digits",
        *train,
        *cal,
        *test,
        classes=tuple("0123456789"),
        groups={"even": (0, 2, 4, 6, 8), "odd": (1, 3, 5, 7, 9), "2": (2,)},
        normalisation=centre(_BRIGHTEST),
    )


DIGITS = DatasetRecipe("digits", build, ships_with="scikit-learn")
