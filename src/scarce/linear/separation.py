"""Do the columns tell the classes apart perfectly? Then coefficients grow without limit.

    separated  <=>  some direction d has  x_i' d >= 0 for every positive, <= 0 for every negative,
                    and not all of them 0                                (Albert and Anderson 1984)

A gradient test calls such a fit converged with huge coefficients. The direction that a diverging
search takes, or in which the rows' information has faded, is such a d: one fold proves it. Where it
does not, a linear programme decides.
Assumes an intercept is part of the direction. Does nothing for penalised fits, which have a finite
answer.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.linear.sums import Look, labelled

SUSPECT = 10.0  # standardised coefficients above this are looked at: odds of e^10 per spread
FADED = 1e-5  # share of its information that a direction has left: below, it is looked at
LARGEST = 4_000_000  # cells up to which the linear programme is tried


def separating(
    rows: Rows,
    look: Look,
    free: Array,
    directions: list[Array],
    engine: Engine,
    *,
    programme: bool = True,
) -> Array | None:
    """Return how far each column takes part in a separating direction, or None.

    Parameters
    ----------
    rows : Rows
    look : Look
    free : ndarray of bool, shape (k + 1,)
        Coefficients that may move, the intercept's last.
    directions : list of ndarray of shape (k,)
        Where a search was heading, in the units of the columns.
    programme : bool
        Whether a linear programme may decide where none of them does.

    Returns
    -------
    ndarray of shape (k,), or None
        Largest entry 1, in units of each column's spread; None where nothing separates.
    """
    scale = np.where(look.spread > 0, look.spread, 1.0)
    for direction in directions:
        size = np.abs(direction * scale)
        for least in (0.0, 1e-6, 1e-3, 0.1):  # a search approaches its direction; round it
            cleaned = np.where(size >= least * size.max(initial=0.0), direction, 0.0)
            if _proves(rows, cleaned, bool(free[-1]), engine):
                return _shares(cleaned * scale)
    if not programme or len(rows) * rows.n_columns > LARGEST:
        return None
    found = _by_programme(rows, look, free)
    return None if found is None else _shares(found[:-1])


def _proves(rows: Rows, direction: Array, intercept: bool, engine: Engine) -> bool:
    """Say whether all positives lie on one side of all negatives along a direction, or touch."""
    low, high, first, last = rows.fold(
        extents, (direction, np.flatnonzero(direction)), engine=engine, merge=widest
    )
    reach = max(last, high) - min(low, first)
    if not reach > 0:
        return False
    slack = 1e-13 * reach  # of rounding only
    if intercept:
        return bool(low >= high - slack or first >= last - slack)
    return bool(min(low, -high) >= -slack or min(first, -last) >= -slack)


def extents(block: Block, params: tuple[Array, Array]) -> tuple[float, float, float, float]:
    """Kernel: least positive, greatest negative, least negative and greatest positive of x'd."""
    direction, used = params
    y, weight = labelled(block, True)
    assert weight is not None
    along = block.X[:, used] @ direction[used]
    positive = along[(y == 1) & (weight > 0)]
    negative = along[(y == 0) & (weight > 0)]
    return (
        float(positive.min(initial=np.inf)),
        float(negative.max(initial=-np.inf)),
        float(negative.min(initial=np.inf)),
        float(positive.max(initial=-np.inf)),
    )


def widest(total: tuple[float, ...], more: tuple[float, ...]) -> tuple[float, ...]:
    """Merge extents: the least of the leasts, the greatest of the greatests."""
    return (
        min(total[0], more[0]),
        max(total[1], more[1]),
        min(total[2], more[2]),
        max(total[3], more[3]),
    )


def _by_programme(rows: Rows, look: Look, free: Array) -> Array | None:
    """Maximise the sum of margins over directions in a box, none of them negative (Konis 2007)."""
    scale = np.where(look.spread > 0, look.spread, 1.0)
    parts = []
    for block in rows.blocks():
        y, weight = labelled(block, True)
        assert weight is not None
        design = np.column_stack([(block.X - look.mean) / scale, np.ones(len(block))])
        parts.append((np.where(y == 1, 1.0, -1.0)[:, None] * design)[weight > 0])
    signed = np.concatenate(parts)[:, free]
    answer = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1))
    if answer.status != 0 or -answer.fun <= 1e-7 * len(signed):
        return None
    direction = np.zeros(len(free))
    direction[free] = answer.x
    return direction


def _shares(standardised: Array) -> Array:
    size = np.abs(standardised)
    return np.asarray(size / max(size.max(initial=0.0), 1e-300))
