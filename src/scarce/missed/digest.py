"""The digest of a hundred million scores: a few thousand bins that fit as well as all rows.

    count, mean, sum of squared deviations of each bin; a bin holds at most the share of rows
    pi / bins * sqrt(q (1 - q)) about the quantile q                 (Dunning and Ertl, k_1)

Scores go to sorted bins, apart for rows that are not labelled, positive and negative: narrow where
the tails are, single scores at the ends. Up to `bins` different scores nothing is lost. Counts,
means and squares are merged without cancellation (Chan, Golub, LeVeque), so digests of parts add
up, and no bin ever holds scores from both sides of a cut. Assumes finite scores. Does not keep the
order of rows, nor which row had which score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from scarce.checks import (
    is_number,
    read_column,
    read_integer,
    read_weight,
    refuse_length,
    refuse_other_index,
)
from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine, executor_for
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.errors import Argument, DataError, UsageError, refuse_word

# --- bins -----------------------------------------------------------------------------------------
#
#   split by label -> sort -> cut at equal steps of k(q) = 2 / pi asin(sqrt(q)) -> sums of each bin
#
# NumPy sorts a block in the time that looking up each score in a table of edges would take, and
# with the order known the bins are exact: equal scores share a bin, cuts are met, a score that
# repeats a lot is a bin by itself. Weighted scores must be sorted together with their weights,
# which costs six times as much. NaN is sorted last: `digest_block` looks there for faults. Bins of
# parts are joined by the same scale, Dunning and Ertl's k_1 from 0 to 1, without cancellation.


class Points(NamedTuple):
    """Sorted bins of scores: how many, their mean, and the sum of squared deviations from it."""

    count: Array  # type: ignore[assignment]  # a tuple's own count is of no use here
    mean: Array
    squares: Array


def scale(q: Array) -> Array:
    """Return k(q), which runs from 0 to 1 and is steep at both ends: equal steps of it are bins."""
    return np.asarray((2.0 / np.pi) * np.arcsin(np.sqrt(np.clip(q, 0.0, 1.0))))


def bins_of(scores: Array, weight: Array | None, bins: int, cuts: Array) -> Points:
    """Return about `bins` bins of finite scores, or each score by itself if no more are different.

    Sorts `scores` in place. No bin holds scores from both sides of a cut.

    Examples
    --------
    >>> bins_of(np.array([2.0, 1.0, 2.0]), None, 4096, np.empty(0))
    Points(count=array([1., 2.]), mean=array([1., 2.]), squares=array([0., 0.]))
    """
    if weight is None:
        scores.sort()
    else:
        order = np.argsort(scores)
        scores[:], weight = scores[order], weight[order]
    first = _first_of_each(scores, bins)
    if len(first) > bins:
        first = _first_of_bins(scores, weight, bins, cuts)
    points = Points(*np.empty((3, len(first))))
    if weight is None:
        sum_bins(scores, np.append(first, len(scores)), *points)
    else:
        sum_weighted_bins(scores, weight, np.append(first, len(scores)), *points)
    return points


def _first_of_each(ordered: Array, most: int) -> NDArray[np.intp]:
    """Where each different score begins; stops looking soon after `most`."""
    found = [np.zeros(min(1, len(ordered)), dtype=np.intp)]
    n_found = 0
    for begin in range(0, len(ordered) - 1, 65_536):
        part = ordered[begin : begin + 65_537]
        found.append(np.flatnonzero(part[1:] != part[:-1]) + (begin + 1))
        n_found += len(found[-1])
        if n_found > most:
            break
    return np.concatenate(found)


def _first_of_bins(
    ordered: Array, weight: Array | None, bins: int, cuts: Array
) -> NDArray[np.intp]:
    """Where each bin begins: at equal steps of the scale, at cuts, and around long ties."""
    share = np.sin(np.arange(1, bins) * (0.5 * np.pi / bins)) ** 2
    if weight is None:
        rank = np.ceil(share * len(ordered) - 0.5).astype(np.intp)
    else:
        running = np.cumsum(weight)
        rank = np.searchsorted(running - 0.5 * weight, share * running[-1])
    at = ordered[np.clip(rank, 0, len(ordered) - 1)]
    begin = np.searchsorted(ordered, at, side="left")
    # A step that falls into a run of equal scores makes the run a bin: begin and end of it.
    end = np.searchsorted(ordered, at[begin < rank], side="right")
    first = np.concatenate([[0], begin, end, np.searchsorted(ordered, cuts, side="left")])
    return np.unique(first[first < len(ordered)])


def joined(left: Points, right: Points, bins: int, cuts: Array) -> Points:
    """Merge two sets of sorted bins; equal means become one bin, then as `squeeze`."""
    if len(left.count) == 0 or len(right.count) == 0:
        return squeeze(left if len(right.count) == 0 else right, bins, cuts)
    together = Points(*map(np.concatenate, zip(left, right, strict=True)))
    order = np.argsort(together.mean, kind="stable")
    together = Points(*(part[order] for part in together))
    first = np.flatnonzero(np.diff(together.mean, prepend=-np.inf))
    return squeeze(_grouped(together, first), bins, cuts)


def squeeze(points: Points, bins: int, cuts: Array) -> Points:
    """Join neighbouring bins until at most `bins` remain, and as many more as there are cuts.

    The scale is cut into `bins` equal cells; bins whose middle falls into one cell are joined.

    Examples
    --------
    >>> one = np.ones(1000)
    >>> squeeze(Points(one, np.arange(1000.0), 0 * one), 16, np.empty(0)).count[:4]
    array([10., 28., 46., 62.])
    """
    if len(points.count) <= bins + len(cuts):
        return points
    running = np.cumsum(points.count)
    cell = np.floor(bins * scale((running - 0.5 * points.count) / running[-1]))
    side = np.searchsorted(cuts, points.mean, side="right")
    first = np.flatnonzero((np.diff(cell, prepend=-1.0) != 0) | (np.diff(side, prepend=-1) != 0))
    return _grouped(points, first)


def _grouped(points: Points, first: NDArray[np.intp]) -> Points:
    """Join the bins from each `first` to the next."""
    n = len(points.count)
    if len(first) == n:
        return points
    size = np.diff(first, append=n)
    count = np.add.reduceat(points.count, first)
    lowest, highest = points.mean[first], points.mean[first + size - 1]
    away = points.mean - np.repeat(lowest, size)
    mean = lowest + np.add.reduceat(points.count * away, first) / count
    mean = np.clip(mean, lowest, highest)  # rounding must not carry it over a cut
    away = points.mean - np.repeat(mean, size)
    squares = np.add.reduceat(points.squares + points.count * away**2, first)
    return Points(count, mean, squares)


# --- compiled loops -------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def split_states(
    X: Array, column: int, y: Array, weight: Array, scores: Array, weights: Array
) -> tuple[int, int, int]:  # pragma: no cover
    """Copy scores: not labelled from 0 up, positive from n + 1 up, negative from the end down.

    Every score is written to all three places and stays where its label is: no branch to foresee.
    `scores` has 2 n + 3 places, so that what does not stay overwrites nothing; few are touched
    where few rows are labelled. Returns the three places that would be next.
    """
    weighted = len(weight) > 0
    n = len(X)
    a, b, c = 0, n + 1, 2 * n + 2
    for i in range(n):
        s = X[i, column]
        label = y[i]
        scores[a] = s
        scores[b] = s
        scores[c] = s
        if weighted:
            if weight[i] == 0.0:
                continue
            weights[a] = weight[i]
            weights[b] = weight[i]
            weights[c] = weight[i]
        a += label != label
        b += label == 1.0
        c -= label == 0.0
    return a, b, c


@njit(cache=True, nogil=True)
def sum_bins(
    scores: Array, first: NDArray[np.intp], count: Array, mean: Array, squares: Array
) -> None:  # pragma: no cover
    """Count, mean and squares of each stretch of sorted scores, in two walks while it is in cache.

    Four sums side by side: the processor need not wait for one addition to begin the next.
    """
    for k in range(len(count)):
        begin, end = first[k], first[k + 1]
        n = end - begin
        origin = scores[begin]
        even = begin + n - n % 4
        s0 = s1 = s2 = s3 = 0.0
        for i in range(begin, even, 4):
            s0 += scores[i] - origin
            s1 += scores[i + 1] - origin
            s2 += scores[i + 2] - origin
            s3 += scores[i + 3] - origin
        for i in range(even, end):
            s0 += scores[i] - origin
        middle = origin + ((s0 + s1) + (s2 + s3)) / n
        s0 = s1 = s2 = s3 = 0.0
        for i in range(begin, even, 4):
            s0 += (scores[i] - middle) ** 2
            s1 += (scores[i + 1] - middle) ** 2
            s2 += (scores[i + 2] - middle) ** 2
            s3 += (scores[i + 3] - middle) ** 2
        for i in range(even, end):
            s0 += (scores[i] - middle) ** 2
        count[k] = n
        mean[k] = middle
        squares[k] = (s0 + s1) + (s2 + s3)


@njit(cache=True, nogil=True)
def sum_weighted_bins(
    scores: Array,
    weight: Array,
    first: NDArray[np.intp],
    count: Array,
    mean: Array,
    squares: Array,
) -> None:  # pragma: no cover
    """The same, every score with its weight."""
    for k in range(len(count)):
        begin, end = first[k], first[k + 1]
        origin = scores[begin]
        total = away = 0.0
        for i in range(begin, end):
            total += weight[i]
            away += weight[i] * (scores[i] - origin)
        # Rounding must not carry a mean beyond its scores, where a cut may lie. Without weights it
        # cannot: the lowest score draws the mean down by more than that.
        middle = min(max(origin + away / total, origin), scores[end - 1])
        rest = 0.0
        for i in range(begin, end):
            rest += weight[i] * (scores[i] - middle) ** 2
        count[k] = total
        mean[k] = middle
        squares[k] = rest


# --- the digest -----------------------------------------------------------------------------------


STATES = ("unlabelled", "positive", "negative")
LARGEST = 1e150  # score whose square is still a number
FEWEST_BINS = 16


class StateCounts(NamedTuple):
    """Rows, or their weight, in each state of labelling."""

    unlabelled: float
    positive: float
    negative: float


@dataclass(frozen=True, eq=False)
class ScoreDigest:
    """Scores with labels in three states, in a few thousand bins.

    Make one with `ScoreDigest.of` or `ScoreDigest.from_rows`; `+` joins digests of parts.

    Parameters
    ----------
    unlabelled, positive, negative : Points
        Sorted bins of each state: `count`, `mean`, and `squares`, the sum of squared deviations
        from the mean. A bin with squares 0 is one score.
    minimum, maximum : float
        Of all scores; NaN where there is none.
    rows : int
        Number of rows, whatever their weight.
    bins : int
        Most bins of a state, not counting those that the cuts add.
    cuts : ndarray
        Sorted thresholds that no bin straddles; a score equal to a cut lies above it.

    **Assumes** finite scores, and labels that are 1, 0 or missing.

    Notes
    -----
    Parameters fitted to the points by maximum likelihood differ from those fitted to the rows by
    less than 0.01 standard errors from 256 bins on, and by less than 0.0001 with 4,096, whatever
    the blocks and their order. The rank of a score is off by less than two bins.

    References
    ----------
    Dunning, Ertl (2019), Computing extremely accurate quantiles using t-digests, arXiv:1902.04023.
    Chan, Golub, LeVeque (1983), Algorithms for computing the sample variance, The American
    Statistician 37.

    Examples
    --------
    >>> digest = ScoreDigest.of([0.2, 0.9, 0.2, 0.7], [np.nan, 1, np.nan, 0], cuts=[0.7])
    >>> digest.unlabelled
    Points(count=array([2.]), mean=array([0.2]), squares=array([0.]))
    >>> digest.above(0.7)
    StateCounts(unlabelled=0.0, positive=1.0, negative=1.0)
    >>> (digest + digest).count("positive")
    2.0
    """

    unlabelled: Points
    positive: Points
    negative: Points
    minimum: float
    maximum: float
    rows: int
    bins: int
    cuts: Array

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        labels: ArrayLike | None = None,
        *,
        weight: ArrayLike | None = None,
        bins: int = 4096,
        cuts: ArrayLike = (),
        engine: Engine = None,
    ) -> Self:
        """Digest arrays.

        Parameters
        ----------
        scores : array-like of shape (n,)
        labels : array-like of shape (n,), optional
            1 for an event, 0 for none, NaN where not labelled; without labels no row is labelled.
        weight : array-like of shape (n,), optional
            What each row counts.
        bins : int
            Most bins of a state.
        cuts : array-like
            Thresholds at which counts must be exact.
        engine : engine
            Who runs the blocks; does not change a bit of the result.

        Examples
        --------
        >>> ScoreDigest.of(np.arange(10_000.0), bins=256)
        ScoreDigest(10,000 rows in 255 bins: 10,000 unlabelled, 0 positive, 0 negative)
        """
        refuse_other_index(scores=scores, labels=labels, weight=weight)
        values = read_column(scores, "scores")
        if len(values) == 0:
            raise DataError("{argument} is empty.", code="no-rows", argument=Argument("scores"))
        known, counts = None, None
        if labels is not None:
            refuse_length(labels, len(values), "labels", "NaN where a row was not labelled")
            known = read_column(labels, "labels")
        if weight is not None:
            counts = read_weight(weight, len(values))
        rows = ArrayRows(values[:, None], known, weight=counts, names=["scores"], check=False)
        return cls.from_rows(rows, bins=bins, cuts=cuts, engine=engine)

    @classmethod
    def from_rows(
        cls,
        rows: Rows,
        *,
        column: int = 0,
        bins: int = 4096,
        cuts: ArrayLike = (),
        engine: Engine = None,
    ) -> Self:
        """Digest one column of rows in one pass, in constant memory.

        Parameters
        ----------
        rows : Rows
            As `open_rows` gives them: labels and weights come along. Two classes at most.
        column : int
            Position of the scores among the columns.
        bins, cuts, engine
            As for `of`.

        Examples
        --------
        >>> from scarce import open_rows
        >>> rows = open_rows(np.array([[0.1], [0.4], [0.8]]), label=[0, np.nan, 1])
        >>> ScoreDigest.from_rows(rows).positive.mean
        array([0.8])
        """
        if len(rows.classes) > 2:
            raise UsageError(
                "The labels have {count} classes, but a digest needs two: the event and the rest.",
                code="not-binary",
                count=len(rows.classes),
                positive=Argument("positive", ..., call="open_rows"),
                remedy="Name the event with {positive}.",
            )
        if not 0 <= column < rows.n_columns:
            raise UsageError(
                "{argument} must be from 0 to {most}, got {value}.",
                code="unknown-column",
                argument=Argument("column"),
                most=rows.n_columns - 1,
                value=column,
            )
        name = rows.names[column]
        if rows.schema.columns[column].kind != "number":
            raise DataError(
                "Column {column!r} holds categories, but {role} must be numbers.",
                code="text-column",
                column=name,
                role="scores",
            )
        most = read_integer(bins, "bins", least=FEWEST_BINS)
        at = np.unique(read_column(np.atleast_1d(np.asarray(cuts)), "cuts"))
        if not np.isfinite(at).all():
            raise UsageError(
                "{argument} must be finite, got {value}.",
                code="not-finite",
                argument=Argument("cuts"),
                value=at.tolist(),
            )
        executor_for(engine)  # an unknown engine is refused however few the rows are
        digest, faults = rows.fold(digest_block, (column, most, at), engine=engine)
        refuse_faults(faults, name, len(rows))
        return cls(**{name: getattr(digest, name) for name in digest.__dataclass_fields__})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """Return the digest that `to_arrays` wrote.

        Examples
        --------
        >>> digest = ScoreDigest.of([1.0, 2.0, 2.0])
        >>> ScoreDigest.from_arrays(digest.to_arrays()).unlabelled.count
        array([1., 2.])
        """
        lacking = {*STATES, "about", "cuts"} - set(arrays)
        if lacking:
            raise DataError(
                "These are not the arrays of a digest: {lacking} not found.",
                code="not-a-digest",
                lacking=", ".join(sorted(lacking)),
                remedy="Pass what to_arrays() gave.",
            )
        states = {s: Points(*np.asarray(arrays[s], dtype=np.float64)) for s in STATES}
        minimum, maximum, rows, bins = np.asarray(arrays["about"], dtype=np.float64).tolist()
        return cls(
            **states,
            minimum=minimum,
            maximum=maximum,
            rows=int(rows),
            bins=int(bins),
            cuts=np.asarray(arrays["cuts"], dtype=np.float64),
        )

    def to_arrays(self) -> dict[str, Array]:
        """Return everything as a few float arrays, as a model file holds them."""
        about = np.array([self.minimum, self.maximum, self.rows, self.bins], dtype=np.float64)
        states = {state: np.stack(getattr(self, state)) for state in STATES}
        return {**states, "about": about, "cuts": self.cuts}

    def count(self, state: str) -> float:
        """Return the rows of a state, or their weight."""
        return float(self._of(state).count.sum())

    def above(self, threshold: float) -> StateCounts:
        """Return how many rows of each state score at or above a threshold.

        Exact at a cut, and everywhere while bins are single scores. Elsewhere the one bin that the
        threshold falls into is counted as its two points.
        """
        if not is_number(threshold) or np.isnan(threshold):
            raise UsageError(
                "{argument} must be a number, got {value!r}.",
                code="threshold-value",
                argument=Argument("threshold"),
                value=threshold,
            )
        counts = []
        for state in STATES:
            if np.any(self.cuts == threshold):
                bins = self._of(state)
                counts.append(float(bins.count[bins.mean >= threshold].sum()))
            else:
                score, weight = self.points(state)
                counts.append(float(weight[score >= threshold].sum()))
        return StateCounts(*counts)

    def points(self, state: str | None = None) -> tuple[Array, Array]:
        """Return scores and weights that stand for a state, or for all rows. Not sorted.

        A bin of one score is one point. Any other becomes two points that have its count, mean and
        squares: `mean +- sqrt(squares / count)` with half the count each. Where that would reach
        beyond the neighbour on one side only, as in the long tail of a lognormal, the point on that
        side comes nearer, the other goes farther, and the nearer one weighs more. No point lies
        below the lowest score, so positive scores stay positive.

        Examples
        --------
        >>> ScoreDigest.of([3.0, 1.0, 1.0]).points("unlabelled")
        (array([1., 3.]), array([2., 1.]))
        """
        if state is None:
            every = [self.points(one) for one in STATES]
            return np.concatenate([s for s, _ in every]), np.concatenate([w for _, w in every])
        count, mean, squares = self._of(state)
        wide = squares > 0
        left = np.diff(mean, prepend=self.minimum)[wide]
        right = np.diff(mean, append=self.maximum)[wide]
        middle, n, variance = mean[wide], count[wide], squares[wide] / count[wide]
        sd = np.sqrt(variance)
        down = sd.copy()
        short = (sd > left) & (sd <= right)
        down[short] = np.maximum(left, 0.5 * sd)[short]
        short = (sd > right) & (sd <= left)
        down[short] = (variance / np.maximum(right, 0.5 * sd))[short]
        down = np.where(middle - down < self.minimum, left, down)
        with np.errstate(divide="ignore", invalid="ignore"):
            up = np.where(down > 0, variance / down, 0.0)
            lower = np.where(down > 0, up / (down + up), 1.0)
        low = np.maximum(middle - down, self.minimum)
        score = np.concatenate([mean[~wide], low, middle + up])
        return score, np.concatenate([count[~wide], n * lower, n * (1.0 - lower)])

    def merge(self, other: ScoreDigest) -> ScoreDigest:
        """Return the digest of the rows of both; the bins of the coarser one hold."""
        if not isinstance(other, ScoreDigest):
            raise UsageError(
                "A digest can only be merged with another ScoreDigest, got a {kind}.",
                code="not-a-digest",
                kind=type(other).__name__,
            )
        if not np.array_equal(self.cuts, other.cuts):
            raise UsageError(
                "Digests can only be merged if they have the same cuts, got {these} and {those}: "
                "counts at a cut would no longer be exact.",
                code="other-cuts",
                these=self.cuts.tolist(),
                those=other.cuts.tolist(),
            )
        bins = min(self.bins, other.bins)
        return ScoreDigest(
            **{s: joined(self._of(s), other._of(s), bins, self.cuts) for s in STATES},
            minimum=float(np.fmin(self.minimum, other.minimum)),
            maximum=float(np.fmax(self.maximum, other.maximum)),
            rows=self.rows + other.rows,
            bins=bins,
            cuts=self.cuts,
        )

    def __add__(self, other: object) -> ScoreDigest:
        return self.merge(other) if isinstance(other, ScoreDigest) else NotImplemented

    def __radd__(self, other: object) -> ScoreDigest:
        return self if other == 0 else NotImplemented  # where sum() begins

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.count(state):,.12g} {state}" for state in STATES)
        held = sum(len(getattr(self, state).count) for state in STATES)
        return f"ScoreDigest({self.rows:,} rows in {held:,} bins: {counts})"

    def _of(self, state: str) -> Points:
        refuse_word("state", state, STATES)
        points: Points = getattr(self, state)
        return points


# --- one block ------------------------------------------------------------------------------------

Faults = tuple[tuple[int, int], ...]  # how many, and the first row: missing, too large, label
NO_FAULTS: Faults = ((0, 0),) * 3
NOTHING = Points(*np.empty((3, 0)))


def digest_block(block: Block, params: tuple[int, int, Array]) -> tuple[ScoreDigest, Faults]:
    """Kernel: the digest of a block's rows, or of none of them and what was wrong with some."""
    column, bins, cuts = params
    stretches = _by_state(block, column)
    states = [bins_of(scores, weight, bins, cuts) for scores, weight in stretches]
    ends = np.array([[scores[0], scores[-1]] for scores, _ in stretches if len(scores)])
    # NaN is sorted last, infinities first or last, and stray labels belong to no state.
    n_held = sum(len(scores) for scores, _ in stretches)
    whole = n_held == len(block) and bool((np.abs(ends) <= LARGEST).all())
    faults = NO_FAULTS if whole else _faults(block, column)
    if any(count for count, _ in faults):
        states, ends = [NOTHING] * 3, np.empty((0, 2))
    digest = ScoreDigest(
        **{s: squeeze(one, bins, cuts) for s, one in zip(STATES, states, strict=True)},
        minimum=float(ends[:, 0].min()) if len(ends) else np.nan,
        maximum=float(ends[:, 1].max()) if len(ends) else np.nan,
        rows=len(block),
        bins=bins,
        cuts=cuts,
    )
    return digest, faults


def _by_state(block: Block, column: int) -> list[tuple[Array, Array | None]]:
    """Scores and weights of each state, in scratch memory that may be written to."""
    n = len(block)
    if block.y is None and block.weight is None:
        plain: Any = Block.scratch("digest-scores", (n,))
        np.copyto(plain, block.X[:, column])
        return [(plain, None), (plain[:0], None), (plain[:0], None)]
    weighted = block.weight is not None
    scores: Any = Block.scratch("digest-scores", (2 * n + 3,))
    weights: Any = Block.scratch("digest-weights", (2 * n + 3 if weighted else 0,))
    y = np.full(n, np.nan) if block.y is None else block.y
    weight = np.empty(0) if block.weight is None else block.weight
    a, b, c = split_states(block.X, column, y, weight, scores, weights)
    held = (slice(a), slice(n + 1, b), slice(c + 1, 2 * n + 3))
    return [(scores[one], weights[one] if weighted else None) for one in held]


def _faults(block: Block, column: int) -> Faults:
    """Count what cannot be digested, the slow way; rows of weight 0 may hold anything."""
    scores = block.X[:, column]
    counts = np.ones(len(block), dtype=bool) if block.weight is None else block.weight > 0
    stray = np.zeros(len(block), dtype=bool)
    if block.y is not None:
        stray = ~np.isnan(block.y) & (block.y != 0.0) & (block.y != 1.0)
    places = [
        np.flatnonzero(counts & fault)
        for fault in (np.isnan(scores), np.abs(scores) > LARGEST, stray)
    ]
    return tuple((len(at), block.start + int(at[0]) if len(at) else 0) for at in places)


def merge_blocks(
    total: tuple[ScoreDigest, Faults], more: tuple[ScoreDigest, Faults]
) -> tuple[ScoreDigest, Faults]:
    """Merge what two blocks gave."""
    faults = tuple(
        (n + other, first if n else second)
        for (n, first), (other, second) in zip(total[1], more[1], strict=True)
    )
    return total[0].merge(more[0]), faults


digest_block.merge = merge_blocks  # type: ignore[attr-defined]


def refuse_faults(faults: Faults, name: str, n_rows: int) -> None:
    """Refuse rows that cannot be digested, with their number and the first of them."""
    missing, large, labels = faults
    for (count, first), seen, remedy in (
        (missing, "no score", "Score these rows, or leave them out."),
        (
            large,
            f"a score that is infinite or beyond {LARGEST:g}",
            "Cap such scores, or leave them out.",
        ),
    ):
        if count:
            raise DataError(
                "Column {column!r}: {count:,} of {rows:,} rows have {seen} (first at row {row:,}).",
                code="not-finite",
                column=name,
                count=count,
                rows=n_rows,
                seen=seen,
                row=first,
                remedy=remedy,
            )
    if labels[0]:
        raise DataError(
            "{argument} must be 1 (event), 0 (no event) or missing (not labelled), but {count:,} "
            "{are} not (first at row {row:,}).",
            code="unknown-label",
            argument=Argument("labels"),
            count=labels[0],
            are="are" if labels[0] > 1 else "is",
            row=labels[1],
        )
