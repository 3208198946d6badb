"""Timing and memory for the benchmarks: minima of repeated runs, ratios within one run."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np


def best_time(function: Callable[[], Any], repeats: int = 5) -> float:
    """The shortest of several runs, in seconds: noise only ever adds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def best_times(functions: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least processor time of each, in seconds, all run in turn: other work adds little."""
    least = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.process_time()
            function()
            least[name] = min(least[name], time.process_time() - start)
    return least


def temporary_megabytes(function: Callable[[], tuple[np.ndarray, ...]]) -> float:
    """Peak memory beyond the arrays the function returns."""
    tracemalloc.start()
    kept = function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (peak - sum(array.nbytes for array in kept)) / 1e6
