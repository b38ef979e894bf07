"""NumPy on scores: one plain pass, in memory and from the file; and EM as textbooks write it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow.parquet as pq
from scipy.special import expit

from benchmarks.adapters.side import Side
from benchmarks.problem import Answer, Array, Data, Problem
from benchmarks.scores import CERTIFICATE, PassProblem, ScoreProblem, start_of, surprise

NAME = "numpy"
GROUP = None
PACKAGES = ("numpy", "scipy", "pyarrow")
SIDES = (
    Side("numpy", ("scores-pass",)),
    Side("numpy, file", ("scores-pass",)),
    Side("numpy, EM", ("scores-em", "scores-unlabelled")),
)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Load the arrays unless the file is part of the task, and yield the call."""
    assert isinstance(problem, ScoreProblem)
    if isinstance(problem, PassProblem):
        if "file" in side.name:
            yield lambda: sums(_column(data))
            return
        score = data.arrays()[0][:, 0]
        yield lambda: sums(score)
        return
    X, y = data.arrays()
    score = X[:, 0]
    slopes = surprise(problem.truth, score, y)[1]
    units = np.linalg.inv(slopes @ slopes.T)  # outside the clock: what tells EM when to stop
    yield lambda: _em(score, y, units)


def _column(data: Data) -> Array:
    column: Array = pq.read_table(data.parquet, columns=["x0"]).column("x0").to_numpy()
    return column


def sums(score: Array) -> Answer:
    """Return sum and sum of squares."""
    return {"sums": np.array([score.sum(), score @ score])}


def _em(score: Array, label: Array, units: Array) -> Answer:
    """EM with labels held fixed (002 eq 6 to 12), stopped at CERTIFICATE.

    The gradient follows from the sums that a step needs anyway, so that the stop costs nothing.
    """
    params = start_of(score, label)
    open_ = np.isnan(label)
    s, event = score[open_], score[label == 1.0]
    n, first, second = len(score), score.sum(), score @ score
    passes = 0
    while True:
        odds, mean0, log_spread0, mean1, log_spread1 = params
        z0 = (s - mean0) * np.exp(-log_spread0)
        z1 = (s - mean1) * np.exp(-log_spread1)
        posterior = expit(odds + 0.5 * (z0 * z0 - z1 * z1) + log_spread0 - log_spread1)
        passes += 1
        n1 = posterior.sum() + len(event)
        weighted = posterior * s
        sum1 = weighted.sum() + event.sum()
        square1 = weighted @ s + event @ event
        n0, sum0, square0 = n - n1, first - sum1, second - square1
        slope = [n1 - n * expit(odds)]
        for count, total, square, mean, log_spread in (
            (n0, sum0, square0, mean0, log_spread0),
            (n1, sum1, square1, mean1, log_spread1),
        ):
            precision = np.exp(-2 * log_spread)
            slope.append((total - count * mean) * precision)
            slope.append((square - 2 * mean * total + count * mean**2) * precision - count)
        if np.array(slope) @ units @ np.array(slope) <= CERTIFICATE**2:
            return {"params": params, "passes": np.array([passes])}
        mean0, mean1 = sum0 / n0, sum1 / n1
        params = np.array(
            [
                np.log(n1 / n0),
                mean0,
                0.5 * np.log(square0 / n0 - mean0**2),
                mean1,
                0.5 * np.log(square1 / n1 - mean1**2),
            ]
        )
