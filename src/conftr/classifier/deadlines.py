"""A time limit: what is done until then counts, and what comes later is left out."""

from __future__ import annotations

import time


class TimeIsUp(Exception):  # noqa: N818
    """Raised to end work that came too late."""


def check(until: float) -> None:
    """Raise `TimeIsUp` if it is later than `until`, by the monotonic clock."""
    if time.monotonic() > until:
        raise TimeIsUp
