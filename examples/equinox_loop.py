"""Conformal training of an Equinox module with Optax: an epoch is one compiled scan."""

import equinox as eqx
import jax
import numpy as np
import optax
from sklearn.datasets import load_digits
from sklearn.utils import shuffle

import conftr

ALPHA, BATCH = 0.05, 100

images, labels = shuffle(*load_digits(return_X_y=True), random_state=0)
x, y = jax.numpy.asarray(images / 16, "float32"), jax.numpy.asarray(labels)
cal, test = slice(900, 1300), slice(1300, None)  # the first 900 train

objective = conftr.ConfTr(
    ALPHA, quantile=conftr.Nearest(ALPHA), loss_matrix=conftr.identity, cross_entropy_weight=1
)
model = eqx.nn.MLP(64, 10, width_size=32, depth=1, key=jax.random.key(0))
params, static = eqx.partition(model, eqx.is_array)
optimiser = optax.adam(0.01)


def loss(params, rows):
    logits = jax.vmap(eqx.combine(params, static))(x[rows])  # the model sees one example
    return objective(logits, y[rows])  # the objective the whole batch


@jax.jit
def epoch(carry, key):
    def step(carry, rows):
        params, state = carry
        updates, state = optimiser.update(jax.grad(loss)(params, rows), state)
        return (optax.apply_updates(params, updates), state), None

    batches = jax.random.permutation(key, 900).reshape(-1, BATCH)
    return jax.lax.scan(step, carry, batches)[0]


carry = params, optimiser.init(params)
for key in jax.random.split(jax.random.key(1), 30):
    carry = epoch(carry, key)

logits = np.asarray(jax.vmap(eqx.combine(carry[0], static))(x))
scores = conftr.thr(logits)  # arrays of JAX would do; for NumPy nothing is compiled
tau = conftr.calibrate(scores[cal], labels[cal], ALPHA)
sets = conftr.predict_set(scores[test], tau)
covered, size = conftr.coverage(sets, labels[test]), conftr.inefficiency(sets)
print(f"covers {covered:.1%}, mean size {size:.2f}")
