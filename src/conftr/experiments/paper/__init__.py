"""Stutz, Dvijotham, Cemgil, Doucet, "Learning Optimal Conformal Classifiers" (ICLR 2022), as data.

Published numbers are copied from the paper's tables; runs are ours.
"""

from conftr.experiments.exhibits import Exhibit
from conftr.experiments.paper.shaping import CONFUSION, MISCOVERAGE, SIZES, WINE
from conftr.experiments.paper.tables import (
    ABLATION,
    BASELINES,
    BINARY,
    IN_TRAINING,
    LOWER_ALPHA,
    PROTOCOL,
    QUANTILES,
    RANDOM_TRIALS,
    TABLE_1,
)

EXHIBITS: dict[str, Exhibit] = {
    one.key: one
    for one in (
        TABLE_1,
        BASELINES,
        LOWER_ALPHA,
        RANDOM_TRIALS,
        ABLATION,
        IN_TRAINING,
        BINARY,
        MISCOVERAGE,
        SIZES,
        CONFUSION,
        WINE,
        PROTOCOL,
        QUANTILES,
    )
}
