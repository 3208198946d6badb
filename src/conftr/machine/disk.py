"""Write, move and remove files so that each is whole on the disk or not there."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Write a file through to the disk, unless it is there already; its folder may be made."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place, through to the disk, and rename it; its folder is made.

    Args:
        path: Where the file is to be; one that is there is replaced.
        content: All of it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    write(beside, content)
    beside.replace(path)
    flush(path.parent)


def write_all(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files by name into a folder, or into folders in it."""
    for name, content in files.items():
        write(folder / name, content)
    if files:
        flush(folder)


def move_all(names: Iterable[str], source: Path, target: Path) -> None:
    """Move files, which are given by name, in their order, into a folder of the same disk."""
    for name in names:
        (source / name).replace(target / name)


def remove_all(names: Iterable[str], folder: Path) -> None:
    """Remove files, which are given by name, in their order; what is there may be none."""
    for path in (folder / name for name in names):
        if path.is_file() or path.is_symlink():
            path.unlink()


def make_folders_for(names: Iterable[str], folder: Path) -> None:
    """Make the folders that files, which are given by name, are to lie in."""
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)


def remove_empty(folder: Path) -> None:
    """Remove a folder if there is one and nothing is in it."""
    with suppress(OSError):
        folder.rmdir()


def why_not_writable(folder: Path) -> str:
    """What keeps files from being made in a folder, or it from being made; nothing if they can."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            return ""
    except OSError as fault:
        return f"{there}: {fault.strerror}"


def flush(folder: Path) -> None:
    """See to it that what was moved in a folder so far is on the disk before what comes next."""
    if os.name == "posix":  # elsewhere a folder cannot be opened
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until the block is done. Python hears it in the main thread alone."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    signals: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        for number in signals[:1]:
            signal.raise_signal(number)
