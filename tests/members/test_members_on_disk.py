"""Members learn the same from pictures on disk as from pictures in memory."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

from conftr.classifier.cross_fitting import divide
from conftr.classifier.division import order
from conftr.machine import rows_on_disk
from conftr.machine.digests import of_arrays
from conftr.machine.rows_on_disk import RowsOnDisk
from conftr.members.forest import RANDOM, Forest
from conftr.members.logistic import Logistic
from conftr.members.member import MemberRows
from conftr.members.network import Network
from conftr.training import Crop
from conftr.training.models import ConvNet

CLASSES = 3


def pictures(n=240, side=16):
    rng = np.random.default_rng(0)
    labels = np.arange(n, dtype=np.int32) % CLASSES
    x = rng.integers(0, 150, (n, side, side, 3)) + 35 * labels[:, None, None, None]
    return x.astype(np.uint8), labels


@pytest.fixture
def pair(monkeypatch):
    """The same rows in memory and on disk."""
    x, labels = pictures()
    monkeypatch.setattr(rows_on_disk, "IN_MEMORY", 0)
    on_disk = rows_on_disk.collected([x], len(x), x.shape[1:], x.dtype)
    return MemberRows(x, labels, CLASSES), MemberRows(on_disk, labels, CLASSES)


def answers(member, rows):
    folds = divide(rows.labels, 3, 0)
    (fitted,) = member.fit(rows, folds, seed=0, progress=lambda *_: None)
    return fitted.out_of_fold(rows.inputs, folds)


def test_rows_on_disk_are_read_drawn_and_named_as_those_in_memory(pair):
    in_memory, on_disk = pair
    for part in ("places", "digests"):
        np.testing.assert_array_equal(*(getattr(order(rows.X, 7), part) for rows in pair))
    assert in_memory.reader.inputs == on_disk.reader.inputs
    for part in ("shift", "scale"):
        np.testing.assert_allclose(*(getattr(rows.reader, part) for rows in pair), rtol=1e-6)
    assert isinstance(on_disk.inputs, RowsOnDisk)
    assert of_arrays(in_memory.inputs) == of_arrays(on_disk.inputs)


def test_logistic_regression(pair):
    in_memory, on_disk = (np.exp(answers(Logistic(strength=100.0), rows)) for rows in pair)
    np.testing.assert_allclose(on_disk, in_memory, atol=0.02)  # both end where a step gains little


@pytest.mark.parametrize(
    "network",
    [
        Network(hidden=(8,), decays=(0.005,), steps=30),
        Network(
            decays=(0.005,),
            architecture=partial(ConvNet, channels=(4, 8)),
            augmentation=Crop(2),
            steps=20,
        ),
    ],
    ids=["mlp", "convolutions"],
)
def test_networks(pair, network):
    in_memory, on_disk = (answers(network, rows) for rows in pair)
    np.testing.assert_allclose(on_disk, in_memory, atol=1e-3)


class Features:
    """Reads pictures as a few numbers in single precision."""

    levels = {}  # noqa: RUF012

    def encode(self, x):
        few = np.asarray(x).reshape(len(x), -1)[:, ::40].astype(np.float32)
        return rows_on_disk.collected([few], len(few), few.shape[1:], few.dtype)


@pytest.mark.parametrize("bins", [False, True])
def test_features(pair, bins, monkeypatch):
    """Networks with bins look at all rows at once, and still take them."""
    reader, answered = Features(), []
    members = Logistic(strength=100.0), Network(hidden=(8,), decays=(0.005,), steps=30, bins=bins)
    for limit in (2**24, 0):
        monkeypatch.setattr(rows_on_disk, "IN_MEMORY", limit)
        rows = MemberRows(pair[0].X, pair[0].labels, CLASSES).read_by(reader)
        assert isinstance(rows.inputs, RowsOnDisk) == (limit == 0)
        answered.append([softmax(answers(member, rows), axis=1) for member in members])
    for in_memory, on_disk in zip(*answered, strict=True):
        np.testing.assert_allclose(on_disk, in_memory, atol=0.02)


def test_weighted_rows(pair):
    heavy = 1.0 + 9.0 * (pair[0].labels == 1)
    for member in (Logistic(strength=100.0), Forest(trees=5, min_leaf=20)):
        plain, weighted = (
            answers(member, MemberRows(pair[1].X, pair[1].labels, CLASSES, weights=weights))
            for weights in (None, heavy)
        )
        assert np.exp(weighted[:, 1]).mean() > np.exp(plain[:, 1]).mean()


@pytest.mark.parametrize("forest", [Forest(trees=20), Forest(RANDOM, trees=20, most_rows=100)])
def test_forests(pair, forest):
    accuracies = [(answers(forest, rows).argmax(1) == rows.labels).mean() for rows in pair]
    assert min(accuracies) > 0.8
    np.testing.assert_allclose(*accuracies, atol=0.1)


def test_a_class_that_no_row_of_a_tree_has_gets_no_share(pair):
    rows = MemberRows(pair[1].X, np.where(pair[1].labels == 2, 0, pair[1].labels), CLASSES)
    probabilities = np.exp(answers(Forest(trees=3), rows))
    np.testing.assert_allclose(probabilities[:, 2], 1e-3 / CLASSES)


FIT = """
import sys
from pathlib import Path
import numpy as np
from conftr import ConformalClassifier
from conftr.machine.rows_on_disk import RowsOnDisk, collected
n, rng = int(sys.argv[1]), np.random.default_rng(0)
blocks = (rng.integers(0, 256, (1000, 16, 16, 3), np.uint8) for _ in range(n // 1000))
X = collected(blocks, n, (16, 16, 3), np.uint8)
assert isinstance(X, RowsOnDisk)
ConformalClassifier(members="logistic", random_state=0).fit(X, np.arange(n) % 2)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) // 1024)
"""


@pytest.mark.slow  # two fits, one of them on 96,000 pictures
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux alone tells of memory")
def test_four_times_as_many_pictures_take_no_more_memory():
    """As bytes the further pictures are 55 MB, as inputs of logistic regression 221."""
    few, many = (most_memory(FIT, n) for n in ("24000", "96000"))
    assert many < few + 40


def most_memory(*arguments):
    command = [sys.executable, "-c", *arguments]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
