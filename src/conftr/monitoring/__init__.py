"""Tests, valid at any time, of whether a model's promise still holds on new rows."""
