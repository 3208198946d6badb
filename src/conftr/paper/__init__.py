"""Stutz, Dvijotham, Cemgil, Doucet, "Learning Optimal Conformal Classifiers" (ICLR 2022), as data.

Published numbers are copied from the paper's tables; runs are ours.
"""

from dataclasses import replace
from functools import partial

from conftr.paper import estimators
from conftr.paper.exhibits import Exhibit
from conftr.paper.inefficiency import (
    ABLATION,
    BASELINES,
    BINARY,
    IN_TRAINING,
    LOWER_ALPHA,
    PROTOCOL,
    RANDOM_TRIALS,
    TABLE_1,
)
from conftr.paper.runs import METHODS, run
from conftr.paper.sentences import remarks
from conftr.paper.shaping import CONFUSION, MISCOVERAGE, SIZES, WINE


def _with_tuned(exhibit: Exhibit) -> Exhibit:
    """Beside every line cross-entropy, tuned as hard as ConfTr was."""
    return exhibit.with_beside(
        METHODS["cross-entropy-tuned"], partial(run, method="cross-entropy-tuned")
    )


# Tables 1 and 8 have it as a line, with its coverage and its record.
EXHIBITS: dict[str, Exhibit] = {
    one.key: replace(one, remarks=remarks(one.key))
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
