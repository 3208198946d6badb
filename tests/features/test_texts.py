import json

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from conftr.data.sentences import are_sentences, words
from conftr.features import codes, texts, word_vectors
from conftr.features.encoders import EncoderError
from conftr.features.frame_columns import FrameColumns
from conftr.features.ngrams import Ngrams
from conftr.features.rows import by_chance
from conftr.features.text_columns import NgramColumns, TextColumns
from conftr.features.topics import Topics
from conftr.features.word_vectors import NOTHING, STEP, WordOrder

SENTENCES = [f"where is the card number {i} that i ordered" for i in range(30)]
ODD = [
    "",
    " ",
    "\x00",
    "\u202eright to left\u202c",
    "مرحبا بالعالم",
    "👩‍👩‍👧 🎉",
    "!!! ... ???",
    "a" * 50,
]


def test_sentences_are_told_from_categories():
    assert are_sentences(SENTENCES, 30)
    assert not are_sentences(["married", "never married", "widowed"] * 10, 1000)
    assert not are_sentences([f"code{i}" for i in range(500)], 500)  # one word each
    assert not are_sentences(SENTENCES, 1000)  # 30 sentences in 1,000 rows: standard answers
    assert are_sentences([f"我的银行卡什么时候到{chr(0x4E00 + i)}" for i in range(40)], 40)
    assert words("don't pay £3.50 twice!") == ["don't", "pay", "3.50", "twice"]


def test_columns_of_texts_are_recognised_or_named_and_categorical_ones_left():
    frame = pl.DataFrame({"a": SENTENCES, "b": list(map(str, range(30))), "c": range(30)})
    opened = nw.from_native(frame, eager_only=True)
    assert texts.columns_of_texts(opened) == ("a",)
    assert texts.columns_of_texts(opened, ["b", "a"]) == ("a", "b")
    assert texts.columns_of_texts(opened, []) == ()
    with pytest.raises(ValueError, match="'z', which X does not have"):
        texts.columns_of_texts(opened, ["z"])
    with pytest.raises(ValueError, match="column 'c' must hold texts"):
        texts.columns_of_texts(opened, ["c"])
    categories = frame.with_columns(pl.col("a").cast(pl.Categorical))
    assert isinstance(codes.learn(categories), FrameColumns)


def test_cleaning_keeps_what_is_said_and_drops_how_it_is_written():
    assert texts.clean("  ＣＡＲＤ\x00 Lost\n\n!") == "card lost !"
    assert texts.clean("\ud800 x") == "? x"  # half of a pair of surrogates, which is no letter
    assert len(texts.clean("ab" * texts.LONGEST)) == texts.LONGEST


def test_long_texts_are_told():
    frame = pl.DataFrame({"a": ["x" * (texts.LONGEST + 1), None, "y"]})
    with pytest.warns(texts.TextWarning, match="1 text has more than 10,000 letters"):
        texts.warn_of_long(frame, ["a"])
    texts.warn_of_long(frame[1:], ["a"])


@pytest.mark.parametrize(
    "rows",
    [["one", None, "two"], np.array(["one", "two"]), pd.Series(["one", np.nan], dtype=object)],
)
def test_plain_texts_become_a_frame_of_one_column(rows):
    result = texts.as_frame(rows)
    assert result.columns == [texts.TEXT]
    assert result[texts.TEXT][0] == "one"


def test_what_is_no_texts_stays_as_it_is():
    for rows in (np.zeros(3), [1, 2], [], np.array([["a", "b"]]), [None, None]):
        assert texts.as_frame(rows) is rows


def test_ngrams_weigh_by_hand():
    result = Ngrams.learn(["red card", "red car", "blue"]).of_words
    assert len(result.hashes) == 1  # only "red" is in two texts
    np.testing.assert_allclose(result.weights, np.log(4 / 3) + 1)
    row = Ngrams.learn(["red card", "red car", "blue"]).encode(["red red card"]).toarray()
    assert row[0, 0] == 1.0  # alone among its kind, whatever it weighs
    letters = row[0, 1:]
    np.testing.assert_allclose(np.linalg.norm(letters), 1.0)


def test_ngrams_tell_words_from_pairs_and_pairs_by_their_order():
    learned = Ngrams.learn(["not good very bad", "not good very bad", "very good not bad"] * 2)
    first, second = learned.encode(["not good", "good not"]).toarray()
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("kind", [Ngrams, Topics])
def test_a_text_is_read_the_same_alone_and_among_others_and_after_being_written(kind):
    sentences = [*SENTENCES, *ODD]
    learned = kind.learn(sentences)
    again = kind.from_json(learned.to_json())
    whole = _array(again.encode(sentences))
    np.testing.assert_array_equal(_array(learned.encode(sentences)), whole)
    for i in (0, 31, 34, 36):
        np.testing.assert_array_equal(_array(learned.encode([sentences[i]]))[0], whole[i])


def test_word_vectors_are_means_and_extremes_and_refuse_others(monkeypatch):
    pytest.importorskip("wordllama")
    from conftr.features import word_vectors
    from conftr.features.word_vectors import WordVectors

    learned = WordVectors.learn([*SENTENCES, *ODD])
    result = learned.encode(["card", "", "card lost"])
    assert not result[1].any()  # nothing is said
    d = (learned.width - 1) // 3
    np.testing.assert_allclose(result[0, :d], result[0, d : 2 * d], atol=1e-6)  # one piece
    assert (result[2, d : 2 * d] >= result[2, :d] - 1e-6).all()
    assert (result[2, 2 * d : -1] <= result[2, :d] + 1e-6).all()
    content = learned.to_json()
    np.testing.assert_array_equal(WordVectors.from_json(content).encode(ODD), learned.encode(ODD))
    content["encoder"]["sha256"] = "0" * 64
    with pytest.raises(EncoderError, match="fitted with the encoder wordllama"):
        WordVectors.from_json(content)
    monkeypatch.setattr(word_vectors, "is_here", lambda: False)
    word_vectors._files.cache_clear()
    with pytest.raises(EncoderError, match=r"conftr\[text\]"):
        WordVectors.learn(SENTENCES)


def test_words_are_kept_in_their_order_as_bytes():
    pytest.importorskip("wordllama")
    texts = ["my card is lost", "lost", "", "card " * 500]
    order = WordOrder.learn([*texts[:3]] * 30)
    assert order.inputs == (4, 256)
    result = order.encode(texts)
    assert result.dtype == np.uint8
    vectors = [word_vectors._files().vectors[piece] for piece in word_vectors._pieces(texts[:2])]
    near = (result[0].astype(float) - NOTHING) * STEP
    np.testing.assert_allclose(near, np.clip(vectors[0], -127 * STEP, 127 * STEP), atol=STEP)
    np.testing.assert_array_equal(result[1, 0], result[0, 3])
    assert (result[1, 1:] == NOTHING).all()
    assert (result[2] == NOTHING).all()
    assert WordOrder.learn(texts[3:]).length == 64  # no more of a long text is read
    assert WordOrder.from_json(json.loads(json.dumps(order.to_json()))) == order


def test_a_table_with_texts_has_its_numbers_and_categories_too():
    n = len(SENTENCES)
    frame = pl.DataFrame(
        {"said": [*SENTENCES[:-1], None], "age": np.arange(n), "plan": ["a", "b"] * (n // 2)}
    )
    reader = codes.learn(frame)
    assert isinstance(reader, TextColumns)
    matrix = reader.encode(frame.select("plan", "said", "age"))  # in any order
    assert matrix.shape == (n, reader.width)
    np.testing.assert_array_equal(matrix[:, 0], np.arange(n))
    assert reader.levels == {1: 2}
    again = codes.from_json(reader.to_json())
    np.testing.assert_array_equal(again.encode(frame), matrix)
    sparse = NgramColumns.learn(frame, ["said"])
    rows = sparse.encode(frame)
    assert len(rows[np.array([1, 2])]) == 2
    np.testing.assert_array_equal(
        NgramColumns.from_json(sparse.to_json()).encode(frame).matrix.toarray(),
        rows.matrix.toarray(),
    )
    with pytest.raises(ValueError, match="lacks 'age'"):
        reader.encode(frame.drop("age"))


def test_texts_without_a_word_in_common_are_refused():
    pytest.importorskip("wordllama")
    frame = pl.DataFrame({"said": ["alpha beta gamma", "delta epsilon zeta"] + [None] * 6})
    assert TextColumns.learn(frame, ["said"]).width > 0  # word vectors tell them apart


def test_equal_texts_are_copies_and_equal_categories_are_not():
    assert not by_chance(pl.DataFrame({"said": SENTENCES * 2}))
    assert by_chance(pl.DataFrame({"colour": ["red", "blue"] * 30}))


def _array(result):
    return result.toarray() if hasattr(result, "toarray") else result
