"""The report: one page that shows and explains what a classifier's sets promise, and figures."""

from conftr.report.files import PAGE, draw, names, write
from conftr.report.page import page

__all__ = ["PAGE", "draw", "names", "page", "write"]
