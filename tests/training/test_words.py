"""A network on words in their order: by hand, and what it must not see."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conftr.training import LeaveWordsOut, WordNet


def logits(model, x, params=None):
    fresh, state = model.init(jax.random.key(0))
    return np.asarray(model.apply(params or fresh, state, jnp.asarray(x, jnp.float32), False)[0])


def test_pairs_of_words_are_seen_in_their_order_and_wherever_they_stand():
    model = WordNet((4, 1), 2, filters=1, widths=(2,))
    params, _ = model.init(jax.random.key(0))
    block = params.hidden[0]
    weight = jnp.array([[-1.0, 1.0]])  # the second word less the first
    product = type(block.product)(weight, jnp.zeros(1))
    chosen = type(params)(
        (type(block)(product, block.norm),),
        type(params.logits)(jnp.array([[1.0], [0.0]]), jnp.zeros(2)),
    )
    texts = np.array([[1, 3, 0, 0], [0, 1, 3, 0], [3, 1, 0, 0], [0, 0, 0, 0]])[..., None]
    # The largest step up from a word to the next, nothing before the first and after the last.
    np.testing.assert_allclose(logits(model, texts, chosen)[:, 0], [2, 2, 3, 0], rtol=1e-4)
    np.testing.assert_allclose(logits(model, texts, chosen)[:, 1], 0)


def test_widths_stand_side_by_side_and_single_words_have_no_order():
    model = WordNet((5, 3), 4, filters=6, widths=(1, 2))
    (hidden, last), state = model.init(jax.random.key(1))
    assert last.weight.shape == (4, 12)
    assert [block.product.weight.shape for block in hidden] == [(6, 3), (6, 6)]
    assert len(state) == 2
    x = np.random.default_rng(0).normal(size=(2, 5, 3))
    single = WordNet((5, 3), 4, filters=6, widths=(1,))
    np.testing.assert_allclose(logits(single, x), logits(single, x[:, ::-1]), rtol=1e-5)
    assert not np.allclose(logits(model, x), logits(model, x[:, ::-1]))


def test_sizes_that_make_no_network_are_refused():
    with pytest.raises(ValueError, match=r"inputs must be \(places"):
        WordNet((5,), 3)
    with pytest.raises(ValueError, match="widths of WordNet must be positive"):
        WordNet((5, 3), 3, widths=(0,))


def test_words_are_left_out_as_a_whole():
    x = jnp.full((50, 20, 4), 7.0)
    result = np.asarray(LeaveWordsOut(0.3, 128.0)(jax.random.key(0), x))
    assert set(np.unique(result)) == {7.0, 128.0}
    gone = (result == 128).all(axis=2)
    assert (gone == (result == 128).any(axis=2)).all()
    assert 0.25 < gone.mean() < 0.35
