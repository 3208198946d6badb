"""Saved and loaded: the same to the last bit, in another process; anything else is refused."""

import hashlib
import json
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import safetensors.numpy
from sklearn.naive_bayes import GaussianNB

import conftr
import processes
from conftr.classifier import artefact
from conftr.classifier.artefact import ArtefactError
from conftr.classifier.calibration import Grouping
from conftr.classifier.estimator import ConformalClassifier
from conftr.classifier.testing import evidence_of
from conftr.members.elsewhere import Logits, Probabilities

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 3, 300)
X = RNG.normal(size=(300, 4)) + 1.5 * np.eye(3, 4)[LABELS]
X[::9, 3] = np.nan
NAMES = np.array(["cat", "dog", "eel"])
SHAPE = conftr.Shape(
    avoid=[("cat", "eel")], shrink={"dog": 2}, separate=[conftr.Separate(["cat"], ["dog"], 3, True)]
)


def fitted(y=None, x=X, groups=None, **changes):
    settings = {"method": "cross-entropy", "model": (), "epochs": 2, "random_state": 0}
    clf = ConformalClassifier(**(settings | changes))
    return clf.fit(x, NAMES[LABELS] if y is None else y, groups)


@pytest.fixture(scope="module")
def clf():
    return fitted(shape=SHAPE, model=(8,))


@pytest.fixture
def saved(clf, tmp_path):
    return artefact.save(clf, tmp_path / "model", evidence=evidence_of(clf, X, NAMES[LABELS]))


@pytest.fixture
def outputs_only():
    """Thresholds for the outputs of another system, which are quickly made."""
    p = RNG.dirichlet(np.ones(3), 100)
    return ConformalClassifier(members=Probabilities(NAMES)).fit(p, NAMES[LABELS[:100]])


def inside(path):
    (result,) = path.glob("model-*")
    return result


def files_in(path):
    return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())


def test_the_same_to_the_last_bit_in_another_process(clf, saved, tmp_path):
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "load.py").write_text(
        "import sys, numpy as np, conftr\n"
        f"clf = conftr.load({str(saved)!r})\n"
        f"x = np.load({str(tmp_path / 'x.npy')!r})\n"
        f"np.savez({str(tmp_path / 'found.npz')!r}, p=clf.predict_proba(x), "
        "sets=clf.predict_set(x), other=clf.predict_set(x, alpha=0.3), tau=clf.thresholds_)\n"
    )
    assert processes.run(tmp_path / "load.py", cwd=tmp_path).code == 0
    with np.load(tmp_path / "found.npz") as result:
        np.testing.assert_array_equal(result["p"], clf.predict_proba(X))
        np.testing.assert_array_equal(result["sets"], clf.predict_set(X))
        np.testing.assert_array_equal(result["other"], clf.predict_set(X, alpha=0.3))
        np.testing.assert_array_equal(result["tau"], clf.thresholds_)


def test_settings_and_choices_come_back(clf, saved):
    loaded = conftr.load(saved)
    for name in ("alpha", "method", "score", "shape", "epochs", "random_state"):
        assert loaded.get_params()[name] == clf.get_params()[name]
    for name in ("method_", "why_", "batch_size_", "epochs_", "learning_rate_", "seed_"):
        assert getattr(loaded, name) == getattr(clf, name), name
    assert (loaded.n_train_, loaded.n_calibration_) == (clf.n_train_, clf.n_calibration_)
    assert loaded.tried_ == clf.tried_
    assert loaded.fingerprint_ == clf.fingerprint_
    assert loaded.candidates_[0].name == clf.candidates_[0].name


def test_a_loaded_classifier_can_be_calibrated_and_fitted(saved):
    loaded = conftr.load(saved)
    loaded.calibrate(X + 0.01, NAMES[LABELS], alpha=0.2)
    assert loaded.alpha_ == 0.2
    assert loaded.set_params(model=()).fit(X, NAMES[LABELS]).n_train_ == 240


def test_evidence_comes_back(clf, tmp_path):
    shown = evidence_of(
        clf,
        X,
        NAMES[LABELS],
        cells=[{"a": "1"}] * 300,
        pictures=np.zeros((300, 2, 2), np.uint8),
        provenance={"file": "x.csv", "rows": {"test": 300}},
    )
    result = artefact.evidence(artefact.save(clf, tmp_path, evidence=shown))
    for name in ("classes", "alpha", "score", "group_names", "calibration_sizes", "group_by"):
        assert getattr(result, name) == getattr(shown, name), name
    for name in ("wishes", "cells", "provenance"):
        assert getattr(result, name) == getattr(shown, name), name
    for name in ("labels", "groups", "unwanted", "shrink", "pictures"):
        np.testing.assert_array_equal(getattr(result, name), getattr(shown, name))
    np.testing.assert_array_equal(result.sets(), shown.sets())
    np.testing.assert_array_equal(
        result.candidates[0].probabilities, shown.candidates[0].probabilities
    )


@pytest.mark.parametrize("groups", [None, "class"])
def test_answers_on_rows_of_classes_that_were_not_learned_come_back(groups, tmp_path):
    clf = fitted(groups=groups)
    names = np.where(np.arange(300) % 10 == 0, "yak", NAMES[LABELS])
    shown = evidence_of(clf, X, names)
    result = artefact.evidence(artefact.save(clf, tmp_path, evidence=shown))
    assert result.unseen == len(result.unseen_rows.standing) == 30
    np.testing.assert_array_equal(result.unseen_sets(0.1), shown.unseen_sets(0.1))
    np.testing.assert_array_equal(result.unseen_rows.confidence, shown.unseen_rows.confidence)


def test_evidence_may_be_without_answers_on_rows_of_classes_that_were_not_learned(clf, tmp_path):
    names = np.where(np.arange(300) % 10 == 0, "yak", NAMES[LABELS])
    shown = replace(evidence_of(clf, X, names), unseen_rows=None)
    result = artefact.evidence(artefact.save(clf, tmp_path, evidence=shown))
    assert (result.unseen, result.unseen_rows, result.unseen_sets(0.1)) == (30, None, None)


def test_there_may_be_no_evidence(clf, tmp_path):
    assert artefact.evidence(conftr.save(clf, tmp_path)) is None


@pytest.mark.parametrize(
    "names",
    [
        np.array([3, 1, 2]),
        np.array(["é", "b", "c d"]),
        np.array([1.0, 2.0, 30.0]),
        np.array([True, False, True]),
        np.array(["x", "y", "z"], object),
        np.array([1, 2, 3], np.int8),
    ],
    ids=["int", "text", "float", "bool", "object", "int8"],
)
@pytest.mark.parametrize("kind", [Probabilities, Logits])
def test_classes_of_any_type(names, kind, tmp_path):
    classes = np.unique(names)
    p = RNG.dirichlet(np.ones(len(classes)), 100)
    clf = ConformalClassifier(members=kind(classes.tolist())).fit(p, RNG.choice(classes, 100))
    loaded = conftr.load(conftr.save(clf, tmp_path))
    assert loaded.classes_.tolist() == clf.classes_.tolist()
    assert loaded.classes_.dtype == clf.classes_.dtype
    assert loaded.predict(p).tolist() == clf.predict(p).tolist()
    np.testing.assert_array_equal(loaded.predict_set(p), clf.predict_set(p))


@pytest.mark.parametrize("groups", ["class", np.array(["n", "s"])[np.arange(300) % 2]])
def test_groups_come_back(groups, tmp_path):
    clf = fitted(groups=groups, model=(8,))
    loaded = conftr.load(conftr.save(clf, tmp_path))
    of_rows = None if isinstance(groups, str) else groups
    np.testing.assert_array_equal(loaded.predict_set(X, of_rows), clf.predict_set(X, of_rows))
    assert loaded.calibration_.names == clf.calibration_.names
    lines = (inside(tmp_path) / "thresholds.csv").read_text().splitlines()
    assert lines[0] == f"alpha,{clf.calibration_.by.kind},calibration_examples,threshold"
    assert len(lines) == 1 + 13 * len(clf.thresholds_)


@pytest.mark.parametrize("name", ["class", "all", "group", "site", None])
def test_what_makes_groups_is_saved_beside_its_name(name, tmp_path):
    groups = pd.Series(np.array(["n", "s"])[np.arange(300) % 2], name=name)
    clf = fitted(groups=groups, model=(8,))
    loaded = conftr.load(conftr.save(clf, tmp_path))
    assert loaded.calibration_.by == clf.calibration_.by == Grouping("column", name)
    np.testing.assert_array_equal(loaded.predict_set(X, groups), clf.predict_set(X, groups))


@pytest.mark.parametrize("written", [1, 2])
def test_formats_before_stacks_are_refused(saved, written):
    change_manifest(saved, lambda manifest: manifest.update(format=written))
    with pytest.raises(ArtefactError, match=r"before 0.2, .* fit the classifier again"):
        conftr.load(saved)


def test_rows_that_trained_are_known_after_loading(clf, saved):
    loaded = conftr.load(saved)
    np.testing.assert_array_equal(loaded.known_rows_.digests, clf.known_rows_.digests)
    assert (inside(saved) / "known_rows.safetensors").stat().st_size < 300 * 8 + 200
    with pytest.warns(conftr.CalibrationWarning, match="rows that the model has learned from"):
        loaded.calibrate(X, NAMES[LABELS])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frames_come_back(library, tmp_path):
    columns = {f"x{i}": X[:, i].tolist() for i in range(3)}
    frame = library(columns | {"colour": np.array(["red", "blue"])[LABELS % 2].tolist()})
    clf = fitted(x=frame)
    loaded = conftr.load(conftr.save(clf, tmp_path))
    np.testing.assert_array_equal(loaded.predict_proba(frame), clf.predict_proba(frame))
    assert loaded.feature_names_in_.tolist() == clf.feature_names_in_.tolist()


def test_convolutions_come_back(tmp_path):
    images = RNG.integers(0, 256, (60, 4, 4), dtype=np.uint8)
    net = ConformalClassifier(
        method=conftr.CrossEntropy(), model=conftr.training.ConvNet, epochs=1, random_state=0
    )
    net.set_params(model=lambda inputs, classes: conftr.training.ConvNet(inputs, classes, (2,)))
    net.fit(images, np.arange(60) % 2)
    loaded = conftr.load(conftr.save(net, tmp_path))
    np.testing.assert_array_equal(loaded.predict_proba(images), net.predict_proba(images))


def test_nothing_in_it_is_executed(saved):
    kinds = {path.suffix for path in saved.rglob("*") if path.is_file() and path.stat().st_size}
    assert kinds == {".json", ".safetensors", ".csv"}


def test_the_page_on_shipping_names_every_file(saved):
    page = (Path(__file__).parents[2] / "docs" / "shipping.md").read_text()
    page = page.replace(
        "evidence.json`, `.safetensors", "evidence.json` `model-<id>/evidence.safetensors"
    )
    for file in files_in(saved):
        name = file.replace(inside(saved).name, "model-<id>")
        assert f"`{re.sub(r'member-[0-9]+-[0-9]+-.*', 'member-M-F-…', name)}`" in page


def test_what_cannot_be_saved(clf, tmp_path):
    wrapped = ConformalClassifier(members=GaussianNB(), random_state=0)
    wrapped.fit(np.nan_to_num(X), NAMES[LABELS])
    with pytest.raises(ArtefactError, match=r"GaussianNB .* only pickle .*Probabilities\("):
        conftr.save(wrapped, tmp_path / "a")
    unsavable = fitted(score=lambda logits: conftr.thr(logits))
    with pytest.raises(ArtefactError, match=r"score must be one of thr, .* code of yours"):
        conftr.save(unsavable, tmp_path / "a")
    from conftr.training.models import Custom, linear

    simple = linear((5,), 3)
    custom = fitted(model=lambda inputs, classes: Custom(simple.init, simple.apply))
    with pytest.raises(
        ArtefactError, match=r"network must be a conftr.training.MLP, ConvNet, ResNet"
    ):
        conftr.save(custom, tmp_path / "a")
    with pytest.raises(
        ArtefactError, match=r"fitted conftr.ConformalClassifier; got sklearn's Gau"
    ):
        conftr.save(GaussianNB(), tmp_path / "a")
    with pytest.raises(
        ArtefactError, match=r"ConformalClassifier; got function\. .*Probabilities\("
    ):
        conftr.save(lambda x: x, tmp_path / "a")
    with pytest.raises(ArtefactError, match=r"the class ConformalClassifier itself"):
        conftr.save(ConformalClassifier, tmp_path / "a")
    with pytest.raises(ArtefactError, match=r"is not fitted yet: call fit before saving"):
        conftr.save(ConformalClassifier(), tmp_path / "a")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    "name", ["settings.json", "member-0-0-network.safetensors", "evidence.json"]
)
def test_a_changed_file_is_named(saved, name):
    path = inside(saved) / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ArtefactError, match=rf"{name} is damaged or was changed"):
        conftr.load(saved)


@pytest.mark.parametrize("name", ["calibration.safetensors", "thresholds.csv"])
def test_a_short_or_missing_file_is_named(saved, name):
    path = inside(saved) / name
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ArtefactError, match=rf"{name} is damaged"):
        conftr.load(saved)
    path.unlink()
    with pytest.raises(ArtefactError, match=rf"{name} is missing"):
        conftr.load(saved)


def change_manifest(saved, change):
    path = saved / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def test_a_newer_format_is_refused(saved):
    change_manifest(saved, lambda manifest: manifest.update(format=4))
    with pytest.raises(ArtefactError, match=r"manifest.json has format 4.* install a newer one"):
        conftr.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: manifest["files"].pop("stack.json"),
        lambda manifest: manifest.update(identity="../../elsewhere"),
        lambda manifest: manifest.pop("files"),
        lambda manifest: manifest["files"].update({"../x": "0"}),
    ],
)
def test_a_changed_manifest_is_refused(saved, change):
    change_manifest(saved, change)
    with pytest.raises(ArtefactError, match=r"manifest.json is damaged or was changed"):
        conftr.load(saved)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", 10**5 * b"["])
def test_a_manifest_that_is_none(saved, content):
    (saved / "manifest.json").write_bytes(content)
    with pytest.raises(ArtefactError, match=r"manifest.json is damaged"):
        conftr.load(saved)


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(ArtefactError, match=r"There is no classifier in .*no manifest.json"):
        conftr.load(tmp_path)


def forge(saved, name, content):
    """Put another file in the place of one, with a manifest that fits."""
    place = inside(saved)
    (place / name).write_bytes(content)

    def fit(manifest):
        manifest["files"][name] = hashlib.sha256(content).hexdigest()
        manifest["identity"] = artefact._identity(manifest["files"])
        place.rename(saved / f"model-{manifest['identity']}")

    change_manifest(saved, fit)


DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize("content", [b"{}", b"[]", b"3", b'"text"', DEEP], ids=lambda c: c[:6])
def test_what_fits_the_manifest_but_is_no_classifier(saved, content):
    """Someone who can write a manifest can write anything, but nothing of it is run."""
    forge(saved, "settings.json", content)
    with pytest.raises(ArtefactError, match="is not a classifier that conftr saved"):
        conftr.load(saved)


@pytest.mark.parametrize("head", ["nonsense", 3, None, ["mean"]])
def test_a_head_that_is_none_is_refused(outputs_only, tmp_path, head):
    conftr.save(outputs_only, tmp_path)
    content = json.loads((inside(tmp_path) / "settings.json").read_text())
    content["parameters"]["head"] = head
    forge(tmp_path, "settings.json", json.dumps(content).encode())
    with pytest.raises(ArtefactError, match="must name as head one of auto, mean"):
        conftr.load(tmp_path)


@pytest.fixture(scope="module")
def of_a_table():
    """A classifier of a data frame with a column of numbers and one of categories."""
    x = pd.DataFrame({"length": X[:, 0], "colour": np.where(X[:, 1] > 0, "red", "blue")})
    return fitted(x=x, members="logistic", method="auto", model=None, epochs=None)


@pytest.mark.parametrize(
    "levels",
    [
        {"colour": {"levels": "red", "gap": False}},
        {"colour": {"levels": ["red", "red"], "gap": False}},
        {"colour": {"levels": ["red", 3], "gap": False}},
        {"colour": {"levels": [["red"]], "gap": False}},
        {"colour": {"levels": ["red", "blue"], "gap": 7}},
        {"color": {"levels": ["red", "blue"], "gap": False}},
        {"length": {"levels": ["red", "blue"], "gap": False}},
        {},
    ],
    ids=str,
)
def test_levels_that_make_no_sense_are_refused(of_a_table, tmp_path, levels):
    conftr.save(of_a_table, tmp_path)
    content = json.loads((inside(tmp_path) / "stack.json").read_text())
    content["readers"][0]["frame"]["levels"] = levels
    forge(tmp_path, "stack.json", json.dumps(content).encode())
    with pytest.raises(ArtefactError, match=r"must be different texts|each column of a frame"):
        conftr.load(tmp_path)


@pytest.mark.parametrize(
    ("scores", "sizes", "words"),
    [
        ([-2, np.nan, -1], [3], "must hold a list of numbers as scores; some are none"),
        ([-1, -2, -3], [3], "must hold the scores of each group in rising order"),
        ([-3, -2, -1], [2], "has 3 scores and says that groups have \\[2\\]"),
        ([-3, -2, -1], [4], "has 3 scores and says that groups have \\[4\\]"),
        ([-3, -2, -1], [4, -1], "must hold the scores of 1 groups"),
        ([-3, -2, -1], [], "must hold the scores of 1 groups"),
        ([[-3, -2, -1]], [3], "must hold a list of numbers"),
    ],
)
def test_a_calibration_that_makes_no_sense_is_refused(outputs_only, tmp_path, scores, sizes, words):
    conftr.save(outputs_only, tmp_path)
    arrays = {"scores": np.array(scores, np.float64), "sizes": np.array(sizes, np.int64)}
    forge(tmp_path, "calibration.safetensors", safetensors.numpy.save(arrays))
    with pytest.raises(ArtefactError, match=rf"calibration.safetensors {words}|{words}"):
        conftr.load(tmp_path)


@pytest.mark.parametrize("names", [["all", "all"], [], ["cat"], [["all"]]])
def test_groups_that_do_not_fit_the_calibration_are_refused(outputs_only, tmp_path, names):
    conftr.save(outputs_only, tmp_path)
    content = json.loads((inside(tmp_path) / "settings.json").read_text())
    content["calibration"]["names"] = names
    content["calibration"]["kind"] = "class" if names == ["cat"] else "all"
    forge(tmp_path, "settings.json", json.dumps(content).encode())
    with pytest.raises(ArtefactError, match=r"must name each group|is not a classifier"):
        conftr.load(tmp_path)


@pytest.mark.parametrize("name", ["manifest.json", "settings.json"])
def test_a_folder_where_a_file_should_be_is_refused(saved, name):
    path = saved / name if name == "manifest.json" else inside(saved) / name
    path.unlink()
    path.mkdir()
    with pytest.raises(ArtefactError, match=r"no manifest.json|settings.json is missing"):
        conftr.load(saved)


def test_saving_again_replaces_what_was_there_and_nothing_else(clf, saved):
    (saved / "report.html").write_text("mine")
    other = fitted(alpha=0.3, model=(8,))
    artefact.save(other, saved)
    assert conftr.load(saved).alpha == 0.3
    assert artefact.evidence(saved) is None
    assert sorted(p.name for p in saved.iterdir()) == [
        ".lock",
        "manifest.json",
        inside(saved).name,
        "report.html",
    ]
    artefact.save(other, saved)
    assert conftr.load(saved).alpha == 0.3


def test_files_of_the_users_own_are_left_alone(outputs_only, tmp_path):
    """Whatever they are called: only what the old manifest names is removed."""
    mine = ["model-january/weights.bin", ".model-x/a", "model-card.md", ".manifest-notes", "b.txt"]
    mine += ["figures/mine.png", "model-0123456789abcdef/settings.json", ".conftr-notes"]
    for name in mine:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    conftr.save(outputs_only, tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    mine.append(f"model-{manifest['identity']}/notes.txt")
    (tmp_path / mine[-1]).write_text("mine")
    outputs_only.alpha_ = 0.3
    conftr.save(outputs_only, tmp_path)
    assert conftr.load(tmp_path).alpha_ == 0.3
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    ours = [f"model-{manifest['identity']}/{name}" for name in manifest["files"]]
    assert files_in(tmp_path) == sorted([*mine, *ours, ".lock", "manifest.json"])
    assert {(tmp_path / name).read_text() for name in mine} == {"mine"}


def test_a_damaged_classifier_can_be_saved_over(outputs_only, tmp_path):
    conftr.save(outputs_only, tmp_path)
    (inside(tmp_path) / "settings.json").unlink()
    (inside(tmp_path) / "settings.json").mkdir()
    outputs_only.alpha_ = 0.3
    conftr.save(outputs_only, tmp_path)
    assert conftr.load(tmp_path).alpha_ == 0.3
    (tmp_path / "manifest.json").write_text("{")
    conftr.save(outputs_only, tmp_path)
    assert conftr.load(tmp_path).alpha_ == 0.3


def test_a_manifest_cannot_have_other_files_removed(outputs_only, tmp_path):
    conftr.save(outputs_only, tmp_path / "model")
    mine = [tmp_path / "b.svg", tmp_path / "model" / "thesis.txt", tmp_path / "model" / "b.svg"]
    for file in mine:
        file.write_text("mine")
    named = ["thesis.txt", "../b.svg", "figures/../b.svg", str(mine[0]), 3]
    change_manifest(tmp_path / "model", lambda manifest: manifest.update(report=named))
    conftr.save(outputs_only, tmp_path / "model")
    assert all(file.exists() for file in mine)


def test_a_report_goes_with_its_model(outputs_only, tmp_path):
    report = {"figures/coverage.svg": b"old", "report.html": b"old"}
    artefact.save(outputs_only, tmp_path, report=report)
    assert {(tmp_path / name).read_bytes() for name in report} == {b"old"}
    outputs_only.alpha_ = 0.3
    artefact.save(outputs_only, tmp_path)
    assert not {"report.html", "figures"} & {path.name for path in tmp_path.iterdir()}
    (tmp_path / "report.html").mkdir()
    outputs_only.alpha_ = 0.4
    with pytest.raises(ArtefactError, match=r"report.html is a folder, where a file is to be"):
        artefact.save(outputs_only, tmp_path, report=report)
    assert conftr.load(tmp_path).alpha_ == 0.3


@pytest.fixture(scope="module")
def memory():
    """A folder in memory where there is such: many files are flushed to the disk, which is slow."""
    with tempfile.TemporaryDirectory(
        dir="/dev/shm" if Path("/dev/shm").is_dir() else None
    ) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def broken_saves(memory):
    """What became of saves that were broken off, a line for each."""
    script = [sys.executable, Path(__file__).with_name("broken_saves.py"), memory]
    done = subprocess.run(script, check=True, capture_output=True, timeout=processes.PATIENCE)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow  # a save killed before each of its steps
def test_whenever_a_save_is_killed_model_and_report_agree(broken_saves):
    """SIGKILL before each step on the disk: old or new, and never a report of the other one."""
    whole, *ended = broken_saves
    killed = [ending for ending in ended if ending["ended"] == -signal.SIGKILL]
    assert {ending["model"] for ending in killed} == {None, 0.1, 0.2}
    for ending in killed:
        assert ending["model"] in ((0.1, 0.2) if ending["old"] else (None, 0.2))
        assert ending["page"] in (None, str(ending["model"]))
        assert set(ending["figures"]) <= {str(ending["model"])}
        if ending["page"]:
            same = whole["old" if ending["model"] == 0.1 else "new"]
            assert ending["figures"] == same["figures"]
        assert "thesis.txt" in ending["files"]
        assert ending["after"] == whole["new"], "what killed saves left is gone after the next"
    assert all(
        ending["model"] == 0.2 and ending["page"] == "0.2"
        for ending in ended
        if not ending["ended"]
    )


def test_a_full_disk_leaves_model_and_report_as_they_were(broken_saves):
    whole, *ended = broken_saves
    full = [ending for ending in ended if "full" in ending]
    assert len(full) == 5
    for ending in full:
        assert ending["ended"] == 1
        assert {name: ending[name] for name in whole["old"]} == whole["old"]


def test_processes_that_save_at_once_leave_a_whole_classifier(broken_saves):
    """The last one wins, and who reads in the meantime gets one or the other."""
    at_once = broken_saves[0]["at once"]
    assert at_once["statuses"] == [0, 0]
    assert set(at_once["seen"]) <= {0.1, 0.2}
    assert {name: at_once[name] for name in broken_saves[0]["old"]} == broken_saves[0]["old"]


def test_the_path_may_be_text(clf, tmp_path):
    assert conftr.save(clf, str(tmp_path / "a" / "b")) == Path(tmp_path / "a" / "b")


def test_alpha_is_the_decimal_that_was_given(tmp_path):
    """float32(0.01) is one hundredth, before saving and after: 99 examples are just enough."""
    rng = np.random.default_rng(0)
    y = np.arange(99) % 3
    p = np.exp(rng.normal(size=(99, 3)))
    p /= p.sum(axis=1, keepdims=True)
    clf = ConformalClassifier(np.float32(0.01), members=Probabilities([0, 1, 2])).fit(p, y)
    assert clf.alpha_ == 0.01
    assert np.isfinite(clf.thresholds_).all()
    artefact.save(clf, tmp_path / "model")
    loaded = artefact.load(tmp_path / "model")
    assert (loaded.thresholds_, loaded.alpha) == (clf.thresholds_, 0.01)
    np.testing.assert_array_equal(evidence_of(clf, p, y).sets(0), clf.predict_set(p))
