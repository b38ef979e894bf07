"""Worlds whose probabilities are known, and what a decision or a model loses in them.

    excess cost     = mean over rows of  E[cost of the action] - least E[cost],  E under the truth
    excess log loss = mean over rows of  sum over classes of  p log(p / q)

Both are expectations over the classes of the rows drawn: only the rows themselves, and what was
learnt, vary from repeat to repeat.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, xlogy

from scarce import CostMatrix, expected_cost

Array = NDArray[np.float64]
PER = 1000  # costs are given per so many rows


class Rows(NamedTuple):
    """Rows with their true probability of an event, and what they turned out to be."""

    X: Array
    p: Array
    y: NDArray[np.int64]

    def take(self, chosen: Any) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[chosen], self.p[chosen], self.y[chosen])


class LogisticWorld:
    """Normal columns; log-odds = intercept + slopes x + curve x_2^2, a given share of events."""

    def __init__(self, slopes: tuple[float, ...], share: float, curve: float = 0.0) -> None:
        self.slopes, self.curve = np.array(slopes), curve
        nodes, weights = np.polynomial.hermite_e.hermegauss(50)
        weights = np.outer(weights, weights).ravel() / weights.sum() ** 2
        second = np.repeat(nodes, len(nodes))
        others = np.sqrt(np.sum(self.slopes**2) - self.slopes[1] ** 2) * np.tile(nodes, len(nodes))
        score = others + self.slopes[1] * second + curve * second**2

        def excess(intercept: float) -> float:
            return float(weights @ expit(intercept + score) - share)

        self.intercept = float(brentq(excess, -20.0, 5.0, xtol=1e-12))

    def draw(self, n: int, rng: np.random.Generator, events: int = 0) -> Rows:
        """Draw n rows, again and again until so many events are among them."""
        while True:
            X = rng.normal(size=(n, len(self.slopes)))
            p = expit(self.intercept + X @ self.slopes + self.curve * X[:, 1] ** 2)
            y = (rng.random(n) < p).astype(np.int64)
            if events <= y.sum() <= n - events:
                return Rows(X, p, y)


class GaussianWorld:
    """Two classes, each normal with a mean and covariance of its own."""

    def __init__(self, share: float, means: Any, covariances: Any) -> None:
        self.share, self.means = share, np.asarray(means, dtype=np.float64)
        self.roots = np.linalg.cholesky(np.asarray(covariances, dtype=np.float64))
        self.inverse = np.linalg.inv(self.roots)

    def distance(self, X: Array) -> Array:
        """Return the distance of each row from each class, in its standard deviations: (n, 2)."""
        gaps = [(X - m) @ w.T for m, w in zip(self.means, self.inverse, strict=True)]
        return np.stack([np.sqrt(np.sum(gap**2, axis=1)) for gap in gaps], axis=1)

    def truth(self, X: Array) -> Array:
        """Return the probability of an event by Bayes' rule (003 section 1.2)."""
        log_size = np.log(np.diagonal(self.roots, axis1=1, axis2=2)).sum(axis=1)
        log_density = -0.5 * self.distance(X) ** 2 - log_size
        log_odds = np.log(self.share / (1 - self.share)) + log_density[:, 1] - log_density[:, 0]
        return np.asarray(expit(log_odds))

    def of_classes(self, y: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        """Draw rows of these classes."""
        noise = rng.normal(size=(len(y), self.means.shape[1]))
        X = self.means[y] + np.einsum("nij,nj->ni", self.roots[y], noise)
        return Rows(X, self.truth(X), y)

    def draw(self, n: int, rng: np.random.Generator) -> Rows:
        """Draw n rows."""
        return self.of_classes((rng.random(n) < self.share).astype(np.int64), rng)


def excess_cost(p: Array, actions: NDArray[Any], costs: CostMatrix) -> float:
    """Return what actions cost above the best ones, per 1,000 rows, under true probabilities."""
    by_action = expected_cost(p, costs)
    return PER * float(np.mean(of_actions(by_action, actions, costs) - by_action.min(axis=1)))


def of_actions(by_action: Array, actions: NDArray[Any], costs: CostMatrix) -> Array:
    """Return each row's entry (n,) of a table (n, n_actions) by the names of its actions."""
    out = np.full(len(by_action), np.nan)
    for position, name in enumerate(costs.actions):
        here = np.flatnonzero(np.asarray(actions) == name)
        out[here] = by_action[here, position]
    return out


def excess_log_loss(p: Array, log_prob: Array) -> float:
    """Return the mean divergence of log probabilities (n, 2) from the truth."""
    entropy = xlogy(p, p) + xlogy(1 - p, 1 - p)
    return float(np.mean(entropy - p * log_prob[:, 1] - (1 - p) * log_prob[:, 0]))


def excess_error(p: Array, log_prob: Array) -> float:
    """Return how much more often than the best rule the likelier class is wrong."""
    wrong = np.where(log_prob[:, 1] > log_prob[:, 0], 1 - p, p)
    return float(np.mean(wrong - np.minimum(p, 1 - p)))
