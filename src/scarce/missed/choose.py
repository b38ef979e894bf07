"""Which rows should be labelled next, and with what probability is each of them chosen?

    audit        below the threshold: strata of ranks, more where the curve expects events
    stratified   strata of ranks, equally or in proportion to their rows
    random       every row alike                                          (002 section 3.1)
    pps          below the threshold: systematic, size 1/sqrt(1 + rank/20)
    tail         the greatest scores                                      (002 section 3.1)
    uncertainty  arg max of the entropy of p(y | x)                       (003 section 0.7)
    explored     a draw with probability in proportion to it, mixed with an even one
    adaptive     posterior under the fitted mixture nearest 1/2           (002 section 3.1)

A label that was bought without its inclusion probability can never be counted with others.
Only audit, stratified, random, pps and explored labels stand for other rows too. Assumes that
choices depend on scores and on labels seen so far, nothing else, and that rows are worked in the
order given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from scarce.missed.frames import Frame, digest_of, frame_of_text
from scarce.missed.strata import (
    STRATA,
    allocate,
    ends_between_scores,
    neyman_wish,
    stratum_ends,
)
from scarce.missed.units import Units, column_of, read_second, read_units, rows_by_batch
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
    frame : ndarray of str of shape (n_chosen,)
        Which rows each was drawn from (see `scarce.missed.frames`); empty where not recorded.
    n_rows : int
        How many scores the choice was made from; 0 where not recorded.

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
    frame: NDArray[np.str_] = field(default_factory=lambda: np.empty(0, str))
    n_rows: int = 0

    def __post_init__(self) -> None:
        if len(self.round) == 0:
            object.__setattr__(self, "round", np.ones(len(self.rows), np.int64))
        if len(self.frame) == 0:
            object.__setattr__(self, "frame", np.full(len(self.rows), ""))
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

    def frames(self, n_rows: int) -> NDArray[np.object_]:
        """Return which frame each row of the whole batch was drawn from, None where none."""
        whole = np.full(n_rows, None, dtype=object)
        held = [frame_of_text(text) for text in self.frame.tolist()]
        whole[self.rows] = ["" if frame is None else "/".join(frame.of) for frame in held]
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
            self.frame[:n],
            self.n_rows,
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
        np.concatenate([choice.frame for choice in choices]),
        choices[0].n_rows,
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


POLICIES = ("audit", "stratified", "random", "pps", "tail", "uncertainty", "adaptive")
BELOW = ("audit", "pps")  # which choose below a threshold alone
MAY_BE_BELOW = ("random", "stratified")

Drawn = tuple[Positions, Array, list[str]]  # rows, probability, policy word
Thresholds = float | Mapping[Any, float] | None


def choose_labels(
    scores: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    policy: str = "audit",
    n: int,
    threshold: Thresholds = None,
    batch: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    second_scores: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
    by: str = "entropy",
    costs: CostMatrix | ArrayLike | None = None,
    explore: float = 0.0,
    strata: int = STRATA,
    allocation: str = "equal",
    band: float = 0.0,
    mixture: ScoreMixture | None = None,
    date: str = "",
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
    policy : {"audit", "stratified", "random", "pps", "tail", "uncertainty", "adaptive"}
        "audit", the default, to estimate how many events lie below the threshold: strata of ranks
        that grow geometrically, and in each as many rows, all drawn at random, as Neyman's
        allocation by a curve fitted to the alerts gives, mixed with equal parts. "stratified":
        the same strata, equally or in proportion to their rows. "random": every row with the same
        probability. "pps": systematic below the threshold, ever more thinly. "tail": greatest
        scores. "uncertainty": rows the model is least sure of. "adaptive": the same by a mixture
        fitted to the scores and the labels so far; call again after labelling, or use
        `label_in_rounds`.
    n : int
        How many, over all batches. If fewer can be chosen, all of them, with a remark.
    threshold : float, or dict of batch -> float, optional
        Rows at or above it are alerts. Needed for audit and pps; random and stratified then choose
        below it. The others do not look at it.
    batch : array-like of shape (n_rows,), optional
        Which week (site, model) a row belongs to: strata are made within each. For audit,
        stratified, random and pps.
    groups : array-like of shape (n_rows,), optional
        Which incident (patient, machine) a row belongs to. An incident is drawn as a whole, by its
        greatest score; the row with that score stands for it, and an incident of which a row is an
        alert is none of those below. Missing where a row is an incident by itself.
    second_scores : array-like of shape (n_rows,), optional
        Another ranking of the rows below the threshold, such as that of a model fitted again: they
        are drawn by it. Alerts stay as they were.
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
        Audit and stratified: number of strata; fewer where n or the rows are fewer.
    allocation : {"equal", "proportional"}
        Stratified: as many rows from each stratum, or in proportion to its size.
    band : float
        Audit and pps: this share of n lies directly below the threshold and is taken for certain;
        fewer where the last of them share their score with further rows.
    mixture : ScoreMixture, optional
        Adaptive: the mixture to fit, with its settings.
    date : str
        When the rows were drawn, as YYYY-MM-DD, to be kept with their frame.

    Returns
    -------
    LabelChoice
        `rows`, `probability`, `policy`, `frame` and `remarks`; `inclusion(n_rows)` is what
        `estimate_performance` takes.

    **Assumes** that labels come back for all rows chosen. If some cannot be labelled for reasons
    that have to do with the answer, no probability mends it.

    Notes
    -----
    Ranks alone matter for all policies but uncertainty and adaptive: any increasing function of
    the scores gives the same rows. Strata never cut through equal scores. Cost: one sort of the
    rows below the threshold for audit, stratified and pps (ten million: seconds), time in
    proportion to the rows for the others. Labels from an earlier draw are not drawn again: the new
    probabilities hold for rows still unlabelled; `combine_audits` joins several draws.

    References
    ----------
    Neyman (1934), Journal of the Royal Statistical Society 97: allocation to strata. Madow (1949),
    Annals of Mathematical Statistics 20: systematic sampling.

    Examples
    --------
    >>> scores = np.arange(1000) / 1000
    >>> labels = np.where(scores >= 0.95, scores >= 0.99, np.nan)   # every alert was looked at
    >>> print(choose_labels(scores, labels, n=40, threshold=0.95, random_state=0))
    40 rows to label, of 950 that could be chosen
      audit  40 rows, with probability 0.0254 to 0.667
    """
    refuse_other_index(
        scores=scores, labels=labels, batch=batch, groups=groups, second_scores=second_scores
    )
    refuse_word("policy", policy, POLICIES)
    wanted, generator = read_integer(n, "n"), seeded(random_state)
    explored = _share(explore, policy)
    read_integer(strata, "strata")
    certain = read_number(band, "band", Number(0, 1))
    _refuse_idle(policy, batch=batch, groups=groups, second_scores=second_scores)
    if certain > 0 and policy not in BELOW:
        raise UsageError(
            "{band} is for {audit} and {pps}, not for {policy}.",
            code="unused-argument",
            band=Argument("band", band),
            audit=Argument("policy", "audit"),
            pps=Argument("policy", "pps"),
            policy=Argument("policy", policy),
            remedy="Leave it out.",
        )
    if policy == "uncertainty":
        values = uncertainty(scores, by, costs)
        known = np.where(_without_label(labels, len(values)), np.nan, 0.0)
    else:
        values = read_scores(scores)
        known = read_labels(labels, len(values))
    settings = _Settings(policy, allocation, strata, certain, explored, mixture)
    below = policy in BELOW or (policy in MAY_BE_BELOW and threshold is not None)
    names, parts = rows_by_batch(batch, len(values))
    marks = [_threshold(None)] if below and threshold is None else [None] * len(parts)
    if below:
        marks = read_threshold(threshold, names)
    elif threshold is not None:
        read_threshold(threshold, names)
    named = None if groups is None else column_of(groups, "groups", len(values))
    second = read_second(second_scores, len(values))
    units, pools = [], []
    for name, rows, mark in zip(names, parts, marks, strict=True):
        unit = read_units(
            values if batch is None else values[rows],
            known if batch is None else known[rows],
            mark,
            None if named is None else named[rows],
            None if second is None else second[rows],
        )
        units.append((name, rows, mark, unit))
        candidate = np.isnan(unit.labels) & (unit.scores < (np.inf if mark is None else mark))
        pools.append(candidate)
    candidates = int(sum(pool.sum() for pool in pools))
    size = min(wanted, candidates)
    remarks = [] if size == wanted else [_too_few(wanted, candidates, below)]
    sizes = shares_of_batches(size, [int(pool.sum()) for pool in pools])
    remarks += _batches_left_out(wanted, sizes, pools)
    drawn: list[LabelChoice] = []
    for (name, rows, mark, unit), pool, part in zip(units, pools, sizes, strict=True):
        if mark is not None and policy not in ("tail", "uncertainty", "adaptive"):
            open_alerts = int(np.count_nonzero(np.isnan(unit.labels) & (unit.scores >= mark)))
            remarks += _open_alerts(open_alerts, name)
        places, probability, words, doubts = _draw(unit, pool, part, mark, settings, generator)
        remarks += doubts
        frame = Frame(
            digest_of(unit.scores), int(pool.sum()), mark, "" if name is None else str(name), date
        )
        drawn.append(
            LabelChoice(
                rows[unit.first[places]],
                probability,
                np.array(words, dtype=str),
                wanted,
                candidates,
                tuple(remarks),
                np.ones(len(places), np.int64),
                np.full(len(places), str(frame)),
                len(values),
            )
        )
    return _together(drawn, wanted, candidates, tuple(remarks), len(values), generator)


def _together(
    drawn: Sequence[LabelChoice],
    wanted: int,
    candidates: int,
    remarks: tuple[Problem, ...],
    n_rows: int,
    generator: np.random.Generator,
) -> LabelChoice:
    """Return what was drawn in each batch as one choice, batches mixed: work may stop early."""
    probability = np.concatenate([one.probability for one in drawn])
    order = np.arange(len(probability))
    if len(drawn) > 1:
        sure = probability == 1
        order = np.concatenate([order[sure], generator.permutation(order[~sure])])
    return LabelChoice(
        np.concatenate([one.rows for one in drawn])[order],
        probability[order],
        np.concatenate([one.policy for one in drawn])[order],
        wanted,
        candidates,
        remarks,
        np.concatenate([one.round for one in drawn])[order],
        np.concatenate([one.frame for one in drawn])[order],
        n_rows,
    )


@dataclass(frozen=True)
class _Settings:
    """How rows are chosen; as the arguments of `choose_labels`."""

    policy: str
    allocation: str
    strata: int
    band: float
    explore: float
    mixture: ScoreMixture | None


def shares_of_batches(n: int, candidates: Sequence[int]) -> list[int]:
    """Share n rows out among batches: equal parts, at most all of a batch.

    Examples
    --------
    >>> shares_of_batches(10, [2, 100, 100])
    [2, 4, 4]
    """
    held = np.array(candidates, dtype=np.int64)
    given = np.zeros(len(held), dtype=np.int64)
    while n > 0 and (given < held).any():
        open_ = np.flatnonzero(given < held)
        part = max(1, n // len(open_))
        for at in open_:
            more = int(min(part, held[at] - given[at], n))
            given[at] += more
            n -= more
    return [int(one) for one in given]


def _batches_left_out(
    n: int, sizes: Sequence[int], pools: Sequence[NDArray[np.bool_]]
) -> list[Problem]:
    left = sum(size == 0 and bool(pool.any()) for size, pool in zip(sizes, pools, strict=True))
    if left == 0 or n == 0:
        return []
    return [
        Problem(
            "{n} leaves {left:,} of {batches:,} batches without a row: nothing will be known of "
            "what lies below their threshold.",
            code="batch-left-out",
            n=Argument("n", n),
            left=left,
            batches=len(sizes),
            remedy="Ask for more rows, or leave out {batch} to draw from all rows together.",
            batch=Argument("batch"),
        )
    ]


def _refuse_idle(policy: str, **given: object) -> None:
    """Refuse arguments that would do nothing."""
    for name, value in given.items():
        if value is not None and policy not in (*BELOW, *MAY_BE_BELOW):
            raise UsageError(
                "{argument} is for rows that are drawn at random, not for {policy}.",
                code="unused-argument",
                argument=Argument(name),
                policy=Argument("policy", policy),
                remedy="Leave it out.",
            )


def _draw(
    unit: Units,
    candidate: NDArray[np.bool_],
    n: int,
    mark: float | None,
    settings: _Settings,
    generator: np.random.Generator,
) -> tuple[Positions, Array, list[str], list[Problem]]:
    """Choose n of the candidates of one batch: places, probabilities, words, remarks."""
    values, pool = unit.scores, np.flatnonzero(candidate)
    policy = settings.policy
    doubts: list[Problem] = []
    if len(pool) == 0 or n == 0:
        return pool[:0], np.empty(0), [], []
    if policy == "audit" and mark is not None:
        drawn = _audit(unit, candidate, n, mark, settings, generator)
    elif policy == "pps" and mark is not None:
        drawn = _pps(values, candidate, n, mark, settings.band, generator)
    elif policy == "random":
        drawn = _random(pool, n, generator)
    elif policy == "stratified":
        drawn = _stratified(values, pool, n, settings.strata, settings.allocation, generator)
    elif policy == "uncertainty" and settings.explore > 0:
        drawn = _explored(values[pool], pool, n, settings.explore, generator)
    elif policy == "adaptive":
        posterior, doubts = _posterior(values, unit.labels, pool, settings.mixture)
        drawn = _most(-np.abs(posterior - 0.5), pool, n, policy, generator)
    else:
        drawn = _most(values[pool], pool, n, policy, generator)
    if policy in BELOW and n < len(pool) and policy not in drawn[2]:
        doubts = [*doubts, _no_random_part(n)]
    return (*drawn, doubts)


def _open_alerts(alerts: int, name: Any = None) -> list[Problem]:
    if not alerts:
        return []
    return [
        Problem(
            "{alerts:,} {have} no label yet{where}.",
            code="open-alerts",
            alerts=alerts,
            have="alert has" if alerts == 1 else "alerts have",
            where="" if name is None else f" in batch {name!r}",
            tail=Argument("policy", "tail"),
            remedy="Label alerts first, for example with {tail}.",
        )
    ]


def _no_random_part(n: int) -> Problem:
    return Problem(
        "{n} leaves no row to be drawn at random, and so no limit on what lies deeper.",
        code="no-random-part",
        n=Argument("n", n),
        band=Argument("band"),
        remedy="Ask for more rows, or for a smaller {band}.",
    )


def _audit(
    unit: Units,
    candidate: NDArray[np.bool_],
    n: int,
    threshold: float,
    settings: _Settings,
    generator: np.random.Generator,
) -> Drawn:
    """Strata below the threshold, more rows where the curve of the alerts expects events."""
    pool = np.flatnonzero(candidate)
    pool = pool[ranked(unit.scores[pool], generator)]
    band = _band(unit.scores[pool], n, settings.band)
    sure, rest = pool[:band], pool[band:]
    if band == n:
        return sure, np.ones(n), ["band"] * n
    ordered = unit.scores[rest]
    ends = ends_between_scores(ordered, stratum_ends(len(rest), n - band, settings.strata))
    sizes = np.diff(np.concatenate([[0], ends]))
    share = expected_shares(unit.scores, unit.labels, threshold, ordered[ends - (sizes + 1) // 2])
    taken = allocate(n - band, sizes, neyman_wish(sizes, share))
    places, chance = _from_strata(sizes, taken, generator)
    return (
        np.concatenate([sure, rest[places]]),
        np.concatenate([np.ones(band), chance]),
        ["band"] * band + ["audit"] * len(places),
    )


def expected_shares(scores: Array, labels: Array, threshold: float, at: Array) -> Array:
    """Return the share of events that a curve fitted to the alerts expects at some scores.

    Labels below the threshold are left out: the allocation must not depend on what earlier checks
    found, or their probabilities would.
    """
    from scarce.engine.executors import one_blas_thread
    from scarce.missed.curve import PooledCurves
    from scarce.missed.provenance import batch_of

    alerts = np.where(scores >= threshold, labels, np.nan)
    one = batch_of(None, scores, alerts, threshold)
    with one_blas_thread:
        curve = PooledCurves.fit([one], np.random.default_rng(0))
    return np.asarray(curve.share_of_events(one, 0, at, one.table.place_of(at)).mean(axis=0))


def _band(ordered: Array, n: int, share: float) -> int:
    """Return how many of the greatest are taken for certain; equal scores are not cut."""
    if n == len(ordered):
        return n
    band = round(share * n)
    if band > 0 and ordered[band - 1] == ordered[band]:
        band = int(np.searchsorted(-ordered, -ordered[band], side="left"))
    return band


def _from_strata(
    sizes: Positions, taken: Positions, generator: np.random.Generator
) -> tuple[Positions, Array]:
    """Draw rows from strata of ranked rows, in working order."""
    ends = np.cumsum(sizes)
    places = np.concatenate(
        [
            end - size + generator.choice(size, count, replace=False)
            for end, size, count in zip(ends, sizes, taken, strict=True)
        ]
    )
    return _working_order(places, np.repeat(taken / sizes, sizes), generator)


def _pps(
    scores: Array,
    candidate: NDArray[np.bool_],
    n: int,
    threshold: float,
    band_share: float,
    generator: np.random.Generator,
) -> Drawn:
    """Band directly below the threshold, then a systematic draw in score order."""
    below = np.flatnonzero(scores < threshold)
    below = below[ranked(scores[below], generator)]
    rank = np.flatnonzero(candidate[below])  # rows between the threshold and each candidate
    below = below[rank]
    band = _band(scores[below], n, band_share)
    chance = probabilities(audit_sizes(rank[band:]), n - band) if band < n else np.empty(0)
    places, probability = _working_order(systematic(chance, generator), chance, generator)
    return (
        np.concatenate([below[:band], below[band:][places]]),
        np.concatenate([np.ones(band), probability]),
        ["band"] * band + ["pps"] * len(places),
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
    sizes = np.diff(np.concatenate([[0], ends_between_scores(scores[pool], ends)]))
    wish = np.ones(len(sizes)) if allocation == "equal" else sizes / sizes.mean()
    places, probability = _from_strata(sizes, allocate(n, sizes, wish), generator)
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
        remedy="Choose the first labels with {tail}, then go on with {adaptive}.",
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
    return threshold


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
