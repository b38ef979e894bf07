"""A regression on rows of which some have missing values: the fit as folds over rows.

    missing values counted -> front (missing/front.py) -> columns summarised, filled by their
    conditional means -> plug-in fit on filled rows (regress.py), which says where to start and what
    the data do not determine -> Newton on the marginal loss (marginal.py) -> covariance

The rows are never held: each pass spreads the missing values of a block again, which costs m^3 for
a pattern that misses m of them. Rows in memory are filled once, at the cost of one copy. Assumes
values missing at random given those seen, and columns that are roughly jointly normal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows, Ticket, add
from scarce.errors import DataError, Problem, listed
from scarce.linear.links import Link, Logit
from scarce.linear.losses import CanonicalLoss, Loss
from scarce.linear.marginal import (
    MarginalSums,
    Standardised,
    effective_score,
    effective_slopes,
    minimise_marginal,
    spread,
)
from scarce.linear.newton import OptimizerResult
from scarce.linear.regress import (
    FittedRegression,
    Formulation,
    GridCoordinates,
    not_converged,
    regress,
)
from scarce.linear.sums import ColumnSummary, labelled_rows, summarise_columns
from scarce.missing.front import Front, fit_front

FLAT = 1e-9  # of the largest curvature: less than minus that is no minimum, and no rounding

MOST_COLUMNS = 2000  # of a front: an iteration inverts matrices of this size
SHOWN = 5  # columns named in a remark

Packed = tuple[Any, ...]  # the fields of a front, as they travel to workers


class Missing(NamedTuple):
    """How many labelled rows have missing values, and how many values each column misses."""

    rows: int
    cells: Array  # (k,)
    labelled: int


def count_missing(block: Block, _: None) -> Missing:
    """Kernel: missing values among the labelled rows with a weight above 0."""
    missing = np.isnan(labelled_rows(block, True)[0])
    return Missing(int(missing.any(axis=1).sum()), missing.sum(axis=0) * 1.0, len(missing))


def front_of(rows: Rows, n_columns: int, engine: Engine) -> Front:
    """Return the front of the first columns of rows; rows without a label help as others do."""
    if rows.n_columns > MOST_COLUMNS:
        raise DataError(
            "The rows have missing values and {columns:,} columns: the joint distribution of more "
            "than {most:,} columns is not fitted.",
            code="too-many-columns",
            columns=rows.n_columns,
            most=MOST_COLUMNS,
            remedy="Choose columns, or impute the values in a pipeline (SimpleImputer).",
        )
    return first_columns(fit_front(rows, engine=engine), n_columns)


def first_columns(front: Front, k: int) -> Front:
    """Return the distribution of the first k columns alone."""
    parts = {name: getattr(front, name)[:k] for name in ("mean", "scale", "low", "high", "used")}
    return replace(front, covariance=front.covariance[:k, :k], **parts)


def moved(front: Front, origin: Array) -> Front:
    """Return a front whose columns are measured from an origin."""
    origin = origin[: front.n_columns]
    return replace(
        front, mean=front.mean - origin, low=front.low - origin, high=front.high - origin
    )


class FilledRows(Rows):
    """Rows whose missing values are their conditional means.

    Examples
    --------
    >>> from scarce import open_rows
    >>> rows = open_rows([[1.0, 2.0], [2.0, 4.0], [3.0, np.nan]])
    >>> FilledRows(rows, fit_front(rows)).map(lambda block, _: np.isnan(block.X).sum(axis=1))
    array([0, 0, 0])
    """

    def __init__(self, rows: Rows, front: Front) -> None:
        self.rows, self.front = rows, front
        self.schema, self.starts, self.engine = rows.schema, rows.starts, rows.engine

    def ticket(self, index: int) -> Ticket:
        """Return the other rows' ticket with the front."""
        return _FilledTicket(self.rows.ticket(index), self.front.packed)

    def on_disk(self) -> Rows:
        """Return the same over rows that other processes can open."""
        return FilledRows(self.rows.on_disk(), self.front)

    @property
    def fingerprint(self) -> str:
        """That of the rows themselves."""
        return self.rows.fingerprint


class _FilledTicket:
    def __init__(self, ticket: Ticket, front: Packed) -> None:
        self.ticket, self.front = ticket, front

    def open(self) -> Block:
        block, front = self.ticket.open(), Front(*self.front)
        k = front.n_columns
        X = np.ascontiguousarray(np.column_stack([front.complete(block.X[:, :k]), block.X[:, k:]]))
        return Block(X, block.y, block.weight, block.start, block.index)


def filled(rows: Rows, front: Front) -> Rows:
    """Return filled rows; those of an array are filled once, and held beside it."""
    found = FilledRows(rows, front)
    if not isinstance(rows, ArrayRows):
        return found
    blocks = list(found.blocks())
    weights = [block.weight for block in blocks if block.weight is not None]
    return ArrayRows(
        np.concatenate([block.X for block in blocks]),
        np.concatenate([block.y for block in blocks if block.y is not None]),
        weight=np.concatenate(weights) if weights else None,
        schema=rows.schema,
        check=False,
    )


def summarise_filled(whole: Rows, front: Front, engine: Engine, model: str) -> ColumnSummary:
    """Return the summary of filled rows, with the standard deviations of the values seen."""
    stats = summarise_columns(whole, engine=engine, model=model)
    std = stats.std.copy()
    own = slice(0, front.n_columns)
    std[own] = np.where(std[own] > 0, front.scale, 0.0)
    return replace(stats, std=std)


def missing_remark(names: tuple[str, ...], missing: Missing) -> Problem:
    """Return what the reader of a fit to rows with missing values should know."""
    order = [j for j in np.argsort(-missing.cells, kind="stable") if missing.cells[j] > 0]
    shown = [f"{names[j]!r} ({missing.cells[j]:,.0f})" for j in order]
    return Problem(
        "{rows:,} of {labelled:,} labelled rows have missing values: {cells:,.0f} cells, in "
        "{shown}. Probabilities are means over what these values may be, which assumes that they "
        "are missing at random given the values seen, and columns that are roughly normal.",
        code="missing-at-random",
        rows=missing.rows,
        labelled=missing.labelled,
        cells=float(missing.cells.sum()),
        columns=[names[j] for j in order],
        shown=listed(shown, most=SHOWN),
    )


# --- the fit --------------------------------------------------------------------------------------


class IncompleteFit(NamedTuple):
    """A fit to rows with missing values."""

    found: FittedRegression
    # of [coef, intercept], robust for survey weights; None where the likelihood has no maximum
    covariance: Callable[[bool], Array | None]


def fit_incomplete(
    rows: Rows,
    whole: Rows,
    stats: ColumnSummary,
    front: Front,
    loss: Loss,
    ridge: float,
    problem: Formulation,
    *,
    start: Array | None = None,
    engine: Engine = None,
) -> IncompleteFit:
    """Minimise the penalised marginal loss of rows with missing values.

    Parameters
    ----------
    rows, whole : Rows
        With missing values, and filled.
    stats : ColumnSummary
        Of `summarise_filled`.
    front : Front
        In the units of the rows.
    loss, ridge, problem
        As for `regress`.
    start : ndarray of shape (k + 1,), optional
        A warm start of the plug-in fit.
    """
    plain = regress(whole, stats, loss, ridge, problem, start=start, engine=engine)
    coordinates = GridCoordinates(stats, problem)
    coordinates.free = plain.free
    penalty = coordinates.penalty(ridge)
    unlabelled = stats.unlabelled > 0
    fixed = (front.packed, coordinates, unlabelled, loss)

    def sums(theta: Array, kind: str) -> MarginalSums:
        found: MarginalSums = rows.fold(marginal_sums, (*fixed, theta, kind), engine=engine)
        return found

    result = minimise_marginal(
        sums,
        standard(coordinates, plain.coef),
        penalty,
        done=lambda gradient, _: _size(gradient) <= problem.tol * stats.total,
        most=problem.max_passes,
    )
    coef = coordinates.given(result.theta)
    solution = OptimizerResult(
        coef,
        _size(result.gradient) / stats.total,
        result.converged,
        plain.solution.passes + result.passes,
        result.passes,
        np.zeros_like(result.theta),
    )
    remarks = tuple(one for one in plain.remarks if getattr(one, "code", "") != "not-converged")
    if not result.converged:
        remarks += (not_converged(solution, "gradient norm", loss, problem.tol),)

    def covariance(survey: bool) -> Array | None:
        bends = np.linalg.eigvalsh(result.hessian)
        if bends[0] < -FLAT * np.abs(bends).max():
            return None
        inverse = np.linalg.pinv(result.hessian, hermitian=True)
        canonical = isinstance(loss, CanonicalLoss) and not isinstance(loss.link, Logit)
        if canonical or survey:
            squares = rows.fold(squared_slopes, (*fixed, result.theta, survey), engine=engine)
            if survey:
                n = float(stats.count.sum())
                squares = squares * (n / max(n - 1.0, 1.0))
            inverse = inverse @ squares @ inverse
        T = _back(coordinates)
        return np.asarray(T @ inverse @ T.T)

    fit = FittedRegression(
        coef, solution, result.value, "gradient norm", remarks, np.asarray(plain.free)
    )
    return IncompleteFit(fit, covariance)


def standard(coordinates: GridCoordinates, coef: Array) -> Array:
    """Return the free standardised coordinates of coefficients (k + 1,)."""
    theta = coef.copy()
    slopes = np.where(coordinates.free[:-1], coef[:-1], 0.0)
    theta[:-1] = slopes * coordinates.scale
    theta[-1] = coef[-1] + slopes @ coordinates.mean
    return np.asarray(theta[coordinates.free])


def _back(coordinates: GridCoordinates) -> Array:
    """Return the matrix from free standardised coordinates to coefficients."""
    free = np.flatnonzero(coordinates.free)
    k = len(coordinates.free) - 1
    T = np.zeros((k + 1, k + 1))
    T[np.arange(k), np.arange(k)] = 1.0 / coordinates.scale
    T[k, :k] = -coordinates.mean / coordinates.scale
    T[k, k] = 1.0
    return np.asarray(T[:, free])


def _size(gradient: Array) -> float:
    return float(np.abs(gradient).max(initial=0.0))


def _standardised(
    piece: Block, front: Front, coordinates: GridCoordinates, unlabelled: bool
) -> Standardised:
    X, y, weight = labelled_rows(piece, unlabelled)
    weight = np.ones(len(y)) if weight is None else weight
    return Standardised(spread(front, X), y, weight, coordinates)


def marginal_sums(
    block: Block, params: tuple[Packed, GridCoordinates, bool, Loss, Array, str]
) -> MarginalSums:
    """Kernel: marginal loss, gradient and Hessian in standardised coordinates."""
    packed, coordinates, unlabelled, loss, theta, kind = params
    front, p = Front(*packed), len(theta)
    total = MarginalSums(0.0, np.zeros(p), np.zeros((0, 0) if kind == "none" else (p, p)))
    for piece in block.pieces():
        rows = _standardised(piece, front, coordinates, unlabelled)
        total = add(total, rows.sums(loss, theta, kind))
    return total


def squared_slopes(
    block: Block, params: tuple[Packed, GridCoordinates, bool, Loss, Array, bool]
) -> Array:
    """Kernel: sum of squared gradients of the rows, with squared weights for survey weights."""
    packed, coordinates, unlabelled, loss, theta, survey = params
    front = Front(*packed)
    total = np.zeros((len(theta), len(theta)))
    for piece in block.pieces():
        rows = _standardised(piece, front, coordinates, unlabelled)
        total += rows.squares(loss, theta, survey)
    return total


# --- predictions ----------------------------------------------------------------------------------


def marginal_scores(block: Block, params: tuple[Packed, Array, float, Link]) -> Array:
    """Kernel of the map: the effective score of each row."""
    front, slopes, constant, link = Front(*params[0]), *params[1:]
    out = np.asarray(block.X @ slopes + constant)
    for piece, own in _pieces(block):
        missing = np.flatnonzero(np.isnan(out[own]))
        if len(missing):
            found = spread(front, piece.X[missing])
            mean = found.mean @ slopes + constant
            out[own.start + missing] = effective_score(link, mean, found.variance(slopes))
    return out


def marginal_errors(block: Block, params: tuple[Packed, Array, float, Link, Array, Array]) -> Array:
    """Kernel of the map: the effective score of each row and its standard error (delta method).

    With s(z, v): gradient s_z [xhat, 1] + s_v [2 V w, 0].
    """
    front, slopes, constant, link, matrix, origin = Front(*params[0]), *params[1:]
    out = np.empty((len(block), 2))
    for piece, own in _pieces(block):
        found = spread(front, piece.X)
        times = found.times(slopes)
        z, v = found.mean @ slopes + constant, np.maximum(times @ slopes, 0.0)
        score, along, across = effective_slopes(link, z, v)
        design = np.column_stack([found.mean - origin, np.ones(len(piece))]) * along[:, None]
        design[:, :-1] += 2.0 * across[:, None] * times
        variance = np.einsum("ij,jk,ik->i", design, matrix, design, optimize=True)
        out[own] = np.column_stack([score, np.sqrt(np.maximum(variance, 0.0))])
    return out


def _pieces(block: Block) -> list[tuple[Block, slice]]:
    """Return pieces of a block, and where their rows are in it."""
    return [
        (piece, slice(piece.start - block.start, piece.start - block.start + len(piece)))
        for piece in block.pieces()
    ]


def rows_outside(block: Block, params: tuple[Packed, Link, Array]) -> int:
    """Kernel: training rows whose probability is exactly 0 or 1."""
    packed, link, coef = params
    front, (low, high), count = Front(*packed), link.support, 0
    for piece in block.pieces():
        found = spread(front, labelled_rows(piece, True)[0])
        score = found.mean @ coef[:-1] + coef[-1]
        score = effective_score(link, score, found.variance(coef[:-1]))
        count += int(np.count_nonzero((score <= low) | (score >= high)))
    return count
