"""How far might a figure of decisions be off? A bootstrap that stays honest with few events.

    weight of a row* = Exp(1) * sample_weight / inclusion                        (Rubin 1981)
    high limit       = quantile of the figure with one unseen row added, the worst one; low, the
                       best one (Gaffke 2005; for a share, the limits of Clopper and Pearson 1934)

A resample is a vector of weights, and equal rows are drawn together: m of them weigh Gamma(m). So
memory and time grow with cells (at most 4,096) times resamples; the rows are sorted once. Where
rows come in groups, all rows of a group share one Exp(1), and the unseen row is a group: its rows
of the worst kind, as many as come together (Sample.together). Assumes independent rows or groups.
The population is the world that they come from: rows labelled for certain are a sample of it too,
and their interval is not empty. Does not know what a figure means: see realised, curves, coverage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from scarce.checks import read_level, read_seed, whole_number
from scarce.engine.block import Array
from scarce.errors import UsageError
from scarce.results import Estimate

MOST_CELLS = 4096
MOST_RESAMPLES = 100_000
HEADS = 1024  # rows with the greatest share in a figure, which keep a cell of their own
GROUPS_AT_ONCE = 4096


class Asked(NamedTuple):
    """How an interval is wanted."""

    level: float
    resamples: int
    seed: int

    @classmethod
    def read(cls, level: Any, resamples: Any, random_state: Any) -> Asked:
        """Return level, number of resamples and seed, or refuse what is none."""
        wanted = whole_number(resamples, "resamples", 100)
        if wanted > MOST_RESAMPLES:
            raise UsageError(
                f"resamples={wanted} do not fit into memory: give at most {MOST_RESAMPLES:,}. For "
                "limits of two digits 1,000 are enough."
            )
        asked = cls(read_level(level), wanted, read_seed(random_state))
        if asked.tails[0] * wanted < 2:
            raise UsageError(
                f"level={level} with resamples={wanted:,} leaves {asked.tails[0] * wanted:.2g} "
                f"resamples beyond each limit: give resamples={np.ceil(10 / asked.tails[0]):.0f}."
            )
        return asked

    @property
    def tails(self) -> tuple[float, float]:
        """Quantiles that the limits are."""
        return (1 - self.level) / 2, (1 + self.level) / 2


class Cells(NamedTuple):
    """Rows that are drawn together.

    `key`: what the caller put there; `weight`: their weight; `shape`: how many rows of equal weight
    they are worth, (sum w)^2 / sum w^2; `values`: what a unit of weight brings, (cells, columns);
    `parts`: where rows come in groups, what each group holds of each cell, (cells, groups).
    """

    key: NDArray[np.intp]
    weight: Array
    shape: Array
    values: Array
    parts: Any = None

    def draw(self, asked: Asked) -> Array:
        """Return weights of cells, (resamples, cells): the same for the same seed and cells."""
        if self.parts is not None:
            return draw_groups(self.parts, asked)
        drawn = np.random.default_rng([asked.seed, 0]).standard_gamma(
            self.shape, (asked.resamples, len(self.shape))
        )
        return np.multiply(drawn, self.weight / self.shape, out=drawn)


def in_groups(cell: NDArray[np.intp], weight: Array, group: NDArray[np.intp], n_cells: int) -> Any:
    """Return what each group holds of each cell: a sparse table, (cells, groups)."""
    order = np.lexsort((weight, group, cell))  # so that sums do not depend on the order of rows
    at = (weight[order], (cell[order], group[order]))
    return csr_array(at, shape=(n_cells, int(group.max()) + 1))


def draw_groups(parts: Any, asked: Asked) -> Array:
    """Return weights of cells where all rows of a group are drawn together: (resamples, cells)."""
    rng = np.random.default_rng([asked.seed, 0])
    held = np.zeros((parts.shape[0], asked.resamples))
    parts = parts.tocsc()
    for start in range(0, parts.shape[1], GROUPS_AT_ONCE):
        some = parts[:, start : start + GROUPS_AT_ONCE]
        held += some @ rng.standard_exponential((some.shape[1], asked.resamples))
    return held.T


def unseen(asked: Asked) -> Array:
    """Return the weight of the row that was added, one for each resample."""
    return np.random.default_rng([asked.seed, 1]).standard_exponential(asked.resamples)


def gather(
    key: NDArray[np.intp],
    weight: Array,
    values: Array,
    group: NDArray[np.intp] | None = None,
    *,
    most: int = MOST_CELLS,
) -> Cells:
    """Put equal rows together; beyond `most` cells also neighbours of the same key.

    Up to `most` different rows the draws are exact. Beyond, the rows with the greatest share in a
    column of values stay alone and the others are put together with those next in size, so that
    what is lost is the spread of values within a thin slice of one key.
    """
    # Sorted by everything, so that the order in which rows arrive does not change a bit.
    order = np.lexsort((*values.T[::-1], weight, key))
    start = np.ones(len(key), dtype=bool)
    start[1:] = _changes(key, weight, values, order)
    if start.sum() > most:
        order, start = _slices(key, weight, values, most)
    at = np.flatnonzero(start)
    w = weight[order]
    total = np.add.reduceat(w, at)
    shape = total**2 / np.add.reduceat(w**2, at)
    mean = np.add.reduceat(w[:, None] * values[order], at) / total[:, None]
    parts = None
    if group is not None:
        parts = in_groups(np.cumsum(start) - 1, w, group[order], len(at))
    return Cells(key[order][at], total, shape, mean, parts)


def _changes(
    key: NDArray[np.intp], weight: Array, values: Array, order: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Where the next row in order differs from the one before."""
    differs = (np.diff(key[order]) != 0) | (np.diff(weight[order]) != 0)
    for j in range(values.shape[1]):
        differs |= np.diff(values[order, j]) != 0
    return np.asarray(differs)


def _slices(
    key: NDArray[np.intp], weight: Array, values: Array, most: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Order and starts of cells: heads alone, the rest in slices of one key and similar size."""
    squares = (weight[:, None] * values) ** 2
    share = (squares / np.maximum(squares.sum(axis=0), np.finfo(float).tiny)).max(axis=1)
    head = np.zeros(len(key), dtype=bool)
    head[np.argpartition(share, -HEADS)[-HEADS:]] = True
    kinds = int(key.max()) + 1
    bands = int(np.clip(most // (4 * kinds), 1, 16))
    edges = np.unique(weight)
    if len(edges) > bands:
        edges = np.unique(np.quantile(weight, np.arange(1, bands) / bands))
    band = np.searchsorted(edges, weight, side="right")
    band[head] = -1
    order = np.lexsort((weight * values[:, 0], band, key))
    k, alone = key[order] * (bands + 2) + band[order], head[order]
    kinds *= len(edges) + 1
    length = max(1, -(-len(key) // max(1, most - HEADS - kinds)))
    place = np.arange(len(key))
    begin = np.ones(len(key), dtype=bool)
    begin[1:] = (np.diff(k) != 0) | alone[1:] | alone[:-1]
    since = place - np.maximum.accumulate(np.where(begin, place, 0))
    return order, begin | (since % length == 0)


def typical(weight: Array, size: Array, values: Array) -> Array:
    """Return what an unseen row would bring: the mean row, met in proportion to what it holds.

    With sizes w and equal values that is sum w^2 / sum w, the weight behind a random member of the
    population. A plain mean is too small where few rows hold most of the cost, and the greatest
    row is far too large: the limits were measured with all three.
    """
    pull = weight * size
    pull = weight if not pull.any() else pull
    return np.asarray((pull * weight) @ values / pull.sum())


Figure = Callable[[Array], Array]


def limits(
    sums: Array, added: Array, figure: Figure, asked: Asked
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return low and high limit of a figure of sums, over every unseen row that may be added.

    Parameters
    ----------
    sums : ndarray of shape (resamples, columns)
    added : ndarray of shape (n_unseen, columns)
        What each row that might have been met would bring.
    figure : callable
        From sums to (resamples,) or (resamples, n) figures.
    asked : Asked
    """
    extra = unseen(asked)[:, None]
    return outer((figure(sums + extra * row) for row in added), asked)


def outer(
    replicates: Iterable[Array], asked: Asked, simultaneous: bool = False
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the outermost limits over sets of replicates, each (resamples,) or (resamples, n)."""
    low: Any = np.inf
    high: Any = -np.inf
    for figures in replicates:
        tails = _joint_tails(figures, asked) if simultaneous else asked.tails
        below, above = _quantiles(figures, tails)
        low, high = np.minimum(low, below), np.maximum(high, above)
    return np.asarray(low), np.asarray(high)


def _quantiles(figures: Array, tails: tuple[float, float]) -> NDArray[Any]:
    """Quantiles over resamples; resamples in which a figure does not exist are left out of it."""
    if not np.isnan(figures).any():
        return np.asarray(np.quantile(figures, tails, axis=0))
    exists = ~np.isnan(figures).all(axis=0)
    out = np.full((2, *figures.shape[1:]), np.nan)
    out[:, exists] = np.nanquantile(figures[:, exists], tails, axis=0)
    return out


def _joint_tails(figures: Array, asked: Asked) -> tuple[float, float]:
    """Quantiles between which a whole curve lies in a share `level` of the resamples.

    The rank of the most extreme point of a curve among all resamples; its quantile is the tail.
    """
    n = len(figures)
    ranks = figures.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable") + 1
    moves = figures.min(axis=0) < figures.max(axis=0)
    if not moves.any():
        return asked.tails
    inner = np.minimum(ranks, n + 1 - ranks)[:, moves].min(axis=1)
    tail = (float(np.quantile(inner, 1 - asked.level, method="lower")) - 1) / (n - 1)
    return tail, 1 - tail  # so that the limits are themselves resamples of that rank


class Source(Protocol):
    """What a figure comes from: a Sample, or another figure of the same rows."""

    @property
    def method(self) -> str:
        """How its interval was found."""

    @property
    def assumes(self) -> str:
        """What its interval leans on."""


def estimate(
    value: Any, low: Any, high: Any, asked: Asked, source: Source, few: str = ""
) -> Estimate:
    """Return the record; the value is inside its interval even where resampling is biased."""
    value, low, high = float(value), float(low), float(high)
    method = source.method + few
    if np.isnan(value) or np.isnan(low) or np.isnan(high):
        return Estimate(value, np.nan, np.nan, asked.level, method, source.assumes)
    return Estimate(value, min(low, value), max(high, value), asked.level, method, source.assumes)


def support(part: Array) -> float:
    """Return how many rows of equal size would carry a sum as these do: (sum)^2 / sum of squares.

    Examples
    --------
    >>> support(np.array([1000.0, 1.0, 1.0, 0.0]))
    1.004...
    """
    squares = float(part @ part)
    return float(np.abs(part).sum() ** 2 / squares) if squares > 0 else 0.0
