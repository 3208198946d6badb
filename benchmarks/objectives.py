"""Objectives: estimators of ConfTr's quantile, and a step of every method over cross-entropy's.

First the loss and gradient in JAX at batch 500, K 10: compile time, and ratios to `OrderStatistic`,
which only picks one score. Then whole steps of MLP 784-64-64-10 at batch 200, in JAX as `fit` takes
them and in a plain PyTorch loop, as ratios to cross-entropy's, all of one run and in turn.

    python benchmarks/objectives.py [ROUNDS]
"""

import sys
import time
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import torch

import conftr
from conftr.conformal.stateful import is_stateful
from conftr.search.methods import LATER, METHODS
from conftr.training import SGD, Plan, TrainingSet
from conftr.training.epochs import train
from conftr.training.models import MLP
from conftr.training.runs import begin, prepare
from timing import best_time, best_times
from torch_step import medians, stepper

N, K, CALLS = 500, 10, 200
BATCH, STEPS = 200, 20
ROUNDS = int(sys.argv[1]) if sys.argv[1:] else 40
STEPPED = ("cross-entropy", "conftr", "conftr-class", *LATER)
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


def jax_steps(objective):
    """Some steps of `fit`'s own program, as a function without arguments."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (BATCH * STEPS, 28, 28), dtype=np.uint8)
    data = TrainingSet(x, rng.integers(0, K, len(x)), 127.5, 1 / 127.5)
    plan, key = Plan(1, BATCH, SGD(1e-4)), jax.random.key(0)
    run = prepare(MLP((28, 28), K), objective, plan, data, key=key, rows=None, vary={})
    (carry,), (trial,) = begin(run).carries, run.trials
    operands = run.on_device(), trial.settings, carry, run.batches(trial, 0)
    program = jax.jit(lambda *given: train(run.program, *given)).lower(*operands).compile()
    return lambda: jax.block_until_ready(program(*operands))


def carrying(objective):
    """An objective with its state beside it, as a loop of one's own keeps it."""
    if not is_stateful(objective):
        return objective
    states = [objective.start(K)]

    def call(logits, labels):
        loss = objective(logits, labels, states[0])
        states[0] = objective.update(logits, labels, states[0])
        return loss

    return call


def show_steps() -> None:
    torch.set_num_threads(1)
    objectives = {name: METHODS[name] for name in STEPPED}
    in_jax = best_times(
        {name: jax_steps(objective) for name, objective in objectives.items()}, ROUNDS
    )
    loops = {name: stepper(carrying(objective), BATCH) for name, objective in objectives.items()}
    medians(loops, 3, time.thread_time)  # warm
    in_torch = medians(loops, 3 * ROUNDS, time.thread_time)
    print(f"a step over cross-entropy's, MLP 784-64-64-10, batch {BATCH}: JAX, PyTorch")
    for name in objectives:
        ratios = (times[name] / times["cross-entropy"] for times in (in_jax, in_torch))
        print(f"  {name:20}" + "".join(f"{ratio:7.2f}" for ratio in ratios), flush=True)


def show_estimators() -> None:
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


def main() -> None:
    warnings.simplefilter("ignore", conftr.CalibrationWarning)
    show_estimators()
    show_steps()


if __name__ == "__main__":
    main()
