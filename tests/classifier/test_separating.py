import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import conftr
from conftr.classifier import separating
from conftr.classifier.separating import Apart, Wishes, wishes_of
from conftr.conformal.arrays import log_softmax
from conftr.members.member import MemberError

CLASSES = ["a", "b", "c", "d"]


def wished(p, *apart, sizes=(1.0, 1.0, 1.0, 1.0)):
    return np.exp(Wishes(apart, sizes).followed(np.log(np.array([p]))))[0]


def test_the_weaker_class_of_a_pair_pays_and_the_likeliest_has_the_rest():
    # P = .5 + .3, so that b counts as .3 / (1 + 10 * .8).
    followed = wished([0.5, 0.3, 0.1, 0.1], Apart((0,), (1,), 10.0, one_way=False))
    assert followed == pytest.approx([0.8 - 0.3 / 9, 0.3 / 9, 0.1, 0.1])


def test_only_rows_of_the_first_side_count_in_a_wish_of_one_way():
    followed = wished([0.5, 0.3, 0.1, 0.1], Apart((1,), (0,), 10.0, one_way=True))
    assert followed[1] == pytest.approx(0.3 / (1 + 10 * 0.3))


def test_the_classes_of_a_side_share_its_price():
    # Of the side of b and c the largest alone is .25 / (1 + .9 w), both .45 / (2 + .9 w): w = 5.
    followed = wished([0.45, 0.25, 0.2, 0.1], Apart((0,), (1, 2), 5.0, one_way=False))
    assert followed[1:3] == pytest.approx([0.45 / 6.5, 0.45 / 6.5])
    assert followed[3] == pytest.approx(0.1)


def test_a_class_with_several_wishes_pays_the_highest_price():
    pair = Apart((0,), (1,), 10.0, one_way=False)
    followed = wished([0.5, 0.3, 0.1, 0.1], pair, Apart((0,), (1,), 2.0, one_way=False))
    assert followed == pytest.approx(wished([0.5, 0.3, 0.1, 0.1], pair))


def test_size_weights_lower_all_but_the_likeliest():
    followed = wished([0.5, 0.3, 0.1, 0.1], sizes=(4.0, 2.0, 2.0, 2.0))
    assert followed[1:] == pytest.approx(np.array([0.3, 0.1, 0.1]) / 1.5)


@given(st.integers(0, 1000), st.floats(1e-3, 1e6))
def test_log_probabilities_stay_such_and_the_likeliest_class_stays(seed, weight):
    logs = log_softmax(np.random.default_rng(seed).normal(0, 5, (20, 4)))
    shape = conftr.Shape(
        {"c": 3.0}, [conftr.Avoid("a", "b", weight)], [conftr.Separate(["a"], ["c", "d"], weight)]
    )
    followed = wishes_of(shape, CLASSES).followed(logs)
    assert np.exp(followed).sum(axis=1) == pytest.approx(np.ones(20))
    likeliest = np.take_along_axis(logs, followed.argmax(axis=1)[:, None], axis=1)[:, 0]
    assert (likeliest >= logs.max(axis=1) - 3 * separating.HANDICAP).all()
    others = followed < logs + 1e-12
    assert (others.sum(axis=1) >= 3).all()


def test_the_first_of_equally_likely_classes_is_the_likeliest_whichever_side_it_is_on():
    for sides in (((0,), (1,)), ((1,), (0,))):
        followed = wished([0.4, 0.4, 0.1, 0.1], Apart(*sides, 10.0, one_way=False))
        assert followed == pytest.approx([0.8 - 0.4 / 9, 0.4 / 9, 0.1, 0.1])


def test_rounding_does_not_decide_which_side_comes_first(rng):
    logs = log_softmax(np.round(rng.normal(size=(200, 4))))  # most rows tie
    wishes = wishes_of(conftr.Shape({"a": 2.0}, separate=[(["a", "d"], ["b", "c"])]), CLASSES)
    moved = logs + rng.normal(size=logs.shape) * 1e-7
    np.testing.assert_allclose(wishes.followed(moved), wishes.followed(logs), atol=1e-5)


def test_a_row_is_the_same_to_the_last_bit_whatever_stands_beside_it():
    logs = log_softmax(np.random.default_rng(0).normal(0, 2, (50, 4)))
    wishes = wishes_of(conftr.Shape({"a": 2.0}, separate=[(["a", "b"], ["c", "d"])]), CLASSES)
    alone = np.concatenate([wishes.followed(row[None]) for row in logs])
    assert np.array_equal(wishes.followed(logs), alone)


def test_wishes_are_saved_and_read_and_refused_where_they_do_not_fit():
    shape = conftr.Shape({"a": 2.0}, [("a", "b")], [(["a"], ["c", "d"])])
    wishes = wishes_of(shape, CLASSES)
    content = wishes.to_json()
    assert separating.load(content, 4) == wishes
    with pytest.raises(MemberError, match="do not fit 3 classes"):
        separating.load(content, 3)
    content["apart"][0]["first"] = [7]
    with pytest.raises(MemberError, match="do not fit 4 classes"):
        separating.load(content, 4)
