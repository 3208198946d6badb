"""Twelve mistakes seen in the field, each with a test that would catch it here.

Those of layers further down are tested with their layer and only named here: test rows that are
training rows (tests/data), a resume that forgets the weights (tests/test_checkpoints.py).
"""

import json
import math

import numpy as np
import pytest
import torch

import conftr


@pytest.fixture
def pool():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 2000)
    return rng.normal(size=(2000, 5)) + 2 * np.eye(5)[labels], labels


@pytest.mark.parametrize(
    "score", [conftr.thr, conftr.thr_logits, conftr.thr_probs, conftr.aps, conftr.raps]
)
@pytest.mark.filterwarnings("ignore:scores hold")  # of `thr_logits`
def test_1_the_right_tail(pool, score):
    logits, labels = pool
    scores = score(logits)
    assert scores[np.arange(2000), logits.argmax(1)].mean() > scores.mean()
    sets = conftr.predict_set(scores[1000:], conftr.calibrate(scores[:1000], labels[:1000], 0.1))
    assert 0.87 < conftr.coverage(sets, labels[1000:]) < 0.93
    assert conftr.inefficiency(sets) < 3


def test_1_the_loss_of_conformal_training_is_not_zero(pool):
    logits = torch.tensor(pool[0][:500], requires_grad=True)
    loss = conftr.ConfTr(0.1)(logits, torch.tensor(pool[1][:500]))
    loss.backward()
    assert abs(loss.item()) > 1e-3
    # Raising the truth everywhere must pay: the gradient there is negative on the whole.
    own = logits.grad[250:][torch.arange(250), torch.tensor(pool[1][250:500])]
    assert own.mean() < 0


@pytest.mark.filterwarnings("ignore:scores hold")
def test_2_the_quantile_is_a_score_and_not_between_two():
    scores = np.arange(1.0, 101.0)[:, None]
    taus = [conftr.calibrate(scores, np.zeros(100, dtype=int), a) for a in (0.05, 0.1, 0.107)]
    assert taus == [5.0, 10.0, 10.0]


def test_3_sharp_logits_do_not_fill_the_sets(pool):
    logits, labels = (300 * pool[0]).astype(np.float32), pool[1]
    for score in (conftr.thr, conftr.aps, conftr.raps):
        scores = score(logits)
        sets = conftr.predict_set(scores, conftr.calibrate(scores, labels, 0.05))
        mild = score(pool[0])
        same = conftr.predict_set(mild, conftr.calibrate(mild, labels, 0.05))
        assert conftr.inefficiency(sets) < 1.5 * conftr.inefficiency(same)


def test_4_a_quantile_out_of_range_is_no_garbage():
    with pytest.warns(conftr.CalibrationWarning):
        assert conftr.calibrate(np.ones((3, 2)), np.zeros(3, dtype=int), 0.01) == -math.inf
    with pytest.warns(conftr.CalibrationWarning):
        assert conftr.SmoothSort(1e-6)(np.array([3.0, 1.0, 2.0]), 0.01) == pytest.approx(1.0)


def test_6_calibration_and_prediction_do_not_share_u(pool):
    seen = []

    def score(logits, u):
        seen.append(np.array(u))
        return conftr.aps(logits, u)

    conftr.evaluate(*pool, score=score, alpha=0.1, n_cal=1000, splits=3, random_u=True)
    draws = np.concatenate(seen)
    assert len(np.unique(draws)) == len(draws) == 6000


@pytest.mark.parametrize(
    "loss", [conftr.size_loss, lambda c, y: conftr.class_loss(c, y, np.eye(3))]
)
def test_8_losses_have_the_right_sign(loss):
    labels = np.arange(3)
    perfect, full, empty = np.eye(3), np.ones((3, 3)), np.zeros((3, 3))
    assert loss(perfect, labels) == 0
    assert loss(full, labels) >= 0
    assert loss(empty, labels) >= 0
    assert loss(full, labels) + loss(empty, labels) > 0


def test_9_no_row_is_dropped(pool):
    logits, labels = pool
    for row in conftr.evaluate(logits[:997], labels[:997], score=conftr.thr, alpha=0.1, n_cal=101):
        assert sum(row["size_histogram"]) == 896


def test_10_the_diagonal_of_the_loss_matrix_stays():
    shape = conftr.Shape(avoid=[(0, 1)], separate=[([0, 1], [2, 3])])
    np.testing.assert_array_equal(np.diag(shape.loss_matrix(4)), np.ones(4))


def test_11_a_threshold_survives_being_written_down(pool):
    logits, labels = pool[0].astype(np.float32), pool[1]
    scores = conftr.thr(logits)
    tau = conftr.calibrate(scores, labels, 0.1)
    read = json.loads(json.dumps({"tau": tau}))["tau"]
    np.testing.assert_array_equal(conftr.predict_set(scores, read), conftr.predict_set(scores, tau))


def test_12_objectives_train():
    """Not `isinstance(loss, Tensor)`: a few steps of ConfTr make sets smaller."""
    rng = np.random.default_rng(4)
    torch.manual_seed(4)
    labels = torch.tensor(rng.integers(0, 4, 1000))
    x = torch.tensor(rng.normal(size=(1000, 8)), dtype=torch.float32)
    x = x + 2 * torch.eye(4, 8)[labels]
    model = torch.nn.Linear(8, 4)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    objective = conftr.ConfTr(0.1, quantile=conftr.Nearest(0.1), loss_matrix=conftr.identity)

    def size():
        with torch.no_grad():
            scores = conftr.thr(model(x))
        tau = conftr.calibrate(scores[:500], labels[:500], 0.1)
        return conftr.inefficiency(conftr.predict_set(scores[500:], tau))

    before = size()
    for _ in range(60):
        rows = torch.tensor(rng.permutation(1000)[:200])
        loss = objective(model(x[rows]), labels[rows])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert size() < 0.6 * before
