"""Where tasks run: in this process, or as Ray tasks on the machines of a cluster.

A task is a pure function of its item: when a worker is lost it is done again, elsewhere, with the
same result. Only the driver writes files. The function is sent once, with all it encloses, so data
travel with it: a machine of the cluster needs conftr installed and nothing else.
"""

from __future__ import annotations

import os
import platform
import socket
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeVar

from conftr.machine import names
from conftr.machine.cores import cores
from conftr.machine.versions import versions

T = TypeVar("T")
R = TypeVar("R")

_RETRIES = 10  # of a task whose worker died
_ATTEMPTS = 3  # at a connection
_AHEAD = 4  # items for each core that wait for their turn


class ClusterError(RuntimeError):
    """A cluster that cannot be used; the message says what to do."""


class Executor(Protocol):
    """What runs tasks.

    here: whether in this process, where a task may also report and keep checkpoints.
    """

    @property
    def here(self) -> bool: ...  # noqa: D102

    def at_a_time(self, models: int) -> int:
        """How many of so many models one task had better train."""

    def cores(self) -> int:
        """How many cores there are at this moment."""

    def run(
        self, task: Callable[[T], R], items: Iterable[T], *, ahead: int | None = None
    ) -> Iterator[tuple[int, R]]:
        """The number of an item and the task's result on it, one by one as they are ready.

        Args:
            ahead: No item is drawn that comes so many after the first that is not done.
        """


@dataclass(frozen=True)
class Here:
    """One task after the other, in this process; each keeps all cores busy."""

    most: int = 24
    here: bool = True

    def at_a_time(self, models: int) -> int:  # noqa: ARG002
        """Many: a task that was interrupted goes on from its checkpoints."""
        return self.most

    def cores(self) -> int:
        """The cores of this process."""
        return cores()

    def run(
        self,
        task: Callable[[T], R],
        items: Iterable[T],
        *,
        ahead: int | None = None,  # noqa: ARG002
    ) -> Iterator[tuple[int, R]]:
        """Run tasks in order."""
        return ((number, task(item)) for number, item in enumerate(items))


HERE = Here()


@dataclass(frozen=True)
class Cluster:
    """Tasks of one core each on the Ray cluster that is connected, `connect` makes one.

    Attributes:
        most: Models of a task. Few: it starts again from nothing when its worker is lost, and a
            machine that joins late finds something to do.
    """

    most: int = 4
    here: bool = False

    def at_a_time(self, models: int) -> int:
        """Few, and fewer where some machines would have none."""
        return max(1, min(self.most, models // self.cores()))

    def cores(self) -> int:
        """The cores of all machines that belong to the cluster now."""
        ray = _ray()
        return max(1, int(ray.cluster_resources().get("CPU", 1)))

    def run(
        self, task: Callable[[T], R], items: Iterable[T], *, ahead: int | None = None
    ) -> Iterator[tuple[int, R]]:
        """Give results as they come. Two tasks a core are under way; items are drawn as needed."""
        ray = _ray()
        perform = ray.remote(_perform).options(
            num_cpus=1, max_retries=_RETRIES, runtime_env={"env_vars": _environment()}
        )
        sent, numbered = ray.put(_packed(task)), enumerate(items)
        waiting: dict[Any, int] = {}
        drawn = 0
        try:
            while True:
                room = 2 * self.cores() - len(waiting)
                if ahead is not None:
                    room = min(room, ahead - drawn + min(waiting.values(), default=drawn))
                for number, item in islice(numbered, max(0, room)):
                    waiting[perform.remote(sent, item, packages())] = number
                    drawn = number + 1
                if not waiting:
                    return
                # Looks up now and then, for machines that have joined.
                done, _ = ray.wait(list(waiting), timeout=2)
                for future in done:
                    yield waiting.pop(future), _result(future)
        finally:
            for future in waiting if ray.is_initialized() else ():
                ray.cancel(future, force=True)


def spread(
    task: Callable[[T], R], items: Iterable[T], executor: Executor = HERE
) -> Iterator[tuple[T, R]]:
    """Each item with the task's result on it, in order, wherever tasks run.

    Items are drawn as they are needed, so that they may be blocks of a file larger than memory:
    four to a core are held at a time, however late the first of them is done.
    """
    drawn: dict[int, T] = {}

    def remembered() -> Iterator[T]:
        for number, item in enumerate(items):
            drawn[number] = item
            yield item

    early: dict[int, R] = {}
    following = 0
    for number, result in executor.run(task, remembered(), ahead=_AHEAD * executor.cores()):
        early[number] = result
        while following in early:
            yield drawn.pop(following), early.pop(following)
            following += 1


@contextmanager
def connect(address: str | None) -> Iterator[Executor]:
    """What runs tasks: `HERE` for None, else the Ray cluster at this address.

    Args:
        address: `local` starts one of worker processes on this machine for as long as it is used;
            `auto` finds the one that this machine belongs to; HOST:PORT or ray://HOST:PORT names
            one. Where Ray is connected already, that connection is used and left open.
    """
    if address is None:
        yield HERE
        return
    ray = _ray()
    ours = not ray.is_initialized()
    if ours:
        _connect(ray, address)
    try:
        yield Cluster()
    finally:
        if ours:
            ray.shutdown()


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ClusterError(
            "Spreading work over machines needs the package 'ray', which is not installed: run "
            "`pip install 'conftr[ray]'`."
        ) from None
    return ray


def _connect(ray: Any, address: str) -> None:
    # Ray's advice on a default of its own that is going to change, and a report to its makers.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    options = {"num_cpus": cores(), "include_dashboard": False} if address == "local" else {}
    try:
        _check_answers(address)
        with warnings.catch_warnings():
            # Ray forks only to start programs of its own, which touch nothing of JAX.
            warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
            _connect_again_if_aborted(
                ray.init, address, log_to_driver=False, logging_level="ERROR", **options
            )
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"There is no Ray cluster at {address!r} ({error}). Start one with "
            f"`ray start --head`, or use `local` for workers on this machine alone."
        ) from error


def _connect_again_if_aborted(init: Callable[..., Any], address: str, **settings: Any) -> None:
    """Connect. The process that serves a client sometimes dies as Ray forks it: then once more."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(ConnectionAbortedError):
            init(address, **settings)
            return
    init(address, **settings)


def _check_answers(address: str) -> None:
    """Raise at once where nobody answers; Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdigit():
        socket.create_connection((host, int(port)), timeout=10).close()


def _environment() -> dict[str, str]:
    """What makes a worker compute what this process would, on one core.

    XLA divides large products among the threads it has, and so rounds by their number: it is
    given as many as here, whatever the machine has.
    """
    threads = os.environ.get("PJRT_NPROC") or str(cores())
    return {"CONFTR_CORES": "1", "JAX_PLATFORMS": "cpu", "PJRT_NPROC": threads}


def packages() -> dict[str, str]:
    """The versions that must be the same on every machine."""
    return versions("jaxlib")


def _packed(task: Callable[[T], R]) -> tuple[Callable[[T], R], dict[str, Any]]:
    """A task with what it may name and the other machines cannot import."""
    for module in names.files():
        _ray().cloudpickle.register_pickle_by_value(module)
    return task, names.carried()


def _perform(
    packed: tuple[Callable[[T], R], dict[str, Any]], item: T, expected: dict[str, str]
) -> R:
    """In a worker: one task, with the packages that the driver has or not at all."""
    task, things = packed
    names.carry(things)
    other = {
        name: installed for name, installed in packages().items() if installed != expected[name]
    }
    if other:
        raise ClusterError(
            f"Every machine must have the versions {expected} that the driver has; "
            f"{platform.node()} has {other}. Install them there, and run this again."
        )
    return task(item)


def _result(future: Any) -> Any:
    """A task's result, or its own error instead of Ray's account of it."""
    ray = _ray()
    try:
        return ray.get(future)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise ClusterError(
            f"A task was lost more than {_RETRIES} times ({type(error).__name__}), perhaps because "
            f"its machine has too little memory. The same command goes on where it was."
        ) from error
