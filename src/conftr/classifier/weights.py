"""Weights in training: which rows count more. Calibration counts every row once.

A network meets rows in proportion to their weights, so that every objective follows them, also one
that calibrates within a batch. A classifier of scikit-learn is given the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from conftr.classifier.division import Division, Rows
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
    """Multiply the weights that are given; they must not all be 0."""
    given = [each for each in weights if each is not None]
    if not given:
        return None
    whole: Weights = np.prod(given, axis=0)
    if not whole.any():
        raise ValueError("the weights of the rows that train must not all be 0.")
    return whole


def of_training(
    y: npt.NDArray[Any], rows: Rows, class_weight: Any, fit_params: Mapping[str, Any]
) -> Weights | None:
    """The weights of the rows that train, by row and by class."""
    by_row = of_rows(fit_params.get("sample_weight"), len(y))
    by_class = of_classes(class_weight, y[rows], np.unique(y))
    return product(None if by_row is None else by_row[rows], by_class)


def without_zeros(
    y: npt.NDArray[Any], division: Division, class_weight: Any, fit_params: Mapping[str, Any]
) -> Division:
    """Leave out training rows of weight 0, as if `fit` had not been given them.

    A class that is left without training rows is not learned, so that it cannot choose either.
    """
    known = of_training(y, division.train, class_weight, fit_params)
    if known is None or known.all():
        return division
    train, chooses = division.train[known > 0], division.validation
    chooses = chooses[np.isin(y[chooses], y[train])]
    return division._replace(train=train, validation=chooses[: len(chooses) * (len(chooses) > 1)])


def refuse(class_weight: Any, fit_params: Mapping[str, Any]) -> None:
    """Refuse weights where nothing is trained."""
    given = [*fit_params, *(["class_weight"] if class_weight is not None else [])]
    if given:
        raise ValueError(
            f"{given[0]} is for training members, and none is trained here: rows calibrate, or "
            f"teach wishes to a head, and each counts once."
        )
