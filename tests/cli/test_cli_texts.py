"""Files with a column of texts: fit, predict, calibrate, export, the report; odd texts."""

import json

import numpy as np
import polars as pl
import pytest

from commands import ran, run
from small_texts import messages

ODD = [
    "",
    "   ",
    "\x00",
    "\x1b[31mred\x07",
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "שלום \u202eעולם",
    "?!...",
    "<script>alert(1)</script>",
    "=1+1",
    "x" * 1_000_000,
    'card,"lost"\nand stolen',
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of messages of which some are odd."""
    folder = tmp_path_factory.mktemp("texts")
    rows = messages(400)
    odd = pl.DataFrame({"said": ODD, "kind": ["greeting"] * len(ODD)})
    pl.concat([rows, odd]).write_csv(folder / "messages.csv")
    done = ran(
        *("fit", folder / "messages.csv", "--target", "kind", "--out", folder / "model"),
        *("--members", "n-grams,logistic", "--seed", 1),
    )
    assert "more than 10,000 letters" in " ".join(done.stderr.split())
    assert "Read as texts: 'said'." in " ".join(done.stderr.split())
    return folder / "model"


def test_the_report_shows_texts_escaped_and_stays_small(model):
    page = (model / "report.html").read_text()
    assert len(page) < 3_000_000
    assert "<script>alert(1)" not in page
    assert any(text[:12] in page for text in messages(400)["said"].to_list())


def test_answers_stand_beside_the_texts(model, tmp_path):
    new = messages(30, seed=5)
    new.write_csv(tmp_path / "new.csv")
    ran(
        "predict", model, tmp_path / "new.csv", "--out", tmp_path / "sets.csv", "--no-probabilities"
    )
    table = pl.read_csv(tmp_path / "sets.csv")
    assert table.columns == ["row", "said", "set", "size", "likeliest"]
    assert table["said"].to_list() == new["said"].to_list()


def test_odd_texts_are_answered_one_by_one_and_together(model, tmp_path):
    pl.DataFrame({"said": [*ODD, None]}).write_parquet(tmp_path / "odd.parquet")
    done = ran("predict", model, tmp_path / "odd.parquet", "--out", tmp_path / "sets.parquet")
    assert "1 text has more than 10,000 letters" in " ".join(done.stderr.split())
    whole = pl.read_parquet(tmp_path / "sets.parquet")
    assert len(whole) == len(ODD) + 1
    pl.DataFrame({"said": [ODD[4]]}).write_parquet(tmp_path / "one.parquet")
    ran("predict", model, tmp_path / "one.parquet", "--out", tmp_path / "set.parquet")
    item = pl.read_parquet(tmp_path / "set.parquet")
    assert item.drop("row").rows() == whole.drop("row")[4:5].rows()


def test_calibrating_monitoring_and_p_values_work_on_texts(model, tmp_path):
    messages(300, seed=7).write_csv(tmp_path / "later.csv")
    words = ran(
        *("calibrate", model, tmp_path / "later.csv", "--target", "kind", "--alpha", 0.2),
        *("--out", tmp_path / "again"),
    )
    assert words.exit_code == 0
    messages(60, seed=8).write_csv(tmp_path / "seen.csv")
    ran("monitor", tmp_path / "again", tmp_path / "seen.csv", "--target", "kind")
    ran("predict", model, tmp_path / "seen.csv", "--p-values", "--out", tmp_path / "p.csv")
    assert "pvalue_transfer" in pl.read_csv(tmp_path / "p.csv").columns


def test_exporting_texts_is_refused_in_words_and_writes_nothing(model, tmp_path):
    done = run("export", model, tmp_path / "model.onnx")
    assert done.exit_code != 0
    assert "holds texts" in " ".join(done.output.split())
    assert not list(tmp_path.iterdir())


def test_a_table_without_the_column_of_texts_is_refused_in_words(model, tmp_path):
    pl.DataFrame({"other": ["a"]}).write_csv(tmp_path / "other.csv")
    done = run("predict", model, tmp_path / "other.csv", "--out", tmp_path / "sets.csv")
    assert done.exit_code != 0
    assert "there is no column 'said'" in " ".join(done.output.split())
    assert not (tmp_path / "sets.csv").exists()


def test_arrays_of_texts_are_answered_as_a_column_of_them_is(model, tmp_path):
    new = messages(30, seed=5)
    texts = [*new["said"].to_list(), "👩‍👩‍👧‍👦", "\u202eעולם", "a\0b", ""]
    pl.DataFrame({"said": texts}).write_parquet(tmp_path / "new.parquet")
    np.save(tmp_path / "new.npy", np.array(texts))
    np.savez(tmp_path / "new.npz", X=np.array([item.encode() for item in texts]))
    results = []
    for name in ("new.parquet", "new.npy", "new.npz"):
        ran("predict", model, tmp_path / name, "--out", tmp_path / "sets.parquet")
        results.append(pl.read_parquet(tmp_path / "sets.parquet"))
    assert results[0]["said"].to_list() == texts
    assert all(item.equals(results[0]) for item in results)
    np.save(tmp_path / "numbers.npy", np.zeros((3, 2)))
    done = run("predict", model, tmp_path / "numbers.npy", "--out", tmp_path / "no.csv")
    assert "learned from a table with columns" in " ".join(done.output.split())
    assert not (tmp_path / "no.csv").exists()


def test_arrays_of_texts_are_learned_from_calibrated_and_watched(tmp_path):
    rows, later = messages(240), messages(200, seed=7)
    np.savez(tmp_path / "a.npz", X=rows["said"].to_numpy().astype(str), y=rows["kind"].to_list())
    np.savez(tmp_path / "b.npz", X=later["said"].to_numpy().astype(str), y=later["kind"].to_list())
    quick = ("--members", "n-grams", "--alpha", 0.3, "--seed", 0)
    done = ran("fit", tmp_path / "a.npz", *quick, "--out", tmp_path / "model")
    assert "Read as texts: 'text'." in " ".join(done.stderr.split())
    ran("calibrate", tmp_path / "model", tmp_path / "b.npz", "--out", tmp_path / "again")
    ran("monitor", tmp_path / "again", tmp_path / "b.npz")
    ran("predict", tmp_path / "again", tmp_path / "b.npz", "--out", tmp_path / "sets.csv")
    assert pl.read_csv(tmp_path / "sets.csv")["text"].to_list() == later["said"].to_list()


def test_columns_are_named_as_texts_or_as_categories(tmp_path):
    rows = messages(120).with_columns(code=pl.int_range(120) % 7)
    rows.write_csv(tmp_path / "messages.csv")
    done = run("fit", tmp_path / "messages.csv", "--target", "kind", "--text", "nothing")
    assert "there is no column 'nothing'" in " ".join(done.output.split())
    quick = ("--members", "logistic", "--alpha", 0.3, "--json", "--seed", 0)
    for option, words in (("--text", "code"), ("--category", "said")):
        out = tmp_path / option
        ran(
            *("fit", tmp_path / "messages.csv", "--target", "kind", option, words, "--out", out),
            *quick,
        )
        (stack,) = out.glob("model-*/stack.json")
        texts = json.loads(stack.read_text())["readers"][0].get("texts", {})
        assert list(texts) == (["code"] if option == "--text" else [])
