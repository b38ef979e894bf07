"""Logistic regression with few positives: Firth's penalised likelihood, and many fits at once.

    objective = sum_i w_i log p(y_i | x_i) - 1/2 sum_j prior_j coef_j^2 [+ 1/2 log det I(coef)]
    I(coef) = sum_i w_i p_i (1 - p_i) x_i x_i'                (the bracket: Firth 1993, section 3)
    FLIC: slopes as above, the intercept again by plain maximum likelihood, so that the mean
    predicted probability is the prevalence                (Puhr and others 2017, section 2.2)

Plain maximum likelihood and a normal prior are fitted in the same way, for intervals to compare.
A batch is a set of coefficient vectors, each maximised inside an affine set of its own: a whole
fit, a fit with coefficients held, one end of a profile interval. All of them share each pass.
Assumes a logit link, two classes and complete feature values. Makes no intervals: see inference.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack, solve_triangular
from scipy.special import expit

from scarce.checks import Number
from scarce.engine.block import PIECE_ROWS, Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import Argument, DataError, UsageError, refuse_word

PENALTIES = ("firth", "none", "normal")
PRIOR_SCALE = 2.5  # per standard deviation of a column: wide enough to leave honest slopes alone
CONSTANT = 1e-13  # standard deviation, as a share of the mean, up to which a column is constant
ALIASED = 1e-11  # share of a column's variance that the others leave: below, it is left out
CELLS = 262_144  # batch x coefficients x rows of a piece: what stays in cache
FLAT = 1e-5  # a certificate this small leaves 1e-10 of likelihood to gain:
DIVERGING = 1e-2  # a Newton step still this long then goes to a maximum at infinity
EVERY = slice(None)


Columns = NDArray[np.intp] | slice
Scaling = tuple[Columns, Array, Array, int | None]  # columns, centre, std, offset


class Design(NamedTuple):
    """How rows become columns of mean 0 and standard deviation 1, and which add nothing."""

    columns: NDArray[np.intp]  # (k,) positions in the rows
    offset: int | None
    centre: Array  # (k,)
    std: Array  # (k,); 1 for a constant column
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
    def log_std(self) -> float:
        """What turns half the log determinant of standardised columns into that of given ones."""
        return float(np.log(self.std[self.kept]).sum())

    def standard(self, coef: Array) -> Array:
        """Turn coefficients in given units into those of the standardised columns kept."""
        slopes = coef[1:][self.kept]
        centre, std = self.centre[self.kept], self.std[self.kept]
        return np.concatenate([[coef[0] + slopes @ centre], slopes * std])

    def information(self, curvature: Array) -> Array:
        """Turn the curvature in standardised columns into that of given ones, 0 if left out."""
        matrix = np.diag(np.concatenate([[1.0], self.std[self.kept]]))  # standard = matrix @ coef
        matrix[0, 1:] = self.centre[self.kept]
        kept = np.concatenate([[0], 1 + self.kept])
        information = np.zeros((1 + len(self.columns),) * 2)
        information[np.ix_(kept, kept)] = matrix.T @ curvature @ matrix
        return information

    def direction(self, position: int) -> Array:
        """Return c with coefficient = c @ standard, for a coefficient that was fitted."""
        if position == 0:
            return np.concatenate([[1.0], -self.centre[self.kept] / self.std[self.kept]])
        return np.concatenate([[0.0], (self.kept == position - 1) / self.std[self.kept]])

    def given(self, standard: Array) -> Array:
        """Turn coefficients of standardised columns back; 0 for the columns left out."""
        coef = np.zeros(1 + len(self.columns))
        slopes = standard[1:] / self.std[self.kept]
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
        GridCoordinates deviation of the normal prior, per standard deviation of a column.
    separated : bool
        The likelihood grows for ever: `coef` is a point on the way to infinity.
    dropped : tuple of str
        Columns that the others (or the intercept) already contain.
    design, standard, curvature, secant
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
    design: Design
    standard: Array
    curvature: Array
    secant: Array

    def covariance(self, n_columns: int) -> Array:
        """Return the inverse information as [slopes, intercept]; 0 for columns not fitted."""
        kept = np.append(self.design.columns[self.design.kept], n_columns)
        order = np.append(self.design.kept + 1, 0)
        out = np.zeros((n_columns + 1, n_columns + 1))
        out[np.ix_(kept, kept)] = np.linalg.inv(self.information[np.ix_(order, order)])
        return out


class DesignMoments(NamedTuple):
    """Weighted mean and centred cross-products of the labelled rows."""

    weight: float
    positive: float
    mean: Array
    products: Array
    missing: Array
    highest: float


def design_moments(block: Block, params: tuple[NDArray[np.intp], int | None]) -> DesignMoments:
    """Kernel: mean and cross-products of the columns over labelled rows, and what is missing."""
    columns, offset = params
    width = len(columns)
    total: DesignMoments | None = None
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
            part = DesignMoments(0.0, 0.0, np.zeros(width), np.zeros((width, width)), missing, 0.0)
        else:
            mass = weight.sum()
            mean = weight @ X / mass
            X -= mean
            # Once more: a sum of many equal values is off by more than one of them is.
            rest = weight @ X / mass
            X -= rest
            mean = mean + rest
            part = DesignMoments(mass, weight @ y, mean, (X.T * weight) @ X, missing, y.max())
        total = part if total is None else merge_moments(total, part)
    assert total is not None  # a block has rows
    return total


def merge_moments(total: DesignMoments, more: DesignMoments) -> DesignMoments:
    """Merge without subtracting large sums (Chan, Golub, LeVeque)."""
    weight = total.weight + more.weight
    share = more.weight / weight if weight > 0 else 0.0
    apart = more.mean - total.mean
    return DesignMoments(
        weight,
        total.positive + more.positive,
        total.mean + share * apart,
        total.products + more.products + total.weight * share * np.outer(apart, apart),
        total.missing + more.missing,
        max(total.highest, more.highest),
    )


design_moments.merge = merge_moments  # type: ignore[attr-defined]


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
    for name, value in (("scale", scale), ("tol", tol)):
        if not Number(0.0, open_low=True).allows(value):
            raise UsageError(
                "{argument} must be a number > 0, got {value!r}.",
                code="invalid-parameter",
                argument=Argument(name),
                value=value,
            )
    design = _design(rows, columns, offset, engine)
    objective = objective_of(rows, design, penalty, scale, engine)
    start = np.zeros(design.size)
    start[0] = np.log(
        (design.positive_weight + 0.5) / (design.weight - design.positive_weight + 0.5)
    )
    if coef is not None:
        given = np.asarray(coef, dtype=np.float64)
        if given.shape != (1 + len(design.columns),):
            raise UsageError(
                "{argument} must hold {expected} numbers, the intercept and one per column, got "
                "shape {shape}.",
                code="length-mismatch",
                argument=Argument("coef"),
                expected=1 + len(design.columns),
                shape=given.shape,
            )
        start = design.standard(given)
    start, free = _hold_coefficients(design, start, fixed or {})
    found = maximise_batch(objective, start[None], free[None], tol=tol)
    # Where classes are separated the gradient vanishes and Newton's step does not: the maximum
    # is at infinity. A normal prior leaves the intercept to go there when there is one class.
    at_rest = found.certificate[0] <= FLAT
    separated = penalty != "firth" and bool(at_rest and found.step_size[0] > DIVERGING)
    return FirthFit(
        coef=design.given(found.coef[0]),
        information=design.information(found.curvature[0]),
        objective=float(found.objective[0]) + (design.log_std if penalty == "firth" else 0.0),
        gradient_norm=float(found.certificate[0]),
        passes=found.passes + 1,
        converged=bool(found.certificate[0] <= tol) and not separated,
        penalty=penalty,
        scale=float(scale),
        separated=separated,
        dropped=tuple(rows.names[design.columns[j]] for j in design.left_out),
        design=design,
        standard=found.coef[0],
        curvature=found.curvature[0],
        secant=found.secant[0],
    )


def flic_intercept(rows: Rows, fit: FirthFit, *, engine: Engine = None) -> FirthFit:
    """Fit the intercept again by plain maximum likelihood, holding the slopes.

    Firth's penalty pulls small probabilities up; this puts their mean back on the
    prevalence (Puhr and others 2017). The information is taken at the new coefficients.

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
    objective = objective_of(rows, fit.design, "none", fit.scale, engine)
    only = np.zeros((1, fit.design.size, 1))
    only[0, 0] = 1.0
    found = maximise_batch(objective, fit.standard[None], only, tol=1e-13)
    coef = fit.coef.copy()
    coef[0] += found.coef[0, 0] - fit.standard[0]
    return replace(
        fit,
        coef=coef,
        information=fit.design.information(found.curvature[0]),
        objective=float(found.objective[0]),
        gradient_norm=float(found.certificate[0]),
        passes=fit.passes + found.passes,
        converged=fit.converged and bool(found.certificate[0] <= 1e-10),
        penalty="flic",
        standard=found.coef[0],
        curvature=found.curvature[0],
    )


def objective_of(
    rows: Rows, design: Design, penalty: str, scale: float, engine: Engine
) -> BatchObjective:
    """Return what is maximised on a design under a penalty."""
    kept = design.columns[design.kept]
    every = len(kept) == rows.n_columns and bool((kept == np.arange(len(kept))).all())
    columns: Columns = EVERY if every else kept  # a view, where positions would copy
    prior = np.zeros(design.size)
    if penalty == "normal":
        prior[1:] = scale**-2.0
    centre, std = design.centre[design.kept], design.std[design.kept]
    return BatchObjective(
        rows, engine, columns, centre, std, design.offset, penalty == "firth", prior
    )


def _design(
    rows: Rows, columns: Sequence[int] | None, offset: int | None, engine: Engine
) -> Design:
    """Read the rows once: standardise, and find the columns that add nothing."""
    chosen = [j for j in range(rows.n_columns) if j != offset] if columns is None else columns
    asked = np.asarray(chosen, dtype=np.intp).reshape(-1)
    positions = [*asked.tolist(), *([] if offset is None else [offset])]
    wrong = [j for j in positions if not 0 <= j < rows.n_columns]
    if wrong:
        raise UsageError(
            "Column {position} does not exist: these rows have columns 0 to {last}.",
            code="unknown-column",
            position=wrong[0],
            last=rows.n_columns - 1,
        )
    found: DesignMoments = rows.fold(design_moments, (asked, offset), engine=engine)
    if found.weight == 0:
        raise DataError(
            "None of the {rows:,} rows has a label and a weight above 0.",
            code="no-labels",
            rows=len(rows),
            remedy="Label some rows of each class.",
        )
    if found.highest > 1:
        raise DataError(
            "Logistic regression needs two classes, got {count}.",
            code="too-many-classes",
            count=max(len(rows.classes), int(found.highest) + 1),
            remedy="Keep two of them, or fit one class against the rest.",
        )
    if found.missing.any():
        first = int(np.flatnonzero(found.missing)[0])
        raise DataError(
            "Column {column!r} is missing in {count:,} labelled rows, and a linear score needs "
            "complete rows.",
            code="missing-value",
            column=rows.names[positions[first]],
            count=int(found.missing[first]),
            remedy="Impute the values, or leave the column out.",
        )
    variance = np.diag(found.products) / found.weight
    # A constant has the standard deviation of its rounding errors, some 1e-16 of it; a margin of
    # 500 keeps the decision the same on every processor.
    constant = variance <= (CONSTANT * np.abs(found.mean)) ** 2
    std = np.where(constant, 1.0, np.sqrt(np.where(constant, 1.0, variance)))
    kept, left_out, relation = _independent(found.products / found.weight, constant, std)
    return Design(
        asked, offset, found.mean, std, kept, left_out, relation, found.weight, found.positive
    )


def _independent(
    covariance: Array, constant: NDArray[np.bool_], std: Array
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Columns to keep, columns to leave out, and the latter in terms of the former."""
    varying = np.flatnonzero(~constant)
    still = np.flatnonzero(constant)
    if len(varying) == 0:
        return varying, still, np.zeros((len(still), 0))
    correlation = (covariance / std / std[:, None])[np.ix_(varying, varying)]
    factor, order, rank, _ = lapack.dpstrf(correlation, tol=ALIASED, lower=1)
    order = varying[order - 1]
    lower = np.tril(factor)
    solved = solve_triangular(lower[:rank, :rank], lower[rank:, :rank].T, trans="T", lower=True).T
    ranked = np.argsort(order[:rank])  # back in the order that they came in
    relation = np.vstack([solved[:, ranked], np.zeros((len(still), rank))])
    return order[:rank][ranked], np.concatenate([order[rank:], still]), relation


def _hold_coefficients(
    design: Design, start: Array, fixed: Mapping[int, float]
) -> tuple[Array, Array]:
    """Move the start to where held coefficients have their values; return directions that stay."""
    if not fixed:
        return start, np.eye(design.size)
    directions, values = [], []
    for position, value in fixed.items():
        if not 0 <= position <= len(design.columns) or position - 1 in design.left_out:
            raise UsageError(
                "{argument} names coefficient {position}, which is not fitted: give 0 (the "
                "intercept) to {last}, without columns that add nothing to the others.",
                code="unknown-coefficient",
                argument=Argument("fixed"),
                position=position,
                last=len(design.columns),
            )
        directions.append(design.direction(position))
        values.append(float(value))
    constraints = np.array(directions)
    start = start + np.linalg.pinv(constraints) @ (np.array(values) - constraints @ start)
    basis, _ = np.linalg.qr(constraints.T, mode="complete")
    return start, basis[:, len(values) :]


# --- batches --------------------------------------------------------------------------------------


class BatchObjective(NamedTuple):
    """What is maximised: rows, how their columns are standardised, and the penalty."""

    rows: Rows
    engine: Engine
    columns: Columns  # positions of the columns in the rows, or a slice
    centre: Array  # (K - 1,)
    std: Array  # (K - 1,)
    offset: int | None  # position of a column that is added to the score as it is
    firth: bool
    prior: Array  # (K,) precision of each coefficient

    def fold(self, kernel: Callable[..., Any], *arrays: Array) -> Any:
        """Fold a kernel over the rows with these columns."""
        scaling = (self.columns, self.centre, self.std, self.offset)
        return self.rows.fold(kernel, (scaling, arrays), engine=self.engine)


class Batch(NamedTuple):
    """Where each member of a batch stands."""

    coef: Array  # (m, K)
    objective: Array  # (m,)
    score: Array  # (m, K) gradient of the objective
    curvature: Array  # (m, K, K) information plus prior precision
    secant: Array  # (m, K, K) secant estimate of what Firth's penalty adds to the curvature
    certificate: Array  # (m,) sqrt(g' H^-1 g) over the free directions
    step_size: Array  # (m,) longest coordinate of the last Newton step
    passes: int


def _standard_design(
    piece: Block, scaling: Scaling
) -> tuple[Array, Array, Array | float, Array | float]:
    """Standardised columns under a row of ones (K, n), labels, weights and offset."""
    columns, centre, std, offset = scaling
    X, y, weight = piece.X, np.asarray(piece.y), piece.weight
    rows = ~np.isnan(y)
    if weight is not None:
        rows &= weight > 0
    if not rows.all():
        X, y, weight = X[rows], y[rows], None if weight is None else weight[rows]
    design = np.empty((len(centre) + 1, len(y)))
    design[0] = 1.0
    np.subtract(X.T[columns], centre[:, None], out=design[1:])
    design[1:] /= std[:, None]
    return design, y, 1.0 if weight is None else weight, 0.0 if offset is None else X[:, offset]


def likelihood(block: Block, params: tuple[Scaling, tuple[Array]]) -> tuple[Array, Array, Array]:
    """Kernel: log-likelihood (m,), its score (m, K) and information (m, K, K)."""
    scaling, (coef,) = params
    m, size = coef.shape
    total = (np.zeros(m), np.zeros((m, size)), np.zeros((m, size, size)))
    for piece in block.pieces(_piece_rows(coef)):
        design, y, weight, offset = _standard_design(piece, scaling)
        score = coef @ design + offset
        prob, rest = expit(score), expit(-score)
        value = np.logaddexp(0.0, np.where(y > 0, -score, score))
        slope = np.where(y > 0, rest, -prob)
        prob *= rest
        prob *= weight
        scaled = (prob[:, None, :] * design).reshape(m * size, -1)
        total[0][:] -= (weight * value).sum(axis=1)
        total[1][:] += (weight * slope) @ design.T
        total[2][:] += (scaled @ design.T).reshape(m, size, size)
    return total


def firth_gradient(block: Block, params: tuple[Scaling, tuple[Array, Array]]) -> Array:
    """Kernel: gradient of 1/2 log det I, sum_i h_i (1/2 - p_i) x_i, with leverages h (m, K)."""
    scaling, (coef, root) = params
    m, size = coef.shape
    total = np.zeros((m, size))
    for piece in block.pieces(_piece_rows(coef)):
        design, _, weight, offset = _standard_design(piece, scaling)
        score = coef @ design + offset
        prob, rest = expit(score), expit(-score)
        scaled = (root.reshape(m * size, size) @ design).reshape(m, size, -1)
        leverage = np.einsum("mkn,mkn->mn", scaled, scaled) * (weight * prob * rest)
        total += (leverage * (0.5 * (rest - prob))) @ design.T
    return total


def _piece_rows(coef: Array) -> int:
    return max(64, min(PIECE_ROWS, CELLS // coef.size))


def _evaluate(objective: BatchObjective, coef: Array) -> tuple[Array, Array, Array, Array]:
    """Objective, gradient without Firth's term, curvature, inverse root of the information."""
    value, score, information = objective.fold(likelihood, coef)
    root = np.empty((0, 0, 0))
    if objective.firth:
        root, half_log_det = _inverse_roots(information)
        value = value + half_log_det
    else:
        value = value - 0.5 * (coef**2 @ objective.prior)
        score = score - coef * objective.prior
        information = information + np.diag(objective.prior)
    return value, score, information, root


def _inverse_roots(information: Array) -> tuple[Array, Array]:
    """Inverse Cholesky factors, and half the log determinants: -inf where there is no factor."""
    try:
        factor = np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        if len(information) == 1:
            return np.zeros_like(information), np.array([-np.inf])
        parts = [_inverse_roots(one[None]) for one in information]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    diagonal = np.diagonal(factor, axis1=1, axis2=2)
    return np.linalg.inv(factor), np.log(diagonal).sum(axis=1)


def newton_step(curvature: Array, score: Array) -> Array:
    """Solve the Newton equations of each member, with a tiny ridge where they are singular."""
    try:
        return np.asarray(np.linalg.solve(curvature, score[..., None])[..., 0])
    except np.linalg.LinAlgError:
        size = curvature.shape[-1]
        ridge = 1e-12 * np.trace(curvature, axis1=-2, axis2=-1)[..., None, None] + 1e-200
        eased = curvature + ridge * np.eye(size)
        return np.asarray(np.linalg.solve(eased, score[..., None])[..., 0])


def maximise_batch(
    objective: BatchObjective,
    coef: Array,
    free: Array,
    *,
    tol: float,
    secant: Array | None = None,
    rounds: int = 200,
) -> Batch:
    """Maximise the objective for every member, each over coef + span(free), with step halving.

    The information is the exact curvature of the log-likelihood; what Firth's penalty adds to it is
    learned from the change of its gradient (symmetric rank one), which makes convergence
    superlinear without third derivatives. A member ends when its certificate is at most `tol`, or,
    without Firth's penalty, on its way to infinity, when next to nothing is left to gain.

    Parameters
    ----------
    coef : ndarray of shape (m, K)
        Where each member starts, in standardised columns.
    free : ndarray of shape (m, K, F)
        Orthonormal directions in which each member may move.
    """
    m, size = coef.shape
    coef = coef.copy()
    secant = np.zeros((m, size, size)) if secant is None else secant.copy()
    value, score, curvature, root = _evaluate(objective, coef)
    passes = 1
    term = np.zeros_like(coef)
    if objective.firth:
        term = objective.fold(firth_gradient, coef, root)
        passes = 2
    step, length, slope = np.zeros_like(coef), np.ones(m), np.zeros(m)
    certificate, step_size = np.full(m, np.inf), np.zeros(m)
    active = np.isfinite(value)
    fresh = _pick(active)
    good: slice | NDArray[np.bool_] = EVERY
    for _ in range(rounds):
        if fresh is not None:
            gradient = score[fresh] + term[fresh]
            found = _direction(
                objective.firth, gradient, curvature[fresh], secant[fresh], free[fresh]
            )
            step[fresh], slope[fresh], certificate[fresh] = found
            step_size[fresh] = np.abs(found[0]).max(axis=1)
            length[fresh] = 1.0
            endless = (not objective.firth) & (found[2] <= FLAT) & (step_size[fresh] > DIVERGING)
            active[fresh] = ~((found[2] <= tol) | endless)
        moving = _pick(active)
        if moving is None:
            break
        trial = coef[moving] + length[moving, None] * step[moving]
        new_value, new_score, new_curvature, new_root = _evaluate(objective, trial)
        passes += 1
        rounding = 1e-13 * (1.0 + np.abs(value[moving]))
        better = new_value >= value[moving] + 1e-4 * length[moving] * slope[moving] - rounding
        if better.all():
            fresh, good = moving, EVERY
        else:
            numbers = np.arange(m)[moving]
            length[numbers[~better]] *= 0.5
            active[numbers[~better]] = length[numbers[~better]] > 1e-9
            fresh, good = (numbers[better], better) if better.any() else (None, EVERY)
            if fresh is None:
                continue
        if objective.firth:
            new_term = objective.fold(firth_gradient, trial[good], new_root[good])
            passes += 1
            moved = trial[good] - coef[fresh]
            secant[fresh] = _rank_one(secant[fresh], moved, term[fresh] - new_term)
            term[fresh] = new_term
        coef[fresh], value[fresh] = trial[good], new_value[good]
        score[fresh], curvature[fresh] = new_score[good], new_curvature[good]
    return Batch(coef, value, score + term, curvature, secant, certificate, step_size, passes)


def _pick(active: NDArray[np.bool_]) -> slice | NDArray[np.intp] | None:
    """Return an index of the active members: a slice where all are, None where none is."""
    if active.all():
        return EVERY
    return np.flatnonzero(active) if active.any() else None


def _direction(
    firth: bool, score: Array, curvature: Array, secant: Array, free: Array
) -> tuple[Array, Array, Array]:
    """Newton step, its slope, and the certificate, over the free directions."""
    across = free.transpose(0, 2, 1)
    gradient = np.matmul(across, score[..., None])[..., 0]
    plain = across @ curvature @ free
    if firth:
        both = np.stack([plain, plain + across @ secant @ free])
        step, bold = newton_step(both, np.stack([gradient, gradient]))
    else:
        step = newton_step(plain, gradient)
    slope = (step * gradient).sum(axis=1)
    # A curvature that rounding has made indefinite proves nothing.
    certificate = np.sqrt(np.where(slope >= 0, slope, np.inf))
    if firth:
        bold_slope = (bold * gradient).sum(axis=1)
        # The secant part may spoil the direction far from the maximum: then do without it.
        sound = (bold_slope > 0.1 * slope) & (bold_slope < 10.0 * slope)
        step = np.where(sound[:, None], bold, step)
        slope = np.where(sound, bold_slope, slope)
    return np.matmul(free, step[..., None])[..., 0], slope, certificate


def _rank_one(secant: Array, moved: Array, change: Array) -> Array:
    """Symmetric rank-one update: the nearest matrix that turns `moved` into `change`."""
    miss = change - np.matmul(secant, moved[..., None])[..., 0]
    along = (miss * moved).sum(axis=1)
    size = np.sqrt((miss**2).sum(axis=1) * (moved**2).sum(axis=1))
    useful = np.abs(along) > 1e-6 * size
    scale = np.divide(1.0, along, out=np.zeros_like(along), where=useful)
    return np.asarray(secant + scale[:, None, None] * miss[:, :, None] * miss[:, None, :])
