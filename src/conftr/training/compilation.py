"""A place on disk for compiled programs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
from pathlib import Path

import jax


def use_compilation_cache(folder: Path | str | None = None) -> Path:
    """Keep compiled programs on disk from now on, and take them from there in later runs.

    Args:
        folder: By default one in the user's cache. What other people can write must not be used:
            programs found there are run. Machines with other processors get folders of their own.

    Returns:
        The folder that is used.
    """
    place = Path(folder) if folder else _user_cache() / "conftr" / "programs"
    place = place / _processor()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    settings = {
        "jax_compilation_cache_dir": str(place),
        "jax_persistent_cache_min_compile_time_secs": 0.1,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    for name, value in settings.items():
        jax.config.update(name, value)  # type: ignore[no-untyped-call]
    return place


def _user_cache() -> Path:
    """Where the user's programs keep what they can make again."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _processor() -> str:
    """A name for this kind of processor, whose programs others cannot run."""
    facts = [platform.machine(), platform.processor()]
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        facts += sorted({line for line in lines if line.startswith(("model name", "flags"))})
    return f"{platform.machine()}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:12]}"
