# ruff: noqa: E402
"""Training steps: ConfTr over cross-entropy, ten trials at once, steps over their matrix products.

One run, ratios of minima over interleaved rounds. Random bytes and labels in the shape of MNIST.
A step is what a longer run of `fit` takes more than a shorter one, over the steps between them:
shuffling, normalising and the check for failures are all in. Cost is CPU time with one trial on
each core, which other work on the machine disturbs little; throughput is time on the clock.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time
import warnings
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import numpy as np

import conftr
from conftr.machine.cores import cores
from conftr.training import SGD, Plan, TrainingSet, fit, trial_keys
from conftr.training.models import MLP, linear
from timing import best_time

N, TRIALS, EPOCHS = 10_000, 10, (1, 5)
ROUNDS = int(sys.argv[1]) if sys.argv[1:] else 8
CASES = {
    "linear 784-10, batch 500": (linear((28, 28), 10), 500),
    "MLP 784-64-64-10, batch 100": (MLP((28, 28), 10), 100),
}
SETTINGS = {"temperature": 0.5, "size_weight": 0.01}
OBJECTIVES = {
    "cross-entropy": conftr.CrossEntropy(),
    "ConfTr, OrderStatistic": conftr.ConfTr(quantile=conftr.OrderStatistic(), **SETTINGS),
    "ConfTr, Nearest": conftr.ConfTr(quantile=conftr.Nearest(0.02), **SETTINGS),
    "ConfTr, SmoothSort": conftr.ConfTr(quantile=conftr.SmoothSort(0.1), **SETTINGS),
}
LIMITS = {
    "ConfTr, OrderStatistic": 1.25,
    "ConfTr, Nearest": 1.25,
    "ConfTr, SmoothSort": 1.6,
}


class Times(NamedTuple):
    """Seconds on the clock, and of the processor."""

    clock: float
    cpu: float


def data() -> TrainingSet:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (N, 28, 28), dtype=np.uint8)
    return TrainingSet(x, rng.integers(0, 10, N), 127.5, 1 / 127.5)


def run(case: str, objective: Any, trials: int, epochs: int, examples: TrainingSet) -> Times:
    model, batch = CASES[case]
    start = np.array([time.perf_counter(), time.process_time()])
    fit(trial_keys(0, trials), model, examples, objective, Plan(epochs, batch, SGD(1e-4)))
    return Times(*(np.array([time.perf_counter(), time.process_time()]) - start))


def steps(case: str, runs: dict[str, tuple[Any, int]], examples: TrainingSet) -> dict[str, Times]:
    """Seconds of one step of one trial, for each (objective, number of trials).

    Measured in turn, so that noise falls on all alike, and the least of each taken.
    """
    least: dict[tuple[str, int], Any] = {}
    for _ in range(ROUNDS + 1):  # the first compiles
        for name, (objective, trials) in runs.items():
            for epochs in EPOCHS:
                times = run(case, objective, trials, epochs, examples)
                least[name, epochs] = np.minimum(times, least.get((name, epochs), np.inf))
    short, long = EPOCHS
    count = (long - short) * (N // CASES[case][1])
    return {
        name: Times(*((least[name, long] - least[name, short]) / count / trials))
        for name, (_, trials) in runs.items()
    }


def products(case: str) -> float:
    """The matrix products of a step alone: forward, and the gradients that it needs."""
    model, batch = CASES[case]
    sizes = (784, *model.hidden, model.classes)
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(batch, n)).astype(np.float32) for n in sizes]
    weights = [rng.normal(size=pair).astype(np.float32) for pair in pairwise(sizes)]

    def multiply() -> None:
        for i, weight in enumerate(weights):
            values[i] @ weight
            values[i].T @ values[i + 1]
            if i > 0:
                values[i + 1] @ weight.T

    return best_time(multiply, 500)


def first_epoch(case: str, objective: Any, examples: TrainingSet) -> float:
    """Seconds until a run of one step is done: almost all is trace and compilation."""
    model, batch = CASES[case]
    jax.clear_caches()
    few = TrainingSet(examples.x[:batch], examples.y[:batch], *examples[2:])
    start = time.perf_counter()
    fit(jax.random.key(0), model, few, objective, Plan(1, batch))
    return time.perf_counter() - start


def show(what: str, value: float, rule: str, limit: float) -> None:
    kept = value >= limit if rule == "at least" else value <= limit
    print(f"  {what:52} {value:7.2f}  ({rule} {limit:g}{'' if kept else ': MISSED'})", flush=True)


def measure(case: str, examples: TrainingSet) -> dict[str, Times]:
    print(case)
    compiling = max(first_epoch(case, o, examples) for o in OBJECTIVES.values())
    baseline = OBJECTIVES["cross-entropy"]
    cost = steps(case, {name: (o, cores()) for name, o in OBJECTIVES.items()}, examples)
    least = cost["cross-entropy"].cpu
    for name, times in cost.items():
        print(f"  {name:52} {1e3 * times.cpu:7.3f} ms a step on one core")
    for name, limit in LIMITS.items():
        show(f"{name} over cross-entropy", cost[name].cpu / least, "at most", limit)
    floor = products(case)
    print(f"  {'its matrix products alone, NumPy, one thread':52} {1e3 * floor:7.3f} ms")
    show("step over its products", least / floor, "at most", 2.2)
    crowd = steps(case, {"one": (baseline, 1), "ten": (baseline, TRIALS)}, examples)
    gain = crowd["one"].clock / crowd["ten"].clock
    show(f"{TRIALS} trials at once over one by one", gain, "at least", 1.5)
    show("trace, compile and run one step, seconds", compiling, "at most", 10)
    return cost


def torchcp_step(case: str, examples: TrainingSet) -> float:
    """A step with TorchCP's ConfTr loss on the same model in PyTorch, on one thread."""
    import torch
    from torchcp.classification.loss import ConfTrLoss
    from torchcp.classification.predictor import SplitPredictor
    from torchcp.classification.score import LAC

    torch.set_num_threads(1)
    model, batch = CASES[case]
    layers: list[Any] = [torch.nn.Flatten()]
    for n, m in pairwise((784, *model.hidden)):
        layers += [torch.nn.Linear(n, m), torch.nn.BatchNorm1d(m), torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers, torch.nn.Linear((784, *model.hidden)[-1], 10))
    optimiser = torch.optim.SGD(network.parameters(), 1e-4, 0.9, weight_decay=1e-3, nesterov=True)
    predictor = SplitPredictor(LAC(score_type="log_softmax"))
    # Not ConfTr's alpha of .01, at which its quantile of 50 scores ends in an IndexError.
    loss = ConfTrLoss(predictor, alpha=0.05, fraction=0.5, epsilon=0.5, loss_transform="log")
    x, y = torch.asarray(examples.x), torch.asarray(examples.y)

    def step() -> None:
        rows = torch.randint(0, N, (batch,))
        optimiser.zero_grad()
        loss(network((x[rows].float() - 127.5) / 127.5), y[rows]).backward()
        optimiser.step()

    return best_time(step, 300)


def against_torchcp(times: dict[str, dict[str, Times]], examples: TrainingSet) -> None:
    for case, cost in times.items():
        try:
            seconds = torchcp_step(case, examples)
        except ImportError as error:
            print(f"TorchCP is left out: {error}.")
            return
        ours = cost["ConfTr, SmoothSort"].cpu
        print(f"TorchCP's step over ours, {case}, each on one core: {seconds / ours:.2f}")


def main() -> None:
    warnings.simplefilter("ignore", conftr.CalibrationWarning)
    examples = data()
    against_torchcp({case: measure(case, examples) for case in CASES}, examples)


if __name__ == "__main__":
    main()
