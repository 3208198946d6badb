"""Checkpoints: whole or not there, damage found and named, runs told apart."""

import functools
import json
import os
import random
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optax
import pytest
import safetensors.numpy

import conftr
import processes
from conftr.training.checkpoints import (
    Checkpoint,
    CheckpointMismatchError,
    Checkpoints,
    CheckpointWarning,
    describe,
    load,
    refuse_other_run,
    save,
)
from conftr.training.models import MLP
from conftr.training.optimisers import SGD, cosine

ARRAYS = {
    "params/weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "params/empty": np.zeros((2, 0), np.float32),
    "failed": np.array([True, False]),
    "step": np.array(7, np.int32),
    "loss": np.array([np.nan, np.inf], np.float32),
}


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    record = {"epoch": 3, "run": {"plan": [1, None, "é"]}}
    save(tmp_path / "new" / "folder", 3, Checkpoint(ARRAYS, record))
    loaded = load(tmp_path / "new" / "folder")
    assert loaded is not None
    assert loaded.record == record
    assert loaded.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert loaded.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(loaded.arrays[name], array)


def test_an_array_that_is_not_contiguous_is_saved_in_its_order(tmp_path: Path) -> None:
    array = np.arange(6.0).reshape(2, 3).T
    save(tmp_path, 0, Checkpoint({"a": array}, {}))
    loaded = load(tmp_path)
    assert loaded is not None
    np.testing.assert_array_equal(loaded.arrays["a"], array)


def test_nothing_saved_nothing_loaded(tmp_path: Path) -> None:
    assert load(tmp_path) is None
    assert load(tmp_path / "absent") is None


def test_the_two_newest_are_kept_and_nothing_else(tmp_path: Path) -> None:
    for number in (1, 2, 9, 10, 100):
        save(tmp_path, number, Checkpoint(ARRAYS, {"epoch": number}))
    assert files(tmp_path) == ["checkpoint-00000010.safetensors", "checkpoint-00000100.safetensors"]
    loaded = load(tmp_path)
    assert loaded is not None
    assert loaded.record == {"epoch": 100}


def test_a_checkpoint_is_plain_safetensors(tmp_path: Path) -> None:
    path = save(tmp_path, 1, Checkpoint(ARRAYS, {"epoch": 1}))
    np.testing.assert_array_equal(
        safetensors.numpy.load_file(path)["params/weight"], ARRAYS["params/weight"]
    )


def flip(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "last byte missing": lambda content: content[:-1],
    "first byte": lambda content: flip(content, 0),
    "last byte": lambda content: flip(content, len(content) - 1),
    "record": lambda content: content.replace(b"the second", b"the sec0nd"),
    "name": lambda content: content.replace(b"params/weight", b"params/weighs"),
    "zeros": lambda content: bytes(len(content)),
    "another file": lambda content: safetensors.numpy.save({"a": np.zeros(3)}),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(
    kind: str, tmp_path: Path
) -> None:
    save(tmp_path, 1, Checkpoint(ARRAYS, {"note": "the first"}))
    newest = save(tmp_path, 2, Checkpoint(ARRAYS, {"note": "the second"}))
    before = newest.read_bytes()
    newest.write_bytes(DAMAGE[kind](before))
    assert newest.read_bytes() != before
    with pytest.warns(CheckpointWarning, match=newest.name):
        loaded = load(tmp_path)
    assert loaded is not None
    assert loaded.record == {"note": "the first"}


def test_any_flipped_byte_is_noticed(tmp_path: Path) -> None:
    path = save(tmp_path, 1, Checkpoint({"a": np.arange(5)}, {"epoch": 1}))
    content = path.read_bytes()
    for at in range(len(content)):
        path.write_bytes(flip(content, at))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loaded = load(tmp_path)
        assert loaded is None or loaded.record == {"epoch": 1}
        assert loaded is None or (loaded.arrays["a"] == np.arange(5)).all()
        assert (loaded is None) == bool(caught)


def test_all_damaged_is_a_new_start(tmp_path: Path) -> None:
    save(tmp_path, 1, Checkpoint(ARRAYS, {})).write_bytes(b"")
    with pytest.warns(CheckpointWarning, match="starts anew"):
        assert load(tmp_path) is None


WRITER = """
import sys, numpy as np
from conftr.training.checkpoints import Checkpoint, save
for number in range(int(sys.argv[2]), 10**6):
    save(sys.argv[1], number, Checkpoint({"a": np.full(200_000, number)}, {"epoch": number}))
    print(number, flush=True)
"""


def test_a_writer_killed_at_any_moment_leaves_a_whole_checkpoint(tmp_path: Path) -> None:
    rng, last, place = random.Random(0), -1, tmp_path / "written"
    (tmp_path / "writer.py").write_text(WRITER)
    for _ in range(10):
        (tmp_path / "stdout.txt").write_text("")
        with processes.Started(tmp_path / "writer.py", place, last + 1, cwd=tmp_path) as writer:
            writer.until(lambda: (tmp_path / "stdout.txt").stat().st_size > 0)
            time.sleep(rng.uniform(0, 0.05))
            writer.kill()
        written = [int(line) for line in (tmp_path / "stdout.txt").read_text().split()]
        assert written
        loaded = load(place)  # a warning would fail the test
        assert loaded is not None
        assert loaded.record["epoch"] >= max(written)
        assert (loaded.arrays["a"] == loaded.record["epoch"]).all()
        last = loaded.record["epoch"]
    assert len(list(place.glob("*.safetensors"))) <= 3


def test_a_run_in_which_the_disk_is_full_keeps_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, 1, Checkpoint(ARRAYS, {"epoch": 1}))

    def no_space(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        save(tmp_path, 2, Checkpoint(ARRAYS, {"epoch": 2}))
    loaded = load(tmp_path)
    assert loaded is not None
    assert loaded.record == {"epoch": 1}


def test_when_a_checkpoint_is_due() -> None:
    rule = Checkpoints("here", seconds=10, epochs=5)
    assert [rule.due(s, e) for s, e in [(9, 4), (10, 0), (0, 5)]] == [False, True, True]
    assert not Checkpoints("here", seconds=10).due(9, 1000)


def local(c: float) -> Callable[[float], float]:
    return lambda x: x * c


DESCRIBED = [
    MLP((4,), 3),
    MLP((4,), 3, hidden=(8,)),
    conftr.ConfTr(0.1),
    conftr.ConfTr(0.1, quantile=conftr.Nearest(0.1)),
    conftr.ConfTr(0.1, quantile=conftr.Nearest(0.2)),
    conftr.ConfTr(0.1, score=conftr.thr_probs),
    conftr.ConfTr(0.1, score=functools.partial(conftr.raps, penalty=0.1)),
    conftr.ConfTr(0.1, score=functools.partial(conftr.raps, penalty=0.2)),
    conftr.ConfTr(0.1, class_weights=np.ones(3)),
    conftr.ConfTr(0.1, class_weights=np.array([1, 1, 2])),
    conftr.ConfTr(0.1, class_weights=np.ones(3, np.float32)),
    SGD(),
    SGD(schedule=cosine),
    local(1.0),
    local(2.0),
    lambda x: x + 1,
    lambda x: x + 2,
    lambda x: np.sin(x),
    lambda x: np.cos(x),
    lambda x, c=1: x + c,
    lambda x, c=2: x + c,
    lambda x: [y + 1 for y in x],
    lambda x: [y + 2 for y in x],
    lambda x: x in {"one", "two", "three", "four"},
    optax.adam(0.01),
    optax.adam(0.02),
    {"a": (1, 2)},
    {"a": (1, 3)},
    MLP((4,), 3).init,
    MLP((4,), 4).init,
]


def test_descriptions_tell_values_apart() -> None:
    texts = [json.dumps(describe(value)) for value in DESCRIBED]
    assert len(set(texts)) == len(texts)


def test_descriptions_are_the_same_in_every_process(tmp_path: Path) -> None:
    (tmp_path / "describe.py").write_text(
        "import json, sys; sys.path.insert(0, sys.argv[1]); import test_checkpoints as t\n"
        "print(json.dumps([t.describe(value) for value in t.DESCRIBED]))"
    )
    there = processes.run(tmp_path / "describe.py", Path(__file__).parent, cwd=tmp_path).stdout
    here = json.dumps([describe(value) for value in DESCRIBED])
    assert json.loads(there.replace("test_checkpoints.", "")) == json.loads(
        here.replace(f"{__name__}.", "")
    )


def test_a_function_that_encloses_itself_is_described() -> None:
    def outer() -> Any:
        def even(n: int) -> bool:
            return n == 0 or odd(n - 1)

        def odd(n: int) -> bool:
            return n > 0 and even(n - 1)

        return even

    assert "code" in describe(outer())


def test_another_run_is_refused_in_words() -> None:
    saved, now = (
        {"model": describe(MLP((4,), 3)), "objective": describe(conftr.ConfTr(0.1, temperature=t))}
        for t in (0.5, 1.0)
    )
    refuse_other_run("here", saved, saved)
    words = r"here belong to another run: objective.temperature was 0.5 and is now 1.0"
    with pytest.raises(CheckpointMismatchError, match=words):
        refuse_other_run("here", saved, now)
    other = {**saved, "objective": describe(conftr.CrossEntropy())}
    with pytest.raises(CheckpointMismatchError, match=r"was \S+ConfTr and is now \S+CrossEntropy"):
        refuse_other_run("here", saved, other)
