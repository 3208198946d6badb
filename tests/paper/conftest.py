"""A workspace in a folder of its own."""

from small_runs import steps, workspace  # noqa: F401
