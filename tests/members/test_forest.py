import numpy as np
import pytest
import safetensors.numpy
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from conftr.members import forest
from conftr.members.forest import EXTRA, RANDOM, Forest
from conftr.members.member import FLOOR, MemberError, floored
from small_table import fitted, frame, one_by_one, rows, without_class

KINDS = {RANDOM: RandomForestClassifier, EXTRA: ExtraTreesClassifier}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("min_leaf", [1, 4])
def test_flat_arrays_answer_as_scikit_learn_does(name, min_leaf):
    training = rows()
    x = training.inputs
    grown = KINDS[name](7, min_samples_leaf=min_leaf, random_state=0).fit(x, training.labels)
    answers = forest.flattened(grown, 3, min_leaf).logits(x)
    np.testing.assert_allclose(answers, floored(grown.predict_proba(x)), atol=1e-5)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("min_leaf", [1, 4])
def test_a_row_alone_and_a_loaded_forest_give_the_same_bits(name, min_leaf):
    training = rows()
    (member,), _ = fitted(Forest(name, trees=4, min_leaf=min_leaf), training)
    x, _ = frame(30, seed=1)
    answers = member.logits(x)
    np.testing.assert_array_equal(one_by_one(member, x), answers)
    for model in member.models:
        inputs = training.reader.encode(x)
        again = forest.load(model.files())
        np.testing.assert_array_equal(again.logits(inputs), model.logits(inputs))


def test_blocks_of_rows_change_nothing_and_keep_the_order(monkeypatch):
    training = rows()
    (member,), _ = fitted(Forest(trees=4, min_leaf=4), training)
    whole = member.answers(training.inputs)
    monkeypatch.setattr(forest, "_BLOCKS", (1, 7))
    np.testing.assert_array_equal(member.answers(training.inputs), whole)


def test_a_class_that_a_fold_lacks_gets_the_floor():
    training = rows()
    folds = without_class(training, 1)
    (member,) = Forest(trees=3).fit(training, folds, seed=0, progress=lambda *_: None)
    answers = member.answers(training.inputs)
    np.testing.assert_allclose(np.exp(answers[:, 1]), FLOOR / 3)


def test_no_tree_is_grown_on_more_rows_than_asked():
    training = rows()
    (member,), _ = fitted(Forest(trees=3, most_rows=10), training)
    leaves = [(model.feature < 0).sum() / 3 for model in member.models]
    assert max(leaves) <= 10


def test_pixels_stand_in_a_row():
    rng = np.random.default_rng(0)
    images = rng.normal(size=(40, 3, 3)).astype(np.float32)
    labels = (images[:, 1, 1] > 0).astype(np.int32)
    training = forest.MemberRows(images, labels, 2)
    (member,), folds = fitted(Forest(trees=20), training)
    answers = member.out_of_fold(training.inputs, folds).argmax(axis=1)
    assert (answers == labels).mean() > 0.7


@pytest.mark.parametrize("change", ["feature", "jump", "starts"])
def test_nodes_that_lead_nowhere_are_refused(change):
    training = rows()
    (member,), _ = fitted(Forest(trees=2), training)
    (name, content), *_ = member.models[0].files().items()
    arrays = safetensors.numpy.load(content)
    arrays[change] = arrays[change].copy()
    arrays[change][0] = 10**6
    with pytest.raises(MemberError, match="does not hold trees"):
        forest.load({name: safetensors.numpy.save(arrays)})


def test_a_tree_that_goes_round_in_circles_is_refused():
    training = rows()
    (member,), _ = fitted(Forest(trees=2), training)
    (name, content), *_ = member.models[0].files().items()
    arrays = safetensors.numpy.load(content)
    arrays["jump"] = np.where(arrays["feature"] >= 0, 0, arrays["jump"]).astype(np.int32)
    with pytest.raises(MemberError, match="does not hold trees"):
        forest.load({name: safetensors.numpy.save(arrays)})


def test_another_name_is_refused():
    with pytest.raises(ValueError, match="name must be 'random forest' or 'extra trees'"):
        Forest("wood")
