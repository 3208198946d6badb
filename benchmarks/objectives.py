"""ConfTr's loss and gradient in JAX at batch 500, K 10: compile time, and ratios of estimators.

One run; the ratio is to `OrderStatistic`, which only picks one score.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

import conftr
from timing import best_time

N, K, CALLS = 500, 10, 200
ESTIMATORS = {
    "OrderStatistic": conftr.OrderStatistic(),
    "Nearest(.012)": conftr.Nearest(0.012),
    "Kernel(.1)": conftr.Kernel(0.1),
    "SmoothSort(.1)": conftr.SmoothSort(0.1),
    "SmoothSort(.1, paper_position)": conftr.SmoothSort(0.1, position=conftr.paper_position),
}


def compiled(objective, logits, labels):
    """The loss and its gradient, many times over in one program, and the time to compile one."""
    start = time.perf_counter()
    jax.jit(jax.value_and_grad(objective)).lower(logits, labels).compile()
    seconds = time.perf_counter() - start

    @jax.jit
    def many(x, y):
        def step(carry, _):
            value, gradient = jax.value_and_grad(objective)(carry, y)
            return carry - 1e-3 * gradient, value

        return jax.lax.scan(step, x, length=CALLS)

    return many, seconds


def main() -> None:
    rng = np.random.default_rng(0)
    logits = jnp.asarray(3 * rng.normal(size=(N, K)), dtype=jnp.float32)
    labels = jnp.asarray(rng.integers(0, K, N))
    programs = {
        name: compiled(
            conftr.ConfTr(0.01, quantile=quantile, loss_matrix=conftr.identity), logits, labels
        )
        for name, quantile in ESTIMATORS.items()
    }
    programs["(cross-entropy)"] = compiled(conftr.CrossEntropy(), logits, labels)
    times = {}
    for name, (many, _) in programs.items():
        jax.block_until_ready(many(logits, labels))
        times[name] = best_time(lambda m=many: jax.block_until_ready(m(logits, labels)), 15) / CALLS
    for name, (_, seconds) in programs.items():
        print(
            f"{name}: compiles in {seconds:.2f} s, {times[name] * 1e6:.0f} us a call, "
            f"{times[name] / times['OrderStatistic']:.2f} x OrderStatistic"
        )


if __name__ == "__main__":
    main()
