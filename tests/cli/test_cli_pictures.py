"""Folders and tables of pictures, through every verb, as a person uses them."""

import json

import numpy as np
import polars as pl
import pytest
from PIL import Image
from sklearn.datasets import load_sample_images

from commands import ran, run
from conftr.classifier import artefact
from conftr.features import frozen_pictures
from conftr.machine import rows_on_disk
from odd_pictures import BROKEN, ODD_BUT_WHOLE

COLOURS = {"blue": (40, 60, 200), "green": (50, 190, 60), "red 🍎": (200, 40, 50)}


def refused(words, *arguments):
    """The verb ends in words, and without a traceback."""
    done = run(*arguments)
    assert done.exit_code == 1, done.output
    assert words in " ".join(done.output.split()), done.output
    assert "Traceback" not in done.output


def write(path, colour, rng, side=8):
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = rng.normal(colour, 60, (side, side, 3)).clip(0, 255).astype(np.uint8)
    Image.fromarray(noise).save(path)


def photos(folder, each, seed=0, side=8):
    rng = np.random.default_rng(seed)
    for name, colour in COLOURS.items():
        for i in range(each):
            write(folder / name / f"{seed}-{i}.png", colour, rng, side)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of a folder of pictures, some of which cannot be read."""
    place = tmp_path_factory.mktemp("pictures")
    folder = photos(place / "photos", 70)
    (folder / "blue" / "broken.png").write_bytes(b"no picture")
    (folder / "blue" / ".hidden.png").write_bytes(b"no picture")
    (folder / "blue" / "notes.txt").write_text("notes")
    (folder / "blue" / "deeper").mkdir()
    (folder / "empty").mkdir()
    done = ran("fit", folder, "--members", "logistic", "--out", place / "model")
    return place / "model", done.output


def test_a_folder_of_pictures_is_learned_from(model):
    said = " ".join(model[1].split())
    assert "1 picture cannot be read and is left out:" in said
    assert "broken.png is no PNG, JPEG or WebP picture" in said
    assert "hidden" not in said
    assert "1 files are not called .png, .jpg, .jpeg or .webp" in said
    assert "are not looked into: blue/deeper" in said
    assert "hold no picture and are no class: empty" in said
    clf, shown = artefact.load(model[0]), artefact.evidence(model[0])
    assert clf.classes_.tolist() == list(COLOURS)
    assert shown.pictures.shape[1:] == (8, 8, 3)
    assert shown.cells[0]["picture"].endswith(".png")
    assert [name.rpartition("/")[2] for name in shown.provenance["unreadable"]] == ["broken.png"]
    page = (model[0] / "report.html").read_text()
    assert "data:image/png;base64," in page
    assert len(page) < 500_000


def test_folders_are_answered_with_their_paths(model, tmp_path):
    folder = photos(tmp_path / "new", 3, seed=1)
    names = ["emoji 🍎.png", "new\nline.png", "\u05d0\u202eright.png", "-dash.png"]
    for name in names:
        write(folder / name, COLOURS["blue"], np.random.default_rng(2))
    (folder / "green" / "a.png").write_bytes(b"")
    out = tmp_path / "sets.parquet"
    done = ran("predict", model[0], folder, "--out", out)
    found = pl.read_parquet(out)
    assert "a.png is empty" in " ".join(done.output.split())
    assert "100.0 % of the 9 sets whose 'folder' is known hold it" in " ".join(done.output.split())
    assert [path.rpartition("/")[2] for path in found["picture"][:4]] == sorted(names)
    assert len(found) == 13
    assert found["row"].to_list() == [*range(1, 11), *range(12, 15)]
    assert (found.filter(pl.col("picture").str.contains("green/1-"))["likeliest"] == "green").all()


def test_a_row_is_answered_the_same_in_a_folder_and_in_a_table(model, tmp_path):
    folder = photos(tmp_path / "new", 4, seed=1)
    paths = [str(path.relative_to(tmp_path)) for path in sorted(folder.rglob("*.png"))]
    table = pl.DataFrame({"file": [*paths, "none.png"], "id": range(len(paths) + 1)})
    table.write_csv(tmp_path / "new.csv")
    ran("predict", model[0], folder, "--out", tmp_path / "a.parquet")
    said = ran(
        "predict", model[0], tmp_path / "new.csv", "--out", tmp_path / "b.parquet", "--keep", "id"
    )
    assert "none.png is not there" in said.output
    a, b = (pl.read_parquet(tmp_path / f"{name}.parquet") for name in "ab")
    assert b["id"].to_list() == [str(i) for i in range(len(paths))]
    assert a.drop("picture", "row").equals(b.drop("picture", "id", "row"))


def test_odd_paths_in_a_table_are_named_and_left_out(model, tmp_path):
    write(tmp_path / "a.png", COLOURS["blue"], np.random.default_rng(0))
    odd = ["nul\0.png", "\u202e🍎.png", "", "../" * 50 + "x.png", "x" * 5000 + ".png", ".", "a.png"]
    pl.DataFrame({"path": [*odd, None]}).write_parquet(tmp_path / "odd.parquet")
    out = tmp_path / "sets.parquet"
    done = ran("predict", model[0], tmp_path / "odd.parquet", "--picture", "path", "--out", out)
    said = " ".join(done.output.split())
    assert f"{len(odd)} pictures cannot be read" in said
    assert len(said) < 1500
    assert pl.read_parquet(out)["picture"].to_list() == ["a.png"]


def test_a_table_with_a_column_of_paths_is_learned_from(tmp_path):
    folder = photos(tmp_path / "photos", 60)
    rows = [(str(p.relative_to(tmp_path)), p.parent.name) for p in sorted(folder.rglob("*.png"))]
    frame = pl.DataFrame(rows, schema=["where", "what"], orient="row")
    frame = frame.with_columns(noise=pl.Series(range(len(frame))))
    frame.write_csv(tmp_path / "table.csv")
    arguments = ("--target", "what", "--members", "logistic", "--out", tmp_path / "model")
    said = " ".join(ran("fit", tmp_path / "table.csv", *arguments).output.split())
    assert "column 'where' holds paths of pictures" in said
    assert "left out: noise" in said
    assert artefact.load(tmp_path / "model").classes_.tolist() == list(COLOURS)
    refused("no column 'x'", "fit", tmp_path / "table.csv", *arguments[:4], "--picture", "x")


def test_odd_pictures_of_every_kind_are_learned_from_or_named(tmp_path):
    folder = photos(tmp_path / "photos", 40)
    places = [folder / name for name in COLOURS]
    for i, (name, (content, _)) in enumerate(BROKEN.items()):
        (places[i % 3] / name).write_bytes(content)
    for i, (name, (image, options)) in enumerate(ODD_BUT_WHOLE.items()):
        image.save(places[i % 3] / name, **options)
    names = ["\u202etxt.png", "שלום.png", "🍎👩‍👩‍👧‍👦.png", "new\nline.png", " .png"]
    rng = np.random.default_rng(3)
    for name in names:
        write(places[0] / name, COLOURS["blue"], rng)
    quick = ("--members", "logistic", "--out", tmp_path / "model", "--json")
    told = json.loads(ran("fit", folder, *quick).stdout)
    assert told["verdict"] in ("agrees", "above", "below")
    clf, shown = artefact.load(tmp_path / "model"), artefact.evidence(tmp_path / "model")
    left_out = {path.rpartition("/")[2] for path in shown.provenance["unreadable"]}
    assert left_out == set(BROKEN)
    learned = clf.n_train_ + clf.n_calibration_ + len(shown.labels)
    assert learned == 3 * 40 + len(ODD_BUT_WHOLE) + len(names)
    out = tmp_path / "sets.parquet"
    said = ran("predict", tmp_path / "model", folder, "--out", out).output
    assert f"{len(BROKEN)} pictures cannot be read" in " ".join(said.split())
    assert len(pl.read_parquet(out)) == learned
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "photos", "sets.parquet"]


@pytest.mark.slow  # a frozen network reads 200 photographs
@pytest.mark.skipif(not frozen_pictures.are_readable(), reason="it takes conftr[images]")
def test_photographs_are_learned_from_as_they_are(tmp_path):
    """Parts of two real photographs, of several megapixels each, through fit and predict."""
    rng = np.random.default_rng(0)
    for name, photograph in zip(("temple", "flower"), load_sample_images().images, strict=True):
        for part in ("photos", "new"):
            (tmp_path / part / name).mkdir(parents=True)
        for i in range(100):
            height, width = rng.integers(120, 200, 2)
            top, left = rng.integers(0, 427 - height), rng.integers(0, 640 - width)
            image = Image.fromarray(photograph[top : top + height, left : left + width])
            image = image.resize((10 * int(width), 10 * int(height)))
            image.save(tmp_path / ("photos" if i < 90 else "new") / name / f"{i}.jpg")
    told = json.loads(ran("fit", tmp_path / "photos", "--json", "--out", tmp_path / "m").stdout)
    assert told["candidates"][0]["mean_size"] < 1.5
    out = tmp_path / "sets.parquet"
    ran("predict", tmp_path / "m", tmp_path / "new", "--out", out)
    found = pl.read_parquet(out)
    right = found["picture"].str.contains("temple") == (found["likeliest"] == "temple")
    assert right.mean() > 0.8
    assert (tmp_path / "m" / "report.html").stat().st_size < 3_000_000


def test_thresholds_are_found_anew_and_watched_on_folders(model, tmp_path):
    fresh = photos(tmp_path / "fresh", 60, seed=3)
    ran("calibrate", model[0], fresh, "--out", tmp_path / "again")
    done = ran("monitor", tmp_path / "again", photos(tmp_path / "later", 5, seed=4), "--json")
    found = json.loads(done.stdout)
    assert (found["rows"], found["labelled"], found["strangers"]) == (15, 15, 0)
    ran("report", tmp_path / "again")
    ran("export", model[0], tmp_path / "model.onnx")


def test_the_folder_that_was_learned_from_does_not_calibrate(tmp_path):
    folder = photos(tmp_path / "photos", 40)
    ran("fit", folder, "--members", "logistic", "--out", tmp_path / "model")
    refused("has learned from", "calibrate", tmp_path / "model", folder, "--out", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_what_cannot_be_learned_from_is_refused_in_words(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    refused("two or more", "fit", empty, "--out", tmp_path / "a")
    write(empty / "alone" / "a.png", COLOURS["blue"], np.random.default_rng(0))
    refused("it has 1 with pictures", "fit", empty, "--out", tmp_path / "a")
    nested = photos(tmp_path / "outer" / "train", 2).parent
    refused("name the folder they are in", "fit", nested, "--out", tmp_path / "a")
    refused("leave out --target", "fit", nested, "--target", "y", "--out", tmp_path / "a")
    broken = tmp_path / "broken"
    for name in COLOURS:
        (broken / name).mkdir(parents=True)
        (broken / name / "a.png").write_bytes(b"text")
        (broken / name / "loop").symlink_to(broken)
        (broken / name / "b.png").symlink_to(broken / name / "b.png")
    refused("there is no picture to be read", "fit", broken, "--out", tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_predict_refuses_in_words_and_writes_nothing(model, tmp_path):
    out = tmp_path / "sets.csv"
    broken = tmp_path / "broken"
    broken.mkdir()
    refused("has no picture that can be read", "predict", model[0], broken, "--out", out)
    (broken / "a.png").write_bytes(b"")
    refused("has no picture that can be read", "predict", model[0], broken, "--out", out)
    pl.DataFrame({"a": [1, 2]}).write_csv(tmp_path / "numbers.csv")
    refused("--picture", "predict", model[0], tmp_path / "numbers.csv", "--out", out)
    assert not out.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken", "numbers.csv"]


@pytest.mark.parametrize(
    "members",
    ["logistic", pytest.param("convnet", marks=pytest.mark.slow)],  # convolutions train for long
)
def test_a_fit_from_disk_has_the_sets_of_one_from_memory(tmp_path, monkeypatch, members):
    """Above all, the same pictures calibrate and test, whichever way they are kept."""
    folder = photos(tmp_path / "photos", 60, side=16)
    ran("fit", folder, "--members", members, "--out", tmp_path / "in-memory")
    monkeypatch.setattr(rows_on_disk, "IN_MEMORY", 0)
    ran("fit", folder, "--members", members, "--out", tmp_path / "on-disk")
    usual, other = (artefact.load(tmp_path / name) for name in ("in-memory", "on-disk"))
    assert usual.fingerprint_ == other.fingerprint_
    assert usual.n_features_in_ == other.n_features_in_
    np.testing.assert_array_equal(usual.known_rows_.digests, other.known_rows_.digests)
    for scores in zip(usual.calibration_.scores, other.calibration_.scores, strict=True):
        np.testing.assert_allclose(*map(np.exp, scores), atol=0.02)
    new = photos(tmp_path / "new", 20, seed=1, side=16)
    X = np.stack([np.asarray(Image.open(path)) for path in sorted(new.rglob("*.png"))])
    assert (usual.predict_set(X) == other.predict_set(X)).mean() > 0.95
