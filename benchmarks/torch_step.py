"""A step of a plain PyTorch loop: ConfTr over `torch.nn.functional.cross_entropy`, eager, on CPU.

MLP 784-64-64-10 with batch norm and ReLU, batch 100, SGD with Nesterov momentum. One run: every
objective takes a step in turn, so that noise falls on all alike, and the medians are compared: on
one thread of the processor's time, which other work on the machine disturbs little, on several of
the time on the clock. The objectives are also compiled (`torch.compile`, no graph break), if there
is a C++ compiler; the networks are not.
"""

import shutil
import statistics
import sys
import time
import warnings
from itertools import pairwise

import torch

import conftr

BATCH, SIZES, CLASSES = 100, (784, 64, 64), 10
ROUNDS = int(sys.argv[1]) if sys.argv[1:] else 300
LIMIT = 1.5  # of the step with Nearest
QUANTILES = {
    "OrderStatistic": conftr.OrderStatistic(),
    "Nearest": conftr.Nearest(0.02),
    "Kernel": conftr.Kernel(0.1),
    "SmoothSort": conftr.SmoothSort(0.1),
}
OBJECTIVES = {
    "cross-entropy": torch.nn.functional.cross_entropy,
    "conftr.CrossEntropy": conftr.CrossEntropy(),
    **{f"ConfTr, {name}": conftr.ConfTr(quantile=q) for name, q in QUANTILES.items()},
    **{
        f"ConfTr, {name}, class loss": conftr.ConfTr(quantile=q, loss_matrix=conftr.identity)
        for name, q in QUANTILES.items()
    },
}
if shutil.which("g++") or shutil.which("clang++"):
    OBJECTIVES |= {
        f"ConfTr, {name}, compiled": torch.compile(conftr.ConfTr(quantile=q), fullgraph=True)
        for name, q in QUANTILES.items()
        if name in ("Nearest", "SmoothSort")
    }


def stepper(objective, batch=BATCH):
    """One training step on fixed random data, as a function without arguments."""
    torch.manual_seed(0)
    layers = []
    for n, m in pairwise(SIZES):
        layers += [torch.nn.Linear(n, m), torch.nn.BatchNorm1d(m), torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers, torch.nn.Linear(SIZES[-1], CLASSES))
    optimiser = torch.optim.SGD(
        network.parameters(), 1e-3, momentum=0.9, weight_decay=1e-3, nesterov=True
    )
    x, y = torch.randn(batch, SIZES[0]), torch.randint(0, CLASSES, (batch,))

    def step() -> None:
        optimiser.zero_grad()
        objective(network(x), y).backward()
        optimiser.step()

    return step


def medians(steps, rounds, clock):
    """The median seconds of each step, all measured in turn."""
    times = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            start = clock()
            step()
            times[name].append(clock() - start)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def show(threads) -> None:
    torch.set_num_threads(threads)
    steps = {name: stepper(objective) for name, objective in OBJECTIVES.items()}
    clock = time.thread_time if threads == 1 else time.perf_counter
    medians(steps, ROUNDS // 10, clock)  # warm
    by_name = medians(steps, ROUNDS, clock)
    print(f"{threads} thread{'s' * (threads > 1)}")
    for name, seconds in by_name.items():
        ratio = seconds / by_name["cross-entropy"]
        wanted = f"  (at most {LIMIT:g})" if "Nearest" in name else ""
        missed = ": MISSED" if wanted and ratio > LIMIT else ""
        print(f"  {name:34} {1e3 * seconds:6.3f} ms {ratio:6.2f} x{wanted}{missed}", flush=True)


def main() -> None:
    warnings.simplefilter("ignore", conftr.CalibrationWarning)
    default = torch.get_num_threads()
    for threads in sorted({1, default}):
        show(threads)


if __name__ == "__main__":
    main()
