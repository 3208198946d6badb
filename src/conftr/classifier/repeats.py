"""Rows that stand in the data more than once, and rows that a model already knows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from conftr.classifier.division import Order, Rows
from conftr.conformal import checks
from conftr.conformal.quantile import CalibrationWarning
from conftr.features.rows import Digests

_MANY = 0.01  # of the rows: fewer are not worth a warning
_KEPT = 2**14  # digests of training rows


def sentence(drawn: Order) -> str:
    """What equal rows are taken for, in words; empty where there are none."""
    said = []
    if drawn.copies:
        said.append(
            f"{_rows(drawn.copies)} of {len(drawn.places):,} repeat others: equal rows stay "
            f"together, and outside training each counts once, as new rows come once."
        )
    if len(drawn.common):
        count = int(np.isin(drawn.digests, drawn.common).sum())
        said.append(
            f"{_rows(count)} of {len(drawn.places):,} hold what stands far more often than other "
            f"rows, under several classes: they are no copies, and each counts as a row of its own."
        )
    elif drawn.twins:
        said.append(
            f"{_rows(drawn.twins)} of {len(drawn.places):,} equal others, no more than chance "
            f"makes equal in such columns: each counts as a row of its own. If they are copies, "
            f"remove them first."
        )
    return " ".join(said)


def warn_of_copies(drawn: Order) -> None:
    """Say how many rows are copies of others, if they are many."""
    if drawn.copies > _MANY * len(drawn.places):
        warnings.warn(sentence(drawn), CalibrationWarning, stacklevel=4)


def warn_of_unseen_classes(y: npt.NDArray[np.generic], classes: npt.NDArray[np.generic]) -> None:
    """Say how many calibration rows, with classes y (n,), are of classes that were not learned.

    Raises:
        ValueError: if all of them are.
    """
    unseen = ~np.isin(y, classes)
    if not unseen.any():
        return
    if unseen.all():
        raise ValueError(
            "every example that was drawn to calibrate is of a class that no training example has: "
            "classes need more examples each."
        )
    names = checks.listed(map(str, dict.fromkeys(y[unseen].tolist())))
    warnings.warn(
        f"no row that trains is of {names}, and {unseen.sum():,} of {len(y):,} calibration rows "
        f"are: the promise is for the {len(classes):,} classes that were learned.",
        CalibrationWarning,
        stacklevel=4,
    )


@dataclass(frozen=True, eq=False)
class KnownRows:
    """The rows that a model has learned from, by their smallest digests: a random part of all.

    Attributes:
        digests: Sorted.
        whole: Whether they are all there.
    """

    digests: Digests = field(default_factory=lambda: np.zeros(0, np.uint64))
    whole: bool = True

    @classmethod
    def of(cls, drawn: Order, rows: Rows) -> KnownRows:
        """Keep digests of these rows; those of rows that are equal by chance tell nothing."""
        if drawn.twins and not len(drawn.common):
            return cls()
        digests = np.setdiff1d(drawn.digests[rows], drawn.common)
        return cls(digests[:_KEPT], len(digests) <= _KEPT)

    def share(self, digests: Digests) -> float:
        """The share of other rows that the model has learned from."""
        if not len(self.digests):
            return 0.0
        if not self.whole:
            digests = digests[digests <= self.digests[-1]]
        return float(np.isin(digests, self.digests).mean()) if len(digests) else 0.0

    def warn(self, drawn: Order) -> None:
        """Say how many of the rows that are to calibrate the model has learned from, if many."""
        share = self.share(drawn.digests)
        if share > _MANY:
            warnings.warn(
                f"about {100 * share:.0f} % of these rows equal rows that the model has learned "
                f"from and knows too well: sets will hold the truth of new rows less often than "
                f"is promised and measured here. Leave them out.",
                CalibrationWarning,
                stacklevel=4,
            )


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
