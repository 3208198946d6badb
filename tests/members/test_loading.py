import numpy as np
import pytest

from conftr.members import loading
from conftr.members.forest import Forest
from conftr.members.logistic import Logistic
from conftr.members.member import MemberError
from small_table import fitted, frame, rows


def test_members_come_back_with_one_reader_for_all():
    training = rows()
    members = [fitted(item, training)[0][0] for item in (Forest(trees=2), Logistic())]
    again = loading.unpack(*loading.pack(members))
    x, _ = frame(20, seed=1)
    for before, after in zip(members, again, strict=True):
        np.testing.assert_array_equal(after.logits(x), before.logits(x))
        assert after.words == before.words
    assert again[0].reader is again[1].reader


def test_an_unknown_kind_is_refused():
    words, files = loading.pack(fitted(Logistic(), rows())[0])
    words["members"][0]["kind"] = "os"
    with pytest.raises(MemberError, match="no member of kind 'os'"):
        loading.unpack(words, files)
