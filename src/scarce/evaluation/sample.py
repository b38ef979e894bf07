"""Which rows have an outcome, how many others does each speak for, and which belong together?

    weight of a labelled row = sample_weight / inclusion                         (Hajek 1971)

Assumes that each row was labelled with its stated probability, independently of the others. Labels
that were chosen by rule speak for nobody but themselves, and are refused where rows lack one. Does
not draw anything: see resample.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.checks import column, is_missing, read_inclusion
from scarce.decisions.decide import name_column
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError, warn_user
from scarce.results import in_rows

METHOD = "bootstrap, one unseen row added"
METHOD_GROUPS = "bootstrap of groups, one unseen group added"
ASSUMES = "the rows are independent draws from the world that will be decided in"
ASSUMES_GROUPS = "the groups of rows are independent draws from the world that will be decided in"
DRAWN = "; each was labelled with its stated probability, independently of the others"
ODD = 6.0  # standard errors between the rows there are and those that the weights add up to


@dataclass(frozen=True, eq=False)
class Sample:
    """Which rows speak, and for how many others.

    Parameters
    ----------
    rows : ndarray of intp
        Positions of the rows with an outcome.
    weight : ndarray, one for each of them
        Sample weight over probability of having been labelled.
    total : float
        Weight of all rows given, labelled or not: what totals are scaled to.
    drawn : bool
        Whether some rows have no outcome, or probabilities of labelling were given.
    group : ndarray of intp, one for each row with an outcome, or None
        Number of the group that it belongs to, from 0 on.
    """

    rows: NDArray[np.intp]
    weight: Array
    total: float
    drawn: bool
    group: NDArray[np.intp] | None = None

    @property
    def method(self) -> str:
        """How intervals are found."""
        return METHOD if self.group is None else METHOD_GROUPS

    @property
    def assumes(self) -> str:
        """What the intervals lean on."""
        known = ASSUMES if self.group is None else ASSUMES_GROUPS
        return known + (DRAWN if self.drawn else "")

    @property
    def n_groups(self) -> int | None:
        """Number of groups; None where rows stand alone."""
        return None if self.group is None else int(self.group.max()) + 1

    def by_group(self, part: Array) -> Array:
        """Return sums over groups, or the values themselves where rows stand alone."""
        return part if self.group is None else np.asarray(np.bincount(self.group, part), np.float64)

    def together(self, *parts: Any) -> float:
        """Return how many rows of a kind an unseen group would bring, where a row would bring one.

        Parameters
        ----------
        *parts : masks of the labelled rows
            A kind and kinds within it, the last one being asked for: a class, an action in it.

        Notes
        -----
        A member of a kind meets sum h^2 / sum h of it in its own group, h being what each group
        holds. That is taken as seen, and one group more is taken to be as the wider kind is, the
        whole group at the start: a kind that was never met comes as the kind around it does.
        """
        found = 1.0
        if self.group is None:
            return found
        for n, part in enumerate((np.ones(len(self.weight), dtype=bool), *parts)):
            each = np.where(part, self.weight, 0.0)
            held = self.by_group(each)
            here = int(np.count_nonzero(held))
            if here:
                lump = float((held @ held) / (each @ each))
                found = lump if n == 0 else (here * lump + found) / (here + 1)
        return found


def read_sample(
    known: NDArray[np.bool_], sample_weight: Any, inclusion: Any, groups: Any = None
) -> Sample:
    """Return rows and weights, or refuse outcomes that are missing without a word on why.

    Examples
    --------
    >>> read_sample(np.array([True, False, True]), None, [0.5, 0.1, 1.0]).weight
    array([2., 1.])
    >>> read_sample(np.array([True, False]), None, None)
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: y_true has no label in 1 of 2 rows (first at row 1): leaving them ...
    """
    n = len(known)
    if n == 0:
        raise DataError("y_true is empty: there is no row to say anything about.")
    weight = np.ones(n) if sample_weight is None else column(sample_weight, "sample_weight")
    if weight.shape != (n,) or not ((weight >= 0) & (weight < np.inf)).all() or not weight.any():
        raise DataError(
            f"sample_weight has {len(weight):,} values for {n:,} rows, or some below 0, missing or "
            "infinite, or all 0: give one finite number from 0 on per row."
        )
    if weight.max() > 1e150 or weight[weight > 0].min() < 1e-150:
        raise DataError(
            f"sample_weight goes from {weight[weight > 0].min():g} to {weight.max():g}, and the "
            "squares of such numbers do not exist: divide all of them by one number."
        )
    spoken = _spoken_for(inclusion, known)
    rows = np.flatnonzero(known & (weight > 0))
    if len(rows) == 0:
        raise DataError("No row with a weight above 0 has a label: label some rows first.")
    return Sample(
        rows,
        weight[rows] * spoken[rows],
        float(weight.sum()),
        inclusion is not None,
        read_groups(groups, n, rows),
    )


def _spoken_for(inclusion: Any, known: NDArray[np.bool_]) -> Array:
    """How many rows each labelled row stands for."""
    n = len(known)
    if inclusion is None:
        if not known.all():
            raise DataError(
                f"y_true has no label in {n - known.sum():,} of {n:,} rows (first at row "
                f"{int(np.argmin(known)):,}): leaving them out would count only the rows that "
                "somebody chose to look at, which are not like the rest. Pass inclusion= with the "
                f"probability that each row was labelled, such as choose_labels(...).inclusion({n})"
                "; 1 for a row labelled for certain."
            )
        return np.ones(n)
    _refuse_partial_choice(inclusion, n)
    if getattr(inclusion, "in_rounds_by_lot", False):  # no one probability, but weights
        spoken = np.full(n, np.nan)
        spoken[inclusion.rows] = inclusion.weights()
        _refuse_chances(np.where(np.isnan(spoken), np.nan, 0.5), known)
        chosen = ~np.isnan(spoken)
        if (chosen & ~known).any():
            row = int(np.argmax(chosen & ~known))
            raise DataError(
                f"Row {row:,} was chosen and has no label: an answer that did not come back cannot "
                "be left out. Get it first."
            )
        return np.asarray(spoken, np.float64)
    chance = read_inclusion(inclusion, n)
    assert chance is not None
    _refuse_chances(chance, known)
    _refuse_rules(chance, known)
    return np.asarray(np.divide(1.0, chance, out=np.full(n, np.nan), where=chance > 0))


def _refuse_partial_choice(inclusion: Any, n: int) -> None:
    """Refuse a choice that was made among some of the rows only."""
    candidates = getattr(inclusion, "candidates", n)
    if isinstance(candidates, int) and candidates < n:
        raise DataError(
            f"The choice was made among {candidates:,} of the {n:,} rows, so that the labels drawn "
            f"speak for no more than these. Pass inclusion=choice.inclusion({n}) with 1 put in "
            "for rows that had a label anyway, or leave out the rows that could not be chosen."
        )


def _refuse_rules(chance: Array, known: NDArray[np.bool_]) -> None:
    """Refuse labels that were all certain beside rows without one; warn of sums that are odd."""
    n, n_known = len(known), int(known.sum())
    if n_known in (0, n):
        return
    at = chance[known]
    if (at == 1).all():
        raise DataError(
            f"All {n_known:,} labels were certain (inclusion 1), so none of them speaks for the "
            f"{n - n_known:,} rows without one: labels chosen by rule, such as policy='tail' or "
            "'uncertainty', cannot be counted for others. Draw some by lot with "
            "choose_labels(..., policy='random') or explore=, or keep only the rows that had to "
            "be labelled."
        )
    adds_up = float((1 / at).sum())
    error = float(np.sqrt(((1 - at) / at**2).sum()))
    if abs(adds_up - n) > max(ODD * error, 0.1 * n):
        warn_user(
            f"The labels speak for {adds_up:,.0f} rows (sum of 1 / inclusion), and there are "
            f"{n:,}: some rows could not be labelled, or the probabilities are not those of the "
            "draw. Compare inclusion= with how labels came about."
        )


def _refuse_chances(chance: Array, known: NDArray[np.bool_]) -> None:
    for strange, what in (
        (
            known & ~(chance > 0),
            "is labelled, but inclusion is {:g} there: give the probability with which it had been "
            "going to be labelled, 1 if for certain",
        ),
        (
            ~known & (chance == 1),
            "was to be labelled for certain (inclusion {:g}) and has no label: an answer that did "
            "not come back cannot be left out. Get it, or give the probability that one comes",
        ),
        (
            ~known & (chance == 0),
            "could never have been labelled (inclusion {:g}), so no label speaks for it: leave "
            "such rows out and say so, or give NaN if it was merely not drawn",
        ),
    ):
        if strange.any():
            row = int(np.argmax(strange))
            raise DataError(f"Row {row:,} {what.format(chance[row])}.")


def read_groups(groups: Any, n: int, rows: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Return the number of the group of each labelled row, from 0 on; or refuse what is none.

    Examples
    --------
    >>> read_groups(["b", "a", "b", "c"], 4, np.array([0, 1, 2]))
    array([1, 0, 1])
    """
    if groups is None:
        return None
    held = name_column(groups, "groups")
    refuse_rows(len(held), n, "groups")
    found = np.empty(n, dtype=np.intp)
    if held.dtype.kind in "biufUSMm":
        missing = held != held
        found[:] = np.unique(held, return_inverse=True)[1]
    else:
        at: dict[Any, int] = {}
        listed = held.tolist()
        try:
            missing = np.array([is_missing(one) for one in listed], dtype=bool)
            found[:] = [at.setdefault(one, len(at)) for one in listed]
            if len({type(one) for one in at}) == 1:  # in their own order, not that of the rows
                found = np.argsort(sorted(range(len(at)), key=list(at).__getitem__))[found]
        except (TypeError, ValueError):
            raise DataError("groups holds lists or tables: give one value per row.") from None
    if missing.any():
        raise DataError(
            f"groups has no value at row {int(np.argmax(missing)):,}: every row belongs to some "
            "group; give rows that stand alone a name of their own."
        )
    _, found = np.unique(found[rows], return_inverse=True)
    if found.max() == 0:
        raise DataError(
            f"All {in_rows(len(rows))} with a label are in one group: how groups differ cannot be "
            "seen, and no interval exists. Give rows of more groups, or leave out groups=."
        )
    return np.asarray(found, dtype=np.intp)


def refuse_rows(found: int, n: int, argument: str) -> None:
    """Refuse columns of different lengths."""
    if found != n:
        raise UsageError(
            f"y_true has {n:,} rows and {argument} {found:,}: give one value for each row."
        )
