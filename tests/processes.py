"""Python files in processes of their own, which need not import the large libraries again.

A server that has imported them, and done nothing with them, is forked for every file. What runs is
as alone as in a new process: its modules, threads, seeds and settings are nobody else's.
"""

import multiprocessing
import os
import runpy
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Self

import conftr.__main__

PATIENCE = 240  # seconds, of which a machine that has nothing else to do takes a few
CONFTR = Path(conftr.__main__.__file__)  # the program `conftr` as a file
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    [
        "jax",
        "equinox",
        "optax",
        "flax.nnx",
        "torch",
        "sklearn.ensemble",
        "conftr.cli",
        "conftr.classifier.estimator",
        "conftr.jobs.predicting",
    ]
)


class Done(NamedTuple):
    """How a process ended, and what it printed."""

    code: int | None
    stdout: str
    stderr: str


class Started:
    """A process on its way; leaving the block kills it."""

    def __init__(self, file: Path, *arguments: object, cwd: Path, warnings: str = "default"):
        """Start `python -W WARNINGS FILE ARGUMENTS` in the folder `cwd`, where its streams go."""
        self.streams = cwd / "stdout.txt", cwd / "stderr.txt"
        command = [str(file), *map(str, arguments)]
        self.process = SERVER.Process(target=_run, args=(command, cwd, self.streams, warnings))
        self.process.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def send_signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def wait(self) -> Done:
        """Its end, as soon as it comes."""
        self.process.join(PATIENCE)
        self.kill()
        return Done(self.process.exitcode, *(stream.read_text() for stream in self.streams))

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so, or the process has ended."""
        end = time.monotonic() + PATIENCE
        while self.process.is_alive() and not condition() and time.monotonic() < end:
            time.sleep(0.01)


def run(file: Path, *arguments: object, cwd: Path, warnings: str = "error") -> Done:
    """Run a Python file in the folder `cwd`, as `python -W error FILE ARGUMENTS` does."""
    return Started(file, *arguments, cwd=cwd, warnings=warnings).wait()


def _run(command: list[str], cwd: Path, streams: tuple[Path, Path], action: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams, start=1):
        os.dup2(os.open(stream, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.chdir(cwd)
    sys.argv = command
    warnings.simplefilter(action)
    runpy.run_path(command[0], run_name="__main__")
