"""Settings compared on held-out training examples."""
