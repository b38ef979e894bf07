"""scikit-learn's GaussianMixture: EM without labels, from the start that the plain EM has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks.adapters.side import Side
from benchmarks.problem import Answer, Array, Data, Problem
from benchmarks.scores import start_of

NAME = "scikit-learn"
GROUP = "rival-scikit-learn"
PACKAGES = ("sklearn", "numpy")
SIDES = (Side("scikit-learn, GaussianMixture", ("scores-unlabelled",)),)
TOLERANCE = 2e-11  # gain per row and step: the largest of 1, 2 and 5 times a power of ten that
# stops within 0.02 standard errors of the optimum at a million rows


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Load the scores and yield the fit."""
    from sklearn.mixture import GaussianMixture

    X, y = data.arrays()
    odds, mean0, log_spread0, mean1, log_spread1 = start_of(X[:, 0], y)
    share = 1.0 / (1.0 + np.exp(-odds))

    def run(X: Array, tolerance: float) -> Answer:
        model = GaussianMixture(
            2,
            covariance_type="spherical",
            tol=tolerance,
            reg_covar=0.0,
            max_iter=100_000,
            weights_init=[1.0 - share, share],
            means_init=[[mean0], [mean1]],
            precisions_init=np.exp([-2.0 * log_spread0, -2.0 * log_spread1]),
        ).fit(X)
        rest, part = model.weights_
        spread = 0.5 * np.log(model.covariances_)
        (low,), (high,) = model.means_
        params = np.array([np.log(part / rest), low, spread[0], high, spread[1]])
        return {"params": params, "passes": np.array([model.n_iter_])}

    run(X[:4096], 1e-3)
    yield lambda: run(X, TOLERANCE)
