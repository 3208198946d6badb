"""Is it still valid? New rows of a model in use, watched by tests that hold at any time."""
