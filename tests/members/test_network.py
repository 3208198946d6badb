from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy

import conftr
from conftr.members import network
from conftr.members.member import MemberError, MemberRows
from conftr.members.network import Network
from conftr.training.models import ConvNet, Custom
from small_table import fitted, frame, one_by_one, rows

SMALL = Network(hidden=(8,), steps=60, batch_size=16)


@pytest.fixture(scope="module")
def trained():
    training = rows()
    members, folds = fitted(SMALL, training)
    return training, members, folds


def test_there_is_a_member_for_each_decay(trained):
    training, members, folds = trained
    assert [member.name for member in members] == ["network, decay 0.0005", "network, decay 0.005"]
    for member in members:
        answers = member.out_of_fold(training.inputs, folds).argmax(axis=1)
        assert (answers == training.labels).mean() > 0.6


def test_a_row_alone_and_loaded_networks_give_the_same_bits(trained):
    training, (member, _), _ = trained
    x, _ = frame(20, seed=1)
    np.testing.assert_array_equal(one_by_one(member, x), member.logits(x))
    inputs = training.reader.encode(x)
    for model in member.models:
        again = network.load(model.files())
        np.testing.assert_array_equal(again.logits(inputs), model.logits(inputs))


def test_weights_of_another_shape_are_refused(trained):
    _, (member, _), _ = trained
    files = member.models[0].files()
    arrays = safetensors.numpy.load(files["network.safetensors"])
    name = next(name for name in arrays if name.endswith("weight"))
    arrays[name] = arrays[name][:, :1].copy()
    files["network.safetensors"] = safetensors.numpy.save(arrays)
    with pytest.raises(MemberError, match=r"does not hold .*weight of shape"):
        network.load(files)


def test_networks_minimise_the_objective_that_is_given(trained):
    training, plain, _ = trained
    members, folds = fitted(replace(SMALL, objective=conftr.RWCE()), training)
    answers, before = (item[0].out_of_fold(training.inputs, folds) for item in (members, plain))
    assert not np.allclose(answers, before, atol=0.01)
    assert (answers.argmax(axis=1) == training.labels).mean() > 0.6


def test_seeds_of_a_fold_are_averaged():
    training = rows()
    small = Network(decays=(0.001,), seeds=2, hidden=(), steps=10, batch_size=16)
    (member,), _ = fitted(small, training)
    assert member.words.startswith("network: 2 x 2 networks of widths []")
    assert network.load(member.models[0].files()).words == member.models[0].words


def test_images_go_through_convolutions():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (40, 4, 4), dtype=np.uint8)
    labels = np.arange(40, dtype=np.int32) % 2
    small = Network(
        decays=(0.001,),
        architecture=lambda inputs, classes: ConvNet(inputs, classes, (2,)),
        steps=2,
        batch_size=16,
    )
    training = MemberRows(images, labels, 2)
    (member,), _ = fitted(small, training)
    again = network.load(member.models[0].files())
    np.testing.assert_array_equal(again.logits(images), member.models[0].logits(images))


def test_a_network_that_diverges_is_refused_in_words():
    fast = Network(decays=(0.001,), hidden=(8,), steps=20, batch_size=16, learning_rate=1e30)
    with pytest.raises(MemberError, match="A smaller learning_rate may help"):
        fitted(fast, rows())


def test_code_of_the_users_own_is_not_saved(trained):
    _, (member, _), _ = trained
    custom = Custom(lambda key: ({}, ()), lambda params, state, x, train: (x, state))
    saved = network.TrainedNetwork(member.models[0].encoding, custom, member.models[0].fitted)
    with pytest.raises(MemberError, match="Custom is code of yours"):
        saved.files()
