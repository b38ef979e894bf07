"""Where does a value lie on an axis, and which round numbers are its ticks?

    place = start + (stop - start) (f(value) - f(low)) / (f(high) - f(low)),   f = identity or log10

Ticks are 1, 2 or 5 times a power of ten; on a logarithmic axis powers of ten, with 2 and 5 between
if it is short. Draws nothing: see sheet.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.errors import UsageError
from scarce.results import short

STEPS = (1.0, 2.0, 5.0, 10.0)
MOST_DECADES = 12.0  # below a trillionth of the greatest value nothing can be read off


@dataclass(frozen=True)
class Scale:
    """One axis: its ends, its ticks and what is written at them.

    Parameters
    ----------
    low, high : float
        Values at the two ends.
    log : bool
        Whether equal steps are equal ratios.
    ticks : tuple of float
    texts : tuple of str
        One for each tick.

    Examples
    --------
    >>> scale = Scale.over([0.0, 0.93], percent=True)
    >>> scale.texts
    ('0 %', '20 %', '40 %', '60 %', '80 %', '100 %')
    >>> scale.place([0.0, 0.5, 1.0], 0, 200).tolist()
    [0.0, 100.0, 200.0]
    """

    low: float
    high: float
    log: bool
    ticks: tuple[float, ...]
    texts: tuple[str, ...]

    @classmethod
    def over(
        cls,
        values: ArrayLike,
        *,
        log: bool = False,
        percent: bool = False,
        ends: tuple[float, float] | None = None,
        count: int = 5,
    ) -> Scale:
        """Return an axis that holds the values.

        Parameters
        ----------
        values : array-like
            What must have a place; NaN, infinities and, on a logarithmic axis, what is not above 0
            are passed over.
        log, percent : bool
        ends : (low, high), optional
            Exact ends; by default the nearest ticks outside the values.
        count : int
            About how many ticks.
        """
        given = np.asarray(values, dtype=np.float64).ravel()
        given = given[np.isfinite(given) & ((given > 0) if log else True)]
        if ends is None:
            nothing = (0.1, 1.0) if log else (0.0, 1.0)
            low, high = (given.min(), given.max()) if len(given) else nothing
        else:
            low, high = ends
            if not (-math.inf < low < high < math.inf and (low > 0 or not log)):
                raise UsageError(
                    "An axis must go from a smaller to a larger finite number{log}, got {low!r} "
                    "and {high!r}.",
                    code="axis-range",
                    log=", both above 0" if log else "",
                    low=low,
                    high=high,
                )
        low, high = float(low), float(high)
        if log:
            return cls._logarithmic(low, high, percent, ends is not None)
        return cls._linear(low, high, percent, ends is not None, count)

    @classmethod
    def _linear(cls, low: float, high: float, percent: bool, exact: bool, count: int) -> Scale:
        if low == high:
            low, high = (low - abs(low) / 2, low + abs(low) / 2) if low else (0.0, 1.0)
        step = round_step((high - low) / count)
        if not exact:
            low = step * math.floor(low / step + 1e-9)
            high = step * math.ceil(high / step - 1e-9)
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        ticks = tuple(step * i for i in range(first, last + 1))
        return cls(low, high, False, ticks, tuple(tick_texts(ticks, step, percent)))

    @classmethod
    def _logarithmic(cls, low: float, high: float, percent: bool, exact: bool) -> Scale:
        low = max(low, high / 10**MOST_DECADES)
        if low == high:
            low, high = low / 2, high * 2
        decades = math.log10(high / low)
        between = (1, 2, 5) if decades <= 2.5 else (1,)
        every = max(1, math.ceil(decades / 6)) if decades > 2.5 else 1
        first, last = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1
        rounds = [
            digit * 10.0**power
            for power in range(first, last + 1)
            if (power - last) % every == 0
            for digit in between
        ]
        if not exact:
            low = max((t for t in rounds if t <= low * (1 + 1e-9)), default=low)
            high = min((t for t in rounds if t >= high * (1 - 1e-9)), default=high)
        ticks = tuple(t for t in rounds if low * (1 - 1e-9) <= t <= high * (1 + 1e-9))
        return cls(low, high, True, ticks, tuple(short(t, percent=percent) for t in ticks))

    def place(self, values: ArrayLike, start: float, stop: float) -> NDArray[Any]:
        """Return where values lie between start and stop; NaN for what has no place."""
        given = np.asarray(values, dtype=np.float64)
        low, high = self.low, self.high
        if self.log:
            given = np.log10(np.where(given > 0, given, np.nan))
            low, high = math.log10(low), math.log10(high)
        return np.asarray(start + (stop - start) * (given - low) / (high - low))

    def holds(self, value: float) -> bool:
        """Whether a value lies between the ends."""
        slack = 1e-9 * (self.high - self.low)
        return bool(self.low - slack <= value <= self.high + slack)


def round_step(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is not below the number.

    Examples
    --------
    >>> round_step(0.13), round_step(21), round_step(5)
    (0.2, 50.0, 5.0)
    """
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in STEPS if step * power >= least * (1 - 1e-9))


def tick_texts(ticks: tuple[float, ...], step: float, percent: bool) -> list[str]:
    """Write ticks with as many decimals as their step needs.

    Examples
    --------
    >>> tick_texts((0.0, 0.5, 1.0), 0.5, False), tick_texts((0.0, 20000.0), 20000.0, False)
    (['0', '0.5', '1.0'], ['0', '20,000'])
    """
    scale, unit = (100.0, " %") if percent else (1.0, "")
    decimals = max(0, -math.floor(math.log10(step * scale) + 1e-9))
    most = max(map(abs, ticks), default=0.0)
    if decimals > 6 or scale * most >= 1e9:
        digits = 1 + max(0, math.ceil(math.log10(max(most / step, 1.0)) - 1e-9))
        return [f"{scale * tick:.{digits}g}{unit}" for tick in ticks]
    return [(f"{scale * tick:,.{decimals}f}" if tick else "0") + unit for tick in ticks]
