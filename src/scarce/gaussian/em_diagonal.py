"""Features independent within a class, and rows without label: maximum likelihood by EM.

    r_y = mix_y p(seen | y) / sum over k of mix_k p(seen | k)      mean, variance: weighted by r

Missing values need no expectation here: a feature's own seen values say all about it. Variances
carry the penalty -1/2 * (labelled weight) * floor / variance, so that none can fall to 0. The class
shares of the unlabelled rows are parameters of their own unless they are given, as in bayes_em.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.gaussian.densities import joint_of_variances
from scarce.gaussian.moments import Moments


class DiagTheta(NamedTuple):
    """Parameters."""

    mix: Array  # (classes,)
    mean: Array  # (classes, d)
    variance: Array  # (classes, d); equal rows where shared


class DiagExpected(NamedTuple):
    """Moments around the present means, weighted by posterior probabilities."""

    value: float
    mix: Array  # (classes,)
    seen: Array  # (classes, d)
    first: Array  # (classes, d)
    second: Array  # (classes, d)


def expected_values(block: Block, params: tuple[NDArray[np.intp], DiagTheta]) -> DiagExpected:
    """Kernel: expected moments of the rows without label, in some columns."""
    columns, theta = params[0], DiagTheta(*params[1])
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
        shown = ~np.isnan(X)
        some = shown.any(axis=1)
        chosen, X, shown = chosen[some], X[some], shown[some]
        if len(chosen) == 0:
            continue
        weight = np.ones(len(chosen)) if piece.weight is None else piece.weight[chosen]
        joint = joint_of_variances(Block(X), (log_mix, theta.mean, 1 / theta.variance, constant))
        total = logsumexp(joint, axis=1)
        value += float(weight @ total)
        share = np.exp(joint - total[:, None]) * weight[:, None]
        mix += share.sum(axis=0)
        seen += share.T @ shown
        for y in range(n_classes):
            gap = np.where(shown, X - theta.mean[y], 0.0)
            first[y] += share[:, y] @ gap
            second[y] += share[:, y] @ np.square(gap, out=gap)
    return DiagExpected(value, mix, seen, first, second)


class DiagHill:
    """The likelihood of classes with independent features, as `climb` needs it.

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
        Class shares of the unlabelled rows, where they are known; estimated otherwise.
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
        self.spread = np.sqrt(
            np.maximum(labelled.squares.sum(axis=0) / labelled.seen.sum(axis=0), floor)
        )
        self.centre = labelled.mean.mean(axis=0)

    def start(self) -> DiagTheta:
        """Return what the labelled rows say, with two rows' worth of what all classes share."""
        weight, seen, mean, squares = self.labelled
        shared = self.spread**2
        square, total = self._pooled(squares + 2.0 * shared, seen + 2.0)
        mix = weight / weight.sum() if self.mix is None else self.mix
        return DiagTheta(mix, mean, square / total)

    def expect(self, at: DiagTheta) -> DiagExpected:
        """Pass over the rows; the labelled ones come from their moments."""
        found: DiagExpected = self.rows.fold(
            expected_values, (self.columns, at), engine=self.engine
        )
        _, seen, mean, squares = self.labelled
        gap = mean - at.mean
        second = squares + seen * gap**2
        value = -0.5 * (seen * np.log(2 * np.pi * at.variance) + second / at.variance).sum()
        return DiagExpected(
            found.value + float(value),
            found.mix,
            found.seen + seen,
            found.first + seen * gap,
            found.second + second,
        )

    def value(self, at: DiagTheta, moments: DiagExpected) -> float:
        """Return the log likelihood less the penalty."""
        penalty = (self.labelled.seen * self.floor / at.variance).sum()
        return float(moments.value - 0.5 * penalty)

    def score(self, at: DiagTheta, moments: DiagExpected) -> float:
        """Return the largest entry of the score, where each class has mean 0 and variance 1."""
        worst = 0.0
        if self.mix is None and moments.mix.any():
            worst = float(np.abs(moments.mix / moments.mix.sum() - at.mix).max())
        mean = moments.first / np.sqrt(at.variance) / moments.seen
        square, seen = self._pooled(moments.second + self.labelled.seen * self.floor, moments.seen)
        variance = 0.5 * (square / at.variance / seen - 1.0)
        return max(worst, float(np.abs(mean).max()), float(np.abs(variance).max()))

    def step(self, at: DiagTheta, moments: DiagExpected) -> DiagTheta:
        """Return the maximum for these expected moments."""
        shift = moments.first / moments.seen
        around = moments.second - moments.seen * shift**2 + self.labelled.seen * self.floor
        square, seen = self._pooled(around, moments.seen)
        free = self.mix is None and moments.mix.any()
        mix = moments.mix / moments.mix.sum() if free else at.mix
        return DiagTheta(mix, at.mean + shift, square / seen)

    def _pooled(self, square: Array, seen: Array) -> tuple[Array, Array]:
        if not self.shared:
            return square, seen
        return (
            np.repeat(square.sum(axis=0)[None], len(square), axis=0),
            np.repeat(seen.sum(axis=0)[None], len(seen), axis=0),
        )

    def flat(self, at: DiagTheta) -> Array:
        """Return log shares, means in units of the spread and log variances."""
        mix = np.log(np.maximum(at.mix, 1e-300))
        variance = np.log(at.variance / self.spread**2)
        return np.concatenate(
            [mix, ((at.mean - self.centre) / self.spread).ravel(), variance.ravel()]
        )

    def solid(self, numbers: Array) -> DiagTheta:
        """Return the parameters of such numbers."""
        shape = self.labelled.mean.shape
        mix, rest = numbers[: shape[0]], numbers[shape[0] :]
        mean, variance = rest.reshape(2, *shape)
        return DiagTheta(
            np.exp(mix - logsumexp(mix)),
            self.centre + mean * self.spread,
            np.exp(np.clip(variance, -60.0, 60.0)) * self.spread**2,
        )
