"""Names that pandas, Python or a hand writes otherwise than a file are known all the same."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from commands import ran, run
from conftr import ConformalClassifier
from conftr.classifier import artefact
from conftr.features.unknown_levels import CategoryWarning


def rows(n, seed):
    rng = np.random.default_rng(seed)
    k = rng.integers(0, 3, n)
    code = np.where(rng.random(n) < 0.95, k, rng.integers(0, 3, n)) + 10
    return pd.DataFrame({"x": rng.normal(size=n).round(3), "code": code, "kind": k})


def one_network(**settings):
    return ConformalClassifier(
        method="cross-entropy", model=(), epochs=20, random_state=0, **settings
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A model whose codes are whole numbers, and new files with the same rows otherwise spelled."""
    folder = tmp_path_factory.mktemp("spelling")
    rows(400, 0).to_csv(folder / "rows.csv", index=False)
    new = rows(300, 1)
    new.to_csv(folder / "new.csv", index=False)
    gap = new.astype({"code": float})
    gap.loc[0, "code"] = np.nan
    gap.to_csv(folder / "gap.csv", index=False)
    new.assign(code=new["code"].map("no. {}".format)).to_csv(folder / "slip.csv", index=False)
    fit = ["--target", "kind", "--category", "code", "--method", "cross-entropy", "--quick"]
    ran("fit", folder / "rows.csv", *fit, "--out", folder / "model")
    return folder


def predicted(place, file):
    done = ran("predict", place / "model", place / file, "--out", place / "sets.csv", "--json")
    return json.loads(done.stdout)


def test_an_empty_cell_changes_no_code_but_its_own(place):
    assert ",11.0," in (place / "gap.csv").read_text()
    whole, gap = predicted(place, "new.csv"), predicted(place, "gap.csv")
    assert abs(whole["covered"] - gap["covered"]) <= 1
    assert whole["classes"] < 1.3 * whole["rows"]
    assert gap["categories"] == {"code": [299, 0]}


def test_a_column_without_a_known_category_is_told_by_every_verb(place, tmp_path):
    words = "column 'code' has a value in 300 rows, and none is a category that training saw"
    model, slip = place / "model", place / "slip.csv"
    told = [
        ran("predict", model, slip, "--out", tmp_path / "sets.csv").stderr,
        ran("calibrate", model, slip, "--out", tmp_path / "anew").stderr,
        run("monitor", model, slip, "--state", tmp_path / "state").stderr,
    ]
    for said in told:
        assert words in said.replace("Column", "column")
    assert "training saw" not in ran("predict", model, place / "new.csv", "--quiet").stderr
    with pytest.warns(CategoryWarning, match=words):
        artefact.load(model).predict_set(pd.read_csv(slip)[["x", "code"]])


@pytest.mark.parametrize(
    "typed",
    [
        lambda site: site,
        lambda site: site.astype(float),
        lambda site: site.astype("category"),
        lambda site: site == 1,
        lambda site: pd.to_datetime("2026-01-01") + pd.to_timedelta(site, unit="D"),
    ],
    ids=["int", "float", "categorical", "bool", "date"],
)
def test_groups_of_python_are_those_of_a_file(tmp_path, typed):
    frame = rows(300, 0)
    frame["site"] = typed(frame["code"] % 2)
    clf = one_network().fit(frame[["x", "code"]], frame["kind"], frame["site"])
    artefact.save(clf, tmp_path / "model")
    frame.to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "sets.jsonl"
    done = ran("predict", tmp_path / "model", tmp_path / "new.csv", "--out", out, "--json")
    assert json.loads(done.stdout)["unseen"] == 0
    expected = clf.predict_set(frame[["x", "code"]], frame["site"]).sum(axis=1)
    assert pl.read_ndjson(out)["size"].to_list() == expected.tolist()


def test_groups_of_a_file_are_those_of_python(tmp_path):
    frame = rows(300, 0)
    frame["site"] = frame["code"] % 2
    frame.to_csv(tmp_path / "rows.csv", index=False)
    fit = ["--target", "kind", "--group-by", "site", "--method", "cross-entropy", "--quick"]
    ran("fit", tmp_path / "rows.csv", *fit, "--out", tmp_path / "model")
    clf = artefact.load(tmp_path / "model")
    X = frame[["x", "code"]].assign(site=frame["site"].astype(str))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sets = [clf.predict_set(X, frame["site"].astype(kind)) for kind in (int, float, str)]
    np.testing.assert_array_equal(sets[0], sets[2])
    np.testing.assert_array_equal(sets[1], sets[2])


@pytest.mark.parametrize("kind", [float, bool])
def test_classes_of_python_are_those_of_a_file(tmp_path, kind):
    frame = rows(300, 0)
    y = frame["kind"].astype(kind).to_numpy()
    clf = one_network().fit(frame[["x", "code"]], y)
    assert clf.classes_.dtype == kind
    artefact.save(clf, tmp_path / "model")
    frame["kind"] = y if kind is bool else frame["kind"]
    frame.to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "sets.csv"
    asked = ["predict", tmp_path / "model", tmp_path / "new.csv", "--target", "kind", "--out", out]
    counted = json.loads(ran(*asked, "--json").stdout)
    assert (counted["labelled"], counted["strangers"]) == (300, 0)
    assert counted["covered"] == round(300 * clf.coverage(frame[["x", "code"]], y))
