"""Conformal training of an Equinox module with Optax: an epoch is one compiled scan."""

import equinox as eqx
import jax
import optax
from sklearn.datasets import load_digits
from sklearn.utils import shuffle

import conftr

ALPHA, BATCH = 0.05, 100

images, labels = shuffle(*load_digits(return_X_y=True), random_state=0)
x, y = jax.numpy.asarray(images / 16, "float32"), jax.numpy.asarray(labels)
train, cal, test = slice(0, 900), slice(900, 1300), slice(1300, None)

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

scores = conftr.thr(jax.vmap(eqx.combine(carry[0], static))(x))
tau = conftr.calibrate(scores[cal], y[cal], ALPHA)
sets = conftr.predict(scores[test], tau)
covered, size = conftr.coverage(sets, y[test]), conftr.inefficiency(sets)
print(f"covers {covered:.1%}, mean size {size:.2f}")
