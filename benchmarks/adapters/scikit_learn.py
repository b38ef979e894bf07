"""scikit-learn: GaussianNB. Its logistic pass has no public name, so it takes no part in that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.adapters.side import Side
from benchmarks.problem import Answer, Array, Data, Problem

NAME = "scikit-learn"
GROUP = "rival-scikit-learn"
PACKAGES = ("sklearn", "numpy")
SIDES = (Side("scikit-learn", ("naive-bayes",)),)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Load the arrays and yield the fit."""
    from sklearn.naive_bayes import GaussianNB

    X, y = data.arrays()

    def run(X: Array, y: Array) -> Answer:
        model = GaussianNB(var_smoothing=0.0).fit(X, y)
        return {"prior": model.class_prior_, "mean": model.theta_, "variance": model.var_}

    run(X[:4096], y[:4096])
    yield lambda: run(X, y)
