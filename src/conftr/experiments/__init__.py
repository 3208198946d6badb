"""Experiments as values: what is computed, where its result lies, and tables made from that."""

from conftr.experiments.specification import Specification
from conftr.experiments.store import Store
from conftr.machine.plain_data import Part, digest, part
from conftr.search.attempts import Evaluation, Training

__all__ = ["Evaluation", "Part", "Specification", "Store", "Training", "digest", "part"]
