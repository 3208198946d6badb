"""The real files, where they are on this machine: contents, counts, splits."""

import numpy as np
import pytest

from conftr import data
from conftr.data.dataset import permutation
from conftr.data.dataset_recipes import locate
from conftr.data.named import RECIPES, winequality

KNOWN = {recipe.name: recipe for recipe in RECIPES}


@pytest.fixture(scope="module")
def load(real_folder):
    """Each dataset is read once; the real cache is not looked at, only folders."""
    loaded = {}

    def load(name):
        if locate(KNOWN[name], real_folder) is None:
            pytest.skip(f"the real files of {name} are not on this machine")
        if name not in loaded:
            loaded[name] = data.load(name, data_dir=real_folder, download=False)
        return loaded[name]

    return load


def sizes(dataset):
    return tuple(len(y) for y in (dataset.y_train, dataset.y_cal, dataset.y_test))


@pytest.mark.parametrize(
    ("name", "expected", "shape"),
    [
        ("mnist", (55_000, 5_000, 10_000), (28, 28, 1)),
        ("fashion-mnist", (55_000, 5_000, 10_000), (28, 28, 1)),
        ("emnist", (98_800, 5_200, 18_800), (28, 28, 1)),
        ("emnist-test", (46_990, 2_473, 8_942), (28, 28, 1)),
        ("winequality", (3_500, 500, 898), (11,)),
        ("german-credit", (700, 100, 200), (24,)),
        ("camelyon", (270, 100, 30), (31,)),
        ("cifar10", (45_000, 5_000, 10_000), (32, 32, 3)),
        ("cifar100", (45_000, 5_000, 10_000), (32, 32, 3)),
    ],
)
def test_sizes_shapes_and_types(load, name, expected, shape):
    dataset = load(name)
    assert sizes(dataset) == expected
    assert dataset.x_train.shape[1:] == shape
    assert dataset.x_train.dtype == (np.uint8 if len(shape) == 3 else np.float32)
    assert dataset.y_train.dtype == np.int32
    assert set(np.unique(dataset.y_train)) == set(range(len(dataset.classes)))


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "cifar10", "emnist-test"])
def test_calibration_has_the_classes_of_training(load, name):
    dataset = load(name)
    k = len(dataset.classes)
    train = np.bincount(dataset.y_train, minlength=k) / len(dataset.y_train)
    cal = np.bincount(dataset.y_cal, minlength=k) / len(dataset.y_cal)
    noise = np.sqrt(train / len(dataset.y_cal))
    assert (abs(cal - train) < 4.5 * noise).all()


def test_mnist_balance(load):
    dataset = load("mnist")
    whole = np.bincount(dataset.y_train) + np.bincount(dataset.y_cal)
    assert whole.tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(dataset.y_test)[2] == 1032


def test_fashion_mnist_balance(load):
    dataset = load("fashion-mnist")
    assert (np.bincount(dataset.y_train) + np.bincount(dataset.y_cal)).tolist() == [6000] * 10


def test_emnist_letters_are_upright(load):
    # An upright I is a vertical stroke: its ink varies across columns, not across rows.
    dataset = load("emnist-test")
    stroke = dataset.x_train[dataset.y_train == dataset.classes.index("l"), :, :, 0].mean(axis=0)
    assert stroke.sum(axis=0).std() > 1.5 * stroke.sum(axis=1).std()


def test_wines(load):
    dataset = load("winequality")
    labels = np.concatenate([dataset.y_train, dataset.y_cal, dataset.y_test])
    assert np.bincount(labels).tolist() == [1640, 3258]


def test_no_row_of_the_wine_file_is_in_two_parts(load, real_folder):
    # The file repeats some wines, so rows are followed by their place in it.
    dataset = load("winequality")
    place = locate(KNOWN["winequality"], real_folder)
    raw = winequality.wines((place.folder / "winequality-white.csv").read_bytes())
    order = permutation(4898)
    assert len(set(order.tolist())) == 4898
    for part, where in (("train", order[:3500]), ("cal", order[3500:4000]), ("test", order[4000:])):
        np.testing.assert_array_equal(getattr(dataset, f"x_{part}"), raw.x[where])
        np.testing.assert_array_equal(getattr(dataset, f"y_{part}"), raw.y[where])


def test_credit(load):
    dataset = load("german-credit")
    labels = np.concatenate([dataset.y_train, dataset.y_cal, dataset.y_test])
    assert np.bincount(labels).tolist() == [700, 300]


def test_slides(load):
    dataset = load("camelyon")
    assert np.bincount(dataset.y_train).tolist() == [160, 110]
    assert (np.bincount(dataset.y_cal) + np.bincount(dataset.y_test)).tolist() == [80, 50]


@pytest.mark.parametrize("name", ["winequality", "german-credit", "camelyon", "cifar10"])
def test_whitening_comes_from_training_examples(load, name):
    dataset = load(name)
    axes = tuple(range(dataset.x_train.ndim - 1))
    mean = dataset.x_train.mean(axis=axes, dtype=np.float64)
    np.testing.assert_allclose(dataset.normalisation.shift, mean, rtol=1e-5, atol=1e-6)
    everything = np.concatenate([dataset.x_train, dataset.x_cal, dataset.x_test])
    assert not np.allclose(everything.mean(axis=axes, dtype=np.float64), mean, rtol=1e-5)


@pytest.mark.parametrize("name", ["digits", "winequality", "camelyon", "german-credit"])
def test_loading_twice_gives_the_same(load, real_folder, name):
    first, second = load(name), data.load(name, data_dir=real_folder, download=False)
    for field in ("x_train", "y_train", "x_cal", "y_cal", "x_test", "y_test"):
        np.testing.assert_array_equal(getattr(first, field), getattr(second, field))
