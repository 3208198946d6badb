"""Conformal training."""
