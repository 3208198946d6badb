"""ResNets: shapes, how many parameters the paper's have, and that they learn."""

import jax
import numpy as np
import pytest

from conftr.conformal.objectives import CrossEntropy
from conftr.training import (
    SGD,
    Plan,
    ResNet,
    TrainingSet,
    fit,
    predict_logits,
    resnet34,
    resnet50,
)
from conftr.training.resnets import _pooled

KEY = jax.random.key(0)


def count(model):
    params, _ = jax.eval_shape(model.init, KEY)
    return sum(leaf.size for leaf in jax.tree.leaves(params))


def test_the_papers_networks_have_their_sizes():
    """The paper's 87 k are weights of convolutions; norms and the layer of logits come on top."""
    ten, hundred = resnet34((32, 32, 3), 10), resnet50((32, 32, 3), 100)
    params, _ = jax.eval_shape(ten.init, KEY)
    convolutions = [leaf for leaf in jax.tree.leaves(params) if leaf.ndim == 4]
    assert sum(leaf.size for leaf in convolutions) == 87_184
    assert count(ten) == 88_586
    assert count(hundred) == 1_533_668


@pytest.mark.parametrize(
    "model",
    [
        ResNet((9, 7), 3, width=2, stem=3, blocks=(1, 1)),
        ResNet((8, 8, 3), 3, width=4, stem=4, blocks=(2, 1), bottleneck=True),
    ],
)
@pytest.mark.slow  # compiles whole ResNets
def test_logits_and_features_of_any_picture(model):
    params, state = model.init(KEY)
    x = np.random.default_rng(0).normal(size=(5, *model.inputs)).astype(np.float32)
    logits, moved = model.apply(params, state, x, True)
    features, _ = model.features(params, state, x, False)
    assert logits.shape == (5, 3)
    assert features.shape == (5, model.width * 2)
    assert jax.tree.structure(moved) == jax.tree.structure(state)
    item = model.apply(params, state, x[:1], False)[0]
    np.testing.assert_allclose(item, model.apply(params, state, x, False)[0][:1], atol=1e-5)


@pytest.mark.parametrize("shape", [(6, 6), (7, 5)])
def test_the_pool_is_the_largest_of_nine(shape):
    x = np.random.default_rng(0).normal(size=(2, *shape, 3)).astype(np.float32)
    result = np.asarray(_pooled(x))
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
    for i in range((shape[0] + 1) // 2):
        for j in range((shape[1] + 1) // 2):
            nine = padded[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
            np.testing.assert_array_equal(result[:, i, j], nine.max((1, 2)))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"inputs": (8,)}, "inputs must be"),
        ({"inputs": (8, 8, 3), "width": 6, "bottleneck": True}, "width must be a multiple of 4"),
        ({"inputs": (8, 8, 3), "blocks": (0, 1)}, "blocks of ResNet must be positive"),
    ],
)
def test_sizes_that_make_no_network_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        ResNet(classes=3, **fields)


@pytest.mark.slow
@pytest.mark.parametrize("make", [resnet34, resnet50])
def test_it_learns_a_hundred_pictures_by_heart(make):
    draw = np.random.default_rng(0)
    x = draw.integers(0, 256, (100, 16, 16, 3)).astype(np.uint8)
    y = draw.integers(0, 5, 100).astype(np.int32)
    model = make((16, 16, 3), 5, width=8, stem=8)
    data = TrainingSet(x, y, 127.5, 1 / 127.5)
    fitted = fit(KEY, model, data, CrossEntropy(), Plan(40, 20, SGD(0.05)))
    predicted = predict_logits(model, fitted, x, shift=127.5, scale=1 / 127.5).argmax(1)
    assert np.mean(predicted == y) > 0.95
