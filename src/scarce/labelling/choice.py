"""The record of a choice of rows to label: which, in what order, and how likely each was.

A label that was bought without its probability can never be counted with others again. Assumes that
rows are worked in the order given. Chooses nothing itself: see labels.py.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.errors import UsageError
from scarce.records import short
from scarce.rows.block import Array


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
        if len(self.rows) and n_rows <= self.rows.max():
            raise UsageError(
                f"n_rows={n_rows}, but row {self.rows.max():,} was chosen: give the number of "
                "scores that the choice was made from."
            )
        whole = np.full(n_rows, np.nan)
        whole[self.rows] = self.probability
        return whole

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
    exists. Every row stands for itself alone: its probability is 1. Doubts that a later round has
    settled are left out.
    """
    rows = np.concatenate([choice.rows for choice in choices])
    remarks = list(choices[-1].remarks)
    if len(rows) < asked:
        remarks.insert(
            0, f"{asked:,} rows were asked for and {len(rows):,} could be chosen: no more are left."
        )
    return LabelChoice(
        rows,
        np.ones(len(rows)),
        np.concatenate([choice.policy for choice in choices]),
        asked,
        choices[0].candidates,
        tuple(remarks),
        np.concatenate([np.full(len(choice), k, np.int64) for k, choice in enumerate(choices, 1)]),
    )


def in_rows(n: int) -> str:
    """Write a number of rows."""
    return f"{n:,} row{'s' if n != 1 else ''}"


def whole_number(value: Any, name: str, least: int = 1) -> int:
    """Return a number of rows or rounds, or refuse what is none.

    Examples
    --------
    >>> whole_number(1.5, "n")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: n=1.5 cannot be counted off: give a whole number, 1 or more.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, (bool, np.bool_)):
        raise UsageError(
            f"{name}={value!r} cannot be counted off: give a whole number, {least} or more."
        )
    return number
