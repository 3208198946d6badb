"""Python files in processes of their own, which need not import the large libraries again.

A server that has imported them, and done nothing with them, is forked for every file. What runs is
as alone as in a new process: its modules, threads, seeds and settings are nobody else's.
"""

import multiprocessing
import os
import runpy
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

PATIENCE = 240  # seconds
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    [
        "jax",
        "equinox",
        "optax",
        "flax.nnx",
        "torch",
        "sklearn.ensemble",
        "conftr.classifier.estimator",
    ]
)


class Done(NamedTuple):
    """How a process ended, and what it printed."""

    code: int | None
    stdout: str
    stderr: str


def run(file: Path, *, cwd: Path, warnings: str = "error") -> Done:
    """Run a Python file in the folder `cwd`, as `python -W error FILE` does."""
    streams = cwd / "stdout.txt", cwd / "stderr.txt"
    child = SERVER.Process(target=_run, args=(file, cwd, streams, warnings))
    child.start()
    child.join(PATIENCE)
    child.kill()
    child.join()
    return Done(child.exitcode, *(stream.read_text() for stream in streams))


def _run(file: Path, cwd: Path, streams: tuple[Path, Path], action: str) -> None:
    for number, stream in enumerate(streams, start=1):
        os.dup2(os.open(stream, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.chdir(cwd)
    sys.argv = [str(file)]
    warnings.simplefilter(action)
    runpy.run_path(str(file), run_name="__main__")
