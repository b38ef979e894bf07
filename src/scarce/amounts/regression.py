"""How much should I order, reserve, schedule? The number whose expected cost is least.

    action = argmin over a of E[cost(y, a) | x]                              (003 sections 0.2, 0.6)

Squared cost gives the mean, absolute the median, `Pinball(under, over)` the quantile at under /
(under + over), `Linex` a mean pushed to the dear side: closed forms. Any other cost(y, action) is
integrated (panels that end where the cost bends) and minimised by a scan and parabolas. Assumes
that the predictive is right for each row, and that rows do not compete for anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from scarce.amounts.law_readers import agree, finite, refuse_negative
from scarce.amounts.outside_law import OutsidePredictive
from scarce.amounts.own_cost import read_own_cost
from scarce.amounts.predictive import GaussianPredictive, Predictive
from scarce.amounts.quadrature import exp_less
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError, refuse_word, warn_user

CELLS = 1 << 17  # numbers of a table held at once: 1 MB, so that they stay in cache
LOOSE = 1e-4  # an expected cost known less well than this, for its size, is warned about


class _PerRow:
    """Costs given once, or once per row."""

    closed, heavy = True, False

    def __post_init__(self) -> None:
        for name in self._names():
            object.__setattr__(self, name, finite(getattr(self, name), name))
        agree({name: len(getattr(self, name)) for name in self._names()})

    def _names(self) -> list[str]:
        return [part.name for part in fields(self)]  # type: ignore[arg-type]

    @property
    def n_rows(self) -> int:
        """How many rows the costs are given for; 1 for all alike."""
        return max([1, *(len(getattr(self, name)) for name in self._names())])

    def take(self, rows: Any) -> Self:
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
            refuse_negative(getattr(self, name), name, "a cost per unit is 0 or above")
        nothing = np.flatnonzero((self.under == 0) & (self.over == 0))
        if len(nothing):
            raise UsageError(
                f"under and over are both 0 (row {nothing[0]:,}): then every action costs nothing. "
                "Give at least one of them a cost above 0."
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

    def best(self, law: Any) -> Array:
        """Return the quantile at `level`."""
        for name in ("under", "over"):
            free = np.flatnonzero(getattr(self, name) == 0)
            if len(free):
                raise UsageError(
                    f"{name}=0 (row {free[0]:,}) makes an infinite action best: give {name} a cost "
                    "above 0, or the actions to choose from, actions=[...]."
                )
        if not isinstance(law, GaussianPredictive):
            return np.asarray(law.quantile(self.level))
        # The smaller tail is its own number: 1 - 1e-18 would be 1.
        upper = -ndtri(self.over / (self.under + self.over))
        normal_score = np.where(self.under > self.over, upper, ndtri(self.level))
        return np.asarray(law.centre + law.sd * normal_score)

    def expected(self, law: Any, action: Array) -> Array:
        """Return the expected cost of each row's action."""
        above, below = law.excess(action)
        return np.asarray(self.under * above + self.over * below)


@dataclass(frozen=True, eq=False)
class Linex(_PerRow):
    """Exponential on one side, nearly linear on the other: for errors that end in disaster.

    ``scale * (exp(rate * (y - a)) - rate * (y - a) - 1)``; the best action is ``log E exp(rate * y)
    / rate``, for a Gaussian ``mean + rate * sd^2 / 2`` (Varian 1975; Zellner 1986).

    Parameters
    ----------
    rate : float or array-like of shape (n,)
        Above 0 when it is dear that the truth lies above the action, below 0 for the other side; in
        units of 1 / y. `rate` times the standard deviation says how lopsided: 1 is strong.
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
            raise UsageError('rate=0 makes every action free: for a symmetric cost use "squared".')
        if (self.scale <= 0).any():
            raise UsageError(f"scale={self.scale.min():g} is no cost unit: give a number above 0.")

    def __call__(self, y: Any, action: Any) -> Any:
        """Return the cost of each action where the truth is y."""
        gap = np.asarray(y) - action
        return _tall(self.scale, gap) * exp_less(_tall(self.rate, gap) * gap)

    def best(self, law: Any) -> Array:
        """Return log E exp(rate y) / rate."""
        return np.asarray(law.mean() + law.cumulant(self.rate) / self.rate)

    def expected(self, law: Any, action: Array) -> Array:
        """Return the expected cost of each row's action."""
        extra = law.cumulant(self.rate)
        # log E exp(rate (y - a)) = rate (mean - a) + extra; its first order cancels but for extra.
        exponent = self.rate * (law.mean() - action) + extra
        return np.asarray(self.scale * (exp_less(exponent) + extra))


@dataclass(frozen=True, eq=False)
class _Squared(_PerRow):
    def best(self, law: Any) -> Array:
        return np.asarray(law.mean())

    def expected(self, law: Any, action: Array) -> Array:
        return np.asarray(law.variance() + (law.mean() - action) ** 2)


def decide_regression(
    predictive: Predictive,
    cost: str | Callable[..., Any],
    *,
    actions: ArrayLike | None = None,
    columns: Mapping[str, ArrayLike] | None = None,
    kinks: Any = None,
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

    **Assumes** that the predictive is right, in its spread as in its mean.

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
    law, rule, n_rows = _prepare(predictive, cost, columns, kinks)
    if actions is None:
        best = _by_pieces(law, rule, n_rows, lambda law, rule: rule.best(law))
        if not np.isfinite(best).all():
            raise UsageError(
                f"The best action of row {int(np.argmin(np.isfinite(best))):,} is not finite: its "
                "spread, or the cost, is beyond what a number holds. Give them in larger units."
            )
        return best
    listed = np.unique(finite(actions, "actions"))
    best = _by_pieces(law, rule, n_rows, lambda law, rule: _best_listed(law, rule, listed))
    none = np.flatnonzero(np.isnan(best))
    if len(none):
        raise UsageError(
            f"The expected cost of each of the {len(listed):,} actions listed is infinite, or too "
            f"large for a number, in {len(none):,} row(s) (first row {none[0]:,}), so none is "
            "best there: list others, or give a cost that grows less fast."
        )
    return best


def expected_regression_cost(
    predictive: Predictive,
    cost: str | Callable[..., Any],
    actions: ArrayLike,
    *,
    columns: Mapping[str, ArrayLike] | None = None,
    kinks: Any = None,
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
    law, rule, n_rows = _prepare(predictive, cost, columns, kinks, actions=len(given))
    given = np.broadcast_to(given, n_rows)
    cost_of = _by_pieces(law, rule, n_rows, _expected, given)
    vast = np.flatnonzero(np.isinf(cost_of))
    if len(vast):
        warn_user(
            f"The expected cost of {len(vast):,} row(s) (first row {vast[0]:,}, action="
            f"{given[vast[0]]:g}) is infinite, or too large for a number."
        )
    return cost_of


def _expected(law: Any, rule: Any, action: Array) -> Array:
    """Return the expected cost; refuse what is no number, as infinity less infinity."""
    value = rule.expected(law, action)
    if np.isnan(value).any():
        row = int(np.argmax(np.isnan(value)))
        raise DataError(
            f"The expected cost of action={action[row]:g} cannot be worked out: the numbers are "
            "too large. Give quantities and costs in larger units."
        )
    return np.asarray(value)


def _best_listed(law: Any, rule: Any, listed: Array) -> Array:
    """Return the cheapest action of the list; NaN where none has a finite cost."""
    best, least = np.full(law.n_rows, np.nan), np.full(law.n_rows, np.inf)
    for action in listed:
        value = _expected(law, rule, np.full(law.n_rows, action))
        best, least = np.where(value < least, action, best), np.minimum(value, least)
    return best


def _prepare(
    predictive: Any, cost: Any, columns: Any, kinks: Any, **lengths: int
) -> tuple[Any, Any, int]:
    for given in (predictive, cost):
        if isinstance(given, type):
            name = given.__name__
            raise UsageError(f"{name} is a class: give what is made from it, {name}(...).")
    if not isinstance(predictive, Predictive):
        raise UsageError(
            f"{type(predictive).__name__} is no predictive distribution: give GaussianPredictive("
            "mean, sd), or another object with mean(), quantile(level) and cdf(y)."
        )
    rule: Any = cost
    if isinstance(cost, str):
        refuse_word("cost", cost, ("squared", "absolute"))
        rule = _Squared() if cost == "squared" else Pinball(1.0, 1.0)
    elif not isinstance(cost, _PerRow):
        if not callable(cost):
            raise UsageError(
                f"cost={cost!r} is no cost: give 'squared', 'absolute', Pinball(under=, over=), "
                "Linex(rate=), or a function cost(y, action)."
            )
        rule = read_own_cost(cost, columns, kinks)
        lengths.update({name: len(values) for name, values in rule.columns.items()})
    if rule.closed:
        _refuse_unused(cost, columns, kinks)
    law: Any = predictive if hasattr(predictive, "nodes") else OutsidePredictive(predictive)
    n_rows = agree({"the predictive": law.n_rows, "the cost": rule.n_rows, **lengths})
    return law.take(np.zeros(n_rows, dtype=np.intp)) if law.n_rows < n_rows else law, rule, n_rows


def _refuse_unused(cost: Any, columns: Any, kinks: Any) -> None:
    """Refuse what only a function of the user's could make use of."""
    name = repr(cost) if isinstance(cost, str) else type(cost).__name__
    if columns is not None and not (isinstance(columns, Mapping) and not columns):
        raise UsageError(
            f"columns= is for a function cost(y, action, ...); {name} takes no columns beside it: "
            "leave it out, or give the costs of each row as Pinball(under=array, over=array)."
        )
    if kinks is not None:
        raise UsageError(
            f"kinks= is for a function cost(y, action); {name} has none but at the action, and is "
            "exact: leave it out."
        )


def _by_pieces(law: Any, rule: Any, n_rows: int, work: Any, *columns: Array) -> Array:
    """Run over parts of the rows, so that memory is bounded; say where the integral is rough."""
    cells = law.node_count if rule.heavy else law.cells
    step = n_rows if law.whole else max(1, CELLS // cells)
    out, doubt = np.empty(n_rows), np.zeros(n_rows)
    for start in range(0, n_rows, step):
        rows = slice(start, start + step)
        some, its = (law, rule) if step >= n_rows else (law.take(rows), rule.take(rows))
        parts = [values[rows] for values in columns]
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is said after
            out[rows] = work(some, its, *parts)
            if not rule.closed:
                acted = parts[0] if parts else out[rows]
                doubt[rows] = its.doubt(some, np.nan_to_num(acted))
    loose = int((doubt > LOOSE).sum())
    if loose:
        warn_user(
            f"The expected cost of {loose:,} row(s) is known only to {doubt.max():.1g} of its "
            "size: the cost bends or jumps at some y. Say where: kinks=[50.0] or, for y that move "
            "with the action, kinks=lambda action: [action + 5]."
        )
    return out


def _tall(values: Array, like: Any) -> Array:
    return values.reshape(-1, *[1] * (like.ndim - 1)) if like.ndim else values[0]
