"""Frozen ImageNet features: one picture's never depend on another's, and the encoder is known."""

import json
import pickle

import numpy as np
import pytest
from PIL import Image

import conftr
from conftr import ConformalClassifier
from conftr.classifier.artefact import ArtefactError
from conftr.classifier.testing import evidence_of
from conftr.data.user_files import Roles, read
from conftr.exporting.graph import ExportError
from conftr.features import codes, efficientnet, frozen_pictures
from conftr.features.encoders import EncoderError
from conftr.machine import rows_on_disk
from conftr.members.logistic import Logistic
from conftr.members.member import MemberError, MemberRows
from conftr.members.on_features import OnFeatures, reader_of

pytestmark = pytest.mark.skipif(
    not frozen_pictures.are_readable(), reason="the weights are in a package of their own"
)

RNG = np.random.default_rng(0)
PICTURES = RNG.integers(0, 255, (11, 20, 24, 3), np.uint8)


def test_a_picture_has_the_same_features_alone_and_among_others():
    reader = frozen_pictures.frozen_pictures((20, 24, 3))
    whole = reader.encode(PICTURES)
    assert whole.shape == (11, 1280)
    assert np.isfinite(whole).all()
    np.testing.assert_array_equal(reader.encode(PICTURES[9:10]), whole[9:10])
    np.testing.assert_array_equal(reader.encode(PICTURES[::-1]), whole[::-1])


def test_features_on_disk_are_those_in_memory(monkeypatch):
    reader = frozen_pictures.frozen_pictures((20, 24, 3))
    in_memory = reader.encode(PICTURES)
    monkeypatch.setattr(rows_on_disk, "IN_MEMORY", 0)
    pictures = rows_on_disk.collected([PICTURES], 11, (20, 24, 3), np.uint8)
    on_disk = reader.encode(pictures)
    assert isinstance(on_disk, rows_on_disk.RowsOnDisk)
    np.testing.assert_array_equal(np.asarray(on_disk), in_memory)


def test_grey_pictures_are_read_as_colours_of_grey():
    grey = PICTURES[:2, ..., 0]
    coloured = np.repeat(grey[..., None], 3, axis=3)
    result = frozen_pictures.frozen_pictures((20, 24)).encode(grey)
    same = frozen_pictures.frozen_pictures((20, 24, 3)).encode(coloured)
    np.testing.assert_array_equal(result, same)


def test_what_is_no_picture_as_in_fit_is_refused():
    reader = frozen_pictures.frozen_pictures((20, 24, 3))
    for other in (PICTURES.astype(float), PICTURES[:, 1:], PICTURES[..., 0]):
        with pytest.raises(ValueError, match="of bytes, as it was in fit"):
            reader.encode(other)
    rows = MemberRows(PICTURES.astype(np.float32), np.zeros(11, np.int32), 2)
    with pytest.raises(MemberError, match="arrays of bytes"):
        reader_of(rows)


def test_another_encoder_is_refused():
    reader = frozen_pictures.frozen_pictures((20, 24, 3))
    content = json.loads(json.dumps(reader.to_json()))
    assert codes.from_json(content) is reader
    assert pickle.loads(pickle.dumps(reader)) is reader
    content["encoder"]["sha256"] = "0" * 64
    with pytest.raises(EncoderError, match="install the first, or fit again"):
        codes.from_json(content)


def test_weights_are_kept_without_a_pickle(tmp_path, monkeypatch):
    monkeypatch.setenv("CONFTR_CACHE", str(tmp_path))
    first = efficientnet._weights()
    (kept,) = tmp_path.rglob("*.safetensors")
    assert efficientnet.identity().sha256[:16] in kept.name
    for a, b in zip(first, efficientnet._weights(), strict=True):
        assert (a == b).all()


def test_members_on_features_read_rows_once():
    rows = MemberRows(PICTURES, np.arange(11, dtype=np.int32) % 2, 2)
    reader, calls = reader_of(rows), []

    def encode(x):
        calls.append(len(x))
        return reader.encode(x)

    first = rows.read_by(reader, encode)
    assert rows.read_by(reader) is first
    assert first.reader is reader
    assert calls == [11]
    assert rows.read_by(rows.reader) is rows


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Pictures of more than 64 pixels and of several sizes, in two classes."""
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(1)
    for name, colour in {"sea": (30, 60, 200), "wood": (40, 120, 30)}.items():
        (folder / name).mkdir()
        for i in range(14):
            shape = (70 + i, 90 - i, 3)
            noise = rng.normal(colour, 40, shape).clip(0, 255).astype(np.uint8)
            Image.fromarray(noise).save(folder / name / f"{i}.jpg")
    return folder


def test_larger_pictures_stay_files_and_are_saved_with_their_encoder(photos, tmp_path):
    given = read(photos, Roles())
    clf = ConformalClassifier(0.2, members=OnFeatures(Logistic(100.0)), random_state=0)
    clf.fit(given.X, given.y)
    some = given.X[np.arange(2)]
    sets = clf.predict_set(some)
    conftr.save(clf, tmp_path / "model")
    again = conftr.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_set(some), sets)
    (pixels,) = some.blocks((224, 224, 3), 2)  # as `conftr predict` gives them
    np.testing.assert_array_equal(again.predict_set(pixels), sets)
    with pytest.raises(ExportError, match="ImageNet features"):
        conftr.export(clf, tmp_path / "model.onnx")
    _with_another_encoder(tmp_path / "model")
    with pytest.raises((EncoderError, ArtefactError), match=r"fitted with the encoder|changed"):
        conftr.load(tmp_path / "model")


def test_how_far_reading_is_is_told_of_every_part(photos):
    given, messages = read(photos, Roles()), {}

    def progress(task, done, total):
        messages.setdefault(task, []).append((done, total))

    clf = ConformalClassifier(
        0.2, members=OnFeatures(Logistic(100.0)), random_state=0, progress=progress
    )
    clf.fit(given.X, given.y)
    evidence_of(clf, given.X[np.arange(9)], given.y[:9])
    words = frozen_pictures.frozen_pictures().words
    read_for = [f"{words} of {part} rows" for part in ("training", "calibration", "test")]
    assert [task for task in messages if task.startswith(words)] == read_for
    counts = [clf.n_train_, clf.n_calibration_, 9]
    assert [messages[task][-1] for task in read_for] == [(n, n) for n in counts]
    assert messages[read_for[2]] == [(8, 9), (9, 9)]


def _with_another_encoder(model):
    for path in model.rglob("*stack.json"):
        sha = efficientnet.identity().sha256
        path.write_text(path.read_text().replace(sha, "0" * 64))
