"""The seven methods of 001 section 4, each with its ridge (and shape) chosen without test rows.

    30 % of the training rows judge every setting by Brier score; the best is refitted on all
    training rows                                                        (001 section 4.2)

The paper says nothing about scaling, intercept or refitting. DEVIATION or choice, the same for all
methods: columns are divided by their spread over the training rows, the intercept is free, and the
chosen setting is refitted. Probabilities have no floor, as in the paper. Measures nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.frame import class_folds
from scarce import PriorCorrected, RareClassifier

Array = NDArray[np.float64]

VALIDATION = 0.3
RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
CONSTANT = "constant"


class Predicted(NamedTuple):
    """Probabilities of new rows, and the setting behind them (nan where there is none)."""

    prob: Array
    shape: float
    ridge: float


def predict(method: str, X: Array, y: Array, new: Array, seed: int) -> Predicted:
    """Fit one method on training rows and predict new ones.

    Parameters
    ----------
    method : str
        One of printed.METHODS, or "constant": the training share for every row.
    X, y : ndarray of shape (n, k) and (n,)
        Training rows.
    new : ndarray of shape (m, k)
    seed : int
        Of the validation rows and of under-sampling.

    Examples
    --------
    >>> X = np.arange(20.0)[:, None]
    >>> predict("constant", X, (X[:, 0] > 14).astype(float), X[:1], 0).prob
    array([0.25])
    """
    if method == CONSTANT:
        return Predicted(np.full(len(new), y.mean()), np.nan, np.nan)
    spread = X.std(axis=0)
    spread[spread == 0] = 1.0
    X, new = X / spread, new / spread
    if method in ("undersampled", "weighted"):
        ridge = _best_ridge(method, X, y, seed)
        model = _corrected(method, ridge, X, y, seed)
        return Predicted(model.predict_proba(new)[:, 1], np.nan, ridge)
    tuned = RareClassifier(
        method,
        cv=class_folds(y, VALIDATION, seed),
        ridges=RIDGES,
        standardize=False,
        floor=0.0,
        random_state=seed,
    )
    tuned.fit(X, y)
    return Predicted(tuned.predict_proba(new)[:, 1], float(tuned.shape_), float(tuned.ridge_))


def _corrected(method: str, ridge: float, X: Array, y: Array, seed: int) -> Any:
    """Fit a logistic regression on a changed class mix and take the change back."""
    inner = RareClassifier("logistic", ridge=ridge, standardize=False)
    if method == "undersampled":
        return PriorCorrected(inner, undersample=1.0, random_state=seed).fit(X, y)
    share = float(y.mean())
    weight = np.where(y == 1, 1 / share, 1 / (1 - share))  # 001 section 4: inverse class shares
    return PriorCorrected(inner, prior=share).fit(X, y, sample_weight=weight)


def _best_ridge(method: str, X: Array, y: Array, seed: int) -> float:
    """Judge corrected probabilities on validation rows, which keep the class mix of the world."""
    held = validation_rows(y, seed)
    X_held, y_held, X, y = X[held], y[held], X[~held], y[~held]

    def brier(ridge: float) -> float:
        prob = _corrected(method, ridge, X, y, seed).predict_proba(X_held)[:, 1]
        return float(np.mean((prob - y_held) ** 2))

    return min(RIDGES, key=brier)


def validation_rows(y: Array, seed: int) -> NDArray[np.bool_]:
    """Mark 30 % of each class at random.

    Examples
    --------
    >>> held = validation_rows(np.repeat([0.0, 1.0], [100, 10]), 0)
    >>> held[:100].sum(), held[100:].sum()
    (np.int64(30), np.int64(3))
    """
    rng = np.random.default_rng(seed)
    held = np.zeros(len(y), dtype=bool)
    for label in (0.0, 1.0):
        own = np.flatnonzero(y == label)
        held[rng.permutation(own)[: max(round(VALIDATION * len(own)), 1)]] = True
    return held
