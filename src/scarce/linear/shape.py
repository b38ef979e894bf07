"""Which shapes of a GEV link do the labels allow? An interval by profile likelihood.

    {shape : 2 (loss(shape) - least loss) <= chi-square quantile of level}

loss(shape) is the log loss at its best coefficients for that shape, without a penalty: minus a log
likelihood. The canonical loss is none: it gives no interval. Few rows say little about a tail:
where no shape from -1 to 1.5 can be told from the best, that is said instead of a number.

Assumes a score that is linear in the columns and the GEV link: a curved effect looks like a shape.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import chi2

from scarce.errors import DataError
from scarce.results import Estimate

LOWEST, HIGHEST = -1.0, 1.5
GRID = np.linspace(LOWEST, HIGHEST, 11)
ASSUMES = "the score is linear in the columns, and the link is a GEV one"


def profile_shape(loss: Callable[[float], float], level: float) -> Estimate:
    """Return the best shape and the ends of its interval.

    Parameters
    ----------
    loss : callable (shape) -> float
        Least log loss of all rows at a shape; infinite where there is none.
    level : float

    Examples
    --------
    >>> found = profile_shape(lambda shape: 40.0 * (shape - 0.2) ** 2, 0.9)
    >>> print(found)
    0.2 [0.0161, 0.384] (90 %, profile likelihood)
    """
    losses = np.array([loss(float(shape)) for shape in GRID])
    best = int(np.argmin(losses))
    near = GRID[max(best - 1, 0)], GRID[min(best + 1, len(GRID) - 1)]
    found = minimize_scalar(loss, bounds=near, method="bounded", options={"xatol": 1e-4})
    value, least = float(GRID[best]), float(losses[best])
    if found.fun < least:
        value, least = float(found.x), float(found.fun)
    limit = least + 0.5 * float(chi2.ppf(level, 1))
    low, high = (_end(loss, losses, value, limit, side) for side in (-1, 1))
    if low == LOWEST and high == HIGHEST:
        raise DataError(
            "The rows do not tell the shape: at level {level:g} every shape from {low:g} to "
            "{high:g} fits as well.",
            code="flat-shape",
            level=level,
            low=LOWEST,
            high=HIGHEST,
            value=value,
            remedy="Give a shape, or take a logistic loss: more events, not more rows, would tell.",
        )
    return Estimate(value, low, high, level, "profile likelihood", ASSUMES)


def _end(
    loss: Callable[[float], float], losses: np.ndarray, value: float, limit: float, side: int
) -> float:
    """Return where the loss crosses the limit on one side of the best shape, or the last shape."""
    inside = value
    order = np.flatnonzero((GRID - value) * side > 0)[::side]
    for place in order:
        if losses[place] > limit:
            outside = float(GRID[place])

            def above(shape: float) -> float:
                return float(np.minimum(loss(shape), limit + 1e6)) - limit

            return float(brentq(above, inside, outside, xtol=1e-3))
        inside = float(GRID[place])
    return LOWEST if side < 0 else HIGHEST
