"""Settings compared on held-out training rows: one description of what may vary, one search."""
