"""A line on standard error that says what is being got and how long it will take."""

import sys
import time
from dataclasses import dataclass, field


def announce(text: str, *, progress: bool) -> None:
    """Say what happens next, where the caller wants to be told."""
    if progress:
        print(f"conftr: {text}", file=sys.stderr, flush=True)


@dataclass
class Bar:
    """How much of a download is done, redrawn in place; silent where nobody watches a terminal."""

    total: int = 0
    done: int = 0
    started: float = field(default_factory=time.monotonic)
    drawn: float = 0.0

    def update(self, amount: int) -> None:
        """Count `amount` more bytes."""
        self.done += amount
        now = time.monotonic()
        if now - self.drawn > 0.1 and sys.stderr.isatty():
            self.drawn = now
            print(f"\r  {self.describe(now)}\x1b[K", end="", file=sys.stderr, flush=True)

    def reset(self) -> None:
        """Count from zero again."""
        self.done = 0

    def close(self) -> None:
        """Clear the line."""
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def describe(self, now: float) -> str:
        """What is done, in megabytes and per cent, and the seconds that are left."""
        if not self.total:
            return f"{self.done / 1e6:.1f} MB"
        share = min(1.0, self.done / self.total)
        left = (now - self.started) * (1 - share) / share if share else 0.0
        return f"{self.done / 1e6:.1f} of {self.total / 1e6:.1f} MB, {share:.0%}, {left:.0f} s left"
