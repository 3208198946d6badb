"""Work in threads: the values, the errors, and the end of it at any moment."""

import _thread
import itertools
import subprocess
import sys
import time

import pytest

from conftr.machine.threads import Started, in_rounds, in_threads


def _ends_with(threads):
    """Wait until no more threads run than that."""
    for _ in range(1000):
        if _thread._count() <= threads:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_every_state_takes_every_round_in_order(threads):
    rounds = in_rounds(
        lambda i, number, path: (*path, (i, number)), [(), (), ()], range(4, 7), threads
    )
    for seen, states in enumerate(rounds, start=1):
        assert states == [tuple((i, 4 + n) for n in range(seen)) for i in range(3)]
    assert seen == 3


def test_no_turn_overtakes_the_one_before():
    """Two threads that hold two turns of one state take them in order, always."""

    def step(i, number, before):
        assert before == number - 1
        return number

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(10):
            for number, states in enumerate(in_rounds(step, [-1, -1, -1], range(500), 3)):
                assert states == [number] * 3
    finally:
        sys.setswitchinterval(usual)


def test_the_next_round_is_under_way_and_not_the_one_after():
    begun = []
    rounds = in_rounds(lambda i, number, state: begun.append(number), [None], range(9), 2)
    next(rounds)
    for _ in range(1000):
        if len(begun) == 2:
            break
        time.sleep(0.01)
    time.sleep(0.05)
    assert begun == [0, 1]
    rounds.close()


def test_an_error_is_raised_where_it_is_waited_for_and_all_threads_end():
    before = _thread._count()

    def step(i, number, state):
        if (i, number) == (1, 2):
            raise ZeroDivisionError("the third round of the second")
        return number

    rounds = in_rounds(step, [0, 0, 0], range(5), 2)
    assert list(itertools.islice(rounds, 2)) == [[0] * 3, [1] * 3]
    with pytest.raises(ZeroDivisionError, match="the third round"):
        next(rounds)
    assert _ends_with(before)


def test_what_is_closed_early_waits_for_what_has_begun():
    before, done = _thread._count(), []

    def step(i, number, state):
        time.sleep(0.05)
        done.append(number)

    rounds = in_rounds(step, [None] * 2, range(1000), 2)
    next(rounds)
    rounds.close()
    begun = len(done)
    time.sleep(0.2)
    assert len(done) == begun < 10
    assert _ends_with(before)


def test_spread():
    assert in_threads(lambda x: x * x, [1, 2, 3], 2) == [1, 4, 9]
    assert in_threads(lambda x: x, [], 2) == []
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda x: 1 // x, [1, 0], 2)


def test_a_result_can_be_waited_for_twice():
    call = Started(lambda: 3)
    assert call.result() == call.result() == 3
    failed = Started(lambda: 1 // 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            failed.result()


INTERRUPTED = """
import faulthandler, random, signal
from conftr.machine.threads import in_rounds

faulthandler.dump_traceback_later(60, exit=True)
signal.signal(signal.SIGALRM, signal.default_int_handler)
random.seed(0)
for _ in range(600):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-4, 2e-3))
        for states in in_rounds(lambda i, number, state: state + 1, [0, 0], range(10**9), 2):
            pass
    except KeyboardInterrupt:
        pass
print("all ended")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no interval timers")
def test_an_interrupt_at_any_moment_ends_it():
    """A pool of concurrent.futures waits for itself for ever after some hundred of these."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("all ended\n", 0), done.stderr
