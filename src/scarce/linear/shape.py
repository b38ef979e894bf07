"""Which shapes of a GEV link do the labels allow? A likelihood ratio, calibrated by simulation.

    {shape : 2 (loss(shape) - least loss) <= factor(shape) * chi-square quantile of level}
    factor(shape) = mean of that statistic over tables simulated at the shape      (Bartlett 1937)

loss(shape) is the log loss at its best coefficients for that shape, without a penalty: minus a log
likelihood. The canonical loss is none: it gives no interval. Without the factor a 90 % interval
held the shape in .53 to .95 of simulated tables: with few events for each coefficient the slopes
come out too steep, and the shape bends to follow. The tables have the rows' columns, and labels
drawn at the best coefficients for the shape: a parametric bootstrap of one number per shape, which
50 tables tell well enough. It is at least 1. Shapes from -1 to 1.5; few rows rule out none.

Assumes a score that is linear in the columns and the GEV link: a curved effect looks like a shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import chi2

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.errors import Argument, UsageError
from scarce.linear.joint import FAR, HIGHEST, LOWEST, JointProblem, curve
from scarce.linear.sums import append_rows, labelled_rows
from scarce.results import Estimate

GRID = np.linspace(LOWEST, HIGHEST, 11)
KNOTS = (-0.75, -0.25, 0.25, 0.75, 1.25)  # shapes that tables are simulated at
ENOUGH = 1e-4  # of the loss of a simulated table: its statistic is right to twice that
MOST_CELLS = 4_000_000  # of the rows that are held in memory for simulations
ASSUMES = "the score is linear in the columns, and the link is a GEV one"

Progress = Callable[[int, int], None]


class Profile:
    """The least loss at each shape, each fit started at the ends of its neighbours' fits."""

    def __init__(self, joint: JointProblem, near: Array) -> None:
        self.joint = joint
        self.fits: dict[float, tuple[float, Array]] = {}
        middle = int(np.argmin(np.abs(GRID)))
        for walk in (GRID[middle:], GRID[middle::-1], GRID, GRID[::-1]):
            start = near if walk[0] == GRID[middle] else self.fits[float(walk[0])][1]
            for shape in walk:
                start = self._try(float(shape), start)

    def _try(self, shape: float, start: Array) -> Array:
        """Fit from a start; keep the lowest end, and return it."""
        theta, sums, *_ = self.joint.minimise(
            self.joint.start(shape, start), free=False, tol=1e-7, enough=1e-9, most=60
        )
        if shape not in self.fits or sums.value < self.fits[shape][0]:
            self.fits[shape] = float(sums.value), theta
        return self.fits[shape][1]

    def theta(self, shape: float) -> Array:
        """Return the best coordinates at a shape."""
        if shape not in self.fits:
            for near in sorted(self.fits, key=lambda known: abs(known - shape))[:2]:
                self._try(shape, self.fits[near][1])
        return self.fits[shape][1]

    def __call__(self, shape: float) -> float:
        """Return the least loss at a shape."""
        self.theta(shape)
        return self.fits[shape][0]


def profile_shape(
    loss: Callable[[float], float],
    level: float,
    factor: Callable[[float], float] | None = None,
) -> Estimate:
    """Return the best shape and the ends of its interval.

    Parameters
    ----------
    loss : callable (shape) -> float
        Least log loss of all rows at a shape; infinite where there is none.
    level : float
    factor : callable (shape) -> float, optional
        What the quantile is multiplied by, at least 1; asked where it decides. 1 by default.

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
    quantile = float(chi2.ppf(level, 1))

    def above(shape: float) -> float:
        ratio = float(np.minimum(2.0 * (loss(shape) - least), 1e6))
        if factor is None or ratio <= quantile:
            return ratio - quantile
        return ratio - quantile * factor(shape)

    low, high = (_end(above, value, side) for side in (-1, 1))
    method = "profile likelihood" if factor is None else "calibrated likelihood ratio"
    if low == LOWEST and high == HIGHEST:
        every = f"; the rows rule out no shape from {LOWEST:g} to {HIGHEST:g}"
        return Estimate(np.nan, low, high, level, method, ASSUMES + every)
    return Estimate(value, low, high, level, method, ASSUMES)


def _end(above: Callable[[float], float], value: float, side: int) -> float:
    """Return the last shape on one side of the best that is not ruled out."""
    inside = value
    for place in np.flatnonzero((GRID - value) * side > 0)[::side]:
        outside = float(GRID[place])
        if above(outside) > 0:
            return float(brentq(above, inside, outside, xtol=1e-3))
        inside = outside
    return LOWEST if side < 0 else HIGHEST


# --- calibration ----------------------------------------------------------------------------------


class Calibration:
    """The factor of a shape: the mean statistic of tables simulated there, at least 1.

    Tables are drawn at five shapes, those that are needed; between them the factor is a straight
    line. `progress` hears of the tables drawn, out of those of all five.
    """

    def __init__(
        self, profile: Profile, tables: int, seed: int, progress: Progress | None = None
    ) -> None:
        self.profile, self.tables, self.seed, self.progress = profile, tables, seed, progress
        self.X, self.count = distinct_rows(profile.joint.rows, profile.joint.engine)
        self.means: dict[float, float] = {}

    def __call__(self, shape: float) -> float:
        """Return the factor of a shape."""
        place = int(np.clip(np.searchsorted(KNOTS, shape), 1, len(KNOTS) - 1))
        ends = KNOTS[place - 1 : place + 1]
        return float(np.interp(shape, ends, [self._mean(knot) for knot in ends]))

    def _mean(self, knot: float) -> float:
        if knot not in self.means:
            joint, theta = self.profile.joint, self.profile.theta(knot)
            rng = np.random.default_rng([self.seed, KNOTS.index(knot)])
            prob = probabilities(joint, theta, self.X)
            found = []
            for number in range(self.tables):
                events = draw_events(rng, self.count, prob)
                found.append(_statistic(joint, theta, self.X, self.count, events))
                if self.progress is not None:
                    done = len(self.means) * self.tables + number + 1
                    self.progress(done, len(KNOTS) * self.tables)
            known = [one for one in found if np.isfinite(one)]
            self.means[knot] = max(1.0, float(np.mean(known))) if known else np.inf
        return self.means[knot]


def probabilities(joint: JointProblem, theta: Array, X: Array) -> Array:
    """Return the probability of each row at coordinates of a joint fit."""
    bent = curve(joint.coordinates.design(X)[0][:, :-1] @ theta[:-2], float(theta[-1]))
    edge = FAR if theta[-1] > 0 else -FAR
    log_tail = np.where(bent.inside, -theta[-2] - bent.value, edge)
    return np.asarray(np.exp(-np.exp(np.clip(log_tail, -FAR, FAR))))


def _statistic(joint: JointProblem, theta: Array, X: Array, count: Array, events: Array) -> float:
    """Return the likelihood ratio of the shape in a table with these events; nan for one class."""
    rest = count - events
    no, yes = np.flatnonzero(rest > 1e-9), np.flatnonzero(events > 1e-9)
    if not len(no) or not len(yes):
        return np.nan
    y = np.repeat([0.0, 1.0], [len(no), len(yes)])
    weight = np.concatenate([rest[no], events[yes]])
    rows = ArrayRows(
        X[np.concatenate([no, yes])], y, weight=weight, classes=[0, 1], check=False, fingerprint="-"
    )
    weights = np.array([weight[: len(no)].sum(), weight[len(no) :].sum()])
    table = replace(
        joint, rows=rows, stats=replace(joint.stats, weight=weights, unlabelled=0), engine=None
    )
    null, sums, *_ = table.minimise(theta, free=False, tol=1e-9, enough=ENOUGH)
    _, lower, *_ = table.minimise(null, free=True, tol=1e-9, enough=ENOUGH, most=60)
    return float(2.0 * (sums.value - lower.value))


def distinct_rows(rows: Rows, engine: Engine) -> tuple[Array, Array]:
    """Return the labelled rows, each once, sorted, and their total weights."""
    if len(rows) * rows.n_columns > MOST_CELLS:
        raise UsageError(
            "{rows:,} rows of {columns:,} columns are too many to simulate: the calibration holds "
            "at most {most:,} values in memory.",
            code="too-many-to-simulate",
            rows=len(rows),
            columns=rows.n_columns,
            most=MOST_CELLS,
            none=Argument("simulations", 0),
            remedy="Pass {none}: with hundreds of events per column the plain interval is right.",
        )
    X, weight = rows.fold(counted_rows, None, engine=engine, merge=append_rows)
    distinct, place = np.unique(X, axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), weights=weight, minlength=len(distinct))
    return distinct, total.astype(np.float64)


def draw_events(rng: np.random.Generator, count: Array, prob: Array) -> Array:
    """Return the weight of events among rows that stand `count` times; a rest is one draw."""
    whole = np.floor(count + 1e-9)
    rest = np.maximum(count - whole, 0.0)
    events = rng.binomial(whole.astype(np.int64), prob).astype(np.float64)
    if (rest > 1e-9).any():
        events += rest * (rng.random(len(rest)) < prob)
    return events


def counted_rows(block: Block, _: None) -> tuple[Array, Array]:
    """Kernel: features and weights of the labelled rows with weight above 0."""
    X, _y, weight = labelled_rows(Block(block.X, block.y, block.weight), True)
    assert weight is not None
    return X.copy(), weight.copy()
