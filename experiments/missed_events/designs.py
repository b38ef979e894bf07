"""Numbers as records hold them: six digits, and JSON for what JSON has no word for."""

from __future__ import annotations

import math

INFINITE = 1e99  # stands for infinity in JSON, which has none


def plain(value: float) -> float | None:
    """Return a number with six digits; None for NaN, a huge number for infinity.

    Examples
    --------
    >>> plain(0.123456789), plain(float("nan")), plain(float("inf"))
    (0.123457, None, 1e+99)
    """
    if math.isnan(value):
        return None
    return math.copysign(INFINITE, value) if math.isinf(value) else float(f"{value:.6g}")
