"""Names in CSV files that a spreadsheet would take for a formula and run, made harmless.

A name that begins with = + - @, a tab or a line break, and is no number, gets a ' in front. So does
one that begins with ' and goes on like that: no two names become the same.
"""

from __future__ import annotations

import re

FORMULA = r"^'*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]"  # the last four are their wide forms
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def cell(text: str) -> str:
    """A name as it stands in a CSV file."""
    is_formula = re.search(FORMULA, text) and not re.search(NUMBER, text)
    return f"'{text}" if is_formula else text
