import sys

import numpy as np
import pytest

from conftr.members import boosted
from conftr.members.boosted import Boosted
from conftr.members.member import FLOOR, MemberError
from small_table import fitted, frame, one_by_one, rows, without_class

pytest.importorskip("lightgbm")

SMALL = Boosted(rounds=8)


def test_it_learns_from_numbers_and_categories_with_gaps():
    training = rows()
    (member,), folds = fitted(SMALL, training)
    answers = member.out_of_fold(training.inputs, folds).argmax(axis=1)
    assert (answers == training.labels).mean() > 0.6
    assert "rounds" in member.words


def test_a_row_alone_and_loaded_trees_give_the_same_bits():
    training = rows()
    (member,), _ = fitted(SMALL, training)
    x, _ = frame(30, seed=1)
    np.testing.assert_array_equal(one_by_one(member, x), member.logits(x))
    inputs = training.reader.encode(x)
    for model in member.models:
        np.testing.assert_array_equal(
            boosted.load(model.files()).logits(inputs), model.logits(inputs)
        )


def test_no_rows_give_no_answers():
    (member,), _ = fitted(SMALL, rows())
    assert member.logits(frame()[0][:0]).shape == (0, 3)


def test_a_class_that_a_fold_lacks_gets_the_floor():
    training = rows()
    folds = without_class(training, 1)
    (member,) = SMALL.fit(training, folds, seed=0, progress=lambda *_: None)
    np.testing.assert_allclose(np.exp(member.answers(training.inputs)[:, 1]), FLOOR / 3)


def test_classes_that_do_not_fit_the_trees_are_refused():
    (member,), _ = fitted(SMALL, rows())
    ((name, content),) = member.models[0].files().items()
    with pytest.raises(MemberError, match="does not fit its classes"):
        boosted.load({name: content.replace(b"known 0 1 2", b"known 0 1", 1)})
    with pytest.raises(MemberError, match="does not fit its classes"):
        boosted.load({name: content.replace(b"known 0 1 2", b"known -1 1 2", 1)})


def changed(text, name, change):
    """The text with the values of a line of its first tree changed, and sizes that fit again."""
    first = text.index("\nTree=") + 1
    start = text.index(f"\n{name}=", first) + len(name) + 2
    end = text.index("\n", start)
    values = change(text[start:end].split())
    tampered = text[:start] + " ".join(values) + text[end:]
    size = text[first:].index("\nTree=1\n") + 1
    return tampered.replace(
        f"tree_sizes={size} ", f"tree_sizes={size + len(tampered) - len(text)} "
    )


def first(value):
    return lambda values: [value, *values[1:]]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("left_child", first("999999")),  # beyond the tree's nodes
        ("right_child", first("-7777")),  # beyond its leaves
        ("left_child", first("0")),  # round and round
        ("split_feature", first("77")),
        ("threshold", first("nan")),
        ("leaf_value", first("nan")),
        ("leaf_value", lambda values: values[1:]),
        ("decision_type", first("1")),  # a set of categories that is not there
        ("num_leaves", first("999999999")),
        ("num_cat", first("5")),
        ("internal_count", first("x")),
        ("Tree", first("7")),
        ("is_linear", first("1")),
    ],
)
def test_text_that_would_end_the_process_is_refused(name, change):
    """LightGBM reads trees in threads, where what it raises ends the process."""
    (member,), _ = fitted(Boosted(rounds=2), rows())
    ((file, content),) = member.models[0].files().items()
    other = changed(content.decode(), name, change)
    assert other != content.decode()
    with pytest.raises(MemberError, match="trees lead nowhere"):
        boosted.load({file: other.encode()})


@pytest.mark.parametrize("cut", ["tree_sizes=", "max_feature_idx=", "end of trees", "num_leaves="])
def test_text_that_lacks_a_line_is_refused(cut):
    (member,), _ = fitted(Boosted(rounds=2), rows())
    ((file, content),) = member.models[0].files().items()
    lines = content.decode().split("\n")
    lines.remove(next(line for line in lines if line.startswith(cut)))
    with pytest.raises(MemberError, match="trees lead nowhere"):
        boosted.load({file: "\n".join(lines).encode()})


def test_without_lightgbm_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    assert not boosted.is_here()
    with pytest.raises(MemberError, match=r"pip install 'conftr\[boosted\]'"):
        fitted(SMALL, rows())
