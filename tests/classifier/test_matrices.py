import numpy as np

from conftr.classifier import matrices
from conftr.classifier.cross_fitting import divide
from conftr.conformal.arrays import log_softmax


def shifted(n=600):
    """Log-probabilities that always lean to class 0."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, n)
    logits = 2 * np.eye(3)[labels] + rng.normal(size=(n, 3))
    return log_softmax(logits + np.array([1.5, 0.0, 0.0])), labels


def loss(logits, labels):
    return -log_softmax(logits)[np.arange(len(labels)), labels].mean()


def test_a_matrix_learns_what_weights_cannot():
    answers, labels = shifted()
    folds = divide(labels, 3, seed=0)
    heads = matrices.train(answers, labels, folds, matrices.aims(3), alpha=0.1)
    by_name = {trained.aim.name: trained for trained in heads}
    trained_head = by_name["head by cross-entropy"]
    assert loss(trained_head.logits, labels) < loss(answers, labels) - 0.05
    moved = answers + answers @ trained_head.matrix + trained_head.bias
    assert loss(moved, labels) < loss(answers, labels) - 0.05
    assert set(by_name) <= {trained.name for trained in matrices.aims(3)}


def test_rows_are_measured_by_the_fold_that_held_them_out():
    answers, labels = shifted(200)
    folds = divide(labels, 2, seed=0)
    (trained,) = matrices.train(answers, labels, folds, matrices.aims(3)[:1], alpha=0.1)
    other = np.concatenate([answers[folds[0].train], answers[folds[0].held]])
    assert trained.logits.shape == answers.shape == other.shape
    assert not np.allclose(trained.logits, answers + answers @ trained.matrix + trained.bias)
