"""The cores that this process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """How many cores this process may use: as many as CONFTR_CORES says, or all it is allowed."""
    requested = os.environ.get("CONFTR_CORES", "")
    if requested.isdigit() and int(requested):
        return int(requested)
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1
