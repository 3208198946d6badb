"""Conformal training of a Flax NNX module, its step compiled."""

import jax
import numpy as np
import optax
from flax import nnx
from sklearn.datasets import load_digits
from sklearn.utils import shuffle

import conftr

ALPHA, BATCH = 0.05, 100

images, labels = shuffle(*load_digits(return_X_y=True), random_state=0)
x, y = jax.numpy.asarray(images / 16, "float32"), jax.numpy.asarray(labels)
cal, test = slice(900, 1300), slice(1300, None)  # the first 900 train


class Net(nnx.Module):
    """64 - 32 - 10."""

    def __init__(self, rngs):
        self.hidden, self.out = nnx.Linear(64, 32, rngs=rngs), nnx.Linear(32, 10, rngs=rngs)

    def __call__(self, rows):
        return self.out(nnx.relu(self.hidden(rows)))


objective = conftr.ConfTr(
    ALPHA, quantile=conftr.Nearest(ALPHA), loss_matrix=conftr.identity, cross_entropy_weight=1
)
model = Net(nnx.Rngs(0))
optimiser = nnx.Optimizer(model, optax.adam(0.01), wrt=nnx.Param)


@nnx.jit
def step(model, optimiser, rows, truth):
    gradient = nnx.grad(lambda net: objective(net(rows), truth))(model)
    optimiser.update(model, gradient)


generator = np.random.default_rng(0)
for _ in range(30):
    for rows in np.split(generator.permutation(900), 900 // BATCH):
        step(model, optimiser, x[rows], y[rows])

scores = conftr.thr(np.asarray(model(x)))  # arrays of JAX would do; for NumPy nothing is compiled
tau = conftr.calibrate(scores[cal], labels[cal], ALPHA)
sets = conftr.predict_set(scores[test], tau)
covered, size = conftr.coverage(sets, labels[test]), conftr.inefficiency(sets)
print(f"covers {covered:.1%}, mean size {size:.2f}")
