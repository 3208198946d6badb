"""The alphas at which a page can be set: nearly even steps on a logarithmic scale, and the user's.

A stop is a decimal, so that its rank r = floor(alpha (n + 1)) is exact wherever it is computed.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

_MANTISSAS = [*range(10, 20), *range(20, 40, 2), *range(40, 100, 5)]
_LARGEST = 0.5
_FINEST = -12  # the power of ten below which only the user's own alpha is a stop


def stops(alpha: float) -> list[float]:
    """The alphas of the slider, from .5 (or a larger one of the user) down to .001 (or smaller)."""
    lowest = min(-3, max(_FINEST, math.floor(math.log10(alpha))))
    steps = [
        float(Decimal(mantissa).scaleb(decade - 1))
        for decade in range(lowest, 0)
        for mantissa in _MANTISSAS
    ]
    # An alpha such as 1 - 0.9 stands for the step beside it.
    others = [step for step in steps if not math.isclose(step, alpha, rel_tol=1e-9)]
    kept = [step for step in others if step <= max(_LARGEST, alpha)]
    return sorted([alpha, *kept], reverse=True)


def fraction(alpha: float) -> Fraction:
    """alpha as the decimal it prints as, which is how `conftr.conformal.quantile.rank` reads it."""
    return Fraction(str(alpha))


def promise(alpha: float) -> str:
    """1 - alpha in words: 90 %."""
    return f"{float(100 * (1 - fraction(alpha))):.6g}\N{NO-BREAK SPACE}%"


def out_of_many(alpha: float) -> tuple[int, int]:
    """Of how many answers how many may miss the truth: (1000, 100) for alpha = .1."""
    scales = [1_000, 10_000, 100_000, 1_000_000]
    whole = (many for many in scales if (many * fraction(alpha)).denominator == 1)
    many = next(whole, scales[0])
    return many, round(many * fraction(alpha))
