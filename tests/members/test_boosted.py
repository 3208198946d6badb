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
    found = member.out_of_fold(training.inputs, folds).argmax(axis=1)
    assert (found == training.labels).mean() > 0.6
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


def test_without_lightgbm_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    assert not boosted.is_here()
    with pytest.raises(MemberError, match=r"pip install 'conftr\[boosted\]'"):
        fitted(SMALL, rows())
