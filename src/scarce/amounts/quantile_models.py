"""Which quantiles may the number have? Grids of quantiles, and the models that predict them.

    quantile(u) = value_j + (u - level_j) / (level_j+1 - level_j) * (value_j+1 - value_j)

`fit_quantiles` fits one clone of a quantile regressor per level; `gaussian_from` reads mean and
standard deviation of a regressor that predicts them; `residuals_from` adds held-out errors to
predictions. Assumes that rows to come are like those fitted to, and get_params, set_params and fit
as scikit-learn has them. Fits nothing of its own: scikit-learn does.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import exprel, logsumexp

from scarce.amounts.predictive import (
    SCAN,
    EmpiricalPredictive,
    GaussianPredictive,
    QuadraturePredictive,
    Rows,
    common_length,
    count,
    finer,
    finite,
    finite_table,
    panels,
    read_each,
    read_levels,
    with_cuts,
)
from scarce.checks import refuse_negative, refuse_other_index
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError, refuse_word, suggest, warn_user

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sklearn.base import BaseEstimator
    from sklearn.model_selection import BaseCrossValidator

TAIL_EDGES = np.array([0.0, 2.0, 5.0, 10.0, 20.0, 37.0])  # exp(-37) is nothing
SAME_LEVEL = 1e-12


class QuantilePredictive(QuadraturePredictive):
    """A grid of quantiles for each row, straight lines in between.

    Parameters
    ----------
    levels : array-like of shape (q,)
        Increasing, inside (0, 1).
    values : array-like of shape (q,) or (n, q)
        Quantiles. Where they cross, the row's values are sorted, which never takes them further
        from the true ones (Chernozhukov, Fernandez-Val, Galichon 2010); a warning says how often.
    tails : {"exponential", "flat", "refuse"}
        Beyond the outermost levels: an exponential tail with the density of the outermost segment
        where they meet (warns when a quantile out there is asked for), all mass on the outermost
        value, or an error for whatever depends on it. The mean and every expected cost do, and are
        the tail's guess in part: `tail_share` and `mean_from_tails()` say how much, and the mean
        warns when most of the probability lies out there. One level alone has no segment: what
        depends on its tails is an error unless they are "flat".

    Attributes
    ----------
    rearranged : int
        Rows whose quantiles crossed.
    tail_share : float
        Probability beyond the outermost levels.

    Examples
    --------
    >>> demand = QuantilePredictive([0.1, 0.5, 0.9], [[60.0, 100.0, 150.0]])
    >>> demand.quantile(0.7), demand.cdf(80.0), demand.mean()
    (array([125.]), array([0.3]), array([103.25]))
    """

    whole = False

    def __init__(self, levels: ArrayLike, values: ArrayLike, *, tails: str = "exponential") -> None:
        refuse_word("tails", tails, ("exponential", "flat", "refuse"))
        grid, held = _read_grid(levels), finite_table(values, "values")
        if held.shape[1] != len(grid):
            raise DataError(
                "{argument} has {found} columns, and there are {count} levels.",
                code="length-mismatch",
                argument=Argument("values"),
                found=held.shape[1],
                count=len(grid),
                remedy="Give one column per level.",
            )
        crossed = (np.diff(held, axis=1) < 0).any(axis=1)
        if crossed.any():
            warn_user(
                "Quantiles cross in {count:,} of {rows:,} rows (first at row {row:,}) and were "
                "sorted there.",
                code="quantiles-cross",
                count=int(crossed.sum()),
                rows=len(held),
                row=int(np.argmax(crossed)),
                remedy="Fewer levels cross less.",
            )
            held = np.sort(held, axis=1)
        self._settle(grid, held, tails, int(crossed.sum()))

    def _settle(self, levels: Array, values: Array, tails: str, rearranged: int) -> None:
        self.levels, self.values, self.tails, self.rearranged = levels, values, tails, rearranged
        self.n_rows, self.scan = len(values), np.clip(SCAN, levels[0], levels[-1])
        self.node_count = self.cells = 8 * (len(levels) + 2 * len(TAIL_EDGES) + 2)
        self.tail_share = float(levels[0] + (1 - levels[-1]))

    def __repr__(self) -> str:
        span = f"{self.levels[0]:g}"
        if len(self.levels) > 1:
            span += f" to {self.levels[-1]:g}"
        grid = f"{count(len(self.levels), 'level')} {span}"
        return f"{type(self).__name__}({count(self.n_rows)}, {grid}, {self.tails} tails)"

    def mean(self) -> Array:
        """Return the mean of each row, shape (n,), tails included: see `mean_from_tails`."""
        if self.tails == "exponential" and self.tail_share > 0.5 and len(self.levels) > 1:
            warn_user(
                "{share:.3g} % of the probability lies beyond the levels given, {first:g} to "
                "{last:g}: the mean depends mostly on the assumed exponential tail.",
                code="mean-from-tails",
                share=100 * self.tail_share,
                first=float(self.levels[0]),
                last=float(self.levels[-1]),
                remedy="Fit levels on both sides of the middle.",
            )
        return self._mean()

    def mean_from_tails(self) -> Array:
        """Return by how much the assumed tails move each row's mean, against flat ones."""
        low, high = self._scales()
        return np.asarray((1 - self.levels[-1]) * high - self.levels[0] * low)

    def _mean(self) -> Array:
        ends = self.levels[0] * self.values[:, 0] + (1 - self.levels[-1]) * self.values[:, -1]
        middles = (self.values[:, 1:] + self.values[:, :-1]) / 2
        return np.asarray(self.mean_from_tails() + ends + middles @ np.diff(self.levels))

    def quantile(self, level: ArrayLike) -> Array:
        """Return the quantile at a level, shape (n,)."""
        wanted = read_levels(level, self.n_rows)
        first, last = self.levels[0], self.levels[-1]
        beyond = (wanted < first - SAME_LEVEL) | (wanted > last + SAME_LEVEL)
        inner = np.clip(wanted, first, last)
        place = np.searchsorted(self.levels[1:-1], inner, "right")
        width = np.diff(self.levels, append=1.0)[place]  # a single level is met at its start
        rest = (inner - self.levels[place]) / width
        here, following = self._ends(place)
        # Both ends of a segment are met exactly.
        value = np.where(rest == 1, following, here + rest * (following - here))
        if not beyond.any():
            return np.atleast_1d(value)
        seen = float(np.atleast_1d(wanted)[np.atleast_1d(beyond)][0])
        low, high = self._scales(f"The quantile at {seen:g}")
        if self.tails == "exponential":
            warn_user(
                "The quantile at {level:g} lies beyond the levels given, {first:g} to {last:g}: it "
                "comes from an assumed exponential tail.",
                code="beyond-levels",
                level=seen,
                first=float(first),
                last=float(last),
                remedy="Fit that level too.",
            )
        value = value + low * np.minimum(np.log(wanted / first), 0)
        return np.atleast_1d(value - high * np.minimum(np.log1p(-wanted) - np.log1p(-last), 0))

    def cdf(self, y: ArrayLike) -> Array:
        """Return the probability that the truth is at most y, shape (n,); NaN where y is NaN."""
        wanted = read_each(y, "y", self.n_rows)
        level = self._inner_cdf(wanted)
        left, right = wanted - self.values[:, 0], wanted - self.values[:, -1]
        if (left < 0).any() or (right > 0).any():
            low, high = self._scales("A cdf beyond the outermost quantiles")
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                under = self.levels[0] * np.exp(np.minimum(left, 0) / low)
                over = (1 - self.levels[-1]) * np.exp(-np.maximum(right, 0) / high)
            level = np.where(left < 0, under, np.where(right > 0, 1 - over, level))
        return np.where(np.isnan(wanted), np.nan, level)

    def _inner_cdf(self, y: Array) -> Array:
        """Return the cdf between the outermost levels, and those levels beyond."""
        below = (self.values <= np.reshape(y, (-1, 1))).sum(axis=1)
        place = np.clip(below - 1, 0, max(len(self.levels) - 2, 0))
        here, following = self._ends(place)
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.clip(np.nan_to_num((y - here) / (following - here)), 0, 1)
        level = self.levels[place] + rest * np.diff(self.levels, append=1.0)[place]
        return np.asarray(np.where(below == len(self.levels), self.levels[-1], level))

    def _ends(self, place: NDArray[np.intp]) -> tuple[Array, Array]:
        rows = np.arange(self.n_rows) if self.n_rows > 1 else 0
        following = np.minimum(place + 1, len(self.levels) - 1)
        return self.values[rows, place], self.values[rows, following]

    def _scales(self, what: str = "The mean, or an expected cost,") -> tuple[Array, Array]:
        """Return the mean length of both tails of each row; 0 for flat ones."""
        if self.tails == "flat":
            return np.zeros(self.n_rows), np.zeros(self.n_rows)
        if self.tails == "refuse" or len(self.levels) == 1:
            raise UsageError(
                "{what} depends on what lies beyond the {count} level(s) given, {first:g} to "
                "{last:g}.",
                code="tails-needed",
                what=what,
                count=len(self.levels),
                first=float(self.levels[0]),
                last=float(self.levels[-1]),
                flat=Argument("tails", "flat"),
                exponential=Argument("tails", "exponential"),
                remedy="Give more levels, or {flat} (with two levels or more also {exponential}).",
            )
        slope = np.diff(self.values, axis=1)[:, [0, -1]] / np.diff(self.levels)[[0, -1]]
        return self.levels[0] * slope[:, 0], (1 - self.levels[-1]) * slope[:, 1]

    def take(self, rows: Rows) -> Self:
        """Return the predictive of these rows."""
        part = object.__new__(type(self))
        part._settle(self.levels, self.values[rows], self.tails, self.rearranged)
        return part

    def cumulant(self, rate: Array) -> Array:
        """Return log E exp(rate (y - mean))."""
        low, high = self._scales()
        if (rate * high >= 1).any() or (rate * low <= -1).any():
            raise UsageError(
                "Linex(rate={rate:g}) has no mean under exponential tails as wide as {width:.3g}.",
                code="no-mean",
                rate=float(np.abs(rate).max()),
                width=float(max(low.max(), high.max())),
                tails=Argument("tails", "flat"),
                remedy="Give a rate below their inverse, or {tails}.",
            )
        y = self.values - self._mean()[:, None]
        slope = np.reshape(rate, (-1, 1))
        tops = np.maximum(slope * y[:, 1:], slope * y[:, :-1])
        width = np.log(exprel(-np.abs(slope * np.diff(y, axis=1))))
        ends = [
            rate * y[:, 0] - np.log1p(rate * low) + np.log(self.levels[0]),
            rate * y[:, -1] - np.log1p(-rate * high) + np.log1p(-self.levels[-1]),
        ]
        terms = [tops + width + np.log(np.diff(self.levels)), np.stack(ends, axis=1)]
        small = np.abs(rate) * np.sqrt(self.variance()) < 1e-3  # where the logarithm would cancel
        whole = logsumexp(np.concatenate(terms, axis=1), axis=1)
        return np.where(small, super().cumulant(rate), whole)

    def nodes(self, splits: Array, fine: int = 1) -> tuple[Array, Array]:
        """Return points and weights of a quadrature whose panels end at the splits (n, s)."""
        low, high = self._scales()
        first, last = self.values[:, :1], self.values[:, -1:]
        parts = []
        if len(self.levels) > 1:
            cuts = np.clip(splits, first, last)
            # Values and levels grow together: sorted apart they stay in step, ties too.
            edges = np.sort(np.concatenate([self.values, cuts], axis=1), axis=1)
            known = np.array([self._inner_cdf(cut) for cut in cuts.T]).T.reshape(cuts.shape)
            mass = np.diff(with_cuts(self.levels, known), axis=1)
            if fine > 1:
                edges = np.sort(np.concatenate([edges, edges[:, 1:] - np.diff(edges) / 2], axis=1))
                mass = np.repeat(mass / 2, 2, axis=1)
            parts.append(panels(edges, mass))
        for start, scale, sign, share in (
            (first, low, -1, self.levels[0]),
            (last, high, 1, 1 - self.levels[-1]),
        ):
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                cuts = np.nan_to_num(sign * (splits - start) / scale[:, None])
            tail = finer(TAIL_EDGES, fine)
            t, weight = panels(with_cuts(tail, np.clip(cuts, 0, tail[-1])))
            parts.append((start + sign * scale[:, None] * t, share * weight * np.exp(-t)))
        y, weight = (np.concatenate(some, axis=1) for some in zip(*parts, strict=True))
        return y, weight


@dataclass(frozen=True, eq=False)
class QuantileModels:
    """One fitted regressor per level, in the order of the levels; made by `fit_quantiles`."""

    levels: Array
    models: tuple[BaseEstimator, ...]

    def predictive(self, X: ArrayLike, *, tails: str = "exponential") -> QuantilePredictive:
        """Return the distribution of each row of X."""
        values = np.stack([model.predict(X) for model in self.models], axis=1)
        return QuantilePredictive(self.levels, values, tails=tails)

    def __str__(self) -> str:
        shown = ", ".join(f"{level:g}" for level in self.levels)
        return f"{len(self.models)} x {type(self.models[0]).__name__} at levels {shown}"


def fit_quantiles(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    *,
    levels: ArrayLike,
    sample_weight: ArrayLike | None = None,
    parameter: str | None = None,
) -> QuantileModels:
    """Fit a clone of a quantile regressor at each level.

    Parameters
    ----------
    estimator : regressor, or Pipeline that ends in one
        QuantileRegressor(), GradientBoostingRegressor(loss="quantile"),
        HistGradientBoostingRegressor(loss="quantile"), or one with a parameter of your naming.
    X, y : array-like
        Rows and what they turned out to be, all known.
    levels : array-like of shape (q,)
        Increasing, inside (0, 1); best with the one you act on, `Pinball(...).level`, among them.
    sample_weight : array-like of shape (n,), optional
    parameter : str, optional
        Name of the parameter that sets the level, where it is not `quantile` or `alpha`.

    Examples
    --------
    >>> from sklearn.linear_model import QuantileRegressor
    >>> X, y = np.arange(40.0)[:, None], np.arange(40.0) + np.tile([-2, -1, 1, 2], 10)
    >>> models = fit_quantiles(QuantileRegressor(alpha=0), X, y, levels=[0.1, 0.5, 0.9])
    >>> models.predictive([[10.0]]).quantile(0.9).round(1)
    array([12.])
    """
    refuse_other_index(X=X, y=y, sample_weight=sample_weight)
    from sklearn.base import clone

    grid, name = _read_grid(levels), level_parameter(estimator, parameter)
    truth = one_per_row(X, y, "y")
    passed = routed_weights(estimator, X, sample_weight)
    fits = [clone(estimator).set_params(**{name: float(level)}) for level in grid]
    return QuantileModels(grid, tuple(model.fit(X, truth, **passed) for model in fits))


def gaussian_from(
    regressor: BaseEstimator, X: ArrayLike, *, noise: ArrayLike = 0.0
) -> GaussianPredictive:
    """Return mean and standard deviation that a fitted regressor predicts with ``return_std=True``.

    Parameters
    ----------
    regressor : fitted BayesianRidge, ARDRegression, GaussianProcessRegressor, or Pipeline with one
    X : array-like of shape (n, k)
    noise : float or array-like of shape (n,)
        Standard deviation of the outcome around the curve, where the regressor's own is the
        curve's alone: a GaussianProcessRegressor without WhiteKernel. BayesianRidge includes it.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> X = np.arange(8.0)[:, None]
    >>> forecast = gaussian_from(BayesianRidge().fit(X, 2 * X[:, 0] + [1, -1] * 4), [[8.0]])
    >>> forecast.mean().round(1), forecast.sd.round(1)
    (array([15.5]), array([1.3]))
    """
    refuse_other_index(X=X, noise=noise)
    final = regressor
    while hasattr(final, "steps"):
        final = final.steps[-1][1]
    known = inspect.signature(final.predict).parameters if hasattr(final, "predict") else {}
    if "return_std" not in known:
        raise UsageError(
            "{name} does not predict standard deviations (return_std).",
            code="no-standard-deviation",
            name=type(final).__name__,
            remedy="Use BayesianRidge() or GaussianProcessRegressor(), or residuals_from("
            "regressor, X, X_held_out, y_held_out).",
        )
    extra = finite(noise, "noise")
    refuse_negative(extra, "noise")
    mean, sd = regressor.predict(X, return_std=True)
    if hasattr(final, "X_offset_") and _forgets_to_centre():
        inner = regressor[:-1].transform(X) if final is not regressor else np.asarray(X)
        sd = final.predict(inner - final.X_offset_, return_std=True)[1]
    common_length({"return_std": len(sd), "noise": len(extra)})
    return GaussianPredictive(mean, np.hypot(finite(sd, "return_std"), extra))


def _forgets_to_centre() -> bool:
    """Whether BayesianRidge and ARDRegression measure deviations around 0, not the rows' mean.

    scikit-learn did before 1.9: too wide for columns whose mean is far from 0.
    """
    import sklearn
    from sklearn.utils.fixes import parse_version

    return bool(parse_version(sklearn.__version__) < parse_version("1.9"))


def residuals_from(
    regressor: BaseEstimator,
    X: ArrayLike,
    X_held_out: ArrayLike,
    y_held_out: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> EmpiricalPredictive:
    """Return predictions plus the errors made on rows that the regressor was not fitted to.

    **Assumes** errors of one distribution for all rows, small predictions and large ones alike;
    where errors grow with the prediction, fit quantiles. Errors on rows that were fitted to are
    too small.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> line = LinearRegression().fit([[0.0], [1.0]], [0.0, 2.0])
    >>> residuals_from(line, [[5.0]], [[2.0], [3.0], [4.0]], [3.0, 6.0, 10.0]).quantile(0.9)
    array([12.])
    """
    refuse_other_index(X_held_out=X_held_out, y_held_out=y_held_out, sample_weight=sample_weight)
    check_regressor(regressor, "LinearRegression().fit(X, y)")
    truth = one_per_row(X_held_out, y_held_out, "y_held_out", "X_held_out")
    # A regressor fitted to a column predicts one: (n, 1) less (n,) would be a table.
    errors = truth - finite(regressor.predict(X_held_out), "predict(X_held_out)")
    return EmpiricalPredictive(errors, sample_weight, shift=regressor.predict(X))


def cross_residuals(
    regressor: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    X_new: ArrayLike,
    *,
    cv: int | BaseCrossValidator | Iterable[tuple[Array, Array]] = 5,
    sample_weight: ArrayLike | None = None,
) -> EmpiricalPredictive:
    """Return predictions of a fit to all rows plus errors of cross-validated fits.

    As `residuals_from`, without rows set aside: each error is of a model fitted without its fold
    (so of slightly fewer rows: errors are on the safe side). `cv` as scikit-learn takes it; rows
    in time order need a splitter of their own and `residuals_from`.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = np.arange(20.0)[:, None], np.arange(20.0) + np.tile([-1.0, 1.0], 10)
    >>> cross_residuals(LinearRegression(), X, y, [[20.0]]).cdf(20.0).round(1)
    array([0.5])
    """
    refuse_other_index(X=X, y=y, sample_weight=sample_weight)
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_predict

    check_regressor(regressor, "LinearRegression()")
    truth = one_per_row(X, y, "y")
    if isinstance(cv, int) and cv > len(truth):
        raise DataError(
            "{cv} must be at most {rows:,}, the number of rows, got {value}.",
            code="too-few-rows",
            cv=Argument("cv"),
            rows=len(truth),
            value=cv,
        )
    passed = routed_weights(regressor, X, sample_weight)
    held_out = finite(cross_val_predict(regressor, X, truth, cv=cv, params=passed), "predict(X)")
    fitted = clone(regressor).fit(X, truth, **passed)
    weight = next(iter(passed.values()), None)
    return EmpiricalPredictive(truth - held_out, weight, shift=fitted.predict(X_new))


def _read_grid(levels: ArrayLike) -> Array:
    """Return increasing levels between 0 and 1."""
    grid = finite(levels, "levels")
    if not ((grid > 0) & (grid < 1)).all() or not (np.diff(grid) > 0).all():
        raise UsageError(
            "{argument} must increase between 0 and 1, such as [0.1, 0.5, 0.9], got {value}.",
            code="level-range",
            argument=Argument("levels"),
            value=grid.tolist(),
        )
    return grid


def one_per_row(X: ArrayLike, values: ArrayLike, name: str, table: str = "X") -> Array:
    """Return one finite number per row of X."""
    held = finite(values, name)
    shape = getattr(X, "shape", None)
    n_rows = shape[0] if shape else len(X) if isinstance(X, (list, tuple)) else len(held)
    if n_rows != len(held):
        raise DataError(
            "{table} has {rows:,} rows and {argument} has {found:,} values.",
            code="length-mismatch",
            table=Argument(table),
            rows=n_rows,
            argument=Argument(name),
            found=len(held),
        )
    return held


def routed_weights(
    estimator: BaseEstimator, X: ArrayLike, sample_weight: ArrayLike | None
) -> dict[str, Array]:
    """Return weights under the name by which they reach the regressor, inside a Pipeline too."""
    from sklearn.utils.validation import has_fit_parameter

    if sample_weight is None:
        return {}
    inner, route = estimator, "sample_weight"
    while hasattr(inner, "steps"):
        route, inner = f"{inner.steps[-1][0]}__{route}", inner.steps[-1][1]
    if not has_fit_parameter(inner, "sample_weight"):
        raise UsageError(
            "{estimator}.fit takes no sample_weight.",
            code="no-sample-weight",
            estimator=type(inner).__name__,
            remedy="Leave it out.",
        )
    held = one_per_row(X, sample_weight, "sample_weight")
    refuse_negative(held, "sample_weight", code="weight-range")
    return {route: held}


def check_regressor(estimator: BaseEstimator, example: str) -> None:
    """Refuse an object that cannot predict, and a class in place of an instance."""
    if isinstance(estimator, type) or not hasattr(estimator, "predict"):
        raise UsageError(
            "{estimator!r} is not a regressor. Give {example}, for example.",
            code="not-a-regressor",
            estimator=estimator,
            example=example,
        )


def level_parameter(estimator: BaseEstimator, named: str | None = None) -> str:
    """Return the parameter that sets the level, inside a Pipeline too."""
    check_regressor(estimator, "QuantileRegressor()")
    if not hasattr(estimator, "get_params"):
        raise UsageError(
            "{estimator!r} is not a regressor: it has no get_params().",
            code="not-a-regressor",
            estimator=estimator,
        )
    settings = estimator.get_params(deep=True)
    if named is not None:
        if not isinstance(named, str) or named not in settings:
            raise UsageError(
                "{estimator} has no parameter {parameter!r}.{hint}",
                code="unknown-parameter",
                estimator=type(estimator).__name__,
                parameter=named,
                hint=suggest(str(named), settings),
                remedy="Give the name that set_params takes, inside a Pipeline with its step, as "
                "in 'step__quantile'.",
            )
        return named
    found, kinds = [], []
    for stem in dict.fromkeys(name.rpartition("__")[0] for name in settings):
        part = {k: settings.get(f"{stem}__{k}" if stem else k) for k in ("loss", "objective")}
        kind = part["loss"] or part["objective"]
        names = [f"{stem}__{k}" if stem else k for k in ("quantile", "alpha")]
        if names[0] in settings and kind in (None, "quantile"):
            found.append(names[0])  # before alpha, which is a penalty in QuantileRegressor
        elif kind == "quantile":
            found.append(names[1])
        kinds += [f"{word}={kind!r}" for word, value in part.items() if value == kind and kind]
    if len(found) == 1:
        return found[0]
    name = type(estimator).__name__
    if found:
        raise UsageError(
            "{estimator} has several levels: {found}.",
            code="several-levels",
            estimator=name,
            found=found,
            parameter=Argument("parameter", found[0]),
            remedy="Choose one, such as {parameter}.",
        )
    raise UsageError(
        "{estimator} ({kind}) does not predict quantiles.",
        code="no-quantiles",
        estimator=name,
        kind=kinds[0] if kinds else "without a quantile loss",
        parameter=Argument("parameter"),
        remedy='Use QuantileRegressor(), HistGradientBoostingRegressor(loss="quantile") or '
        'GradientBoostingRegressor(loss="quantile"), or name its {parameter}.',
    )
