"""Stutz, Dvijotham, Cemgil, Doucet, "Learning Optimal Conformal Classifiers" (ICLR 2022), as data.

Published numbers are copied from the paper's tables; runs are ours.
"""

from functools import partial

from conftr.experiments.exhibits import Exhibit
from conftr.experiments.paper import estimators
from conftr.experiments.paper.runs import METHODS, run
from conftr.experiments.paper.shaping import CONFUSION, MISCOVERAGE, SIZES, WINE
from conftr.experiments.paper.tables import (
    ABLATION,
    BASELINES,
    BINARY,
    IN_TRAINING,
    LOWER_ALPHA,
    PROTOCOL,
    RANDOM_TRIALS,
    TABLE_1,
)


def _with_tuned(exhibit: Exhibit) -> Exhibit:
    """Beside every line cross-entropy, tuned as hard as ConfTr was."""
    return exhibit.with_beside(METHODS["baseline-tuned"], partial(run, method="baseline-tuned"))


# Tables 1 and 8 have it as a line, with its coverage and its record.
EXHIBITS: dict[str, Exhibit] = {
    one.key: one
    for one in (
        TABLE_1,
        _with_tuned(BASELINES),
        _with_tuned(LOWER_ALPHA),
        _with_tuned(RANDOM_TRIALS),
        _with_tuned(ABLATION),
        _with_tuned(IN_TRAINING),
        BINARY,
        _with_tuned(MISCOVERAGE),
        _with_tuned(SIZES),
        _with_tuned(CONFUSION),
        _with_tuned(WINE),
        _with_tuned(PROTOCOL),
        _with_tuned(estimators.QUANTILES),
        _with_tuned(estimators.LOWER_ALPHA),
        _with_tuned(estimators.MISCOVERAGE),
    )
}
