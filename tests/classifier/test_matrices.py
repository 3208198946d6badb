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
    said, labels = shifted()
    folds = divide(labels, 3, seed=0)
    found = matrices.train(said, labels, folds, matrices.aims(3), alpha=0.1)
    by_name = {one.aim.name: one for one in found}
    own = by_name["head by cross-entropy"]
    assert loss(own.logits, labels) < loss(said, labels) - 0.05
    moved = said + said @ own.matrix + own.bias
    assert loss(moved, labels) < loss(said, labels) - 0.05
    assert set(by_name) <= {one.name for one in matrices.aims(3)}


def test_rows_are_measured_by_the_fold_that_held_them_out():
    said, labels = shifted(200)
    folds = divide(labels, 2, seed=0)
    (one,) = matrices.train(said, labels, folds, matrices.aims(3)[:1], alpha=0.1)
    other = np.concatenate([said[folds[0].train], said[folds[0].held]])
    assert one.logits.shape == said.shape == other.shape
    assert not np.allclose(one.logits, said + said @ one.matrix + one.bias)
