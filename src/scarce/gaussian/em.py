"""Gaussian classes with missing values or labels: maximum likelihood by EM.

    E: x_m | x_o ~ N(mean_m + C_mo C_oo^-1 (x_o - mean_o),  C_mm - C_mo C_oo^-1 C_om)
    M: mean = expected mean,  C = (expected scatter + strength * target) / (weight + strength)

An unlabelled row enters every class with its posterior probability, under the base rates of the
unlabelled rows. These are parameters of their own unless they are given: labels may be revealed at
a rate that differs by class. `strength` is 0 unless a class is shrunk: the weight of a penalty,
-strength/2 (tr R - log det R - d) with R = C^-1 target. The certificate is the gradient of the
observed-data likelihood, which Fisher's identity reads off the expected moments.

`run_em` is the driver, accelerated by SQUAREM; `CovarianceLikelihood` and `VarianceLikelihood` are
the two models; `CovarianceFit` runs EM in stages. Assumes that whether a value is missing depends
only on observed values (missing at random).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.gaussian.densities import (
    LOG_2PI,
    factor,
    joint_of_variances,
    pattern_runs,
)
from scarce.gaussian.moments import CrossMoments, Moments, value_moments
from scarce.gaussian.shrinkage import (
    FLOOR,
    Covariances,
    CovarianceSettings,
    Floor,
    covariances,
    diagonal_share,
    is_singular,
    relative_eigenvalues,
    shared_intensity,
    shrink,
)
from scarce.missing.front import scatter
from scarce.missing.patterns import Mask, batches, multiply_groups

DEGENERATE = 1e-6  # of the common variance: a direction with less counts as lost
NEARLY_ONE = 1.0 - 1e-4  # largest intensity: a class is then as good as its target
FEW = 5.0  # observed pairs of values per feature: below, a covariance may become singular
STAGE_TOL = 10.0  # times tol: the covariance that classes are shrunk to, before it is theirs
STAGE_PASSES = 40
WELL_CONDITIONED = 1e-5  # least eigenvalue of a correlation matrix that is inverted as a whole
FIRST_PASSES = 12  # before the intensities are chosen for good

P = TypeVar("P")  # parameters
E = TypeVar("E")  # expected moments


# --- the EM driver --------------------------------------------------------------------------------


class EMProblem(Protocol[P, E]):
    """A likelihood to be maximised by EM."""

    def expect(self, at: P) -> E:
        """Pass over the rows and return the expected moments under the parameters."""

    def value(self, at: P, moments: E) -> float:
        """Return the (penalised) log likelihood."""

    def score(self, at: P, moments: E) -> float:
        """Return the largest entry of its gradient, per unit of weight, in standard units."""

    def step(self, at: P, moments: E) -> P:
        """Return the parameters that maximise the expected log likelihood."""

    def to_vector(self, at: P) -> Array:
        """Return the parameters as unconstrained numbers."""

    def from_vector(self, numbers: Array) -> P:
        """Return the parameters of such numbers, or raise LinAlgError."""


class EMResult(NamedTuple, Generic[P, E]):
    """Where EM ended."""

    at: P
    moments: E
    value: float
    score: float
    path: list[float]  # likelihoods of the accepted points
    passes: int
    converged: bool


def run_em(problem: EMProblem[P, E], start: P, *, tol: float, max_passes: int) -> EMResult[P, E]:
    """Run EM until the score is at most `tol`, passes run out, or rounding stops all progress.

    One pass over the rows gives likelihood, score and expected moments together. Two plain steps
    are extrapolated (SQUAREM); where that lowers the likelihood the second plain step is taken,
    which never does.
    """
    at, moments = start, problem.expect(start)
    value = problem.value(at, moments)
    path, passes, idle = [value], 1, 0
    score = problem.score(at, moments)
    while score > tol and passes < max_passes and idle < 8:
        first = problem.step(at, moments)
        moments_first = problem.expect(first)
        value_first = problem.value(first, moments_first)
        passes += 1
        if problem.score(first, moments_first) <= tol or passes >= max_passes:
            at, moments, value = first, moments_first, value_first
        else:
            second = problem.step(first, moments_first)
            ahead = _extrapolated(problem, at, first, second, value_first)
            passes += 1
            if ahead is not None:
                at, moments, value = ahead
            else:
                at, moments = second, problem.expect(second)
                value = problem.value(at, moments)
                passes += 1
            path.append(value_first)
        # A plain step never lowers the likelihood, except by rounding.
        idle = idle + 1 if value <= path[-1] + 1e-14 * abs(value) else 0
        path.append(value)
        score = problem.score(at, moments)
    return EMResult(at, moments, value, score, path, passes, score <= tol)


def _extrapolated(
    problem: EMProblem[P, E], start: P, first: P, second: P, least: float
) -> tuple[P, E, float] | None:
    """Return a point further ahead with its moments and value; None if its value is below `least`.

    candidate = start - 2 a r + a^2 v,   r = first - start,   v = (second - first) - r,
    a = -|r| / |v|                         (SQUAREM, Varadhan and Roland 2008, scheme S3)
    """
    zero, one, two = (problem.to_vector(point) for point in (start, first, second))
    r = one - zero
    v = two - one - r
    bend = float(np.linalg.norm(v))
    length = max(1.0, float(np.linalg.norm(r)) / bend) if bend > 0 else 1.0
    try:
        ahead = problem.from_vector(zero + 2.0 * length * r + length**2 * v)
    except np.linalg.LinAlgError:
        return None
    moments = problem.expect(ahead)
    value = problem.value(ahead, moments)
    return (ahead, moments, value) if value >= least - 1e-14 * abs(least) else None


# --- covariances ----------------------------------------------------------------------------------


class SingularCovariance(Exception):
    """Some covariances lost all variance in a direction during EM."""

    def __init__(self, which: list[int], moments: ExpectedMoments) -> None:
        super().__init__(which)
        self.which = which
        self.moments = moments


class CovarianceParameters(NamedTuple):
    """Means and covariances of standardised features."""

    mix: Array  # (classes,), base rates among the unlabelled rows
    mean: Array  # (classes, d)
    covariance: Array  # (classes, d, d), or (1, d, d) where shared


class ExpectedMoments(NamedTuple):
    """Expected moments around the present means; they add up over rows."""

    value: float  # log likelihood
    mix: Array  # (classes,), expected weight of unlabelled rows
    weight: Array  # (classes,), of rows with an observed value
    first: Array  # (classes, d), sum of weight * (x - mean)
    second: Array  # (classes, d, d), sum of weight * (x - mean)(x - mean)'


class Standardisation(NamedTuple):
    """How the features are standardised, and which rows count."""

    columns: NDArray[np.intp]
    centre: Array
    scale: Array
    unlabelled: bool


def _no_moments(n_classes: int, d: int) -> ExpectedMoments:
    return ExpectedMoments(
        0.0,
        np.zeros(n_classes),
        np.zeros(n_classes),
        np.zeros((n_classes, d)),
        np.zeros((n_classes, d, d)),
    )


def expected_moments(
    block: Block, params: tuple[Standardisation, CovarianceParameters]
) -> ExpectedMoments:
    """Kernel: expected moments of the rows with a missing value or without label.

    Costs about twice what predicting costs: a factor per pattern and class, then three products of
    d^2 per row.
    """
    standard, theta = Standardisation(*params[0]), CovarianceParameters(*params[1])
    total = _no_moments(*theta.mean.shape)
    X = block.X[:, standard.columns]
    seen = ~np.isnan(X)
    code = np.full(len(block), -1, dtype=np.intp)
    labelled = block.labelled
    assert block.y is not None
    code[labelled] = block.y[labelled].astype(np.intp)
    counts = seen.any(axis=1) & np.where(labelled, ~seen.all(axis=1), standard.unlabelled)
    weights = np.ones(len(block)) if block.weight is None else block.weight
    counts &= weights > 0
    units = 0.0
    for y in (*range(len(theta.mean)), -1):  # a labelled row needs the factors of one class only
        chosen = np.flatnonzero(counts & (code == y))
        if len(chosen) == 0:
            continue
        part = theta if y < 0 else _one_class(theta, y)
        X_own = (X[chosen] - standard.centre) / standard.scale
        seen_own, weight = seen[chosen], weights[chosen]
        precision = None if y < 0 else _precision(part.covariance[0])
        runs = pattern_runs(seen_own) if precision is None else ()
        for run in runs:
            found = _run_moments(X_own[run.rows], weight[run.rows], run.masks, run.ends, part)
            _add_to(total, found, slice(None) if y < 0 else slice(y, y + 1))
            if y < 0:
                total.mix[:] += found.mix
            total = total._replace(value=total.value + found.value)
        if precision is not None:
            found = _moments_by_precision(X_own, seen_own, weight, part.mean[0], precision)
            _add_to(total, found, slice(y, y + 1))
            total = total._replace(value=total.value + found.value)
        units += float(weight @ seen_own @ np.log(standard.scale))
    return total._replace(value=total.value - units)  # densities in the units of the data


def _precision(covariance: Array) -> Array | None:
    """Return the inverse of a covariance, or None where it would lose too many digits."""
    deviation = np.sqrt(np.diag(covariance))
    scaled = covariance / deviation / deviation[:, None]
    values, turned = np.linalg.eigh(scaled)
    if not len(values) or values[0] < WELL_CONDITIONED:
        return None
    turned = turned / deviation[:, None]
    return np.asarray((turned / values) @ turned.T)


def _moments_by_precision(
    X: Array, seen: Mask, weight: Array, mean: Array, precision: Array
) -> ExpectedMoments:
    """Return the expected moments of the rows of one class, at m^3 for each pattern.

    With K = C^-1 and m missing: V = (K_mm)^-1, E[x_m] = mean_m - V (K g)_m with g = 0 at m.
    """
    n, d = X.shape
    gap = np.where(seen, X - mean, 0.0)
    pulled = gap @ precision
    distance = np.einsum("ij,ij->i", pulled, gap)
    log_det = np.full(n, -np.linalg.slogdet(precision)[1])
    out = _no_moments(1, d)
    for batch in batches(~seen):
        columns = batch.columns
        lower = np.linalg.cholesky(precision[columns[:, :, None], columns[:, None, :]])
        logs = 2.0 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
        root = np.linalg.inv(lower)
        group = batch.group
        own = pulled[batch.rows[:, None], columns[group]]
        half = multiply_groups(root, own, batch.ends)
        distance[batch.rows] -= np.einsum("ij,ij->i", half, half)
        log_det[batch.rows] += logs[group]
        expected = -multiply_groups(root.transpose(0, 2, 1), half, batch.ends)
        gap[batch.rows[:, None], columns[group]] = expected
        mass = np.add.reduceat(weight[batch.rows], batch.ends[:-1])
        variance = root.transpose(0, 2, 1) @ root
        scatter(out.second[0], columns, variance * mass[:, None, None])
    out.weight[0] = out.mix[0] = weight.sum()
    out.first[0] = weight @ gap
    gap *= np.sqrt(weight)[:, None]
    out.second[0] += gap.T @ gap
    value = -0.5 * float(weight @ (distance + log_det + LOG_2PI * seen.sum(axis=1)))
    return out._replace(value=value)


def _one_class(theta: CovarianceParameters, y: int) -> CovarianceParameters:
    """Return the parameters of one class, as if there were no other."""
    covariance = theta.covariance[y if len(theta.covariance) > 1 else 0]
    return CovarianceParameters(np.ones(1), theta.mean[y : y + 1], covariance[None])


def _add_to(total: ExpectedMoments, found: ExpectedMoments, classes: slice) -> None:
    total.weight[classes] += found.weight
    total.first[classes] += found.first
    total.second[classes] += found.second


def _run_moments(
    X: Array, weight: Array, masks: Mask, ends: NDArray[np.intp], theta: CovarianceParameters
) -> ExpectedMoments:
    """Return the expected moments of rows grouped by pattern, each in all classes of theta."""
    n_classes, d = theta.mean.shape
    out = _no_moments(n_classes, d)
    group = np.repeat(np.arange(len(masks)), np.diff(ends))
    seen = masks[group]
    log_density = np.empty((len(X), n_classes))
    kept: list[tuple[Array, Array, Array]] = []
    whiten, logs = np.empty(0), np.empty(0)
    for y in range(n_classes):
        if y < len(theta.covariance):
            whiten, logs = factor(theta.covariance[y], masks)
        gap = np.where(seen, X - theta.mean[y], 0.0)
        whitened = multiply_groups(whiten, gap, ends)
        log_density[:, y] = np.einsum("ij,ij->i", whitened, whitened) + logs[group]
        kept.append((whiten, gap, whitened))
    log_density += (seen.sum(axis=1) * LOG_2PI)[:, None]
    log_density *= -0.5
    share, value = _posterior(log_density, theta.mix)
    share *= weight[:, None]
    for y, (whiten, gap, whitened) in enumerate(kept):
        mass = share[:, y]
        if not mass.any():
            continue
        covariance = theta.covariance[y if len(theta.covariance) > 1 else 0]
        # Conditional means of missing values; observed values stay as they are.
        filled = multiply_groups(whiten.transpose(0, 2, 1), whitened, ends) @ covariance
        np.copyto(filled, gap, where=seen)
        out.weight[y] = out.mix[y] = mass.sum()
        out.first[y] = mass @ filled
        filled *= np.sqrt(mass)[:, None]
        out.second[y] = filled.T @ filled
        out.second[y] += _conditional(
            covariance, whiten, masks, np.bincount(group, mass, len(masks))
        )
    return out._replace(value=float(weight @ value))


def _posterior(log_density: Array, mix: Array) -> tuple[Array, Array]:
    """Return each row's class probabilities, and its log likelihood."""
    if log_density.shape[1] == 1:
        return np.ones_like(log_density), log_density[:, 0]
    with np.errstate(divide="ignore"):
        joint = log_density + np.log(mix)
    value = np.asarray(logsumexp(joint, axis=1))
    return np.exp(joint - value[:, None]), value


def _conditional(covariance: Array, whiten: Array, masks: Mask, mass: NDArray[Any]) -> Array:
    """Return the sum over patterns of mass * (C - C_.o C_oo^-1 C_o.), 0 where observed."""
    some = np.flatnonzero(~masks.all(axis=1) & (mass > 0))
    if len(some) == 0:
        return np.zeros_like(covariance)
    root = (whiten[some] * np.sqrt(mass[some])[:, None, None]).reshape(-1, len(covariance))
    inverse = root.T @ root
    each = np.arange(len(covariance))
    inverse[each, each] -= mass[some] @ ~masks[some]  # the placeholder variance 1 of missing values
    rest = mass[some].sum() * covariance - covariance @ inverse @ covariance
    return np.asarray((rest + rest.T) / 2)


@dataclass(frozen=True)
class CovarianceLikelihood:
    """The likelihood of classes with covariances, as `run_em` needs it.

    Parameters
    ----------
    rows, engine
        The data.
    standard : Standardisation
    complete : CrossMoments
        Of complete labelled rows, standardised.
    shared : bool
        One covariance for all classes.
    strength : ndarray of shape (classes,) or (1,)
    target : ndarray of shape (classes, d, d) or (1, d, d)
    reference : ndarray of shape (d, d), optional
        The pooled covariance: a class that degenerates against it raises `SingularCovariance`.
    known_mix : bool
        The base rates of the unlabelled rows are fixed at those of the start.
    """

    rows: Rows
    engine: Engine
    standard: Standardisation
    complete: CrossMoments
    shared: bool
    strength: Array
    target: Array
    reference: Array | None = None
    known_mix: bool = False

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.complete.mean.shape[1])

    def expect(self, at: CovarianceParameters) -> ExpectedMoments:
        """Pass over the rows; the complete ones come from their moments."""
        found: ExpectedMoments = self.rows.fold(
            expected_moments, (self.standard, at), engine=self.engine
        )
        weight, mean, scatter, _ = self.complete
        gap = mean - at.mean
        second = scatter + weight[:, None, None] * gap[:, :, None] * gap[:, None, :]
        value = found.value - weight.sum() * np.log(self.standard.scale).sum()
        for y in np.flatnonzero(weight > 0):
            whiten, log_det = self._whitening(at, y)
            whitened = whiten @ second[y] @ whiten.T
            value -= 0.5 * (weight[y] * (self.d * LOG_2PI + log_det) + np.trace(whitened))
        return ExpectedMoments(
            float(value),
            found.mix,
            found.weight + weight,
            found.first + weight[:, None] * gap,
            found.second + second,
        )

    def _whitening(self, at: CovarianceParameters, y: int | np.intp) -> tuple[Array, float]:
        whole = np.ones((1, self.d), dtype=bool)
        found = factor(at.covariance[0 if self.shared else y], whole)
        return found.whiten[0], float(found.log_det[0])

    def value(self, at: CovarianceParameters, moments: ExpectedMoments) -> float:
        """Return the log likelihood less the penalty, which is 0 at the target, else positive."""
        penalty = 0.0
        for y in np.flatnonzero(self.strength > 0):
            whiten, _ = self._whitening(at, y)
            ratio = np.linalg.eigvalsh(whiten @ self.target[y] @ whiten.T)
            ratio = np.maximum(ratio, 1e-16 * ratio[-1])  # extrapolation may round to below 0
            penalty += self.strength[y] * float((ratio - 1.0 - np.log(ratio)).sum())
        return float(moments.value - 0.5 * penalty)

    def score(self, at: CovarianceParameters, moments: ExpectedMoments) -> float:
        """Return the largest entry of the score where each class has mean 0 and covariance 1."""
        worst = 0.0
        if moments.mix.any() and not self.known_mix:
            worst = float(np.abs(moments.mix / moments.mix.sum() - at.mix).max())
        scatter, weight = self._by_covariance(moments.second, moments.weight)
        for y in np.flatnonzero(moments.weight > 0):
            whiten, _ = self._whitening(at, y)
            worst = max(worst, float(np.abs(whiten @ moments.first[y] / moments.weight[y]).max()))
        for y in np.arange(len(scatter)):
            whiten, _ = self._whitening(at, y)
            total = weight[y] + self.strength[y]
            whitened = whiten @ (scatter[y] + self.strength[y] * self.target[y]) @ whiten.T / total
            worst = max(worst, 0.5 * float(np.abs(whitened - np.eye(self.d)).max()))
        return worst

    def step(self, at: CovarianceParameters, moments: ExpectedMoments) -> CovarianceParameters:
        """Return the parameters that maximise the expected log likelihood."""
        own = self.own_moments(at, moments)
        scatter, weight = self._by_covariance(own.scatter, own.weight)
        total = (weight + self.strength)[:, None, None]
        covariance = (scatter + self.strength[:, None, None] * self.target) / total
        lost = [y for y, one in enumerate(covariance) if is_singular(one) or self._degenerates(one)]
        if lost:
            raise SingularCovariance(lost, moments)
        free = moments.mix.any() and not self.known_mix
        mix = moments.mix / moments.mix.sum() if free else at.mix
        return CovarianceParameters(mix, own.mean, covariance)

    def _degenerates(self, covariance: Array) -> bool:
        """Whether a class has next to no variance where the classes together have some.

        With missing values the likelihood may increase without bound towards such a covariance, in
        ever smaller steps: waiting until it is singular would take hundreds of passes.
        """
        if self.reference is None:
            return False
        return bool(relative_eigenvalues(covariance, self.reference).min() < DEGENERATE)

    def _by_covariance(self, scatter: Array, weight: Array) -> tuple[Array, Array]:
        if not self.shared:
            return scatter, weight
        return scatter.sum(axis=0)[None], np.array([weight.sum()])

    def own_moments(self, at: CovarianceParameters, moments: ExpectedMoments) -> CrossMoments:
        """Return the expected moments as if they had been observed."""
        shift = moments.first / moments.weight[:, None]
        around = moments.second - moments.weight[:, None, None] * shift[:, :, None] * shift[:, None]
        return CrossMoments(moments.weight, at.mean + shift, around, self.complete.incomplete)

    def to_vector(self, at: CovarianceParameters) -> Array:
        """Return log base rates, means and Cholesky factors with log diagonals."""
        lower = np.linalg.cholesky(at.covariance)
        each = np.arange(self.d)
        lower[:, each, each] = np.log(lower[:, each, each])
        inside = lower[:, *np.tril_indices(self.d)]
        mix = np.log(np.maximum(at.mix, 1e-300))
        return np.concatenate([mix, at.mean.ravel(), inside.ravel()])

    def from_vector(self, numbers: Array) -> CovarianceParameters:
        """Return the parameters of such numbers; far extrapolation may have none."""
        n_classes = len(self.complete.weight)
        mix = np.exp(numbers[:n_classes] - logsumexp(numbers[:n_classes]))
        mean = numbers[n_classes : n_classes * (self.d + 1)].reshape(n_classes, self.d)
        n_covariances = len(self.strength)
        lower = np.zeros((n_covariances, self.d, self.d))
        lower[:, *np.tril_indices(self.d)] = numbers[n_classes * (self.d + 1) :].reshape(
            n_covariances, -1
        )
        each = np.arange(self.d)
        lower[:, each, each] = np.exp(np.clip(lower[:, each, each], -30.0, 30.0))
        covariance = lower @ lower.transpose(0, 2, 1)
        if not np.isfinite(covariance).all() or any(map(is_singular, covariance)):
            raise np.linalg.LinAlgError
        return CovarianceParameters(mix, mean, covariance)


# --- independent features -------------------------------------------------------------------------


class VarianceParameters(NamedTuple):
    """Means and variances of features that are independent within a class."""

    mix: Array  # (classes,)
    mean: Array  # (classes, d)
    variance: Array  # (classes, d); equal rows where shared


class ExpectedVariances(NamedTuple):
    """Moments around the present means, weighted by posterior probabilities."""

    value: float
    mix: Array  # (classes,)
    seen: Array  # (classes, d)
    first: Array  # (classes, d)
    second: Array  # (classes, d)


def expected_variances(
    block: Block, params: tuple[NDArray[np.intp], VarianceParameters]
) -> ExpectedVariances:
    """Kernel: expected moments of the rows without label, in some columns."""
    columns, theta = params[0], VarianceParameters(*params[1])
    n_classes, d = theta.mean.shape
    value, mix = 0.0, np.zeros(n_classes)
    seen, first, second = np.zeros((3, n_classes, d))
    with np.errstate(divide="ignore"):
        log_mix = np.log(theta.mix)
    constant = np.log(2 * np.pi * theta.variance)
    for piece in block.pieces():
        chosen = np.flatnonzero(~piece.labelled)
        if piece.weight is not None:
            chosen = chosen[piece.weight[chosen] > 0]
        X = piece.X[chosen][:, columns]
        seen_values = ~np.isnan(X)
        some = seen_values.any(axis=1)
        chosen, X, seen_values = chosen[some], X[some], seen_values[some]
        if len(chosen) == 0:
            continue
        weight = np.ones(len(chosen)) if piece.weight is None else piece.weight[chosen]
        joint = joint_of_variances(Block(X), (log_mix, theta.mean, 1 / theta.variance, constant))
        total = logsumexp(joint, axis=1)
        value += float(weight @ total)
        share = np.exp(joint - total[:, None]) * weight[:, None]
        mix += share.sum(axis=0)
        seen += share.T @ seen_values
        for y in range(n_classes):
            gap = np.where(seen_values, X - theta.mean[y], 0.0)
            first[y] += share[:, y] @ gap
            second[y] += share[:, y] @ np.square(gap, out=gap)
    return ExpectedVariances(value, mix, seen, first, second)


class VarianceLikelihood:
    """The likelihood of classes with independent features, as `run_em` needs it.

    A feature's own observed values say all about it, so missing values need no expectation here.
    Variances carry the penalty -1/2 * (labelled weight) * floor / variance and stay above 0.

    Parameters
    ----------
    rows, engine
        The data.
    labelled : Moments
        Of the labelled rows, measured from 0, unused columns left out.
    columns : ndarray of int
        Columns that are used.
    shared : bool
        One variance per feature for all classes.
    floor : ndarray of shape (d,)
        Of the variances of each feature.
    mix : ndarray of shape (classes,), optional
        Base rates of the unlabelled rows, where they are known; estimated otherwise.
    """

    def __init__(
        self,
        rows: Rows,
        engine: Engine,
        labelled: Moments,
        columns: NDArray[np.intp],
        shared: bool,
        floor: Array,
        mix: Array | None = None,
    ) -> None:
        self.rows = rows
        self.engine = engine
        self.labelled = labelled
        self.columns = columns
        self.shared = shared
        self.floor = floor
        self.mix = mix
        self.deviation = np.sqrt(
            np.maximum(labelled.squares.sum(axis=0) / labelled.seen.sum(axis=0), floor)
        )
        self.centre = labelled.mean.mean(axis=0)

    def start(self) -> VarianceParameters:
        """Return the labelled rows' estimate, plus two rows' worth of the pooled variance."""
        weight, seen, mean, squares = self.labelled
        shared = self.deviation**2
        square, total = self._pooled(squares + 2.0 * shared, seen + 2.0)
        mix = weight / weight.sum() if self.mix is None else self.mix
        return VarianceParameters(mix, mean, square / total)

    def expect(self, at: VarianceParameters) -> ExpectedVariances:
        """Pass over the rows; the labelled ones come from their moments."""
        found: ExpectedVariances = self.rows.fold(
            expected_variances, (self.columns, at), engine=self.engine
        )
        _, seen, mean, squares = self.labelled
        gap = mean - at.mean
        second = squares + seen * gap**2
        value = -0.5 * (seen * np.log(2 * np.pi * at.variance) + second / at.variance).sum()
        return ExpectedVariances(
            found.value + float(value),
            found.mix,
            found.seen + seen,
            found.first + seen * gap,
            found.second + second,
        )

    def value(self, at: VarianceParameters, moments: ExpectedVariances) -> float:
        """Return the log likelihood less the penalty."""
        penalty = (self.labelled.seen * self.floor / at.variance).sum()
        return float(moments.value - 0.5 * penalty)

    def score(self, at: VarianceParameters, moments: ExpectedVariances) -> float:
        """Return the largest entry of the score, where each class has mean 0 and variance 1."""
        worst = 0.0
        if self.mix is None and moments.mix.any():
            worst = float(np.abs(moments.mix / moments.mix.sum() - at.mix).max())
        mean = moments.first / np.sqrt(at.variance) / moments.seen
        square, seen = self._pooled(moments.second + self.labelled.seen * self.floor, moments.seen)
        variance = 0.5 * (square / at.variance / seen - 1.0)
        return max(worst, float(np.abs(mean).max()), float(np.abs(variance).max()))

    def step(self, at: VarianceParameters, moments: ExpectedVariances) -> VarianceParameters:
        """Return the parameters that maximise the expected log likelihood."""
        shift = moments.first / moments.seen
        around = moments.second - moments.seen * shift**2 + self.labelled.seen * self.floor
        square, seen = self._pooled(around, moments.seen)
        free = self.mix is None and moments.mix.any()
        mix = moments.mix / moments.mix.sum() if free else at.mix
        return VarianceParameters(mix, at.mean + shift, square / seen)

    def _pooled(self, square: Array, seen: Array) -> tuple[Array, Array]:
        if not self.shared:
            return square, seen
        return (
            np.repeat(square.sum(axis=0)[None], len(square), axis=0),
            np.repeat(seen.sum(axis=0)[None], len(seen), axis=0),
        )

    def to_vector(self, at: VarianceParameters) -> Array:
        """Return log base rates, standardised means and log variances."""
        mix = np.log(np.maximum(at.mix, 1e-300))
        variance = np.log(at.variance / self.deviation**2)
        return np.concatenate(
            [mix, ((at.mean - self.centre) / self.deviation).ravel(), variance.ravel()]
        )

    def from_vector(self, numbers: Array) -> VarianceParameters:
        """Return the parameters of such numbers."""
        shape = self.labelled.mean.shape
        mix, rest = numbers[: shape[0]], numbers[shape[0] :]
        mean, variance = rest.reshape(2, *shape)
        return VarianceParameters(
            np.exp(mix - logsumexp(mix)),
            self.centre + mean * self.deviation,
            np.exp(np.clip(variance, -60.0, 60.0)) * self.deviation**2,
        )


# --- stages of a fit with covariances -------------------------------------------------------------


CovarianceResult = EMResult[CovarianceParameters, ExpectedMoments]


class FittedCovariances(NamedTuple):
    """The result of EM, in the units of the data."""

    mean: Array
    found: Covariances
    mix: Array  # (classes,), base rates among the unlabelled rows
    open_weight: Array  # (classes,), expected weight of unlabelled rows of each class
    result: CovarianceResult
    passes: int


class CovarianceFit:
    """EM in stages, each of which starts where the one before ended.

    Labelled rows come first: one covariance for all classes, then one for each, then, where asked
    for, the unlabelled rows. Each stage is penalised as far as covariances must be shrunk: target
    and strength are chosen before the last stage from the expected moments, as if those had been
    observed, and then kept. Expected values agree with the model that filled them in, so rows weigh
    only as much as the share of observed pairs; with most values missing the choice still shrinks
    somewhat too far.
    """

    def __init__(
        self,
        rows: Rows,
        engine: Engine,
        cross: CrossMoments,
        origin: Array,
        columns: NDArray[np.intp],
        floor: Floor,
        settings: CovarianceSettings,
        tol: float,
        max_passes: int,
        mix: Array | None = None,
    ) -> None:
        values = value_moments(cross)
        seen = values.seen.sum(axis=0)
        middle = (values.seen * values.mean).sum(axis=0) / seen
        self.scale = np.sqrt(np.maximum(values.squares.sum(axis=0) / seen, floor.least))
        self.centre = origin + middle
        self.complete = CrossMoments(
            cross.weight,
            (cross.mean - middle) / self.scale,
            cross.scatter / self.scale / self.scale[:, None],
            cross.incomplete,
        )
        self.floor = Floor(*(part / self.scale**2 for part in floor))
        self.rows, self.engine, self.settings = rows, engine, settings
        self.standard = Standardisation(columns, self.centre, self.scale, False)
        self.tol, self.max_passes = tol, max_passes
        self.intensity = shared_intensity(settings.shrinkage, float(values.weight.sum()), len(seen))
        self.passes = 0
        self.pooled_share = 0.0
        self.shared_reference: Array | None = None
        self.singular: set[int] = set()
        weight = values.weight
        self.n_classes, self.d = values.mean.shape
        variance = np.maximum(values.squares.sum(axis=0) / seen / self.scale**2, self.floor.least)
        self.pooled = np.diag(variance)
        self.known_mix = mix is not None
        self.at = CovarianceParameters(
            weight / weight.sum() if mix is None else mix,
            (values.mean - middle) / self.scale,
            np.diag(variance)[None],
        )
        # Share of pairs of values that are observed: rows weigh that much against a target.
        self.seen_share = np.square(values.seen.mean(axis=1) / weight)
        self.some_missing = bool((cross.incomplete.seen > 0).any())

    # --- stages -----------------------------------------------------------------------------------

    def labelled(self) -> CovarianceResult | None:
        """Fit the labelled rows; return None where that took no EM."""
        if self.some_missing:
            return self._all_stages()
        found = covariances(self.complete, self.floor, self.settings)
        s = np.minimum(found.intensity, NEARLY_ONE)
        weight = self.complete.weight if len(s) > 1 else self.complete.weight.sum()
        self.strength = weight * s / (1.0 - s)
        self.target = found.target
        self.singular.update(found.singular)
        self.pooled_share = found.pooled_share
        self.at = CovarianceParameters(self.at.mix, self.complete.mean, found.covariance)
        self.pooled = found.target.mean(axis=0)
        return None

    def unlabelled(self) -> CovarianceResult:
        """Continue with the unlabelled rows."""
        self.standard = self.standard._replace(unlabelled=True)
        if self.settings.kind == "full" and not self.singular:
            return self._em_restarting(self.max_passes)
        return self._all_stages()

    def _all_stages(self) -> CovarianceResult:
        """Fit one covariance for all classes first: start and target of those of each class."""
        own = self.at.covariance if len(self.at.covariance) > 1 else None
        done = self._shared()
        if self.settings.kind == "shared":
            return done
        self.pooled = self.at.covariance[0]
        whole = np.repeat(self.pooled[None], self.n_classes, axis=0)
        self.target, self.strength = whole.copy(), np.zeros(self.n_classes)
        if self.settings.kind == "full":
            few = self.complete.weight + self.complete.incomplete.weight < self.d + 2
            self.singular.update(np.flatnonzero(few).tolist())
            if own is not None:
                free = [y for y in range(self.n_classes) if y not in self.singular]
                whole[free] = own[free]
        self.at = self.at._replace(covariance=whole)
        self._choose()
        if self.strength.any() and self.settings.shrinkage == "auto":
            self._em_restarting(FIRST_PASSES)
            self._choose()
        return self._em_restarting(self.max_passes)

    def _shared(self) -> CovarianceResult:
        """Fit one covariance for all classes, shrunk to its diagonal only where it must be."""
        variance = np.diagonal(self.at.covariance, axis1=1, axis2=2).mean(axis=0)
        self.target = np.diag(variance)[None]
        self.at = self.at._replace(covariance=self.at.covariance.mean(axis=0)[None])
        self.strength = np.zeros(1)
        weight = float((self.complete.weight + self.complete.incomplete.weight).sum())
        if self.settings.kind == "shared" and self.intensity > 0:
            s = min(self.intensity, NEARLY_ONE)
            self.target = np.diag(self.floor.total)[None]
            self.strength = np.array([weight * s / (1.0 - s)])
            return self._em(self.max_passes)
        free = weight - self.n_classes + 1
        # Few observed pairs: the likelihood may increase without bound.
        few = weight * self.seen_share.mean() < FEW * self.d
        # A start and a target for others: nobody sees its last digits.
        alone = self.settings.kind == "shared"
        tol = self.tol if alone else STAGE_TOL * self.tol
        most = self.max_passes if alone else min(self.max_passes, STAGE_PASSES)
        self.shared_reference = self.target[0] if few else None
        if self.pooled_share > 0:
            self._shrink_shared(self.pooled_share, weight)
        elif free < self.d + 2:
            self._shrink_shared(self._diagonal_share(free), weight)
        while True:
            try:
                return self._em(most, tol)
            except SingularCovariance:
                self.at = self.at._replace(covariance=self.target.copy())
                fresh = self.pooled_share == 0
                share = self._diagonal_share(free) if fresh else 10.0 * self.pooled_share
                self._shrink_shared(share, weight)

    def _diagonal_share(self, free: float) -> float:
        own = self._likelihood().own_moments(self.at, self._expect())
        return diagonal_share(own.scatter.sum(axis=0) / own.weight.sum(), free)

    def _shrink_shared(self, share: float, weight: float) -> None:
        self.pooled_share = min(share, NEARLY_ONE)
        self.strength = np.array([weight * self.pooled_share / (1.0 - self.pooled_share)])

    # --- parts of a stage -------------------------------------------------------------------------

    def _likelihood(self) -> CovarianceLikelihood:
        shared = self.settings.kind == "shared" or len(self.at.covariance) < self.n_classes
        return CovarianceLikelihood(
            self.rows,
            self.engine,
            self.standard,
            self.complete,
            shared,
            self.strength,
            self.target,
            self.shared_reference if shared else self.pooled,
            self.known_mix,
        )

    def _expect(self) -> ExpectedMoments:
        self.passes += 1
        return self._likelihood().expect(self.at)

    def _em(self, passes: int, tol: float | None = None) -> CovarianceResult:
        tol = self.tol if tol is None else tol
        done = run_em(self._likelihood(), self.at, tol=tol, max_passes=passes)
        self.passes += done.passes
        self.at = done.at
        return done

    def _em_restarting(self, passes: int) -> CovarianceResult:
        """Run EM; where a class loses a direction it is shrunk more, and EM starts again."""
        while True:
            try:
                return self._em(passes)
            except SingularCovariance as lost:
                fresh = [y for y in lost.which if y not in self.singular]
                self.singular.update(fresh)
                covariance = self.at.covariance.copy()
                covariance[lost.which] = self.target[lost.which]
                self.at = self.at._replace(covariance=covariance)
                if fresh and self.settings.kind == "full":
                    self._choose(fresh)
                least = FLOOR / (1.0 - FLOOR) * lost.moments.weight[lost.which]
                more = np.where(np.isin(lost.which, fresh), 1.0, 10.0)
                self.strength[lost.which] = np.maximum(least, more * self.strength[lost.which])

    def _choose(self, only: Sequence[int] | None = None) -> None:
        """Choose how far classes are shrunk, as if the expected moments had been observed."""
        shrunk = self.settings.kind == "shrunk"
        if only is None:
            only = range(self.n_classes) if shrunk else sorted(self.singular)
        if not only:
            return
        own = self._likelihood().own_moments(self.at, self._expect())
        covariance = own.scatter / own.weight[:, None, None]
        intensity = self.settings.shrinkage if shrunk else "auto"
        found = shrink(covariance, own.weight, self.pooled, intensity, only)
        seen = self.seen_share if intensity == "auto" else np.ones(self.n_classes)
        for y in only:
            s = min(found.intensity[y], NEARLY_ONE)
            self.strength[y] = seen[y] * own.weight[y] * s / (1.0 - s)
            self.target[y] = found.target[y]

    def fitted(self, result: CovarianceResult) -> FittedCovariances:
        """Return the fit in the units of the data."""
        moments = result.moments
        weight = moments.weight if len(self.strength) > 1 else np.array([moments.weight.sum()])
        intensity = self.strength / (weight + self.strength)
        shrunk = intensity[:, None, None] * self.target
        covariance = self.at.covariance
        if self.settings.unbiased:
            free = weight - (self.n_classes if len(weight) == 1 else 1)
            ratio = np.where(free > 0, weight / np.where(free > 0, free, 1.0), 1.0)
            covariance = shrunk + ratio[:, None, None] * (covariance - shrunk)
        units = self.scale * self.scale[:, None]
        found = Covariances(
            covariance * units,
            self.target * units,
            intensity,
            tuple(sorted(self.singular)),
            self.pooled_share,
        )
        mean = self.centre + self.at.mean * self.scale
        return FittedCovariances(mean, found, self.at.mix, moments.mix, result, self.passes)
