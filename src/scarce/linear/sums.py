"""What a linear model needs from the rows: one fold gives gradient, Gram matrix and loss.

    score = constant + X @ slopes,   gradient = sum_i s_i slope_i [x_i, 1],
    gram = sum_i s_i curvature_i [x_i, 1][x_i, 1]'          (001 section 3.2, Algorithm 1)

The intercept is the last entry everywhere. Rows without a label count nothing. Assumes that no
value is missing: `look` says which column and row has a hole. Does not know penalties or steps: see
newton.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows, Ticket
from scarce.errors import DataError

PIECE_CELLS = 524_288  # cells of a piece: between 60,000 and this no difference was measured
TINY = 1e-140  # columns smaller than this, in root mean square, are refused: squares lose digits
FAR = 1e4  # means so many spreads from zero are taken off before products are formed


class Sums(NamedTuple):
    """What one pass over the rows found."""

    gradient: Array  # (k + 1,)
    gram: Array  # (k + 1, k + 1), or (0, 0) where it was not asked for
    value: float  # total loss; nan where it was not asked for


def linear_sums(block: Block, params: tuple[Any, Array, float, bool, bool, bool]) -> Sums:
    """Kernel: gradient of the total loss in [slopes, constant]; on request Gram matrix and loss."""
    loss, slopes, constant, gaps, with_gram, with_value = params
    k = len(slopes)
    gradient = np.zeros(k + 1)
    gram = np.zeros((k + 1, k + 1) if with_gram else (0, 0))
    value = 0.0 if with_value else np.nan
    for piece in block.pieces(piece_rows(k)):
        X, y, weight = counting(piece, gaps)
        score = X @ slopes
        score += constant
        if with_value:
            each = loss.value(y, score)
            value += float(each.sum() if weight is None else each @ weight)
            if not np.isfinite(value):  # an impossible label: no slope can be trusted either
                return Sums(gradient, gram, np.inf)
        slope, curvature = loss.sweep(y, score)
        if weight is not None:
            slope = slope * weight
        gradient[k] += slope.sum()
        gradient[:k] += slope @ X
        if with_gram:
            if weight is not None:
                curvature = curvature * weight
            gram += weighted_gram(X, curvature)
    return Sums(gradient, gram, value)


def counting(piece: Block, gaps: bool) -> tuple[Array, Array, Array | None]:
    """Return features, labels and weights of the rows that count."""
    y, weight = labelled(piece, gaps)
    if weight is None or weight.all():
        return piece.X, y, weight
    kept = weight > 0
    return piece.X[kept], y[kept], weight[kept]


def weighted_gram(X: Array, curvature: Array) -> Array:
    """Return the Gram matrix of [X, 1] under row weights that are not negative."""
    n, k = X.shape
    gram = np.empty((k + 1, k + 1))
    scaled = Block.scratch("weighted_gram", (n, k))
    np.multiply(X, np.sqrt(curvature)[:, None], out=scaled)
    gram[:k, :k] = scaled.T @ scaled  # type: ignore[operator]
    gram[k, :k] = gram[:k, k] = curvature @ X
    gram[k, k] = curvature.sum()
    return gram


def piece_rows(n_columns: int) -> int:
    """Return how many rows to work on at once, so that their weighted copy stays in cache."""
    return int(np.clip(PIECE_CELLS // (n_columns + 1), 256, 4096))


def labelled(piece: Block, gaps: bool) -> tuple[Array, Array | None]:
    """Return labels and weights; where labels may be missing, such rows get weight 0."""
    assert piece.y is not None
    if not gaps:
        return piece.y, piece.weight
    missing = np.isnan(piece.y)
    weight = np.ones(len(piece)) if piece.weight is None else piece.weight
    return np.where(missing, 0.0, piece.y), np.where(missing, 0.0, weight)


@dataclass(frozen=True)
class Look:
    """A first look at the rows: what is where, before anything is fitted.

    Parameters
    ----------
    weight : ndarray of shape (2,)
        Total weight of each class.
    count : ndarray of shape (2,)
        Rows of each class with weight above 0.
    unlabelled : int
        Rows without a label.
    mean, spread : ndarray of shape (k,)
        Of each column over the rows that count; spread 0 is exactly constant.
    """

    weight: Array
    count: Array
    unlabelled: int
    mean: Array
    spread: Array

    @property
    def total(self) -> float:
        """Total weight."""
        return float(self.weight.sum())

    @property
    def prevalence(self) -> float:
        """Share of the second class in the total weight."""
        return float(self.weight[1] / self.weight.sum())

    @property
    def origin(self) -> Array | None:
        """What to take off the columns before products are formed; None where nothing need be."""
        far = (np.abs(self.mean) > FAR * self.spread) & (self.spread > 0)
        return np.where(far, self.mean, 0.0) if far.any() else None


class MovedRows(Rows):
    """Rows whose columns are measured from an origin, so that large means cost no digits.

    Examples
    --------
    >>> from scarce import open_rows
    >>> moved = MovedRows(open_rows([[1e8, 2.0]]), np.array([1e8, 0.0]))
    >>> moved.map(lambda block, _: block.X)
    array([[0., 2.]])
    """

    def __init__(self, rows: Rows, origin: Array) -> None:
        self.rows, self.origin = rows, origin
        self.schema, self.starts, self.engine = rows.schema, rows.starts, rows.engine

    def ticket(self, index: int) -> Ticket:
        """Return the other rows' ticket with what to take off."""
        return _Moved(self.rows.ticket(index), self.origin)

    def on_disk(self) -> Rows:
        """Return the same over rows that other processes can open."""
        return MovedRows(self.rows.on_disk(), self.origin)

    @property
    def fingerprint(self) -> str:
        """That of the rows themselves."""
        return self.rows.fingerprint


class _Moved:
    def __init__(self, ticket: Ticket, origin: Array) -> None:
        self.ticket, self.origin = ticket, origin

    def open(self) -> Block:
        block = self.ticket.open()
        return Block(block.X - self.origin, block.y, block.weight, block.start, block.index)


def look(rows: Rows, *, engine: Engine = None, model: str = "The model") -> Look:
    """Count classes, and find mean and spread of each column; refuse holes and a single class."""
    weight, count, unlabelled, first, second = rows.fold(first_sums, None, engine=engine)
    if np.isnan(first).any():
        refuse_holes(rows, model)
    if not np.isfinite(second).all():
        large = rows.names[int(np.flatnonzero(~np.isfinite(second))[0])]
        raise DataError(
            f"Column {large!r} holds values beyond 1e150, whose squares are not numbers any more. "
            "Divide it, or take its logarithm."
        )
    if len(rows.classes) != 2 or not (weight > 0).all():
        present = [str(c) for c, w in zip(rows.classes, weight, strict=False) if w > 0]
        raise DataError(
            "Labelled rows of two classes are needed, and there is only one class with weight "
            f"above 0: {', '.join(present) or 'none'}. Label rows of the other class too."
        )
    total = weight.sum()
    mean = first / total
    if (second < TINY**2 * total).any():
        _refuse_tiny(rows, second < TINY**2 * total, engine)
    squares = second / total - mean**2
    if (squares < 1e-6 * mean**2).any():  # digits were lost: measure from the mean
        *_, first, second = rows.fold(first_sums, mean, engine=engine)
        squares = second / total - (first / total) ** 2
        squares = np.where(squares <= (1e-13 * mean) ** 2, 0.0, squares)
    return Look(weight, count, int(unlabelled), mean, np.sqrt(np.maximum(squares, 0.0)))


def _refuse_tiny(rows: Rows, small: Array, engine: Engine) -> None:
    """Refuse columns that vary, but by so little that squares lose their digits or vanish."""
    low, high = rows.fold(ends, None, merge=_outer_ends, engine=engine)
    tiny = small & (high > low)
    if tiny.any():
        first = int(np.flatnonzero(tiny)[0])
        most = max(abs(float(low[first])), abs(float(high[first])))
        raise DataError(
            f"Column {rows.names[first]!r}: its values are at most {most:.2g} in size, whose "
            "squares lose their digits. Multiply it, or give it in another unit."
        )


def ends(block: Block, _: None) -> tuple[Array, Array]:
    """Kernel: least and greatest value of each column over the rows that count."""
    weight = labelled(block, True)[1]
    assert weight is not None
    X = block.X[weight > 0]
    return X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)


def _outer_ends(total: tuple[Array, Array], more: tuple[Array, Array]) -> tuple[Array, Array]:
    return np.minimum(total[0], more[0]), np.maximum(total[1], more[1])


def first_sums(block: Block, origin: Array | None) -> tuple[Array, Array, int, Array, Array]:
    """Kernel: class weights and counts; of each column sum and squares, from an origin."""
    k = block.X.shape[1]
    weights, counts, unlabelled = np.zeros(2), np.zeros(2), 0
    first, second = np.zeros((2, k))
    assert block.y is not None
    for piece in block.pieces(piece_rows(k)):
        missing = np.isnan(piece.y)  # type: ignore[arg-type]
        y, weight = labelled(piece, bool(missing.any()))
        unlabelled += int(missing.sum())
        X = piece.X if origin is None else piece.X - origin
        if weight is None:
            weight = np.ones(len(piece))
            with np.errstate(over="ignore"):
                second += np.einsum("ij,ij->j", X, X)
        else:
            if not weight.all():  # a row that counts nothing may hold anything
                X = np.where(weight[:, None] > 0, X, 0.0)
            with np.errstate(over="ignore"):
                second += weight @ np.multiply(X, X, out=Block.scratch("first_sums", X.shape))
        first += weight @ X
        counting = weight > 0
        weights += weight @ (1.0 - y), weight @ y
        counts += np.count_nonzero(counting & (y == 0)), np.count_nonzero(counting & (y == 1))
    return weights, counts, unlabelled, first, second


def refuse_holes(rows: Rows, model: str) -> None:
    """Name the first missing value among the rows that count."""
    for block in rows.blocks():
        holes = np.isnan(block.X)
        if holes.any():
            row, column = np.argwhere(holes)[0]
            raise DataError(
                f"Column {rows.names[column]!r}: a missing value at row {block.start + row:,}. "
                f"{model} needs complete rows. Fill it in a pipeline (SimpleImputer), or use a "
                "model that takes holes as they are, such as GaussianBayes."
            )
