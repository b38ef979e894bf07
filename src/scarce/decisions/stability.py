"""By how much may a cost, or the prevalence, be wrong before the decision changes?

    cost of a = base_a + factor * part_a,   part_a = sum over varied entries of p_k cost[a, k]

Lines in the factor, so the range on which the chosen action stays cheapest has closed form, row by
row. For two classes the same holds in odds: action b undercuts a where
(cost[b, 0] - cost[a, 0]) + odds * (cost[b, 1] - cost[a, 1]) < 0, and another prevalence multiplies
the odds. Assumes that everything else is right. Varies one thing at a time; for uncertain
probabilities see intervals.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from scarce.checks import Number, Shares, read_number, read_shares, refuse_other_index
from scarce.decisions.cost_entries import Name, position_of
from scarce.decisions.costs import CostMatrix, CostsLike, as_costs
from scarce.decisions.decide import (
    action_counts,
    cheapest,
    class_probabilities,
    row_slices,
    same_rows,
)
from scarce.engine.block import Array
from scarce.errors import Argument, UsageError
from scarce.results import Record, in_rows, to_plain

if TYPE_CHECKING:
    from scarce.prior.label_shift import ShareEstimate

Pair = tuple[Name | None, Name | None]  # action, class; None stands for all
PREVALENCE = Number(0, 1, open_low=True, open_high=True)
FACTORS = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0)


@dataclass(frozen=True, eq=False)
class StableRange(Record):
    """Between which factors on a cost each row's action stays the cheapest.

    Parameters
    ----------
    actions : ndarray of shape (n,)
        The action chosen with the costs as they are.
    low, high : ndarray of shape (n,)
        Factors, 0 <= low <= 1 <= high <= inf. At the ends another action costs the same.
    varied : str
        What was multiplied.
    names : tuple
        Names of the actions.

    Examples
    --------
    >>> print(stable_range([0.02, 0.3, 0.09, 0.9], [[0, 9], [1, 0]]))
    4 rows: 0 for 2, 1 for 2
    share of rows that keep their action if the cost of 0 when the class is 1 were off
    by a factor of up to, either way
      1.25   75 %
       1.5   75 %
         2   75 %
         3   75 %
         5   50 %
        10   25 %
    """

    actions: NDArray[Any]
    low: Array
    high: Array
    varied: str
    names: tuple[Name, ...]

    def __len__(self) -> int:
        return len(self.actions)

    def share(self, factor: float) -> float:
        """Return the share of rows that keep their action if the cost is off by a factor.

        Either way: the cost may be as much as `factor` times what was said, or that much less.

        Examples
        --------
        >>> stable_range([0.02, 0.3, 0.09, 0.9], [[0, 9], [1, 0]]).share(1.05)
        1.0
        """
        factor = read_number(factor, "factor", Number(1))
        return float(np.mean((self.low <= 1.0 / factor) & (self.high >= factor)))

    def __str__(self) -> str:
        lines = [
            f"{in_rows(len(self))}: {action_counts(self.actions, self.names)}",
            f"share of rows that keep their action if the cost of {self.varied} were off",
            "by a factor of up to, either way",
        ]
        return "\n".join([*lines, *(f"{f:>6g}  {_percent(self.share(f))}" for f in FACTORS)])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, for JSON; "Infinity" for a range without upper end."""
        return {
            "varied": self.varied,
            "actions": self.actions.tolist(),
            "low": self.low.tolist(),
            "high": to_plain(self.high),
            "share": {f"{factor:g}": self.share(factor) for factor in FACTORS},
        }


def stable_range(
    prob: ArrayLike, costs: CostsLike, *, vary: Pair | list[Pair] | None = None
) -> StableRange:
    """Return the factors by which a cost may be multiplied before each row's action changes.

    Parameters
    ----------
    prob : array-like of shape (n,) or (n, n_classes)
        Probability of the last of two classes, or of every class.
    costs : CostMatrix or array-like of shape (n_actions, n_classes) or (n, n_actions, n_classes)
    vary : (action, class), or a list of such pairs, optional
        The entry, by names; None stands for all: (None, "fraud") is every cost of that class,
        ("block", None) every cost of that action. Several pairs are multiplied together. By
        default, for two classes that are actions too, the cost of a miss: as false alarms stay as
        they are, that is their ratio.

    Returns
    -------
    StableRange

    **Assumes** that the probabilities and the other costs are right.

    Notes
    -----
    Exact: for every other action b, one line must stay above another. A factor below 0 would turn
    a cost into a gain and is not looked at; a cost of 0 stays 0 whatever the factor.

    Examples
    --------
    Nine false alarms per miss, threshold 0.1. A row at 0.05 is passed until a miss costs
    19 / 9 = 2.11 times as much.

    >>> found = stable_range([0.05, 0.5], [[0, 9], [1, 0]])
    >>> found.low.round(3), found.high.round(3)
    (array([0.   , 0.111]), array([2.111,   inf]))
    """
    matrix = as_costs(costs)
    refuse_other_index(prob=prob, costs=matrix)
    prob = class_probabilities(prob, matrix.classes)
    same_rows(len(prob), matrix, "prob")
    mask, varied = _varied(vary, matrix)
    n = len(prob)
    position, low, high = np.empty(n, np.intp), np.empty(n), np.empty(n)
    for rows in row_slices(n, matrix):
        part, taken = prob[rows], matrix.take(rows)
        table = taken.at(0, len(part))
        chosen = cheapest(part, taken)
        moving = _expected(part, np.where(mask, table, 0.0))
        fixed = _expected(part, np.where(mask, 0.0, table))
        position[rows] = chosen
        low[rows], high[rows] = _between(fixed, moving, chosen)
    np.minimum(low, 1.0, out=low)  # by a last digit, where two actions tie
    np.maximum(high, 1.0, out=high)
    return StableRange(matrix.action_names()[position], low, high, varied, matrix.actions)


def _strange_vary(vary: object) -> UsageError:
    return UsageError(
        "{vary} must be (action, class), with None for all of either, or a list of such pairs.",
        code="vary-type",
        vary=Argument("vary", vary),
        remedy="Multiplying all costs changes no decision.",
    )


def _expected(prob: Array, table: Array) -> Array:
    if table.ndim == 2:
        return np.asarray(prob @ table.T)
    return np.asarray((table @ prob[:, :, None])[:, :, 0])


def _between(fixed: Array, moving: Array, chosen: NDArray[np.intp]) -> tuple[Array, Array]:
    """Ends of the factors >= 0 at which fixed + factor * moving is least in the chosen column."""
    at = chosen[:, None]
    ahead = fixed - np.take_along_axis(fixed, at, axis=1)
    slope = moving - np.take_along_axis(moving, at, axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        meet = -ahead / slope
    # The chosen column itself gives 0 and inf, which keeps both ends among the factors >= 0.
    low = np.where(slope > 0.0, meet, 0.0).max(axis=1)
    return low, np.where(slope < 0.0, meet, np.inf).min(axis=1)


def _varied(vary: Pair | list[Pair] | None, costs: CostMatrix) -> tuple[NDArray[np.bool_], str]:
    """Which entries are multiplied, and what to call them."""
    actions, classes = costs.actions, costs.classes
    if vary is None:
        if len(classes) != 2 or not set(classes) <= set(actions):
            raise UsageError(
                "{vary} is needed: the actions {actions} are not the two classes {classes}.",
                code="missing-argument",
                vary=Argument("vary"),
                actions=list(actions),
                classes=list(classes),
                remedy="Give vary=(action, class), (None, class) or (action, None).",
            )
        vary = (classes[0], classes[1])
    pairs = list(vary) if isinstance(vary, list) else [vary]
    if not pairs:
        raise _strange_vary(vary)
    mask, words = np.zeros(costs.shape, np.bool_), []
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or pair == (None, None):
            raise _strange_vary(vary)
        action, label = pair
        a = slice(None) if action is None else position_of(action, actions, "action")
        k = slice(None) if label is None else position_of(label, classes, "class")
        mask[a, k] = True
        what = "any action" if action is None else f"{action}"
        words.append(f"{what} when the class is {label}" if label is not None else what)
    return mask, " and ".join(words)


@dataclass(frozen=True, eq=False)
class StablePrior(Record):
    """Between which prevalences each row's action stays the cheapest.

    Parameters
    ----------
    actions : ndarray of shape (n,)
        The action chosen at the prevalence that the probabilities are for.
    low, high : ndarray of shape (n,)
        Prevalences of the last class. At the ends another action costs the same.
    trained_at : float
    names : tuple
        Names of the actions.
    """

    actions: NDArray[Any]
    low: Array
    high: Array
    trained_at: float
    names: tuple[Name, ...]

    def __len__(self) -> int:
        return len(self.actions)

    def share(self, prevalence: float | ShareEstimate) -> float:
        """Return the share of rows that keep their action at another prevalence.

        What `estimate_share` returns stands for every prevalence in its interval.
        """
        if hasattr(prevalence, "share"):  # an estimate of it
            estimate = cast("ShareEstimate", prevalence)
            estimate.warn_if_contradicted()
            between = estimate.share
            kept = (self.low <= between.low) & (between.high <= self.high)
            return float(np.mean(kept))
        prevalence = read_number(prevalence, "prevalence", PREVALENCE, "base-rate-range")
        return float(np.mean((self.low <= prevalence) & (prevalence <= self.high)))

    def __str__(self) -> str:
        odds = self.trained_at / (1.0 - self.trained_at)
        lines = [
            f"{in_rows(len(self))}: {action_counts(self.actions, self.names)}",
            "share of rows that keep their action if the prevalence were, in place of "
            f"{self.trained_at:.3g}",
        ]
        for factor in (0.1, 0.2, 0.5, 2.0, 5.0, 10.0):
            at = odds * factor / (1.0 + odds * factor)
            lines.append(f"{at:>9.3g}  {_percent(self.share(at))}")
        return "\n".join(lines)


def stable_prior(prob: ArrayLike, costs: CostsLike, *, trained_at: Shares) -> StablePrior:
    """Return the prevalences at which each row's action stays the cheapest, for two classes.

    Parameters
    ----------
    prob : array-like of shape (n,) or (n, 2)
        Probabilities that hold at the prevalence `trained_at` of the last class.
    costs : CostMatrix or array-like with two classes
    trained_at : float, array-like of shape (2,), dict {class: base rate} or pandas Series
        Prevalence of the last class that the probabilities are for, or of both classes.

    Returns
    -------
    StablePrior

    **Assumes** that rows within a class stay as they are, as `correct_prior` does.

    Examples
    --------
    A row at 0.5 with balanced classes is acted on as long as events are at least one in ten.

    >>> found = stable_prior([0.5, 0.02], [[0, 9], [1, 0]], trained_at=0.5)
    >>> found.actions, found.low.round(3), found.high.round(3)
    (array([1, 0]), array([0.1, 0. ]), array([1.   , 0.845]))
    """
    matrix = as_costs(costs)
    refuse_other_index(prob=prob, costs=matrix)
    if matrix.shape[1] != 2:
        raise UsageError(
            "The costs have {count} classes {classes}, and a single prevalence needs 2.",
            code="two-classes-needed",
            count=matrix.shape[1],
            classes=list(matrix.classes),
            remedy="Use decide(prob, costs, trained_at=, now_at=) for the base rates that matter.",
        )
    names = 2 if matrix.positional else matrix.classes
    trained = float(read_shares(trained_at, names, "trained_at")[1])
    prob = class_probabilities(prob, matrix.classes)
    same_rows(len(prob), matrix, "prob")
    n = len(prob)
    position, low, high = np.empty(n, np.intp), np.empty(n), np.empty(n)
    for rows in row_slices(n, matrix):
        part, taken = prob[rows], matrix.take(rows)
        table = np.broadcast_to(taken.at(0, len(part)), (len(part), *matrix.shape))
        chosen = cheapest(part, taken)
        least, most = _between(table[:, :, 0], table[:, :, 1], chosen)
        with np.errstate(divide="ignore"):
            moved = float(logit(trained)) - _log_odds(part)
            least, most = expit(np.log(least) + moved), expit(np.log(most) + moved)
        sure = (part[:, 0] == 0.0) | (part[:, 1] == 0.0)  # no prevalence moves these
        low[rows], high[rows] = np.where(sure, 0.0, least), np.where(sure, 1.0, most)
        position[rows] = chosen
    np.minimum(low, trained, out=low)  # by a last digit, where two actions tie
    np.maximum(high, trained, out=high)
    return StablePrior(matrix.action_names()[position], low, high, trained, matrix.actions)


def _log_odds(prob: Array) -> Array:
    odds = np.log(prob[:, 1]) - np.log(prob[:, 0])
    return np.where(np.isfinite(odds), odds, 0.0)


def _percent(share: float) -> str:
    """Write a share in percent: 100 and 0 only where they are exact."""
    text = f"{100 * share:.0f}"
    text = "> 99" if text == "100" and share < 1 else text
    text = "< 1" if text == "0" and share > 0 else text
    return f"{text:>4} %"
