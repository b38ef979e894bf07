"""The compiled loops over coded rows, in which a maxent fit spends its time.

Each loop walks one variable at a time over a piece of rows, which keeps its lines and sums in the
nearest cache. The order of additions is fixed. Assumes codes within the variable's cells and checks
nothing: coded.py makes the arrays.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from scarce.engine.block import Array

Integers = NDArray[np.integer]
Floats = NDArray[np.floating]


@njit(cache=True, nogil=True)
def code_values(
    values: Array,
    knots: Array,
    guess: Integers,
    scale: float,
    clamp: bool,
    codes: Integers,
    rest: Floats,
) -> None:  # pragma: no cover
    """Segment and rest of each value; NaN gets the segment after the last one."""
    last = len(knots) - 2
    for i in range(len(values)):
        x = values[i]
        if np.isnan(x):
            codes[i] = last + 1
            rest[i] = 0.0
            continue
        if x < knots[1]:
            s = 0
        elif x >= knots[last]:
            s = last
        else:
            bucket = int(min(max((x - knots[1]) * scale, 0.0), len(guess) - 2.0))
            s, beyond = guess[bucket], guess[bucket + 1]
            while beyond - s > 1:  # many knots in one bucket: halve
                middle = (s + beyond) // 2
                if x < knots[middle]:
                    beyond = middle
                else:
                    s = middle
            while s > 0 and x < knots[s]:
                s -= 1
            while s < last and x >= knots[s + 1]:
                s += 1
        r = (x - knots[s]) / (knots[s + 1] - knots[s])
        # A line with slope 0 must stay finite far beyond the knots.
        r = min(max(r, 0.0), 1.0) if clamp else min(max(r, -1e100), 1e100)
        codes[i] = s
        rest[i] = r


@njit(cache=True, nogil=True)
def add_lines(
    codes: Integers, rest: Floats, first_cell: Integers, start: Array, slope: Array, out: Array
) -> None:  # pragma: no cover
    """out[i] += start[cell] + slope[cell] * rest, over all variables."""
    for v in range(codes.shape[0]):
        cell = first_cell[v]
        base = start[cell : first_cell[v + 1]]
        rise = slope[cell : first_cell[v + 1]]
        for i in range(codes.shape[1]):
            c = np.uint64(codes[v, i])
            out[i] += base[c] + rise[c] * rest[v, i]


@njit(cache=True, nogil=True)
def add_sums(
    codes: Integers, rest: Floats, first_cell: Integers, weight: Array, sums: Array
) -> None:  # pragma: no cover
    """sums[cell] += weight * (1, rest), over all variables.

    Even and odd rows have separate sums: neighbouring rows often share a segment, and adding to the
    same number twice in a row stalls the processor.
    """
    n = codes.shape[1]
    even = n - n % 2
    for v in range(codes.shape[0]):
        one = sums[0, first_cell[v] : first_cell[v + 1]]
        two = sums[1, first_cell[v] : first_cell[v + 1]]
        for i in range(0, even, 2):
            a, b = np.uint64(codes[v, i]), np.uint64(codes[v, i + 1])
            one[a, 0] += weight[i]
            one[a, 1] += weight[i] * rest[v, i]
            two[b, 0] += weight[i + 1]
            two[b, 1] += weight[i + 1] * rest[v, i + 1]
        if even < n:
            a = np.uint64(codes[v, even])
            one[a, 0] += weight[even]
            one[a, 1] += weight[even] * rest[v, even]


@njit(cache=True, nogil=True)
def add_squares(
    codes: Integers, rest: Floats, first_cell: Integers, weight: Array, sums: Array
) -> None:  # pragma: no cover
    """sums[cell] += weight * rest^2, over all variables."""
    for v in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            r = np.float64(rest[v, i])
            sums[first_cell[v] + codes[v, i]] += weight[i] * r * r


@njit(cache=True, nogil=True)
def fill_places(
    codes: Integers, rest: Floats, first_cell: Integers, start: Array, slope: Array, out: Array
) -> None:  # pragma: no cover
    """out[v, i] = start[cell] + slope[cell] * rest."""
    for v in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            c = first_cell[v] + codes[v, i]
            out[v, i] = start[c] + slope[c] * rest[v, i]


@njit(cache=True, nogil=True)
def fill_columns(
    codes: Integers,
    rest: Floats,
    missing: Integers,
    variable: Integers,
    start: Array,
    slope: Array,
    out: Array,
) -> None:  # pragma: no cover
    """out[k, i] = start[k, code] + slope[k, code] * rest, 0 where the variable is missing."""
    for k in range(len(variable)):
        v = variable[k]
        for i in range(codes.shape[1]):
            c = codes[v, i]
            if c == missing[v]:
                out[k, i] = 0.0
            else:
                out[k, i] = start[k, c] + slope[k, c] * rest[v, i]


@njit(cache=True, nogil=True)
def scale_rows(columns: Array, root: Array, centre: Array) -> None:  # pragma: no cover
    """columns[k, i] = (columns[k, i] - centre[k]) * root[i]."""
    for k in range(columns.shape[0]):
        c = centre[k]
        for i in range(columns.shape[1]):
            columns[k, i] = (columns[k, i] - c) * root[i]


@njit(cache=True, nogil=True)
def sweep_bounded(
    curvature: Array, slope: Array, value: Array, sweeps: int, least: float
) -> int:  # pragma: no cover
    """Coordinate descent on a quadratic over value >= 0; `slope` is updated along.

    Stops after `sweeps`, or when no coordinate moved by more than `least` in units of slope.
    """
    size = len(value)
    for sweep in range(sweeps):
        most = 0.0
        for k in range(size):
            step = -slope[k] / curvature[k, k]
            if step < -value[k]:
                step = -value[k]
            if step != 0.0:
                moved = abs(step) * curvature[k, k]
                if moved > most:
                    most = moved
                value[k] += step
                for other in range(size):
                    slope[other] += step * curvature[k, other]
        if most <= least:
            return sweep + 1
    return sweeps
