"""Sums over rows for a linear model: one fold gives gradient, Hessian and loss.

    score = constant + X @ slopes,   gradient = sum_i s_i slope_i [x_i, 1],
    gram = sum_i s_i curvature_i [x_i, 1][x_i, 1]'          (001 section 3.2, Algorithm 1)

The Gram matrix is the Hessian of the total loss. The intercept is the last entry everywhere. Rows
without a label count nothing. Assumes complete values: `summarise_columns` names the column and row
of a missing one. Knows no penalties or steps: see newton.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import issparse, vstack

from scarce.checks import refuse_one_class
from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows, Ticket
from scarce.errors import DataError

PIECE_CELLS = 524_288  # cells of a piece: between 60,000 and this no difference was measured
TINY = 1e-140  # columns with a smaller root mean square are refused: squares lose digits
FAR = 1e4  # a mean so many standard deviations from 0 is subtracted before products are formed


class RowLoss(Protocol):
    """What a fit asks of a loss: its value, and its first two derivatives in the score."""

    def value(self, y: Array, score: Array) -> Array:
        """Return the loss of each row."""

    def sweep(self, y: Array, score: Array) -> tuple[Array, Array]:
        """Return first derivative and a second derivative >= 0 of each row."""


# --- gradient and Hessian -------------------------------------------------------------------------


class LinearSums(NamedTuple):
    """Gradient, Gram matrix and total loss at one coefficient vector."""

    gradient: Array  # (k + 1,)
    gram: Array  # (k + 1, k + 1), or (0, 0) where it was not asked for
    value: float  # total loss; nan where it was not asked for


def linear_sums(block: Block, params: tuple[RowLoss, Array, float, bool, bool, bool]) -> LinearSums:
    """Kernel: gradient of the total loss in [slopes, constant]; on request Gram matrix and loss."""
    loss, slopes, constant, unlabelled, with_gram, with_value = params
    k = len(slopes)
    gradient = np.zeros(k + 1)
    gram = np.zeros((k + 1, k + 1) if with_gram else (0, 0))
    value = 0.0 if with_value else np.nan
    for piece in block.strips(piece_rows(k)):
        X, y, weight = labelled_rows(piece, unlabelled)
        score = X @ slopes
        score += constant
        if with_value:
            each = loss.value(y, score)
            value += float(each.sum() if weight is None else each @ weight)
            if not np.isfinite(value):  # an impossible label: no slope can be trusted either
                return LinearSums(gradient, gram, np.inf)
        slope, curvature = loss.sweep(y, score)
        if weight is not None:
            slope = slope * weight
        gradient[k] += slope.sum()
        gradient[:k] += slope @ X
        if with_gram:
            if weight is not None:
                curvature = curvature * weight
            gram += weighted_gram(X, curvature)
    return LinearSums(gradient, gram, value)


def labelled_rows(piece: Block, unlabelled: bool) -> tuple[Array, Array, Array | None]:
    """Return features, labels and weights of the labelled rows with a weight above 0."""
    y, weight = labels_and_weights(piece, unlabelled)
    if weight is None or weight.all():
        return piece.matrix, y, weight
    kept = weight > 0
    return piece.matrix[kept], y[kept], weight[kept]


def labels_and_weights(piece: Block, unlabelled: bool) -> tuple[Array, Array | None]:
    """Return labels and weights; with `unlabelled`, rows without a label get weight 0."""
    assert piece.y is not None
    if not unlabelled:
        return piece.y, piece.weight
    missing = np.isnan(piece.y)
    weight = np.ones(len(piece)) if piece.weight is None else piece.weight
    return np.where(missing, 0.0, piece.y), np.where(missing, 0.0, weight)


def weighted_gram(X: Any, curvature: Array) -> Array:
    """Return the Gram matrix of [X, 1] under row weights that are not negative."""
    n, k = X.shape
    gram = np.empty((k + 1, k + 1))
    if issparse(X):
        sparse = X.multiply(np.sqrt(curvature)[:, None]).tocsr()
        gram[:k, :k] = (sparse.T @ sparse).toarray()
    else:
        scaled = Block.scratch("weighted_gram", (n, k))
        np.multiply(X, np.sqrt(curvature)[:, None], out=scaled)
        gram[:k, :k] = scaled.T @ scaled  # type: ignore[operator]
    gram[k, :k] = gram[:k, k] = curvature @ X
    gram[k, k] = curvature.sum()
    return gram


def piece_rows(n_columns: int) -> int:
    """Return how many rows to work on at once, so that their weighted copy stays in cache."""
    return int(np.clip(PIECE_CELLS // (n_columns + 1), 256, 4096))


def append_rows(total: tuple[Array, ...], more: tuple[Array, ...]) -> tuple[Array, ...]:
    """Merge rows that were collected from two blocks."""
    return tuple(
        vstack(pair, format="csr") if issparse(pair[0]) else np.concatenate(pair)
        for pair in zip(total, more, strict=True)
    )


# --- summary of the columns -----------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnSummary:
    """Weight of the classes, mean and standard deviation of the columns.

    Parameters
    ----------
    weight : ndarray of shape (2,)
        Total weight of each class.
    count : ndarray of shape (2,)
        Rows of each class with weight above 0.
    unlabelled : int
        Rows without a label.
    mean, std : ndarray of shape (k,)
        Of each column over the labelled rows; std is exactly 0 for a constant column.
    """

    weight: Array
    count: Array
    unlabelled: int
    mean: Array
    std: Array

    @property
    def total(self) -> float:
        """Total weight."""
        return float(self.weight.sum())

    @property
    def prevalence(self) -> float:
        """Share of the second class in the total weight."""
        return float(self.weight[1] / self.weight.sum())

    @property
    def scale(self) -> Array:
        """Standard deviation of each column, 1 for a constant one."""
        return np.where(self.std > 0, self.std, 1.0)

    @property
    def origin(self) -> Array | None:
        """What to subtract from the columns before products are formed; None for nothing."""
        far = (np.abs(self.mean) > FAR * self.std) & (self.std > 0)
        return np.where(far, self.mean, 0.0) if far.any() else None


def summarise_columns(
    rows: Rows, *, engine: Engine = None, model: str = "The model"
) -> ColumnSummary:
    """Count the classes, and find mean and standard deviation of each column.

    Refuses missing values, a single class, and columns whose squares are not numbers.
    """
    weight, count, unlabelled, first, second = rows.fold(column_sums, None, engine=engine)
    if np.isnan(first).any():
        refuse_missing(rows, model)
    if not np.isfinite(second).all():
        raise DataError(
            "Column {column!r} holds values beyond 1e150, whose squares are not finite.",
            code="values-too-large",
            column=rows.names[int(np.flatnonzero(~np.isfinite(second))[0])],
            remedy="Divide it, or take its logarithm.",
        )
    refuse_one_class(rows.classes, weight[: len(rows.classes)])
    total = weight.sum()
    mean = first / total
    if (second < TINY**2 * total).any():
        _refuse_tiny(rows, second < TINY**2 * total, engine)
    squares = second / total - mean**2
    if (squares < 1e-6 * mean**2).any():  # digits were lost: measure from the mean
        *_, first, second = rows.fold(column_sums, mean, engine=engine)
        squares = second / total - (first / total) ** 2
        squares = np.where(squares <= (1e-13 * mean) ** 2, 0.0, squares)
    return ColumnSummary(weight, count, int(unlabelled), mean, np.sqrt(np.maximum(squares, 0.0)))


def column_sums(block: Block, origin: Array | None) -> tuple[Array, Array, int, Array, Array]:
    """Kernel: class weights and counts; sum and sum of squares of each column, from an origin."""
    k = block.matrix.shape[1]
    weights, counts, unlabelled = np.zeros(2), np.zeros(2), 0
    first, second = np.zeros((2, k))
    assert block.y is not None
    for piece in block.strips(piece_rows(k)):
        missing = np.isnan(piece.y)  # type: ignore[arg-type]
        y, weight = labels_and_weights(piece, bool(missing.any()))
        unlabelled += int(missing.sum())
        X: Any = piece.matrix if origin is None else piece.X - origin
        if issparse(X):
            if weight is None:
                weight = np.ones(len(piece))
            with np.errstate(over="ignore"):
                second += weight @ X.multiply(X)
        elif weight is None:
            weight = np.ones(len(piece))
            with np.errstate(over="ignore"):
                second += np.einsum("ij,ij->j", X, X)
        else:
            if not weight.all():  # a row that counts nothing may hold anything
                X = np.where(weight[:, None] > 0, X, 0.0)
            with np.errstate(over="ignore"):
                second += weight @ np.multiply(X, X, out=Block.scratch("column_sums", X.shape))
        first += weight @ X
        used = weight > 0
        weights += weight @ (1.0 - y), weight @ y
        counts += np.count_nonzero(used & (y == 0)), np.count_nonzero(used & (y == 1))
    return weights, counts, unlabelled, first, second


def refuse_missing(rows: Rows, model: str) -> None:
    """Name the first missing value of the rows."""
    for block in rows.blocks():
        missing = np.isnan(block.X)
        if missing.any():
            row, column = np.argwhere(missing)[0]
            raise DataError(
                "Column {column!r} has a missing value at row {row:,}, and {model} needs complete "
                "rows.",
                code="missing-value",
                column=rows.names[column],
                row=int(block.start + row),
                model=model,
                remedy="Impute it in a pipeline (SimpleImputer), or use a model that takes missing "
                "values, such as GaussianBayes.",
            )


def _refuse_tiny(rows: Rows, small: Array, engine: Engine) -> None:
    """Refuse columns that vary, but by so little that their squares lose digits or vanish."""
    low, high = rows.fold(column_ranges, None, merge=_widest_ranges, engine=engine)
    tiny = small & (high > low)
    if tiny.any():
        first = int(np.flatnonzero(tiny)[0])
        raise DataError(
            "Column {column!r} holds values of at most {largest:.2g} in size, whose squares lose "
            "their digits.",
            code="values-too-small",
            column=rows.names[first],
            largest=max(abs(float(low[first])), abs(float(high[first]))),
            remedy="Multiply it, or give it in another unit.",
        )


def column_ranges(block: Block, _: None) -> tuple[Array, Array]:
    """Kernel: smallest and largest value of each column over the labelled rows."""
    weight = labels_and_weights(block, True)[1]
    assert weight is not None
    X = block.matrix[weight > 0]
    if issparse(X) and X.shape[0]:
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    X = X.toarray() if issparse(X) else X
    return X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)


def _widest_ranges(total: tuple[Array, Array], more: tuple[Array, Array]) -> tuple[Array, Array]:
    return np.minimum(total[0], more[0]), np.maximum(total[1], more[1])


class ShiftedRows(Rows):
    """Rows whose columns are measured from an origin, so that large means cost no digits.

    Examples
    --------
    >>> from scarce import open_rows
    >>> shifted = ShiftedRows(open_rows([[1e8, 2.0]]), np.array([1e8, 0.0]))
    >>> shifted.map(lambda block, _: block.X)
    array([[0., 2.]])
    """

    def __init__(self, rows: Rows, origin: Array) -> None:
        self.rows, self.origin = rows, origin
        self.schema, self.starts, self.engine = rows.schema, rows.starts, rows.engine

    def ticket(self, index: int) -> Ticket:
        """Return the other rows' ticket with what to subtract."""
        return _ShiftedTicket(self.rows.ticket(index), self.origin)

    def on_disk(self) -> Rows:
        """Return the same over rows that other processes can open."""
        return ShiftedRows(self.rows.on_disk(), self.origin)

    @property
    def fingerprint(self) -> str:
        """That of the rows themselves."""
        return self.rows.fingerprint


class _ShiftedTicket:
    def __init__(self, ticket: Ticket, origin: Array) -> None:
        self.ticket, self.origin = ticket, origin

    def open(self) -> Block:
        block = self.ticket.open()
        return Block(block.X - self.origin, block.y, block.weight, block.start, block.index)
