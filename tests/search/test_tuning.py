"""Tuning: the configuration given is the first, the best is the best, a killed search goes on."""

import warnings

import jax
import numpy as np
import pytest

import conftr
from conftr.search.held_out import HeldOut, SetSize, measured
from conftr.search.tuning import tune
from conftr.training import (
    SGD,
    Checkpoints,
    Plan,
    TrainingSet,
    TrainingWarning,
    fit,
    trial_keys,
)
from conftr.training.models import linear

K = 3
OBJECTIVE = conftr.ConfTr(0.2, quantile=conftr.OrderStatistic(), loss_matrix=np.eye(K))
PLAN = Plan(2, 20, SGD(0.05))


def blobs(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    return (rng.normal(size=(n, 4)) + 2 * np.eye(4)[y]).astype(np.float32), y


@pytest.fixture(scope="module")
def held_out():
    x, y = blobs(200, 1)
    return HeldOut(linear((4,), K), TrainingSet(*blobs(100, 0)), x, SetSize(y, 0.2))


@pytest.fixture(scope="module")
def tuned(held_out):
    return tune(held_out, OBJECTIVE, PLAN, 6, seed=3)


def test_the_one_given_is_tried_and_the_best_is_chosen(tuned):
    given = {
        "learning_rate": 0.05,
        "weight_decay": 5e-4,
        "temperature": 1.0,
        "size_weight": 0.5,  # and no cross-entropy weight, which is 0
    }
    assert given in [item.settings for item in tuned.tried]
    sizes = [item.size for item in tuned.tried]
    assert sizes == sorted(sizes)
    assert len({tuple(item.settings.values()) for item in tuned.tried}) == 6
    best = tuned.tried[0].settings
    assert tuned.plan.optimiser.learning_rate == best["learning_rate"]
    assert tuned.objective.temperature == best["temperature"]
    assert tuned.objective.loss_matrix is OBJECTIVE.loss_matrix
    assert tuned.plan.epochs == PLAN.epochs


def test_a_size_is_that_of_training_the_configuration_and_evaluating_it(held_out, tuned):
    best = tuned.tried[0]
    vary = {name: [value, 1.0] for name, value in best.settings.items()}
    assert measured(held_out, OBJECTIVE, PLAN, vary, seed=3)[0] == best.size


def fitted(held_out, rates, **settings):
    keys = trial_keys(0, 1)[np.zeros(len(rates), int)]
    vary = {"learning_rate": rates}
    return fit(keys, held_out.model, held_out.data, OBJECTIVE, PLAN, vary=vary, **settings)


def test_what_trains_abreast_does_not_depend_on_its_company_or_place(held_out, tmp_path):
    rates = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3]
    whole = fitted(held_out, rates, abreast=4)
    part = fitted(held_out, [0.3, 0.05, 0.01], abreast=4, checkpoints=Checkpoints(tmp_path))
    for i, place in enumerate([5, 2, 0]):
        pairs = zip(*(jax.tree.leaves(f.params) for f in (part, whole)), strict=True)
        assert all(np.array_equal(a[i], b[place]) for a, b in pairs)
    assert np.array_equal(part.loss, whole.loss[:, [5, 2, 0]])
    alone = fitted(held_out, rates)
    np.testing.assert_allclose(whole.loss, alone.loss, rtol=1e-4)
    with pytest.raises(ValueError, match="abreast"):  # another program than the one kept there
        fitted(held_out, [0.3, 0.05, 0.01], checkpoints=Checkpoints(tmp_path))


def test_only_trials_of_one_key_train_abreast(held_out):
    with pytest.raises(ValueError, match=r"must have the same key and rows.*trial 1"):
        fit(trial_keys(0, 2), held_out.model, held_out.data, OBJECTIVE, PLAN, abreast=4)


def test_equal_seeds_try_equal_configurations(held_out, tuned, tmp_path):
    kept = Checkpoints(tmp_path)
    assert tune(held_out, OBJECTIVE, PLAN, 6, seed=3, checkpoints=kept).tried == tuned.tried

    def refuse(_):
        raise AssertionError("trained again")

    again = tune(held_out, OBJECTIVE, PLAN, 6, seed=3, checkpoints=kept, progress=refuse)
    assert again.tried == tuned.tried


def test_configurations_that_fail_come_last(held_out):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        sizes = measured(held_out, OBJECTIVE, PLAN, {"learning_rate": [1e30, 0.05]})
    assert sizes[0] is None
    assert 0 < sizes[1] <= K


def test_what_has_nothing_to_tune_is_refused(held_out):
    import optax

    with pytest.raises(ValueError, match="must have a number above 0 to search around"):
        tune(held_out, conftr.CrossEntropy(), Plan(1, 20, optax.sgd(0.1)), 2)
    with pytest.raises(ValueError, match="n must be at least 1"):
        tune(held_out, OBJECTIVE, PLAN, 0)


def test_what_tuning_found_can_be_trained(held_out, tuned):
    fitted = fit(jax.random.key(0), held_out.model, held_out.data, tuned.objective, tuned.plan)
    assert np.isfinite(fitted.loss).all()
