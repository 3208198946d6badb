import json

import numpy as np
import pytest
import safetensors.numpy

from conftr.members import ngrams
from conftr.members.member import FLOOR, MemberError, MemberRows
from conftr.members.ngrams import NgramLogistic
from small_table import fitted, rows, without_class
from small_texts import messages


@pytest.fixture(scope="module")
def training():
    table = messages(120)
    kinds, labels = np.unique(table["kind"].to_numpy(), return_inverse=True)
    return MemberRows(table.select("said"), labels.astype(np.int32), len(kinds))


def test_a_loaded_model_gives_the_same_bits(training):
    (member,), _ = fitted(NgramLogistic(), training)
    new = messages(20, seed=1).select("said")
    inputs = member.reader.encode(new)
    again = ngrams.load(member.models[0].files())
    np.testing.assert_array_equal(again.logits(inputs), member.models[0].logits(inputs))


def test_a_class_that_a_fold_lacks_gets_the_floor(training):
    folds = without_class(training, 1)
    (member,) = NgramLogistic().fit(training, folds, seed=0, progress=lambda *_: None)
    np.testing.assert_allclose(np.exp(member.logits(training.X)[:, 1]), FLOOR / 4)


@pytest.mark.parametrize("known", [[0, 1, 2, 4], [-1, 0, 1, 2], [0, 1, 1, 2], [0, 1, 2]], ids=str)
def test_weights_of_classes_that_are_not_there_are_refused(training, known):
    (member,), _ = fitted(NgramLogistic(), training)
    files = member.models[0].files()
    arrays = safetensors.numpy.load(files["ngrams.safetensors"])
    arrays["known"] = np.array(known, np.int64)
    files["ngrams.safetensors"] = safetensors.numpy.save(arrays)
    assert json.loads(files["ngrams.json"]) == {"classes": 4}
    with pytest.raises(MemberError, match="does not hold a weight for each class"):
        ngrams.load(files)


def test_rows_without_texts_are_refused():
    with pytest.raises(MemberError, match="no column of the rows holds texts"):
        fitted(NgramLogistic(), rows())
