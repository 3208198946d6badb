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
from conftr.data.errors import DataError
from conftr.data.library import Availability, available, fetch, load
from conftr.data.recipes import Place

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
    "labels",
    "load",
    "split",
    "whiten",
]
