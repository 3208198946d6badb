"""The report: one page that shows and explains what a classifier's sets promise, and figures.

`conftr.report(logits, labels, classes, alpha)` makes one of any model's logits: the package is
called as its function `report_of_logits`.
"""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from conftr.report.of_logits import report_of_logits
from conftr.report.page import page
from conftr.report.writing import PAGE, draw, names, write

__all__ = ["PAGE", "draw", "names", "page", "report_of_logits", "write"]


class _Report(ModuleType):
    """A package that can be called: `conftr.report` is a room and, to users, a verb."""

    def __call__(self, *given: Any, **named: Any) -> Path:
        """See `report_of_logits`."""
        return report_of_logits(*given, **named)


sys.modules[__name__].__class__ = _Report
