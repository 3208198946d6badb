"""The array libraries that every test of the core runs on."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import array_api_strict
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

# Compiling is most of what the tests do. Code that XLA does not optimise, from its older generator
# and in one piece, takes two fifths of the time; `.ci/processors` runs the tests with the code that
# users have.
QUICKLY = {
    "xla_cpu_use_fusion_emitters": "false",
    "xla_backend_optimization_level": "1",  # at 0 the older generator gives nan for convolutions
    "xla_cpu_parallel_codegen_split_count": "1",
}
os.environ.setdefault("XLA_FLAGS", " ".join(f"--{name}={QUICKLY[name]}" for name in QUICKLY))
# Programs are kept, for later runs, the other worker and the processes that tests start.
for name, value in {
    "jax_compilation_cache_dir": str(Path(__file__).parents[1] / ".pytest_cache" / "programs"),
    "jax_persistent_cache_min_compile_time_secs": 0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}.items():
    jax.config.update(name, value)
    os.environ.setdefault(name.upper(), str(value))

# Workers share the cores; threads that wait for one another there turn seconds into minutes.
os.environ.setdefault("OMP_NUM_THREADS", "1")
torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))


@dataclass(frozen=True)
class Library:
    """How to make arrays of a library, call a function on them, and read the result."""

    name: str
    asarray: Callable[[Any], Any]
    jit: bool = False

    def call(self, function: Callable[..., Any], *arrays: Any) -> Any:
        """`function` of the arrays (None and numbers pass), compiled where meant."""
        given = [self.asarray(a) if isinstance(a, np.ndarray) else a for a in arrays]
        if self.jit:
            fixed = tuple(i for i, a in enumerate(arrays) if not isinstance(a, np.ndarray))
            function = jax.jit(function, static_argnums=fixed)
        return to_numpy(function(*given))


def to_numpy(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return x.detach().numpy()
    return np.asarray(x) if hasattr(x, "shape") else x


LIBRARIES = [
    Library("numpy", np.asarray),
    Library("jax", jnp.asarray),
    Library("jax-jit", jnp.asarray, jit=True),
    Library("torch", torch.asarray),
    Library("strict", array_api_strict.asarray),
]


@pytest.fixture(params=LIBRARIES, ids=lambda library: library.name)
def library(request: pytest.FixtureRequest) -> Library:
    """One array library after the other."""
    return request.param


@pytest.fixture(params=[x for x in LIBRARIES if not x.jit], ids=lambda library: library.name)
def eager(request: pytest.FixtureRequest) -> Library:
    """The libraries whose values can be looked at."""
    return request.param


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fixed seed."""
    return np.random.default_rng(20220125)
