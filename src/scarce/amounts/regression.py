"""How much should I order, reserve, schedule? The number whose expected cost is least.

    action = argmin over a of E[cost(y, a) | x]                              (003 sections 0.2, 0.6)

Squared cost gives the mean, absolute the median, `Pinball(under, over)` the quantile at under /
(under + over), `Linex` a mean pushed to the expensive side: closed forms. Any other cost(y, action)
is integrated (panels that end where the cost bends) and minimised: some actions are tried, the best
is bracketed, and parabolas close in on it, all rows together. Assumes that the predictive is right
for each row, that rows do not compete for anything, and that a function is smooth but for corners
and jumps at the action and at the kinks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from scarce.amounts.predictive import (
    Distribution,
    EmpiricalPredictive,
    GaussianPredictive,
    OutsidePredictive,
    Predictive,
    Rows,
    common_length,
    exp_less,
    finite,
    numbers,
    weighted_mean,
)
from scarce.checks import refuse_negative, refuse_other_index
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, Phrase, UsageError, refuse_word, warn_user
from scarce.results import in_rows

Kinks = ArrayLike | Callable[[Array], Any] | None
CELLS = 1 << 17  # numbers of a table held at once: 1 MB, they stay in cache
LOOSE = 1e-4  # an expected cost known less well than this, for its size, is warned about


class Rule(Protocol):
    """A cost of amounts: its best action, and the expected cost of any."""

    closed: bool  # exact, in closed form
    heavy: bool  # works on a table of points per row

    @property
    def n_rows(self) -> int:
        """How many rows the costs are given for; 1 for all alike."""

    def take(self, rows: Rows) -> Self:
        """Return the costs of these rows."""

    def best(self, forecast: Distribution) -> Array:
        """Return the action whose expected cost is least."""

    def expected(self, forecast: Distribution, action: Array) -> Array:
        """Return the expected cost of each row's action."""


class _PerRow:
    """Costs given once, or once per row."""

    closed, heavy = True, False

    def __post_init__(self) -> None:
        refuse_other_index(**{name: getattr(self, name) for name in self._names()})
        for name in self._names():
            object.__setattr__(self, name, finite(getattr(self, name), name))
        common_length({name: len(getattr(self, name)) for name in self._names()})

    def _names(self) -> list[str]:
        return [part.name for part in fields(self)]  # type: ignore[arg-type]

    @property
    def n_rows(self) -> int:
        """How many rows the costs are given for; 1 for all alike."""
        return max([1, *(len(getattr(self, name)) for name in self._names())])

    def take(self, rows: Rows) -> Self:
        """Return the costs of these rows."""
        held = (getattr(self, name) for name in self._names())
        return type(self)(*(values if len(values) == 1 else values[rows] for values in held))


@dataclass(frozen=True, eq=False)
class Pinball(_PerRow):
    """So much per unit when the truth is above the action, so much per unit when it is below.

    ``under * max(y - a, 0) + over * max(a - y, 0)``; the best action is the quantile at `level`.

    Parameters
    ----------
    under : float or array-like of shape (n,)
        Cost per unit that the action is too small (003: c1): lost sales, a fine, a stop.
    over : float or array-like of shape (n,)
        Cost per unit that the action is too large (003: c2): waste, capital, idle hours.

    Examples
    --------
    >>> Pinball(under=3, over=1).level
    array([0.75])
    >>> Pinball(under=3, over=1)(y=[10.0, 7.0], action=8.0)
    array([6., 1.])
    """

    under: Any
    over: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("under", "over"):
            refuse_negative(getattr(self, name), name)
        nothing = np.flatnonzero((self.under == 0) & (self.over == 0))
        if len(nothing):
            raise UsageError(
                "{under} and {over} are both 0 (row {row:,}): every action would cost nothing.",
                code="no-cost",
                under=Argument("under"),
                over=Argument("over"),
                row=int(nothing[0]),
                remedy="Give at least one of them a cost above 0.",
            )

    @property
    def level(self) -> Array:
        """The quantile that is best: under / (under + over), shape (1,) or (n,)."""
        return np.asarray(self.under / (self.under + self.over))

    def __call__(self, y: Any, action: Any) -> Any:
        """Return the cost of each action where the truth is y."""
        gap = np.asarray(y) - action
        under, over = _tall(self.under, gap), _tall(self.over, gap)
        return under * np.maximum(gap, 0) + over * np.maximum(-gap, 0)

    def best(self, forecast: Distribution) -> Array:
        """Return the quantile at `level`."""
        for name in ("under", "over"):
            free = np.flatnonzero(getattr(self, name) == 0)
            if len(free):
                raise UsageError(
                    "{argument} (row {row:,}) makes an infinite action best.",
                    code="no-best-action",
                    argument=Argument(name, 0),
                    row=int(free[0]),
                    actions=Argument("actions", ...),
                    remedy="Give a cost above 0, or the actions to choose from, {actions}.",
                )
        if not isinstance(forecast, GaussianPredictive):
            return np.asarray(forecast.quantile(self.level))
        # The smaller tail is its own number: 1 - 1e-18 would be 1.
        upper = -ndtri(self.over / (self.under + self.over))
        normal_score = np.where(self.under > self.over, upper, ndtri(self.level))
        return np.asarray(forecast.centre + forecast.sd * normal_score)

    def expected(self, forecast: Distribution, action: Array) -> Array:
        """Return the expected cost of each row's action."""
        above, below = forecast.excess(action)
        return np.asarray(self.under * above + self.over * below)


@dataclass(frozen=True, eq=False)
class Linex(_PerRow):
    """Exponential on one side, nearly linear on the other: for errors that end in disaster.

    ``scale * (exp(rate * (y - a)) - rate * (y - a) - 1)``; the best action is ``log E exp(rate * y)
    / rate``, for a Gaussian ``mean + rate * sd^2 / 2`` (Varian 1975; Zellner 1986).

    Parameters
    ----------
    rate : float or array-like of shape (n,)
        Above 0 when it is expensive that the truth lies above the action, below 0 for the other
        side; in units of 1 / y. `rate` times the standard deviation says how lopsided: 1 is strong.
    scale : float or array-like of shape (n,)
        Cost units; changes no action.

    Examples
    --------
    >>> decide_regression(GaussianPredictive(100.0, 20.0), Linex(rate=0.1))
    array([120.])
    """

    rate: Any
    scale: Any = 1.0
    heavy = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.rate == 0).any():
            raise UsageError(
                "{rate} makes every action free.",
                code="no-cost",
                rate=Argument("rate", 0),
                remedy='For a symmetric cost use "squared".',
            )
        if (self.scale <= 0).any():
            raise UsageError(
                "{argument} must be above 0, got {value:g}.",
                code="number-range",
                argument=Argument("scale"),
                value=float(self.scale.min()),
            )

    def __call__(self, y: Any, action: Any) -> Any:
        """Return the cost of each action where the truth is y."""
        gap = np.asarray(y) - action
        return _tall(self.scale, gap) * exp_less(_tall(self.rate, gap) * gap)

    def best(self, forecast: Distribution) -> Array:
        """Return log E exp(rate y) / rate."""
        return np.asarray(forecast.mean() + forecast.cumulant(self.rate) / self.rate)

    def expected(self, forecast: Distribution, action: Array) -> Array:
        """Return the expected cost of each row's action."""
        extra = forecast.cumulant(self.rate)
        # log E exp(rate (y - a)) = rate (mean - a) + extra; its first order cancels but for extra.
        exponent = self.rate * (forecast.mean() - action) + extra
        return np.asarray(self.scale * (exp_less(exponent) + extra))


@dataclass(frozen=True, eq=False)
class _Squared(_PerRow):
    def best(self, forecast: Distribution) -> Array:
        return np.asarray(forecast.mean())

    def expected(self, forecast: Distribution, action: Array) -> Array:
        return np.asarray(forecast.variance() + (forecast.mean() - action) ** 2)


def decide_regression(
    predictive: Predictive,
    cost: str | Callable[..., Any],
    *,
    actions: ArrayLike | None = None,
    columns: Mapping[str, ArrayLike] | None = None,
    kinks: Kinks = None,
) -> Array:
    """Return for each row the number whose expected cost is least: ndarray of shape (n,).

    Parameters
    ----------
    predictive : GaussianPredictive, EmpiricalPredictive, QuantilePredictive or your own
        What the truth may be; see `Predictive` for the three methods that your own needs.
    cost : {"squared", "absolute"}, Pinball, Linex, or a function cost(y, action)
        A function gets y of shape (rows, points) and action of shape (rows, 1), a part of the rows
        at a time, and returns one cost for each y: write it with NumPy functions.
    actions : array-like of shape (g,), optional
        The only numbers that can be acted on, such as ``12 * np.arange(50)`` for crates of twelve.
        Of equally good ones the smallest is taken.
    columns : mapping of name to array-like of shape (n,), optional
        What the function needs of each row, handed to it by name with shape (rows, 1). For a
        function only: the named costs take theirs themselves, Pinball(under=array, over=array).
    kinks : array-like of shape (s,), or function of the actions, optional
        Values of y, other than the action, at which the function bends or jumps. A function gets
        the actions, shape (rows,), and returns an array of that shape or a list of such.

    **Assumes** that the predictive is right, in its standard deviation as in its mean.

    Notes
    -----
    Named costs are exact to rounding. For a function that is smooth but for corners and jumps at
    the action and at `kinks`, the expected cost is right to about 1e-10 of its size (for samples,
    to rounding; for |y - a|^1.5, to 1e-5; a warning says where 1e-4 is missed) and the action to
    1e-7 standard deviations. It need not be convex: 17 actions between the 0.07 % and 99.93 %
    quantiles (of samples: each distinct one up to 64 of them, else 64 quantiles) are tried, and
    more beyond while the cost falls, before the best is refined; a dip narrower than their distance
    (0.4 sd) can be missed. An action whose expected cost is infinite is never taken.

    Examples
    --------
    >>> demand = GaussianPredictive([100.0, 40.0], [20.0, 5.0])
    >>> decide_regression(demand, Pinball(under=3, over=1)).round(2)    # a lost sale costs 3
    array([113.49,  43.37])
    >>> decide_regression(demand, Pinball(under=3, over=1), actions=12 * np.arange(20))
    array([108.,  48.])
    >>> def penalty(y, action, fee):
    ...     return np.where(y > action, fee + (y - action), 0.2 * (action - y))
    >>> decide_regression(demand, penalty, columns={"fee": [0.0, 10.0]}).round(2)
    array([119.35,  49.01])
    """
    forecast, rule, n_rows = _prepare(predictive, cost, columns, kinks)
    if actions is None:
        best = _by_pieces(forecast, rule, n_rows, lambda forecast, rule: rule.best(forecast))
        if not np.isfinite(best).all():
            raise UsageError(
                "The best action of row {row:,} is not finite: its standard deviation, or the "
                "cost, is too large for a number.",
                code="overflow",
                row=int(np.argmin(np.isfinite(best))),
                remedy="Give them in larger units.",
            )
        return best
    listed = np.unique(finite(actions, "actions"))
    best = _by_pieces(
        forecast, rule, n_rows, lambda forecast, rule: _best_listed(forecast, rule, listed)
    )
    none = np.flatnonzero(np.isnan(best))
    if len(none):
        raise UsageError(
            "The expected cost of each of the {count:,} actions listed is infinite, or too large "
            "for a number, in {rows} (first row {row:,}).",
            code="no-best-action",
            count=len(listed),
            rows=in_rows(len(none)),
            row=int(none[0]),
            remedy="List others, or give a cost that grows less fast.",
        )
    return best


def expected_regression_cost(
    predictive: Predictive,
    cost: str | Callable[..., Any],
    actions: ArrayLike,
    *,
    columns: Mapping[str, ArrayLike] | None = None,
    kinks: Kinks = None,
) -> Array:
    """Return what each row's action is expected to cost; arguments as in `decide_regression`.

    Infinite, with a warning, where the cost is infinite or too large for a number.

    Examples
    --------
    >>> demand, cost = GaussianPredictive(100.0, 20.0), Pinball(under=3, over=1)
    >>> plain, best = demand.mean(), decide_regression(demand, cost)
    >>> [float(expected_regression_cost(demand, cost, a)[0].round(2)) for a in (plain, best)]
    [31.92, 25.42]
    """
    given = finite(actions, "actions")
    forecast, rule, n_rows = _prepare(predictive, cost, columns, kinks, actions=len(given))
    given = np.broadcast_to(given, n_rows)
    cost_of = _by_pieces(forecast, rule, n_rows, _expected, given)
    vast = np.flatnonzero(np.isinf(cost_of))
    if len(vast):
        warn_user(
            "The expected cost of {rows} (first row {row:,}, action={action:g}) is infinite, or "
            "too large for a number.",
            code="infinite-cost",
            rows=in_rows(len(vast)),
            row=int(vast[0]),
            action=float(given[vast[0]]),
        )
    return cost_of


def _expected(forecast: Distribution, rule: Rule, action: Array) -> Array:
    """Return the expected cost; infinity less infinity is an error."""
    value = rule.expected(forecast, action)
    if np.isnan(value).any():
        row = int(np.argmax(np.isnan(value)))
        raise DataError(
            "The expected cost of action={action:g} is too large for a number.",
            code="overflow",
            action=float(action[row]),
            remedy="Give quantities and costs in larger units.",
        )
    return np.asarray(value)


def _best_listed(forecast: Distribution, rule: Rule, listed: Array) -> Array:
    """Return the cheapest action of the list; NaN where none has a finite cost."""
    best, least = np.full(forecast.n_rows, np.nan), np.full(forecast.n_rows, np.inf)
    for action in listed:
        value = _expected(forecast, rule, np.full(forecast.n_rows, action))
        best, least = np.where(value < least, action, best), np.minimum(value, least)
    return best


def _prepare(
    predictive: Predictive,
    cost: str | Callable[..., Any],
    columns: Mapping[str, ArrayLike] | None,
    kinks: Kinks,
    **lengths: int,
) -> tuple[Distribution, Rule, int]:
    """Return the distribution and the cost rule, both checked, and the number of rows."""
    for given in (predictive, cost):
        if isinstance(given, type):
            raise UsageError(
                "{name} is a class. Give an instance, {name}(...).",
                code="class-not-instance",
                name=given.__name__,
            )
    if not isinstance(predictive, Predictive):
        raise UsageError(
            "{name} is not a predictive distribution.",
            code="not-predictive",
            name=type(predictive).__name__,
            remedy="Give GaussianPredictive(mean, sd), or another object with mean(), "
            "quantile(level) and cdf(y).",
        )
    rule: Rule
    if isinstance(cost, str):
        refuse_word("cost", cost, ("squared", "absolute"))
        rule = _Squared() if cost == "squared" else Pinball(1.0, 1.0)
    elif isinstance(cost, (Pinball, Linex)):
        rule = cost
    elif callable(cost):
        rule = _read_function(cost, columns, kinks)
        lengths.update({name: len(values) for name, values in rule.columns.items()})
    else:
        raise UsageError(
            "{cost} is not a cost.",
            code="cost-type",
            cost=Argument("cost", cost),
            remedy="Give 'squared', 'absolute', Pinball(under=, over=), Linex(rate=), or a "
            "function cost(y, action).",
        )
    if rule.closed:
        _refuse_unused(cost, columns, kinks)
    known: Any = predictive if hasattr(predictive, "nodes") else OutsidePredictive(predictive)
    found: Distribution = known
    n_rows = common_length({"the predictive": found.n_rows, "the cost": rule.n_rows, **lengths})
    if found.n_rows < n_rows:
        found = found.take(np.zeros(n_rows, dtype=np.intp))
    return found, rule, n_rows


def _refuse_unused(cost: object, columns: Mapping[str, ArrayLike] | None, kinks: Kinks) -> None:
    """Refuse arguments that only a function of the user's could use."""
    name = repr(cost) if isinstance(cost, str) else type(cost).__name__
    if columns is not None and not (isinstance(columns, Mapping) and not columns):
        raise UsageError(
            "{argument} is for a function cost(y, action, ...), and {name} takes no columns.",
            code="unused-argument",
            argument=Argument("columns"),
            name=name,
            remedy="Leave it out, or give the costs of each row as Pinball(under=array, "
            "over=array).",
        )
    if kinks is not None:
        raise UsageError(
            "{argument} is for a function cost(y, action), and {name} bends only at the action.",
            code="unused-argument",
            argument=Argument("kinks"),
            name=name,
            remedy="Leave it out.",
        )


def _by_pieces(
    forecast: Distribution, rule: Rule, n_rows: int, work: Callable[..., Array], *columns: Array
) -> Array:
    """Run over parts of the rows, which bounds memory; warn where the integral is rough."""
    cells = forecast.node_count if rule.heavy else forecast.cells
    step = n_rows if forecast.whole else max(1, CELLS // cells)
    out, error = np.empty(n_rows), np.zeros(n_rows)
    for start in range(0, n_rows, step):
        rows = slice(start, start + step)
        some, its = (forecast, rule) if step >= n_rows else (forecast.take(rows), rule.take(rows))
        parts = [values[rows] for values in columns]
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is said after
            out[rows] = work(some, its, *parts)
            if isinstance(its, OwnCost):
                acted = parts[0] if parts else out[rows]
                error[rows] = its.integration_error(some, np.nan_to_num(acted))
    loose = int((error > LOOSE).sum())
    if loose:
        warn_user(
            "The expected cost of {rows} is known only to {error:.1g} of its size: the cost bends "
            "or jumps at some y.",
            code="rough-integral",
            rows=in_rows(loose),
            error=float(error.max()),
            fixed=Argument("kinks", [50.0]),
            moving=Phrase("kinks=lambda action: [action + 5]"),
            remedy="Say where with {fixed} or, for y that move with the action, {moving}.",
        )
    return out


def _tall(values: Array, like: NDArray[Any]) -> Any:
    return values.reshape(-1, *[1] * (like.ndim - 1)) if like.ndim else values[0]


Three = tuple[Array, Array, Array]
SAME = 1e-9  # differences below this, for the size of the costs, are the quadrature's own (1e-10)


@dataclass(frozen=True, eq=False)
class OwnCost:
    """A function of the user's, integrated over the predictive; made by `_read_function`."""

    function: Callable[..., Any]
    columns: Mapping[str, Array]
    kinks: Any = None
    closed, heavy, n_rows = False, True, 1  # its columns are counted when they are read

    def take(self, rows: Rows) -> OwnCost:
        """Return the costs of these rows."""
        held = {name: v if len(v) == 1 else v[rows] for name, v in self.columns.items()}
        return OwnCost(self.function, held, self.kinks)

    def best(self, forecast: Distribution) -> Array:
        """Return the action found by search, or the sample beside it if that costs no more."""
        action, flat = search(forecast, self)
        if flat.any():  # no count: one text for all parts of the rows is shown once
            warn_user(
                "The expected cost of some rows is the same for every action tried, and the "
                "median is returned there.",
                code="flat-cost",
                remedy="Does cost(y, action) use action?",
            )
        corner = forecast.nearest(action) if isinstance(forecast, EmpiricalPredictive) else action
        nearer = self.expected(forecast, corner) <= self.expected(forecast, action)
        return np.where(nearer, corner, action)

    def expected(self, forecast: Distribution, action: Array) -> Array:
        """Return the expected cost of each row's action."""
        y, weight = forecast.nodes(self.splits(action))
        return weighted_mean(self.costs(y, action), weight, action)

    def integration_error(self, forecast: Distribution, action: Array) -> Array:
        """Return by how much of its size the expected cost changes with twice the panels."""
        y, weight = forecast.nodes(self.splits(action), 2)
        cost = self.costs(y, action)
        size = weighted_mean(np.abs(cost), weight, action)
        with np.errstate(invalid="ignore"):  # infinite both times: known well enough
            off = np.abs(weighted_mean(cost, weight, action) - self.expected(forecast, action))
            return np.nan_to_num(off / np.maximum(size, 1e-300), nan=0.0)

    def splits(self, action: Array) -> Array:
        """Where the cost of each row may bend or jump, shape (n, s); at the action in any case."""
        if self.kinks is None:
            return action[:, None]
        own = self.kinks(action) if callable(self.kinks) else list(self.kinks)
        if isinstance(own, np.ndarray) and own.ndim < 2:
            own = [own]  # one y for each action
        try:
            rows = [np.broadcast_to(np.asarray(y, dtype=np.float64), action.shape) for y in own]
        except (TypeError, ValueError) as error:
            raise UsageError(
                "kinks(action) returned {found} ({reason}).",
                code="kinks-result",
                found=_shown(own),
                reason=str(error),
                shape=action.shape,
                remedy="Return a list of numbers, or of arrays of the shape of action, {shape}, as "
                "in lambda action: [action + 5].",
            ) from None
        # A kink at infinity is none; the action is a place where a panel ends in any case.
        rows = [np.where(np.isfinite(y), y, action) for y in rows]
        return np.stack([action, *rows], axis=1)

    def costs(self, y: Array, action: Array) -> Array:
        """Return the costs that the function gives, one for each y, checked."""
        columns = {name: values[:, None] for name, values in self.columns.items()}
        try:
            with np.errstate(all="ignore"):  # np.where works out the branch not taken, too
                found = self.function(y, action[:, None], **columns)
        except ValueError as error:
            if "truth value" not in str(error):
                raise
            raise UsageError(
                "cost(y, action) asks whether a whole array is true, as in `if y > action`.",
                code="cost-not-vectorised",
                remedy="Write np.where(y > action, ..., ...), np.maximum(...), or wrap it in "
                "np.vectorize.",
            ) from error
        try:
            cost = np.asarray(found)
        except ValueError:  # lists of unequal length
            cost = np.empty(0, dtype=object)
        if cost.dtype.kind not in "biuf":
            raise UsageError(
                "cost(y, action) returned {found}, not an array of numbers.",
                code="cost-result",
                found=_shown(found),
                remedy="Return one cost for each y.",
            )
        if cost.shape == y.shape:
            return cost.astype(np.float64, copy=False)
        raise UsageError(
            "cost(y, action) returned shape {found} for y of shape {y} and action of shape "
            "{action}.",
            code="cost-result",
            found=cost.shape,
            y=y.shape,
            action=action[:, None].shape,
            remedy="Return one cost for each y.",
        )


def _strange_columns(found: str) -> UsageError:
    return UsageError(
        "{argument} must be a dict from the names of the function's arguments to values, got "
        "{found}.",
        code="columns-type",
        argument=Argument("columns"),
        found=found,
        example=Argument("columns", {"fee": [0, 25, 25]}),
        remedy="Give {example}, for example.",
    )


def _read_function(
    cost: Callable[..., Any], columns: Mapping[str, ArrayLike] | None, kinks: Any
) -> OwnCost:
    """Return the user's function with the columns it needs; check that it can be called."""
    if columns is not None and not isinstance(columns, Mapping):
        raise _strange_columns(type(columns).__name__)
    for name in columns or {}:
        if not isinstance(name, str):
            raise _strange_columns(f"the name {name!r}")
    held = {name: finite(v, f"columns[{name!r}]") for name, v in (columns or {}).items()}
    _check_call(cost, "cost", ["y", "action"], held)
    if callable(kinks) and not isinstance(kinks, type):
        _check_call(kinks, "kinks", ["action"], {})
    elif kinks is not None:
        held_kinks = numbers(kinks, "kinks")
        kinks = finite(held_kinks, "kinks") if len(held_kinks) else None
    return OwnCost(cost, held, kinks)


def _check_call(
    function: Callable[..., Any], name: str, places: list[str], columns: Mapping[str, Any]
) -> None:
    """Check that a function takes these arguments, before it is run."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some compiled functions do not say what they take
        return
    try:
        signature.bind(*places, **columns)
    except TypeError as error:
        call = ", ".join([*places, *(f"{column}=..." for column in columns)])
        raise UsageError(
            "{argument} cannot be called as {call}: {reason}.",
            code="wrong-signature",
            argument=Argument(name),
            call=f"{name}({call})",
            reason=str(error),
            remedy="What it needs of each row comes by name: columns={{...}}."
            if name == "cost"
            else (),
        ) from None


def _shown(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {value.shape},"
    text = repr(value)
    return text if len(text) < 40 else f"{text[:36]}..."


def search(forecast: Distribution, rule: OwnCost) -> tuple[Array, NDArray[np.bool_]]:
    """Scan, widen where the best lies at the end, then refine, all rows together.

    Returns the action of each row, and where no action was better than another: the middle there.
    """
    points = forecast.trials()
    tried = np.array([rule.expected(forecast, action) for action in points.T])
    best, value = points[np.arange(forecast.n_rows), tried.argmin(axis=0)], tried.min(axis=0)
    gap = points - best[:, None]
    ends = [best + np.where(gap < 0, gap, -np.inf).max(axis=1)]
    ends.append(best + np.where(gap > 0, gap, np.inf).min(axis=1))
    span = np.ptp(points, axis=1)
    for side, sign in enumerate((-1, 1)):
        step = np.where(span > 0, span, np.maximum(np.abs(best), 1.0))
        for _ in range(64):
            open_end = np.isinf(ends[side])
            if not open_end.any():
                break
            trial = np.where(open_end, best + sign * step, best)
            found = rule.expected(forecast, trial)
            falls = open_end & (found < value)
            ends[side] = np.where(open_end & ~falls, trial, ends[side])
            ends[1 - side] = np.where(falls, best, ends[1 - side])
            best, value = np.where(falls, trial, best), np.where(falls, found, value)
            step = 2 * step
        else:
            raise UsageError(
                "The expected cost still falls at action={action:.3g}: no action is best.",
                code="no-best-action",
                action=float(best[np.argmax(open_end)]),
                actions=Argument("actions", ...),
                remedy="Is the sign of cost(y, action) right? Else give {actions}.",
            )
    at_ends = [rule.expected(forecast, end) for end in ends]
    y, weight = forecast.nodes(rule.splits(best))
    size = weighted_mean(np.abs(rule.costs(y, best)), weight, best)
    flat = np.max([*tried, *at_ends], axis=0) - value <= SAME * size
    refined = _refine(forecast, rule, (ends[0], best, ends[1]), (at_ends[0], value, at_ends[1]))
    return np.where(flat, points[:, 0], refined), flat


def _refine(forecast: Distribution, rule: OwnCost, places: Three, values: Three) -> Array:
    """Shrink low < best < high: parabolas through the three, every fourth step golden section."""
    (low, best, high), (at_low, value, at_high) = places, values
    out, rows = np.array(best), np.arange(len(best))
    tolerance = 4e-8 * (high - low) + 4 * np.finfo(np.float64).eps * np.abs(best)
    for turn in range(200):
        out[rows] = best
        going = high - low > 4 * tolerance
        if not going.any():
            break
        if not forecast.whole and going.mean() < 0.7:  # finished rows cost nothing any more
            state = np.array([low, best, high, at_low, value, at_high, tolerance])[:, going]
            low, best, high, at_low, value, at_high, tolerance = state
            forecast, rule, rows = forecast.take(going), rule.take(going), rows[going]
        left, right = best - low, high - best
        further = np.where(right > left, right, -left)
        with np.errstate(all="ignore"):
            before, after = (value - at_low) / left, (at_high - value) / right
            move = -(before * right + after * left) / (2 * (after - before))
        inside = (move > -left) & (move < right) & (after > before) & (turn % 4 < 3)
        # Next to the best already: step beyond the vertex, which brings the further end close too.
        near = (np.abs(move) < 0.1 * np.abs(further)) & (move * further > 0)
        move = np.where(near, 2 * move, move)
        move = np.where(np.abs(move) < tolerance, np.copysign(tolerance, further), move)
        trial = best + np.where(inside, move, 0.381966 * further)
        found = rule.expected(forecast, trial)
        below, better = trial < best, found <= value
        moved_low, moved_high = below ^ better, below == better
        edge, at_edge = np.where(better, best, trial), np.where(better, value, found)
        low, at_low = np.where(moved_low, edge, low), np.where(moved_low, at_edge, at_low)
        high, at_high = np.where(moved_high, edge, high), np.where(moved_high, at_edge, at_high)
        best, value = np.where(better, trial, best), np.where(better, found, value)
    return out
