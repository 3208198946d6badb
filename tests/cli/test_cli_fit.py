"""fit, predict, calibrate, report, demo: as a person with a file uses them."""

import errno
import fcntl
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer

import processes
from commands import ran, run
from conftr import Avoid, CalibrationWarning, ConformalClassifier, Separate, Shape
from conftr.classifier import artefact
from conftr.classifier.division import order, seed_of
from conftr.classifier.evidence import Evidence, ShownCandidate
from conftr.cli import wishes
from conftr.cli.console import errors_in_words
from conftr.conformal.metrics import coverage_law
from conftr.features.rows import digests
from conftr.jobs import answers, summary
from conftr.machine import disk
from conftr.report import numbers
from conftr.report import writing as report

CLASSES = ["blue", "green", "red"]


def summary_of(done):
    """The lines of a summary by their first words."""
    whole = done.stdout.replace("\n          ", " ")
    return dict(line.split(maxsplit=1) for line in whole.splitlines())


def rows(n, seed):
    rng = np.random.default_rng(seed)
    k = rng.integers(0, 3, n)
    return pl.DataFrame(
        {
            "id": [f"row {i}" for i in range(n)],
            "x": (rng.normal(size=n) + 1.5 * (k == 2)).round(4),
            "w": (rng.normal(size=n) - 1.5 * (k == 0)).round(4),
            "site": rng.choice(["north", "south"], n),
            "code": rng.choice(["1", "2", "x9"], n),
            "ok": rng.random(n) < 0.5,
            "colour": [CLASSES[i] for i in k],
        }
    ).with_columns(x=pl.when(pl.Series(rng.random(n) > 0.1)).then(pl.col("x")))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with files of rows to learn from and rows to ask about, and a model."""
    folder = tmp_path_factory.mktemp("own")
    rows(700, 0).write_csv(folder / "rows.csv")
    rows(500, 1).write_csv(folder / "new.csv")
    rows(500, 1).write_parquet(folder / "new.parquet")
    rows(0, 1).write_csv(folder / "head.csv")
    (folder / "folder.csv").mkdir()
    (folder / "twins.csv").write_text("a,a,y\n1,2,x\n3,4,z\n")
    return folder


FIT = ["--target", "colour", "--drop", "id", "--method", "cross-entropy", "--time-limit", "0"]


@pytest.fixture(scope="module")
def fitted(place):
    return ran("fit", place / "rows.csv", *FIT, "--out", place / "model", "--alpha", 0.2)


@pytest.fixture
def model(fitted, place):
    return place / "model"


def test_fit_says_what_came_out_and_where_it_is(fitted, place):
    words = summary_of(fitted)
    assert words["Promise"] == "at least 80 % of the sets hold the true class."
    assert "of 140 test rows (chance allows" in words["Coverage"]
    assert words["Coverage"].endswith("agrees with the promise.")
    assert "classes a set" in words["Size"]
    assert words["Method"].startswith("cross-entropy")
    assert Path(words["Model"]) == place / "model"
    assert Path(words["Report"]).read_text().startswith("<!DOCTYPE html>")
    assert words["Next"].startswith(f"conftr predict {place / 'model'} NEW.csv")
    assert "cross-entropy: " in fitted.stderr


def test_the_test_rows_are_seen_by_nothing_but_the_report(fitted, place):
    shown = artefact.evidence(place / "model")
    parts = shown.provenance["rows"]
    assert sum(parts.values()) == 700
    assert parts["tested on"] == len(shown.labels) == 140
    assert shown.provenance["target"] == "colour"
    assert shown.provenance["file"] == "rows.csv"


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "jsonl"])
@pytest.mark.parametrize("source", ["new.csv", "new.parquet"])
def test_predict_writes_the_sets_in_order(model, place, tmp_path, kind, source):
    out = tmp_path / f"sets.{kind}"
    done = ran("predict", model, place / source, "--out", out, "--keep", "id")
    result = {
        "csv": pl.read_csv,
        "tsv": lambda path: pl.read_csv(path, separator="\t"),
        "parquet": pl.read_parquet,
        "jsonl": pl.read_ndjson,
    }[kind](out)
    assert result.columns == ["row", "id", "set", "size", "likeliest", "p_blue", "p_green", "p_red"]
    assert result["row"].to_list() == list(range(1, 501))
    assert result["id"].to_list() == rows(500, 1)["id"].to_list()
    clf, new_rows = artefact.load(model), rows(500, 1).drop("id", "colour")
    sets = result["set"].to_list()
    if kind in ("csv", "tsv"):
        sets = [text.split("|") if text else [] for text in sets]
    assert sets == clf.predict_labels(new_rows)
    assert result["size"].to_list() == [len(row_set) for row_set in sets]
    assert result["likeliest"].to_list() == clf.predict(new_rows).tolist()
    p = result.select("p_blue", "p_green", "p_red").to_numpy()
    np.testing.assert_allclose(p, clf.predict_proba(new_rows), atol=6e-7)
    covered = np.mean(
        [y in row_set for y, row_set in zip(rows(500, 1)["colour"], sets, strict=True)]
    )
    assert f"{100 * covered:.1f} % of the 500 sets whose 'colour' is known hold it" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_predict_prints_where_no_file_is_named(model, place):
    done = ran("predict", model, place / "new.csv", "--no-probabilities", "--quiet")
    table = pl.read_csv(done.stdout.encode())
    assert table.columns == ["row", "set", "size", "likeliest"]
    assert len(table) == 500
    assert done.stderr == ""


def test_predict_at_another_alpha_is_exact(model, place, tmp_path):
    ran("predict", model, place / "new.csv", "--alpha", 0.03, "--out", tmp_path / "sets.jsonl")
    table = pl.read_ndjson(tmp_path / "sets.jsonl")["set"].to_list()
    new_rows = rows(500, 1).drop("id", "colour")
    assert table == artefact.load(model).predict_labels(new_rows, alpha=0.03)


def test_predict_writes_p_values_where_asked(model, place, tmp_path):
    out = tmp_path / "sets.parquet"
    ran("predict", model, place / "new.csv", "--p-values", "--no-probabilities", "--out", out)
    table = pl.read_parquet(out)
    p_values = table.select(f"pvalue_{name}" for name in CLASSES).to_numpy()
    clf = artefact.load(model)
    np.testing.assert_allclose(p_values, clf.p_values(rows(500, 1).drop("id", "colour")))
    np.testing.assert_array_equal((p_values > clf.alpha_).sum(axis=1), table["size"].to_numpy())
    assert "p_red" not in table.columns
    done = run("predict", model, place / "new.csv", "--keep", "pvalue_red", "--out", out)
    assert "is the name of a column of the answers" in done.output


def test_an_alpha_that_is_too_small_is_said_to_be(model, place, tmp_path):
    command = ["predict", model, place / "new.csv", "--out", tmp_path / "sets.csv", "--keep", "id"]
    done = ran(*command, "--keep", "id", "--alpha", 0.0001)
    assert "too few for alpha = 0.0001, which needs at least 9,999" in done.stderr
    with pytest.warns(CalibrationWarning, match="too few for alpha"):
        artefact.load(model).predict_set(rows(5, 1).drop("id", "colour"), alpha=0.0001)


def test_predict_counts_in_json(model, place, tmp_path):
    done = ran("predict", model, place / "new.csv", "--out", tmp_path / "sets.csv", "--json")
    counted = json.loads(done.stdout)
    assert counted["rows"] == counted["labelled"] == 500
    assert counted["strangers"] == counted["unseen"] == 0
    assert done.stderr == ""


def test_labels_that_the_model_never_met_are_told(model, place, tmp_path):
    rows(20, 2).with_columns(colour=pl.lit("pink")).write_csv(tmp_path / "pink.csv")
    done = ran("predict", model, tmp_path / "pink.csv", "--out", tmp_path / "sets.csv")
    assert "0.0 % of the 20 sets" in done.stderr
    assert "20 of these rows are of classes that the model never met" in done.stderr


def test_a_file_without_labels_or_rows_is_answered_too(model, tmp_path):
    rows(3, 2).drop("colour").write_csv(tmp_path / "bare.csv")
    done = ran("predict", model, tmp_path / "bare.csv", "--out", tmp_path / "sets.csv")
    assert "known" not in done.stderr
    rows(3, 2).clear().write_csv(tmp_path / "none.csv")
    done = ran("predict", model, tmp_path / "none.csv", "--out", tmp_path / "sets.csv")
    assert "there are no rows" in done.stderr
    assert pl.read_csv(tmp_path / "sets.csv").width == 7


def test_a_failed_prediction_leaves_the_file_that_was_there(model, place, tmp_path):
    text = (place / "new.csv").read_text().splitlines()
    text[400] = text[400].replace("row 399,", "row 399,oops")
    (tmp_path / "bad.csv").write_text("\n".join(text))
    (tmp_path / "sets.csv").write_text("before")
    done = run("predict", model, tmp_path / "bad.csv", "--out", tmp_path / "sets.csv")
    assert done.exit_code == 1
    assert "row 400 has 'oops" in done.stderr
    assert (tmp_path / "sets.csv").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "sets.csv"]


def test_report_is_made_again(model, tmp_path):
    done = ran("report", model, "--out", tmp_path)
    assert done.stdout == f"Report: {tmp_path / 'report.html'}\n"
    assert (tmp_path / "report.html").read_text() == (model / "report.html").read_text()
    assert list((tmp_path / "figures").glob("*.png"))


def test_the_same_command_gives_the_same_model_and_json(model, place, tmp_path):
    out = tmp_path / "again"
    done = ran("fit", place / "rows.csv", *FIT, "--out", out, "--alpha", 0.2, "--json")
    content = json.loads(done.stdout)
    assert done.stderr == ""
    assert content["model"] == str(out)
    assert content["verdict"] == "agrees"
    assert content["candidates"][0]["name"] == "cross-entropy"
    new_rows = rows(500, 1).drop("id", "colour")
    first, second = (artefact.load(path).predict_proba(new_rows) for path in (model, out))
    np.testing.assert_array_equal(first, second)


def test_what_the_user_should_know_of_a_file_is_said(place, tmp_path):
    rows(200, 0).write_csv(tmp_path / "rows.csv")
    arguments = [tmp_path / "rows.csv", *FIT[:2], *FIT[4:], "--out", tmp_path / "model"]
    assert "column 'id' is different in every row" in ran("fit", *arguments).stderr


@pytest.fixture(scope="module")
def with_strangers(place, tmp_path_factory):
    """A fit on a file in which one row of seven is of a class that no other row has."""
    folder = tmp_path_factory.mktemp("strangers")
    number = pl.int_range(pl.len())
    stranger = pl.format("shade {}", number)
    frame = rows(700, 0).with_columns(
        colour=pl.when(number % 7 == 0).then(stranger).otherwise("colour")
    )
    frame.write_csv(folder / "rows.csv")
    done = ran("fit", folder / "rows.csv", *FIT, "--out", folder / "model", "--json")
    return folder / "model", json.loads(done.stdout)


def test_test_rows_of_classes_that_were_not_learned_count_as_missed(with_strangers):
    model, result = with_strangers
    shown = artefact.evidence(model)
    assert 10 < result["unseen_rows"] == shown.unseen < 30
    assert len(shown.unseen_rows.standing) == shown.unseen  # what `monitor` compares new rows with
    assert result["test_rows"] == len(shown.labels) + shown.unseen == 140
    assert result["coverage"] == result["covered"] / 140
    assert result["covered"] <= 140 - shown.unseen
    assert result["verdict"] == "agrees"  # the promise is for the others
    known = artefact.load(model).classes_
    assert set(result["classes"]) == set(known)
    rows_of = shown.provenance["rows"]
    assert sum(rows_of.values()) == 700
    kept_aside = 140 + rows_of["calibrated on"] + rows_of["of classes that were not learned"]
    unseen = shown.unseen + rows_of["of classes that were not learned"]
    assert result["unseen_share"] == unseen / kept_aside
    assert abs(result["unseen_share"] - 1 / 7) < 0.08


def test_the_promise_says_that_it_is_for_known_classes(with_strangers):
    model, result = with_strangers
    words = dict(summary.lines(result))
    share = f"{100 * result['unseen_share']:.1f} %"
    assert f"if it is one of the {len(result['classes'])} that were learned" in words["Promise"]
    assert f"about {share} of all rows are of others." in words["Promise"]
    unseen = f"of which {result['unseen_rows']} are of classes that were not learned, and so missed"
    assert unseen in words["Coverage"]
    page = (model / "report.html").read_text()
    assert "The promise is for the" in page
    assert f"{share.removesuffix(' %')}&nbsp;%" in page
    assert 'data-value="known"' in page


def test_nothing_is_said_of_unknown_classes_where_there_are_none(fitted, model):
    assert "learned" not in summary_of(fitted)["Promise"]
    assert "The promise is for the" not in (model / "report.html").read_text()


def test_copies_are_kept_together_and_counted_once(place, tmp_path):
    once = rows(200, 0).drop("site", "code", "ok")
    pl.concat([once] * 4).sample(fraction=1, shuffle=True, seed=0).write_csv(tmp_path / "rows.csv")
    done = ran("fit", tmp_path / "rows.csv", *FIT, "--out", tmp_path / "model")
    assert "600 rows of 800 repeat others" in done.stderr
    shown = artefact.evidence(tmp_path / "model").provenance["rows"]
    assert shown == {"trained on": 496, "calibrated on": 36, "tested on": 40}
    clf = artefact.load(tmp_path / "model")
    tested = artefact.evidence(tmp_path / "model").cells
    learned = clf.known_rows_.share(digests(pl.DataFrame(tested).cast(pl.Float64, strict=False)))
    assert len(tested) == 40
    assert learned == 0


def test_a_folder_that_holds_something_is_left_alone(place, tmp_path):
    (tmp_path / "thesis.txt").write_text("all of it")
    arguments = ["fit", place / "rows.csv", *FIT, "--out", tmp_path]
    done = run(*arguments)
    assert done.exit_code == 1
    assert "holds something already" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    done = run("fit", place / "rows.csv", *FIT, "--out", tmp_path / "thesis.txt", "--overwrite")
    assert "must be a folder" in done.stderr


def test_what_cannot_be_written_is_told_before_anything_is_trained(place, tmp_path):
    command = ["fit", place / "rows.csv", *FIT]
    done = run(*command, "--out", "/proc/conftr-model")
    assert "conftr: --out /proc/conftr-model cannot be written to: /proc: " in done.stderr
    assert "epoch" not in done.stderr
    (tmp_path / "report.html").mkdir()
    done = run(*command, "--out", tmp_path, "--overwrite")
    assert "report.html is a folder, where a file is to be: move it away" in done.stderr
    assert "epoch" not in done.stderr
    done = run(*command, "--out", place / "rows.csv" / "model")
    assert "Not a directory" in done.stderr
    assert "epoch" not in done.stderr


@pytest.fixture
def probabilities(tmp_path):
    """A file of another system's outputs, and how it is calibrated into a folder."""
    p, y = outputs(300, 0)
    frame = pl.DataFrame(p, schema=CLASSES).with_columns(t=pl.Series([CLASSES[k] for k in y]))
    frame.write_csv(tmp_path / "p.csv")
    out = tmp_path / "model"
    return ["calibrate", "probabilities", tmp_path / "p.csv", "--target", "t", "--out", out]


def has_its_report(model):
    return (model / "report.html").read_text() == report.page(artefact.evidence(model))


def interrupted(*_):
    raise KeyboardInterrupt


@pytest.fixture
def ctrl_c():
    """Ctrl-C as a terminal has it, also where tests run in the background, which ignores it."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_says_what_was_written(probabilities, tmp_path, monkeypatch):
    """Before the model is, during the moves on the disk, and after: each is told as it is."""
    ran(*probabilities, "--alpha", 0.1)
    again = [*probabilities, "--overwrite", "--alpha"]
    with monkeypatch.context() as patch:
        patch.setattr(report, "draw", interrupted)
        done = run(*again, 0.2)
    assert done.stderr == "conftr: stopped. Nothing was written.\n"
    assert artefact.load(tmp_path / "model").alpha_ == 0.1
    written = f"conftr: stopped. The new model is in {tmp_path / 'model'}, whole, with its report."
    with monkeypatch.context() as patch:
        patch.setattr(summary, "summary", interrupted)
        done = run(*again, 0.3)
    assert done.stderr == f"{written}\n"
    assert artefact.load(tmp_path / "model").alpha_ == 0.3
    with monkeypatch.context() as patch:
        move = disk.move_all
        patch.setattr(disk, "move_all", lambda *_: (signal.raise_signal(signal.SIGINT), move(*_)))
        done = run(*again, 0.4)
    assert done.stderr == f"{written}\n"
    assert artefact.load(tmp_path / "model").alpha_ == 0.4
    assert has_its_report(tmp_path / "model")
    assert (done.exit_code, done.stdout) == (1, "")


def test_a_model_is_kept_where_its_report_cannot_be_drawn(probabilities, tmp_path, monkeypatch):
    def fail(_):
        raise ValueError("no ink")

    ran(*probabilities)
    with monkeypatch.context() as patch:
        patch.setattr(report, "draw", fail)
        done = run(*probabilities, "--overwrite", "--alpha", 0.2)
    assert done.exit_code == 1
    assert "its report could not be drawn (ValueError: no ink). `conftr report" in done.stderr
    assert artefact.load(tmp_path / "model").alpha_ == 0.2
    assert not (tmp_path / "model" / "report.html").exists(), "that of the old model"
    ran("report", tmp_path / "model")
    assert has_its_report(tmp_path / "model")


def test_a_report_that_was_made_again_goes_with_its_model(probabilities, tmp_path):
    ran(*probabilities)
    model = tmp_path / "model"
    page = (model / "report.html").read_text()
    for name in ("report.html", "figures/coverage.png"):
        (model / name).unlink()
    assert ran("report", model).stdout == f"Report: {model / 'report.html'}\n"
    assert (model / "report.html").read_text() == page
    artefact.save(artefact.load(model), model)
    assert sorted(path.suffix for path in model.iterdir()) == ["", "", ".json"]


def test_groups_have_their_own_promise(place, tmp_path):
    out = tmp_path / "model"
    content = json.loads(
        ran("fit", place / "rows.csv", *FIT, "--group-by", "site", "--out", out, "--json").stdout
    )
    assert content["group_by"] == "site"
    assert [group["name"] for group in content["groups"]] == ["north", "south"]
    words = dict(summary.lines(content))
    assert words["Promise"].endswith("hold the true class, in each group of 'site'.")
    assert "2 of 2 groups agree with the promise" in words["Coverage"]
    assert sum(group["test_rows"] for group in content["groups"]) == content["test_rows"]
    elsewhere = rows(40, 3).with_columns(site=pl.lit("west"))
    elsewhere.write_csv(tmp_path / "west.csv")
    done = ran("predict", out, tmp_path / "west.csv", "--out", tmp_path / "sets.parquet")
    assert "40 rows are of groups without a threshold: they get every class" in done.stderr
    assert (pl.read_parquet(tmp_path / "sets.parquet")["size"] == 3).all()
    rows(40, 3).drop("site").write_csv(tmp_path / "no-site.csv")
    done = run("predict", out, tmp_path / "no-site.csv")
    assert "there is no column 'site'" in done.stderr
    # Thresholds for sites say nothing of other groups.
    anew = ["calibrate", out, place / "new.csv", "--group-by", "code", "--out", tmp_path / "anew"]
    assert "Before" not in summary_of(ran(*anew))


@pytest.mark.parametrize("name", ["class", "y"])
def test_no_name_of_a_column_has_a_meaning_of_its_own(place, tmp_path, name):
    """Other columns hold the same words in another sense; none is taken for the one asked for."""
    names = ["class", "all", "group", "y", "column"]
    turned = pl.col("site").replace({"north": "south", "south": "north"})
    for file, n, seed in (("rows.csv", 700, 0), ("new.csv", 400, 1)):
        frame = rows(n, seed).with_columns(
            (pl.col("site") if item == name else turned).alias(item) for item in names
        )
        frame.drop("site").write_csv(tmp_path / file)
    out = tmp_path / "model"
    done = ran("fit", tmp_path / "rows.csv", *FIT, "--group-by", name, "--out", out, "--json")
    content = json.loads(done.stdout)
    assert (content["grouping"], content["group_by"]) == ("column", name)
    assert f"in each group of {name!r}" in dict(summary.lines(content))["Promise"]
    clf, new_rows = artefact.load(out), pl.read_csv(tmp_path / "new.csv")
    sets = tmp_path / "sets.jsonl"
    ran("predict", out, tmp_path / "new.csv", "--out", sets)
    expected = clf.predict_labels(new_rows.select(clf.feature_names_in_.tolist()), new_rows[name])
    assert pl.read_ndjson(sets)["set"].to_list() == expected
    if name == "y":
        return
    anew = ran("calibrate", out, tmp_path / "new.csv", "--out", tmp_path / "anew", "--json")
    assert json.loads(anew.stdout)["before"]["group_by"] == name
    assert artefact.load(tmp_path / "anew").calibration_.by == clf.calibration_.by


def test_groups_without_a_name_are_in_no_file(place, tmp_path):
    frame = rows(200, 0).drop("id")
    clf = ConformalClassifier(method="cross-entropy", model=(), epochs=1, random_state=0)
    clf.fit(frame.drop("colour"), frame["colour"].to_numpy(), frame["site"].to_numpy())
    artefact.save(clf, tmp_path / "model")
    done = run("predict", tmp_path / "model", place / "new.csv")
    assert "the groups were given without a name" in done.stderr


def test_the_file_that_a_model_has_learned_from_cannot_calibrate_it(model, place, tmp_path):
    (tmp_path / "renamed.csv").write_bytes((place / "rows.csv").read_bytes())
    for file in (place / "rows.csv", tmp_path / "renamed.csv"):
        done = run("calibrate", model, file, "--out", tmp_path / "anew")
        assert done.exit_code == 1
        assert "is the file that the model has learned from, rows.csv" in done.stderr
    # Nor after a calibration in between, on a file that may be taken again.
    ran("calibrate", model, place / "new.csv", "--out", tmp_path / "anew")
    done = run("calibrate", tmp_path / "anew", place / "rows.csv", "--out", tmp_path / "again")
    assert "is the file that the model has learned from, rows.csv" in done.stderr
    ran("calibrate", tmp_path / "anew", place / "new.csv", "--out", tmp_path / "again")


def test_rows_that_trained_are_noticed_in_another_file(model, tmp_path):
    pl.concat([rows(700, 0)[:300], rows(300, 8)]).write_csv(tmp_path / "half.csv")
    done = ran("calibrate", model, tmp_path / "half.csv", "--out", tmp_path / "anew")
    printed = re.search(r"about (\d+) % of these rows equal rows that the model has", done.stderr)
    assert 20 < int(printed[1]) < 50
    rows(300, 8).write_csv(tmp_path / "fresh.csv")
    done = ran("calibrate", model, tmp_path / "fresh.csv", "--out", tmp_path / "other")
    assert "equal rows" not in done.stderr


def test_calibrate_anew_says_how_it_was_before(model, place, tmp_path):
    shifted = rows(900, 4).with_columns(pl.col("x") + 1.5)
    shifted.write_csv(tmp_path / "fresh.csv")
    out = tmp_path / "anew"
    done = ran("calibrate", model, tmp_path / "fresh.csv", "--out", out, "--seed", 3)
    words = summary_of(done)
    assert "of 900 fresh rows" in words["Before"]
    assert "below what chance explains" in words["Before"]
    assert "of 180 test rows" in words["Coverage"]
    assert words["Coverage"].endswith("agrees with the promise.")
    clf = artefact.load(out)
    assert clf.n_calibration_ == 720
    assert clf.alpha_ == 0.2
    new_rows = rows(500, 1).drop("id", "colour")
    np.testing.assert_array_equal(
        clf.predict_proba(new_rows), artefact.load(model).predict_proba(new_rows)
    )


def test_classes_that_a_model_does_not_know_cannot_calibrate_it(model, place, tmp_path):
    rows(40, 3).with_columns(colour=pl.lit("pink")).write_csv(tmp_path / "pink.csv")
    done = run("calibrate", model, tmp_path / "pink.csv", "--out", tmp_path / "anew")
    assert (
        "has classes that the model does not know: pink. It knows blue, green, red" in done.stderr
    )


def outputs(n, seed):
    """Probabilities (n, 3) of a system that is right more often than not, and the truth."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    logits = rng.normal(size=(n, 3)) + 2 * np.eye(3)[y]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return p, y


def test_probabilities_of_another_system_from_a_table(tmp_path):
    p, y = outputs(2000, 0)
    frame = pl.DataFrame(p, schema=CLASSES).with_columns(
        truth=pl.Series([CLASSES[k] for k in y]), id=pl.Series(range(2000))
    )
    frame[:1200].write_csv(tmp_path / "p.csv")
    frame[1200:].write_csv(tmp_path / "new.csv")
    out = tmp_path / "model"
    command = ["--target", "truth", "--drop", "id", "--alpha", 0.05, "--out", out, "--score", "aps"]
    content = json.loads(
        ran("calibrate", "probabilities", tmp_path / "p.csv", *command, "--json").stdout
    )
    assert content["verdict"] == "agrees"
    assert content["calibration_rows"] == 960
    assert content["score"] == "aps"
    counted = json.loads(
        ran("predict", out, tmp_path / "new.csv", "--out", tmp_path / "s.csv", "--json").stdout
    )
    law = coverage_law(960, 800, 0.05)
    assert 0.0005 < law[counted["covered"]] < 0.9995
    content = pl.read_csv(tmp_path / "s.csv").select("p_blue", "p_green", "p_red")
    np.testing.assert_allclose(content.to_numpy(), p[1200:], atol=1e-6)


@pytest.mark.parametrize("kind", ["probabilities", "logits"])
def test_outputs_of_another_system_from_arrays(tmp_path, kind):
    p, y = outputs(1000, 1)
    np.save(tmp_path / "p.npy", p if kind == "probabilities" else np.log(p) + 7)
    np.save(tmp_path / "y.npy", y)
    arguments = [tmp_path / "p.npy", "--labels", tmp_path / "y.npy"]
    content = json.loads(
        ran("calibrate", kind, *arguments, "--out", tmp_path / "model", "--json").stdout
    )
    assert content["classes"] == ["0", "1", "2"]
    assert content["verdict"] == "agrees"
    named = ran(
        "calibrate", kind, *arguments, "--classes", "a,b,c", "--out", tmp_path / "abc", "--json"
    )
    assert named.exit_code == 0
    done = ran("predict", tmp_path / "model", tmp_path / "p.npy", "--out", tmp_path / "s.parquet")
    assert "1,000 rows" in done.stderr
    assert pl.read_parquet(tmp_path / "s.parquet").columns[-3:] == ["p_0", "p_1", "p_2"]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ({"a": 7.0}, "finite numbers from 0 to 1; row 42 of {file} has 7 for the class 'a'."),
        ({"b": None}, "finite numbers from 0 to 1; row 42 of {file} has none for the class 'b'."),
        ({"truth": "zebra"}, "column 'truth' has classes that the model does not know: zebra."),
    ],
)
def test_outputs_that_are_none_are_refused_with_their_row(tmp_path, cell, words):
    p = np.random.default_rng(0).dirichlet(np.ones(3), 300)
    truth = pl.Series(np.array(["a", "b", "c"])[p.argmax(axis=1)])
    frame = pl.DataFrame(p, schema=["a", "b", "c"]).with_columns(truth=truth).to_dicts()
    frame[41] |= cell
    frame[7]["truth"] = None  # left out, and a row of the file all the same
    file = tmp_path / "outputs.csv"
    pl.DataFrame(frame).write_csv(file)
    done = run("calibrate", "probabilities", file, "--target", "truth", "--out", tmp_path / "m")
    assert words.format(file=file) in done.stderr


def test_names_of_classes_that_are_numbers_are_names(tmp_path):
    p, y = outputs(1000, 1)
    np.savez(tmp_path / "turned.npz", X=p[:, ::-1], y=y)
    arguments = ["--classes", "2,1,0", "--out", tmp_path / "m"]
    done = ran("calibrate", "probabilities", tmp_path / "turned.npz", *arguments, "--json")
    content = json.loads(done.stdout)
    assert content["classes"] == ["2", "1", "0"]
    assert content["candidates"][0]["accuracy"] > 0.7


@pytest.fixture
def animals(tmp_path):
    """Outputs of three classes, and their names as labels."""
    p, y = outputs(1000, 1)
    np.save(tmp_path / "p.npy", p)
    np.save(tmp_path / "y.npy", np.array(["owl", "ant", "cat"])[y])
    command = [tmp_path / "p.npy", "--labels", tmp_path / "y.npy", "--out", tmp_path / "m"]
    return ["calibrate", "probabilities", *command]


def test_names_do_not_tell_which_column_is_theirs(animals):
    done = run(*animals)
    assert done.exit_code == 1
    assert "do not tell which of the 3 columns stands for which class" in done.stderr
    assert "say so with --classes" in done.stderr
    done = run(*animals, "--classes", "owl,ant")
    assert "there are 3 columns and --classes names 2" in done.stderr


def test_the_order_of_columns_and_the_accuracy_are_told(animals):
    words = summary_of(ran(*animals, "--classes", "owl,ant,cat"))
    assert words["Columns"].startswith("owl, ant, cat, in this order; the likeliest is the true")
    assert "by chance" not in words["Columns"]
    wrong = ran(*animals, "--classes", "ant,cat,owl", "--overwrite", "--json")
    content = json.loads(wrong.stdout)
    assert content["outputs"]["accuracy"] < 0.3 < content["outputs"]["by_chance"] < 0.4
    words = dict(summary.lines(content))
    assert "no more often than by chance (" in words["Columns"]
    assert words["Columns"].endswith("is this their order?")


def test_outputs_of_another_system_by_group(tmp_path):
    p, y = outputs(1000, 1)
    frame = pl.DataFrame(p, schema=CLASSES).with_columns(
        truth=pl.Series([CLASSES[k] for k in y]), site=pl.Series(["north", "south"] * 500)
    )
    frame.write_csv(tmp_path / "p.csv")
    command = ["probabilities", tmp_path / "p.csv", "--target", "truth", "--out", tmp_path / "m"]
    content = json.loads(ran("calibrate", *command, "--group-by", "site", "--json").stdout)
    assert content["classes"] == CLASSES
    assert [group["name"] for group in content["groups"]] == ["north", "south"]
    frame.drop("site").with_columns(id=pl.Series(np.linspace(0, 1, 1000))).write_csv(
        tmp_path / "p.csv"
    )
    done = run("calibrate", *command, "--overwrite")
    assert "the probabilities of a row must sum to 1" in done.stderr
    assert "a column that stands for no class" in done.stderr


def test_labels_are_read_as_they_were_learned(place, tmp_path):
    for labels in (["01", "02", "10"], [" a", "b ", " c"]):
        frame = rows(400, 0).with_columns(colour=pl.col("colour").replace_strict(CLASSES, labels))
        frame.write_csv(tmp_path / "rows.csv")
        out = tmp_path / labels[0].strip()
        ran("fit", tmp_path / "rows.csv", *FIT, "--out", out)
        sets = tmp_path / "sets.csv"
        counted = json.loads(
            ran("predict", out, tmp_path / "rows.csv", "--out", sets, "--json").stdout
        )
        assert counted["covered"] > 300
        fresh = rows(200, 1).with_columns(colour=pl.col("colour").replace_strict(CLASSES, labels))
        fresh.write_csv(tmp_path / "fresh.csv")
        ran("calibrate", out, tmp_path / "fresh.csv", "--out", tmp_path / "anew", "--overwrite")


def test_images_with_a_wish(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 240)
    X = rng.integers(0, 120, (240, 4, 4)) + 40 * y[:, None, None]
    np.savez(tmp_path / "images.npz", X=X.astype(np.uint8), y=y)
    arguments = ["--separate", "0|2", "--method", "conftr", "--alpha", 0.2]
    done = ran("fit", tmp_path / "images.npz", *arguments, "--out", tmp_path / "model")
    assert "Wishes" in done.stdout
    assert "of the sets concerned hold what should stay apart" in done.stdout
    assert "NEW.npz" in done.stdout
    shown = artefact.evidence(tmp_path / "model")
    assert shown.pictures.shape == (48, 4, 4)
    assert shown.unwanted.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    np.save(tmp_path / "x.npy", X.astype(np.uint8))
    done = ran("predict", tmp_path / "model", tmp_path / "x.npy", "--quiet")
    assert len(pl.read_csv(done.stdout.encode())) == 240


def test_a_model_of_an_array_takes_the_columns_of_a_table_in_order(tmp_path):
    p, y = outputs(240, 5)
    clf = ConformalClassifier(alpha=0.2, method="cross-entropy", epochs=1, random_state=0)
    artefact.save(clf.fit(p, y), tmp_path / "model")
    frame = pl.DataFrame(p, schema=["x", "y", "z"]).with_columns(id=pl.Series(range(240)), t=y)
    frame.write_csv(tmp_path / "rows.csv")
    arguments = ["--keep", "id", "--target", "t", "--out", tmp_path / "sets.jsonl"]
    ran("predict", tmp_path / "model", tmp_path / "rows.csv", *arguments)
    table = pl.read_ndjson(tmp_path / "sets.jsonl")["set"].to_list()
    assert table == [[str(k) for k in names] for names in clf.predict_labels(p)]
    done = run("predict", tmp_path / "model", tmp_path / "rows.csv", "--target", "t")
    assert "must have 3 columns of numbers" in done.stderr
    arguments = ["--target", "t", "--drop", "id", "--out", tmp_path / "anew"]
    ran("calibrate", tmp_path / "model", tmp_path / "rows.csv", *arguments)


WISHES = [
    ({"shrink": ["cat=10", "dog, fox = 2"]}, Shape(shrink={"cat": 10, "dog": 2, "fox": 2})),
    ({"avoid": ["cat,dog"]}, Shape(avoid=[("cat", "dog")])),
    ({"avoid": ["cat->dog=.5"]}, Shape(avoid=[Avoid("cat", "dog", 0.5, one_way=True)])),
    ({"avoid": ["cat,dog,fox"]}, Shape(avoid=[("cat", "dog"), ("cat", "fox"), ("dog", "fox")])),
    ({"separate": ["cat,dog|fox"]}, Shape(separate=[(["cat", "dog"], ["fox"])])),
    (
        {"separate": ["cat -> dog , fox"]},
        Shape(separate=[Separate(["cat"], ["dog", "fox"], one_way=True)]),
    ),
    ({"avoid": ['"a,b","x->y"=2']}, Shape(avoid=[Avoid("a,b", "x->y", 2)])),
    ({"shrink": ['">=6"=3', "t-shirt=2"]}, Shape(shrink={">=6": 3, "t-shirt": 2})),
    ({}, None),
]
KNOWN = {name: name for name in ["cat", "dog", "fox", "a,b", "x->y", ">=6", "t-shirt"]}


@pytest.mark.parametrize(("typed", "meant"), WISHES)
def test_wishes_are_read_as_they_are_meant(typed, meant):
    assert wishes.shape(KNOWN, **typed) == meant


def test_wishes_about_numbers_reach_the_classes():
    result = wishes.shape({"3": 3, "10": 10}, avoid=["3,10"])
    assert result.loss_matrix([3, 10]).tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"shrink": ["cat"]}, 'takes classes and a weight, as in "cat=10"'),
        ({"shrink": ["cat=much"]}, "the weight of --shrink must be a number; got 'much'"),
        ({"shrink": [">=6=10"]}, "--shrink names the class '>'"),
        ({"avoid": ["cat"]}, '--avoid takes classes, as in "coat,shirt"'),
        ({"avoid": ["cat|dog"]}, '--avoid takes classes, as in "coat,shirt"'),
        ({"avoid": ["cat,cow"]}, "--avoid names the class 'cow'; the classes are cat, dog, fox"),
        ({"avoid": ["cat,"]}, "--avoid cannot be read: 'cat,'"),
        ({"avoid": ['"cat,dog']}, "stands in double quotes"),
        ({"separate": ["cat,dog"]}, "--separate takes two groups of classes"),
        ({"separate": ["cat|dog|fox"]}, "--separate cannot be read"),
    ],
)
def test_wishes_that_cannot_be_read_are_refused_in_words(typed, words):
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        wishes.shape(KNOWN, **typed)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "rows.csv"], "say with --target which column"),
        (["fit", "rows.csv", "--target", "color"], "there is no column 'color'"),
        (["fit", "nothing.csv", "--target", "y"], "there is no file nothing.csv"),
        (["fit", "twins.csv", "--target", "y"], "has two columns called 'a': rename one"),
        (["calibrate", "model", "head.csv"], "no row of head.csv has a class"),
        (["fit", "rows.csv", *FIT, "--avoid", "red,pink"], "the class 'pink'"),
        (["fit", "rows.csv", *FIT, "--alpha", "2"], "alpha must lie strictly"),
        (["fit", "rows.csv", *FIT, "--test-share", "1"], "--test-share must leave"),
        (["predict", "nothing", "rows.csv"], "in nothing"),
        (["predict", "model", "nothing.csv"], "there is no file nothing.csv"),
        (["predict", "model", "new.csv", "--out", "sets.xlsx"], "--out must be a .csv, .tsv"),
        (["predict", "model", "new.csv", "--out", "no/sets.csv"], "there is no folder no"),
        (["predict", "model", "new.csv", "--out", "."], "--out must be a .csv, .tsv"),
        (["predict", "model", "new.csv", "--out", "folder.csv"], "folder.csv is a folder"),
        (["predict", "model", "new.csv", "--out", "/proc/s.csv"], "s.csv cannot be written: /proc"),
        (["predict", "model", "new.csv", "--json"], "give --out too"),
        (["predict", "model", "new.csv", "--keep", "ID"], "there is no column 'ID'"),
        (["predict", "model", "new.csv", "--alpha", "0"], "alpha must lie strictly"),
        (["calibrate", "nothing", "new.csv"], "in nothing"),
        (["calibrate", "logits", "new.csv"], "say with --target which column"),
        (["calibrate", "model", "new.csv", "--alpha", "0"], "alpha must lie strictly"),
        (["report", "nothing"], "in nothing"),
    ],
)
def test_errors_are_one_sentence_on_standard_error(model, place, monkeypatch, arguments, words):
    monkeypatch.chdir(place)
    before = sorted(place.iterdir())
    done = run(*arguments)
    assert done.exit_code == 1
    assert done.stderr.startswith("conftr: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert sorted(place.iterdir()) == before


def test_class_names_that_a_csv_cannot_hold_are_refused_for_it_alone(tmp_path):
    p, y = outputs(400, 0)
    names = ["a|b", "c", "d"]
    frame = pl.DataFrame(p, schema=names).with_columns(t=pl.Series([names[k] for k in y]))
    frame.write_csv(tmp_path / "p.csv")
    ran("calibrate", "probabilities", tmp_path / "p.csv", "--target", "t", "--out", tmp_path / "m")
    done = run("predict", tmp_path / "m", tmp_path / "p.csv")
    assert "write to a .parquet or .jsonl file" in done.stderr
    ran("predict", tmp_path / "m", tmp_path / "p.csv", "--out", tmp_path / "s.jsonl")


FORMULAS = ["=1+1", "+x", "-3", "@a", "'=b", "'c", "d=e", "-f"]


def test_class_names_are_no_formulas_in_a_csv(tmp_path):
    """A spreadsheet would run them; what conftr wrote, it reads as what was meant."""
    rng = np.random.default_rng(0)
    k = rng.integers(0, len(FORMULAS), 400)
    p = np.full((400, len(FORMULAS)), 0.02) + (1 - 0.02 * len(FORMULAS)) * np.eye(len(FORMULAS))[k]
    frame = pl.DataFrame(p, schema=FORMULAS).with_columns(t=pl.Series([FORMULAS[i] for i in k]))
    frame.write_csv(tmp_path / "p.csv")
    command = ["--target", "t", "--group-by", "t", "--out", tmp_path / "m"]
    ran("calibrate", "probabilities", tmp_path / "p.csv", *command)
    kept = [word for name in FORMULAS for word in ("--keep", name)]
    for kind in ("csv", "tsv", "jsonl"):
        ran("predict", tmp_path / "m", tmp_path / "p.csv", *kept, "--out", tmp_path / f"s.{kind}")
    shown = {"'=1+1", "'+x", "-3", "'@a", "''=b", "'c", "d=e", "'-f"}
    exact = pl.read_ndjson(tmp_path / "s.jsonl")
    for kind, between in (("csv", ","), ("tsv", "\t")):
        table = pl.read_csv(tmp_path / f"s.{kind}", separator=between, infer_schema=False)
        assert set(table["likeliest"]) == shown
        assert {name for item in table["set"] for name in (item or "").split("|")} - {""} == shown
    assert set(exact["likeliest"]) == set(FORMULAS)
    read = ["predict", tmp_path / "m", tmp_path / "s.csv", "--target", "likeliest"]
    counted = json.loads(ran(*read, "--out", tmp_path / "again.csv", "--json").stdout)
    assert (counted["labelled"], counted["strangers"]) == (400, 0)
    (thresholds,) = (tmp_path / "m").glob("model-*/thresholds.csv")
    assert set(pl.read_csv(thresholds, infer_schema=False)["class"]) == shown


@pytest.mark.parametrize("link", [None, Path.symlink_to, Path.hardlink_to])
def test_answers_do_not_replace_the_file_that_is_asked_about(model, place, tmp_path, link):
    new_rows = tmp_path / "new.csv"
    new_rows.write_text((place / "new.csv").read_text())
    out = new_rows if link is None else tmp_path / "other.csv"
    if link is not None:
        link(out, new_rows)
    done = run("predict", model, new_rows, "--out", out)
    assert f"--out {out} is the file that is asked about, and would replace it" in done.stderr
    assert new_rows.read_text() == out.read_text() == (place / "new.csv").read_text()


def test_answers_are_not_written_where_another_process_writes_them(model, place, tmp_path):
    beside = tmp_path / ".sets.csv.conftr-part"
    with beside.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = run("predict", model, place / "new.csv", "--out", tmp_path / "sets.csv")
    assert "another process is writing" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [beside.name]


def test_the_likeliest_come_first_where_probabilities_are_none():
    logits = np.array([[-150, -120, 0, -200]], np.float32)
    sets, kept = np.array([[True, True, True, False]]), pl.DataFrame()
    row = answers.frame(1, sets, logits, list("abcd"), kept)
    assert row["set"].to_list() == [["c", "b", "a"]]
    assert row["p_a"].to_list() == [0]


def test_too_few_rows_to_test_on_are_told_before_anything_is_trained(tmp_path):
    frame = pl.DataFrame({"x": range(6), "y": [*"aaaaa", "b"]})
    frame.write_csv(tmp_path / "few.csv")
    first = (order(frame.select("x"), seed_of(seed)).places[5] for seed in range(100))
    drawn = next(seed for seed, place in enumerate(first) if place == 0)  # the only b
    command = ["--target", "y", "--seed", drawn, "--out", tmp_path / "model"]
    done = run("fit", tmp_path / "few.csv", *command)
    assert "conftr: there is no row to test on: the 1 rows drawn for it" in done.stderr


def test_so_many_rows_to_test_on_that_a_sweep_may_have_seen_them_are_refused(place, tmp_path):
    command = [place / "rows.csv", *FIT, "--out", tmp_path / "model"]
    done = run("fit", *command, "--test-share", 0.55)
    assert "--test-share is too large: with the 63 rows that calibrate, 385" in done.stderr


def test_classes_far_below_the_promise_are_named_with_the_remedy(tmp_path):
    rng = np.random.default_rng(0)
    ill = rng.random(1500) < 0.1
    x = rng.normal(size=1500) + ill
    frame = pl.DataFrame({"x": x, "is ill": np.where(ill, "yes", "no")})
    frame.write_csv(tmp_path / "rows.csv")
    command = [tmp_path / "rows.csv", "--target", "is ill", *FIT[4:], "--out", tmp_path / "model"]
    content = json.loads(ran("fit", *command, "--json").stdout)
    assert content["verdict"] == "agrees"
    (below,) = content["classes_below"]
    assert below["name"] == "yes"
    assert below["covered"] < 0.5 * below["test_rows"]
    words = dict(summary.lines(content))
    assert words["Classes"].startswith("far below the promise, which is kept on average over")
    assert words["Classes"].endswith("--group-by 'is ill' keeps it for each class.")
    page = (tmp_path / "model" / "report.html").read_text()
    (sentences,) = re.findall(r'<p id="lagging">.*?</p>', page, re.DOTALL)
    assert "yes (" in sentences
    assert "--group-by is ill" in sentences


def test_the_terminal_and_the_page_round_alike():
    """39 classes in 40 sets are 0.975 a set, which a float is a little less than."""
    shown = Evidence(
        ("a", "b"),
        0.1,
        "thr",
        np.zeros(40, int),
        (
            ShownCandidate(
                "by hand", "", np.array([[10, 0]] * 39 + [[9, 0]]), np.full((40, 2), 0.5)
            ),
        ),
        np.zeros(40, int),
        ("all",),
        (99,),
    )
    assert f"{39 / 40:.2f}" == "0.97"
    words = dict(summary.lines(summary.summary(shown)))
    assert words["Size"].startswith("0.98 classes a set, 97.5 % hold one")
    assert numbers.headline(shown, 0.1)["size"] == "0.98"


def test_a_disk_that_is_read_only_is_told_in_words(capsys):
    with pytest.raises(typer.Exit), errors_in_words():
        raise OSError(errno.EROFS, "Read-only file system", "model/monitor.html")
    said = capsys.readouterr().err
    assert said.startswith("conftr: model/monitor.html cannot be written, as its disk is read-only")


def test_an_error_without_words_has_its_name(capsys):
    with pytest.raises(typer.Exit), errors_in_words():
        raise MemoryError
    with pytest.raises(typer.Exit), errors_in_words():
        raise typer.Abort
    assert capsys.readouterr().err.splitlines()[0] == "conftr: MemoryError"


def test_a_sweep_that_makes_no_sense_is_refused_at_once(place):
    done = run("sweep", place / "rows.csv", "--target", "colour", "--alpha", "0")
    assert "--alpha must lie strictly" in done.stderr
    assert done.exit_code == 1


def test_wrong_usage_exits_with_2():
    assert run("fit").exit_code == 2
    assert run("fit", "rows.csv", "--method", "magic").exit_code == 2
    assert run("predict", "model").exit_code == 2


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """A model of another system's outputs, and new ones: a file of 60 MB and one of 120."""
    folder = tmp_path_factory.mktemp("outside")
    p, y = outputs(20_000, 0)
    frame = pl.DataFrame(p, schema=CLASSES)
    frame[:500].with_columns(t=pl.Series([CLASSES[k] for k in y[:500]])).write_csv(folder / "p.csv")
    ran("calibrate", "probabilities", folder / "p.csv", "--target", "t", "--out", folder / "model")
    wide = frame.with_columns(
        pl.lit(f"nobody asked for column {i}").alias(f"x{i}") for i in range(10)
    )
    header, lines = wide.write_csv().split("\n", 1)
    (folder / "half.csv").write_text(f"{header}\n{10 * lines}")
    (folder / "large.csv").write_text(f"{header}\n{20 * lines}")
    return folder


PEAKS = """
import sys
from conftr.cli import app
for file in sys.argv[2:]:
    app(["predict", sys.argv[1], file, "--out", file + ".jsonl"], standalone_mode=False)
    status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
    print(status["VmHWM"].split()[0])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is asked of /proc")
def test_memory_does_not_grow_with_the_file(outside, tmp_path):
    # After the second file what is kept for blocks of rows is as large as it becomes.
    files = [outside / "half.csv", outside / "half.csv", outside / "large.csv"]
    assert files[2].stat().st_size > 120e6
    (tmp_path / "peaks.py").write_text(PEAKS)
    done = processes.run(tmp_path / "peaks.py", outside / "model", *files, cwd=tmp_path)
    assert done.code == 0, done.stderr
    _, half, large = (int(line) * 1024 for line in done.stdout.split())
    assert large - half < 30e6
    assert pl.scan_ndjson(f"{files[2]}.jsonl").select(pl.len()).collect().item() == 400_000


@pytest.fixture
def streams(tmp_path_factory):
    """A folder for what a process prints."""
    return tmp_path_factory.mktemp("streams")


def test_ctrl_c_leaves_nothing_behind(outside, tmp_path, streams):
    command = (
        "predict",
        outside / "model",
        outside / "large.csv",
        "--out",
        tmp_path / "sets.parquet",
    )
    with processes.Started(processes.CONFTR, *command, cwd=streams) as child:
        child.until(lambda: any(tmp_path.iterdir()))
        child.send_signal(signal.SIGINT)
        done = child.wait()
    assert done == (1, "", "conftr: stopped. Nothing was written.\n")
    assert not any(tmp_path.iterdir())


def test_what_a_killed_process_left_is_gone_after_the_next(outside, tmp_path, streams):
    out = tmp_path / "sets.csv"
    command = "predict", outside / "model", outside / "large.csv", "--out", out
    with processes.Started(processes.CONFTR, *command, cwd=streams) as child:
        child.until(lambda: any(tmp_path.iterdir()))
        child.kill()
    assert [path.name for path in tmp_path.iterdir()] == [".sets.csv.conftr-part"]
    ran("predict", outside / "model", outside / "p.csv", "--out", out)
    assert [path.name for path in tmp_path.iterdir()] == ["sets.csv"]


def test_sets_go_to_a_file_where_progress_goes_to_a_terminal(outside, streams):
    terminal, other_end = pty.openpty()
    (streams / "stderr.txt").symlink_to(os.ttyname(other_end))
    with processes.Started(
        processes.CONFTR, "predict", outside / "model", outside / "p.csv", cwd=streams
    ) as child:
        child.process.join(processes.PATIENCE)
    os.close(other_end)
    assert "500 rows" in os.read(terminal, 100_000).decode()
    os.close(terminal)
    assert len(pl.read_csv(streams / "stdout.txt")) == 500


NOISY = """
import os, subprocess, sys, typer
from conftr.cli import app, main
@app.command()
def noise():
    os.write(1, b"from another language\\n")
    subprocess.run(["echo", "from another process"])
    typer.echo("{}")
    os.write(1, b"more\\n")
sys.argv = ["conftr", "noise"]
main()
"""


def test_standard_output_is_for_results_alone(streams):
    (streams / "noisy.py").write_text(NOISY)
    done = processes.run(streams / "noisy.py", cwd=streams)
    assert done.stdout == "{}\n"
    assert done.stderr == "from another language\nfrom another process\nmore\n"


@pytest.mark.slow  # a process for each way to close it
def test_a_closed_standard_output_is_told_in_words(outside, tmp_path):
    command = f"predict {outside / 'model'} {outside / 'p.csv'}"
    program = f"{sys.executable} -m conftr {command}"
    shell = {"shell": True, "capture_output": True, "text": True, "timeout": processes.PATIENCE}
    done = subprocess.run(f"{program} >&-", check=False, **shell)
    words = "conftr: standard output, where the sets would go, is closed: give --out.\n"
    assert (done.returncode, done.stderr) == (1, words)
    subprocess.run(f"{program} --out {tmp_path}/sets.csv >&- 2>&- <&-", check=True, **shell)
    assert len(pl.read_csv(tmp_path / "sets.csv")) == 500


def test_a_reader_that_has_seen_enough_is_no_error(outside, streams):
    os.mkfifo(streams / "stdout.txt")
    command = "predict", outside / "model", outside / "large.csv"
    with processes.Started(processes.CONFTR, *command, cwd=streams) as child:
        with (streams / "stdout.txt").open() as sets:
            assert sets.readline() == "row,set,size,likeliest,p_blue,p_green,p_red\n"
        child.process.join(processes.PATIENCE)
    assert child.process.exitcode == 0
    assert "Traceback" not in (streams / "stderr.txt").read_text()


def test_cross_conformal(tmp_path):
    """Every row that is not tested on trains and calibrates; the weaker promise is told."""
    rows(100, 3).write_csv(tmp_path / "few.csv")
    rows(40, 4).drop("colour", "id").write_csv(tmp_path / "new.csv")
    wanted = ["--target", "colour", "--drop", "id", "--members", "logistic", "--head", "mean"]
    place = ["--cross-conformal", 4, "--out", tmp_path / "model"]
    result = summary_of(ran("fit", tmp_path / "few.csv", *wanted, *place))
    assert result["Promise"].startswith("at least 72.9 % of the sets hold the true class")
    assert "usually about 90 %" in result["Promise"]
    out = tmp_path / "sets.csv"
    ran("predict", tmp_path / "model", tmp_path / "new.csv", "--out", out, "--p-values")
    clf, answered = artefact.load(tmp_path / "model"), pl.read_csv(out)
    assert (clf.n_train_, clf.n_calibration_) == (80, 80)
    expected = clf.p_values(pl.read_csv(tmp_path / "new.csv", schema_overrides={"code": pl.String}))
    np.testing.assert_allclose(answered["pvalue_red"], expected[:, 2], atol=1e-5)
    assert "cross-conformal" in run("monitor", tmp_path / "model", tmp_path / "new.csv").output
    assert "cross_conformal" in run("calibrate", tmp_path / "model", tmp_path / "few.csv").output
