"""From a file to a classifier that keeps its promise, and from that to sets for another file."""
