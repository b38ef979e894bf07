"""Which segments differ from the rest, and by how much?

    p0 = expit(a + b logit p),  fitted to all labelled rows: what every segment would have if none
         differed (Cox 1958)
    segment s:  events ~ p0 with log odds moved by d_s,  d_s ~ normal(common, between^2)

Differences are judged after this one recalibration, so that probabilities which are wrong in the
same way everywhere flag no segment. A test compares the events of a segment with those that p0
expects, by binomial tails whose variance is that of the difference from the rest. Holm (1979) pays
for many, and a segment that was found no longer counts as rest. Partial pooling draws small
segments towards the rest: the random-intercept model, with `common` and `between` integrated out on
a grid (flat and half-normal(1) priors).

Weights and groups enter as a design effect (Rao and Scott 1981): the variance of weighted, grouped
events over that of single ones. Assumes what bootstrap.py says of rows and groups, and that groups
clump alike in all segments. Does not say why a segment differs. Measured in
experiments/intervals/by_segment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, expit, log_expit, logit, ndtr

from scarce.bootstrap import FEW, Sample
from scarce.engine.block import Array
from scarce.results import Estimate

REACH = 30.0  # of log odds: beyond, probabilities are 0 or 1
SLOPE_SD = 0.5  # prior of the slope b around 1, which matters with few events only
BETWEEN_SD = 1.0  # prior of the standard deviation between segments, half-normal
BINS = 100  # of log odds, within a segment
GRID = 0.5 * np.sinh(np.linspace(-3.2, 3.2, 161))  # of d_s: steps of .02 at 0, up to +-6
TAUS = 0.01 * np.geomspace(1.0, 300.0, 16)
COMMON = np.linspace(-3.2, 3.2, 9)  # standard errors of the common level
SPREAD = np.linspace(-5.0, 5.0, 41)  # standard errors around the most likely d_s
NO_CLASSES = "there are rows of one class only"
NO_SPREAD = "groups lie within segments, so how groups differ cannot be told from segments"
ONE_SEGMENT = "there is one segment only"
POOLED = "partial pooling"
ASSUMES_POOLED = "; segments differ as draws from one normal distribution of log odds"


@dataclass(frozen=True, eq=False)
class Segmented:
    """Labelled rows by segment: what happened, and what the one recalibration expects.

    Parameters
    ----------
    event : ndarray of float, shape (n,)
        1 where the event happened.
    prob : ndarray of shape (n,)
    sample : Sample
        Whose weights and groups these rows have.
    segment : ndarray of intp, shape (n,)
        From 0 on.
    n_segments : int
    fixed : ndarray of shape (n,), optional
        Log odds in the place of recalibrated ones.
    """

    event: Array
    prob: Array
    sample: Sample
    segment: NDArray[np.intp]
    n_segments: int
    fixed: Array | None = None

    @property
    def weight(self) -> Array:
        """Weight of each row."""
        return self.sample.weight

    def only(self, inside: NDArray[np.bool_]) -> Segmented:
        """Return some of the rows; the others' segments stay, without rows."""
        if inside.all():
            return self
        group = self.sample.group
        if group is not None:
            group = np.unique(group[inside], return_inverse=True)[1].astype(np.intp)
        part = replace(
            self.sample,
            rows=self.sample.rows[inside],
            weight=self.sample.weight[inside],
            group=group,
        )
        return Segmented(
            self.event[inside], self.prob[inside], part, self.segment[inside], self.n_segments
        )

    @cached_property
    def unit(self) -> float:
        """Weight of a typical row: sum w^2 / sum w."""
        return float(self.weight @ self.weight / self.weight.sum())

    @cached_property
    def score(self) -> Array:
        """Log odds as given."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.clip(logit(self.prob), -REACH, REACH))

    @cached_property
    def line(self) -> tuple[float, float]:
        """Intercept and slope of the recalibration, by Newton steps that are halved if too long."""
        w, x, y = self.weight / self.unit, self.score, self.event
        rate = float(np.clip(w @ y / w.sum(), 1e-9, 1 - 1e-9))
        at = np.array([logit(rate) - float(w @ x / w.sum()), 1.0])
        at[0] = min(max(at[0], -REACH), REACH)

        def loss(where: Array) -> float:
            eta = where[0] + where[1] * x
            fit = -(w @ (y * eta + log_expit(-eta)))
            return float(fit + 0.5 * ((where[1] - 1) / SLOPE_SD) ** 2)

        now = loss(at)
        for _ in range(60):
            p = expit(at[0] + at[1] * x)
            r, v = w * (p - y), w * p * (1 - p)
            grad = np.array([r.sum(), r @ x + (at[1] - 1) / SLOPE_SD**2])
            cross = v @ x
            hess = np.array([[v.sum(), cross], [cross, v @ x**2 + SLOPE_SD**-2]])
            hess[0, 0] += 1e-12 * (1 + hess[0, 0])
            step = np.linalg.solve(hess, grad)
            step *= min(1.0, 4.0 / max(float(np.abs(step).max()), 1e-300))
            then = loss(at - step)
            while then > now + 1e-12 * abs(now) and np.abs(step).max() > 1e-12:
                step /= 2
                then = loss(at - step)
            at, now = at - step, then
            if np.abs(step).max() < 1e-10:
                break
        return float(at[0]), float(at[1])

    def moved(self, eta: Array) -> Segmented:
        """Return the same rows with other log odds in the place of recalibrated ones."""
        return replace(self, fixed=eta)

    @cached_property
    def eta(self) -> Array:
        """Log odds after the recalibration."""
        if self.fixed is not None:
            return self.fixed
        a, b = self.line
        return np.asarray(a + b * self.score)

    @cached_property
    def expected(self) -> Array:
        """Probabilities after the recalibration."""
        return np.asarray(expit(self.eta))

    @cached_property
    def variance(self) -> Array:
        """Variance of each outcome, if recalibrated probabilities are right."""
        return self.expected * (1 - self.expected)

    def sums(self, values: Array) -> Array:
        """Return sums by segment."""
        return np.asarray(np.bincount(self.segment, values, self.n_segments), np.float64)

    @cached_property
    def both_classes(self) -> bool:
        """Whether events and other rows were seen."""
        return bool(self.event.any() and not self.event.all())

    @cached_property
    def dispersion(self) -> float:
        """Variance of groups of rows over that of single rows, at least 1; NaN if unknown.

        Of residuals around each segment's own level, pooled over segments.
        """
        if self.sample.group is None:
            return 1.0
        w, v, s = self.weight, self.variance, self.segment
        residual = w * (self.event - self.expected)
        held = self.sums(w * v)
        own = np.divide(self.sums(residual), held, out=np.zeros(self.n_segments), where=held > 0)
        residual = residual - w * v * own[s]
        pair, place = np.unique(
            s * (int(self.sample.group.max()) + 1) + self.sample.group, return_inverse=True
        )
        of = pair // (int(self.sample.group.max()) + 1)
        squares = np.bincount(of, np.bincount(place, residual) ** 2, self.n_segments)
        groups = np.bincount(of, minlength=self.n_segments)
        more = groups > 1
        if groups[more].sum() - more.sum() < FEW:
            return float("nan")
        fair = (squares[more] * groups[more] / (groups[more] - 1)).sum()
        single = self.sums(w**2 * v)[more].sum()
        return max(1.0, float(fair / single)) if single > 0 else float("nan")

    def _whole_dispersion(self) -> float:
        """Return the same for all rows together, whose groups may span segments."""
        residual = self.sample.by_group(self.weight * (self.event - self.expected))
        whole = float(residual @ residual) / max(float(self.weight**2 @ self.variance), 1e-300)
        return self.dispersion if self.sample.group is None else max(self.dispersion, whole)

    # --- tests ------------------------------------------------------------------------------------

    def contrast_variance(self) -> Array:
        """Variance of events less expected ones, the line being fitted to all rows."""
        w, v, x = self.weight, self.variance, self.score
        basis = (np.ones(len(x)), x)
        of = np.stack([self.sums(w * v * one) for one in basis])
        whole = np.array([[w @ (v * a * b) for b in basis] for a in basis])
        whole[1, 1] += self.unit / SLOPE_SD**2
        whole[0, 0] += 1e-300
        share = np.linalg.lstsq(whole, of, rcond=None)[0]
        squares = np.array([[w**2 @ (v * a * b) for b in basis] for a in basis])
        of_squares = np.stack([self.sums(w**2 * v * one) for one in basis])
        found = of_squares[0] - 2 * (share * of_squares).sum(axis=0)
        found += np.einsum("is,ij,js->s", share, squares, share)
        return np.asarray(np.maximum(found, 0.0))

    def p_values(self) -> Array:
        """Return the two-sided p-value of each segment: NaN where nothing can be said."""
        out = np.full(self.n_segments, np.nan)
        if not self.both_classes or np.isnan(self.dispersion):
            return out
        w = self.weight
        happened, expected = self.sums(w * self.event), self.sums(w * self.expected)
        single = self.sums(w * self.variance)
        spread = self.dispersion * self.contrast_variance()
        can = (single > 0) & (spread > 1e-9 * single * self.unit) & (expected > 0)
        share = np.clip(1 - single[can] / expected[can], 1e-12, 1 - 1e-12)
        step = spread[can] / single[can]
        n, x = expected[can] / (step * share), happened[can] / step
        out[can] = np.minimum(1.0, 2 * np.minimum(*binomial_tails(x, n, share)))
        return out

    # --- partial pooling --------------------------------------------------------------------------

    def pooled(self, level: float) -> tuple[list[Estimate], Estimate]:
        """Return the event rate of each segment, drawn towards the rest, and `between`."""
        method, assumes = POOLED, self.sample.assumes + ASSUMES_POOLED
        if not self.both_classes or np.isnan(self.dispersion):
            why = NO_SPREAD if self.both_classes else NO_CLASSES
            nothing = Estimate(np.nan, np.nan, np.nan, level, "not identified", why)
            return [nothing] * self.n_segments, nothing
        information = float(self.weight @ self.variance) / (self.unit * self._whole_dispersion())
        error = np.sqrt(1 / max(information, 1e-300) + TAUS**2 / len(np.unique(self.segment)))
        common = (error[:, None] * COMMON).ravel()  # of every `between`
        taus = np.repeat(TAUS, len(COMMON))
        parts = [self._posterior(s, common, taus) for s in range(self.n_segments)]
        log_joint = -0.5 * (taus / BETWEEN_SD) ** 2 + np.log(taus)  # steps are even in log
        log_joint += np.log(np.repeat(error, len(COMMON)))
        log_joint += np.sum([part[2] for part in parts if part is not None], axis=0)
        joint = np.exp(log_joint - log_joint.max())
        joint /= joint.sum()
        tails = ((1 - level) / 2, (1 + level) / 2)
        between = _weighted(TAUS, joint.reshape(len(TAUS), -1).sum(axis=1), tails)
        rates = []
        for part in parts:
            if part is None:
                nan = float("nan")
                rates.append(Estimate(nan, nan, nan, level, "not identified", "no labelled row"))
                continue
            rate, mass, _ = part
            value, low, high = _weighted(rate, mass @ joint, tails)
            rates.append(Estimate(value, low, high, level, method, assumes))
        if len(np.unique(self.segment)) < 2:
            nan = float("nan")
            return rates, Estimate(nan, nan, nan, level, "not identified", ONE_SEGMENT)
        return rates, Estimate(*between, level, method, assumes)

    def _posterior(self, s: int, common: Array, taus: Array) -> tuple[Array, Array, Array] | None:
        """Rates on a grid, their probabilities for each prior, and the priors' log likelihoods."""
        here = self.segment == s
        if not here.any():
            return None
        w, eta = self.weight[here], self.eta[here]
        size, centre = _binned(eta, w, BINS)
        unit = (
            self.dispersion
            * (w**2 @ self.variance[here])
            / max(float(w @ self.variance[here]), 1e-300)
        )
        unit = unit if unit > 0 else self.dispersion * self.unit
        size, happened = size / unit, float(w @ self.event[here]) / unit
        best, error = _most_likely(size, centre, happened)
        grid = np.unique(np.concatenate([GRID, best + error * SPREAD]))
        moved = centre[:, None] + grid
        fit = happened * grid + size @ log_expit(-moved)
        edges = np.concatenate([[-np.inf], (grid[1:] + grid[:-1]) / 2, [np.inf]])
        prior = np.diff(ndtr((edges[:, None] - common) / taus), axis=0)
        with np.errstate(divide="ignore"):
            log_mass = fit[:, None] + np.log(prior)
        top = log_mass.max(axis=0)
        mass = np.exp(log_mass - top)
        total = mass.sum(axis=0)
        return size @ expit(moved) / size.sum(), mass / total, top + np.log(total) - fit.max()


def standing_out(rows: Segmented, level: float) -> tuple[Array, Array]:
    """Return which segments differ: p-values that pay for many, and signs (0: not beyond chance).

    Holm's steps: the segment that is furthest off is found, or all are passed. One that is
    found is taken out before the rest is recalibrated again, as long as half of the information is
    left, for otherwise its opposite would make all others look different.
    """
    paid, sign = np.full(rows.n_segments, np.nan), np.zeros(rows.n_segments)
    total, reached = float(rows.weight @ rows.variance), 0.0
    inside = np.ones(len(rows.event), dtype=bool)
    while inside.any():
        rest = rows.only(inside)
        raw = rest.p_values()
        tested = np.flatnonzero(~np.isnan(raw))
        corrected = np.maximum(holm(raw), reached)
        excess = rest.sums(rest.weight * (rest.event - rest.expected))
        held = rest.sums(rest.weight * rest.variance)
        hits = tested[corrected[tested] <= 1 - level]
        left = inside @ (rows.weight * rows.variance) - held
        small = [s for s in hits if left[s] >= total / 2]
        if not small:
            paid[tested] = corrected[tested]
            sign[hits] = np.sign(excess[hits])
            break
        distance = excess**2 / np.maximum(rest.contrast_variance(), 1e-300)
        first = max(small, key=lambda s: float(distance[s]))  # p-values may all be 0
        reached = float(corrected[first])
        paid[first], sign[first] = reached, np.sign(excess[first])
        inside &= rows.segment != first
    return paid, sign


def binomial_tails(x: Array, n: Array, share: Array) -> tuple[Array, Array]:
    """Return P(X >= x) and P(X <= x) of a binomial whose counts need not be whole.

    Examples
    --------
    >>> up, down = binomial_tails(np.array([3.0]), np.array([10.0]), np.array([0.2]))
    >>> up.round(4), down.round(4)  # scipy.stats.binom gives the same
    (array([0.3222]), array([0.8791]))
    """
    with np.errstate(invalid="ignore"):
        up = betainc(np.maximum(x, 1e-300), np.maximum(n - x + 1, 1e-9), share)
        down = 1 - betainc(x + 1, np.maximum(n - x, 1e-9), share)
    return np.where(x <= 0, 1.0, up), np.where(x >= n, 1.0, down)


def holm(p_value: Array) -> Array:
    """Return p-values that pay for many tests (Holm 1979); NaN counts as no test.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, np.nan, 0.03]))
    array([0.03, 0.06,  nan, 0.06])
    """
    out = np.full(len(p_value), np.nan)
    at = np.flatnonzero(~np.isnan(p_value))
    order = at[np.argsort(p_value[at], kind="stable")]
    paid = p_value[order] * np.arange(len(order), 0, -1)
    out[order] = np.minimum(1.0, np.maximum.accumulate(paid)) if len(order) else paid
    return out


def _binned(eta: Array, weight: Array, bins: int) -> tuple[Array, Array]:
    """Weights and mean log odds of bins of equal width."""
    low, high = float(eta.min()), float(eta.max())
    place = np.zeros(len(eta), dtype=np.intp)
    if high > low:
        place = np.minimum(((eta - low) / (high - low) * bins).astype(np.intp), bins - 1)
    size = np.bincount(place, weight)
    held = size > 0
    return np.asarray(size[held], np.float64), np.bincount(place, weight * eta)[held] / size[held]


def _most_likely(size: Array, centre: Array, happened: float) -> tuple[float, float]:
    """Where a segment's own likelihood is greatest, half an event added to each side."""
    low, high = -REACH, REACH
    for _ in range(60):
        middle = (low + high) / 2
        p = expit(centre + middle)
        above = size @ p > happened + 0.5 - p @ size / size.sum()
        low, high = (low, middle) if above else (middle, high)
    p = expit(centre + low)
    return low, float(1 / np.sqrt(max(size @ (p * (1 - p)), 0.25)))


def _weighted(values: Array, mass: Array, tails: tuple[float, float]) -> tuple[float, float, float]:
    """Mean and quantiles of increasing values with these probabilities."""
    level = np.cumsum(mass) - mass / 2
    low, high = np.interp(tails, level, values)
    mean = float(values @ mass)
    return mean, min(float(low), mean), max(float(high), mean)
