"""Files that are whole or not there, even if the machine stops while they are written."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place, through to the disk, and rename it; its folder is made.

    Args:
        path: where the file is to be; one that is there is replaced.
        content: all of it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    if os.name == "posix":  # elsewhere a folder cannot be opened, and the rename is flushed anyway
        handle = os.open(path.parent, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
