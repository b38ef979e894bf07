"""A ridge logit on a radial kernel: smooth in all columns together, with a few landmarks.

    K(x, l) = exp(-width/d * |x - l|^2),   z = K(x, L) K(L, L)^-1/2,   logit of z, by ridges

Nystroem's method: landmarks L are rows of the fit, half of them events, so that the rare class is
described too. Columns are standardised, and clipped at 3 standard deviations. Two widths are tried.
Costs n m^2 for m = 200 landmarks. Assumes complete numeric columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from scarce.auto.logits import FitRows, RidgePath, Standard
from scarce.engine.block import Array
from scarce.errors import inconsistent_model, refuse_array

LANDMARKS = 200
WIDTHS = (0.2, 0.7)  # in units of 1/columns: rows at random are at a squared distance of 2 columns
RIDGES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
FARTHEST = 3.0  # standard deviations from the mean
SMALLEST = 1e-8  # eigenvalue of K(L, L), in units of the largest, that is not rounding


class KernelLogit(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted logit on a radial kernel: predicts only.

    Attributes
    ----------
    classes_, n_features_in_
    mean_, scale_ : ndarray of shape (d,)
        Of the columns; scale 0 where a column was constant, and then it counts nothing.
    landmarks_ : ndarray of shape (m, d)
        Standardised and clipped.
    width_ : float
        The kernel is exp(-width * squared distance).
    coef_ : ndarray of shape (m,)
    intercept_ : float

    **Assumes** complete numeric columns.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> path = KernelPath((X, (X[:, 0] * X[:, 1] > 0.3) * 1.0, None), X[:9], 0)
    >>> path.extend(14), path.model(13).predict_proba([[1.0, 1.0], [1.0, -1.0]])[:, 1].round()
    (14, array([1., 0.]))
    """

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return both classes' probabilities, shape (n, 2)."""
        X = np.asarray(X, dtype=np.float64)
        score = np.empty(len(X))
        for first in range(0, len(X), 4096):
            part = slice(first, first + 4096)
            kernel = radial(placed(X[part], self.mean_, self.scale_), self.landmarks_, self.width_)
            score[part] = kernel @ self.coef_ + self.intercept_
        return np.column_stack([expit(-score), expit(score)])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the more probable class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _check_loaded(self) -> None:
        if not hasattr(self, "landmarks_"):
            return
        d = self.n_features_in_
        if np.shape(self.classes_) != (2,):
            raise inconsistent_model("classes_", "must be two")
        if np.ndim(self.landmarks_) != 2:
            raise inconsistent_model("landmarks_", "must be rows")
        refuse_array("landmarks_", self.landmarks_, (len(self.landmarks_), d))
        refuse_array("coef_", self.coef_, (len(self.landmarks_),))
        for name in ("mean_", "scale_"):
            refuse_array(name, getattr(self, name), (d,))
        for name in ("mean_", "scale_", "landmarks_", "coef_", "intercept_", "width_"):
            if not np.isfinite(getattr(self, name)).all():
                raise inconsistent_model(name, "must be finite")
        if not (self.scale_ >= 0).all():
            raise inconsistent_model("scale_", "must not be negative")
        if not self.width_ > 0:
            raise inconsistent_model("width_", "must be above 0")


class KernelPath:
    """Logits of two widths at one ridge after another: settings alternate between the widths."""

    at_once, patience = 2 * len(WIDTHS), 2 * len(WIDTHS)

    def __init__(self, seen: FitRows, new: Array, seed: int) -> None:
        X, y, weight = seen
        weight = np.ones(len(y)) if weight is None else weight
        standard = Standard(X, weight)
        self.mean, self.scale = standard.mean, standard.deviation
        rows, new = placed(X, self.mean, self.scale), placed(new, self.mean, self.scale)
        self.landmarks = rows[_landmarks(y, seed)]
        self.fits = [Nystroem(rows, self.landmarks, w / X.shape[1], y, weight) for w in WIDTHS]
        self.new = [radial(new, self.landmarks, fit.width) for fit in self.fits]
        self.prob = np.empty((0, len(new)))

    def extend(self, length: int) -> int:
        """Solve the first `length` settings."""
        length = min(length, len(WIDTHS) * len(RIDGES))
        rows = []
        for setting in range(len(self.prob), length):
            number, which = divmod(setting, len(WIDTHS))
            coef, intercept = self.fits[which].solve(RIDGES[number])
            rows.append(expit(self.new[which] @ coef + intercept))
        self.prob = np.vstack([self.prob, *rows])
        return length

    def model(self, setting: int) -> KernelLogit:
        """Return the logit of one setting."""
        number, which = divmod(setting, len(WIDTHS))
        model = KernelLogit()
        model.classes_ = np.array([0, 1])
        model.mean_, model.scale_, model.landmarks_ = self.mean, self.scale, self.landmarks
        model.n_features_in_ = self.landmarks.shape[1]
        model.width_ = float(self.fits[which].width)
        model.coef_, model.intercept_ = self.fits[which].answers[number]
        return model

    def describe(self, setting: int) -> str:
        """Return width and ridge in words."""
        number, which = divmod(setting, len(WIDTHS))
        return f"width {WIDTHS[which]:.3g}, ridge {RIDGES[number]:.3g}"


class Nystroem:
    """The logit at one width: a path of ridges on the whitened kernel."""

    def __init__(
        self, rows: Array, landmarks: Array, width: float, y: Array, weight: Array
    ) -> None:
        self.width = width
        values, vectors = np.linalg.eigh(radial(landmarks, landmarks, width))
        used = values > SMALLEST * values[-1]
        self.whiten = vectors[:, used] / np.sqrt(values[used])
        wide = radial(rows, landmarks, width) @ self.whiten
        self.mean = weight @ wide / weight.sum()
        self.path = RidgePath(wide - self.mean, y, weight)
        self.answers: list[tuple[Array, float]] = []

    def solve(self, ridge: float) -> tuple[Array, float]:
        """Return coefficients of the landmarks and the intercept; ridges must descend."""
        point = self.path.solve(ridge)
        self.answers.append((self.whiten @ point[:-1], float(point[-1] - self.mean @ point[:-1])))
        return self.answers[-1]


def placed(X: Array, mean: Array, scale: Array) -> Array:
    """Return the columns in standard deviations from their mean, clipped."""
    with np.errstate(over="ignore"):
        away = (X - mean) / np.where(scale > 0, scale, np.inf)
    return np.asarray(np.clip(away, -FARTHEST, FARTHEST))


def radial(X: Array, landmarks: Array, width: float) -> Array:
    """Return the kernel of each row with each landmark.

    Examples
    --------
    >>> radial(np.array([[0.0], [1.0]]), np.array([[0.0]]), 2.0).round(3).ravel()
    array([1.   , 0.135])
    """
    distance = X @ landmarks.T
    distance *= -2.0
    distance += np.square(X).sum(axis=1)[:, None]
    distance += np.square(landmarks).sum(axis=1)
    np.maximum(distance, 0.0, out=distance)
    distance *= -width
    return np.asarray(np.exp(distance, out=distance))


def _landmarks(y: Array, seed: int) -> NDArray[np.intp]:
    """Draw rows: half of them events, as far as there are any, and at most every second row."""
    rng = np.random.default_rng(seed)
    most = max(2, min(LANDMARKS, len(y) // 2))
    events, others = (
        rng.permutation(np.flatnonzero(y == 1)),
        rng.permutation(np.flatnonzero(y == 0)),
    )
    taken = min(len(events), most // 2)
    return np.sort(np.concatenate([events[:taken], others[: most - taken]]))
