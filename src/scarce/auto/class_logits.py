"""Ridge logits of several classes at once: on columns, on splines or on a radial kernel.

    prob = softmax(z B + b)
    minimise  sum_i w_i log loss(y_i, prob_i) + ridge/2 |B|^2,    z standardised or whitened

Every class has its own coefficients; the ridge makes them unique, and their sum over the classes 0.
As in logits.py the ridges go from strong to weak, each answer starting the next. Newton's system is
solved by conjugate gradients, preconditioned with each class's own block of a Hessian, which is
made again when it no longer helps. Does not choose the ridge: see members.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import logsumexp, ndtri, softmax
from scipy.stats.qmc import Sobol
from sklearn.base import BaseEstimator, ClassifierMixin

from scarce.auto.kernel import SMALLEST, placed, radial
from scarce.auto.logits import (
    DEGREE,
    ENOUGH,
    FEW_VALUES,
    FEWEST_BENT,
    JITTER,
    MANY_TURNS,
    MOST_BENT,
    MOST_STEPS,
    MOST_TURNS,
    RIDGE_PATIENCE,
    RIDGES,
    RIDGES_AT_ONCE,
    ROWS_PER_BENT,
    Standard,
    associations,
    knots,
    widened,
)
from scarce.engine.block import Array
from scarce.errors import inconsistent_model, refuse_array
from scarce.missing.front import Completed

LANDMARKS = 200
POINTS = 64  # at which a mean over missing values is taken
WIDTHS = (0.2, 0.7)  # in units of 1/columns
KERNEL_RIDGES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)

Ids = NDArray[np.intp]
ClassRows = tuple[Array, Ids, Array, int]  # features, classes, weights, number of classes


class SoftmaxPath:
    """Newton's method at one ridge after another, from strong to weak.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
    codes : ndarray of int, shape (n,)
        Every class has rows.
    weight : ndarray of shape (n,)
    n_classes : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(600, 2))
    >>> path = SoftmaxPath(Z, np.searchsorted([-0.5, 0.5], Z[:, 0]), np.ones(600), 3)
    >>> [path.solve(ridge)[0].round(1).tolist() for ridge in (100.0, 10.0)]
    [[-0.9, 0.0, 0.9], [-2.8, 0.0, 2.8]]
    """

    def __init__(self, Z: Array, codes: Ids, weight: Array, n_classes: int) -> None:
        self.Z = np.column_stack([Z, np.ones(len(Z))])
        self.weight = weight[:, None]
        self.happened = np.zeros((len(Z), n_classes))
        self.happened[np.arange(len(Z)), codes] = 1.0
        self.point = np.zeros((self.Z.shape[1], n_classes))
        self.point[-1] = np.log(weight @ self.happened / weight.sum())
        self.blocks: list[Array] = []

    def solve(self, ridge: float) -> Array:
        """Return the coefficients, the intercepts last; starts from the last answer."""
        penalty = np.append(np.full(len(self.point) - 1, ridge), 0.0)[:, None]
        point, score = self.point, self.Z @ self.point
        value = self._value(point, score, penalty)
        factors: list[Any] = []
        stale = not self.blocks
        for _ in range(MOST_STEPS):
            prob = softmax(score, axis=1)
            slope = self.Z.T @ (self.weight * (prob - self.happened)) + penalty * point
            if stale:
                self.blocks, factors = self._blocks(prob), []
            if not factors:
                factors = [_factor(block, penalty[:, 0]) for block in self.blocks]
            step, turns = self._conjugate(slope, prob, penalty, factors)
            stale = turns > MANY_TURNS
            gain = -0.5 * float((slope * step).sum())
            if gain <= 1e-3 * ENOUGH:
                break
            change, length = self.Z @ step, 1.0
            while True:
                trial, trial_score = point + length * step, score + length * change
                trial_value = self._value(trial, trial_score, penalty)
                if trial_value <= value - 1e-4 * length * gain or length < 1e-6:
                    break
                length /= 2
            point, score, value = trial, trial_score, trial_value
            if gain <= ENOUGH:
                break
        self.point = point - point.mean(axis=1, keepdims=True)
        return self.point

    def _value(self, point: Array, score: Array, penalty: Array) -> float:
        loss = logsumexp(score, axis=1) - (score * self.happened).sum(axis=1)
        return float(self.weight[:, 0] @ loss + 0.5 * (penalty * point**2).sum())

    def _blocks(self, prob: Array) -> list[Array]:
        """Return each class's own block of the Hessian, without the ridge."""
        blocks = []
        for one in prob.T:
            root = self.Z * np.sqrt(self.weight[:, 0] * one * (1.0 - one))[:, None]
            blocks.append(root.T @ root)
        return blocks

    def _conjugate(
        self, slope: Array, prob: Array, penalty: Array, factors: list[Any]
    ) -> tuple[Array, int]:
        """Solve Newton's system to a hundredth of where it begins."""

        def pulled(residual: Array) -> Array:
            parts = [
                cho_solve(factor, column, check_finite=False)
                for factor, column in zip(factors, residual.T, strict=True)
            ]
            return np.column_stack(parts)

        found, residual = np.zeros_like(slope), -slope
        direction = pulled(residual)
        size = float((residual * direction).sum())
        first, turns = max(size, 1e-300), 0
        while size > 1e-2 * first and turns < MOST_TURNS:
            moved = prob * (self.Z @ direction)
            moved -= prob * moved.sum(axis=1, keepdims=True)
            product = self.Z.T @ (self.weight * moved) + penalty * direction
            length = size / float((direction * product).sum())
            found = found + length * direction
            residual = residual - length * product
            next_one = pulled(residual)
            last, size = size, float((residual * next_one).sum())
            direction = next_one + size / last * direction
            turns += 1
        return found, turns


def _factor(block: Array, penalty: Array) -> Any:
    whole = block.copy()
    jitter = JITTER * np.trace(block) / len(block) + 1e-300
    whole[np.diag_indices(len(whole))] += penalty + jitter
    return cho_factor(whole, overwrite_a=True, check_finite=False)


# --- columns and splines --------------------------------------------------------------------------


class ClassLogit(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted logit of several classes on columns and their cubic B-splines: predicts only.

    Attributes
    ----------
    classes_, n_features_in_
    knots_ : list of ndarray
        Knots of each column, empty where only the column itself counts.
    coef_ : ndarray of shape (columns and splines, n_classes)
    intercept_ : ndarray of shape (n_classes,)

    **Assumes** complete numeric columns, or without splines what `Front.spread` gives. Beyond the
    range of the fit splines are constant and the linear term continues.
    """

    def predict_proba(self, X: ArrayLike | Completed) -> Array:
        """Return the probabilities of the classes, of rows or of `Front.spread`."""
        if isinstance(X, Completed):
            return marginal_prob(X, self.coef_, self.intercept_)
        wide = widened(np.asarray(X, dtype=np.float64), self.knots_)
        return np.asarray(softmax(wide @ self.coef_ + self.intercept_, axis=1))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _check_loaded(self) -> None:
        if not hasattr(self, "knots_"):
            return
        if len(self.knots_) != self.n_features_in_:
            raise inconsistent_model("knots_", f"must be those of {self.n_features_in_} columns")
        for one in self.knots_:
            if len(one) and (len(one) < 2 * DEGREE + 2 or not (np.diff(one) > 0).all()):
                raise inconsistent_model("knots_", "must increase, and be enough for a cubic")
        wide = self.n_features_in_ + sum(len(k) - DEGREE - 1 for k in self.knots_ if len(k))
        _check_linear(self, wide)


def marginal_prob(found: Completed, coef: Array, intercept: Array) -> Array:
    """Return probabilities of rows in which some values are only known by mean and covariance.

    Their mean over the scores' normal distribution, by 64 points of a Sobol sequence.

    Examples
    --------
    >>> found = Completed(np.array([[2.0]]), np.ones(1), ())
    >>> marginal_prob(found, np.array([[0.5, 0.0, -0.5]]), np.zeros(3)).round(3)
    array([[0.665, 0.245, 0.09 ]])
    """
    score, classes = found.mean @ coef + intercept, coef.shape[1]
    prob = np.asarray(softmax(score, axis=1))
    apart = (coef - coef.mean(axis=1, keepdims=True)) * found.scale[:, None]
    points = ndtri(Sobol(classes, rng=0).random(POINTS)) if found.parts else np.empty(0)
    for batch, variance in found.parts:
        part = apart[batch.columns]
        spread = np.einsum("pik,pij,pjl->pkl", part, variance, part)
        least = 1e-12 * np.trace(spread, axis1=1, axis2=2) + 1e-300
        root = np.linalg.cholesky(spread + least[:, None, None] * np.eye(classes))
        away = points @ root.transpose(0, 2, 1)
        for first in range(0, len(batch.rows), 1024):
            rows, group = batch.rows[first : first + 1024], batch.group[first : first + 1024]
            drawn = softmax(score[rows, None] + away[group], axis=2)
            prob[rows] = drawn.mean(axis=1)
    return prob


def _check_linear(model: Any, wide: int) -> None:
    """Refuse coefficients that do not belong to so many columns and the classes."""
    classes = len(model.classes_)
    refuse_array("coef_", model.coef_, (wide, classes))
    refuse_array("intercept_", model.intercept_, (classes,))
    for name in ("coef_", "intercept_"):
        if not np.isfinite(getattr(model, name)).all():
            raise inconsistent_model(name, "must be finite")


class ClassLogitPath:
    """The logit of several classes at one ridge after another.

    Examples
    --------
    >>> X = np.linspace(-2, 2, 300)[:, None]
    >>> seen = X, np.searchsorted([-1.0, 1.0], X[:, 0]), np.ones(300), 3
    >>> path = ClassLogitPath(seen, X[[0, 150, 299]], 0, bent=True)
    >>> path.extend(9), path.model(8).predict(X[[0, 150, 299]])
    (9, array([0, 1, 2]))
    """

    at_once, patience = RIDGES_AT_ONCE, RIDGE_PATIENCE

    def __init__(self, seen: ClassRows, new: Array, seed: int, *, bent: bool = False) -> None:
        X, codes, weight, n_classes = seen
        self.knots = [np.empty(0) for _ in X.T]
        for j in bent_columns(X, codes, weight, n_classes) if bent else []:
            self.knots[j] = knots(X[:, j])
        wide = widened(X, self.knots)
        self.standard = Standard(wide, weight)
        self.path = SoftmaxPath(self.standard.of(wide), codes, weight, n_classes)
        self.new = self.standard.of(widened(new, self.knots))
        self.points: list[Array] = []
        self.prob = np.empty((0, len(new), n_classes))

    def extend(self, length: int) -> int:
        """Solve the first `length` ridges."""
        length, rows = min(length, len(RIDGES)), []
        for ridge in RIDGES[len(self.points) : length]:
            point = self.path.solve(ridge)
            self.points.append(point)
            rows.append(softmax(self.new @ point[:-1] + point[-1], axis=1))
        self.prob = np.concatenate([self.prob, *(one[None] for one in rows)])
        return length

    def model(self, setting: int) -> ClassLogit:
        """Return the logit at one ridge."""
        model, point, standard = ClassLogit(), self.points[setting], self.standard
        model.classes_ = np.arange(point.shape[1])
        model.n_features_in_, model.knots_ = len(self.knots), self.knots
        scale = np.where(standard.deviation > 0, standard.deviation, 1.0)
        model.coef_ = point[:-1] / scale[:, None]
        model.intercept_ = point[-1] - standard.mean @ model.coef_
        return model

    def describe(self, setting: int) -> str:
        """Return the ridge in words."""
        return f"ridge {RIDGES[setting]:.3g}"


def class_associations(
    X: Array, codes: Ids, weight: Array, n_classes: int
) -> tuple[Array, Array, Array]:
    """Return chi-squares of each column with the classes: of 8 bins, and of a line through them.

    Third: the number of different values, up to those that matter.
    """
    whole, line, values = np.zeros((3, X.shape[1]))
    for k in range(n_classes):
        y = (codes == k) * 1.0
        share = float(weight @ y / weight.sum())
        one, straight, values = associations(X, y, weight)
        whole, line = whole + one / share, line + straight / share
    return whole, line, values


def bent_columns(X: Array, codes: Ids, weight: Array, n_classes: int) -> list[int]:
    """Return the columns whose class shares leave lines the most, in their own order.

    As many as `scarce.auto.logits.bent_columns` returns for two classes.
    """
    most = min(max(FEWEST_BENT, len(codes) // ROWS_PER_BENT), MOST_BENT)
    if X.shape[1] <= most:
        return list(range(X.shape[1]))
    whole, line, values = class_associations(X, codes, weight, n_classes)
    bend = np.where(values < FEW_VALUES, -np.inf, whole - line)
    ranked = np.argsort(-bend, kind="stable")[:most]
    return sorted(int(j) for j in ranked if np.isfinite(bend[j]))


def strongest_columns(X: Array, codes: Ids, weight: Array, n_classes: int, most: int) -> Ids:
    """Return the columns that say the most about the classes one by one, in their order."""
    if X.shape[1] <= most:
        return np.arange(X.shape[1])
    whole = class_associations(X, codes, weight, n_classes)[0]
    return np.sort(np.argsort(-whole, kind="stable")[:most])


# --- radial kernel --------------------------------------------------------------------------------


class ClassKernel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted logit of several classes on a radial kernel: predicts only.

    Attributes
    ----------
    classes_, n_features_in_
    mean_, scale_ : ndarray of shape (d,)
        Of the columns; scale 0 where a column was constant, and then it counts nothing.
    landmarks_ : ndarray of shape (m, d)
        Standardised and clipped.
    width_ : float
        The kernel is exp(-width * squared distance).
    coef_ : ndarray of shape (m, n_classes)
    intercept_ : ndarray of shape (n_classes,)

    **Assumes** complete numeric columns.
    """

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probabilities of the classes, shape (n, n_classes)."""
        X = np.asarray(X, dtype=np.float64)
        score = np.empty((len(X), len(self.classes_)))
        for first in range(0, len(X), 4096):
            part = slice(first, first + 4096)
            kernel = radial(placed(X[part], self.mean_, self.scale_), self.landmarks_, self.width_)
            score[part] = kernel @ self.coef_ + self.intercept_
        return np.asarray(softmax(score, axis=1))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _check_loaded(self) -> None:
        if not hasattr(self, "landmarks_"):
            return
        d = self.n_features_in_
        if np.ndim(self.landmarks_) != 2:
            raise inconsistent_model("landmarks_", "must be rows")
        refuse_array("landmarks_", self.landmarks_, (len(self.landmarks_), d))
        _check_linear(self, len(self.landmarks_))
        for name in ("mean_", "scale_"):
            refuse_array(name, getattr(self, name), (d,))
        for name in ("mean_", "scale_", "landmarks_", "width_"):
            if not np.isfinite(getattr(self, name)).all():
                raise inconsistent_model(name, "must be finite")
        if not (self.scale_ >= 0).all():
            raise inconsistent_model("scale_", "must not be negative")
        if not self.width_ > 0:
            raise inconsistent_model("width_", "must be above 0")


class ClassKernelPath:
    """Logits of some widths at one ridge after another: settings alternate between the widths.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> seen = X, (X[:, 0] * X[:, 1] > 0.3) + 2 * (X[:, 0] > 1), np.ones(300), 4
    >>> path = ClassKernelPath(seen, X[:9], 0)
    >>> path.extend(14), path.model(13).predict([[0.5, 1.0], [1.5, -1.0]])
    (14, array([1, 2]))
    """

    at_once, patience = 2 * len(WIDTHS), 2 * len(WIDTHS)

    def __init__(self, seen: ClassRows, new: Array, seed: int) -> None:
        X, codes, weight, n_classes = seen
        standard = Standard(X, weight)
        self.mean, self.scale = standard.mean, standard.deviation
        rows, new = placed(X, self.mean, self.scale), placed(new, self.mean, self.scale)
        self.landmarks = rows[landmark_rows(codes, n_classes, seed)]
        self.fits = [
            Whitened(rows, self.landmarks, w / X.shape[1], codes, weight, n_classes) for w in WIDTHS
        ]
        self.new = [radial(new, self.landmarks, fit.width) for fit in self.fits]
        self.prob = np.empty((0, len(new), n_classes))

    def extend(self, length: int) -> int:
        """Solve the first `length` settings."""
        length, rows = min(length, len(WIDTHS) * len(KERNEL_RIDGES)), []
        for setting in range(len(self.prob), length):
            number, which = divmod(setting, len(WIDTHS))
            coef, intercept = self.fits[which].solve(KERNEL_RIDGES[number])
            rows.append(softmax(self.new[which] @ coef + intercept, axis=1))
        self.prob = np.concatenate([self.prob, *(one[None] for one in rows)])
        return length

    def model(self, setting: int) -> ClassKernel:
        """Return the logit of one setting."""
        number, which = divmod(setting, len(WIDTHS))
        model = ClassKernel()
        model.mean_, model.scale_, model.landmarks_ = self.mean, self.scale, self.landmarks
        model.n_features_in_ = self.landmarks.shape[1]
        model.width_ = float(self.fits[which].width)
        model.coef_, model.intercept_ = self.fits[which].answers[number]
        model.classes_ = np.arange(len(model.intercept_))
        return model

    def describe(self, setting: int) -> str:
        """Return width and ridge in words."""
        number, which = divmod(setting, len(WIDTHS))
        return f"width {WIDTHS[which]:.3g}, ridge {KERNEL_RIDGES[number]:.3g}"


class Whitened:
    """The logit at one width: a path of ridges on the whitened kernel."""

    def __init__(
        self,
        rows: Array,
        landmarks: Array,
        width: float,
        codes: Ids,
        weight: Array,
        n_classes: int,
    ) -> None:
        self.width = width
        values, vectors = np.linalg.eigh(radial(landmarks, landmarks, width))
        used = values > SMALLEST * values[-1]
        self.whiten = vectors[:, used] / np.sqrt(values[used])
        wide = radial(rows, landmarks, width) @ self.whiten
        self.mean = weight @ wide / weight.sum()
        self.path = SoftmaxPath(wide - self.mean, codes, weight, n_classes)
        self.answers: list[tuple[Array, Array]] = []

    def solve(self, ridge: float) -> tuple[Array, Array]:
        """Return coefficients of the landmarks and intercepts; ridges must descend."""
        point = self.path.solve(ridge)
        self.answers.append((self.whiten @ point[:-1], point[-1] - self.mean @ point[:-1]))
        return self.answers[-1]


def landmark_rows(codes: Ids, n_classes: int, seed: int) -> Ids:
    """Draw rows: of each class as many, as far as there are any, and at most every second row.

    Examples
    --------
    >>> codes = np.repeat([0, 1, 2], [500, 400, 20])
    >>> np.bincount(codes[landmark_rows(codes, 3, 0)])
    array([90, 90, 20])
    """
    rng = np.random.default_rng(seed)
    most = max(n_classes, min(LANDMARKS, len(codes) // 2))
    own = [rng.permutation(np.flatnonzero(codes == k)) for k in range(n_classes)]
    sizes = sorted(len(one) for one in own)
    left, quota = most, 0
    for number, size in enumerate(sizes):  # small classes are taken whole
        quota = left // (n_classes - number)
        if size > quota:
            break
        left -= size
    else:
        quota = sizes[-1]
    return np.sort(np.concatenate([one[:quota] for one in own]))
