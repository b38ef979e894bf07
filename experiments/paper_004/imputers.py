"""What would the missing cells have been? The three imputations that 004 compares with.

    Mean (all)       mean of the seen cells of the column, over all rows
    Mean (positive)  the same over the labelled rows alone
    EM               E[missing cells | seen cells] under a normal law fitted by EM
                     M step: covariance = S / n + ridge * D, D the seen variances on a diagonal

The ridge is the maximum of log-likelihood - n/2 * ridge * trace(inv(covariance) D), so this sum can
only grow from step to step. Assumes numbers; a column without seen cells becomes 0 and one without
spread its one value. 004 took Schneider's regularised EM, whose ridge is chosen per row by
generalised cross-validation: DEVIATION, one small ridge for all. Tells nothing about uncertainty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

Array = NDArray[np.float64]

CELLS = 4_000_000  # of the matrices, one per pattern, that are held at a time
LOG_2_PI = float(np.log(2 * np.pi))


class MeanOfAll(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fill missing cells with the mean of the column's seen cells.

    Examples
    --------
    >>> MeanOfAll().fit_transform([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
    array([[1., 0.],
           [3., 0.],
           [2., 0.]])
    """

    def fit(self, X: Any, y: Any = None) -> MeanOfAll:
        """Take the means; `y` is not looked at."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self.mean_ = _means(X)
        return self

    def transform(self, X: Any) -> Array:
        """Return a copy of X without missing cells."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        return np.where(np.isnan(X), self.mean_, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class MeanOfPositives(MeanOfAll):
    """Fill missing cells with the mean of the column's seen cells among labelled rows.

    A column that no labelled row has is filled with the mean over all rows.

    Examples
    --------
    >>> X = [[1.0, np.nan], [3.0, 5.0], [np.nan, np.nan]]
    >>> MeanOfPositives().fit(X, [1.0, np.nan, np.nan]).transform(X)
    array([[1., 5.],
           [3., 5.],
           [1., 5.]])
    """

    def fit(self, X: Any, y: Any = None) -> MeanOfPositives:
        """Take the means over the rows with y = 1, each as often as it is given."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        labelled = X[np.asarray(y, dtype=np.float64) == 1.0]
        known = ~np.isnan(labelled).all(axis=0)
        self.mean_ = np.where(known, _means(labelled), _means(X))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class GaussianEM(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fill missing cells with their conditional mean under a normal law fitted by EM.

    Parameters
    ----------
    ridge : float
        Added to the covariance at every step, as a share of the columns' seen variances.
    tol : float
        Stop when a step raises the objective by less, per row.
    max_iter : int
        Stop after so many steps.

    Attributes
    ----------
    mean_ : ndarray of shape (k,)
    covariance_ : ndarray of shape (k, k)
        Zero in rows and columns of variables without spread.
    objective_ : list of float
        Log-likelihood of the seen cells less the ridge's penalty, at the start and after each
        step, with columns divided by their spread.
    n_iter_ : int
        Steps made; 1 where there was nothing to step for.

    Notes
    -----
    **Assumes** a normal law and cells missing at random. Rows that miss the same cells share one
    matrix, and the matrices of many patterns are worked on at once.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=200)
    >>> X = np.column_stack([a, a + 0.1 * rng.normal(size=200)])
    >>> X[0] = [2.0, np.nan]
    >>> GaussianEM().fit_transform(X)[0].round(1)
    array([2., 2.])
    """

    def __init__(self, *, ridge: float = 1e-3, tol: float = 1e-5, max_iter: int = 500) -> None:
        self.ridge = ridge
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None) -> GaussianEM:
        """Fit the law to the seen cells; `y` is not looked at."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        mean, spread = _means(X), _spreads(X)
        self.spread_ = spread
        self.objective_: list[float] = []
        self._set_law(mean, np.eye(int(np.count_nonzero(spread))))
        if self.covariance_.any():
            self._climb(_Patterns.of(self._standard(X)))
        self.n_iter_ = max(1, len(self.objective_) - 1)
        return self

    def transform(self, X: Any) -> Array:
        """Return a copy of X whose missing cells are their conditional means."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        varies = self.spread_ > 0
        filled = np.where(np.isnan(X), self.mean_, X)
        if varies.any():
            patterns = _Patterns.of(self._standard(X))
            step = _expect(patterns, np.zeros(varies.sum()), self._law())
            made = step.filled * self.spread_[varies] + self.mean_[varies]
            filled[:, varies] = np.where(np.isnan(X[:, varies]), made, X[:, varies])
        return filled

    def _climb(self, patterns: _Patterns) -> None:
        """Step until the objective hardly grows. Columns have seen mean 0 and variance 1 here."""
        n, k = patterns.Z.shape
        origin, unit = self.mean_, self.spread_
        varies = unit > 0
        mean, covariance = np.zeros(k), np.eye(k)
        step = _expect(patterns, mean, covariance)
        self.objective_.append(self._objective(step.log_likelihood, covariance, n))
        for _ in range(self.max_iter):
            mean = step.filled.mean(axis=0)
            apart = step.filled - mean
            covariance = (apart.T @ apart + step.left) / n + self.ridge * np.eye(k)
            step = _expect(patterns, mean, covariance)
            self.objective_.append(self._objective(step.log_likelihood, covariance, n))
            if self.objective_[-1] - self.objective_[-2] < self.tol * n:
                break
        shifted = origin.copy()
        shifted[varies] += mean * unit[varies]
        self._set_law(shifted, covariance)

    def _objective(self, log_likelihood: float, covariance: Array, n: int) -> float:
        penalty = 0.5 * n * self.ridge * np.trace(np.linalg.inv(covariance)) if self.ridge else 0.0
        return float(log_likelihood - penalty)

    def _set_law(self, mean: Array, standard: Array) -> None:
        varies = np.flatnonzero(self.spread_ > 0)
        unit = self.spread_[varies]
        self.mean_ = mean
        self.covariance_ = np.zeros((mean.size, mean.size))
        self.covariance_[np.ix_(varies, varies)] = standard * np.outer(unit, unit)

    def _law(self) -> Array:
        varies = np.flatnonzero(self.spread_ > 0)
        unit = self.spread_[varies]
        return self.covariance_[np.ix_(varies, varies)] / np.outer(unit, unit)

    def _standard(self, X: Array) -> Array:
        varies = self.spread_ > 0
        return (X[:, varies] - self.mean_[varies]) / self.spread_[varies]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class _Patterns(NamedTuple):
    """Rows, 0 where missing, and which of the distinct patterns of seen cells each has."""

    Z: Array
    seen: NDArray[np.bool_]  # one row per pattern
    which: NDArray[np.intp]
    counts: NDArray[np.intp]

    @classmethod
    def of(cls, Z: Array) -> _Patterns:
        seen, which, counts = np.unique(
            ~np.isnan(Z), axis=0, return_inverse=True, return_counts=True
        )
        return cls(np.where(np.isnan(Z), 0.0, Z), seen, which.ravel(), counts)


class _Expected(NamedTuple):
    """Rows with conditional means, summed conditional covariances, log-likelihood of seen cells."""

    filled: Array
    left: Array
    log_likelihood: float


def _expect(patterns: _Patterns, mean: Array, covariance: Array) -> _Expected:
    """Do the E step for all patterns, so many at a time as memory allows."""
    n, k = patterns.Z.shape
    filled, left, log_likelihood = np.empty((n, k)), np.zeros((k, k)), 0.0
    order = np.argsort(patterns.which, kind="stable")
    ends = np.concatenate([[0], np.cumsum(patterns.counts)])
    most = max(1, CELLS // (k * k))
    for low in range(0, len(patterns.seen), most):
        seen = patterns.seen[low : low + most]
        rows = order[ends[low] : ends[min(low + most, len(patterns.seen))]]
        which = patterns.which[rows] - low
        pairs = seen[:, :, None] & seen[:, None, :]
        inner = np.where(pairs, covariance, np.eye(k))  # the seen block, identity elsewhere
        inverse = np.where(pairs, np.linalg.inv(inner), 0.0)
        regress = covariance @ inverse  # of every cell on the seen ones
        apart = np.where(seen[which], patterns.Z[rows] - mean, 0.0)
        missing = ~seen
        rest = covariance - regress @ covariance
        rest *= missing[:, :, None] & missing[:, None, :]
        counts = np.bincount(which, minlength=len(seen))
        left += np.tensordot(counts, rest, axes=1)
        for start in range(0, len(rows), most):
            part = slice(start, start + most)
            made = mean + np.einsum("nij,nj->ni", regress[which[part]], apart[part])
            held = seen[which[part]]
            filled[rows[part]] = np.where(held, patterns.Z[rows[part]], made)
            scaled = np.einsum("nij,nj->ni", inverse[which[part]], apart[part])
            log_likelihood -= 0.5 * float(np.sum(scaled * apart[part]))
        log_determinant = np.linalg.slogdet(inner)[1]
        log_likelihood -= 0.5 * float(counts @ (log_determinant + LOG_2_PI * seen.sum(axis=1)))
    return _Expected(filled, left, log_likelihood)


def _means(X: Array) -> Array:
    """Return the mean of each column's seen cells, 0 where there is none."""
    seen = ~np.isnan(X)
    return np.asarray(np.where(seen, X, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))


def _spreads(X: Array) -> Array:
    """Return the standard deviation of each column's seen cells, 0 where all are equal."""
    seen = ~np.isnan(X)
    apart = np.where(seen, X - _means(X), 0.0)
    spread = np.sqrt((apart**2).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))
    size = np.abs(np.where(seen, X, 0.0)).max(axis=0, initial=0.0)
    return np.where(spread > 1e-12 * size, spread, 0.0)
