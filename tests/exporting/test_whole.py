"""export: whole classifiers as files that make their sets, with thresholds that can be changed."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB

import conftr
from conftr.classifier.estimator import ConformalClassifier
from conftr.exporting import checking, whole
from conftr.exporting.graph import ExportError
from conftr.exporting.inputs import feeds
from conftr.members import Forest, Logistic, Logits, Probabilities
from conftr.members.network import Network

pytest.importorskip("onnxruntime", reason="exports are compared in onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore::conftr.CalibrationWarning")

NAMES = np.array(["cat", "dog", "eel"])
MEMBERS = [Forest(trees=5), Logistic(), Network(decays=(0.001,), hidden=(8,), steps=20)]


def table(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    site = np.where(rng.random(n) < 0.5, np.array(["a", "b", "c"])[y], "d")
    frame = pl.DataFrame({"x": rng.normal(size=n) + y, "site": site, "w": rng.normal(size=n)})
    return frame.with_columns(x=pl.when(pl.Series(rng.random(n) > 0.1)).then("x")), NAMES[y]


X, Y = table(600, 0)
NEW, Y_NEW = table(3000, 1)


@pytest.fixture(scope="module")
def clf():
    return ConformalClassifier(alpha=0.1, members=MEMBERS, head="mean", random_state=0).fit(X, Y)


def opened(path):
    return checking.session(path.read_bytes())


def exported(clf, session, rows, **more):
    given = feeds(clf.candidates_[0].stack.reader, rows) | more
    return dict(zip(("sets", "log_probabilities", "size"), session.run(None, given), strict=True))


def test_the_file_makes_the_sets_of_the_classifier(clf, tmp_path):
    path = conftr.export(clf, tmp_path / "model.onnx")
    result = exported(clf, opened(path), NEW)
    np.testing.assert_array_equal(result["sets"], clf.predict_set(NEW))
    np.testing.assert_array_equal(result["size"], clf.predict_set(NEW).sum(axis=1))
    np.testing.assert_allclose(
        np.exp(result["log_probabilities"]), clf.predict_proba(NEW), atol=1e-5
    )
    item = exported(clf, opened(path), NEW[:1])
    np.testing.assert_array_equal(item["sets"], clf.predict_set(NEW[:1]))


def test_it_is_asked_in_its_own_spelling(clf, tmp_path):
    path = conftr.export(clf, tmp_path / "model.onnx")
    padded = NEW.with_columns(site=pl.lit(" ") + pl.col("site"))
    result = exported(clf, opened(path), padded)
    np.testing.assert_array_equal(result["sets"], clf.predict_set(NEW))


def test_it_tells_what_it_is(clf, tmp_path):
    path = conftr.export(clf, tmp_path / "m.onnx", alpha=0.05, metadata={"license": "CC BY 4.0"})
    metadata = opened(path).get_modelmeta().custom_metadata_map
    assert json.loads(metadata["classes"]) == ["cat", "dog", "eel"]
    assert json.loads(metadata["alpha"]) == 0.05
    assert json.loads(metadata["n_calibration"]) == clf.n_calibration_
    assert json.loads(metadata["columns"]) == {"numbers": ["x", "w"], "categories": ["site"]}
    assert set(json.loads(metadata["levels"])["site"]) == set("abcd")
    assert json.loads(metadata["thresholds"])["0.05"] == {
        "all": clf.calibration_.thresholds(0.05)[0]
    }
    assert metadata["license"] == "CC BY 4.0"


def test_another_alpha_needs_no_other_file(clf, tmp_path):
    session = opened(conftr.export(clf, tmp_path / "model.onnx"))
    content = json.loads(session.get_modelmeta().custom_metadata_map["thresholds"])
    result = exported(clf, session, NEW, thresholds=np.array([[content["0.02"]["all"]]]))
    np.testing.assert_array_equal(result["sets"], clf.predict_set(NEW, alpha=0.02))


def test_without_a_default_thresholds_must_be_given(clf, tmp_path):
    session = opened(conftr.export(clf, tmp_path / "model.onnx", default=False))
    assert "thresholds" in {node.name for node in session.get_inputs()}
    result = exported(clf, session, NEW, thresholds=clf.thresholds_[None, :])
    np.testing.assert_array_equal(result["sets"], clf.predict_set(NEW))
    with pytest.raises(ValueError, match="thresholds"):
        exported(clf, session, NEW)


def test_thresholds_by_class_and_by_group(tmp_path):
    clf = ConformalClassifier(alpha=0.1, members=[Forest(trees=5)], random_state=0)
    clf.fit(X, Y, groups="class")
    session = opened(conftr.export(clf, tmp_path / "model.onnx"))
    np.testing.assert_array_equal(exported(clf, session, NEW)["sets"], clf.predict_set(NEW))
    groups, new = X["site"].to_numpy(), NEW["site"].to_numpy()
    clf.fit(X, Y, groups=groups)
    session = opened(conftr.export(clf, tmp_path / "model.onnx"))
    expected = clf.predict_set(NEW, new)
    assert (exported(clf, session, NEW)["sets"] >= expected).all()  # the default is for every group
    taus = dict(zip(clf.calibration_.names, clf.thresholds_, strict=True))
    exact = exported(clf, session, NEW, thresholds=np.array([[taus[name]] for name in new]))
    np.testing.assert_array_equal(exact["sets"], expected)


@pytest.mark.parametrize("score", ["aps", "raps", "thr_probs"])
def test_other_scores(score, tmp_path):
    clf = ConformalClassifier(alpha=0.1, members=[Logistic()], score=score, random_state=0)
    clf.fit(X, Y)
    session = opened(conftr.export(clf, tmp_path / "model.onnx", rows=X))
    np.testing.assert_array_equal(exported(clf, session, NEW)["sets"], clf.predict_set(NEW))


@pytest.mark.parametrize("kind", [Probabilities, Logits])
def test_outputs_of_another_system(kind, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 400)
    p[:40] = np.eye(3)[rng.integers(0, 3, 40)]  # some are certain
    x = p if kind is Probabilities else np.log(p + 1e-9)
    clf = ConformalClassifier(alpha=0.1, members=kind(NAMES.tolist()), random_state=0)
    clf.fit(x[:200], NAMES[p[:200].argmax(axis=1)])
    session = opened(conftr.export(clf, tmp_path / "model.onnx"))
    np.testing.assert_array_equal(exported(clf, session, x[200:])["sets"], clf.predict_set(x[200:]))


def test_a_saved_classifier_exports_as_the_one_that_was_fitted(clf, tmp_path):
    conftr.save(clf, tmp_path / "model")
    loaded = conftr.load(tmp_path / "model")
    first = conftr.export(clf, tmp_path / "first.onnx").read_bytes()
    assert conftr.export(loaded, tmp_path / "second.onnx").read_bytes() == first


def test_what_cannot_be_exported_is_refused(clf, tmp_path):
    with pytest.raises(ExportError, match="call fit before"):
        conftr.export(ConformalClassifier(), tmp_path / "model.onnx")
    other = ConformalClassifier(members=GaussianNB(), random_state=0)
    other.fit(X.select(pl.col("x").fill_null(0), "w"), Y)
    with pytest.raises(ExportError, match="GaussianNB cannot be exported"):
        conftr.export(other, tmp_path / "model.onnx", rows=X.select(pl.col("x").fill_null(0), "w"))
    unsavable = ConformalClassifier(
        members=[Logistic()], score=lambda z: conftr.thr(z), random_state=0
    )
    with pytest.raises(ExportError, match="code of yours"):
        conftr.export(unsavable.fit(X, Y), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_the_empty_text_as_a_category_is_refused(tmp_path):
    rows = X.with_columns(site=pl.col("site").replace("d", ""))
    clf = ConformalClassifier(members=[Logistic()], random_state=0).fit(rows, Y)
    with pytest.raises(ExportError, match="column 'site' has the empty text as a category"):
        conftr.export(clf, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_graph_that_answers_otherwise_is_not_written(clf, tmp_path, monkeypatch):
    monkeypatch.setattr(whole, "expected", lambda *_: np.ones((512, 3), bool))
    with pytest.raises(ExportError, match="leaves a class out of the set of row 0"):
        conftr.export(clf, tmp_path / "model.onnx")
    monkeypatch.setattr(whole, "expected", lambda *_: np.zeros((512, 3), bool))
    with pytest.raises(ExportError, match="more than rounding explains"):
        conftr.export(clf, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
