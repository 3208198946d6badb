"""Rows as a classifier takes them: refused in words, in an order of their own, columns named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import indexable  # type: ignore[import-untyped]
from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]
from sklearn.utils.validation import (  # type: ignore[import-untyped]
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from conftr.classifier import labels
from conftr.classifier.choosing_members import ONE_NETWORK, RequestedMembers
from conftr.classifier.division import Order, by_number, order
from conftr.classifier.estimator_settings import knows_best, of_outputs, requested_by
from conftr.conformal.arrays import refuse_masked
from conftr.data.pictures import PictureFiles
from conftr.features import frames
from conftr.features.texts import as_frame
from conftr.machine.rows_on_disk import RowsOnDisk

if TYPE_CHECKING:
    from conftr.classifier.estimator import ConformalClassifier


def checked(
    clf: ConformalClassifier, X: Any, y: Any, *, reset: bool
) -> tuple[Any, npt.NDArray[Any]]:
    """X as it can be encoded and y as an array of labels, both refused in words."""
    X = checked_rows(clf, X, reset=reset)
    if y is None:
        raise ValueError(f"{type(clf).__name__} requires y to be passed, but the target y is None.")
    refuse_masked(y, "y")
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    labels.check(y)
    check_classification_targets(y)
    return X, y


def checked_rows(clf: ConformalClassifier, X: Any, *, reset: bool) -> Any:
    """X as it can be encoded; with `reset`, its columns are those of the classifier from now on."""
    refuse_masked(X, "X")
    requested = requested_by(clf)
    if of_outputs(requested):
        return np.asarray(X)
    if isinstance(X, RowsOnDisk):
        return _rows_on_disk(clf, X, requested, reset=reset)
    if knows_best(requested):
        return indexable(_with_columns(X))[0]
    if isinstance(X, PictureFiles):
        return X
    X = as_frame(X)
    if frames.is_frame(X):
        if reset:
            name_features(clf, frames.names(X))
        return _with_columns(X)
    if reset and hasattr(clf, "feature_names_in_"):
        del clf.feature_names_in_
    if not reset and hasattr(clf, "feature_names_in_"):
        raise ValueError("X must be a data frame with named columns, as it was in fit.")
    allowed = {"ensure_all_finite": "allow-nan", "allow_nd": True, "ensure_min_features": 0}
    return _with_columns(validate_data(clf, X, reset=reset, **allowed))


def _rows_on_disk(
    clf: ConformalClassifier, X: RowsOnDisk, requested: RequestedMembers, *, reset: bool
) -> Any:
    """Pictures on disk as they are for members that take blocks, and read for all others."""
    if requested == ONE_NETWORK or knows_best(requested):
        return checked_rows(clf, np.asarray(X), reset=reset)
    if reset:
        clf.n_features_in_ = X.shape[1]  # as scikit-learn counts those of an array
    return X


def in_order(clf: ConformalClassifier, X: Any, y: npt.NDArray[Any]) -> Order:
    """The order in which rows are drawn; equal outputs need not be those of equal rows."""
    if of_outputs(requested_by(clf)):
        return by_number(len(X), clf.seed_)
    return order(X, clf.seed_, y)


def named_texts(clf: ConformalClassifier) -> list[str] | None:
    """The columns that are named as texts; None recognises them."""
    return [clf.texts] if isinstance(clf.texts, str) else clf.texts


def text_columns(clf: ConformalClassifier) -> list[str]:
    """The columns of texts that the classifier has learned from."""
    return list(getattr(clf.candidates_[0].stack.reader, "texts", ()))


def name_features(clf: ConformalClassifier, names: Sequence[str]) -> None:
    """Leave the names of columns where scikit-learn looks for them."""
    clf.feature_names_in_ = np.array(names, dtype=object)
    clf.n_features_in_ = len(names)


def _with_columns(X: Any) -> Any:
    """Rows that have columns; what has none is refused in words that scikit-learn looks for too."""
    shape = getattr(X, "shape", ())
    if 0 in shape[1:]:
        raise ValueError(
            f"X has no columns to tell classes by: 0 feature(s) (shape={tuple(shape)}) while a "
            f"minimum of 1 is required."
        )
    return X
