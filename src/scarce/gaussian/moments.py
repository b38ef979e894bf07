"""Sufficient statistics of Gaussian classes: weight, mean and centred squares of each.

    squares = sum over rows of weight * (x - mean)^2          one number per class and feature
    scatter = sum over rows of weight * (x - mean)(x - mean)'          one matrix per class

Both are folds, merged block by block without subtracting large sums (Chan, Golub, LeVeque 1983).
`class_moments` uses every observed value; `cross_moments` needs complete rows and treats the others
as `class_moments` does. Assumes weights that are not negative; a row of weight 0 does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array, Block
from scarce.engine.rows import Rows


class Moments(NamedTuple):
    """Weight of each class; observed weight, mean and squares of each of its features."""

    weight: Array  # (classes,)
    seen: Array  # (classes, features)
    mean: Array  # (classes, features), from the origin
    squares: Array  # (classes, features), sum of weight * (x - mean)^2


class CrossMoments(NamedTuple):
    """Moments of complete rows with products of features, and those of incomplete rows."""

    weight: Array  # (classes,)
    mean: Array  # (classes, features), from the origin
    scatter: Array  # (classes, features, features)
    incomplete: Moments  # of the rows with a missing value, value by value


M = TypeVar("M", Moments, CrossMoments)


def typical_values(rows: Rows) -> Array:
    """Return a typical value of each feature, the origin from which moments are taken.

    Coordinates and time stamps are large numbers with a small variance; a mean of size 1e8 has an
    error of 1e-8, which a variance of 1e-4 would show.
    """
    sample = next(rows.blocks()).X[:256]
    seen = ~np.isnan(sample)
    return np.asarray(np.where(seen, sample, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))


# --- value by value -------------------------------------------------------------------------------


def class_moments(block: Block, params: tuple[int, Array]) -> Moments:
    """Kernel: moments of the labelled rows of a block, class by class, measured from an origin."""
    n_classes, origin = params
    total: Moments | None = None
    for piece in block.pieces():
        part = no_moments(n_classes, block.X.shape[1])
        for label, chosen, weight in labelled_rows(piece, n_classes):
            with np.errstate(over="ignore", invalid="ignore"):  # refused once all rows are in
                _add_values(part, label, piece.X[chosen] - origin, weight)
        total = part if total is None else merge_moments(total, part)
    assert total is not None  # a block has rows
    return total


def labelled_rows(piece: Block, n_classes: int) -> list[tuple[int, NDArray[np.intp], Array]]:
    """Return class, positions and weights of the rows that count, for each class that has some."""
    assert piece.y is not None
    found = []
    for label in range(n_classes):
        mask = piece.y == label
        if piece.weight is not None:
            mask &= piece.weight > 0
        chosen = np.flatnonzero(mask)
        if len(chosen):
            weight = np.ones(len(chosen)) if piece.weight is None else piece.weight[chosen]
            found.append((label, chosen, weight))
    return found


def no_moments(n_classes: int, width: int) -> Moments:
    """Return the moments of no rows."""
    return Moments(np.zeros(n_classes), *np.zeros((3, n_classes, width)))


def _add_values(moments: Moments, label: int, X: Array, weight: Array) -> None:
    """Fill in one class of a piece; X is overwritten."""
    unseen = np.isnan(X)
    moments.weight[label] = weight.sum()
    moments.seen[label] = seen = weight @ ~unseen
    X[unseen] = 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(seen > 0, (weight @ X) / seen, 0.0)
    X -= mean
    X[unseen] = 0.0
    moments.mean[label] = mean
    moments.squares[label] = weight @ np.square(X, out=X)


def merge_moments(total: Moments, more: Moments) -> Moments:
    """Merge two sets of moments exactly, without subtracting large sums (Chan, Golub, LeVeque)."""
    seen = total.seen + more.seen
    share = _share(more.seen, seen)
    with np.errstate(over="ignore", invalid="ignore"):
        apart = more.mean - total.mean
        return Moments(
            total.weight + more.weight,
            seen,
            total.mean + share * apart,
            total.squares + more.squares + total.seen * share * apart**2,
        )


def _share(part: Array, whole: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.where(whole > 0, part / whole, 0.0)


class_moments.merge = merge_moments  # type: ignore[attr-defined]


# --- with products of features --------------------------------------------------------------------


def cross_moments(block: Block, params: tuple[int, Array, NDArray[np.intp] | None]) -> CrossMoments:
    """Kernel: one symmetric rank-k product per class and piece; params: classes, origin, columns.

    Columns, where given, are those to be used: a row is complete when none of them is missing.
    """
    n_classes, origin, columns = params
    total: CrossMoments | None = None
    for piece in block.pieces():
        X = piece.X if columns is None else np.ascontiguousarray(piece.X[:, columns])
        part = no_cross_moments(n_classes, X.shape[1])
        for label, chosen, weight in labelled_rows(piece, n_classes):
            with np.errstate(over="ignore", invalid="ignore"):  # refused once all rows are in
                gap = X[chosen] - origin
                if np.isnan(gap.sum()):
                    whole = ~np.isnan(gap).any(axis=1)
                    _add_values(part.incomplete, label, gap[~whole], weight[~whole])
                    gap, weight = gap[whole], weight[whole]
                if len(gap):
                    _add_products(part, label, gap, None if piece.weight is None else weight)
        total = part if total is None else merge_cross_moments(total, part)
    assert total is not None  # a block has rows
    return total


def no_cross_moments(n_classes: int, width: int) -> CrossMoments:
    """Return the cross moments of no rows."""
    return CrossMoments(
        np.zeros(n_classes),
        np.zeros((n_classes, width)),
        np.zeros((n_classes, width, width)),
        no_moments(n_classes, width),
    )


def _add_products(moments: CrossMoments, label: int, X: Array, weight: Array | None) -> None:
    """Fill in one class of a piece; X is overwritten."""
    if weight is None:
        moments.weight[label] = len(X)
        mean = X.sum(axis=0) / len(X)
        X -= mean
    else:
        moments.weight[label] = total = weight.sum()
        mean = weight @ X / total
        X -= mean
        X *= np.sqrt(weight)[:, None]
    moments.mean[label] = mean
    np.matmul(X.T, X, out=moments.scatter[label])  # BLAS sees the transpose: half the work


def merge_cross_moments(total: CrossMoments, more: CrossMoments) -> CrossMoments:
    """Merge two sets of cross moments exactly, as `merge_moments` does."""
    weight = total.weight + more.weight
    share = _share(more.weight, weight)
    with np.errstate(over="ignore", invalid="ignore"):
        apart = more.mean - total.mean
        between = (total.weight * share)[:, None, None] * apart[:, :, None] * apart[:, None, :]
        return CrossMoments(
            weight,
            total.mean + share[:, None] * apart,
            total.scatter + more.scatter + between,
            merge_moments(total.incomplete, more.incomplete),
        )


cross_moments.merge = merge_cross_moments  # type: ignore[attr-defined]


def select_columns(moments: CrossMoments, columns: NDArray[np.intp]) -> CrossMoments:
    """Return the cross moments of some columns."""
    return CrossMoments(
        moments.weight,
        moments.mean[:, columns],
        moments.scatter[:, columns[:, None], columns],
        Moments(moments.incomplete.weight, *(part[:, columns] for part in moments.incomplete[1:])),
    )


def value_moments(moments: CrossMoments) -> Moments:
    """Return the moments value by value of all rows, complete or not."""
    complete = Moments(
        moments.weight,
        np.repeat(moments.weight[:, None], moments.mean.shape[1], axis=1),
        moments.mean,
        np.diagonal(moments.scatter, axis1=1, axis2=2).copy(),
    )
    return merge_moments(complete, moments.incomplete)


# --- kept between batches -------------------------------------------------------------------------


def to_state(moments: Moments | CrossMoments, origin: Array) -> dict[str, Array]:
    """Return moments of complete rows, or value by value, as arrays that a model file can hold."""
    kept = {name: value for name, value in moments._asdict().items() if name != "incomplete"}
    return {"origin": origin, **kept}


def from_state(state: Mapping[str, Array]) -> tuple[Moments | CrossMoments, Array]:
    """Return the moments and their origin, from `to_state`."""
    parts = {name: value for name, value in state.items() if name != "origin"}
    if "scatter" in parts:
        return CrossMoments(**parts, incomplete=no_moments(*parts["mean"].shape)), state["origin"]
    return Moments(**parts), state["origin"]


def shift_origin(moments: M, by: Array) -> M:
    """Return the same moments, measured from an origin that is lower by `by`."""
    return moments._replace(mean=moments.mean + by)


def embed_classes(moments: M, positions: NDArray[np.intp], n_classes: int) -> M:
    """Return moments of some classes as moments of all: class i becomes class positions[i]."""

    def embed(part: Array) -> Array:
        out = np.zeros((n_classes, *part.shape[1:]))
        out[positions] = part
        return out

    if isinstance(moments, Moments):
        return Moments(*map(embed, moments))
    incomplete = Moments(*map(embed, moments.incomplete))
    return CrossMoments(
        embed(moments.weight), embed(moments.mean), embed(moments.scatter), incomplete
    )
