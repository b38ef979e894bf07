"""Columns that are no measurements: a category, a 0/1 answer, a count; each a factor of its own.

    log p(seen | y) = log N(measurements seen | y) + sum over other columns seen of log p_j(x_j | y)

categorical, bernoulli   (n_yl + L q_l) / (n_y + L),          q the shares of the L levels in all
poisson                  mean_y = (sum_y + m) / (n_y + 1),    m the mean of all classes
negative-binomial        the same mean, variance = mean + phi mean^2, one phi by moments for all

A missing value leaves its factor out, which integrates it out exactly; a new value that the factor
cannot have (half a visit) is read as missing, with a warning. The factors are independent
of each other and of the measurements within a class; measurements keep their covariance. Smoothing
is L rows, or one, of all classes together: a level that a class has not shown stays possible.
Assumes labels, weights and codes that were checked; does not choose kinds by the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import (
    Argument,
    DataError,
    UsageError,
    inconsistent_model,
    listed,
    suggest,
    warn_user,
)
from scarce.gaussian.moments import labelled_rows
from scarce.io.schema import Column
from scarce.missing.patterns import Mask
from scarce.results import in_rows

GAUSSIAN = "gaussian"
OF_LEVELS = ("categorical", "bernoulli")
OF_COUNTS = ("poisson", "negative-binomial")
KINDS = (GAUSSIAN, *OF_LEVELS, *OF_COUNTS)
MOST_LEVELS = 1000
MOST_COUNT = 1e15  # beyond, a float tells no count from the next


class Factor(NamedTuple):
    """One column that is no measurement, in every class."""

    column: int
    kind: str
    levels: Array  # (L,) values that occur, sorted; empty for counts
    table: Array  # (classes, L) log probabilities; (classes, 1) means of counts
    dispersion: float  # phi; 0 unless negative-binomial


def read_factors(given: object, columns: Sequence[Column]) -> list[str]:
    """Return the kind of each column.

    Examples
    --------
    >>> columns = [Column("age"), Column("city", "category", ("Bonn", "Ulm"))]
    >>> read_factors("auto", columns), read_factors({"age": "poisson"}, columns)
    (['gaussian', 'categorical'], ['poisson', 'categorical'])
    """
    kinds = ["categorical" if c.kind == "category" else GAUSSIAN for c in columns]
    if isinstance(given, str) and given == "auto":
        return kinds
    if not isinstance(given, Mapping):
        raise UsageError(
            "{factors} must be 'auto' or a dict of columns and kinds.",
            code="factor-kind",
            factors=Argument("factors", given),
        )
    places = {column.name: j for j, column in enumerate(columns)}
    for name, kind in given.items():
        at = places.get(str(name))
        if at is None and isinstance(name, int | np.integer) and 0 <= name < len(columns):
            at = int(name)
        if at is None:
            raise UsageError(
                "{factors}: there is no column {name!r}.",
                code="factor-column",
                factors=Argument("factors"),
                name=name,
                remedy=suggest(str(name), list(places)),
            )
        if kind not in KINDS:
            raise UsageError(
                "{factors}: column {name!r} cannot be {kind!r}; kinds are {kinds}.",
                code="factor-kind",
                factors=Argument("factors"),
                name=name,
                kind=kind,
                kinds=list(KINDS),
            )
        if columns[at].kind == "category" and kind != "categorical":
            raise UsageError(
                "Column {column!r} is a category, and cannot be {kind!r}: its codes are positions.",
                code="factor-kind",
                column=columns[at].name,
                kind=kind,
                categorical="categorical",
                remedy="Leave it out of factors: categories are {categorical}.",
            )
        kinds[at] = str(kind)
    return kinds


# --- learning -------------------------------------------------------------------------------------


class Tally(NamedTuple):
    """Weight of every value of every class, column by column: {value: (classes,)}."""

    seen: tuple[dict[float, Array], ...]


def tally_values(block: Block, params: tuple[int, tuple[int, ...]]) -> Tally:
    """Kernel: how often each class shows each value of some columns."""
    n_classes, columns = params
    seen: tuple[dict[float, Array], ...] = tuple({} for _ in columns)
    for label, chosen, weight in labelled_rows(block, n_classes):
        for place, j in enumerate(columns):
            x = block.X[chosen, j]
            known = ~np.isnan(x)
            values, at = np.unique(x[known] + 0.0, return_inverse=True)
            total = np.bincount(at, weights=weight[known], minlength=len(values))
            for value, mass in zip(values.tolist(), total, strict=True):
                seen[place].setdefault(value, np.zeros(n_classes))[label] += mass
    return Tally(seen)


def merge_tallies(total: Tally, more: Tally) -> Tally:
    """Add the counts of two blocks."""
    for one, other in zip(total.seen, more.seen, strict=True):
        for value, mass in other.items():
            one[value] = one[value] + mass if value in one else mass
    return total


tally_values.merge = merge_tallies  # type: ignore[attr-defined]


def learn_factors(
    rows: Rows, kinds: Sequence[str], n_classes: int, names: Sequence[str], engine: Engine = None
) -> tuple[list[Factor], float]:
    """Learn the factors of the columns that are no measurements, in one pass.

    A column that some class never shows, or that has one value, has no factor. Also returns the
    log likelihood of the labelled rows.
    """
    columns = tuple(j for j, kind in enumerate(kinds) if kind != GAUSSIAN)
    found: Tally = rows.fold(tally_values, (n_classes, columns), engine=engine)
    factors, likelihood = [], 0.0
    for j, seen in zip(columns, found.seen, strict=True):
        values = np.array(sorted(seen))
        count = np.array([seen[value] for value in values.tolist()]).reshape(-1, n_classes).T
        _refuse_values(kinds[j], names[j], values)
        if len(values) < 2 or not (count.sum(axis=1) > 0).all():
            continue
        own = _levels_factor if kinds[j] in OF_LEVELS else _counts_factor
        factors.append(own(j, kinds[j], values, count))
        likelihood += float((count * log_prob(factors[-1], values).T).sum())
    return factors, likelihood


def _refuse_values(kind: str, name: str, values: Array) -> None:
    if kind == "categorical":
        wrong, why = values[MOST_LEVELS:], f"more than {MOST_LEVELS} levels"
    elif kind == "bernoulli":
        wrong, why = values[~np.isin(values, (0.0, 1.0))], "values other than 0 and 1"
    else:
        wrong, why = values[(values < 0) | (values != np.floor(values))], "no counts"
    if len(wrong):
        raise DataError(
            "Column {column!r} is to be {kind}, and holds {what}, such as {value:g}.",
            code="factor-values",
            column=name,
            kind=kind,
            what=why,
            value=float(wrong[0]),
            factors=Argument("factors", ...),
            remedy="Leave it out of {factors}.",
        )


def _levels_factor(column: int, kind: str, values: Array, count: Array) -> Factor:
    size, total = len(values), count.sum(axis=0)
    share = (total + 0.5) / (total.sum() + 0.5 * size)
    prob = (count + size * share) / (count.sum(axis=1, keepdims=True) + size)
    return Factor(column, kind, values, np.log(prob), 0.0)


def _counts_factor(column: int, kind: str, values: Array, count: Array) -> Factor:
    n, sums = count.sum(axis=1), count @ values
    mean = (sums + sums.sum() / n.sum()) / (n + 1.0)
    phi = 0.0
    if kind == "negative-binomial":
        spread = float((count * (values - mean[:, None]) ** 2).sum())
        phi = max(0.0, (spread - float(n @ mean)) / float(n @ mean**2))
    return Factor(column, kind, np.empty(0), mean[:, None], phi)


# --- how probable is a row? -----------------------------------------------------------------------


def log_prob(factor: Factor, x: Array) -> Array:
    """Return the log probability of values in each class, (n, classes); 0 where not known.

    Examples
    --------
    >>> coin = Factor(0, "bernoulli", np.array([0.0, 1.0]), np.log([[0.5, 0.5], [0.9, 0.1]]), 0.0)
    >>> np.exp(log_prob(coin, np.array([1.0, np.nan]))).round(1)
    array([[0.5, 0.1],
           [1. , 1. ]])
    """
    if factor.kind in OF_LEVELS:
        at = np.clip(np.searchsorted(factor.levels, x), 0, len(factor.levels) - 1)
        known = factor.levels[at] == x  # never of a missing value
        return np.asarray(np.where(known[:, None], factor.table[:, at].T, 0.0))
    known = (x >= 0) & (x <= MOST_COUNT) & (x == np.floor(x))
    count, mean = np.where(known, x, 0.0)[:, None], factor.table[:, 0]
    if factor.dispersion > 0:
        r = 1.0 / factor.dispersion
        out = gammaln(count + r) - gammaln(r) - gammaln(count + 1.0)
        out = out - r * np.log1p(mean / r) + xlogy(count, mean / (r + mean))
    else:
        out = xlogy(count, mean) - mean - gammaln(count + 1.0)
    return np.asarray(np.where(known[:, None], out, 0.0))


def log_prob_of_factors(block: Block, params: tuple[int, tuple[Factor, ...]]) -> Array:
    """Kernel of the map: log probability of what all factors have seen, (n, classes)."""
    n_classes, factors = params
    out = np.zeros((len(block), n_classes))
    for one in factors:
        out += log_prob(Factor(*one), block.X[:, one[0]])
    return out


def warn_of_impossible(rows: Rows, factors: Sequence[Factor], engine: Engine = None) -> None:
    """Warn of values that a factor cannot have: they are read as missing."""
    columns = rows.schema.columns
    own = [one for one in factors if columns[one.column].kind != "category"]
    if not own:
        return
    found: Impossible = rows.fold(impossible_values, tuple(own), engine=engine)
    shown = [
        f"{value:g} in column {columns[one.column].name!r} ({in_rows(count)}; {one.kind})"
        for one, value, count in zip(own, found.value.tolist(), found.rows.tolist(), strict=True)
        if count
    ]
    if shown:
        warn_user(
            "Values that the model's factors do not have are read as missing: {shown}.",
            code="factor-values",
            shown=listed(shown, most=5),
            count=int(found.rows.sum()),
        )


class Impossible(NamedTuple):
    """How many values no factor can have, and the least of them, column by column."""

    rows: NDArray[np.int64]
    value: Array


def impossible_values(block: Block, factors: tuple[Factor, ...]) -> Impossible:
    """Kernel: values of columns that are read as missing because their factor has none such."""
    count, least = np.zeros(len(factors), dtype=np.int64), np.full(len(factors), np.inf)
    for place, one in enumerate(factors):
        x = block.X[:, one[0]]
        x = x[~np.isnan(x)]
        if one[1] in OF_LEVELS:
            wrong = x[~np.isin(x, one[2])]
        else:
            wrong = x[~((x >= 0) & (x <= MOST_COUNT) & (x == np.floor(x)))]
        count[place], least[place] = len(wrong), wrong.min(initial=np.inf)
    return Impossible(count, least)


def _merge_impossible(total: Impossible, more: Impossible) -> Impossible:
    return Impossible(total.rows + more.rows, np.minimum(total.value, more.value))


impossible_values.merge = _merge_impossible  # type: ignore[attr-defined]


# --- as arrays of a model file --------------------------------------------------------------------


def as_tables(factors: Sequence[Factor], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return factors by the names of their columns."""
    return {
        names[one.column]: {
            "column": one.column,
            "levels": one.levels,
            "table": one.table,
            "dispersion": one.dispersion,
        }
        for one in factors
    }


def as_factors(state: Mapping[str, Mapping[str, Any]], kinds: Mapping[str, str]) -> list[Factor]:
    """Return the factors of `as_tables`."""
    return [
        Factor(one["column"], kinds[name], one["levels"], one["table"], one["dispersion"])
        for name, one in state.items()
    ]


def check_tables(state: object, kinds: object, n_classes: int, d: int, used: Mask) -> None:
    """Refuse factors of a damaged model file."""
    if not isinstance(kinds, dict) or len(kinds) != d or not set(kinds.values()) <= set(KINDS):
        raise inconsistent_model("factors_", f"must name the kinds of {d} columns")
    if not isinstance(state, dict) or not set(state) <= set(kinds):
        raise inconsistent_model("factor_tables_", "must be those of factors_")
    for name, one in state.items():
        wanted = {"column", "levels", "table", "dispersion"}
        if not isinstance(one, dict) or set(one) != wanted:
            raise inconsistent_model("factor_tables_", f"must hold {sorted(wanted)}")
        column, levels, table = one["column"], one["levels"], one["table"]
        if not (isinstance(column, int) and 0 <= column < d and used[column]):
            raise inconsistent_model("factor_tables_", "must be of columns that are used")
        of_levels = kinds[name] in OF_LEVELS
        width = len(levels) if of_levels else 1
        _check_array(table, (n_classes, width))
        _check_array(levels, (width if of_levels else 0,))
        right = (table <= 0).all() if of_levels else (table > 0).all()
        if not right or (np.diff(levels) <= 0).any() or not 0 <= float(one["dispersion"]) < np.inf:
            raise inconsistent_model("factor_tables_", f"is no {kinds[name]} factor")


def _check_array(values: NDArray[Any], shape: tuple[int, ...]) -> None:
    if np.shape(values) != shape or not np.isfinite(values).all():
        raise inconsistent_model("factor_tables_", f"must hold finite arrays of shape {shape}")
