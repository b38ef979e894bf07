"""Logistic regression that stays finite and nearly unbiased when positives are few.

    maximise  sum_i w_i log p(y_i | x_i) + 1/2 log det I(coef)
              I = sum_i w_i p_i (1 - p_i) x_i x_i'    (Firth 1993; Heinze, Schemper 2002, section 2)
    FLIC: slopes as above, the intercept again by plain maximum likelihood, so that the mean
    predicted probability is the share of positives        (Puhr and others 2017, section 2.2)

Plain maximum likelihood and a normal prior are fitted in the same way, for intervals to compare.
Assumes a logit link, two classes and complete feature values. Makes no intervals: see intervals.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack, solve_triangular

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import DataError, UsageError, refuse_word
from scarce.linear.batch import DIVERGING, FLAT, Problem, climb

PENALTIES = ("firth", "none", "normal")
PRIOR_SCALE = 2.5  # per standard deviation of a column: wide enough to leave honest slopes alone
CONSTANT = 1e-13  # standard deviation, as a share of the mean, up to which a column is constant
ALIASED = 1e-11  # share of a column's variance that the others leave: below, it is left out


class Frame(NamedTuple):
    """How rows become columns of mean 0 and spread 1, and which columns add nothing."""

    columns: NDArray[np.intp]  # (k,) positions in the rows
    offset: int | None
    centre: Array  # (k,)
    spread: Array  # (k,); 1 for a constant column
    kept: NDArray[np.intp]  # positions in `columns`
    left_out: NDArray[np.intp]
    relation: Array  # (left out, kept): each column left out, standardised, from those kept
    weight: float
    positive_weight: float

    @property
    def size(self) -> int:
        """Number of coefficients that are fitted, with the intercept."""
        return 1 + len(self.kept)

    @property
    def log_spread(self) -> float:
        """What turns half the log determinant of standardised columns into that of given ones."""
        return float(np.log(self.spread[self.kept]).sum())

    def standard(self, coef: Array) -> Array:
        """Turn coefficients in given units into those of the standardised columns kept."""
        slopes = coef[1:][self.kept]
        centre, spread = self.centre[self.kept], self.spread[self.kept]
        return np.concatenate([[coef[0] + slopes @ centre], slopes * spread])

    def matrix(self) -> Array:
        """Return M with standard(coef) = M coef, over the intercept and the columns kept."""
        matrix = np.diag(np.concatenate([[1.0], self.spread[self.kept]]))
        matrix[0, 1:] = self.centre[self.kept]
        return matrix

    def direction(self, position: int) -> Array:
        """Return c with coefficient = c @ standard, for a coefficient that was fitted."""
        if position == 0:
            return np.concatenate([[1.0], -self.centre[self.kept] / self.spread[self.kept]])
        return np.concatenate([[0.0], (self.kept == position - 1) / self.spread[self.kept]])

    def given(self, standard: Array) -> Array:
        """Turn coefficients of standardised columns back; 0 for the columns left out."""
        coef = np.zeros(1 + len(self.columns))
        slopes = standard[1:] / self.spread[self.kept]
        coef[1:][self.kept] = slopes
        coef[0] = standard[0] - slopes @ self.centre[self.kept]
        return coef


@dataclass(frozen=True, eq=False)
class FirthFit:
    """A fitted logistic regression, and what its intervals are made from.

    Parameters
    ----------
    coef : ndarray of shape (k + 1,)
        Intercept first, in the units of the columns; 0 for a column left out.
    information : ndarray of shape (k + 1, k + 1)
        Curvature that Wald intervals invert: Fisher information, plus the precision of the prior
        for penalty="normal". Rows of columns left out are 0.
    objective : float
        Penalised log-likelihood that was maximised. With a normal prior, up to a constant.
    gradient_norm : float
        sqrt(g' H^-1 g): the gradient g of the objective in standard errors. The certificate.
    passes : int
        Folds over the rows.
    converged : bool
        Whether gradient_norm reached the tolerance at a finite maximum.
    penalty : str
        "firth", "none", "normal" or "flic".
    scale : float
        Standard deviation of the normal prior, per standard deviation of a column.
    separated : bool
        The likelihood grows for ever: `coef` is a point on the way to infinity.
    dropped : tuple of str
        Columns that the others (or the intercept) already contain.
    frame, standard, curvature, bend
        The fit in standardised columns, for profiles that start from here.
    """

    coef: Array
    information: Array
    objective: float
    gradient_norm: float
    passes: int
    converged: bool
    penalty: str
    scale: float
    separated: bool
    dropped: tuple[str, ...]
    frame: Frame
    standard: Array
    curvature: Array
    bend: Array


class Moments(NamedTuple):
    """Weighted mean and centred cross-products of the labelled rows."""

    weight: float
    positive: float
    mean: Array
    products: Array
    missing: Array
    highest: float


def moments(block: Block, params: tuple[NDArray[np.intp], int | None]) -> Moments:
    """Kernel: mean and cross-products of the columns over labelled rows, and what is missing."""
    columns, offset = params
    width = len(columns)
    total: Moments | None = None
    for piece in block.pieces():
        rows = piece.labelled
        if piece.weight is not None:
            rows = rows & (piece.weight > 0)
        X, y = piece.X[np.ix_(rows, columns)], np.asarray(piece.y)[rows]
        weight = np.ones(len(y)) if piece.weight is None else piece.weight[rows]
        missing = np.isnan(X).sum(axis=0).astype(np.float64)
        if offset is not None:
            missing = np.append(missing, np.isnan(piece.X[rows, offset]).sum())
        if len(y) == 0:
            part = Moments(0.0, 0.0, np.zeros(width), np.zeros((width, width)), missing, 0.0)
        else:
            mass = weight.sum()
            mean = weight @ X / mass
            X -= mean
            # Once more: a sum of many equal values is off by more than one of them is.
            rest = weight @ X / mass
            X -= rest
            mean = mean + rest
            part = Moments(mass, weight @ y, mean, (X.T * weight) @ X, missing, y.max())
        total = part if total is None else merge_moments(total, part)
    assert total is not None  # a block has rows
    return total


def merge_moments(total: Moments, more: Moments) -> Moments:
    """Merge without subtracting large sums (Chan, Golub, LeVeque)."""
    weight = total.weight + more.weight
    share = more.weight / weight if weight > 0 else 0.0
    apart = more.mean - total.mean
    return Moments(
        weight,
        total.positive + more.positive,
        total.mean + share * apart,
        total.products + more.products + total.weight * share * np.outer(apart, apart),
        total.missing + more.missing,
        max(total.highest, more.highest),
    )


moments.merge = merge_moments  # type: ignore[attr-defined]


def fit_firth(
    rows: Rows,
    columns: Sequence[int] | None = None,
    *,
    coef: ArrayLike | None = None,
    fixed: Mapping[int, float] | None = None,
    offset: int | None = None,
    penalty: str = "firth",
    scale: float = PRIOR_SCALE,
    tol: float = 1e-10,
    engine: Engine = None,
) -> FirthFit:
    """Fit a logistic regression to the labelled rows.

    Parameters
    ----------
    rows : Rows
        With labels of two classes; the second is the positive one.
    columns : sequence of int, optional
        Positions of the feature columns; by default all but the offset.
    coef : array-like of shape (k + 1,), optional
        Where to start, intercept first.
    fixed : mapping of int to float, optional
        Coefficients that are held at a value; position 0 is the intercept.
    offset : int, optional
        Position of a column that is added to the score with coefficient 1.
    penalty : {"firth", "none", "normal"}
        Jeffreys' prior (the default), plain maximum likelihood, or normal(0, scale^2) on the slope
        of each column after dividing it by its standard deviation over the labelled rows, so that
        units do not matter. The intercept is not penalised by "normal".
    scale : float
        Of the normal prior.
    tol : float
        Largest gradient_norm (in standard errors) that counts as converged.
    engine : engine, optional
        Who runs the blocks of rows.

    Returns
    -------
    FirthFit

    **Assumes** independent rows and a logit that is linear in the columns. A column that is
    constant or a combination of others is left out and named in `dropped`.

    Notes
    -----
    Firth's estimate exists for every data set, also when a column separates the classes. Two folds
    over the rows per Newton step; six to nine steps are usual.

    References
    ----------
    Firth (1993), Bias reduction of maximum likelihood estimates, Biometrika 80.
    Heinze, Schemper (2002), A solution to the problem of separation in logistic regression,
    Statistics in Medicine 21.

    Examples
    --------
    A column that separates the classes: maximum likelihood has no answer, Firth's is log 49.

    >>> from scarce import open_rows
    >>> rows = open_rows(np.array([[0.0], [0], [0], [1], [1], [1]]), label=[0, 0, 0, 1, 1, 1])
    >>> fit = fit_firth(rows)
    >>> fit.coef.round(4), fit.converged
    (array([-1.9459,  3.8918]), True)
    >>> fit_firth(rows, penalty="none").separated
    True
    """
    refuse_word("penalty", penalty, PENALTIES)
    if not (np.isfinite(scale) and scale > 0 and tol > 0):
        raise UsageError(
            f"scale={scale!r} and tol={tol!r} must be positive numbers; 2.5 and 1e-10 do."
        )
    frame = _frame(rows, columns, offset, engine)
    problem = problem_of(rows, frame, penalty, scale, engine)
    start = np.zeros(frame.size)
    start[0] = np.log((frame.positive_weight + 0.5) / (frame.weight - frame.positive_weight + 0.5))
    if coef is not None:
        given = np.asarray(coef, dtype=np.float64)
        if given.shape != (1 + len(frame.columns),):
            raise UsageError(
                f"coef has shape {given.shape}, and {1 + len(frame.columns)} numbers are needed to "
                "start from: the intercept, then one per column."
            )
        start = frame.standard(given)
    start, free = _held(frame, start, fixed or {})
    lane = climb(problem, start[None], free[None], tol=tol)
    to_standard = frame.matrix()
    kept = np.concatenate([[0], 1 + frame.kept])
    information = np.zeros((1 + len(frame.columns),) * 2)
    information[np.ix_(kept, kept)] = to_standard.T @ lane.curvature[0] @ to_standard
    # Where classes are separated the gradient vanishes and Newton's step does not: the maximum
    # is at infinity. A normal prior leaves the intercept to go there when there is one class.
    at_rest = lane.certificate[0] <= FLAT
    separated = penalty != "firth" and bool(at_rest and lane.stride[0] > DIVERGING)
    return FirthFit(
        coef=frame.given(lane.coef[0]),
        information=information,
        objective=float(lane.objective[0]) + (frame.log_spread if penalty == "firth" else 0.0),
        gradient_norm=float(lane.certificate[0]),
        passes=lane.passes + 1,
        converged=bool(lane.certificate[0] <= tol) and not separated,
        penalty=penalty,
        scale=float(scale),
        separated=separated,
        dropped=tuple(rows.names[frame.columns[j]] for j in frame.left_out),
        frame=frame,
        standard=lane.coef[0],
        curvature=lane.curvature[0],
        bend=lane.bend[0],
    )


def flic_intercept(rows: Rows, fit: FirthFit, *, engine: Engine = None) -> FirthFit:
    """Fit the intercept again by plain maximum likelihood, holding the slopes.

    Firth's penalty pulls small probabilities up; this puts their mean back on the share of
    positives (Puhr and others 2017). The information is taken at the new coefficients.

    Returns
    -------
    FirthFit
        With penalty "flic": for points and Wald intervals. Profiles are of the Firth fit.

    Examples
    --------
    >>> from scarce import open_rows
    >>> X = np.array([[0.0], [1], [2], [3], [4], [5], [6], [7]])
    >>> rows = open_rows(X, label=[0, 0, 0, 0, 1, 0, 0, 1])
    >>> fit = flic_intercept(rows, fit_firth(rows))
    >>> prob = 1 / (1 + np.exp(-fit.coef[0] - X[:, 0] * fit.coef[1]))
    >>> round(float(prob.mean()), 12)
    0.25
    """
    if fit.penalty == "none":
        return fit  # its mean is right already
    problem = problem_of(rows, fit.frame, "none", fit.scale, engine)
    only = np.zeros((1, fit.frame.size, 1))
    only[0, 0] = 1.0
    lane = climb(problem, fit.standard[None], only, tol=1e-13)
    coef = fit.coef.copy()
    coef[0] += lane.coef[0, 0] - fit.standard[0]
    to_standard = fit.frame.matrix()
    kept = np.concatenate([[0], 1 + fit.frame.kept])
    information = np.zeros_like(fit.information)
    information[np.ix_(kept, kept)] = to_standard.T @ lane.curvature[0] @ to_standard
    return replace(
        fit,
        coef=coef,
        information=information,
        objective=float(lane.objective[0]),
        gradient_norm=float(lane.certificate[0]),
        passes=fit.passes + lane.passes,
        converged=fit.converged and bool(lane.certificate[0] <= 1e-10),
        penalty="flic",
        standard=lane.coef[0],
        curvature=lane.curvature[0],
    )


def problem_of(rows: Rows, frame: Frame, penalty: str, scale: float, engine: Engine) -> Problem:
    """Return what `climb` needs of rows in a frame under a penalty."""
    columns: Any = frame.columns[frame.kept]
    if len(columns) == rows.n_columns and (columns == np.arange(len(columns))).all():
        columns = slice(None)  # a view, where a list of positions would copy
    prior = np.zeros(frame.size)
    if penalty == "normal":
        prior[1:] = scale**-2.0
    centre, spread = frame.centre[frame.kept], frame.spread[frame.kept]
    return Problem(rows, engine, columns, centre, spread, frame.offset, penalty == "firth", prior)


def _frame(rows: Rows, columns: Sequence[int] | None, offset: int | None, engine: Engine) -> Frame:
    """Look at the rows once: standardise, and find the columns that add nothing."""
    chosen = [j for j in range(rows.n_columns) if j != offset] if columns is None else columns
    asked = np.asarray(chosen, dtype=np.intp).reshape(-1)
    positions = [*asked.tolist(), *([] if offset is None else [offset])]
    wrong = [j for j in positions if not 0 <= j < rows.n_columns]
    if wrong:
        raise UsageError(
            f"Column {wrong[0]} is asked for, and these rows have columns 0 to "
            f"{rows.n_columns - 1}. Give positions in that range."
        )
    found: Moments = rows.fold(moments, (asked, offset), engine=engine)
    if found.weight == 0:
        raise DataError(
            f"None of the {len(rows):,} rows is labelled with weight above 0. Label some rows."
        )
    if found.highest > 1:
        raise DataError(
            f"Labels hold {max(len(rows.classes), int(found.highest) + 1)} classes, and a logistic "
            "regression has two. Keep two of them, or fit one class against the rest."
        )
    if found.missing.any():
        first = int(np.flatnonzero(found.missing)[0])
        raise DataError(
            f"Column {rows.names[positions[first]]!r}: {int(found.missing[first]):,} labelled rows "
            "have no value, and a linear score needs every one. Fill them, or leave the column out."
        )
    variance = np.diag(found.products) / found.weight
    # A constant of size 1e8 shows the spread of its rounding errors, some 1e-16 of it; a margin of
    # 500 keeps the decision the same on every processor.
    constant = variance <= (CONSTANT * np.abs(found.mean)) ** 2
    spread = np.where(constant, 1.0, np.sqrt(np.where(constant, 1.0, variance)))
    kept, left_out, relation = _independent(found.products / found.weight, constant, spread)
    return Frame(
        asked, offset, found.mean, spread, kept, left_out, relation, found.weight, found.positive
    )


def _independent(
    covariance: Array, constant: NDArray[np.bool_], spread: Array
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Columns to keep, columns to leave out, and the latter in terms of the former."""
    varying = np.flatnonzero(~constant)
    still = np.flatnonzero(constant)
    if len(varying) == 0:
        return varying, still, np.zeros((len(still), 0))
    correlation = (covariance / spread / spread[:, None])[np.ix_(varying, varying)]
    factor, order, rank, _ = lapack.dpstrf(correlation, tol=ALIASED, lower=1)
    order = varying[order - 1]
    lower = np.tril(factor)
    solved = solve_triangular(lower[:rank, :rank], lower[rank:, :rank].T, trans="T", lower=True).T
    ranked = np.argsort(order[:rank])  # back in the order that they came in
    relation = np.vstack([solved[:, ranked], np.zeros((len(still), rank))])
    return order[:rank][ranked], np.concatenate([order[rank:], still]), relation


def _held(frame: Frame, start: Array, fixed: Mapping[int, float]) -> tuple[Array, Array]:
    """Move the start to where held coefficients have their values; return directions that stay."""
    if not fixed:
        return start, np.eye(frame.size)
    directions, values = [], []
    for position, value in fixed.items():
        if not 0 <= position <= len(frame.columns) or position - 1 in frame.left_out:
            raise UsageError(
                f"fixed={dict(fixed)!r}: coefficient {position} cannot be held: it is not one of 0 "
                f"(the intercept) to {len(frame.columns)}, or its column adds nothing to the "
                "others. Leave it away."
            )
        directions.append(frame.direction(position))
        values.append(float(value))
    constraints = np.array(directions)
    start = start + np.linalg.pinv(constraints) @ (np.array(values) - constraints @ start)
    basis, _ = np.linalg.qr(constraints.T, mode="complete")
    return start, basis[:, len(values) :]
