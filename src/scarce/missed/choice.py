"""The record of a choice of rows to label: which, in what order, and how likely each was.

A label that was bought without its probability can never be counted with others again. Assumes that
rows are worked in the order given. Chooses nothing itself: see labels.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.checks import whole_number
from scarce.engine.block import Array
from scarce.errors import UsageError
from scarce.results import in_rows, short


@dataclass(frozen=True, eq=False)
class LabelChoice:
    """Rows to label, in the order to be worked.

    Parameters
    ----------
    rows : ndarray of int64 of shape (n_chosen,)
        Positions in the scores. Rows that were certain come first, from the most urgent down; then
        those drawn by lot, in random order, so that work may stop early (see `first`).
    probability : ndarray of shape (n_chosen,)
        Probability with which each had been going to be chosen.
    policy : ndarray of str of shape (n_chosen,)
        What each was chosen by, one word.
    asked : int
        How many rows were asked for.
    candidates : int
        How many rows could have been chosen.
    remarks : tuple of str
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
    remarks: tuple[str, ...] = ()
    round: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        if len(self.round) == 0:
            object.__setattr__(self, "round", np.ones(len(self.rows), np.int64))
        lengths = {len(self.rows), len(self.probability), len(self.policy), len(self.round)}
        if len(lengths) > 1:
            raise UsageError(
                f"rows, probability, policy and round have {sorted(lengths)} entries: give one of "
                "each for every row chosen."
            )

    def __len__(self) -> int:
        return len(self.rows)

    def inclusion(self, n_rows: int) -> Array:
        """Return one probability per row of the whole batch, NaN for rows that were not chosen.

        What `estimate_performance` takes as `inclusion=`.
        """
        n_rows = whole_number(n_rows, "n_rows", least=0)
        if self.in_rounds_by_lot:
            raise UsageError(
                "These rows were drawn by lot in several rounds, so that no one probability says "
                "how likely each was: use weights(), one number for each of .rows."
            )
        if len(self.rows) and n_rows <= self.rows.max():
            raise UsageError(
                f"n_rows={n_rows}, but row {self.rows.max():,} was chosen: give the number of "
                "scores that the choice was made from."
            )
        whole = np.full(n_rows, np.nan)
        whole[self.rows] = self.probability
        return whole

    @property
    def in_rounds_by_lot(self) -> bool:
        """Whether lots of several rounds are among them."""
        return bool(len(self) and self.round.max() > 1 and (self.probability < 1).any())

    def weights(self) -> Array:
        """Return how many rows each row chosen stands for, so that weighted sums are unbiased.

        One round: 1 / probability. Several rounds by lot: each round alone, with what was labelled
        before it, gives an unbiased sum over all candidates, whatever the earlier labels were, for
        its lots were drawn given those. The rounds are averaged by their numbers of rows:
        weight = a_r / probability + sum of a_t over later rounds t, with a_t their shares.

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

        Of rows drawn by lot and put in random order, the first k of m are a draw too: their
        probability is k / m of what it was. That holds as long as the labels seen on the way had
        no part in when to stop.

        Examples
        --------
        >>> choice = LabelChoice(np.array([7, 2, 4]), np.array([1.0, 0.1, 0.2]),
        ...     np.array(["band", "audit", "audit"]), asked=3, candidates=11)
        >>> choice.first(2).probability
        array([1.  , 0.05])
        """
        n = whole_number(n, "n", least=0)
        if n > len(self.rows):
            raise UsageError(
                f"n={n} of {in_rows(len(self.rows))}: give how many of them were labelled."
            )
        if n < len(self.rows) and self.in_rounds_by_lot:
            raise UsageError(
                f"first({n}) of rows drawn by lot in rounds: a round that was broken off has no "
                "probabilities. Label the rounds whole."
            )
        by_lot = self.probability < 1
        kept, drawn = np.count_nonzero(by_lot[:n]), np.count_nonzero(by_lot)
        probability = self.probability[:n].copy()
        if kept:
            probability[by_lot[:n]] *= kept / drawn
        return LabelChoice(
            self.rows[:n],
            probability,
            self.policy[:n],
            self.asked,
            self.candidates,
            self.remarks,
            self.round[:n],
        )

    def __str__(self) -> str:
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
        return "\n".join([*lines, *(f"remark: {remark}" for remark in self.remarks)])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary, for JSON."""
        return {
            "rows": self.rows.tolist(),
            "probability": self.probability.tolist(),
            "policy": self.policy.tolist(),
            "round": self.round.tolist(),
            "asked": self.asked,
            "candidates": self.candidates,
            "remarks": list(self.remarks),
        }


def join_rounds(choices: Sequence[LabelChoice], asked: int) -> LabelChoice:
    """Return the choices of several rounds as one, with the number of the round.

    What a later round chose depends on labels seen before, so no probability over the rounds
    exists. Rows chosen by rule stand for themselves alone: their probability is 1. Rows drawn by
    lot keep that of their own round, from which `weights` makes sums that are unbiased. Doubts that
    a later round has settled are left out.
    """
    rows = np.concatenate([choice.rows for choice in choices])
    remarks = list(choices[-1].remarks)
    if len(rows) < asked:
        remarks.insert(
            0, f"{asked:,} rows were asked for and {len(rows):,} could be chosen: no more are left."
        )
    policy = np.concatenate([choice.policy for choice in choices])
    probability = np.concatenate([choice.probability for choice in choices])
    return LabelChoice(
        rows,
        np.where(policy == "explored", probability, 1.0),
        policy,
        asked,
        choices[0].candidates,
        tuple(remarks),
        np.concatenate([np.full(len(choice), k, np.int64) for k, choice in enumerate(choices, 1)]),
    )
