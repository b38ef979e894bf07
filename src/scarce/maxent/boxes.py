"""Boxes for maxent: how far may the model's mean of a feature stray from the labelled mean?

    half_width_j = width_scale * sd_j / sqrt(n_labelled_seen_j)        (000 below eq 4; 004 4.2)

sd is the population standard deviation over the labelled rows of the class (000, "labelled"), over
all rows that see the feature (004, "seen"), or a compromise for few labelled rows n, whose own
standard deviation s is a poor estimate and may even be 0 ("shrunk", the default):

    sd^2 = (n s^2 + 2 S^2) / (n + 2) * (1 + 4 / n)              S over all rows that see the feature

DEVIATION from 000: two identical labelled rows would otherwise make the model certain. The
constants were chosen among about a dozen settings on simulated classes of known density with 2 to
100 labelled rows (tests/maxent/test_classifier.py holds the outcome) and on the surveys of paper
000, which are therefore no independent check of them. A feature that no labelled row sees has no
box and is dropped. Assumes labelled rows are a fair sample of their class. Does not choose
width_scale: see widths.py.

Two floors keep a feature without variation from being held to an exact value. Steps, ramps and
indicators, some of which no labelled row reaches, get at least the standard deviation that one row
in n would give, 1/sqrt(n); the others a thousandth of their range. Maxent does the same for its
hinges and its linear features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scarce.engine.block import Array
from scarce.engine.executors import Engine
from scarce.maxent.coded import CodedRows, Shape, weighted_sums
from scarce.maxent.feature_map import FeatureMap, Sums

LEAST_RANGE = 1e-3  # of a feature that goes from 0 to 1
POOL_ROWS = 2.0  # "shrunk": the pool's variance counts as much as this many labelled rows
FEW_ROWS = 4.0  # "shrunk": the variance of the labelled mean is multiplied by 1 + 4 / n


@dataclass(frozen=True, eq=False)
class Boxes:
    """The constraints of one class: the labelled mean of each feature, and its tolerance.

    Parameters
    ----------
    target : ndarray of shape (n_features,)
        Mean over the labelled rows that see the feature.
    deviation : ndarray of shape (n_features,)
        Standard deviation, with floors applied.
    unit : ndarray of shape (n_features,)
        Half width at width_scale 1; infinite if no labelled row sees the feature.
    seen : ndarray of shape (n_features,)
        Share of the labelled weight that sees the feature.
    n : float
        Labelled weight of the class.
    """

    target: Array
    deviation: Array
    unit: Array
    seen: Array
    n: float

    def half_width(self, width_scale: float) -> Array:
        """Return the half widths; infinite for features without a box, whatever the scale."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(self.unit), np.inf, width_scale * self.unit)


def class_boxes(
    rows: CodedRows,
    space: FeatureMap,
    shape: Shape,
    of_class: int,
    *,
    spread: str,
    widths: str,
    every: Sums | None = None,
    engine: Engine = None,
) -> Boxes:
    """Return the boxes of one class.

    Parameters
    ----------
    spread : {"shrunk", "labelled", "seen"}
        Rows of the standard deviation: labelled rows of the class (000), all (004), or both.
    widths : {"spread", "maxent"}
        The rule above for every feature, or Maxent's table per feature class.
    every : Sums, optional
        Sums over the pool with squares, if already known.
    """
    own = rows.fold(weighted_sums, (shape, of_class, True), engine=engine)
    value, seen = space.expectations(own)
    seen = _with_both_factors(space, own, seen)
    n = own.total
    with np.errstate(invalid="ignore", divide="ignore"):
        target = np.where(seen > 0, value / seen, 0.0)
    deviation = _deviation(space.squares(own), value, seen)
    if spread != "labelled" and widths != "maxent":
        if every is None:
            every = rows.fold(weighted_sums, (shape, None, True), engine=engine)
        pool = _deviation(space.squares(every), *space.expectations(every))
        deviation = pool if spread == "seen" else _shrunk(deviation, pool, seen)
    with np.errstate(divide="ignore"):
        one_row = np.where(seen > 0, 1.0 / np.sqrt(seen), np.inf)
    floor = np.where(space.steplike & (seen > 0), one_row, LEAST_RANGE)
    if widths == "maxent":
        sample = deviation * np.sqrt(n / max(n - 1.0, 1.0))  # it divides by n - 1
        unit = _maxent_widths(space.letters, sample, target, n)
        unit[seen <= 0] = np.inf
        return Boxes(target, np.maximum(deviation, floor), unit, seen / n, n)
    deviation = np.maximum(deviation, floor)
    return Boxes(target, deviation, deviation * one_row, seen / n, n)


def _with_both_factors(space: FeatureMap, own: Sums, seen: Array) -> Array:
    """Leave out products with a factor that no labelled row has a value of."""
    if not space.expected:
        return seen
    weight = np.add.reduceat(own.mass * space.seen_cells, space.first_cell[:-1])
    out = seen.copy()
    out[space.first_pair :][(weight[space.pairs] == 0).any(axis=1)] = 0.0
    return out


def _deviation(squares: Array, value: Array, seen: Array) -> Array:
    """Population standard deviation; below 1e-7 of the range it is rounding, and counts as 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(seen > 0, value / seen, 0.0)
        variance = np.where(seen > 0, squares / seen, 0.0) - mean**2
    return np.asarray(np.sqrt(np.where(variance < 1e-14, 0.0, variance)))


def _shrunk(own: Array, pool: Array, seen: Array) -> Array:
    """Standard deviation of labelled rows, shrunk towards the pool's and inflated for few rows."""
    n = np.maximum(seen, 1e-300)  # without labelled rows there is no box anyway
    with np.errstate(over="ignore"):
        few = np.sqrt(1.0 + FEW_ROWS / n)
        return np.asarray(np.sqrt((n * own**2 + POOL_ROWS * pool**2) / (n + POOL_ROWS)) * few)


# Maxent's constants by number of presences, with linear interpolation.
_TABLES: dict[str, tuple[list[float], list[float]]] = {
    "l": ([0, 10, 30, 100], [1.0, 1.0, 0.2, 0.05]),
    "q": ([0, 10, 17, 30, 100], [1.3, 0.8, 0.5, 0.25, 0.05]),
    "p": ([0, 10, 17, 30, 100], [2.6, 1.6, 0.9, 0.55, 0.05]),
    "h": ([0, 1], [0.5, 0.5]),
    "c": ([0, 10, 17], [0.65, 0.5, 0.25]),
    "t": ([0, 100], [2.0, 1.0]),
}


def _maxent_widths(letters: list[str], deviation: Array, target: Array, n: float) -> Array:
    """Maxent's half widths: a constant of the feature class times sd / sqrt(n), with floors.

    Linear, quadratic and product features share the table of the richest class among them. Hinges
    have at least the standard deviation 1/sqrt(n); thresholds beyond all presences get width 1.
    """
    kinds = np.array(letters)
    richest = next((letter for letter in "pql" if (kinds == letter).any()), "l")
    table = {letter: _TABLES[letter] for letter in "hct"} | dict.fromkeys("lqp", _TABLES[richest])
    factor = np.array([np.interp(n, *table.get(kind, _TABLES["h"])) for kind in letters])
    width = np.maximum(factor * deviation / np.sqrt(n), LEAST_RANGE)
    hinge = np.maximum(deviation, 1.0 / np.sqrt(n)) * 0.5 / np.sqrt(n)
    width = np.where(kinds == "h", np.maximum(width, hinge), width)
    beyond = (kinds == "t") & ((target <= 0.0) | (target >= 1.0))
    return np.asarray(np.where(beyond, np.maximum(width, 1.0), width))
