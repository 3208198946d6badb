"""Stutz, Dvijotham, Cemgil, Doucet, "Learning Optimal Conformal Classifiers" (ICLR 2022), as data.

Published numbers are copied from the paper's tables (`exhibits.toml`); runs are ours.
"""

from functools import partial

from conftr.paper import cifar, estimators, inefficiency, shaping
from conftr.paper.exhibits import Exhibit, described, exhibit
from conftr.paper.remarks import remarks
from conftr.paper.runs import METHODS, run

_LINES = inefficiency.LINES | shaping.LINES | estimators.LINES | cifar.LINES


def _with_beside(made: Exhibit, method: str | None) -> Exhibit:
    return made.with_beside(METHODS[method], partial(run, method=method)) if method else made


EXHIBITS: dict[str, Exhibit] = {
    key: _with_beside(exhibit(key, _LINES[key], remarks(key)), about.get("beside"))
    for key, about in described().items()
}
