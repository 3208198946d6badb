"""Rows on disk are the rows of an array, and nobody else sees them."""

import errno
import gc
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftr.machine import rows_on_disk
from conftr.machine.digests import of_arrays
from conftr.machine.rows_on_disk import RowsOnDisk, collected, moments

DESCRIPTORS = Path("/proc/self/fd")


@pytest.fixture(autouse=True)
def _on_disk(monkeypatch):
    """Anything is too much for memory."""
    monkeypatch.setattr(rows_on_disk, "IN_MEMORY", 0)


def array(n=1000, row=(3, 2), dtype=np.uint8):
    numbers = np.random.default_rng(0).integers(0, 256, (n, *row))
    return numbers.astype(dtype)


def on_disk(x, size=300):
    blocks = (x[i : i + size] for i in range(0, len(x), size))
    return collected(blocks, len(x), x.shape[1:], x.dtype)


@given(places=st.lists(st.integers(0, 999), max_size=20), step=st.integers(-3, 3).filter(bool))
def test_any_rows_are_those_of_the_array(places, step):
    x = array()
    rows = on_disk(x)
    chosen = np.array(places, np.intp)
    np.testing.assert_array_equal(np.asarray(rows[chosen]), x[chosen])
    np.testing.assert_array_equal(np.asarray(rows[chosen, ...]), x[chosen])
    np.testing.assert_array_equal(np.asarray(rows[::step][5:50]), x[::step][5:50])
    np.testing.assert_array_equal(np.asarray(rows[x[:, 0, 0] > 100]), x[x[:, 0, 0] > 100])
    np.testing.assert_array_equal(rows[7], x[7])


def test_shape_type_and_matrix_are_those_of_the_array():
    x = array(dtype=np.float32)
    rows = on_disk(x)
    assert isinstance(rows, RowsOnDisk)
    assert (rows.shape, rows.dtype, rows.ndim, rows.size, len(rows)) == (
        x.shape,
        x.dtype,
        x.ndim,
        x.size,
        len(x),
    )
    np.testing.assert_array_equal(np.asarray(rows.flat), x.reshape(len(x), -1))
    assert of_arrays(rows[10:900]) == of_arrays(x[10:900])


def test_blocks_are_the_rows_in_their_order():
    x = array()
    rows = on_disk(x)[::-1]
    blocks = list(rows.blocks(numbers=1))
    assert [len(block) for block in blocks] == [256, 256, 256, 232]
    np.testing.assert_array_equal(np.concatenate(blocks), x[::-1])
    assert [block.shape for block in rows[:0].blocks()] == [(0, 3, 2)]


def test_what_a_function_makes_of_rows_is_on_disk_too():
    x = array()
    doubled = on_disk(x).encoded(lambda block: block.astype(np.float32) * 2)
    assert isinstance(doubled, RowsOnDisk)
    np.testing.assert_array_equal(np.asarray(doubled), x.astype(np.float32) * 2)


@pytest.mark.parametrize("columns", [2, 6])
def test_moments_are_those_of_the_columns(columns):
    x = array()
    x[:, :, 1] = 9
    mean, deviation, constant = moments(on_disk(x), columns)
    table = x.reshape(-1, columns).astype(np.float64)
    np.testing.assert_allclose(mean, table.mean(axis=0))
    np.testing.assert_allclose(deviation, table.std(axis=0))
    np.testing.assert_array_equal(constant, [False, True] * (columns // 2))


def test_few_rows_stay_in_memory(monkeypatch):
    x = array()
    monkeypatch.setattr(rows_on_disk, "IN_MEMORY", x.nbytes)
    np.testing.assert_array_equal(on_disk(x), x)
    assert isinstance(on_disk(x), np.ndarray)


def test_no_row_at_all_is_an_empty_array():
    rows = collected(iter(()), 5, (3, 2), np.uint8)
    assert (rows.shape, rows.dtype) == ((0, 3, 2), np.uint8)


def test_rows_are_not_cut():
    with pytest.raises(IndexError, match="taken whole"):
        on_disk(array())[:, 0]


def test_another_process_gets_its_own_file():
    x = array()
    rows = pickle.loads(pickle.dumps(on_disk(x)[5:50]))
    assert isinstance(rows, RowsOnDisk)
    np.testing.assert_array_equal(np.asarray(rows), x[5:50])


def test_the_file_has_no_name_and_goes_with_the_rows(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(rows_on_disk.tempfile, "tempdir", None)
    rows = on_disk(array())
    assert not list(tmp_path.iterdir())
    before, some = _open_files(), rows[:10]
    del rows
    gc.collect()
    assert _open_files() == before
    assert np.asarray(some).shape == (10, 3, 2)
    del some
    gc.collect()
    assert _open_files() == before - 1


def _open_files():
    if not DESCRIPTORS.exists():
        pytest.skip("open files are told by Linux alone")
    return len(list(DESCRIPTORS.iterdir()))


def test_a_full_disk_is_told_in_words(monkeypatch):
    class Full:
        def write(self, _):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def close(self): ...

    monkeypatch.setattr(rows_on_disk.tempfile, "TemporaryFile", lambda **_: Full())
    with pytest.raises(OSError, match=r"No space left on device: rows .* TMPDIR names another"):
        on_disk(array())


KILLED = """
import sys, time
import numpy as np
from conftr.machine import rows_on_disk
rows_on_disk.IN_MEMORY = 0
rows = rows_on_disk.collected([np.ones((100, 10))], 100, (10,), float)
print(len(rows), flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_a_killed_process_leaves_nothing(tmp_path):
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "100\n"
        process.send_signal(signal.SIGKILL)
    assert not list(tmp_path.iterdir())
