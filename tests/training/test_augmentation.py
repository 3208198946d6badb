"""Augmentation: what it may do to a picture, by hand; prediction knows nothing of it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conftr.conformal.objectives import CrossEntropy
from conftr.training import (
    MLP,
    AnyView,
    AutoAugment,
    Checkpoints,
    ConvNet,
    Crop,
    Cutout,
    Flip,
    InTurn,
    LeaveOut,
    MLPOfViews,
    Plan,
    TrainingSet,
    fit,
    predict_logits,
)
from conftr.training import autoaugment as operations

KEY = jax.random.key(0)
PICTURES = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3)).astype(np.float32)


def test_flip_mirrors_whole_pictures_and_leaves_others():
    changed = np.asarray(Flip()(KEY, PICTURES))
    same = (changed == PICTURES).all((1, 2, 3))
    mirrored = (changed == PICTURES[:, :, ::-1]).all((1, 2, 3))
    assert (same | mirrored).all()
    assert same.any()
    assert mirrored.any()


def test_crop_moves_a_picture_by_at_most_its_border():
    changed = np.asarray(Crop(2)(KEY, PICTURES))
    padded = np.pad(PICTURES, ((0, 0), (2, 2), (2, 2), (0, 0)))
    places = []
    for picture, around in zip(changed, padded, strict=True):
        cuts = {(i, j): around[i : i + 8, j : j + 8] for i in range(5) for j in range(5)}
        places += [place for place, cut in cuts.items() if np.array_equal(cut, picture)]
    assert len(places) == len(changed)
    assert len(set(places)) > 3


def test_cutout_covers_a_square_that_an_edge_may_cut():
    changed = np.asarray(Cutout(4, fill=-1.0)(KEY, PICTURES))
    covered = (changed == -1).all(-1)
    np.testing.assert_array_equal(changed[~covered], PICTURES[~covered])
    for picture in covered:
        rows, columns = picture.any(1).sum(), picture.any(0).sum()
        assert picture.sum() == rows * columns
        assert 2 <= rows <= 4
        assert 2 <= columns <= 4


def test_in_turn_gives_each_part_a_key_of_its_own():
    twice = np.asarray(InTurn((Flip(), Flip()))(KEY, PICTURES))
    assert not np.array_equal(twice, PICTURES)


PICTURE = jnp.array([[[10.0, 20, 30], [40, 50, 60]], [[70, 80, 90], [100, 110, 250]]])


@pytest.mark.parametrize(
    ("operation", "strength", "expected"),
    [
        (operations._invert, 0.0, 255 - PICTURE),
        (operations._solarise, 155.0, PICTURE.at[1, 1].set(jnp.array([155.0, 145, 5]))),
        (operations._posterise, 4.0, PICTURE // 16 * 16),
        (operations._brightness, -0.5, PICTURE / 2),
        (operations._brightness, 0.0, PICTURE),
        (operations._shift_down, 0.5, jnp.concatenate([PICTURE[1:], jnp.full((1, 2, 3), 128.0)])),
        (operations._rotate, np.pi / 2, jnp.rot90(PICTURE, -1)),
        (operations._rotate, 0.0, PICTURE),
        (operations._colour, -1.0, jnp.broadcast_to(operations._grey(PICTURE), PICTURE.shape)),
    ],
)
def test_operations_by_hand(operation, strength, expected):
    np.testing.assert_allclose(operation(PICTURE, jnp.float32(strength)), expected, atol=1e-3)


def test_contrast_stretches_every_channel():
    changed = operations._auto_contrast(PICTURE, jnp.float32(0))
    np.testing.assert_allclose(changed.min((0, 1)), 0)
    np.testing.assert_allclose(changed.max((0, 1)), 255)
    flat = jnp.full((4, 4, 1), 7.0)
    np.testing.assert_array_equal(operations._auto_contrast(flat, jnp.float32(0)), flat)


def test_equalising_spreads_values_and_keeps_their_order():
    dark = jnp.asarray(np.random.default_rng(0).integers(0, 40, (32, 32, 1)), jnp.float32)
    changed = np.asarray(operations._equalise(dark, jnp.float32(0)))
    order = np.argsort(np.asarray(dark).ravel(), kind="stable")
    assert (np.diff(changed.ravel()[order]) >= 0).all()
    assert changed.max() > 240
    flat = jnp.full((4, 4, 1), 7.0)
    np.testing.assert_array_equal(operations._equalise(flat, jnp.float32(0)), flat)


def test_sharpness_leaves_edges_and_flat_pictures_alone():
    flat = jnp.full((5, 5, 3), 9.0)
    np.testing.assert_allclose(operations._sharpness(flat, jnp.float32(0.9)), flat, rtol=1e-5)
    changed = operations._sharpness(jnp.asarray(PICTURES[0]), jnp.float32(-0.9))
    np.testing.assert_array_equal(changed[0], PICTURES[0][0])


def test_the_policy_changes_pictures_within_their_range():
    result = np.asarray(AutoAugment()(KEY, PICTURES))
    assert result.shape == PICTURES.shape
    assert result.min() >= 0
    assert result.max() <= 255.01
    changed = (result != PICTURES).any((1, 2, 3))
    assert changed.any()
    assert len(operations._POLICY) == 25


Y = np.arange(12, dtype=np.int32) % 2
DATA = TrainingSet(PICTURES.astype(np.uint8), Y, 128.0, 1 / 64)
MODEL = ConvNet((8, 8, 3), 2, (4,))


def trained(augmentation, epochs=3, **options):
    plan = Plan(epochs, 6, augmentation=augmentation)
    return fit(KEY, MODEL, DATA, CrossEntropy(), plan, **options)


def test_steps_draw_anew_and_equal_runs_are_equal():
    changes = InTurn((Flip(), Crop(1), Cutout(2)))
    first, again, plain = trained(changes), trained(changes), trained(None)
    np.testing.assert_array_equal(first.loss, again.loss)
    assert not np.array_equal(first.loss, plain.loss)


def test_a_run_goes_on_with_the_same_changes(tmp_path):
    changes = InTurn((Flip(), Crop(1)))
    stopped = []

    def stop(progress):
        stopped.append(progress.epoch)
        if progress.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(changes, 4, progress=stop, checkpoints=Checkpoints(tmp_path, epochs=1))
    whole, resumed = trained(changes, 4), trained(changes, 4, checkpoints=Checkpoints(tmp_path))
    np.testing.assert_array_equal(whole.loss, resumed.loss)


def test_a_view_is_drawn_in_training_and_the_first_is_predicted_from():
    views = np.stack([np.full((12, 3), v) for v in range(4)], 1).astype(np.float32)
    drawn = np.asarray(AnyView()(KEY, views))
    assert drawn.shape == (12, 1, 3)
    assert set(drawn.ravel()) == {0, 1, 2, 3}
    model, plan = MLPOfViews((4, 3), 2), Plan(2, 6, augmentation=AnyView())
    fitted = fit(KEY, model, TrainingSet(views, Y), CrossEntropy(), plan)
    of_one = MLP((3,), 2, ())
    np.testing.assert_array_equal(
        predict_logits(model, fitted, views), predict_logits(of_one, fitted, views[:, 0])
    )


def test_numbers_that_are_left_out_are_none_and_the_others_count_the_more():
    x = np.ones((200, 50), np.float32)
    changed = np.asarray(LeaveOut(0.75)(KEY, x))
    assert set(np.unique(changed)) == {0.0, 4.0}
    assert abs(changed.mean() - 1) < 0.1
