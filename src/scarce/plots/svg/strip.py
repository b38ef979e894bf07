"""An interval as a small strip next to a number, with its comparison and the truth.

Each strip has its own scale, which includes 0 (a short vertical line) unless the values to compare
would then be too close together. It repeats the numbers next to it, so screen readers skip it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scarce.plots.svg.sheet import Sheet
from scarce.results import Estimate

WIDTH, HEIGHT, EDGE = 132.0, 28.0, 9.0
PRESSED = 0.15  # range relative to the largest value, below which 0 is left out


def strip(value: object, *, beside: object = None, truth: float | None = None) -> str:
    """Return the strip of one number; "" if there is no interval.

    Examples
    --------
    >>> strip(3.0), strip(Estimate(0.5, 0.4, 0.6))[:11]
    ('', '<svg class=')
    """
    ends = [*_ends(value), *_ends(beside), *([] if truth is None else [float(truth)])]
    ends = [end for end in ends if math.isfinite(end)]
    if not isinstance(value, Estimate) or not ends or min(ends) == max(ends):
        return ""
    low, high = min(ends), max(ends)
    alone = beside is None and truth is None
    if alone or high - low > PRESSED * max(abs(low), abs(high)):
        low, high = min(low, 0.0), max(high, 0.0)

    def at(end: float) -> float:
        if math.isinf(end):
            return WIDTH if end > 0 else 0.0
        return EDGE + (WIDTH - 2 * EDGE) * (end - low) / (high - low)

    sheet = Sheet()
    middle = HEIGHT / 2 - (5.0 if beside is not None else 0.0)
    sheet.line(0.0, HEIGHT - 2.0, WIDTH, HEIGHT - 2.0, "grid")
    if low <= 0.0 <= high:
        sheet.line(at(0.0), HEIGHT - 8.0, at(0.0), HEIGHT - 2.0, "axis")
    _draw(sheet, value, at, middle, "c1", "circle")
    _draw(sheet, beside, at, middle + 9.0, "grey", "square")
    if truth is not None and math.isfinite(truth):
        sheet.line(at(truth), 1.0, at(truth), HEIGHT - 2.0, "line c2", "3 2")
        sheet.marker(at(truth), HEIGHT - 5.0, "diamond", "dot c2", "", 3.5)
    return (
        f'<svg class="strip" aria-hidden="true" viewBox="0 0 {WIDTH:g} {HEIGHT:g}">'
        f"{sheet.body}</svg>"
    )


def _ends(value: object) -> list[float]:
    if isinstance(value, Estimate):
        return [value.value, value.low, value.high]
    return [float(value)] if isinstance(value, (int, float)) else []


def _draw(
    sheet: Sheet, value: object, at: Callable[[float], float], y: float, colour: str, shape: str
) -> None:
    if isinstance(value, Estimate) and not (math.isnan(value.low) or math.isnan(value.high)):
        a, b = at(value.low), at(value.high)
        sheet.line(a, y, b, y, f"reach {colour}")
        for end, x in ((value.low, a), (value.high, b)):
            if math.isfinite(end):
                sheet.line(x, y - 3.0, x, y + 3.0, f"reach {colour}")
    point = value.value if isinstance(value, Estimate) else value
    if isinstance(point, (int, float)) and math.isfinite(point):
        sheet.marker(at(point), y, shape, f"dot {colour}", "", 3.2)
