"""What does an action cost that only the user can price? A function, integrated and minimised.

    expected(a) = sum over points: weight * cost(point, a);   action = argmin over a     (003 0.2)

Some actions are tried, the best is bracketed, and parabolas close in on it, all rows together.
Assumes a function that is smooth but for corners and jumps at the action and at the kinks; `doubt`
says how far twice the panels would change its mean. Knows no closed form: see regression.py.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.amounts.law_readers import finite, numbers
from scarce.amounts.quadrature import weighted_mean
from scarce.engine.block import Array
from scarce.errors import UsageError, warn_user

Three = tuple[Array, Array, Array]
SAME = 1e-9  # differences below this, for the size of the costs, are the quadrature's own (1e-10)


@dataclass(frozen=True, eq=False)
class OwnCost:
    """A function of the user's, integrated over the predictive; made by `read_own_cost`."""

    function: Callable[..., Any]
    columns: Mapping[str, Array]
    kinks: Any = None
    closed, heavy, n_rows = False, True, 1  # its columns are counted when they are read

    def take(self, rows: Any) -> OwnCost:
        """Return the costs of these rows."""
        held = {name: v if len(v) == 1 else v[rows] for name, v in self.columns.items()}
        return OwnCost(self.function, held, self.kinks)

    def best(self, law: Any) -> Array:
        """Return the action found by search, or the sample beside it if that is no dearer."""
        action, flat = search(law, self)
        if flat.any():  # no count: one text for all parts of the rows is shown once
            warn_user(
                "The expected cost of some row(s) is the same for every action tried: does "
                "cost(y, action) use action? The median is returned there."
            )
        corner = law.nearest(action) if hasattr(law, "nearest") else action
        nearer = self.expected(law, corner) <= self.expected(law, action)
        return np.where(nearer, corner, action)

    def expected(self, law: Any, action: Array) -> Array:
        """Return the expected cost of each row's action."""
        y, weight = law.nodes(self.splits(action))
        return weighted_mean(self.costs(y, action), weight, action)

    def doubt(self, law: Any, action: Array) -> Array:
        """Return by how much of its size the expected cost changes with twice the panels."""
        y, weight = law.nodes(self.splits(action), 2)
        cost = self.costs(y, action)
        size = weighted_mean(np.abs(cost), weight, action)
        with np.errstate(invalid="ignore"):  # infinite both times: known well enough
            off = np.abs(weighted_mean(cost, weight, action) - self.expected(law, action))
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
                f"kinks(action) returned {_shown(own)} ({error}): return a list of numbers, or of "
                f"arrays of the shape of action, {action.shape}, as in lambda action: [action + 5]."
            ) from None
        # A kink at infinity is none; the action is a place where a panel ends in any case.
        rows = [np.where(np.isfinite(y), y, action) for y in rows]
        return np.stack([action, *rows], axis=1)

    def costs(self, y: Array, action: Array) -> Array:
        """Return what the function says, one cost for each y, or why that is none."""
        columns = {name: values[:, None] for name, values in self.columns.items()}
        try:
            with np.errstate(all="ignore"):  # np.where works out the branch not taken, too
                found = self.function(y, action[:, None], **columns)
        except ValueError as error:
            if "truth value" not in str(error):
                raise
            raise UsageError(
                "cost(y, action) asks whether a whole array is true, as in `if y > action`: write "
                "np.where(y > action, ..., ...), np.maximum(...), or wrap it in np.vectorize."
            ) from error
        try:
            cost = np.asarray(found)
        except ValueError:  # lists of unequal length
            cost = np.empty(0, dtype=object)
        if cost.dtype.kind not in "biuf":
            raise UsageError(
                f"cost(y, action) returned {_shown(found)}, which is no array of numbers: return "
                "one cost for each y."
            )
        if cost.shape == y.shape:
            return cost.astype(np.float64, copy=False)
        raise UsageError(
            f"cost(y, action) returned shape {cost.shape} for y of shape {y.shape} and action of "
            f"shape {action[:, None].shape}: return one cost for each y."
        )


def read_own_cost(cost: Any, columns: Any, kinks: Any) -> OwnCost:
    """Return the user's function with what it needs, or say why it cannot be called."""
    if columns is not None and not isinstance(columns, Mapping):
        raise UsageError(
            f"columns= is a {type(columns).__name__}: give what the function needs of each row by "
            "name, columns={'fee': [0, 25, 25]}."
        )
    for name in columns or {}:
        if not isinstance(name, str):
            raise UsageError(
                f"columns= names a column {name!r}: give the name of one of the function's "
                "arguments as text, columns={'fee': [0, 25, 25]}."
            )
    held = {name: finite(v, f"columns[{name!r}]") for name, v in (columns or {}).items()}
    _refuse_call(cost, "cost", ["y", "action"], held)
    if callable(kinks) and not isinstance(kinks, type):
        _refuse_call(kinks, "kinks", ["action"], {})
    elif kinks is not None:
        held_kinks = numbers(kinks, "kinks")
        kinks = finite(held_kinks, "kinks") if len(held_kinks) else None
    return OwnCost(cost, held, kinks)


def _refuse_call(function: Any, name: str, places: list[str], columns: Mapping[str, Any]) -> None:
    """Refuse a function that does not take these arguments, before it is run."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some compiled functions do not say what they take
        return
    try:
        signature.bind(*places, **columns)
    except TypeError as error:
        call = ", ".join([*places, *(f"{column}=..." for column in columns)])
        rest = " What it needs of each row comes by name: columns={...}." if name == "cost" else ""
        raise UsageError(f"{name}= cannot be called as {name}({call}): {error}.{rest}") from None


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {value.shape},"
    text = repr(value)
    return text if len(text) < 40 else f"{text[:36]}..."


def search(law: Any, rule: OwnCost) -> tuple[Array, NDArray[np.bool_]]:
    """Scan, widen where the best lies at the end, then refine, all rows together.

    Returns the action of each row, and where no action was better than another: the middle there.
    """
    points = law.trials()
    tried = np.array([rule.expected(law, action) for action in points.T])
    best, value = points[np.arange(law.n_rows), tried.argmin(axis=0)], tried.min(axis=0)
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
            found = rule.expected(law, trial)
            falls = open_end & (found < value)
            ends[side] = np.where(open_end & ~falls, trial, ends[side])
            ends[1 - side] = np.where(falls, best, ends[1 - side])
            best, value = np.where(falls, trial, best), np.where(falls, found, value)
            step = 2 * step
        else:
            raise UsageError(
                f"The expected cost still falls at action={best[np.argmax(open_end)]:.3g}: no "
                "action is best. Is the sign of cost(y, action) right? Else give actions=[...]."
            )
    at_ends = [rule.expected(law, end) for end in ends]
    y, weight = law.nodes(rule.splits(best))
    size = weighted_mean(np.abs(rule.costs(y, best)), weight, best)
    flat = np.max([*tried, *at_ends], axis=0) - value <= SAME * size
    refined = _refine(law, rule, (ends[0], best, ends[1]), (at_ends[0], value, at_ends[1]))
    return np.where(flat, points[:, 0], refined), flat


def _refine(law: Any, rule: OwnCost, places: Three, values: Three) -> Array:
    """Shrink low < best < high: parabolas through the three, every fourth step golden section."""
    (low, best, high), (at_low, value, at_high) = places, values
    out, rows = np.array(best), np.arange(len(best))
    tolerance = 4e-8 * (high - low) + 4 * np.finfo(np.float64).eps * np.abs(best)
    for turn in range(200):
        out[rows] = best
        going = high - low > 4 * tolerance
        if not going.any():
            break
        if not law.whole and going.mean() < 0.7:  # finished rows cost nothing any more
            state = np.array([low, best, high, at_low, value, at_high, tolerance])[:, going]
            low, best, high, at_low, value, at_high, tolerance = state
            law, rule, rows = law.take(going), rule.take(going), rows[going]
        left, right = best - low, high - best
        further = np.where(right > left, right, -left)
        with np.errstate(all="ignore"):
            before, after = (value - at_low) / left, (at_high - value) / right
            move = -(before * right + after * left) / (2 * (after - before))
        inside = (move > -left) & (move < right) & (after > before) & (turn % 4 < 3)
        # Next to the best already: step beyond the vertex, so that the further end comes close too.
        near = (np.abs(move) < 0.1 * np.abs(further)) & (move * further > 0)
        move = np.where(near, 2 * move, move)
        move = np.where(np.abs(move) < tolerance, np.copysign(tolerance, further), move)
        trial = best + np.where(inside, move, 0.381966 * further)
        found = rule.expected(law, trial)
        below, better = trial < best, found <= value
        moved_low, moved_high = below ^ better, below == better
        edge, at_edge = np.where(better, best, trial), np.where(better, value, found)
        low, at_low = np.where(moved_low, edge, low), np.where(moved_low, at_edge, at_low)
        high, at_high = np.where(moved_high, edge, high), np.where(moved_high, at_edge, at_high)
        best, value = np.where(better, trial, best), np.where(better, found, value)
    return out
