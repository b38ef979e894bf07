"""How far may a figure of rows be off, when few of them carry it? Rows drawn again as weights.

    weight of a row* = Exp(1) * weight                                          (Rubin 1981)
    high limit = quantile of the figure with one unseen row added, the worst one; low, the best one
                 (Gaffke 2005; for a share these are the limits of Clopper and Pearson 1934)

Rows are of kinds (the class that happened, or hit, miss and so on) and hold values (what the row
would lose if another class had happened): an unseen row is of any kind, and as rows of any kind
are, met in proportion to what they hold. Neighbours are drawn together, m of them as Gamma(m), so
that a million rows cost one sort. In groups, whole groups are drawn, and the unseen row is a group.
Assumes independent rows, or groups. Knows no figure by name: see evaluation.py, comparison.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.engine.block import Array
from scarce.errors import DataError
from scarce.evaluation.scores import ASSUMES
from scarce.results import Estimate

RESAMPLES = 2000
ALONE = 128  # rows of a kind with the greatest value, which are drawn one by one
SLICES = 256  # in which the other rows of a kind are drawn together
MOST_DRAWS = 100_000_000  # numbers drawn for groups
AT_ONCE = 4096
METHOD = "bootstrap, one unseen row added"
METHOD_GROUPS = "bootstrap of groups, one unseen group added"
ASSUMES_GROUPS = "the groups of rows are independent draws from the population of interest"

Figure = Callable[[Array], Array]


class Redrawn:
    """Sums over rows, as they are and drawn again.

    Parameters
    ----------
    kind : array-like of int, shape (n,)
        From 0 on.
    n_kinds : int
    values : callable, optional
        `values(k)` gives what each row would hold if it were of kind k, shape (n, m); finite.
    losses : int
        How many of the first columns are losses, of which a lucky row has 0.
    sample_weight : array-like of shape (n,), optional
    groups : ndarray of int, shape (n,), optional
        Number of each row's group, from 0 on.
    level : float
    random_state : int

    Attributes
    ----------
    total : ndarray of shape (n_kinds + m,)
        Weight of the rows of each kind, then the weighted sum of each column of values.

    Examples
    --------
    >>> few = Redrawn([0] * 6 + [1] * 7, 2)
    >>> print(few.estimate(lambda sums: sums[:, 1] / sums.sum(axis=1)))
    0.538 [0.278, 0.777] (90 %, bootstrap, one unseen row added)
    """

    def __init__(
        self,
        kind: ArrayLike,
        n_kinds: int,
        values: Callable[[int], Array] | None = None,
        *,
        losses: int = 0,
        sample_weight: ArrayLike | None = None,
        groups: NDArray[np.intp] | None = None,
        level: float = 0.9,
        random_state: int = 0,
    ) -> None:
        self.kind = np.asarray(kind, dtype=np.intp)
        self.n_kinds, self.losses, self.level = n_kinds, losses, level
        self.weight = read_weights(sample_weight, len(self.kind))
        self.groups = groups
        self._held = np.empty((len(self.kind), 0))
        if values is not None:
            self._held = np.array(values(0), dtype=np.float64)
            for k in range(1, n_kinds):
                here = self.kind == k
                self._held[here] = values(k)[here]
        self.total = self._sums(np.zeros(len(self.kind), dtype=np.intp), 1)[0]
        self._rng = np.random.default_rng([random_state, 7])
        self._draws = self._drawn_groups() if groups is not None else self._drawn_rows()
        unseen = self._rng.standard_exponential(len(self._draws))
        self._extra = [unseen[:, None] * row for row in self._unseen(values)]

    @property
    def method(self) -> str:
        """How intervals are found."""
        return METHOD if self.groups is None else METHOD_GROUPS

    @property
    def assumes(self) -> str:
        """What intervals lean on."""
        return ASSUMES if self.groups is None else ASSUMES_GROUPS

    def estimate(self, figure: Figure, least: float = -np.inf, most: float = np.inf) -> Estimate:
        """Return a figure of the sums with its interval.

        Parameters
        ----------
        figure : callable
            From sums, shape (r, n_kinds + m), to r figures; NaN where it does not exist.
        least, most : float
            What it cannot be beyond.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(figure(self.total[None])[0])
            if np.isnan(value):
                return Estimate(value, value, value, self.level, self.method, self.assumes)
            low, high = value, value
            tails = (1 - self.level) / 2, (1 + self.level) / 2
            for extra in self._extra:
                drawn = figure(self._draws + extra)
                drawn = drawn[~np.isnan(drawn)]
                if len(drawn):
                    ends = np.quantile(drawn, tails)
                    low, high = min(low, float(ends[0])), max(high, float(ends[1]))
        low, high = min(max(low, least), value), max(min(high, most), value)
        return Estimate(value, low, high, self.level, self.method, self.assumes)

    def _sums(self, unit: NDArray[np.intp], n_units: int) -> Array:
        """Weight by kind and sums of values of each unit: (units, n_kinds + m)."""
        key = unit * self.n_kinds + self.kind
        by_kind = np.bincount(key, self.weight, n_units * self.n_kinds).reshape(n_units, -1)
        columns = [np.bincount(unit, self.weight * held, n_units) for held in self._held.T]
        return np.column_stack([by_kind, *columns])

    def _drawn_rows(self) -> Array:
        """Rows of a kind by their first value: the greatest drawn alone, the others in slices."""
        unit = np.zeros(len(self.kind), dtype=np.intp)
        size = self._held[:, 0] if self._held.shape[1] else np.zeros(len(self.kind))
        count = 0
        for k in range(self.n_kinds):
            rows = np.flatnonzero((self.kind == k) & (self.weight > 0))
            rows = rows[np.lexsort((self.weight[rows], -size[rows]))]
            place = np.arange(len(rows))
            slices = max(1, -(-(len(rows) - ALONE) // SLICES))
            place = np.where(place < ALONE, place, ALONE + (place - ALONE) // slices)
            unit[rows] = count + place
            count += int(place[-1]) + 1 if len(rows) else 0
        sums = self._sums(unit, count)
        mass = np.bincount(unit, self.weight, count)
        shape = mass**2 / np.bincount(unit, self.weight**2, count)
        single = shape == 1.0  # an exponential is drawn several times faster than a gamma
        total = self._rng.standard_exponential((RESAMPLES, int(single.sum()))) @ sums[single]
        shape, sums = shape[~single], sums[~single]
        drawn = self._rng.standard_gamma(shape, (RESAMPLES, len(shape))) / shape
        return np.asarray(total + drawn @ sums)

    def _drawn_groups(self) -> Array:
        assert self.groups is not None
        n_groups = int(self.groups.max()) + 1
        sums = self._sums(self.groups, n_groups)
        draws = max(200, min(RESAMPLES, MOST_DRAWS // n_groups))
        total = np.zeros((draws, sums.shape[1]))
        for start in range(0, n_groups, AT_ONCE):
            some = sums[start : start + AT_ONCE]
            total += self._rng.standard_exponential((draws, len(some))) @ some
        return total

    def _unseen(self, values: Callable[[int], Array] | None) -> Iterator[Array]:
        """What a row, or a group, that might have been met would add to the sums."""
        alike = [np.ones(len(self.kind), dtype=bool)]
        alike += [self.kind == k for k in range(self.n_kinds) if (self.kind == k).any()]
        for k in range(self.n_kinds):
            if self.groups is None:
                mass = float((self.weight**2).sum() / self.weight.sum())
            else:
                mass = self._lump(k)
            row = np.zeros(len(self.total))
            row[k] = mass
            if values is None:
                yield row
                continue
            held = values(k)
            if self.losses:
                row[self.n_kinds :] = mass * (self.weight @ held) / self.weight.sum()
                row[self.n_kinds : self.n_kinds + self.losses] = 0.0
                yield row.copy()
            for like in alike:
                for side in (np.maximum(held[:, 0], 0.0), np.maximum(-held[:, 0], 0.0)):
                    pull = np.where(like, self.weight * side, 0.0)
                    if pull.any():
                        row[self.n_kinds :] = mass * (pull @ held) / pull.sum()
                        yield row.copy()

    def _lump(self, k: int) -> float:
        """Weight of a kind that a group holding some of it holds; of all rows, if none was met."""
        assert self.groups is not None
        for part in (np.where(self.kind == k, self.weight, 0.0), self.weight):
            held = np.bincount(self.groups, part)
            if held.any():
                break
        return float(held @ held / held.sum())


def read_weights(sample_weight: ArrayLike | None, n: int) -> Array:
    """Return finite weights from 0 on, or refuse what is none."""
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, dtype=np.float64)
    fine = weight.shape == (n,) and bool(((weight >= 0) & (weight < np.inf)).all())
    if not fine or not weight.any():
        raise DataError(
            f"The weights of {n:,} rows must be one finite number from 0 on for each, not all 0."
        )
    return weight
