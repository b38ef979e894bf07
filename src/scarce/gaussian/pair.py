"""Two Gaussian classes with missing values in a tenth of a second: a member for a stack.

    log p(seen | 1) - log p(seen | 0) + log odds of the classes, clipped at +-15
    mean_k = (sum of class k + 2 mu) / (n_k + 2)
    S = (sum_k W_k + nu I) / (n + nu),                nu = max(5, d / 2)      five sweeps of EM
    C_k = (W_k + 3 d S) / (n_k + 3 d)

in standard units, with W_k the expected scatter of class k around its mean. The classes share most
of their covariance: each has only as much of its own as rows in excess of 3 d support.

Weights count rows. Units, shifts and constant columns change nothing. Assumes values missing at
random given those seen and the class. Is not calibrated: a stack weighs its log odds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from scarce.engine.block import Array, Block
from scarce.errors import inconsistent_model, refuse_array
from scarce.gaussian.densities import distances_by_precision
from scarce.missing.front import (
    NARROWEST,
    Parameters,
    column_moments,
    column_ranges,
    expectations,
    precision_of,
    scatter,
    standardised,
)
from scarce.missing.patterns import Mask

SWEEPS = 5
PULL = 2.0  # rows of the common mean in each class mean
OWN_PULL = 3.0  # rows per column of the common covariance in that of a class
CLIP = 15.0


class GaussianPair(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Two Gaussian classes, as plain arrays: predicts only.

    Attributes
    ----------
    classes_, n_features_in_
    centre_, scale_ : ndarray of shape (n_features_in_,)
        Of the standard units in which the classes are kept.
    used_ : ndarray of bool, shape (n_features_in_,)
        Columns with at least two different values.
    mean_ : ndarray of shape (2, n_features_in_)
    covariance_ : ndarray of shape (2, n_features_in_, n_features_in_)
    log_odds_ : float
        Of the classes, for a row in which nothing is seen.

    **Assumes** values missing at random given those seen and the class.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.2, np.nan], [1.0, 0.5], [3.0, 4.0], [np.nan, 5.0], [4.0, 4.0]])
    >>> model = fit_pair(X, np.array([0, 0, 0, 1, 1, 1]))
    >>> model.predict_proba(np.array([[0.1, np.nan], [np.nan, np.nan], [3.5, 4.5]]))[:, 1].round(2)
    array([0.11, 0.5 , 0.98])
    """

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the log odds of the second class, from -15 to 15, shape (n,)."""
        X = np.asarray(X, dtype=np.float64)
        seen = ~np.isnan(X) & self.used_
        standard = (self.centre_, self.scale_, self.used_, np.zeros(X.shape[1]))
        z = standardised(X, Parameters(*standard, self.covariance_[0], self.covariance_[0]))
        parts = []
        for mean, covariance in zip(self.mean_, self.covariance_, strict=True):
            gap = np.where(seen, z - mean, 0.0)
            precision = precision_of(covariance, self.used_)
            distance, log_det = distances_by_precision(gap, seen, precision, self.used_)
            parts.append(distance + log_det)
        return np.asarray(np.clip(self.log_odds_ + 0.5 * (parts[0] - parts[1]), -CLIP, CLIP))

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return both classes' probabilities, shape (n, 2)."""
        score = self.decision_function(X)
        return np.column_stack([expit(-score), expit(score)])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the more probable class of each row."""
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(np.intp)])

    def _check_loaded(self) -> None:
        if not hasattr(self, "mean_"):
            return
        if np.shape(self.classes_) != (2,):
            raise inconsistent_model("classes_", "must be two")
        d = self.n_features_in_
        for name in ("centre_", "scale_"):
            refuse_array(name, getattr(self, name), (d,))
        refuse_array("used_", self.used_, (d,), "b")
        refuse_array("mean_", self.mean_, (2, d))
        refuse_array("covariance_", self.covariance_, (2, d, d))
        for name in ("centre_", "scale_", "mean_", "covariance_", "log_odds_"):
            if not np.isfinite(getattr(self, name)).all():
                raise inconsistent_model(name, "must be finite")
        if not (self.scale_ > 0).all():
            raise inconsistent_model("scale_", "must be above 0")
        used = self.covariance_[:, self.used_][:, :, self.used_]
        if not (
            np.allclose(used, used.transpose(0, 2, 1)) and (np.linalg.eigvalsh(used) > 0).all()
        ):
            raise inconsistent_model("covariance_", "must be symmetric and positive definite")


def fit_pair(X: Array, y: NDArray[Any], weight: Array | None = None) -> GaussianPair:
    """Fit two Gaussian classes to rows with missing values.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        NaN where a value is missing.
    y : ndarray of shape (n,)
        0 and 1; each occurs in a row of weight above 0.
    weight : ndarray of shape (n,), optional

    Returns
    -------
    GaussianPair

    Notes
    -----
    Six passes: n d^2 each, and m^3 for each pattern that misses m values. With 30 % missing at
    random, .04 s for 1,000 rows of 20 columns and .02 s for predicting them.
    """
    X = np.asarray(X, dtype=np.float64)
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    code = np.asarray(y).astype(np.intp)
    centre, scale, used = _standard(X, weight)
    d = X.shape[1]
    at = Parameters(centre, scale, used, np.zeros(d), np.eye(d), np.eye(d))
    missing = np.isnan(X)
    seen = ~missing & used
    own = [np.flatnonzero((code == k) & (weight > 0)) for k in (0, 1)]
    rows = [
        _Rows(standardised(X[one], at), missing[one], weight[one] * seen[one].any(axis=1))
        for one in own
    ]
    mean = np.array([_first_mean(one, used) for one in rows])
    nu, common, each = max(5.0, d / 2), np.eye(d), np.zeros((2, d, d))
    n = np.array([one.weight.sum() for one in rows])
    for sweep in range(SWEEPS + 1):
        at = at._replace(covariance=common, precision=precision_of(common, used))
        found = [_expected(one, mean[k], at) for k, one in enumerate(rows)]
        first = np.array([one[0] for one in found])
        second = np.array([one[1] for one in found])
        total = n[:, None] * mean + first
        middle = total.sum(axis=0) / max(float(n.sum()), 1.0)
        new = (total + PULL * middle) / (n + PULL)[:, None]
        step = new - mean
        cross = first[:, :, None] * step[:, None, :]
        shift = n[:, None, None] * step[:, :, None] * step[:, None, :]
        each = second - cross - cross.transpose(0, 2, 1) + shift
        mean = new
        if sweep < SWEEPS:
            common = (each.sum(axis=0) + nu * np.eye(d)) / (n.sum() + nu)
    covariance = (each + OWN_PULL * d * common) / (n + OWN_PULL * d)[:, None, None]
    sizes = [weight[one].sum() for one in own]
    model = GaussianPair()
    model.classes_, model.n_features_in_ = np.array([0, 1]), d
    model.centre_, model.scale_, model.used_ = centre, scale, used
    model.mean_, model.covariance_ = np.where(used, mean, 0.0), covariance
    model.log_odds_ = float(np.log(sizes[1]) - np.log(sizes[0]))
    return model


class _Rows(NamedTuple):
    """The rows of one class: in standard units, 0 where nothing was seen."""

    z: Array
    missing: Mask
    weight: Array  # 0 where nothing was seen


def _standard(X: Array, weight: Array) -> tuple[Array, Array, Mask]:
    """Return mean and standard deviation of the values seen, and which columns vary."""
    block = Block(X, weight=weight)
    low, high = column_ranges(block, None)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    half = 0.5 * high - 0.5 * low
    seen = column_moments(block, (low, high))
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = 2.0 * half * np.sqrt(seen.square / seen.weight)
    used = (half > NARROWEST) & (scale > 0)
    return low + 2.0 * half * seen.mean, np.where(used, scale, 1.0), used


def _first_mean(rows: _Rows, used: Mask) -> Array:
    """Return the mean of the values seen, with two rows of 0."""
    held = rows.weight @ (~rows.missing & used)
    return np.asarray(rows.weight @ rows.z / (held + PULL))


def _expected(rows: _Rows, mean: Array, at: Parameters) -> tuple[Array, Array]:
    """Return the expected sums of z - mean, and of their products, given what was seen."""
    missing = rows.missing & at.used
    gap = np.where(missing | ~at.used, 0.0, rows.z - mean)
    second = np.zeros((len(mean), len(mean)))
    for batch, variance, expected in expectations(gap, missing, at):
        gap[batch.rows[:, None], batch.columns[batch.group]] = expected
        mass = np.add.reduceat(rows.weight[batch.rows], batch.ends[:-1])
        scatter(second, batch.columns, variance * mass[:, None, None])
    second += (gap * rows.weight[:, None]).T @ gap
    return rows.weight @ gap, second
