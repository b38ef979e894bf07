"""Many regressions on the same rows, for the price of a few: every loss and every ridge of a grid.

All losses advance together at one ridge, from the largest ridge to the smallest: their scores and
gradients are two matrix products for all of them, each keeps its own Hessian, and the answer at one
ridge starts the next. A fit stops when what is left to gain is far below what the data can tell:

    1/2 g' H^-1 g <= 1e-5     (the coefficients are then within 1/200 of a standard error)

On large data the grid is solved on all rows of the rarer class and a weighted share of the others,
and each answer is then moved once with the gradient of all rows. Assumes convex losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.linear.newton import append_rows
from scarce.linear.regress import Setting
from scarce.linear.sums import Look, labelled

ENOUGH = 1e-5  # decrement that a selection fit stops at
MOST_STEPS = 40
SMALL = 16_384  # training rows up to which the grid is solved on all of them
MOST_CELLS = 8_000_000  # cells of the part that is held in memory


class Part(NamedTuple):
    """Training rows in memory, whether they are all of them, and how often a record stands."""

    X: Array
    y: Array
    weight: Array
    whole: bool
    repeat: float = 1.0


class Grid(NamedTuple):
    """Coefficients of each loss and ridge, and what is needed to move them once more."""

    coef: Array  # (losses, ridges, k + 1): slopes, then the intercept
    hessian: Array  # (losses, ridges, p, p) in standardised coordinates
    enough: Array  # (losses, ridges): decrement below ENOUGH


def training_part(
    rows: Rows,
    look: Look,
    ids: Array,
    held_out: int,
    engine: Engine,
    draw: Array,
    repeat: float = 1.0,
) -> Part:
    """Gather training rows: all of them, or all of the rarer class and a share of the others.

    `draw` is a uniform number per row; those below a class's share are taken. Where it follows from
    the content of a row, the part does not depend on the order of rows. `repeat` is how often a
    record stands in the table, on average.
    """
    n = float(np.count_nonzero((ids != held_out) & (ids >= 0))) / repeat
    room = max(SMALL, n / 8) if n * rows.n_columns < 8 * MOST_CELLS else MOST_CELLS / rows.n_columns
    count = look.count / repeat
    shares = np.minimum(1.0, np.maximum(room / 2, room - count[::-1]) / count)
    X, y, weight = rows.fold(
        take_share, (ids, held_out, shares, draw), engine=engine, merge=append_rows
    )
    return Part(X, y, weight, bool((shares == 1.0).all()), repeat)


def take_share(block: Block, params: tuple[Array, int, Array, Array]) -> tuple[Array, Array, Array]:
    """Kernel: a share of each class among the training rows, weighted to stand for all."""
    ids, held_out, shares, draw = params
    place = slice(block.start, block.start + len(block))
    own = ids[place]
    y, weight = labelled(block, True)
    assert weight is not None
    training = (own != held_out) & (own >= 0) & (weight > 0)
    share = np.where(y == 1, shares[1], shares[0])
    if (shares < 1.0).any():
        training &= draw[place] < share
    kept = np.flatnonzero(training)
    return block.X[kept], y[kept], weight[kept] / share[kept]


class Standard:
    """Coordinates in which every column has spread 1, and mean 0 beside a free intercept."""

    def __init__(self, look: Look, setting: Setting) -> None:
        k = len(look.mean)
        self.scale = np.where(look.spread > 0, look.spread, 1.0)
        self.mean = look.mean if setting.intercept == "free" else np.zeros(k)
        self.free = setting.free(look)
        self.offset = setting.offset
        self.setting = setting

    def design(self, X: Array) -> tuple[Array, Array]:
        """Return the standardised design with its intercept column last, and the offset."""
        k = X.shape[1]
        Z = np.ones((len(X), k + 1))
        np.subtract(X, self.mean, out=Z[:, :k])
        Z[:, :k] /= self.scale
        offset = np.zeros(len(X)) if self.offset is None else X[:, self.offset].copy()
        return np.ascontiguousarray(Z[:, self.free]), offset

    def penalty(self, ridge: float) -> Array:
        """Return the penalty of each free standardised coefficient."""
        given = self.setting.penalty(ridge, len(self.scale))
        given[:-1] /= self.scale**2
        return np.asarray(given[self.free])

    def given(self, theta: Array) -> Array:
        """Turn free standardised coefficients (..., p) into those of the columns (..., k + 1)."""
        coef = np.zeros((*theta.shape[:-1], len(self.free)))
        coef[..., self.free] = theta
        coef[..., :-1] /= self.scale
        coef[..., -1] -= coef[..., :-1] @ self.mean
        if self.offset is not None:
            coef[..., self.offset] = 1.0
        return coef

    def gradient(self, gradient: Array) -> Array:
        """Turn gradients in the columns' units (..., k + 1) into free standardised ones."""
        moved = gradient.copy()
        moved[..., :-1] = (gradient[..., :-1] - gradient[..., -1:] * self.mean) / self.scale
        return np.asarray(moved[..., self.free])


def solve_grid(
    part: Part, look: Look, losses: Sequence[Any], ridges: Sequence[float], setting: Setting
) -> Grid:
    """Solve every loss at every ridge on rows in memory."""
    standard = Standard(look, setting)
    Z, offset = standard.design(part.X)
    p = Z.shape[1]
    theta = np.zeros((len(losses), p))
    if setting.intercept != "none":
        theta[:, -1] = [float(loss.link.forward(np.array([look.prevalence]))[0]) for loss in losses]
        if setting.offset is not None:
            theta[:, -1] -= look.mean[setting.offset]
    coef = np.empty((len(losses), len(ridges), len(standard.free)))
    hessians = np.empty((len(losses), len(ridges), p, p))
    enough = np.zeros((len(losses), len(ridges)), dtype=bool)
    data = np.zeros((len(losses), p, p))
    climb = _Climb(Z, offset, part, losses)
    fresh = True
    for r in np.argsort(ridges)[::-1]:
        theta, data, enough[:, r] = climb.stage(theta, data, standard.penalty(ridges[r]), fresh)
        fresh = False
        coef[:, r] = standard.given(theta)
        hessians[:, r] = data + np.diag(standard.penalty(ridges[r]))
    return Grid(coef, hessians, enough)


class _Climb:
    """Newton steps of all losses together, at one ridge after another."""

    def __init__(self, Z: Array, offset: Array, part: Part, losses: Sequence[Any]) -> None:
        self.Z, self.offset, self.y, self.weight = Z, offset, part.y, part.weight
        self.losses = losses
        # In units of one record: weights in other units, or rows written twice, change nothing.
        least = max(float(part.weight.min()), 1e-3 * float(part.weight.mean()))
        self.enough = ENOUGH * part.repeat * least
        # Hessians of all losses against one pass of gradients: few rows make them cheap.
        self.cheap = len(Z) * Z.shape[1] < 60_000

    def sums(self, theta: Array, which: Any, hessian: Any) -> tuple[Array, dict[int, Array]]:
        """Return the gradients of the chosen losses, and Hessians of those asked for."""
        scores = theta[which] @ self.Z.T
        scores += self.offset
        grams = {}
        for row, number in enumerate(which):
            slope, curvature = self.losses[number].sweep(self.y, scores[row])
            if hessian[number]:
                root = np.sqrt(curvature * self.weight)
                scaled = self.Z * root[:, None]
                grams[int(number)] = scaled.T @ scaled
            np.multiply(slope, self.weight, out=scores[row])
        return scores @ self.Z, grams

    def stage(
        self, theta: Array, data: Array, penalty: Array, fresh: bool
    ) -> tuple[Array, Array, Array]:
        """Solve all losses at one penalty, from the answers at another."""
        count, p = theta.shape
        theta, data = theta.copy(), data.copy()
        everyone = np.arange(count)
        stale = np.full(count, fresh or self.cheap)
        gradient, grams = self.sums(theta, everyone, stale)
        gradient = gradient + penalty * theta
        self._keep(data, grams)
        share = np.ones(count)
        step = np.zeros((count, p))
        last = np.full(count, np.inf)
        active = np.ones(count, dtype=bool)
        renew = np.ones(count, dtype=bool)
        for _ in range(MOST_STEPS):
            step[renew] = -_solve(data[renew], penalty, gradient[renew])
            decrement = -0.5 * np.einsum("ij,ij->i", step, gradient)
            active = decrement > self.enough
            if not active.any():
                break
            which = np.flatnonzero(active)
            tried = theta.copy()
            tried[which] += share[which, None] * step[which]
            stale = active & (self.cheap | (decrement > 0.1 * last))
            new, grams = self.sums(tried, which, stale)
            new = new + penalty * tried[which]
            before = np.einsum("ij,ij->i", step[which], gradient[which])
            after = np.einsum("ij,ij->i", step[which], new)
            good = after <= 0.9 * -before
            renew = np.zeros(count, dtype=bool)
            renew[which[good]] = True
            theta[which[good]] = tried[which[good]]
            gradient[which[good]] = new[good]
            last[which[good]] = decrement[which[good]]
            share[which[good]] = 1.0
            share[which[~good]] *= np.clip(before / (before - after), 0.05, 0.7)[~good]
            self._keep(data, {n: gram for n, gram in grams.items() if renew[n]})
        return theta, data, ~active

    @staticmethod
    def _keep(data: Array, grams: dict[int, Array]) -> None:
        for number, gram in grams.items():
            data[number] = gram


def _solve(data: Array, penalty: Array, gradient: Array) -> Array:
    """Solve with each Hessian, lifted a little: flat directions of a GEV loss stay finite."""
    hessian = data + np.diag(penalty)
    scale = np.sqrt(np.maximum(np.einsum("ijj->ij", hessian), 1e-300))
    hessian = hessian / (scale[:, :, None] * scale[:, None, :]) + 1e-12 * np.eye(data.shape[1])
    return np.asarray(np.linalg.solve(hessian, (gradient / scale)[..., None])[..., 0] / scale)


def polish(
    rows: Rows,
    look: Look,
    grid: Grid,
    losses: Sequence[Any],
    ridges: Sequence[float],
    setting: Setting,
    ids: Array,
    held_out: int,
    engine: Engine,
) -> Grid:
    """Move every answer once, with the gradient of all training rows and the part's Hessian."""
    standard = Standard(look, setting)
    shape = grid.coef.shape
    kinds, flat, place = distinct(grid.coef, losses)
    gradient = rows.fold(grid_gradients, (kinds, flat, ids, held_out), engine=engine)[place]
    penalty = np.array([setting.penalty(ridge, shape[-1] - 1) for ridge in ridges])
    moved = standard.gradient(gradient + penalty * grid.coef)
    step = np.stack(
        [
            _solve(grid.hessian[:, r], np.zeros(moved.shape[-1]), moved[:, r])
            for r in range(len(ridges))
        ],
        axis=1,
    )
    change = standard.given(step)
    if setting.offset is not None:
        change[..., setting.offset] = 0.0
    first = np.unique(place, return_index=True)[1]  # answers that were one stay one
    return grid._replace(coef=(grid.coef - change).reshape(-1, shape[-1])[first][place])


def distinct(coef: Array, losses: Sequence[Any]) -> tuple[list[Any], Array, Any]:
    """Return losses and coefficients without repeats, and where each (loss, ridge) is among them.

    Small ridges share an answer when the data cannot tell them apart: `solve_grid` then leaves the
    coefficients as they were.
    """
    kinds: list[Any] = []
    kept: list[Array] = []
    place = np.empty(coef.shape[:2], dtype=np.intp)
    for i, loss in enumerate(losses):
        seen: dict[bytes, int] = {}
        for j in range(coef.shape[1]):
            key = coef[i, j].tobytes()
            if key not in seen:
                seen[key] = len(kept)
                kinds.append(loss)
                kept.append(coef[i, j])
            place[i, j] = seen[key]
    return kinds, np.array(kept), place


def grid_gradients(block: Block, params: tuple[list[Any], Array, Array, int]) -> Array:
    """Kernel: the gradient of each model over the training rows, (models, k + 1)."""
    losses, coef, ids, held_out = params
    total = np.zeros_like(coef)
    slopes = np.ascontiguousarray(coef[:, :-1])
    for piece in block.pieces():
        own = ids[piece.start : piece.start + len(piece)]
        y, weight = labelled(piece, True)
        assert weight is not None
        kept = np.flatnonzero((own != held_out) & (own >= 0) & (weight > 0))
        X, y, weight = piece.X[kept], y[kept], weight[kept]
        scores = slopes @ X.T
        scores += coef[:, -1:]
        for row, loss in enumerate(losses):
            np.multiply(loss.sweep(y, scores[row])[0], weight, out=scores[row])
        total[:, :-1] += scores @ X
        total[:, -1] += scores.sum(axis=1)
    return total
