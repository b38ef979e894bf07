"""One variable cut into segments: where between its knots does a value lie?

    x in [knot_s, knot_(s+1))  ->  segment s, rest = (x - knot_s) / (knot_(s+1) - knot_s)

Every feature of maxent is a straight line on each segment (docs/maths/maxent.md), so a value need
only be looked up once, when the rows are coded. A missing value, and a level that was not there to
learn from, get a segment of their own, the last. Does not choose where knots are: see knots.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array
from scarce.maxent import kernels

Codes = NDArray[np.unsignedinteger]

BUCKETS = 2048  # in which values are looked up: many, because quantiles lie close in places


@dataclass(frozen=True, eq=False)
class Axis:
    """A variable with its knots, or a category with its levels.

    Parameters
    ----------
    name : str
    knots : ndarray of shape (n_segments + 1,), or (n_segments,) for a category
        Increasing. A variable with a single value has two equal knots and carries no feature.
    category : bool
        Whether the knots are levels.
    levels : tuple of str
        Names of a category's levels, where they have any.
    scale : ndarray of shape (n_segments + 1,), optional
        Increasing values that stand for the knots in squares, products and ramps; by default the
        knots themselves. Where outliers are moved closer it differs from them: see knots.py.

    Examples
    --------
    >>> axis = Axis("rain", np.array([0.0, 1.0, 3.0]))
    >>> axis.code(np.array([0.5, 1.0, 3.0, 9.0, np.nan]))
    (array([0, 1, 1, 1, 2], dtype=uint16), array([0.5, 0. , 1. , 1. , 0. ]))
    """

    name: str
    knots: Array
    category: bool = False
    levels: tuple[str, ...] = ()
    scale: Array | None = None

    @cached_property
    def n_segments(self) -> int:
        """Segments with values; the segment of missing values comes after them."""
        return len(self.knots) - (0 if self.category else 1)

    @cached_property
    def flat(self) -> bool:
        """Whether all seen values are one, so that nothing can be learnt from them."""
        return self.n_segments < 2 if self.category else bool(self.knots[0] == self.knots[-1])

    @cached_property
    def places(self) -> Array:
        """The knots on the scale from 0 (least value) to 1 (greatest)."""
        scale = self.knots if self.scale is None else self.scale
        return np.asarray((scale - scale[0]) / (scale[-1] - scale[0]))

    @cached_property
    def lengths(self) -> Array:
        """Length of each segment on that scale."""
        return np.diff(self.places)

    def code(self, values: Array, *, clamp: bool = True) -> tuple[Codes, Array]:
        """Return the segment of each value and where in it the value lies.

        With clamp=False values beyond the outer knots keep their distance (rest below 0 or above
        1), so that the outer lines go on.
        """
        last = self.n_segments - 1
        if self.category and last < 0:  # no level was ever seen
            return np.zeros(len(values), dtype=np.uint16), np.zeros(len(values))
        if self.category:
            code = np.clip(np.searchsorted(self.knots, values), 0, last)
            unknown = self.knots[code] != values  # true for NaN too
            return np.where(unknown, last + 1, code).astype(np.uint16), np.zeros(len(values))
        codes, rest = np.empty(len(values), dtype=np.uint16), np.empty(len(values))
        if self.flat:
            codes[:] = np.where(np.isnan(values), last + 1, 0)
            rest[:] = 0.0
        else:
            guess, scale = self._guess
            kernels.code_values(values, self.knots, guess, scale, clamp, codes, rest)
        return codes, rest

    @cached_property
    def _guess(self) -> tuple[NDArray[np.intp], float]:
        """The segment at each edge of many equal buckets between the inner knots, and their number.

        Looking a value's bucket up and searching between its edges is several times quicker than a
        search among all knots, and where knots are even it is already the answer. The outer
        segments, which an outlier may stretch, need no bucket. The second part is buckets per unit.
        """
        low, high = self.knots[1], self.knots[-2]
        if not high - low > 1e-290:  # at most two segments, or too short to be divided
            return np.zeros(2, dtype=np.intp), 0.0
        count = max(4 * self.n_segments, BUCKETS)
        edges = low + (high - low) * (np.arange(count + 1) / count)
        guess = np.clip(np.searchsorted(self.knots, edges, side="right") - 1, 0, None)
        return np.minimum(guess, self.n_segments - 1), count / (high - low)


class AxisStack:
    """Several variables with equally many segments, on which families work all at once.

    `places` and `lengths` have a line for each variable.
    """

    category = False
    flat = False

    def __init__(self, axes: Sequence[Axis]) -> None:
        self.n_segments = axes[0].n_segments
        self.category = axes[0].category
        if not self.category:
            self.places = np.array([axis.places for axis in axes])
            self.lengths = np.array([axis.lengths for axis in axes])
