"""scikit-learn's Gaussian models: GaussianNB, QDA, and LDA by both solvers that predict alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.adapters.side import Side
from benchmarks.problem import Answer, Array, Data, Problem

NAME = "scikit-learn"
GROUP = "rival-scikit-learn"
PACKAGES = ("sklearn", "numpy")
SIDES = (
    Side("scikit-learn, GaussianNB", ("bayes-diag",)),
    Side("scikit-learn, QDA", ("bayes-full",)),
    Side("scikit-learn, LDA svd", ("bayes-shared",)),
    Side("scikit-learn, LDA lsqr", ("bayes-shared",)),
)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Load the arrays and yield fit with predict_proba, all settings as by default."""
    from sklearn import discriminant_analysis as analyses
    from sklearn.naive_bayes import GaussianNB

    models = {
        "scikit-learn, GaussianNB": GaussianNB(),
        "scikit-learn, QDA": analyses.QuadraticDiscriminantAnalysis(),
        "scikit-learn, LDA svd": analyses.LinearDiscriminantAnalysis(),
        "scikit-learn, LDA lsqr": analyses.LinearDiscriminantAnalysis(solver="lsqr"),
    }
    model = models[side.name]
    X, y = data.arrays()

    def run(X: Array, y: Array) -> Answer:
        return {"prob": model.fit(X, y).predict_proba(X)}

    run(X[:8192], y[:8192])
    yield lambda: run(X, y)
