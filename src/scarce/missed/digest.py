"""What must be kept of a hundred million scores, so that a fit cannot tell the difference?

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
from numpy.typing import ArrayLike

from scarce.checks import column as read_column
from scarce.checks import refuse_length
from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine, executor_for
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.errors import DataError, UsageError, refuse_word
from scarce.io.schema import check_weights
from scarce.missed.digest_kernels import (
    Points,
    bins_of,
    joined,
    split_states,
    squeeze,
)

__all__ = ["ScoreDigest", "Points", "Counts", "STATES", "squeeze"]

STATES = ("unlabelled", "positive", "negative")
LARGEST = 1e150  # score whose square is still a number
FEWEST_BINS = 16


class Counts(NamedTuple):
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
    Counts(unlabelled=0.0, positive=1.0, negative=1.0)
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
        values = read_column(scores, "scores")
        if len(values) == 0:
            raise DataError("There are no scores to digest. Check the filter that left none.")
        known, counts = None, None
        if labels is not None:
            refuse_length(labels, len(values), "labels", "NaN where a row was not labelled")
            known = read_column(labels, "labels")
        if weight is not None:
            refuse_length(weight, len(values), "weight", "0 for a row that should not count")
            counts = read_column(weight, "weight")
            check_weights(counts)
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
                f"Labels of {len(rows.classes)} classes were given, and scores are digested as one "
                "event against the rest: name the event with open_rows(..., positive=...)."
            )
        if not 0 <= column < rows.n_columns:
            raise UsageError(
                f"column={column} does not exist: the rows have {rows.n_columns} columns, counted "
                "from 0."
            )
        name = rows.names[column]
        if rows.schema.columns[column].kind != "number":
            raise DataError(
                f"Column {name!r} holds categories, whose codes are no scores: name the column "
                "with the scores."
            )
        if not isinstance(bins, (int, np.integer)) or bins < FEWEST_BINS:
            raise UsageError(f"bins={bins!r}: give a whole number of at least {FEWEST_BINS}.")
        at = np.unique(read_column(np.atleast_1d(np.asarray(cuts)), "cuts"))
        if not np.isfinite(at).all():
            raise UsageError(f"cuts={at.tolist()} are not all finite. Give plain thresholds.")
        executor_for(engine)  # a word that is no engine is refused however few the rows are
        digest, faults = rows.fold(digest_block, (column, int(bins), at), engine=engine)
        refuse_faults(faults, name, len(rows))
        return cls(**{name: getattr(digest, name) for name in digest.__dataclass_fields__})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
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
                f"These are not the arrays of a digest: {', '.join(sorted(lacking))} not found. "
                "Pass what to_arrays() gave."
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

    def above(self, threshold: float) -> Counts:
        """Return how many rows of each state score at or above a threshold.

        Exact at a cut, and everywhere while bins are single scores. Elsewhere the one bin that the
        threshold falls into is counted as its two points.
        """
        if not isinstance(threshold, (int, float, np.number)) or np.isnan(threshold):
            raise UsageError(f"threshold={threshold!r} divides no scores: give a number.")
        counts = []
        for state in STATES:
            if np.any(self.cuts == threshold):
                bins = self._of(state)
                counts.append(float(bins.count[bins.mean >= threshold].sum()))
            else:
                score, weight = self.points(state)
                counts.append(float(weight[score >= threshold].sum()))
        return Counts(*counts)

    def points(self, state: str | None = None) -> tuple[Array, Array]:
        """Return scores and weights that stand for a state, or for all rows. Not sorted.

        A bin of one score is one point. Any other becomes two points that have its count, mean and
        squares: `mean +- sqrt(squares / count)` with half the count each. Where that would reach
        beyond the neighbour on one side only, as in the long tail of a lognormal, the point on that
        side comes nearer, the other goes farther, and the nearer one weighs more. No point lies
        below the lowest score, so that positive scores stay positive.

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
        spread = np.sqrt(variance)
        down = spread.copy()
        short = (spread > left) & (spread <= right)
        down[short] = np.maximum(left, 0.5 * spread)[short]
        short = (spread > right) & (spread <= left)
        down[short] = (variance / np.maximum(right, 0.5 * spread))[short]
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
                f"A digest cannot be joined with {other!r}: give another ScoreDigest, such as "
                "ScoreDigest.of(scores)."
            )
        if not np.array_equal(self.cuts, other.cuts):
            raise UsageError(
                f"Digests with cuts {self.cuts.tolist()} and {other.cuts.tolist()} cannot be "
                "joined: counts at a cut would no longer be exact. Make both with the same cuts."
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


def _by_state(block: Block, column: int) -> list[tuple[Any, Any]]:
    """Scores and weights of each state, in scratch memory that may be written to."""
    n = len(block)
    if block.y is None and block.weight is None:
        scores = Block.scratch("digest-scores", (n,))
        np.copyto(scores, block.X[:, column])
        return [(scores, None), (scores[:0], None), (scores[:0], None)]
    weighted = block.weight is not None
    scores = Block.scratch("digest-scores", (2 * n + 3,))
    weights = Block.scratch("digest-weights", (2 * n + 3 if weighted else 0,))
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
    """Refuse rows that cannot be digested, with the number of them and the first."""
    missing, large, labels = faults
    for (count, first), seen, way_out in (
        (missing, "no score", "Score these rows, or leave them out"),
        (
            large,
            f"a score that is infinite or beyond {LARGEST:g}",
            "Cap such scores, or leave them out",
        ),
    ):
        if count:
            raise DataError(
                f"Column {name!r}: {count:,} of {n_rows:,} rows have {seen} (first at row "
                f"{first:,}), so that they lie in no place on the scale. {way_out}."
            )
    if labels[0]:
        raise DataError(
            f"{labels[0]:,} label{'s are' if labels[0] > 1 else ' is'} neither 1, 0 nor missing "
            f"(first at row {labels[1]:,}): code events as 1, others as 0 and rows "
            "that are not labelled as NaN."
        )
