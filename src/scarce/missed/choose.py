"""Which rows should be labelled next, and with what probability is each of them chosen?

    audit        below the threshold: a band for certain, then a draw, size 1/sqrt(1 + rank/20)
    tail         the greatest scores                                      (002 section 3.1)
    random       every row alike                                          (002 section 3.1)
    stratified   every row of a stratum of ranks alike
    uncertainty  arg max of the entropy of p(y | x)                       (003 section 0.7)
    explored     a draw with probability in proportion to it, mixed with an even one
    adaptive     posterior under the fitted mixture nearest 1/2           (002 section 3.1)

A label that was bought without its inclusion probability can never be counted with others again.
Only audit, random, stratified and explored labels stand for other rows too. Assumes that choices
depend on scores and on labels seen so far, nothing else, and that rows are worked in the order
given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from scarce.checks import (
    Number,
    is_missing,
    read_column,
    read_integer,
    read_labels,
    read_number,
    read_scores,
    read_seed,
    read_threshold,
    refuse_length,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, Problem, ScarceError, UsageError, refuse_word
from scarce.results import Record, in_rows, short

if TYPE_CHECKING:
    from scarce.decisions.costs import CostMatrix
    from scarce.missed.mixture.estimator import ScoreMixture

BY_RULE = ("band", "tail", "uncertainty", "adaptive")  # words of policy: such rows are no draw

# --- the record of a choice -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelChoice(Record):
    """Rows to label, in the order to be worked.

    Parameters
    ----------
    rows : ndarray of int64 of shape (n_chosen,)
        Positions in the scores. Rows that were certain come first, from the most urgent down; then
        those drawn at random, in random order, so work may stop early (see `first`).
    probability : ndarray of shape (n_chosen,)
        Probability with which each was to be chosen; 1 for rows chosen by rule, which stand for
        themselves alone, also where a lot decided among equal scores.
    policy : ndarray of str of shape (n_chosen,)
        What each was chosen by, one word.
    asked : int
        How many rows were asked for.
    candidates : int
        How many rows could have been chosen.
    remarks : tuple of Problem
        What the reader should know, most important first.
    round : ndarray of int64 of shape (n_chosen,)
        Round of labelling in which each was chosen, from 1.

    Examples
    --------
    >>> choice = LabelChoice(np.array([7, 2]), np.array([1.0, 0.1]), np.array(["band", "audit"]),
    ...     asked=2, candidates=11)
    >>> print(choice)
    2 rows to label, of 11 that could be chosen
      band   1 row, for certain
      audit  1 row, with probability 0.1
    >>> choice.inclusion(9)
    array([nan, nan, 0.1, nan, nan, nan, nan, 1. , nan])
    """

    rows: NDArray[np.int64]
    probability: Array
    policy: NDArray[np.str_]
    asked: int
    candidates: int
    remarks: tuple[Problem, ...] = ()
    round: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        if len(self.round) == 0:
            object.__setattr__(self, "round", np.ones(len(self.rows), np.int64))
        lengths = {len(self.rows), len(self.probability), len(self.policy), len(self.round)}
        if len(lengths) > 1:
            raise UsageError(
                "rows, probability, policy and round must have one entry per row chosen, got "
                "{lengths}.",
                code="length-mismatch",
                lengths=sorted(lengths),
            )
        by_rule = np.isin(self.policy, BY_RULE)
        object.__setattr__(self, "probability", np.where(by_rule, 1.0, self.probability))

    def __len__(self) -> int:
        return len(self.rows)

    def inclusion(self, n_rows: int) -> Array:
        """Return one probability per row of the whole batch, NaN for rows that were not chosen.

        What `estimate_performance` takes as `inclusion=`.
        """
        n_rows = read_integer(n_rows, "n_rows", least=0)
        if self.in_rounds_by_lot:
            raise UsageError(
                "These rows were drawn at random in several rounds, so no single probability says "
                "how likely each was.",
                code="rounds-at-random",
                remedy="Use weights(), one number for each of .rows.",
            )
        if len(self.rows) and n_rows <= self.rows.max():
            raise UsageError(
                "{argument} must be the number of scores that the choice was made from, got "
                "{value:,}, but row {row:,} was chosen.",
                code="length-mismatch",
                argument=Argument("n_rows"),
                value=n_rows,
                row=int(self.rows.max()),
            )
        whole = np.full(n_rows, np.nan)
        whole[self.rows] = self.probability
        return whole

    @property
    def in_rounds_by_lot(self) -> bool:
        """Whether rows were drawn at random in more than one round."""
        return bool(len(self) and self.round.max() > 1 and (self.probability < 1).any())

    def weights(self) -> Array:
        """Return how many rows each row chosen stands for: weighted sums are unbiased.

        One round: 1 / probability. Several rounds at random: each round alone, with what was
        labelled before it, gives an unbiased sum over all candidates, whatever the earlier labels
        were, because it was drawn given those. The rounds are averaged by their numbers of rows:
        weight = a_r / probability + sum of a_t over later rounds t, with a_t their shares. For
        lists that were partly filled in see `combine_audits`.

        Examples
        --------
        >>> choice = LabelChoice(np.array([7, 2]), np.array([0.5, 0.1]), np.array(["explored"] * 2),
        ...     asked=2, candidates=11, round=np.array([1, 2]))
        >>> choice.weights()
        array([1.5, 5. ])
        """
        if not self.in_rounds_by_lot:
            return 1.0 / self.probability
        share = np.bincount(self.round)[1:] / max(1, len(self))
        later = 1.0 - np.cumsum(share)
        at = self.round - 1
        return np.asarray(share[at] / self.probability + np.maximum(later, 0.0)[at])

    def first(self, n: int) -> LabelChoice:
        """Return the first n rows, with the probabilities they had if work was to end there.

        Of rows drawn at random and put in random order, the first k of m are a draw too: their
        probability is k / m of what it was. That holds if the labels seen on the way did not decide
        when to stop.

        Examples
        --------
        >>> choice = LabelChoice(np.array([7, 2, 4]), np.array([1.0, 0.1, 0.2]),
        ...     np.array(["band", "audit", "audit"]), asked=3, candidates=11)
        >>> choice.first(2).probability
        array([1.  , 0.05])
        """
        n = read_integer(n, "n", least=0)
        if n > len(self.rows):
            raise UsageError(
                "{argument} must be at most the number of rows chosen, {rows:,}, got {value:,}.",
                code="too-few-rows",
                argument=Argument("n"),
                rows=len(self.rows),
                value=n,
            )
        if n < len(self.rows) and self.in_rounds_by_lot:
            raise UsageError(
                "These rows were drawn at random in several rounds, and a round that was broken "
                "off has no probabilities.",
                code="rounds-at-random",
                remedy="Label whole rounds.",
            )
        random = self.probability < 1
        kept, drawn = np.count_nonzero(random[:n]), np.count_nonzero(random)
        probability = self.probability[:n].copy()
        if kept:
            probability[random[:n]] *= kept / drawn
        return LabelChoice(
            self.rows[:n],
            probability,
            self.policy[:n],
            self.asked,
            self.candidates,
            self.remarks,
            self.round[:n],
        )

    def summary(self) -> str:
        """Return how many rows were chosen by which policy, without the remarks."""
        lines = [
            f"{in_rows(len(self))} to label, of {self.candidates:,} that could be chosen"
            + (f", in {self.round.max()} rounds" if len(self) and self.round.max() > 1 else "")
        ]
        words = list(dict.fromkeys(self.policy.tolist()))
        for word in words:
            chance = self.probability[self.policy == word]
            low, high = short(float(chance.min())), short(float(chance.max()))
            how = f"with probability {low}" + (f" to {high}" if high != low else "")
            how = "for certain" if chance.min() == 1 else how
            lines.append(f"  {word:<{max(map(len, words))}}  {in_rows(len(chance))}, {how}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n".join([self.summary(), *(f"remark: {remark}" for remark in self.remarks)])


def join_rounds(choices: Sequence[LabelChoice], asked: int) -> LabelChoice:
    """Return the choices of several rounds as one, with the number of the round.

    What a later round chose depends on labels seen before, so no probability over the rounds
    exists. Rows chosen by rule stand for themselves alone: their probability is 1. Rows drawn at
    random keep that of their own round, from which `weights` makes unbiased sums. Remarks of
    earlier rounds are left out.
    """
    rows = np.concatenate([choice.rows for choice in choices])
    remarks = list(choices[-1].remarks)
    if len(rows) < asked:
        remarks.insert(
            0,
            Problem(
                "{asked:,} rows were asked for, but only {chosen:,} could be chosen: no more are "
                "left.",
                code="too-few-rows",
                asked=asked,
                chosen=len(rows),
            ),
        )
    policy = np.concatenate([choice.policy for choice in choices])
    probability = np.concatenate([choice.probability for choice in choices])
    return LabelChoice(
        rows,
        probability,
        policy,
        asked,
        choices[0].candidates,
        tuple(remarks),
        np.concatenate([np.full(len(choice), k, np.int64) for k, choice in enumerate(choices, 1)]),
    )


# --- draws with known probabilities ---------------------------------------------------------------
#
#   systematic   probability_i = n * size_i / sum of sizes; on the line of summed probabilities a
#                random start u in [0, 1) takes the rows at u, u + 1, ..., u + n - 1  (Madow 1949)
#   stratified   probability_i = n_h / N_h of the row's stratum h
#   greatest     1; where equal values are cut, at random: places left / rows with that value


Positions = NDArray[np.int64]

# A probability this near to 1 is 1: below it two points of a systematic draw, 1 apart, cannot fall
# on one row through rounding.
NEARLY_SURE = 1.0 - 1e-9
DEEP_SHARE = 0.3  # of an audit's probability, the same for all rows
RANK_UNIT = 20.0


def ranked(values: Array, generator: np.random.Generator) -> Positions:
    """Return positions from the greatest value down, equal values in random order.

    One sort, and a second one of the tied rows alone.

    Examples
    --------
    >>> ranked(np.array([0.2, 0.9, 0.5]), np.random.default_rng(0))
    array([1, 2, 0])
    """
    order = np.argsort(values, kind="stable")[::-1]
    ordered = values[order]
    same = ordered[1:] == ordered[:-1]
    if not same.any():
        return order
    tied = np.zeros(len(order), dtype=bool)
    tied[1:] = same
    tied[:-1] |= same
    places = np.flatnonzero(tied)
    starts = np.ones(len(places), dtype=bool)
    starts[1:] = ordered[places[1:]] != ordered[places[:-1]]
    # Number of the group plus a number below 1: groups stay in order, their members are shuffled.
    shuffled = np.argsort(np.cumsum(starts) + generator.random(len(places)), kind="stable")
    order[places] = order[places[shuffled]]
    return order


def greatest(values: Array, n: int, generator: np.random.Generator) -> tuple[Positions, Array]:
    """Return the n greatest values' positions, greatest first, and the probability of each.

    Linear in the number of values; only the n are sorted. Where the cut falls among equal values,
    some of them are drawn at random, with that probability.

    Examples
    --------
    >>> rows, probability = greatest(np.array([0.1, 0.7, 0.7, 0.9]), 2, np.random.default_rng(0))
    >>> values = np.array([0.1, 0.7, 0.7, 0.9])[rows]
    >>> values, probability
    (array([0.9, 0.7]), array([1. , 0.5]))
    """
    if n >= len(values):
        rows = ranked(values, generator)
        return rows, np.ones(len(rows))
    cut = np.partition(values, len(values) - n)[len(values) - n]
    above = np.flatnonzero(values > cut)
    level = np.flatnonzero(values == cut)
    left = n - len(above)
    tied = generator.choice(level, left, replace=False) if left < len(level) else level
    above = above[ranked(values[above], generator)]
    probability = np.ones(n)
    probability[len(above) :] = left / len(level)
    return np.concatenate([above, tied]), probability


def audit_sizes(rank: NDArray[np.int64]) -> Array:
    """Return how much each row should weigh in an audit: 1 / sqrt(1 + rank / 20), 70/30 with even.

    Events get rarer as the score falls, but not as quickly as one hopes: the even share keeps the
    weight of a deep row below 1 / 0.3 of what an even draw would give it.

    Parameters
    ----------
    rank : ndarray of shape (n,)
        Rows between the threshold and each row, 0 for the first below it.

    Examples
    --------
    >>> audit_sizes(np.array([0, 60, 1980])).round(3)
    array([0.538, 0.319, 0.144])
    """
    size = 1.0 / np.sqrt(1.0 + rank / RANK_UNIT)
    size *= (1.0 - DEEP_SHARE) / size.sum()
    size += DEEP_SHARE / len(size)
    return size


def probabilities(size: Array, n: int) -> Array:
    """Return probabilities in proportion to size that sum to n; what would exceed 1 is 1.

    Examples
    --------
    >>> probabilities(np.array([8.0, 1.0, 1.0, 2.0]), 2)
    array([1.  , 0.25, 0.25, 0.5 ])
    """
    probability = np.ones(len(size))
    rest = np.arange(len(size))
    while n < len(size) and len(rest):
        share = size[rest]
        share *= (n - (len(size) - len(rest))) / share.sum()
        sure = share >= NEARLY_SURE
        if not sure.any():
            probability[rest] = share
            break
        rest = rest[~sure]
    return probability


def systematic(probability: Array, generator: np.random.Generator) -> Positions:
    """Draw rows with the probabilities given, exactly as many as they sum to, in their order.

    Rows near each other are rarely drawn together, so a sorted list is covered evenly.

    Examples
    --------
    >>> systematic(np.array([1.0, 0.25, 0.25, 0.5]), np.random.default_rng(0))
    array([0, 3])
    """
    sure = probability >= NEARLY_SURE
    rest = np.flatnonzero(~sure)
    ends = np.cumsum(probability[rest])
    n = round(float(ends[-1])) if len(ends) else 0
    if n == 0:
        return np.flatnonzero(sure)
    # Points are measured on the line as it was summed: rounding loses no row at its end.
    points = (generator.random() + np.arange(n)) * (ends[-1] / n)
    drawn = rest[np.minimum(np.searchsorted(ends, points, side="right"), len(rest) - 1)]
    return np.sort(np.concatenate([np.flatnonzero(sure), drawn]))


def stratum_ends(n_rows: int, n: int, strata: int) -> Positions:
    """Return where strata of ranked rows end: the first holds its share of n, then they grow.

    Examples
    --------
    >>> stratum_ends(10_000, 50, 5)
    array([   10,    56,   316,  1778, 10000])
    """
    strata = min(strata, n, n_rows)
    first = max(1, n // strata) if strata > 1 else n_rows
    return np.unique(np.rint(np.geomspace(first, n_rows, strata)).astype(np.int64))


def allocate(n: int, sizes: NDArray[np.int64], allocation: str) -> NDArray[np.int64]:
    """Share n rows out among strata: at least 1 each, at most all, the rest as asked for.

    Parameters
    ----------
    n : int
        At least as many as strata, at most as many as rows.
    allocation : {"equal", "proportional"}

    Examples
    --------
    >>> allocate(50, np.array([5, 46, 260, 9689]), "equal")
    array([ 5, 15, 15, 15])
    >>> allocate(50, np.array([5, 46, 260, 9689]), "proportional")
    array([ 1,  1,  1, 47])
    """
    wish = np.ones(len(sizes)) if allocation == "equal" else sizes / sizes.mean()
    # A level that rises like water: strata are never below 1 row nor above all of theirs, so the
    # total is piecewise linear with corners where a stratum leaves 1 and where it is full.
    corners = np.sort(np.concatenate([1 / wish, sizes / wish]))
    totals = np.clip(np.outer(corners, wish), 1, sizes).sum(axis=1)
    target = np.clip(np.interp(n, totals, corners) * wish, 1, sizes)
    chosen: NDArray[np.int64] = np.floor(target + 1e-9).astype(np.int64)
    left = n - int(chosen.sum())
    most_owed = np.argsort(np.where(chosen < sizes, chosen - target, np.inf), kind="stable")
    chosen[most_owed[:left]] += 1
    return chosen


# --- how uncertain is the class of a row? ---------------------------------------------------------
#
#   entropy  - sum over classes of p log p                                        (003 section 0.7)
#   margin   1 - (greatest p - second greatest p)
#   cost     expected cost now - expected cost if the class were known
#
# DEVIATION from 003 section 0.7, which prints arg min of the entropy beside "highest entropy": the
# words are right (test_uncertainty_is_greatest_entropy).


SUM_TOLERANCE = 1e-4  # probabilities of classes in single precision still sum to 1


def uncertainty(
    scores: ArrayLike, by: str = "entropy", costs: CostMatrix | ArrayLike | None = None
) -> Array:
    """Return how uncertain the class of each row is, from 0 up.

    Parameters
    ----------
    scores : array-like of shape (n,) or (n, n_classes)
        Probabilities.
    by : {"entropy", "margin", "cost"}
    costs : CostMatrix, optional
        For "cost".

    Examples
    --------
    >>> uncertainty([0.5, 0.9, 1.0]).round(3)
    array([0.693, 0.325, 0.   ])
    >>> uncertainty([0.5, 0.9], by="margin").round(3)
    array([1. , 0.2])
    >>> uncertainty([0.5, 0.02], "cost", [[0, 400], [5, 0]])
    array([2.5, 4.9])
    """
    refuse_other_index(scores=scores, costs=costs if hasattr(costs, "amounts") else None)
    refuse_word("by", by, ("entropy", "margin", "cost"))
    if (costs is None) == (by == "cost"):
        raise UsageError(
            "{by} needs {costs}, and nothing else takes it.",
            code="costs-for-cost",
            by=Argument("by", "cost"),
            costs=Argument("costs"),
        )
    prob = _class_probabilities(scores)
    fine = (prob >= 0) & (prob <= 1)
    if not fine.all():
        place = tuple(np.argwhere(~fine)[0])
        raise DataError(
            "{argument} must be between 0 and 1 for {policy}, got {value:g} at row {row:,}.",
            code="prob-range",
            argument=Argument("scores"),
            policy=Argument("policy", "uncertainty"),
            value=float(prob[place]),
            row=int(place[0]),
            other=Argument("policy", "adaptive"),
            remedy="Pass probabilities; for other scores use {other}.",
        )
    if prob.ndim == 1:
        prob = np.column_stack([1.0 - prob, prob])
    total = prob.sum(axis=1)
    off = np.flatnonzero(np.abs(total - 1) > SUM_TOLERANCE)
    if len(off):
        raise DataError(
            "The probabilities of the classes must sum to 1, got {total:g} at row {row:,}.",
            code="prob-sum",
            total=float(total[off[0]]),
            row=int(off[0]),
            remedy="Pass all columns of predict_proba(X).",
        )
    if costs is not None:
        from scarce.decisions.asking import value_of_asking

        return np.asarray(value_of_asking(prob, costs).value)
    if by == "entropy":
        return np.asarray(entr(prob).sum(axis=1))
    two = np.partition(prob, -2, axis=1)[:, -2:]
    return np.asarray(1.0 - (two[:, 1] - two[:, 0]))


def _class_probabilities(scores: Any) -> Array:
    """Read one probability per row, or one per row and class."""
    held = scores
    if isinstance(scores, (list, tuple)):
        try:
            held = np.asarray(scores)
        except ValueError:
            raise _not_class_probabilities("rows of different lengths") from None
    elif len(np.shape(scores)) == 2 and not isinstance(scores, np.ndarray):  # a table
        held = scores.to_numpy() if hasattr(scores, "to_numpy") else np.asarray(scores)
    shape = np.shape(held)
    if len(shape) not in (1, 2) or 0 in shape:
        raise _not_class_probabilities(f"shape {shape}")
    if len(shape) == 1 or shape[1] == 1:
        return read_column(held, "scores")
    return np.column_stack([read_column(held[:, at], "scores") for at in range(shape[1])])


def _not_class_probabilities(seen: str) -> DataError:
    return DataError(
        "{argument} must hold one probability per row, or one per row and class, got {seen}.",
        code="not-a-column",
        argument=Argument("scores"),
        seen=seen,
        remedy="Pass predict_proba(X), for example.",
    )


# --- the choice -----------------------------------------------------------------------------------


POLICIES = ("audit", "tail", "random", "uncertainty", "adaptive", "stratified")

Drawn = tuple[Positions, Array, list[str]]  # rows, probability, policy word


def choose_labels(
    scores: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    policy: str,
    n: int,
    threshold: float | None = None,
    random_state: int | np.random.Generator | None = None,
    by: str = "entropy",
    costs: CostMatrix | ArrayLike | None = None,
    explore: float = 0.0,
    strata: int = 10,
    allocation: str = "equal",
    pure: bool = False,
    mixture: ScoreMixture | None = None,
) -> LabelChoice:
    """Choose n rows to label, and say how likely each was to be chosen.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Greater is more suspicious. For `policy="uncertainty"` probabilities of the event, or of
        all classes with shape (n_rows, n_classes).
    labels : array-like of shape (n_rows,), optional
        1 event, 0 none, missing where there is no label yet; only those rows are chosen. None: no
        row has one. For uncertainty any value that is not missing is a label.
    policy : {"audit", "tail", "random", "stratified", "uncertainty", "adaptive"}
        "audit" to estimate how many events lie below the threshold: half of n directly below it for
        certain, the others drawn deeper, ever more thinly. "tail": greatest scores. "random": every
        row with the same probability. "stratified": the same within strata of ranks that grow
        geometrically. "uncertainty": rows the model is least sure of. "adaptive": the same by a
        mixture fitted to the scores and the labels so far; call again after labelling, or use
        `label_in_rounds`.
    n : int
        How many. If fewer can be chosen, all of them, with a remark.
    threshold : float, optional
        Rows at or above it are alerts. Needed for audit; random and stratified then choose below
        it. The others do not look at it.
    random_state : int, Generator or None
        Seed of all draws. The same seed gives the same rows.
    by : {"entropy", "margin", "cost"}
        Uncertainty: entropy of the classes, the distance of the two likeliest (with two classes
        they agree), or what knowing the class would save in expected cost.
    costs : CostMatrix, optional
        For by="cost".
    explore : float
        Uncertainty: above 0, rows are drawn at random instead, with probability in proportion to
        their uncertainty, mixed with this share of an even draw. Such labels stand for other rows
        too; with 0 they improve the model but can never be counted.
    strata : int
        Stratified: number of strata; fewer where n or the rows are fewer.
    allocation : {"equal", "proportional"}
        Stratified: as many rows from each stratum, or in proportion to its size.
    pure : bool
        Audit without the band: all rows are drawn.
    mixture : ScoreMixture, optional
        Adaptive: the mixture to fit, with its settings.

    Returns
    -------
    LabelChoice
        `rows`, `probability`, `policy` and `remarks`; `inclusion(n_rows)` is what
        `estimate_performance` takes.

    **Assumes** that labels come back for all rows chosen. If some cannot be labelled for reasons
    that have to do with the answer, no probability mends it.

    Notes
    -----
    Ranks alone matter for audit, tail, random and stratified: any increasing function of the scores
    gives the same rows. Equal scores are put in random order, so none is favoured by its place in
    the file; probabilities of an audit are those given that order. Cost: one sort of the rows
    below the threshold for audit and stratified (ten million: seconds), time in proportion to the
    rows for the others. Labels from an earlier draw are not drawn again: the new probabilities
    hold for rows still unlabelled, and the earlier ones count as certain.

    References
    ----------
    Madow (1949), Annals of Mathematical Statistics 20: systematic sampling.

    Examples
    --------
    >>> scores = np.arange(1000) / 1000
    >>> labels = np.where(scores >= 0.95, 0.0, np.nan)              # every alert was looked at
    >>> print(choose_labels(scores, labels, policy="audit", n=40, threshold=0.95, random_state=0))
    40 rows to label, of 950 that could be chosen
      band   20 rows, for certain
      audit  20 rows, with probability 0.0156 to 0.0451
    """
    refuse_other_index(scores=scores, labels=labels)
    refuse_word("policy", policy, POLICIES)
    wanted, generator = read_integer(n, "n"), seeded(random_state)
    explored = _share(explore, policy)
    read_integer(strata, "strata")
    if threshold is not None:
        _threshold(threshold)
    if policy == "uncertainty":
        values = uncertainty(scores, by, costs)
        unlabelled = _without_label(labels, len(values))
    else:
        values = read_scores(scores)
        unlabelled = np.isnan(read_labels(labels, len(values)))
    below = policy == "audit" or (policy in ("random", "stratified") and threshold is not None)
    remarks = []
    if below:
        limit = _threshold(threshold)
        remarks += _open_alerts(int(np.count_nonzero(unlabelled & (values >= limit))))
        unlabelled &= values < limit
    candidates = int(np.count_nonzero(unlabelled))
    size = min(wanted, candidates)
    if policy == "audit":
        drawn = _audit(values, unlabelled, size, limit, pure, generator)
        if size < candidates and "audit" not in drawn[2]:
            remarks.append(_no_random_part(wanted))
    else:
        pool = np.flatnonzero(unlabelled)
        if candidates == 0:
            drawn = pool, np.empty(0), []
        elif policy == "random":
            drawn = _random(pool, size, generator)
        elif policy == "stratified":
            drawn = _stratified(values, pool, size, strata, allocation, generator)
        elif policy == "uncertainty" and explored > 0:
            drawn = _explored(values[pool], pool, size, explored, generator)
        elif policy == "adaptive":
            posterior, doubts = _posterior(values, read_labels(labels, len(values)), pool, mixture)
            remarks += doubts
            drawn = _most(-np.abs(posterior - 0.5), pool, size, policy, generator)
        else:
            drawn = _most(values[pool], pool, size, policy, generator)
    rows, probability, words = drawn
    if size < wanted:
        remarks.insert(0, _too_few(wanted, candidates, below))
    return LabelChoice(
        rows, probability, np.array(words, dtype=str), wanted, candidates, tuple(remarks)
    )


def _open_alerts(alerts: int) -> list[Problem]:
    if not alerts:
        return []
    return [
        Problem(
            "{alerts:,} {have} no label yet.",
            code="open-alerts",
            alerts=alerts,
            have="alert has" if alerts == 1 else "alerts have",
            tail=Argument("policy", "tail"),
            remedy="Label alerts first, for example with {tail}.",
        )
    ]


def _no_random_part(n: int) -> Problem:
    return Problem(
        "{n} leaves no row for the random part, and so no limit on what lies deeper.",
        code="no-random-part",
        n=Argument("n", n),
        pure=Argument("pure", True),
        remedy="Ask for 2 rows or more, or use {pure}.",
    )


def _audit(
    scores: Array,
    candidate: NDArray[np.bool_],
    n: int,
    threshold: float,
    pure: bool,
    generator: np.random.Generator,
) -> Drawn:
    """Band directly below the threshold, then a systematic draw in score order."""
    below = np.flatnonzero(scores < threshold)
    below = below[ranked(scores[below], generator)]
    rank = np.flatnonzero(candidate[below])  # rows between the threshold and each candidate
    below = below[rank]
    band = n if n == len(below) else 0 if pure else (n + 1) // 2
    chance = probabilities(audit_sizes(rank[band:]), n - band) if band < n else np.empty(0)
    places, probability = _working_order(systematic(chance, generator), chance, generator)
    return (
        np.concatenate([below[:band], below[band:][places]]),
        np.concatenate([np.ones(band), probability]),
        ["band"] * band + ["audit"] * len(places),
    )


def _random(pool: Positions, n: int, generator: np.random.Generator) -> Drawn:
    rows = pool[generator.choice(len(pool), n, replace=False)]
    return rows, np.full(n, n / len(pool)), ["random"] * n


def _stratified(
    scores: Array,
    pool: Positions,
    n: int,
    strata: int,
    allocation: str,
    generator: np.random.Generator,
) -> Drawn:
    refuse_word("allocation", allocation, ("equal", "proportional"))
    pool = pool[ranked(scores[pool], generator)]
    ends = stratum_ends(len(pool), n, read_integer(strata, "strata"))
    starts = np.concatenate([[0], ends[:-1]])
    taken = allocate(n, ends - starts, allocation)
    places = np.concatenate(
        [
            start + generator.choice(end - start, count, replace=False)
            for start, end, count in zip(starts, ends, taken, strict=True)
        ]
    )
    chance = np.repeat(taken / (ends - starts), ends - starts)
    places, probability = _working_order(places, chance, generator)
    return pool[places], probability, ["stratified"] * n


def _explored(
    values: Array, pool: Positions, n: int, explore: float, generator: np.random.Generator
) -> Drawn:
    """Draw by size in order of uncertainty: rows of every degree are among them."""
    order = ranked(values, generator)
    size = values[order]
    size = size / size.sum() if size.sum() > 0 else np.zeros(len(size))
    chance = probabilities((1.0 - explore) * size + explore / len(size), n)
    places, probability = _working_order(systematic(chance, generator), chance, generator)
    return pool[order[places]], probability, ["explored"] * n


def _share(explore: float, policy: str) -> float:
    explore = read_number(explore, "explore", Number(0, 1))
    if explore > 0 and policy != "uncertainty":
        raise UsageError(
            "{explore} goes with {needed}, not with {policy}: audit, random and stratified draw at "
            "random already.",
            code="explore-policy",
            explore=Argument("explore", explore),
            needed=Argument("policy", "uncertainty"),
            policy=Argument("policy", policy),
        )
    return explore


def _working_order(
    places: Positions, chance: Array, generator: np.random.Generator
) -> tuple[Positions, Array]:
    """Certain rows first, in score order; the others at random, so that work may stop early."""
    sure = chance[places] == 1
    places = np.concatenate([np.sort(places[sure]), generator.permutation(places[~sure])])
    return places, chance[places]


def _most(
    values: Array, pool: Positions, n: int, policy: str, generator: np.random.Generator
) -> Drawn:
    places, _ = greatest(values, n, generator)
    return pool[places], np.ones(n), [policy] * n


def _posterior(
    scores: Array, labels: Array, pool: Positions, mixture: ScoreMixture | None
) -> tuple[Array, list[Problem]]:
    """Posterior of each candidate under a mixture of all scores and the labels so far."""
    from sklearn.base import clone

    from scarce.missed.mixture.estimator import ScoreMixture

    if mixture is None:
        mixture = ScoreMixture()
    elif isinstance(mixture, type) or not all(
        hasattr(mixture, part) for part in ("fit", "posterior", "get_params")
    ):
        raise UsageError(
            "{argument} must be an instance that can be fitted to scores, such as {example}, got "
            "{seen}.",
            code="invalid-parameter",
            argument=Argument("mixture"),
            example="ScoreMixture(background='normal')",
            seen=f"the class {mixture.__name__}"
            if isinstance(mixture, type)
            else f"a {type(mixture).__name__}",
        )
    model = clone(mixture).fit(scores, labels)
    try:
        posterior = np.asarray(model.posterior(scores[pool]), dtype=np.float64)
    except ScarceError as error:
        raise _no_posterior(len(pool), str(getattr(model, "why_", error))) from error
    lost = int(np.isnan(posterior).sum())
    if lost:
        raise _no_posterior(lost, "it is NaN")
    doubts = []
    if not getattr(model, "identified_", True):
        doubts.append(
            Problem(
                "The mixture cannot be trusted yet ({why}).",
                code="not-identified",
                why=model.why_,
                remedy="Label more rows.",
            )
        )
    return posterior, doubts


def _no_posterior(count: int, why: str) -> DataError:
    return DataError(
        "The mixture gives no posterior for {rows} ({why}).",
        code="no-posterior",
        rows=in_rows(count),
        why=why,
        tail=Argument("policy", "tail"),
        adaptive=Argument("policy", "adaptive"),
        remedy="Choose the first labels with {tail} or 'audit', then go on with {adaptive}.",
    )


def _without_label(labels: ArrayLike | None, n_rows: int) -> NDArray[np.bool_]:
    """Which rows have no label, whatever the classes are called."""
    if labels is None:
        return np.ones(n_rows, dtype=bool)
    refuse_length(labels, n_rows, "labels", "a missing value where a row has none")
    hidden = np.ma.getmaskarray(labels).ravel() if np.ma.isMaskedArray(labels) else False
    if hasattr(labels, "to_pylist"):  # Arrow
        labels = labels.to_pylist()
    elif hasattr(labels, "to_numpy"):
        labels = labels.to_numpy()
    # A list of words and a NaN must not become text: NumPy would write the NaN as a word.
    held = np.array(labels, dtype=object if isinstance(labels, (list, tuple)) else None).ravel()
    if held.dtype.kind in "fMm":
        return np.asarray(hidden | (held != held))
    if held.dtype.kind == "U" and (held == "nan").any():
        raise DataError(
            "{argument} holds the word 'nan' at row {row:,}, which NumPy makes of a missing value "
            "among words.",
            code="nan-as-text",
            argument=Argument("labels"),
            row=int(np.argmax(held == "nan")),
            remedy="Pass a list, or an array of dtype object.",
        )
    if held.dtype != object:
        return np.zeros(n_rows, dtype=bool) | hidden
    return hidden | np.array([is_missing(value) for value in held], dtype=bool)


def seeded(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """Return the generator of all draws."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        read_seed(random_state)
        raise


def _threshold(threshold: float | None) -> float:
    if threshold is None:
        raise UsageError(
            "{policy} needs {argument}: rows are drawn below it.",
            code="no-threshold",
            policy=Argument("policy", "audit"),
            argument=Argument("threshold"),
        )
    return read_threshold(threshold, [None])[0]


def _too_few(wanted: int, candidates: int, below: bool) -> Problem:
    where = " below the threshold" if below else ""
    if candidates == 0:
        return Problem(
            "Every row{where} has a label: nothing was chosen.",
            code="no-candidates",
            where=where,
        )
    return Problem(
        "{asked} were asked for, but only {candidates:,} without a label {are} left{where}: all "
        "were chosen, for certain.",
        code="too-few-rows",
        asked=in_rows(wanted),
        candidates=candidates,
        are="is" if candidates == 1 else "are",
        where=where,
    )
