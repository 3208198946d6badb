import numpy as np
import pytest
from scipy.optimize import minimize

import conftr
from conftr.classifier import head
from conftr.classifier.head import Head
from conftr.conformal.arrays import log_softmax
from conftr.members.member import MemberError


def members(n=400, classes=3, seed=0):
    """What two members say of n rows: one knows much, one little."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    truth = np.eye(classes)[labels]
    answers = [log_softmax(k * truth + rng.normal(size=truth.shape)) for k in (2.0, 0.2)]
    return answers, labels


def loss(logits, labels):
    return -log_softmax(logits)[np.arange(len(labels)), labels].mean()


def test_the_mean_is_the_mean_of_log_probabilities():
    answers, _ = members()
    expected = log_softmax((head.clipped(answers[0]) + head.clipped(answers[1])) / 2)
    np.testing.assert_allclose(head.mean(2).logits(answers), expected)


def test_weights_are_those_of_the_smallest_cross_entropy():
    answers, labels = members()
    clipped = [head.clipped(member) for member in answers]

    def objective(w):
        return loss(w[0] * clipped[0] + w[1] * clipped[1], labels) + 1e-4 * ((w - 0.5) ** 2).sum()

    result = head.weighted(answers, labels)
    best = minimize(objective, [0.5, 0.5]).x
    np.testing.assert_allclose(result.weights, best, atol=1e-3)
    assert result.weights[0] > 2 * abs(result.weights[1])
    assert loss(result.logits(answers), labels) < loss(head.mean(2).logits(answers), labels)


def test_members_that_say_the_same_share_the_weight():
    answers, labels = members()
    weights = head.weighted([answers[0], answers[0]], labels).weights
    assert weights[0] == pytest.approx(weights[1])


def test_a_matrix_and_a_bias_move_the_logits():
    answers, _ = members(n=5)
    matrix, bias = np.arange(9.0).reshape(3, 3) / 10, np.array([1.0, 0.0, -1.0])
    moving = Head("own", np.array([1.0, 0.5]), bias, matrix)
    combined = moving.combined(answers)
    np.testing.assert_allclose(moving.logits(answers), combined + combined @ matrix + bias)


def test_a_row_alone_and_a_loaded_head_give_the_same_bits():
    answers, _ = members(n=50)
    rng = np.random.default_rng(1)
    full_head = Head("own", np.array([0.7, 0.4]), rng.normal(size=3), rng.normal(size=(3, 3)))
    logits = full_head.logits(answers)
    alone = np.concatenate(
        [full_head.logits([member[i : i + 1] for member in answers]) for i in range(50)]
    )
    np.testing.assert_array_equal(alone, logits)
    again = head.load(full_head.to_json(), full_head.files(), 2, 3)
    np.testing.assert_array_equal(again.logits(answers), logits)
    assert again.name == "own"


def test_a_head_of_other_members_or_classes_is_refused():
    full_head = Head("own", np.ones(2), np.zeros(3), np.zeros((3, 3)))
    for members_, classes in ((3, 3), (2, 4)):
        with pytest.raises(MemberError, match="does not fit"):
            head.load(full_head.to_json(), full_head.files(), members_, classes)


def test_no_member_can_rule_a_class_out():
    floor = np.log(1e-3 / 2)
    (result,) = head.clipped(np.array([[0.0, -np.inf]]))
    assert result[1] == pytest.approx(floor - 5 * np.log(1 + (1000 + floor) / 5))
    (result,) = head.clipped(np.array([[0.0, -5.0]]))
    np.testing.assert_allclose(result, log_softmax(np.array([[0.0, -5.0]]))[0])  # above the floor


def test_classes_of_members_that_are_too_sure_stay_apart():
    """Once networks gave most classes less than the floor, classes tied and sets held all ten."""
    rng = np.random.default_rng(0)
    truth = 2 * rng.normal(size=(4000, 10))
    labels = (np.exp(log_softmax(truth)).cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1)
    sharp = [10 * (truth + rng.normal(size=truth.shape)) for _ in range(3)]

    def size(logits):
        scores = conftr.thr(logits)
        tau = conftr.calibrate(scores[:2000], labels[:2000], 0.05)
        return conftr.predict_set(scores[2000:], tau).sum(axis=1).mean()

    alone = size(sharp[0])
    assert size(head.mean(1).logits(sharp[:1])) == pytest.approx(alone, rel=0.01)
    assert size(head.weighted(sharp, labels).logits(sharp)) < alone
