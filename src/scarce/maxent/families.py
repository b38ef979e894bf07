"""Families of features of one variable, each linear on every segment between knots.

    forward:  coefficients -> start, slope with  sum_j coef_j f_j(x) = start[s] + slope[s] * rest
    adjoint:  mass[s] = sum w, rest[s] = sum w * rest  ->  sum_i w_i f_j(x_i)  for every j

A family is these two maps, transposes of each other, and `squares` for the standard deviation (000
below eq 4). Both are cumulative sums along the knots: their cost does not depend on the number of
rows, and no matrix of features is ever formed. Knots are on a scale from 0 to 1, so every feature
lies in [0, 1]. How to add a family: docs/extend/feature-family.md.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from scarce.engine.block import Array
from scarce.maxent.axes import Axis, Segments


class Family(Protocol):
    """Features of one variable that are linear on each of its segments.

    `letter` names the family in `features="lh"` and in reports. `steplike` marks steps and ramps,
    some of which few labelled rows reach: their standard deviation has a floor of one row in n
    (boxes.py). A family with `stackable = True` works on the last axis of its arguments, has the
    same number of features on all variables with the same number of segments, and is given several
    variables at once (`AxisStack`).
    """

    letter: str
    steplike: bool

    def size(self, axis: Axis) -> int:
        """Return the number of features of a variable."""
        ...  # pragma: no cover

    def forward(self, axis: Segments, coef: Array) -> tuple[Array, Array]:
        """Return start and slope on each segment; coef has shape (..., size)."""
        ...  # pragma: no cover

    def adjoint(self, axis: Segments, mass: Array, rest: Array) -> Array:
        """Return the weighted sum of each feature."""
        ...  # pragma: no cover

    def squares(self, axis: Segments, mass: Array, rest: Array, rest2: Array) -> Array:
        """Return the weighted sum of each feature's square; rest2[s] = sum w * rest^2."""
        ...  # pragma: no cover

    def names(self, axis: Axis) -> list[str]:
        """Return a name for each feature."""
        ...  # pragma: no cover


class Linear:
    """The variable itself, from 0 at its minimum to 1 at its maximum.

    Examples
    --------
    >>> axis = Axis("rain", np.array([0.0, 1.0, 4.0]))
    >>> Linear().forward(axis, np.array([2.0]))
    (array([0. , 0.5]), array([0.5, 1.5]))
    """

    letter = "l"
    steplike = False
    stackable = True

    def size(self, axis: Axis) -> int:
        """Return 1, or 0 for a category or a constant."""
        return 0 if axis.category or axis.flat else 1

    def forward(self, axis: Segments, coef: Array) -> tuple[Array, Array]:
        """Return start and slope on each segment."""
        return coef * axis.places[..., :-1], coef * axis.lengths

    def adjoint(self, axis: Segments, mass: Array, rest: Array) -> Array:
        """Return the weighted sum of the variable."""
        each = mass * axis.places[..., :-1] + rest * axis.lengths
        return np.asarray(each.sum(axis=-1, keepdims=True))

    def squares(self, axis: Segments, mass: Array, rest: Array, rest2: Array) -> Array:
        """Return the weighted sum of squares."""
        low, length = axis.places[..., :-1], axis.lengths
        each = mass * low**2 + 2 * rest * low * length + rest2 * length**2
        return np.asarray(each.sum(axis=-1, keepdims=True))

    def names(self, axis: Axis) -> list[str]:
        """Return the variable's name."""
        return [axis.name] * self.size(axis)


class Hinge:
    """Ramps: up from each knot to the maximum, and down from the minimum to each knot.

        forward at knot i:  max(0, x - knot_i) / (last - knot_i)        i = 0 .. S - 1
        reverse at knot i:  max(0, knot_i - x) / (knot_i - first)       i = 1 .. S

    Together they span the piecewise linear curves (000 section 3, "piecewise linear splines").

    Examples
    --------
    >>> axis = Axis("rain", np.array([0.0, 1.0, 4.0]))
    >>> Hinge().names(axis)
    ['rain > 0', 'rain > 1', 'rain < 1', 'rain < 4']
    """

    letter = "h"
    steplike = True
    stackable = True

    def size(self, axis: Axis) -> int:
        """Return two per segment."""
        return 0 if axis.category or axis.flat else 2 * axis.n_segments

    def forward(self, axis: Segments, coef: Array) -> tuple[Array, Array]:
        """Return start and slope on each segment: two cumulative sums in each direction."""
        places, n = axis.places, axis.n_segments
        length = axis.lengths
        up = np.cumsum(coef[..., :n] / (1.0 - places[..., :-1]), axis=-1) * length
        down = _from_right(coef[..., n:] / places[..., 1:]) * length
        start = _before(up) + _from_right(down)
        return start, up - down

    def adjoint(self, axis: Segments, mass: Array, rest: Array) -> Array:
        """Return the weighted sum of every ramp."""
        places = axis.places
        length = axis.lengths
        above = _from_right(mass) - mass  # weight of the segments to the right
        up = _from_right(length * (above + rest)) / (1.0 - places[..., :-1])
        down = np.cumsum(length * (_before(mass) + mass - rest), axis=-1) / places[..., 1:]
        return np.concatenate([up, down], axis=-1)

    def squares(self, axis: Segments, mass: Array, rest: Array, rest2: Array) -> Array:
        """Return the weighted sum of every squared ramp, by a recurrence of positive terms."""
        places = axis.places
        length = axis.lengths
        turned = (part[..., ::-1] for part in (length, mass, rest, rest2))
        up = _ramp_squares(*turned)[..., ::-1]
        left = mass - rest  # the rest, measured from the right end of the segment
        down = _ramp_squares(length, mass, left, mass - 2 * rest + rest2)
        up, down = up / (1.0 - places[..., :-1]) ** 2, down / places[..., 1:] ** 2
        return np.concatenate([up, down], axis=-1)

    def names(self, axis: Axis) -> list[str]:
        """Return the side and knot of each ramp."""
        if not self.size(axis):
            return []
        knots = _written(axis.knots)
        up = [f"{axis.name} > {knot}" for knot in knots[:-1]]
        return up + [f"{axis.name} < {knot}" for knot in knots[1:]]


class Threshold:
    """Steps: 1 at and above each inner knot.

    Examples
    --------
    >>> axis = Axis("rain", np.array([0.0, 1.0, 4.0]))
    >>> Threshold().forward(axis, np.array([2.0]))
    (array([0., 2.]), array([0., 0.]))
    """

    letter = "t"
    steplike = True
    stackable = True

    def size(self, axis: Axis) -> int:
        """Return the number of inner knots."""
        return 0 if axis.category or axis.flat else axis.n_segments - 1

    def forward(self, axis: Segments, coef: Array) -> tuple[Array, Array]:
        """Return start and slope on each segment."""
        zero = np.zeros((*coef.shape[:-1], 1))
        start = np.concatenate([zero, np.cumsum(coef, axis=-1)], axis=-1)
        return start, np.zeros_like(start)

    def adjoint(self, axis: Segments, mass: Array, rest: Array) -> Array:
        """Return the weight at and above each inner knot."""
        return _from_right(mass)[..., 1:]

    def squares(self, axis: Segments, mass: Array, rest: Array, rest2: Array) -> Array:
        """Return the same: a step is its own square."""
        return self.adjoint(axis, mass, rest)

    def names(self, axis: Axis) -> list[str]:
        """Return the knot of each step."""
        if not self.size(axis):
            return []
        return [f"{axis.name} >= {knot}" for knot in _written(axis.knots)[1:-1]]


class Category:
    """One indicator per level.

    Examples
    --------
    >>> Category().names(Axis("soil", np.array([1.0, 3.0]), category=True))
    ['soil = 1', 'soil = 3']
    """

    letter = "c"
    steplike = True
    stackable = True

    def size(self, axis: Axis) -> int:
        """Return the number of levels."""
        return axis.n_segments if axis.category and not axis.flat else 0

    def forward(self, axis: Segments, coef: Array) -> tuple[Array, Array]:
        """Return the coefficient of each level."""
        return coef, np.zeros_like(coef)

    def adjoint(self, axis: Segments, mass: Array, rest: Array) -> Array:
        """Return the weight of each level."""
        return mass

    def squares(self, axis: Segments, mass: Array, rest: Array, rest2: Array) -> Array:
        """Return the same: an indicator is its own square."""
        return mass

    def names(self, axis: Axis) -> list[str]:
        """Return variable and level."""
        levels = axis.levels or tuple(f"{level:g}" for level in axis.knots)
        return [f"{axis.name} = {level}" for level in levels] * bool(self.size(axis))


def _written(knots: Array) -> list[str]:
    """The knots as text, with as many digits as tell them apart."""
    for digits in (6, 9, 12):
        words = [f"{knot:.{digits}g}" for knot in knots]
        if len(set(words)) == len(words):
            return words
    return [repr(float(knot)) for knot in knots]


def _from_right(values: Array) -> Array:
    """Sum of each entry and those to its right."""
    return np.asarray(np.cumsum(values[..., ::-1], axis=-1)[..., ::-1])


def _before(values: Array) -> Array:
    """Sum of the entries to the left of each."""
    return np.asarray(np.cumsum(values, axis=-1) - values)


def _ramp_squares(length: Array, mass: Array, rest: Array, rest2: Array) -> Array:
    """Sum of squared distances from each knot, by recurrence: all terms are positive.

    After each segment the rows already passed are `length` further away:
    (d + l)^2 = d^2 + 2 d l + l^2.
    """
    weight = _before(mass)
    moved = length * (weight + rest)  # what each segment adds to the sum of distances
    return np.cumsum(2 * length * _before(moved) + length**2 * (weight + rest2), axis=-1)
