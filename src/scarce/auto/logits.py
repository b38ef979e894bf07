"""Ridge logits that are cheap enough for a stack: one path over ridges, on columns or on splines.

    minimise  sum_i w_i log loss(y_i, z_i b + b_0) + ridge/2 |b|^2,    z standardised

From the strongest ridge to the weakest, each answer starts the next. Newton's system is solved by
conjugate gradients, preconditioned with a Hessian of an earlier ridge, which is made again when it
no longer helps or where it is cheap. Paths are continued on demand: with left-out loss that has
become worse twice nobody asks for weaker ridges.

Splines are cubic with knots at the quartiles, for columns that bend: those whose event rates in 8
bins leave a line the most (a score test). Beyond the range of the fit splines are constant and the
linear term continues. Assumes complete numeric columns. Does not choose the ridge: see members.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import BSpline
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin

from scarce.engine.block import Array
from scarce.errors import inconsistent_model, refuse_array
from scarce.linear.links import Logit
from scarce.linear.marginal import effective_score, marginal_path
from scarce.missing.front import Completed, Front

RIDGES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.01, 0.001, 0.0001)
RIDGES_AT_ONCE, RIDGE_PATIENCE = 2, 2
FEW_VALUES = 5  # a column with fewer different values gets no spline
CUTS = (0.0, 0.25, 0.5, 0.75, 1.0)
DEGREE = 3
BINS = 8
FEWEST_BENT, MOST_BENT, ROWS_PER_BENT = 24, 80, 100  # columns that may get splines
ENOUGH = 1e-4  # what is left to gain in log loss, summed over rows, when a fit stops
CHEAP = 3e6  # rows * columns^2 up to which the Hessian is made at every step
MOST_STEPS, MOST_TURNS = 40, 25  # of Newton, of conjugate gradients
MANY_TURNS = 5  # after more, the next step makes a new Hessian
JITTER = 1e-10  # of the mean curvature, against columns that depend on each other

FitRows = tuple[Array, Array, Array | None]  # features, labels, weights


class RidgePath:
    """Newton's method at one ridge after another, from strong to weak.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Standardised columns.
    y, weight : ndarray of shape (n,)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(500, 2))
    >>> path = RidgePath(Z, (Z[:, 0] > 0) * 1.0, np.ones(500))
    >>> [path.solve(ridge)[0].round(1).item() for ridge in (100.0, 10.0)]
    [1.0, 2.9]
    """

    def __init__(self, Z: Array, y: Array, weight: Array) -> None:
        self.Z = np.column_stack([Z, np.ones(len(Z))])
        self.y, self.weight = y, weight
        p = self.Z.shape[1]
        self.point = np.zeros(p)
        self.point[-1] = logit(weight @ y / weight.sum())
        self.cheap = len(Z) * p * p < CHEAP
        self.hessian: Array | None = None

    def solve(self, ridge: float) -> Array:
        """Return the coefficients, the intercept last; starts from the last answer."""
        penalty = np.append(np.full(len(self.point) - 1, ridge), 0.0)
        point, score = self.point, self.Z @ self.point
        value = self._value(point, score, penalty)
        factor, stale = None, False
        for _ in range(MOST_STEPS):
            prob = expit(score)
            slope = self.Z.T @ (self.weight * (prob - self.y)) + penalty * point
            curvature = self.weight * prob * expit(-score)
            if self.hessian is None or self.cheap or stale:
                root = self.Z * np.sqrt(curvature)[:, None]
                self.hessian, factor, fresh = root.T @ root, None, True
            else:
                fresh = False
            if factor is None:
                factor = _factor(self.hessian, penalty)
            step, turns = -cho_solve(factor, slope, check_finite=False), 0
            if not fresh:
                step, turns = self._conjugate(step, slope, curvature, penalty, factor)
            stale = turns > MANY_TURNS
            gain = -0.5 * float(slope @ step)
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
        self.point = point
        return point

    def _value(self, point: Array, score: Array, penalty: Array) -> float:
        loss = self.weight @ (np.logaddexp(0.0, score) - self.y * score)
        return float(loss + 0.5 * penalty @ point**2)

    def _conjugate(
        self, step: Array, slope: Array, curvature: Array, penalty: Array, factor: Any
    ) -> tuple[Array, int]:
        """Solve Newton's system to a hundredth of where the old Hessian's step begins."""
        found, residual = np.zeros_like(step), -slope
        direction, size = step, float(residual @ step)
        first, turns = size, 0
        while size > 1e-2 * first and turns < MOST_TURNS:
            product = self.Z.T @ (curvature * (self.Z @ direction)) + penalty * direction
            length = size / float(direction @ product)
            found = found + length * direction
            residual = residual - length * product
            pulled = cho_solve(factor, residual, check_finite=False)
            last, size = size, float(residual @ pulled)
            direction = pulled + size / last * direction
            turns += 1
            first = max(first, 1e-300)
        return found, turns


def _factor(hessian: Array, penalty: Array) -> Any:
    whole = hessian.copy()
    whole[np.diag_indices(len(whole))] += penalty + JITTER * np.trace(hessian) / len(whole)
    return cho_factor(whole, overwrite_a=True, check_finite=False)


class Standard:
    """Columns of the fit's rows, standardised; a constant column becomes 0."""

    def __init__(self, X: Array, weight: Array) -> None:
        largest = np.maximum(np.abs(X).max(axis=0), np.finfo(float).tiny)  # squares stay finite
        share = weight / weight.sum()
        self.mean = largest * (share @ (X / largest))
        deviation = largest * np.sqrt(share @ ((X - self.mean) / largest) ** 2)
        self.deviation = np.where(np.ptp(X / largest, axis=0) > 0, deviation, 0.0)

    def of(self, X: Array) -> Array:
        """Return the columns in units of their standard deviation from their mean."""
        scale = np.where(self.deviation > 0, self.deviation, np.inf)
        return np.asarray((X - self.mean) / scale)

    def given(self, point: Array) -> tuple[Array, float]:
        """Return coefficients and intercept in units of the columns."""
        coef = point[:-1] / np.where(self.deviation > 0, self.deviation, 1.0)
        return coef, float(point[-1] - coef @ self.mean)


# --- logit and splines ----------------------------------------------------------------------------


class RidgeLogit(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted logit on columns and, where it has knots, on their cubic B-splines: predicts only.

    Attributes
    ----------
    classes_, n_features_in_
    knots_ : list of ndarray
        Knots of each column, empty where only the column itself counts.
    coef_ : ndarray
        Of the columns, then of the splines of each column in turn.
    intercept_ : float

    **Assumes** complete numeric columns, or without splines what `Front.spread` gives. Beyond the
    range of the fit splines are constant and the linear term continues.

    Examples
    --------
    >>> X = np.linspace(-2, 2, 200)[:, None]
    >>> path = logit_path((X, (np.abs(X[:, 0]) > 1) * 1.0, None), X[[0, 100, 199]], 0, bent=True)
    >>> path.extend(9), path.model(8).predict_proba(X[[0, 100, 199]])[:, 1].round(1)
    (9, array([1., 0., 1.]))
    """

    def predict_proba(self, X: ArrayLike | Completed) -> Array:
        """Return both classes' probabilities, shape (n, 2), of rows or of `Front.spread`."""
        if isinstance(X, Completed):
            score = marginal_score(X, self.coef_, self.intercept_)
        else:
            wide = widened(np.asarray(X, dtype=np.float64), self.knots_)
            score = wide @ self.coef_ + self.intercept_
        return np.column_stack([expit(-score), expit(score)])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the more probable class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _check_loaded(self) -> None:
        if not hasattr(self, "knots_"):
            return
        k = self.n_features_in_
        if len(self.knots_) != k:
            raise inconsistent_model("knots_", f"must be those of {k} columns")
        if np.shape(self.classes_) != (2,):
            raise inconsistent_model("classes_", "must be two")
        for knots in self.knots_:
            if len(knots) and (len(knots) < 2 * DEGREE + 2 or not (np.diff(knots) > 0).all()):
                raise inconsistent_model("knots_", "must increase, and be enough for a cubic")
        wide = k + sum(len(knots) - DEGREE - 1 for knots in self.knots_ if len(knots))
        refuse_array("coef_", self.coef_, (wide,))
        for name in ("coef_", "intercept_"):
            if not np.isfinite(getattr(self, name)).all():
                raise inconsistent_model(name, "must be finite")


class LogitPath:
    """The same logit at one ridge after another."""

    at_once, patience = RIDGES_AT_ONCE, RIDGE_PATIENCE

    def __init__(self, seen: FitRows, new: Array, knots: list[Array]) -> None:
        X, y, weight = seen
        weight = np.ones(len(y)) if weight is None else weight
        self.knots, wide = knots, widened(X, knots)
        self.standard = Standard(wide, weight)
        self.path = RidgePath(self.standard.of(wide), y, weight)
        self.new = self.standard.of(widened(new, knots))
        self.points: list[Array] = []
        self.prob = np.empty((0, len(new)))

    def extend(self, length: int) -> int:
        """Solve the first `length` ridges."""
        length = min(length, len(RIDGES))
        rows = []
        for ridge in RIDGES[len(self.points) : length]:
            point = self.path.solve(ridge)
            self.points.append(point)
            rows.append(expit(self.new @ point[:-1] + point[-1]))
        self.prob = np.vstack([self.prob, *rows])
        return length

    def model(self, setting: int) -> RidgeLogit:
        """Return the logit at one ridge."""
        model = RidgeLogit()
        model.classes_ = np.array([0, 1])
        model.n_features_in_, model.knots_ = len(self.knots), self.knots
        model.coef_, model.intercept_ = self.standard.given(self.points[setting])
        return model

    def describe(self, setting: int) -> str:
        """Return the ridge in words."""
        return f"ridge {RIDGES[setting]:.3g}"


class MarginalPath:
    """The logit by the marginal probability of each label: missing values are integrated out."""

    at_once, patience = 4, RIDGE_PATIENCE

    def __init__(self, seen: FitRows, new: Array, seed: int, *, front: Front) -> None:
        X, self.y, self.weight = seen
        self.seen, self.new = front.spread(X), front.spread(new)
        self.coef = np.empty((0, X.shape[1] + 1))
        self.prob = np.empty((0, len(new)))

    def extend(self, length: int) -> int:
        """Solve the first `length` ridges."""
        length = min(length, len(RIDGES))
        if length > len(self.coef):
            ridges = RIDGES[len(self.coef) : length]
            coef = marginal_path(self.seen, self.y, ridges, self.weight)
            rows = [expit(marginal_score(self.new, one[:-1], float(one[-1]))) for one in coef]
            self.coef, self.prob = np.vstack([self.coef, coef]), np.vstack([self.prob, *rows])
        return length

    def model(self, setting: int) -> RidgeLogit:
        """Return the logit at one ridge."""
        model = RidgeLogit()
        coef = self.coef[setting]
        model.classes_, model.n_features_in_ = np.array([0, 1]), len(coef) - 1
        model.knots_ = [np.empty(0)] * (len(coef) - 1)
        model.coef_, model.intercept_ = coef[:-1].copy(), float(coef[-1])
        return model

    def describe(self, setting: int) -> str:
        """Return the ridge in words."""
        return f"ridge {RIDGES[setting]:.3g}"


def marginal_score(found: Completed, coef: Array, intercept: float) -> Array:
    """Return the log-odds of rows in which some values are only known by mean and covariance.

    Examples
    --------
    >>> found = Completed(np.array([[2.0]]), np.ones(1), ())
    >>> marginal_score(found, np.array([1.5]), -1.0)
    array([2.])
    """
    return effective_score(Logit(), found.mean @ coef + intercept, found.variance(coef))


def logit_path(seen: FitRows, new: Array, seed: int, *, bent: bool = False) -> LogitPath:
    """Prepare the logit at every ridge; the ridge applies to standardised columns."""
    X, y, weight = seen
    places = [np.empty(0) for _ in X.T]
    if bent:
        weight = np.ones(len(y)) if weight is None else weight
        for j in bent_columns(X, y, weight):
            places[j] = knots(X[:, j])
    return LogitPath(seen, new, places)


def bent_columns(X: Array, y: Array, weight: Array) -> list[int]:
    """Return the columns whose event rate leaves a line the most, in their own order.

    All columns that may get splines are returned unless they are too many: more than one for 100
    rows, 24 at least and 80 at most.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(900, 50))
    >>> chosen = bent_columns(X, (np.abs(X[:, 40]) > 1) * 1.0, np.ones(900))
    >>> len(chosen), 40 in chosen
    (24, True)
    """
    most = min(max(FEWEST_BENT, len(y) // ROWS_PER_BENT), MOST_BENT)
    if X.shape[1] <= most:
        return list(range(X.shape[1]))
    whole, line, values = associations(X, y, weight)
    bend = np.where(values < FEW_VALUES, -np.inf, whole - line)
    ranked = np.argsort(-bend, kind="stable")[:most]
    return sorted(int(j) for j in ranked if np.isfinite(bend[j]))


def strongest_columns(X: Array, y: Array, weight: Array, most: int) -> NDArray[np.intp]:
    """Return the columns that say the most about y one by one, at most so many, in their order.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 9))
    >>> strongest_columns(X, (np.abs(X[:, 4]) > 1) * 1.0 + (X[:, 7] > 2), np.ones(200), 2)
    array([4, 7])
    """
    if X.shape[1] <= most:
        return np.arange(X.shape[1])
    whole = associations(X, y, weight)[0]
    return np.sort(np.argsort(-whole, kind="stable")[:most])


def associations(X: Array, y: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Return score statistics of each column: of 8 bins and of a line through the bins' means.

    Both at the base rate, up to a factor; missing values are one more bin of the first. Third: the
    number of different values, up to those that matter.
    """
    away = weight * (y - weight @ y / weight.sum())
    whole, line, values = np.zeros((3, X.shape[1]))
    for j, column in enumerate(X.T):
        seen = ~np.isnan(column)
        half = column[seen] * 0.5  # differences stay finite
        if not len(half):
            continue
        values[j] = len(np.unique(half))
        cuts = np.unique(np.quantile(half, np.arange(1, BINS) / BINS))
        place = np.searchsorted(cuts, half)
        total = np.bincount(place, weight[seen], BINS)
        used = total > 0
        total, excess = total[used], np.bincount(place, away[seen], BINS)[used]
        whole[j] = float((excess**2 / total).sum())
        missing = float(weight[~seen].sum())
        if missing > 0:
            whole[j] += float(away[~seen].sum()) ** 2 / missing
        offset = (half - half.min()) / max(float(np.ptp(half)), np.finfo(float).tiny)
        middle = np.bincount(place, weight[seen] * offset, BINS)[used] / total
        middle -= total @ middle / total.sum()
        spread = float(total @ middle**2)
        line[j] = float(excess @ middle) ** 2 / spread if spread > 0 else 0.0
    return whole, line, values


def widened(X: Array, knots: list[Array]) -> Array:
    """Return the columns, and beside them the splines of those that have knots."""
    parts = [X]
    for column, places in zip(X.T, knots, strict=True):
        if len(places):
            inside = np.clip(column, places[DEGREE], places[-DEGREE - 1])
            parts.append(BSpline.design_matrix(inside, places, DEGREE).toarray())
    return np.ascontiguousarray(np.hstack(parts))


def knots(column: Array) -> Array:
    """Return knots at the quartiles, continued evenly by three on each side."""
    values = np.unique(column)
    if len(values) < FEW_VALUES:
        return np.empty(0)
    inner = np.unique(np.quantile(column, CUTS))
    if len(inner) < 3:  # most rows share a value: cut the different values instead
        inner = np.unique(np.quantile(values, CUTS))
    first, last = inner[1] - inner[0], inner[-1] - inner[-2]
    steps = np.arange(1, DEGREE + 1)
    with np.errstate(over="ignore"):
        whole = np.concatenate([inner[0] - first * steps[::-1], inner, inner[-1] + last * steps])
    # Values next to each other in floating point, or near the largest ones, leave no room.
    return whole if np.isfinite(whole).all() and (np.diff(whole) > 0).all() else np.empty(0)
