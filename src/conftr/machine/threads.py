"""Work in threads that Ctrl-C always ends.

Pools of `concurrent.futures` and the start of a `threading.Thread` take locks in Python code: an
interrupt between the taking of one and the `with` that would give it back leaves it taken, and the
program waits for itself for ever. Here the caller waits only in calls of C, which are interrupted
before they take anything or not at all.
"""

from __future__ import annotations

import _thread
import contextlib
from collections.abc import Callable, Generator, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class _Ended(NamedTuple):
    """What a call gave, or the error that it raised."""

    value: Any = None
    error: BaseException | None = None

    @classmethod
    def of(cls, call: Callable[[], Any]) -> _Ended:
        try:
            return cls(call())
        except BaseException as error:  # raised again where it is waited for
            return cls(error=error)

    def get(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


class Turn(NamedTuple):
    """A state's step in a round: whence the state before comes, and where the next one goes."""

    place: int
    number: int
    before: SimpleQueue[_Ended]
    after: SimpleQueue[_Ended]


class Started(Generic[T]):
    """A call that runs in a thread of its own from now on."""

    def __init__(self, call: Callable[[], T]) -> None:
        """Start the thread."""
        self._ended: list[_Ended] = []
        self._bell: SimpleQueue[None] = SimpleQueue()

        def run() -> None:
            self._ended.append(_Ended.of(call))
            self._bell.put(None)

        _thread.start_new_thread(run, ())

    def result(self) -> T:
        """Wait for the end of the call, as often as you like; its value, or its error raised."""
        if not self._ended:
            self._bell.get()
        value: T = self._ended[0].get()
        return value


def in_rounds(
    step: Callable[[int, int, T], T], states: Sequence[T], rounds: range, threads: int
) -> Generator[list[T]]:
    """All states after each round, where step(i, round, state i) gives the next state i.

    A round is begun before the one before it is given out, so that no thread idles at the end of
    a round, nor while the caller is busy with it. What is closed early waits for the steps that
    have begun.
    """
    turns: SimpleQueue[Turn | None] = SimpleQueue()
    # Every state is put into two queues, one for the caller and one for the worker that takes the
    # next step: a reader that is interrupted never removes what the other waits for. Every turn has
    # its own queue, so that turns stay in order.
    given = [SimpleQueue[_Ended]() for _ in states]
    closed = False

    def take_turns() -> None:
        while (turn := turns.get()) is not None:
            ended = _Ended.of(partial(next_state, turn))
            given[turn.place].put(ended)
            turn.after.put(ended)

    def next_state(turn: Turn) -> T:
        before: T = turn.before.get().get()
        if closed:
            raise InterruptedError("nobody waits for this round any more")
        return step(turn.place, turn.number, before)

    def announce(number: int, before: list[SimpleQueue[_Ended]]) -> list[SimpleQueue[_Ended]]:
        after = [SimpleQueue[_Ended]() for _ in states]
        for place, (earlier, later) in enumerate(zip(before, after, strict=True)):
            turns.put(Turn(place, number, earlier, later))
        return after

    first = [SimpleQueue[_Ended]() for _ in states]
    for queue, state in zip(first, states, strict=True):
        queue.put(_Ended(state))
    count, workers = min(threads, len(states)), list[Started[None]]()
    try:
        workers.extend(Started(take_turns) for _ in range(count))
        latest = announce(rounds[0], first)
        for number in rounds:
            if number != rounds[-1]:
                latest = announce(number + rounds.step, latest)
            yield [queue.get().get() for queue in given]
    finally:
        closed = True
        for _ in range(count):  # also for one that started and did not come to be among `workers`
            turns.put(None)
        for worker in workers:
            worker.result()


def in_threads(function: Callable[[T], R], items: Sequence[T], threads: int) -> list[R]:
    """The function of each item, several at once."""
    states: Sequence[Any] = items
    once = in_rounds(lambda *turn: function(turn[-1]), states, range(1), threads)
    with contextlib.closing(once):
        return next(once)
