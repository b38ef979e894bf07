"""Fits of a rare class: who is how fast to the same gradient?

    minimise  sum_i loss(y_i, intercept + x_i' coef) + ridge / 2 |coef|^2

Objective and certificate (largest entry of the gradient per row) are computed here from each side's
coefficients, with formulas of this module and not of any side. Two answers are the same where both
certificates are below LIMIT and the coefficients lie as close as that promises: near the optimum
their distance from it is the gradient's length over the least curvature, at most. Features are
drawn standard normal, the best case for a first-order method.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gamma, gammaincc, log_ndtr

from benchmarks.problem import ROWS_AT_ONCE, Answer, Array, Data, Problem, draw_logistic

CERTIFICATE = 1e-8  # gradient per row that every side is asked to stop at
LIMIT = 2e-8  # largest that counts: a side may stop on a rule of its own a little above
SHAPE = 0.3  # of the GEV link


class Each(NamedTuple):
    """Loss of each row and its first two derivatives in the score."""

    value: Array
    slope: Array
    curvature: Array


def logit(y: Array, score: Array) -> Each:
    """Log loss of the logistic link."""
    prob = expit(score)
    return Each(np.logaddexp(0.0, score) - y * score, prob - y, prob * (1.0 - prob))


def probit(y: Array, score: Array) -> Each:
    """Log loss of the normal link: with q = 2y - 1 and r = density / Phi(q s), slope -q r."""
    sign = 2.0 * y - 1.0
    log_prob = log_ndtr(sign * score)
    ratio = np.exp(-0.5 * score**2 - 0.5 * np.log(2.0 * np.pi) - log_prob)
    return Each(-log_prob, -sign * ratio, ratio * (ratio + sign * score))


def cloglog(y: Array, score: Array) -> Each:
    """Log loss of prob = 1 - exp(-u), u = exp(score)."""
    u = np.exp(score)
    some = np.expm1(u)
    bent = u * (u * np.exp(u) - some) / some**2
    return Each(
        np.where(y == 1, -np.log(-np.expm1(-u)), u),
        np.where(y == 1, -u / some, u),
        np.where(y == 1, bent, u),
    )


def gev(y: Array, score: Array) -> Each:
    """Canonical loss A(score) - y score of prob = exp(-t), t = (1 + shape s)^(-1 / shape).

    A is the integral of prob, (t^-shape prob - Gamma(1 - shape, t)) / shape for shapes in (0, 1).
    """
    room = np.maximum(1.0 + SHAPE * score, 0.0)
    inside = room > 1e-3  # below it prob is 0 in double precision
    t = np.where(inside, room, 1.0) ** (-1.0 / SHAPE)
    prob = np.where(inside, np.exp(-t), 0.0)
    rest = np.where(inside, gammaincc(1.0 - SHAPE, t) * gamma(1.0 - SHAPE), 0.0)
    return Each(
        (room * prob - rest) / SHAPE - y * score, prob - y, prob * t / np.maximum(room, 1e-3)
    )


LOSSES = {"logistic": logit, "probit": probit, "cloglog": cloglog, "gev-canonical": gev}


@dataclass(frozen=True)
class FitProblem(Problem):
    """A penalised regression; an answer holds `coef`: slopes, then the intercept."""

    loss: str = "logistic"  # as RareClassifier names it
    penalty: str = "ridge"
    ridge: float = 1.0
    limit: float | None = LIMIT

    def start(self, y: Array, columns: int) -> Array:
        """Return the constant prediction near the prevalence, found by bisection."""
        low, high = -20.0, 20.0
        one = np.array([1.0])
        for _ in range(60):
            middle = 0.5 * (low + high)
            prob = float(self._prob(np.array([middle]), one)[0])
            low, high = (middle, high) if prob < y.mean() else (low, middle)
        return np.append(np.zeros(columns), low)

    def _prob(self, score: Array, one: Array) -> Array:
        if self.loss in ("logistic", "gev-canonical"):
            return np.asarray(LOSSES[self.loss](one, score).slope + 1.0)
        return np.asarray(np.exp(-LOSSES[self.loss](one, score).value))

    def at(self, X: Array, y: Array, coef: Array) -> tuple[float, Array, Array]:
        """Return objective, gradient and Hessian of all rows, whole arrays at a time."""
        each = LOSSES[self.loss](y, X @ coef[:-1] + coef[-1])
        design = np.column_stack([X, np.ones(len(X))])
        scaled = design * np.sqrt(each.curvature)[:, None]
        return float(each.value.sum()), each.slope @ design, scaled.T @ scaled

    def penalised(self, coef: Array) -> tuple[float, Array, Array]:
        """Return what the ridge adds to the three; the intercept is free."""
        weight = np.append(np.full(len(coef) - 1, self.ridge), 0.0)
        return 0.5 * float(weight @ coef**2), weight * coef, np.diag(weight)

    def judge(self, answer: Answer, data: Data) -> tuple[float, float | None]:
        """Return penalised loss and largest entry of its gradient, both per row."""
        value, gradient, _, rows = self._total(answer["coef"], data)
        return value / rows, float(np.abs(gradient).max()) / rows

    def reach(self, coef: Array, data: Data) -> float:
        """Return how far coefficients at LIMIT may lie apart, per largest coefficient.

        Two answers, each |gradient|_2 / (least curvature) from the optimum.
        """
        _, _, hessian, rows = self._total(coef, data)
        least = float(np.linalg.eigvalsh(hessian / rows)[0])
        return 2.0 * LIMIT * np.sqrt(len(coef)) / least / float(np.abs(coef).max())

    def _total(self, coef: Array, data: Data) -> tuple[float, Array, Array, int]:
        X, y = data.mapped()
        value, gradient, hessian = self.penalised(coef)
        for part in _parts(len(y)):
            more = self.at(np.asarray(X[part]), y[part], coef)
            value, gradient, hessian = value + more[0], gradient + more[1], hessian + more[2]
        return value, gradient, hessian, len(y)


@dataclass(frozen=True)
class LassoProblem(FitProblem):
    """A regression with ridge * sum_j |coef_j| for a penalty; see FitProblem.

    The certificate is the largest violation of the conditions of a minimum.
    """

    penalty: str = "lasso"

    def penalised(self, coef: Array) -> tuple[float, Array, Array]:
        """Return what the absolute values add: no curvature, and no gradient of those at 0."""
        slopes = np.append(coef[:-1], 0.0)
        k = len(coef)
        return (
            self.ridge * float(np.abs(slopes).sum()),
            self.ridge * np.sign(slopes),
            np.zeros((k, k)),
        )

    def judge(self, answer: Answer, data: Data) -> tuple[float, float | None]:
        """Return penalised loss and largest violation, both per row."""
        coef = answer["coef"]
        value, gradient, _, rows = self._total(coef, data)
        allowed = np.where(np.append(coef[:-1], 1.0) == 0.0, self.ridge, 0.0)
        return value / rows, float(np.maximum(np.abs(gradient) - allowed, 0.0).max()) / rows


def _parts(rows: int) -> Iterator[slice]:
    return (slice(first, first + ROWS_AT_ONCE) for first in range(0, rows, ROWS_AT_ONCE))


def _fit(
    name: str, title: str, rows: int, columns: int, loss: str, ridge: float, file: bool = False
) -> FitProblem:
    return FitProblem(
        name,
        title,
        rows,
        columns,
        draw_logistic,
        None,
        tolerance=1e-6,  # no more than certificates at LIMIT promise: see FitProblem.reach
        in_file=file,
        opens=file,
        loss=loss,
        ridge=ridge,
    )


@dataclass(frozen=True)
class GridProblem(Problem):
    """A choice among settings; an answer holds `scores` of shape (shapes, ridges), least is best.

    Held-out scores have standard errors of a percent and more, so that settings are told apart by
    far more than the tolerance.
    """

    regret: float = 1e-5  # by which the choice may miss the reference's best, relative

    def same(self, answer: Answer, reference: Answer) -> bool:
        """Say whether the scores agree, and the choice is as good by the reference's scores."""
        if not super().same(answer, reference):
            return False
        wanted = reference["scores"]
        chosen = wanted.ravel()[int(np.argmin(answer["scores"]))]
        return bool(chosen <= wanted.min() * (1.0 + self.regret))


def best_score(answer: Answer, rows: int) -> float:
    """Return the least held-out Brier score of a grid."""
    return float(answer["scores"].min())


LOGIT = "Logistic regression, ridge 1, 4 % positives"
FREE = "no penalty, 4 % positives"
FITS: tuple[Problem, ...] = (
    _fit("fit-logit", LOGIT, 100_000, 20, "logistic", 1.0),
    _fit("fit-logit-wide", LOGIT, 100_000, 100, "logistic", 1.0),
    _fit("fit-logit-long", LOGIT, 1_000_000, 20, "logistic", 1.0),
    _fit("fit-logit-free", f"Logistic regression, {FREE}", 100_000, 20, "logistic", 0.0),
    _fit("fit-probit", f"Probit regression, {FREE}", 100_000, 20, "probit", 0.0),
    _fit("fit-probit-wide", f"Probit regression, {FREE}", 100_000, 100, "probit", 0.0),
    _fit("fit-cloglog", f"Complementary log-log regression, {FREE}", 100_000, 20, "cloglog", 0.0),
    _fit(
        "fit-cloglog-wide", f"Complementary log-log regression, {FREE}", 100_000, 100, "cloglog", 0
    ),
    _fit(
        "fit-gev",
        f"GEV-canonical regression, shape {SHAPE}, ridge 1",
        100_000,
        20,
        "gev-canonical",
        1.0,
    ),
)
LASSO = LassoProblem(
    "lasso-logit",
    "Logistic regression, lasso of strength 100, 4 % positives",
    100_000,
    100,
    draw_logistic,
    None,
    tolerance=1e-6,
    in_file=False,
    ridge=100.0,
)
GRID = GridProblem(
    "grid-27x7",
    "Choice among 27 shapes and 7 ridges by Brier score on 30 % of the rows, and the last fit",
    100_000,
    20,
    draw_logistic,
    best_score,
    tolerance=1e-4,
    in_file=False,
)
GROW: tuple[Problem, ...] = tuple(
    _fit(
        f"grow-{word}",
        "Logistic regression of a Parquet file, ridge 1",
        rows,
        10,
        "logistic",
        1.0,
        file=True,
    )
    for word, rows in (("100k", 10**5), ("1m", 10**6), ("3m", 3 * 10**6), ("10m", 10**7))
)
