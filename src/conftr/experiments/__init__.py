"""Experiments as values: what is computed, where its result lies, and tables made from that."""

from conftr.experiments.specification import (
    Evaluation,
    Part,
    Specification,
    Training,
    digest,
    part,
)
from conftr.experiments.store import Store

__all__ = ["Evaluation", "Part", "Specification", "Store", "Training", "digest", "part"]
