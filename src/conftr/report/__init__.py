"""The report: one page that shows and explains what a classifier's sets promise, and figures."""

from conftr.report.files import write
from conftr.report.page import page

__all__ = ["page", "write"]
