"""Decisions and the Gaussian models behind them: what do they cost beside plain NumPy and rivals?

    objective of decide-...  mean over rows of sum over classes of prob * costs[action]    (003 0.2)
    objective of bayes-...   mean of -log p(own class)                                     (003 0.4)

An answer of decide-... is the action of every row by name, and two answers are the same when no row
differs. Sides add up in different orders (scarce class by class, BLAS as it likes), so where two
expected costs are equal but for the last bits they may choose differently; the probabilities are
drawn from a continuous law and come that near a threshold in less than one row of 1e12, so none may
differ here. An answer of bayes-... is the table of probabilities.

Assumes rows without holes: rivals of the Gaussian models refuse them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks.problem import Answer, Array, Data, Problem

PIECE = 2**18  # rows judged at a time
ASK = 3.0  # cost of a person's look
FALSE_ALARM = 5.0
MISS = 400.0
PAIR = ("legit", "theft")
PAIR_ACTIONS = ("legit", "theft", "ask")
BINARY = ((0.0, MISS), (FALSE_ALARM, 0.0), (ASK, ASK))


@dataclass(frozen=True)
class DecideProblem(Problem):
    """The cheapest of three actions; X holds probabilities, and the amount at stake if `by_row`."""

    classes: tuple[str, ...] = PAIR
    actions: tuple[str, ...] = PAIR_ACTIONS
    costs: tuple[tuple[float, ...], ...] = BINARY
    by_row: bool = False  # whether the cost of a miss is the second column of X

    def inputs(self, X: Array) -> tuple[Array, Array | None]:
        """Return probabilities as users hold them, (n,) or (n, classes), and the amounts."""
        if self.by_row:
            return np.ascontiguousarray(X[:, 0]), np.ascontiguousarray(X[:, 1])
        return (np.ascontiguousarray(X[:, 0]) if len(self.classes) == 2 else X), None

    def judge(self, answer: Answer, data: Data) -> tuple[float, float | None]:
        """Return the mean expected cost of the actions; there is no certificate."""
        X = data.mapped()[0]
        named, total = answer["actions"], 0.0
        for first in range(0, len(X), PIECE):
            prob, amount = self.inputs(X[first : first + PIECE])
            table = np.column_stack([1.0 - prob, prob]) if prob.ndim == 1 else prob
            part = named[first : first + PIECE]
            for action, row in zip(self.actions, self.costs, strict=True):
                entries: list[Any] = list(row)
                if action == self.actions[0] and amount is not None:
                    entries[1] = amount
                cost = sum(table[:, k] * entry for k, entry in enumerate(entries))
                total += float(np.sum(cost, where=part == action))
        return total / len(X), None

    def difference(self, answer: Answer, reference: Answer) -> float:
        """Return the share of rows that got another action."""
        one, other = answer["actions"], reference["actions"]
        return float(np.mean(one != other)) if one.shape == other.shape else float("inf")


@dataclass(frozen=True)
class BayesProblem(Problem):
    """Fit and predict_proba of a Gaussian model; an answer holds `prob`, shape (n, 2)."""

    covariance: str = "diag"

    def judge(self, answer: Answer, data: Data) -> tuple[float, float | None]:
        """Return the log loss on the rows learned from; there is no certificate."""
        own = answer["prob"][np.arange(len(answer["prob"])), data.mapped()[1].astype(np.intp)]
        return -float(np.mean(np.log(own))), None

    def difference(self, answer: Answer, reference: Answer) -> float:
        """Return the largest difference of a probability."""
        one, other = answer["prob"], reference["prob"]
        if one.shape != other.shape or not np.isfinite(one).all():
            return float("inf")
        return float(np.abs(one - other).max())


def draw_three(rows: int, columns: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw probabilities of three classes, the last two rare, and a class of each row."""
    odds = np.exp(2.0 * rng.standard_normal((rows, columns)) - np.array([0.0, 2.5, 4.0]))
    prob = odds / odds.sum(axis=1, keepdims=True)
    y = (rng.random(rows)[:, None] > prob.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return prob, y.astype(np.float64)


def draw_pair(rows: int, columns: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw probabilities of a rare class, where asked an amount beside, and a class of each row."""
    X = np.empty((rows, columns))
    X[:, 0] = expit(2.0 * rng.standard_normal(rows) - 4.0)
    if columns > 1:
        X[:, 1] = np.exp(1.2 * rng.standard_normal(rows) + 4.0)
    return X, (rng.random(rows) < X[:, 0]).astype(np.float64)


def _draw_gaussians(
    own_spread: bool, correlated: bool
) -> Callable[[int, int, np.random.Generator], tuple[Array, Array]]:
    def draw(rows: int, columns: int, rng: np.random.Generator) -> tuple[Array, Array]:
        y = (rng.random(rows) < 0.01).astype(np.float64)
        X = rng.standard_normal((rows, columns))
        if correlated:
            X[:, 1:] += 0.6 * X[:, :-1]
        rare = y == 1.0
        if own_spread:
            X[rare] *= np.linspace(0.7, 1.4, columns)
        X[rare] += np.linspace(-0.5, 0.5, columns)
        X += np.linspace(0.0, 5.0, columns)
        return X, y

    return draw


def _decide(name: str, title: str, columns: int, draw: Any, **more: Any) -> Problem:
    settings = {"tolerance": 0.0, "in_file": False} | more
    return DecideProblem(name, title, 10**7, columns, draw, None, **settings)


def _bayes(kind: str, title: str, draw: Any) -> Problem:
    title = f"Fit and probabilities of {title}, two classes, 1 % positives"
    return BayesProblem(
        f"bayes-{kind}",
        f"{title}; the objective is the log loss",
        10**6,
        20,
        draw,
        None,
        tolerance=1e-9,
        in_file=False,
        covariance=kind,
    )


NAMES_OUT = "names out; the objective is the mean expected cost"
DECISIONS: tuple[Problem, ...] = (
    _decide(
        "decide-1e7",
        f"Cheapest of three actions from probabilities of three classes, {NAMES_OUT}",
        3,
        draw_three,
        classes=("benign", "leak", "theft"),
        actions=("pass", "call", "block"),
        costs=((0.0, 40.0, 300.0), (2.0, 5.0, 60.0), (20.0, 12.0, 0.0)),
    ),
    _decide(
        "decide-binary-1e7",
        f"False alarm, miss or ask from one probability per row, {NAMES_OUT}",
        1,
        draw_pair,
    ),
    _decide(
        "decide-rows-1e7",
        f"The same where a miss costs an amount of the row's own, {NAMES_OUT}",
        2,
        draw_pair,
        by_row=True,
    ),
    _bayes("diag", "Gaussian naive Bayes", _draw_gaussians(True, False)),
    _bayes("full", "a covariance matrix per class (QDA)", _draw_gaussians(True, True)),
    _bayes("shared", "one covariance matrix for all (LDA)", _draw_gaussians(False, True)),
)


def _in_plain(problem: str) -> Callable[[Any], float]:
    def value(record: Any) -> float:
        pair = record("scarce", problem), record("numpy", problem)
        if not all(one["same"] for one in pair):
            return float("nan")
        return float(pair[0]["cpu_seconds"] / pair[1]["cpu_seconds"])

    return value


DECISION_GOALS: tuple[tuple[str, str, float, bool, Callable[[Any], float]], ...] = tuple(
    (f"{name}: decide in plain NumPy, CPU", "{:.2f}", 1.5, True, _in_plain(name))
    for name in ("decide-1e7", "decide-binary-1e7", "decide-rows-1e7")
)
