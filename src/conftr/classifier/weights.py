"""Weights in training: which rows count more. Calibration counts every row once.

A network meets rows in proportion to their weights, so that every objective follows them, also one
that calibrates within a batch. A classifier of scikit-learn is given the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.classifier.labels import Classes
from conftr.conformal import checks

Weights: TypeAlias = npt.NDArray[np.float64]


def of_rows(sample_weight: Any, n: int) -> Weights | None:
    """The weight of each of n rows, (n,), if there are any."""
    if sample_weight is None:
        return None
    weights: Weights = np.asarray(checks.not_negative(np.asarray(sample_weight), "sample_weight"))
    checks.of_shape(weights, (n,), "sample_weight", "one weight a row")
    return weights.astype(np.float64)


def of_classes(class_weight: Any, y: npt.NDArray[Any], classes: Classes) -> Weights | None:
    """The weight of each row by its class, (n,), from labels (n,), if classes have any.

    Args:
        class_weight: None, a weight for each class by its name (1 where there is none), or
            "balanced": all rows of a class together weigh as much as those of any other.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        present, places, counts = np.unique(y, return_inverse=True, return_counts=True)
        return len(y) / (len(present) * counts[places])
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f'class_weight must be None, "balanced" or a weight for each class by its name; got '
            f"{class_weight!r}."
        )
    unknown = [repr(name) for name in class_weight if name not in set(classes.tolist())]
    if unknown:
        raise ValueError(
            f"class_weight names classes that y does not hold: {checks.listed(unknown)}."
        )
    weights = np.array([class_weight.get(name, 1.0) for name in y.tolist()], np.float64)
    return np.asarray(checks.not_negative(weights, "class_weight"))


def product(*weights: Weights | None) -> Weights | None:
    """All of the weights that there are, multiplied; they must not all be 0."""
    given = [each for each in weights if each is not None]
    if not given:
        return None
    whole: Weights = np.prod(given, axis=0)
    if not whole.any():
        raise ValueError("the weights of the rows that train must not all be 0.")
    return whole
