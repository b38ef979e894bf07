"""The score table: distinct scores in order, with counts of rows and labels at each.

    v = Phi^-1((N - r + 1/2) / N)          normal score of the row with rank r, 1 = greatest score

Every estimate is read from this table. Ranks take the place of scores, so any monotone rescaling of
the scores gives the same answers; equal scores share their middle rank. Assumes finite scores and
labels 0, 1 or NaN. Does not know where labels came from: see provenance.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from scarce.engine.block import Array

if TYPE_CHECKING:
    from scarce.missed.digest import ScoreDigest

Flags = NDArray[np.bool_]

GROUPS_BELOW = 90
GROUPS_ABOVE = 40
GROUPS_LABELLED = 250


class ScoreTable(NamedTuple):
    """Distinct scores from the greatest down, with counts."""

    score: Array
    rows: Array
    events: Array  # labelled 1
    others: Array  # labelled 0

    @property
    def n(self) -> float:
        """Number of rows."""
        return float(self.rows.sum())

    @property
    def unlabelled(self) -> Array:
        """Rows without a label, per score."""
        return self.rows - self.events - self.others

    @property
    def place(self) -> Array:
        """Normal score v of each distinct score."""
        middle = np.cumsum(self.rows) - self.rows / 2
        return np.asarray(ndtri(1.0 - middle / self.n))

    def place_of(self, scores: Array) -> Array:
        """Normal scores of rows of this table; for other scores, of the row next below."""
        spot = np.minimum(np.searchsorted(-self.score, -scores), len(self.score) - 1)
        return np.asarray(self.place[spot])

    def place_at(self, threshold: float) -> float:
        """Normal score right at a threshold, between the last alert and the row next below."""
        cut = self.above(threshold)
        rank = float(self.rows[:cut].sum())
        return float(ndtri(1.0 - min(max(rank, 0.5), self.n - 0.5) / self.n))

    def above(self, threshold: float) -> int:
        """Return how many distinct scores are alerts; they come first."""
        return int(np.searchsorted(-self.score, -threshold, side="right"))


def score_table_of(scores: Array, labels: Array) -> ScoreTable:
    """Return the score table of some rows.

    Examples
    --------
    >>> table = score_table_of(np.array([1.0, 3.0, 1.0, 2.0]), np.array([0.0, 1.0, np.nan, 0.0]))
    >>> table.score, table.rows, table.events
    (array([3., 2., 1.]), array([1., 1., 2.]), array([1., 0., 0.]))
    >>> table.above(2.0)
    2
    """
    order = np.argsort(-scores, kind="stable")
    ordered, known = scores[order], labels[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    rows = np.diff(np.append(first, len(ordered))).astype(np.float64)
    return ScoreTable(
        ordered[first],
        rows,
        np.add.reduceat((known == 1.0).astype(np.float64), first),
        np.add.reduceat((known == 0.0).astype(np.float64), first),
    )


def score_table_of_digest(digest: ScoreDigest) -> ScoreTable:
    """Return the score table of a digest: the means of its bins, which never cross its cuts."""
    states = (digest.unlabelled, digest.positive, digest.negative)
    score = np.concatenate([part.mean for part in states])
    counts = np.zeros((3, len(score)))
    at = 0
    for row, part in enumerate(states):
        counts[row, at : at + len(part.mean)] = part.count
        at += len(part.mean)
    order = np.argsort(-score, kind="stable")
    score, counts = score[order], counts[:, order]
    first = np.flatnonzero(np.concatenate([[True], score[1:] != score[:-1]]))
    joined = np.add.reduceat(counts, first, axis=1)
    return ScoreTable(score[first], joined.sum(axis=0), joined[1], joined[2])


class RankGrid(NamedTuple):
    """A score table in few groups of neighbouring ranks that never cross a cut."""

    place: Array  # normal score, mean over the group
    score: Array  # score, mean over the group
    rows: Array
    unlabelled: Array
    alert: Flags  # above the first cut
    beyond: Flags  # above the second cut, the other threshold that is asked for


class LabelledGroups(NamedTuple):
    """The labelled rows in few groups."""

    place: Array
    score: Array
    events: Array
    others: Array


def grid_of(table: ScoreTable, threshold: float, other: float | None = None) -> RankGrid:
    """Return groups that grow geometrically with the distance in rank from the threshold."""
    cut = table.above(threshold)
    second = cut if other is None else table.above(other)
    count = np.cumsum(table.rows)
    before = count - table.rows / 2
    at = float(count[cut - 1]) if cut else 0.0
    group = np.empty(len(count))
    group[:cut] = -1.0 - _steps(at - before[:cut], at, GROUPS_ABOVE)
    group[cut:] = _steps(before[cut:] - at, count[-1] - at, GROUPS_BELOW)
    group *= 2.0
    group[second:] += 1.0
    first = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    rows = np.add.reduceat(table.rows, first)
    return RankGrid(
        np.add.reduceat(table.place * table.rows, first) / rows,
        np.add.reduceat(table.score * _share(table.rows, rows, first), first),
        rows,
        np.add.reduceat(table.unlabelled, first),
        first < cut,
        first < second,
    )


def _share(part: Array, total: Array, first: NDArray[np.int64]) -> Array:
    """Each part of its group's total: weights that cannot overflow a mean."""
    return np.asarray(part / np.repeat(total, np.diff(np.append(first, len(part)))))


def labelled_of(table: ScoreTable) -> LabelledGroups:
    """Return the labelled rows, neighbours joined while their places differ little."""
    held = np.flatnonzero(table.events + table.others)
    groups = LabelledGroups(
        table.place[held], table.score[held], table.events[held], table.others[held]
    )
    if len(held) <= GROUPS_LABELLED:
        return groups
    reach = groups.place[0] - groups.place[-1]
    group = np.floor((groups.place[0] - groups.place) / reach * (GROUPS_LABELLED - 1))
    first = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    weight = groups.events + groups.others
    total = np.add.reduceat(weight, first)
    return LabelledGroups(
        np.add.reduceat(groups.place * weight, first) / total,
        np.add.reduceat(groups.score * _share(weight, total, first), first),
        np.add.reduceat(groups.events, first),
        np.add.reduceat(groups.others, first),
    )


def _steps(distance: Array, most: float, groups: int) -> Array:
    """Number of the group: 0 next to the threshold, growing with the logarithm of the rank."""
    if len(distance) == 0:
        return distance
    ratio = max(np.log(max(most, 2.0)) / groups, 1e-9)
    return np.asarray(np.floor(np.log(np.maximum(distance, 1.0)) / ratio))
