"""Texts through the estimator: recognised, learned, calibrated, saved, asked one by one."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest

import conftr
from conftr.classifier.choosing_members import requested_members
from conftr.features import word_vectors
from conftr.features.texts import TextWarning
from conftr.jobs import predicting
from conftr.members import Logistic
from conftr.members.ngrams import NgramLogistic
from conftr.training import WordNet
from small_texts import messages

# Networks take most of the time, and what they do with a matrix is tested elsewhere.
QUICK = [NgramLogistic(), Logistic(strength=30.0)]
ODD = ["", " \t ", "\x00\x01", "🎉🎉", "שלום עולם", "\u202eabc", "?!", "a" * 60_000, None]


@pytest.fixture(scope="module")
def fitted():
    rows = messages(400)
    clf = conftr.ConformalClassifier(alpha=0.1, members=QUICK, random_state=0)
    return clf.fit(rows.select("said"), rows["kind"].to_numpy())


def test_texts_are_learned_and_sets_keep_their_promise(fitted):
    new = messages(400, seed=1)
    covered = fitted.coverage(new.select("said"), new["kind"].to_numpy())
    assert 0.84 < covered < 0.97
    assert fitted.set_size(new.select("said")) < 2


def test_a_text_has_the_same_answer_alone_in_a_batch_and_after_loading(fitted, tmp_path):
    new = messages(20, seed=2).select("said")
    conftr.save(fitted, tmp_path / "model")
    again = conftr.load(tmp_path / "model")
    whole = fitted.predict_proba(new)
    np.testing.assert_array_equal(again.predict_proba(new), whole)
    for i in (0, 7, 19):
        np.testing.assert_array_equal(again.predict_proba(new[i : i + 1])[0], whole[i])
    assert not any("pickle" in path.name for path in (tmp_path / "model").rglob("*"))


def test_a_network_on_words_in_order_is_saved_and_answers_one_by_one(tmp_path):
    pytest.importorskip("wordllama")
    rows, new = messages(200), messages(40, seed=2)
    table = rows.select("said").with_columns(amount=pl.Series(range(200)))
    (member,) = requested_members("words")
    few = replace(member, steps=60, architecture=partial(WordNet, filters=16))
    clf = conftr.ConformalClassifier(alpha=0.1, members=few, random_state=0)
    clf.fit(table, rows["kind"].to_numpy())
    new_rows = new.select("said").with_columns(amount=pl.lit(1))
    whole = clf.predict_proba(new_rows)
    assert (clf.predict(new_rows) == new["kind"].to_numpy()).mean() > 0.6
    conftr.save(clf, tmp_path / "model")
    again = conftr.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(new_rows), whole)
    np.testing.assert_array_equal(again.predict_proba(new_rows[3:4])[0], whole[3])
    odd = pl.DataFrame({"said": ODD[:5], "amount": range(5)})
    assert np.isfinite(again.predict_proba(odd)).all()
    odd.write_csv(tmp_path / "odd.csv")
    predicting.predict(
        again, tmp_path / "odd.csv", tmp_path / "sets.csv", predicting.Request(), lambda _: None
    )
    assert len(pl.read_csv(tmp_path / "sets.csv")) == 5
    with pytest.raises(ValueError, match="no column of the rows holds texts"):
        clf.fit(table.select("amount", other=pl.col("amount") % 7), rows["kind"].to_numpy())


def test_odd_texts_have_an_answer_each(fitted):
    with pytest.warns(TextWarning, match="1 text has more than 10,000 letters"):
        probabilities = fitted.predict_proba(pl.DataFrame({"said": ODD}))
    assert np.isfinite(probabilities).all()
    np.testing.assert_array_equal(
        probabilities[0], probabilities[-1]
    )  # nothing said, and nothing there


def test_p_values_and_calibrating_anew_work_on_texts(fitted, tmp_path):
    conftr.save(fitted, tmp_path / "model")
    clf, new = conftr.load(tmp_path / "model"), messages(300, seed=3)
    p = clf.p_values(new.select("said"))
    np.testing.assert_array_equal(p > 0.1, clf.predict_set(new.select("said"), alpha=0.1))
    clf.calibrate(new.select("said"), new["kind"].to_numpy(), alpha=0.2)
    assert clf.n_calibration_ <= 300


def test_a_list_of_texts_goes_as_a_frame_of_one_column_does():
    rows = messages(200)
    clf = conftr.ConformalClassifier(alpha=0.2, members="n-grams", random_state=0)
    listed = clf.fit(rows["said"].to_list(), rows["kind"].to_numpy()).predict_proba(
        ["my card is lost", "hello"]
    )
    series = pd.Series(["my card is lost", "hello"])
    np.testing.assert_array_equal(clf.predict_proba(series), listed)
    np.testing.assert_array_equal(clf.predict_proba(pl.DataFrame({"text": list(series)})), listed)


def test_texts_beside_numbers_and_categories_are_all_heard():
    rows = messages(300, noise=1.0)
    rng = np.random.default_rng(0)
    amount = np.where(rows["kind"] == "transfer", 100.0, 0.0) + rng.normal(size=300)
    table = rows.select("said").with_columns(
        amount=pl.Series(amount), plan=pl.Series(rng.choice(["a", "b"], 300))
    )
    y = rows["kind"].to_numpy()
    clf = conftr.ConformalClassifier(alpha=0.2, members=QUICK, random_state=0).fit(table, y)
    changed = table.with_columns(amount=pl.lit(100.0))
    before, after = (clf.predict_proba(item) for item in (table, changed))
    place = clf.classes_.tolist().index("transfer")
    assert after[:, place].mean() > before[:, place].mean() + 0.2
    pandas = pd.DataFrame(table.to_dict(as_series=False))
    np.testing.assert_allclose(clf.predict_proba(pandas), before)


def test_named_texts_are_read_and_categorical_columns_are_not(monkeypatch):
    rows = messages(200)
    y = rows["kind"].to_numpy()
    plans = conftr.ConformalClassifier(members="auto").planned_members
    assert "n-grams" in plans(rows.select("said"), y)
    assert "n-grams" not in plans(rows.select(pl.col("said").cast(pl.Categorical)), y)
    short = rows.select(said=pl.col("said").str.split(" ").list.first())
    named = conftr.ConformalClassifier(texts="said").planned_members
    assert "n-grams" not in plans(short, y)
    assert "n-grams" in named(short, y)
    with pytest.raises(ValueError, match="'other', which X does not have"):
        conftr.ConformalClassifier(texts=["other"]).fit(short, y)


def test_without_word_vectors_topics_and_ngrams_do(monkeypatch):
    monkeypatch.setattr(word_vectors, "is_here", lambda: False)
    rows, new = messages(300), messages(200, seed=1)
    clf = conftr.ConformalClassifier(alpha=0.1, members=QUICK, random_state=0)
    clf.fit(rows.select("said"), rows["kind"].to_numpy())
    assert clf.set_size(new.select("said")) < 2


def test_another_encoder_is_refused_when_a_model_is_loaded(tmp_path, monkeypatch):
    pytest.importorskip("wordllama")
    rows = messages(200)
    clf = conftr.ConformalClassifier(alpha=0.2, members="logistic", random_state=0)
    conftr.save(clf.fit(rows["said"].to_list(), rows["kind"].to_numpy()), tmp_path / "model")
    other = word_vectors._files()._replace(encoder=word_vectors.Encoder("another", "9", "0" * 64))
    monkeypatch.setattr(word_vectors, "_files", lambda: other)
    with pytest.raises(ValueError, match=r"fitted with the encoder wordllama.*here is another 9"):
        conftr.load(tmp_path / "model")


def test_texts_cannot_be_exported_and_words_say_what_can_be_done(fitted, tmp_path):
    with pytest.raises(ValueError, match=r"'said' holds texts.*conftr.load"):
        conftr.export(fitted, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
