"""Named datasets with the paper's splits, classes and groups, and where to get them."""

from conftr.data.dataset import (
    Dataset,
    Examples,
    Normalisation,
    centre,
    labels,
    split,
    whiten,
)
from conftr.data.dataset_recipes import Place
from conftr.data.errors import DataError
from conftr.data.library import Availability, available, fetch, is_here, load

__all__ = [
    "Availability",
    "DataError",
    "Dataset",
    "Examples",
    "Normalisation",
    "Place",
    "available",
    "centre",
    "fetch",
    "is_here",
    "labels",
    "load",
    "split",
    "whiten",
]
