"""Gaussians of the classes when values, or labels, are missing: maximum likelihood by EM.

    E: x_m | x_o ~ N(mean_m + C_mo C_oo^-1 (x_o - mean_o),  C_mm - C_mo C_oo^-1 C_om)
    M: mean = expected mean,  C = (expected scatter + strength * target) / (weight + strength)

A row without label enters every class with its posterior probability, under the class shares of the
unlabelled rows, which are parameters of their own unless they are given: labels may be revealed at
a rate that differs by class. Rows that are complete and labelled enter once, as moments. `strength`
is 0 unless a class is shrunk: the weight of a penalty, -strength/2 (tr R - log det R - d) with R =
C^-1 target. Assumes that whether a value is missing says nothing that the seen ones do not (missing
at random).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows, add
from scarce.gaussian.densities import LOG_2PI, factor, runs, turn
from scarce.gaussian.moments import CrossMoments
from scarce.gaussian.shrinkage import is_singular, relative_eigenvalues

FADED = 1e-6  # share of the common variance below which a direction counts as lost


class Singular(Exception):
    """Some covariances lost a direction on the way up."""

    def __init__(self, which: list[int], moments: Any) -> None:
        super().__init__(which)
        self.which = which
        self.moments = moments


class Theta(NamedTuple):
    """Parameters, in standardised features."""

    mix: Array  # (classes,), shares among the unlabelled rows
    mean: Array  # (classes, d)
    covariance: Array  # (classes, d, d), or (1, d, d) where shared


class Expected(NamedTuple):
    """Expected moments around the present means; they add up over rows."""

    value: float  # log likelihood
    mix: Array  # (classes,), expected weight of unlabelled rows
    weight: Array  # (classes,), of rows that show something
    first: Array  # (classes, d), sum of weight * (x - mean)
    second: Array  # (classes, d, d), sum of weight * (x - mean)(x - mean)'


class Coordinates(NamedTuple):
    """How the features are standardised, and which rows count."""

    columns: NDArray[np.intp]
    centre: Array
    scale: Array
    unlabelled: bool


def nothing(n_classes: int, d: int) -> Expected:
    """Return the expected moments of no rows."""
    return Expected(
        0.0,
        np.zeros(n_classes),
        np.zeros(n_classes),
        np.zeros((n_classes, d)),
        np.zeros((n_classes, d, d)),
    )


def expected_moments(block: Block, params: tuple[Coordinates, Theta]) -> Expected:
    """Kernel: expected moments of the rows that miss a value or their label.

    Costs about what predicting costs, twice over: a factor per pattern and class, then three
    products of d^2 per row.
    """
    coordinates, theta = Coordinates(*params[0]), Theta(*params[1])
    total = nothing(*theta.mean.shape)
    X = block.X[:, coordinates.columns]
    seen = ~np.isnan(X)
    code = np.full(len(block), -1, dtype=np.intp)
    labelled = block.labelled
    assert block.y is not None
    code[labelled] = block.y[labelled].astype(np.intp)
    counts = seen.any(axis=1) & np.where(labelled, ~seen.all(axis=1), coordinates.unlabelled)
    if block.weight is not None:
        counts &= block.weight > 0
    chosen = np.flatnonzero(counts)
    if len(chosen) == 0:
        return total
    X = (X[chosen] - coordinates.centre) / coordinates.scale
    seen, code = seen[chosen], code[chosen]
    weight = np.ones(len(chosen)) if block.weight is None else block.weight[chosen]
    for run in runs(seen):
        rows = run.rows
        part = _of_run(X[rows], code[rows], weight[rows], run.masks, run.ends, theta)
        total = add(total, part)
    # Densities in the units of the data.
    units = float(weight @ seen @ np.log(coordinates.scale))
    return total._replace(value=total.value - units)


def _of_run(
    X: Array, code: Any, weight: Array, masks: Any, ends: NDArray[np.intp], theta: Theta
) -> Expected:
    """Expected moments of rows that lie together by pattern."""
    n_classes, d = theta.mean.shape
    out = nothing(n_classes, d)
    group = np.repeat(np.arange(len(masks)), np.diff(ends))
    seen = masks[group]
    log_density = np.empty((len(X), n_classes))
    kept: list[tuple[Array, Array, Array]] = []
    half, logs = np.empty(0), np.empty(0)
    for y in range(n_classes):
        if y < len(theta.covariance):
            half, logs = factor(theta.covariance[y], masks)
        gap = np.where(seen, X - theta.mean[y], 0.0)
        turned = turn(half, gap, ends)
        log_density[:, y] = np.einsum("ij,ij->i", turned, turned) + logs[group]
        kept.append((half, gap, turned))
    log_density += (seen.sum(axis=1) * LOG_2PI)[:, None]
    log_density *= -0.5
    share, value = _posterior(log_density, code, theta.mix)
    share *= weight[:, None]
    open_rows = code < 0
    for y, (half, gap, turned) in enumerate(kept):
        mass = share[:, y]
        if not mass.any():
            continue
        covariance = theta.covariance[y if len(theta.covariance) > 1 else 0]
        # Conditional means of what is missing; what was seen stays as it is.
        filled = turn(half.transpose(0, 2, 1), turned, ends) @ covariance
        np.copyto(filled, gap, where=seen)
        out.weight[y] = mass.sum()
        out.mix[y] = mass[open_rows].sum()
        out.first[y] = mass @ filled
        filled *= np.sqrt(mass)[:, None]
        out.second[y] = filled.T @ filled
        out.second[y] += _conditional(covariance, half, masks, np.bincount(group, mass, len(masks)))
    return out._replace(value=float(weight @ value))


def _posterior(log_density: Array, code: Any, mix: Array) -> tuple[Array, Array]:
    """Return each row's share in the classes, and its log likelihood; labels settle the share."""
    with np.errstate(divide="ignore"):
        joint = log_density + np.log(mix)
    value = np.asarray(logsumexp(joint, axis=1))
    share = np.exp(joint - value[:, None])
    known = np.flatnonzero(code >= 0)
    share[known] = 0.0
    share[known, code[known]] = 1.0
    value[known] = log_density[known, code[known]]
    return share, value


def _conditional(covariance: Array, half: Array, masks: Any, mass: Any) -> Array:
    """Return the sum over patterns of mass * (C - C_.o C_oo^-1 C_o.), which is 0 where seen."""
    holed = np.flatnonzero(~masks.all(axis=1) & (mass > 0))
    if len(holed) == 0:
        return np.zeros_like(covariance)
    root = (half[holed] * np.sqrt(mass[holed])[:, None, None]).reshape(-1, len(covariance))
    inverse = root.T @ root
    missing = np.arange(len(covariance))
    inverse[missing, missing] -= mass[holed] @ ~masks[holed]  # their stand-in variance 1
    rest = mass[holed].sum() * covariance - covariance @ inverse @ covariance
    return np.asarray((rest + rest.T) / 2)


class CovarianceHill:
    """The likelihood of classes with covariances, as `climb` needs it.

    Parameters
    ----------
    rows, engine
        The data.
    coordinates : Coordinates
    complete : CrossMoments
        Of labelled rows without holes, in the same coordinates.
    shared : bool
        One covariance for all classes.
    strength : ndarray of shape (classes,) or (1,)
    target : ndarray of shape (classes, d, d) or (1, d, d)
    reference : ndarray of shape (d, d), optional
        What the classes share: one that has no spread in comparison raises `Singular`.
    known_mix : bool
        The class shares of the unlabelled rows stay as they are at the start.
    """

    def __init__(
        self,
        rows: Rows,
        engine: Engine,
        coordinates: Coordinates,
        complete: CrossMoments,
        shared: bool,
        strength: Array,
        target: Array,
        reference: Array | None = None,
        known_mix: bool = False,
    ) -> None:
        self.rows = rows
        self.engine = engine
        self.coordinates = coordinates
        self.complete = complete
        self.shared = shared
        self.strength = strength
        self.target = target
        self.reference = reference
        self.known_mix = known_mix
        self.d = complete.mean.shape[1]

    def expect(self, at: Theta) -> Expected:
        """Pass over the rows; the complete ones come from their moments."""
        found: Expected = self.rows.fold(
            expected_moments, (self.coordinates, at), engine=self.engine
        )
        weight, mean, scatter, _ = self.complete
        gap = mean - at.mean
        second = scatter + weight[:, None, None] * gap[:, :, None] * gap[:, None, :]
        value = found.value - weight.sum() * np.log(self.coordinates.scale).sum()
        for y in np.flatnonzero(weight > 0):
            half, log_det = self._half(at, y)
            turned = half @ second[y] @ half.T
            value -= 0.5 * (weight[y] * (self.d * LOG_2PI + log_det) + np.trace(turned))
        return Expected(
            float(value),
            found.mix,
            found.weight + weight,
            found.first + weight[:, None] * gap,
            found.second + second,
        )

    def _half(self, at: Theta, y: Any) -> tuple[Array, float]:
        whole = np.ones((1, self.d), dtype=bool)
        found = factor(at.covariance[0 if self.shared else y], whole)
        return found.half[0], float(found.log_det[0])

    def value(self, at: Theta, moments: Expected) -> float:
        """Return the log likelihood less the penalty, which is 0 at the target and above else."""
        penalty = 0.0
        for y in np.flatnonzero(self.strength > 0):
            half, _ = self._half(at, y)
            ratio = np.linalg.eigvalsh(half @ self.target[y] @ half.T)
            ratio = np.maximum(ratio, 1e-16 * ratio[-1])  # a wild stride may round to below 0
            penalty += self.strength[y] * float((ratio - 1.0 - np.log(ratio)).sum())
        return float(moments.value - 0.5 * penalty)

    def score(self, at: Theta, moments: Expected) -> float:
        """Return the largest entry of the score where each class has mean 0 and covariance 1."""
        worst = 0.0
        if moments.mix.any() and not self.known_mix:
            worst = float(np.abs(moments.mix / moments.mix.sum() - at.mix).max())
        scatter, weight = self._by_covariance(moments.second, moments.weight)
        for y in np.flatnonzero(moments.weight > 0):
            half, _ = self._half(at, y)
            worst = max(worst, float(np.abs(half @ moments.first[y] / moments.weight[y]).max()))
        for y in np.arange(len(scatter)):
            half, _ = self._half(at, y)
            total = weight[y] + self.strength[y]
            turned = half @ (scatter[y] + self.strength[y] * self.target[y]) @ half.T / total
            worst = max(worst, 0.5 * float(np.abs(turned - np.eye(self.d)).max()))
        return worst

    def step(self, at: Theta, moments: Expected) -> Theta:
        """Return the maximum for these expected moments."""
        own = self.own_moments(at, moments)
        scatter, weight = self._by_covariance(own.scatter, own.weight)
        total = (weight + self.strength)[:, None, None]
        covariance = (scatter + self.strength[:, None, None] * self.target) / total
        lost = [y for y, one in enumerate(covariance) if is_singular(one) or self._fades(one)]
        if lost:
            raise Singular(lost, moments)
        free = moments.mix.any() and not self.known_mix
        mix = moments.mix / moments.mix.sum() if free else at.mix
        return Theta(mix, own.mean, covariance)

    def _fades(self, covariance: Array) -> bool:
        """Whether a class has next to no spread where the classes together have some.

        With holes the likelihood may rise for ever towards such a covariance, in ever smaller
        steps of the spread: waiting until it is singular would take hundreds of passes.
        """
        if self.reference is None:
            return False
        return bool(relative_eigenvalues(covariance, self.reference).min() < FADED)

    def _by_covariance(self, scatter: Array, weight: Array) -> tuple[Array, Array]:
        if not self.shared:
            return scatter, weight
        return scatter.sum(axis=0)[None], np.array([weight.sum()])

    def own_moments(self, at: Theta, moments: Expected) -> CrossMoments:
        """Return the expected moments as if they had been seen."""
        shift = moments.first / moments.weight[:, None]
        around = moments.second - moments.weight[:, None, None] * shift[:, :, None] * shift[:, None]
        return CrossMoments(moments.weight, at.mean + shift, around, self.complete.holed)

    def flat(self, at: Theta) -> Array:
        """Return means, log shares and Cholesky factors with the logarithm of their diagonal."""
        lower = np.linalg.cholesky(at.covariance)
        each = np.arange(self.d)
        lower[:, each, each] = np.log(lower[:, each, each])
        inside = lower[:, *np.tril_indices(self.d)]
        mix = np.log(np.maximum(at.mix, 1e-300))
        return np.concatenate([mix, at.mean.ravel(), inside.ravel()])

    def solid(self, numbers: Array) -> Theta:
        """Return the parameters of such numbers; a wild stride has none."""
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
        return Theta(mix, mean, covariance)
