"""Features of CIFAR as datasets: rows and views in their places, from files made up."""

import io

import numpy as np
import pytest

from conftr.data import DataError, load
from conftr.data.named import cifar_features
from conftr.data.named.cifar_features import CIFAR100_IMAGENET

VIEWS = {
    "cifar10-resnet34": 5,
    "cifar10-resnet34-long": 5,
    "cifar10-members": 5,
    "cifar100-resnet50": 5,
    "cifar100-imagenet": 1,
}
WITH_HELD = {"cifar10-members", "cifar100-resnet50"}  # whose networks have not seen 5,000 images


def file_of(array):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


@pytest.mark.parametrize("recipe", cifar_features.RECIPES)
def test_files_have_the_sizes_that_are_asked_for(recipe):
    train, rest, labels = recipe.files
    rows, views = 45_000, VIEWS[recipe.name]
    width = (rest.size - 128) // 2 // 15_000
    assert train.size == 128 + rows * views * width * 2
    assert labels.size == len(file_of(np.zeros(rows + 15_000, np.uint8)))
    assert rest.size == len(file_of(np.zeros((15_000, width), np.float16)))


@pytest.mark.parametrize("recipe", cifar_features.RECIPES)
def test_rows_and_views_are_in_their_places(recipe):
    rows = np.arange(60_000, dtype=np.float32) / 64
    train = np.stack([rows[:45_000], -rows[:45_000]], 1)[..., None].astype(np.float16)
    rest = rows[45_000:, None].astype(np.float16)
    labels = (np.arange(60_000) % 10).astype(np.uint8)
    files = dict(zip(("train.npy", "rest.npy", "labels.npy"), (train, rest, labels), strict=True))
    dataset = recipe.build(lambda name: file_of(files[name]))
    assert dataset.x_train.shape == (45_000, 2, 1)
    assert dataset.x_cal.shape == (5_000, 2, 1)
    np.testing.assert_array_equal(dataset.x_test[:, 0], rest[5_000:])
    np.testing.assert_array_equal(dataset.x_test[:, 1], rest[5_000:])
    np.testing.assert_array_equal(dataset.y_cal, labels[45_000:50_000])
    assert dataset.held == (5_000 if recipe.name in WITH_HELD else 0)
    seen = dataset.normalisation(dataset.x_train[:, 0])
    if recipe is CIFAR100_IMAGENET:
        assert abs(seen.mean()) < 1e-3
    else:
        np.testing.assert_array_equal(seen, dataset.x_train[:, 0])


def test_where_there_are_none_the_error_says_what_makes_them(tmp_path):
    with pytest.raises(DataError, match=r"python examples/cifar/features.py cifar10-resnet34"):
        load("cifar10-resnet34", data_dir=tmp_path)
