"""Do some rows stand in a table more than once? Then intervals count the same evidence again.

    rows x 5: 90 % intervals hold the truth in .32 to .82 of draws

Equal probabilities alone are no copies: rounded ones, leaves of a tree, steps of an isotonic
calibration and tables of categories repeat values too. Rows with the same probability and label
count as copies where one of these holds, at odds of 1 in 10,000:

    every row with its label stands twice, or three times     a table that was repeated
    rows of equal probability have equal labels               and rows of similar probability do not
    values come twice, and hardly ever three times            by chance u3 >= 2 u2^2 / (3 u1)

u_k is the number of values that k rows have; the last is the inequality of Cauchy and Schwarz for
any mixture of Poisson counts. The last two look at probabilities of more than four digits that few
rows share. Assumes that copies have exactly the same probability. Copies within one group
are known already and do not count. Says how many there are; removes none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr

from scarce.bootstrap import Sample
from scarce.engine.block import Array
from scarce.errors import Phrase, Problem

DIGITS = 4  # of a probability that may be rounded
COMMON = 0.05  # values of so many of all rows are common ones
RARE = 1e-4
FEWEST_VALUES = 14  # all of an even number of rows: by chance in 1 of 16,000 tables
LEAST = 0.01  # of the rows; fewer copies change no figure
FEWEST = 5
NEAR = 4  # rows of similar probability on either side


def copies(prob: Array, place: NDArray[np.intp], sample: Sample | None = None) -> int:
    """Return how many rows repeat another row, 0 where equal values are no sign of it.

    Parameters
    ----------
    prob : ndarray of shape (n,) or (n, m)
        What was said of each row.
    place : ndarray of intp, shape (n,)
        What happened.
    sample : Sample, optional
        Its groups are taken as known, and rows that frequency weights count as told apart.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> prob = rng.random(100)
    >>> place = (rng.random(100) < prob).astype(int)
    >>> copies(prob, place), copies(np.repeat(prob, 2), np.repeat(place, 2))
    (0, 100)
    >>> copies(np.repeat(prob.round(1), 2), np.arange(200) % 2)
    0
    """
    group = None if sample is None else sample.group
    if sample is not None and (np.diff(sample.rows) == 0).any():  # counted by frequency weights
        kept = np.unique(sample.rows, return_index=True)[1]
        prob, place = prob[kept], place[kept]
        group = None if group is None else group[kept]
    first = prob if prob.ndim == 1 else prob[:, 0]
    word = _words(prob)
    if group is not None:
        kept = _once_in_a_group(word, place, group)
        first, word, place = first[kept], word[kept], place[kept]
    n = len(word)
    order = np.lexsort((place, word, first))
    starts = np.flatnonzero(np.append(True, np.diff(word[order]) != 0))
    size = np.diff(np.append(starts, n))
    if n - len(size) < max(FEWEST, LEAST * n):
        return 0
    label = place[order]
    if _repeated_table(label, starts, size):
        return int(n - len(_runs(label, starts)))
    long = (size > 1) & (size <= max(COMMON * n, 3)) & _long(first[order][starts])
    found = int((size[long] - 1).sum())
    if found < max(FEWEST, LEAST * n):
        return 0
    if _labels_agree(label, starts, size, long) or _never_three(size):
        return found
    return 0


def copy_remarks(
    prob: Array, place: NDArray[np.intp], sample: Sample, what: str = "probability"
) -> list[str]:
    """Return a remark on rows that stand more than once, or none; `what` names the values."""
    found = copies(prob, place, sample)
    if not found:
        return []
    return [
        Problem(
            "{count:,} of {rows:,} rows repeat the {what} and the label of another one, far more "
            "than chance would: if they are copies, or rows of the same person or card, every "
            "interval here is too narrow.",
            code="repeated-rows",
            count=found,
            rows=len(place),
            what=what,
            groups=Phrase("groups=", "--groups COLUMN"),
            remedy=["Say which rows belong together with {groups}.", "Or remove the copies."],
        )
    ]


def _words(prob: Array) -> NDArray[np.uint64]:
    """One word for each row of probabilities; -0.0 and 0.0 are one value."""
    if prob.ndim == 1:
        return np.ascontiguousarray(prob + 0.0).view(np.uint64)
    from scarce.engine.folds import mix_bits  # which opens tables, and is not needed for two

    word = np.zeros(len(prob), dtype=np.uint64)
    for column in (prob + 0.0).T:
        word = mix_bits(word * np.uint64(3) + np.ascontiguousarray(column).view(np.uint64))
    return word


def _once_in_a_group(
    word: NDArray[np.uint64], place: NDArray[np.intp], group: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Rows without those that repeat another one of their group."""
    order = np.lexsort((place, word, group))
    same = (np.diff(word[order]) == 0) & (np.diff(place[order]) == 0) & (np.diff(group[order]) == 0)
    return np.asarray(order[np.append(True, ~same)])


def _runs(label: NDArray[np.intp], starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where a new value, or a new label of the same value, begins."""
    new = np.append(True, np.diff(label) != 0)
    new[starts] = True
    return np.flatnonzero(new)


def _repeated_table(
    label: NDArray[np.intp], starts: NDArray[np.intp], size: NDArray[np.intp]
) -> bool:
    """Whether every row with its label stands twice, or three times, and so on."""
    runs = _runs(label, starts)
    often = np.diff(np.append(runs, len(label)))
    return len(size) >= FEWEST_VALUES and int(np.gcd.reduce(often)) > 1


def _long(value: Array) -> NDArray[np.bool_]:
    """Whether values have more digits than rounded ones."""
    with np.errstate(divide="ignore"):
        power = np.where(value != 0, np.floor(np.log10(np.abs(value))), 0.0)
    scaled = value * 10.0 ** np.minimum(DIGITS - 1 - power, 300.0)  # as far as numbers reach
    fine = np.abs(value * 10.0**DIGITS - np.rint(value * 10.0**DIGITS)) > 1e-6
    return np.asarray(fine & (np.abs(scaled - np.rint(scaled)) > 1e-6))


def _labels_agree(
    label: NDArray[np.intp],
    starts: NDArray[np.intp],
    size: NDArray[np.intp],
    long: NDArray[np.bool_],
) -> bool:
    """Whether labels of equal probability differ more rarely than those of similar probability."""
    n = len(label)
    mixed = np.maximum.reduceat(label, starts) != np.minimum.reduceat(label, starts)
    at, ends = starts[long], (starts + size)[long]
    near = [at - step for step in range(1, NEAR + 1)] + [ends + step for step in range(NEAR)]
    beside = np.stack(near)
    inside = (beside >= 0) & (beside < n)
    differs = (label[np.clip(beside, 0, n - 1)] != label[at]) & inside
    expected = float((differs.sum(axis=0) / np.maximum(inside.sum(axis=0), 1)).sum())
    return bool(pdtr(int(mixed[long].sum()), expected) < RARE)


def _never_three(size: NDArray[np.intp]) -> bool:
    """Whether values come twice so often that chance would bring more of them three times."""
    once, twice, thrice = (int((size == k).sum()) for k in (1, 2, 3))
    least = 2 * twice**2 / (3 * max(once, 1))
    return bool(pdtr(thrice, least) < RARE)
