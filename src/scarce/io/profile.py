"""What did the columns look like in training, and does a new table look the same?

    profile = range, quantiles, share missing and frequent values of each column     (one fold)

Ranges and missing values are counted over all rows. Quantiles and frequent values come from a
sample of rows: those whose hash is smallest, so that the sample depends on what the rows hold and
neither on their order nor on who ran the blocks (equal rows of one block are told apart by a
running number). A fit looks for values that seem to stand for "missing", and for a column that
alone tells the two classes apart. A comparison asks whether the new rows could have come from the
same source: a remark has a probability of about 1e-6 if they did, whatever the distribution,
because only ranks and counts enter (m new values beyond n old ones: a beta-binomial count; more of
one value: Fisher's exact probability; all of one value: Laplace's rule of succession).

Assumes rows that are independent of each other. Does not look for drift inside the range of
training, nor for columns that matter only together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import betaln, gammaln, logsumexp

from scarce.engine.block import Array, Block, TableLike
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import Argument, DataError, Phrase, Problem, UsageError, listed
from scarce.io.schema import Column, Schema
from scarce.results import short

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


SAMPLE_ROWS = 2048  # rows kept of each class: quantiles to about 1 %
SAMPLE_CELLS = 2**20  # and no more cells than this: wide tables keep fewer rows
FEWEST_SAMPLED = 512
LEVELS = np.array([0.0, 0.01, *np.arange(1, 20) / 20, 0.99, 1.0])
FREQUENT = 0.02  # share of the known values from which a value is kept as a frequent one
MOST_COUNTED = 50  # distinct values up to which a column may be a set of codes
WIDE = 64  # rows side by side where minima are taken: short rows are slow to reduce

CHANCE = 1e-6  # probability, per column and kind of remark, of a remark without a cause
OUTSIDE = 0.1  # share of the new values outside the range of training
NEW_VALUE = 0.1  # share of a value that training hardly had
NEW_CODE = 0.05  # the same for numbers that usually stand for "missing"
FEWEST_ROWS = 20  # for a remark on missing values: small batches may well lack some
FEWEST_EQUAL = 100  # for a remark on a constant column: a batch may well be of one day, one shop
NARROW = 50.0  # times less variation than in training

CODE_SHARE = 0.01  # share of a value that seems to stand for "missing" in training
MOST_TERMS = 10_000  # of a tail: beyond, each is far smaller than the first where it matters
MOST_REMARKS = 10  # of one kind in a report
CODE_COUNT = 5  # and its number of rows in the sample
LEAK_AUC = 0.995
FEW_NAMES = 20  # levels of a category; more may be names of patients or cards
UNITS = (
    "If it names units with several rows each, such as patients or cards, pass {groups}: without "
    "that their rows are in training and in test rows."
)
LEAK_SIZE = 30.0  # events * others / (events + others) of the rows that must show it

AXES = (  # names of the two coordinates of a place
    re.compile(r"(?:^|_|decimal)(?:lon|long|longitude|lng|eastings?|coords?[._]?x\d?)$", re.I),
    re.compile(r"(?:^|_|decimal)(?:lat|latitude|northings?|coords?[._]?y\d?)$", re.I),
)
CODES = re.compile(  # names of columns of codes
    r"(?:^|_)(?:class|code|codes|type|category|cat|zone|region|biome|ecoreg|ecoregion|habitat|veg"
    r"|vegetation|geology|lithology|clc|lulc|lc|land_?cover|land_?use|zip|postcode)(?:$|_|\d)",
    re.I,
)
FEW_CODES = 20  # different whole numbers of places that are likely to be codes

READ_SO = "If that means missing, read it so: {missing}."

_NINES = [float("9" * d) for d in range(2, 8)]
_EIGHTS = [float("8" * d) for d in range(3, 6)]
_TENTHS = [99.9, 99.99, 999.9, 999.99, 9999.9, 9999.99]
_ENDS = [2.0**15, 2.0**31, 2.0**63, 1e20, 1e30, float(np.finfo(np.float32).max)]
STAND_INS = frozenset(
    [-1.0, -9.0, -88.0]
    + [sign * v for v in (*_NINES, *_EIGHTS, *_TENTHS, *_ENDS) for sign in (1.0, -1.0)]
    + [2.0**15 - 1, 2.0**31 - 1]
)


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """What the columns of the training rows looked like.

    Parameters
    ----------
    rows : int
        Rows with weight above 0.
    sampled : int
        Rows that quantiles and frequent values were taken from.
    low, high : ndarray of shape (k,)
        Smallest and largest known value, NaN where a column has none.
    missing : ndarray of shape (k,)
        Share of the rows without a value.
    quantiles : ndarray of shape (k, 23)
        At 0, 1 %, 5 %, 10 %, ... 95 %, 99 % and 100 % of the known values.
    distinct : ndarray of shape (k,)
        Number of different values in the sample.
    whole : ndarray of shape (k,)
        Whether all of them are whole numbers; False for columns with more than 50.
    values, shares : ndarray of shape (m,)
        The frequent values of all columns, one column after the other, and their share of the known
        values, 2 % and more.
    ends : ndarray of shape (k,)
        Where the frequent values of each column end in `values`.
    remarks : tuple of str
        What a reader of the fit should know.

    Examples
    --------
    >>> from scarce import open_rows
    >>> profile = profile_rows(open_rows(np.array([[1.0], [2.0], [2.0], [np.nan]])))
    >>> profile.low, profile.high, profile.missing
    (array([1.]), array([2.]), array([0.25]))
    >>> profile.frequent(0)
    (array([1., 2.]), array([0.333..., 0.666...]))
    """

    rows: int
    sampled: int
    low: Any
    high: Any
    missing: Any
    quantiles: Any
    distinct: Any
    whole: Any
    values: Any
    shares: Any
    ends: Any
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        k, m = np.shape(self.low), np.shape(self.values)
        shapes = {
            **dict.fromkeys(("low", "high", "missing", "distinct", "whole", "ends"), k),
            **dict.fromkeys(("values", "shares"), m),
            "quantiles": (*k, len(LEVELS)),
        }
        parts = {name: getattr(self, name) for name in shapes}
        sound = len(k) == len(m) == 1 and all(
            isinstance(part, np.ndarray)
            and part.dtype.kind in "biuf"
            and part.shape == shapes[name]
            for name, part in parts.items()
        )
        sound = (
            sound
            and self.ends.dtype.kind in "iu"
            and bool((np.diff(self.ends, prepend=0, append=m[0]) >= 0).all())
            and all(bool(((part >= 0) & (part <= 1)).all()) for part in (self.missing, self.shares))
            and min(self.rows, self.sampled) >= 0
        )
        if not sound:
            raise DataError(
                "The profile of the columns is damaged.",
                code="damaged-model",
                remedy="Fit the model again.",
            )

    def __len__(self) -> int:
        return len(self.low)

    def frequent(self, column: int) -> tuple[Array, Array]:
        """Return the frequent values of a column in order, and their shares of the known ones."""
        part = slice(0 if column == 0 else int(self.ends[column - 1]), int(self.ends[column]))
        return self.values[part], self.shares[part]

    def share_of(self, column: int, value: float) -> float:
        """Return the share of a frequent value; 0 for all others."""
        values, shares = self.frequent(column)
        return float(shares[values == value].sum())

    def share_within(self, column: int, low: float, high: float) -> float:
        """Return an upper bound of the share of known values in [low, high]."""
        if low == high:
            return self.share_of(column, low) or FREQUENT
        held = self.quantiles[column]
        after = LEVELS[min(int(np.searchsorted(held, high, side="right")), len(LEVELS) - 1)]
        before = LEVELS[max(int(np.searchsorted(held, low, side="left")) - 1, 0)]
        return float(after - before)


@dataclass(frozen=True, slots=True)
class ColumnRemark:
    """One line about one column.

    Parameters
    ----------
    column : str
    kind : str
        "missing", "constant", "new value", "outside", "narrow" or "more missing".
    text : str
        The line.
    """

    column: str
    kind: str
    text: Problem

    def __str__(self) -> str:
        return self.text


# --- the fold -------------------------------------------------------------------------------------


@dataclass
class Sketch:
    """What a block gives: counts and ends of all rows, and the rows of smallest hash per class."""

    counts: NDArray[np.int64]
    missing: NDArray[np.int64]
    low: Array
    high: Array
    hashes: list[NDArray[np.uint64]]
    kept: list[Array]
    most: int

    def merged(self, other: Sketch) -> Sketch:
        """Return the sketch of both sets of rows."""
        hashes, kept = [], []
        for one, two, mine, others in zip(
            self.hashes, other.hashes, self.kept, other.kept, strict=True
        ):
            hashed, rows = np.concatenate([one, two]), np.concatenate([mine, others])
            if len(hashed) > self.most:
                first = np.argpartition(hashed, self.most)[: self.most]
                hashed, rows = hashed[first], rows[first]
            hashes.append(hashed)
            kept.append(rows)
        return Sketch(
            self.counts + other.counts,
            self.missing + other.missing,
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
            hashes,
            kept,
            self.most,
        )

    def sample(self) -> Array:
        """Return rows of all classes at one rate: those below the smallest of the thresholds."""
        full = [
            hashes.max()
            for hashes, count in zip(self.hashes, self.counts, strict=True)
            if count > len(hashes)
        ]
        if not full:
            return np.concatenate(self.kept) if len(self.kept) > 1 else self.kept[0]
        least = min(full)
        return np.concatenate(
            [rows[hashes <= least] for hashes, rows in zip(self.hashes, self.kept, strict=True)]
        )


def sample_size(n_columns: int) -> int:
    """Return how many rows of a class are kept."""
    return min(SAMPLE_ROWS, max(FEWEST_SAMPLED, SAMPLE_CELLS // max(1, n_columns)))


def sketch(block: Block, params: tuple[int, bool]) -> Sketch:
    """Kernel: the sketch of a block; `params` are the number of classes and if all rows are kept.

    Two classes are kept apart, with the rows that have no label as a third group, so that rare
    events are all there; more classes are one group.
    """
    n_classes, whole = params
    if issparse(block.matrix):
        pieces = list(block.pieces())
        if len(pieces) > 1:
            return reduce(_merge, (sketch(piece, params) for piece in pieces))
    X, y = block.X, block.y
    if block.weight is not None and not block.weight.all():
        counts = block.weight > 0
        X, y = X[counts], None if y is None else y[counts]
    n, k = X.shape
    most = sample_size(k)
    hashed = np.zeros(n, dtype=np.uint64) if whole else row_hashes(X)
    if n_classes == 2 and y is not None:
        groups = [np.flatnonzero(group) for group in (y == 0, y == 1, y != y)]
    else:
        groups = [np.arange(n), *([np.arange(0)] * (2 if n_classes == 2 else 0))]
    kept = []
    for rows in groups:
        if not whole and len(rows) > most:
            rows = rows[np.argpartition(hashed[rows], most)[:most]]
        kept.append(rows)
    low, high = _ends(X)
    with np.errstate(over="ignore", invalid="ignore"):
        complete = not np.isnan(X.sum())
    return Sketch(
        np.array([len(rows) for rows in groups]),
        np.zeros(k, dtype=np.int64) if complete else np.isnan(X).sum(axis=0),
        low,
        high,
        [hashed[rows] for rows in kept],
        [X[rows] for rows in kept],
        most,
    )


def _merge(total: Sketch, more: Sketch) -> Sketch:
    return total.merged(more)


def _ends(X: Array) -> tuple[Array, Array]:
    """Return the smallest and the largest known value of each column."""
    n, k = X.shape
    low, high = np.full(k, np.nan), np.full(k, np.nan)
    even = n - n % WIDE
    parts = [X[even:]]
    if even:
        parts.append(X[:even].reshape(-1, WIDE * k))
    for part in parts:
        if len(part):
            least, most = np.fmin.reduce(part, axis=0), np.fmax.reduce(part, axis=0)
            low = np.fmin(low, np.fmin.reduce(least.reshape(-1, k), axis=0))
            high = np.fmax(high, np.fmax.reduce(most.reshape(-1, k), axis=0))
    return low, high


def row_hashes(X: Array) -> NDArray[np.uint64]:
    """Return a hash of each row's values, with a running number among equal rows.

    Examples
    --------
    >>> hashes = row_hashes(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    >>> one, two, again = (int(value) for value in hashes)
    >>> one != two, one != again, one == row_hashes(np.array([[1.0, 2.0]])).item()
    (True, True, True)
    """
    odd = _mixed(np.arange(1, X.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    bits = np.ascontiguousarray(X).view(np.uint64)
    hashed = _mixed(np.einsum("ij,j->i", bits, odd))
    order = np.sort(hashed)
    if (order[1:] == order[:-1]).any():
        place = np.argsort(hashed, kind="stable")
        order = hashed[place]
        first = np.flatnonzero(np.append(True, order[1:] != order[:-1]))
        number = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
        hashed[place] = np.where(
            number == 0, order, _mixed(order + number.astype(np.uint64) * odd[0])
        )
    return hashed


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 64 well-mixed bits for each value (the finaliser of splitmix64)."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


# --- the profile ----------------------------------------------------------------------------------


def profile_rows(rows: Rows, *, engine: Engine = None) -> ColumnProfile:
    """Return what the columns of rows look like, in one fold; see `ColumnProfile`.

    With labels of two classes, `remarks` names columns that alone tell them apart.
    """
    whole = len(rows) <= sample_size(rows.n_columns)
    params = (len(rows.classes), whole)
    found: Sketch = rows.fold(sketch, params, merge=_merge, engine=engine)
    return profile_of(found, rows.schema.columns)


def profile_of(found: Sketch, columns: Sequence[Column]) -> ColumnProfile:
    """Return the profile of sketched rows, with the remarks of a fit."""
    total, k = int(found.counts.sum()), len(found.low)
    ordered = np.sort(np.ascontiguousarray(found.sample().T), axis=1)
    size = ordered.shape[1]
    seen = size - np.isnan(ordered).sum(axis=1) if found.missing.any() else np.full(k, size)
    at = np.rint(LEVELS * np.maximum(seen - 1, 0)[:, None]).astype(np.intp)
    quantiles = np.full((k, len(LEVELS)), np.nan)
    if size:
        quantiles = np.take_along_axis(ordered, at, axis=1)
    quantiles[:, 0], quantiles[:, -1] = found.low, found.high
    column, values, counts = _runs(ordered, seen)
    distinct = np.bincount(column, minlength=k)
    whole = (distinct <= MOST_COUNTED) & (distinct > 0)
    if whole.any():
        few = np.flatnonzero(whole[column])
        whole[column[few][values[few] != np.floor(values[few])]] = False
    shares = counts / np.maximum(seen, 1)[column]
    often = shares >= FREQUENT
    with np.errstate(over="ignore", invalid="ignore"):  # widths of columns as large as 1e308
        coded = _stand_ins(columns, column, values, counts, shares)
        remarks = _first(coded, "have such a value")
        remarks += _first(_leaks(found, columns), "nearly decide the label alone")
    return ColumnProfile(
        rows=total,
        sampled=size,
        low=found.low,
        high=found.high,
        missing=found.missing / max(total, 1),
        quantiles=quantiles,
        distinct=distinct,
        whole=whole,
        values=values[often],
        shares=shares[often],
        ends=np.cumsum(np.bincount(column[often], minlength=k)),
        remarks=tuple(remarks),
    )


def _first(remarks: list[Problem], what: str) -> list[Problem]:
    """Return the first few of many remarks, and how many more there are."""
    if len(remarks) <= MOST_REMARKS:
        return remarks
    more = len(remarks) - MOST_REMARKS
    many = Problem("{count:,} more columns {what}.", code="more-columns", count=more, what=what)
    return [*remarks[:MOST_REMARKS], many]


def _runs(ordered: Array, seen: NDArray[Any]) -> tuple[NDArray[np.intp], Array, NDArray[np.intp]]:
    """Return column, value and count of each different value of sorted columns (k, size)."""
    k, size = ordered.shape
    new = np.ones((k, size), dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=new[:, 1:])
    if (seen < size).any():
        new &= np.arange(size) < seen[:, None]
    starts = np.flatnonzero(new)
    column = starts // max(size, 1)
    ends = np.minimum(np.append(starts[1:], k * size), column * size + seen[column])
    return column, ordered.ravel()[starts], ends - starts


# --- remarks of a fit -----------------------------------------------------------------------------


def _stand_ins(
    columns: Sequence[Column],
    column: NDArray[np.intp],
    values: Array,
    counts: NDArray[np.intp],
    shares: Array,
) -> list[Problem]:
    """Name values that occur often and lie outside the rest: they may stand for "missing"."""
    often = (shares >= CODE_SHARE) & (counts >= CODE_COUNT)
    begins = np.searchsorted(column, np.arange(len(columns) + 1))
    remarks = []
    for j, about in enumerate(columns):
        first, last = int(begins[j]), int(begins[j + 1])
        if about.kind != "number" or last - first < 4 or not (often[first] or often[last - 1]):
            continue
        found, rest = _outside_the_rest(values[first:last], shares[first:last], often[first:last])
        for value in found:
            share = float(shares[first:last][values[first:last] == value][0])
            remarks.append(
                Problem(
                    "Column {column!r}: {share} of its values are {value}, far from all others "
                    "({low} to {high}), and are taken for measurements.",
                    code="stand-in-value",
                    column=about.name,
                    share=_percent(share),
                    value=_plain(value),
                    low=short(rest[0]),
                    high=short(rest[1]),
                    missing=_missing_argument(value),
                    remedy=READ_SO,
                )
            )
    return remarks


def _outside_the_rest(
    values: Array, shares: Array, often: NDArray[np.bool_]
) -> tuple[list[float], tuple[float, float]]:
    """Return the frequent values at the ends that lie outside the rest, and the rest's ends.

    Numbers that usually stand for "missing" (-999 and the like) must be farther from the rest than
    the rest is wide, or be the only negative ones and far more frequent than their neighbours;
    other numbers, ten times as far.
    """
    low, high = 0, len(values) - 1
    while low < high and often[low] and values[low] in STAND_INS:
        low += 1
    while high > low and often[high] and values[high] in STAND_INS:
        high -= 1
    for a, b in ((low, high), (1, len(values) - 1), (0, len(values) - 2)):
        rest = values[a : b + 1]
        width = float(rest[-1] - rest[0])
        found = []
        for at in (*range(a), *range(b + 1, len(values))):
            value = float(values[at])
            gap = float(rest[0] - value) if at < a else value - float(rest[-1])
            usual = value in STAND_INS
            far = often[at] and (
                (usual and len(rest) >= 3 and gap > width) or (len(rest) >= 10 and gap > 10 * width)
            )
            sign = usual and often[at] and value < 0 <= rest[0] and len(rest) >= 10
            near = shares[a : a + 5].mean()
            if far or (sign and shares[at] >= max(FREQUENT, 5 * near)):
                found.append(value)
        if found:
            return found, (float(rest[0]), float(rest[-1]))
    return [], (np.nan, np.nan)


def _leaks(found: Sketch, columns: Sequence[Column]) -> list[Problem]:
    """Name columns that alone tell two classes apart, where enough rows show it."""
    if len(found.counts) < 2 or len(columns) == 0:
        return []
    others, events = found.kept[0], found.kept[1]
    if _size(len(events), len(others)) < LEAK_SIZE:
        return []
    remarks = []
    for j in _suspects(events, others, columns):
        auc, how = _alone(events[:, j], others[:, j], columns[j])
        if auc >= LEAK_AUC:
            name = columns[j].name
            left_out = columns[j].source or name
            remarks.append(
                Problem(
                    "Column {column!r} alone nearly decides the label: {how} (AUC {auc:.4f}).",
                    code="leak",
                    column=name,
                    how=how,
                    auc=auc,
                    drop=Argument("drop", [left_out]),
                    groups=Phrase("its values to fit(..., groups=...)", f"--groups {left_out}"),
                    remedy=UNITS
                    if len(columns[j].levels) > FEW_NAMES
                    else "If its value is known only after the outcome, the model is of no use "
                    "on new rows: leave it out with {drop}.",
                )
            )
    return remarks


def _size(one: int, other: int) -> float:
    return one * other / max(one + other, 1)


def _suspects(events: Array, others: Array, columns: Sequence[Column]) -> list[int]:
    """Return the columns that can reach LEAK_AUC at all.

    An AUC of 0.995 needs the 5 % quantile of one class above the 90 % quantile of the other
    (0.05 * 0.1 of the pairs would be the wrong way round); or one value, or missing ones, on one
    side alone.
    """
    ends = []
    for part in (events, others):
        if np.isnan(part).any():
            inner = np.nanquantile(
                np.where(np.isnan(part).all(axis=0), 0.0, part),
                [0.05, 0.1, 0.9, 0.95],
                axis=0,
                method="nearest",
            )
        else:
            ordered = np.sort(np.ascontiguousarray(part.T), axis=1)
            at = np.rint(np.array([0.05, 0.1, 0.9, 0.95]) * (len(part) - 1)).astype(np.intp)
            inner = ordered[:, at].T
        ends.append(inner)
    (e05, e10, e90, e95), (o05, o10, o90, o95) = ends
    apart = (e05 >= o90) | (e95 <= o10) | (o05 >= e90) | (o95 <= e10) | (e05 == e95)
    lost = np.isnan(events).mean(axis=0) - np.isnan(others).mean(axis=0)
    category = np.array([column.kind == "category" for column in columns])
    return np.flatnonzero(apart | (np.abs(lost) > 0.9) | category).tolist()


def _alone(events: Array, others: Array, column: Column) -> tuple[float, str]:
    """Return how well a column alone ranks events above others, and by what."""
    lost = (float(np.isnan(events).mean()), float(np.isnan(others).mean()))
    best = 0.5 + 0.5 * abs(lost[0] - lost[1])
    how = (
        f"it is missing in {_percent(lost[0])} of the events and in {_percent(lost[1])} of the "
        "others"
    )
    e, o = events[events == events], others[others == others]
    if _size(len(e), len(o)) < LEAK_SIZE or max(lost) > 0.5:
        return best, how
    if column.kind == "category":
        e, o = _by_rate(e, o)
    auc = _auc(e, o)
    if max(auc, 1 - auc) > best:
        best, how = max(auc, 1 - auc), "it ranks nearly every event on one side of the others"
    middle = np.partition(e, len(e) // 2)[len(e) // 2]
    held = (float(np.mean(e == middle)), float(np.mean(o == middle)))
    one = 0.5 + 0.5 * (held[0] - held[1])
    if column.kind == "category":
        how = "its levels are of one class each" if best == max(auc, 1 - auc) else how
    elif one >= best:
        best = one
        how = f"{_plain(middle)} in {_percent(held[0])} of the events and {_percent(held[1])} of "
        how += "the others"
    return best, how


def _by_rate(events: Array, others: Array) -> tuple[Array, Array]:
    """Put the share of events in each level in its place; levels below 10 rows are one level."""
    levels, codes = np.unique(np.concatenate([events, others]), return_inverse=True)
    is_event = np.arange(len(codes)) < len(events)
    codes = np.where(np.bincount(codes, minlength=len(levels))[codes] < 10, len(levels), codes)
    total = np.bincount(codes, minlength=len(levels) + 1)
    rate = np.bincount(codes, weights=is_event, minlength=len(levels) + 1) / np.maximum(total, 1)
    return rate[codes[is_event]], rate[codes[~is_event]]


def _auc(events: Array, others: Array) -> float:
    """Return how often an event has the larger value, half of it for equal ones."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, events, side="left")
    not_above = np.searchsorted(ordered, events, side="right")
    return float((below + not_above).sum() / (2.0 * len(events) * len(others)))


# --- columns that may not be measurements ---------------------------------------------------------


def doubtful_columns(
    profile: ColumnProfile, columns: Sequence[Column], *, places: bool
) -> list[str]:
    """Say which columns may be coordinates, or codes, rather than measurements.

    Parameters
    ----------
    profile : ColumnProfile
    columns : sequence of Column
        Names and kinds.
    places : bool
        Whether rows are places, as with sightings: x and y are coordinates then, and a few whole
        numbers are likely to be codes. Otherwise the names must say so.

    Examples
    --------
    >>> from scarce import open_rows
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=(100, 2)), rng.integers(1, 5, 100)])
    >>> named = [Column("lon"), Column("lat"), Column("soil")]
    >>> for line in doubtful_columns(profile_rows(open_rows(X)), named, places=True):
    ...     print(line)
    Columns 'lon' and 'lat' look like coordinates and become predictors: ... drop=['lon', 'lat'].
    The few whole numbers of 'soil' are taken for amounts. If ... pass categorical=['soil'].
    """
    numbers = [(j, column.name) for j, column in enumerate(columns) if column.kind == "number"]
    found = [[name for _, name in numbers if axis.search(name)] for axis in AXES]
    if places and not all(found):
        bare = {name.lower(): name for j, name in numbers if profile.distinct[j] > MOST_COUNTED}
        found = [[bare[axis]] if axis in bare else [] for axis in ("x", "y")]
    remarks: list[str] = []
    if all(found):
        names = [name for part in found for name in part]
        remarks.append(
            Problem(
                "Columns {names} look like coordinates and become predictors: the model then knows "
                "these places, and no others.",
                code="coordinates",
                names=listed([repr(name) for name in names], most=8),
                drop=Argument("drop", names),
                remedy="To leave them out, pass {drop}.",
            )
        )
    codes = [
        name
        for j, name in numbers
        if profile.whole[j]
        and profile.low[j] >= 0
        and profile.distinct[j] >= 3
        and (CODES.search(name) or (places and profile.distinct[j] <= FEW_CODES))
    ]
    if codes:
        remarks.append(
            Problem(
                "The few whole numbers of {names} are taken for amounts.",
                code="codes-as-numbers",
                names=listed([repr(name) for name in codes], most=8),
                categorical=Argument("categorical", codes),
                remedy="If they are codes, such as land cover classes, pass {categorical}.",
            )
        )
    return remarks


# --- comparison -----------------------------------------------------------------------------------


def compare_profiles(
    trained: ColumnProfile, new: ColumnProfile, columns: Sequence[Column]
) -> list[ColumnRemark]:
    """Return one remark for each column in which new rows are not like those of training.

    Parameters
    ----------
    trained, new : ColumnProfile
        Of the training rows and of the new ones.
    columns : sequence of Column
        Names and kinds. One-hot columns of one category count as that category.

    Examples
    --------
    >>> from scarce import open_rows
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> trained, new = (profile_rows(open_rows(part)) for part in (X, X * [1.0, 1000.0]))
    >>> [remark.column for remark in compare_profiles(trained, new, [Column("a"), Column("b")])]
    ['b']
    """
    if not len(trained) == len(new) == len(columns):
        raise DataError(
            "The profile of training has {expected} columns and the new rows have {count}.",
            code="column-mismatch",
            expected=len(trained),
            count=len(new),
            remedy="Give the columns that the model was fitted on.",
        )
    if new.rows == 0 or trained.rows == 0:
        return []
    with np.errstate(over="ignore", invalid="ignore"):
        return _compared(trained, new, columns)


class ColumnWatch:
    """Compares rows that come in parts with those of training.

    Parameters
    ----------
    trained : ColumnProfile
    columns : sequence of Column

    Examples
    --------
    >>> from scarce import open_rows
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> watch = ColumnWatch(profile_rows(open_rows(X)), [Column("a")])
    >>> for first in range(0, 500, 100):
    ...     watch.add(X[first : first + 100] * 1000)
    >>> [remark.kind for remark in watch.remarks()]
    ['outside']
    """

    def __init__(self, trained: ColumnProfile, columns: Sequence[Column]) -> None:
        self.trained, self.columns = trained, columns
        self.found: Sketch | None = None

    def add(self, X: Array) -> None:
        """Take note of more rows."""
        more = sketch(Block(X), (0, False))
        self.found = more if self.found is None else self.found.merged(more)

    def remarks(self) -> list[ColumnRemark]:
        """Return what stands out in all rows so far."""
        if self.found is None:
            return []
        return compare_profiles(self.trained, profile_of(self.found, self.columns), self.columns)


def _compared(
    trained: ColumnProfile, new: ColumnProfile, columns: Sequence[Column]
) -> list[ColumnRemark]:
    remarks: list[ColumnRemark] = []
    told: set[str] = set()
    for j, column in enumerate(columns):
        name = column.name if column.source is None else column.source
        if name in told:
            continue
        found = _missing(trained, new, j, name)
        if found is None and column.kind == "indicator":
            found = _one_level(trained, new, j, columns)
        elif found is None:
            found = _values_of(trained, new, j, column)
        if found is not None:
            told.add(name)
            remarks.append(found)
    return remarks


def _missing(trained: ColumnProfile, new: ColumnProfile, j: int, name: str) -> ColumnRemark | None:
    """Remark on missing values: all of them, or many more than in training."""
    before, now, n, m = float(trained.missing[j]), float(new.missing[j]), trained.rows, new.rows
    if m < FEWEST_ROWS or now <= before:
        return None
    if _chance_more(round(before * n), n, round(now * m), m) > CHANCE:
        return None
    if now == 1.0:
        return _remark(
            name,
            "missing",
            "all {rows:,} values are missing ({before} in training).",
            rows=m,
            before=_percent(before),
        )
    if now < 2 * before + 0.05 and 1 - now > (1 - before) / 2:
        return None
    return _remark(
        name,
        "more missing",
        "{now} of the values are missing, and {before} in training.",
        now=_percent(now),
        before=_percent(before),
    )


def _one_level(
    trained: ColumnProfile, new: ColumnProfile, j: int, columns: Sequence[Column]
) -> ColumnRemark | None:
    """Remark on a category, held as one-hot columns, of which all rows have one level."""
    source = columns[j].source
    own = [at for at, column in enumerate(columns) if column.source == source]
    if j != own[0] or (new.low[own] != new.high[own]).any():
        return None
    level: Any = columns[j].levels[0]
    share = 1.0 - sum(trained.share_of(at, 1.0) for at in own)
    for at in own:
        if new.low[at] == 1.0:
            level, share = columns[at].levels[1], trained.share_of(at, 1.0) or FREQUENT
    if not _hardly_all(new, j, share, trained):
        return None
    return _remark(
        str(source),
        "constant",
        "all {rows:,} rows are {value} ({before} in training).",
        rows=new.rows,
        value=str(level),
        before=_percent(share),
    )


def _hardly_all(new: ColumnProfile, j: int, share: float, trained: ColumnProfile) -> bool:
    """Whether chance hardly puts all new values where training had this share."""
    m = round(new.sampled * (1.0 - float(new.missing[j])))
    if m < FEWEST_EQUAL:
        return False
    n = trained.sampled
    held = min(max(share, 0.0), 1.0) * n
    # Laplace's rule of succession: all of m more, after `held` of n
    chance = betaln(held + 1 + m, n - held + 1) - betaln(held + 1, n - held + 1)
    return bool(chance < np.log(CHANCE))


def _values_of(
    trained: ColumnProfile, new: ColumnProfile, j: int, column: Column
) -> ColumnRemark | None:
    """Remark on the known values of one column."""
    low, high = float(new.low[j]), float(new.high[j])
    if np.isnan(low) or np.isnan(trained.low[j]):
        return None
    name, measured = column.name, column.kind == "number"
    inside = trained.share_within(j, low, high)
    if low == high and trained.low[j] < trained.high[j] and _hardly_all(new, j, inside, trained):
        value = _plain(low) if measured else str(column.levels[int(low)])
        coded = low in STAND_INS and measured and not trained.low[j] <= low <= trained.high[j]
        return _remark(
            name,
            "constant",
            "all {rows:,} values are {value}{training}.",
            missing_value=low if coded else None,
            rows=new.rows,
            value=value,
            training=_training(trained, j, column),
        )
    if not measured:
        return None
    found = _new_value(trained, new, j, name) or _outside(trained, new, j, name)
    if found is not None:
        return found
    width = float(trained.quantiles[j, -3] - trained.quantiles[j, 2])
    if 0 < high - low < width / NARROW and _hardly_all(new, j, inside, trained):
        return _remark(
            name,
            "narrow",
            "the values vary {times} times less than in training (here {low} to {high}{training}). "
            "Check the units.",
            times=short(width / (high - low)),
            low=short(low),
            high=short(high),
            training=_training(trained, j, column),
        )
    return None


def _training(trained: ColumnProfile, j: int, column: Column) -> str:
    if column.kind != "number":
        return ", and several levels in training"
    return f"; in training {short(float(trained.low[j]))} to {short(float(trained.high[j]))}"


def _new_value(
    trained: ColumnProfile, new: ColumnProfile, j: int, name: str
) -> ColumnRemark | None:
    """Remark on a value that is frequent now and hardly was there in training."""
    low, high = float(trained.low[j]), float(trained.high[j])
    m = round(new.sampled * (1.0 - float(new.missing[j])))
    values, shares = new.frequent(j)
    for at in np.argsort(-shares, kind="stable"):
        value, share = float(values[at]), float(shares[at])
        usual, apart = value in STAND_INS, not low <= value <= high
        if trained.share_of(j, value) > 0 or (apart and not usual):
            continue  # as before; or one of the values outside the range, of which there are others
        if new.low[j] == new.high[j] and not apart:
            continue  # a small batch of one day, one shop
        if not usual and 2 * trained.distinct[j] < trained.sampled:
            continue  # one of a few values, which may well be more common elsewhere
        least = FREQUENT if apart else NEW_CODE if usual else NEW_VALUE
        count = round(share * m)
        # outside the range training had none; within it, up to FREQUENT of the sampled rows
        n = round((trained.rows if apart else trained.sampled) * (1.0 - trained.missing[j]))
        before = 0 if apart else int(FREQUENT * n)
        if share < least or _chance_more(before, n, count, m) > CHANCE:
            continue
        had = "none" if apart else f"less than {_percent(FREQUENT)}"
        return _remark(
            name,
            "new value",
            "{share} of the values are {value}, and {before} in training ({low} to {high}).",
            missing_value=value if usual else None,
            share=_percent(share),
            value=_plain(value),
            before=had,
            low=short(low),
            high=short(high),
        )
    return None


def _outside(trained: ColumnProfile, new: ColumnProfile, j: int, name: str) -> ColumnRemark | None:
    """Remark on values outside the range of training, more than chance puts there."""
    low, high = float(trained.low[j]), float(trained.high[j])
    now = new.quantiles[j]
    if new.low[j] >= low and new.high[j] <= high:
        return None
    m = round(new.sampled * (1.0 - float(new.missing[j])))
    n = round(trained.rows * (1.0 - float(trained.missing[j])))
    below, above = LEVELS[now < low], LEVELS[now > high]
    share = min(1.0, (below[-1] if len(below) else 0) + (1 - above[0] if len(above) else 0))
    count = int(share * m)  # at least: quantiles are a few per cent apart
    if share < OUTSIDE or count < 1 or _chance_outside(n, m, count) > CHANCE:
        return None
    most = "all" if share == 1.0 else f"{_percent(share)} or more of the"
    return _remark(
        name,
        "outside",
        "{most} values lie outside the range of training ({low} to {high}; here {least} to "
        "{greatest}). Check the units, or fit to rows of this kind.",
        most=most,
        low=short(low),
        high=short(high),
        least=short(float(new.low[j])),
        greatest=short(float(new.high[j])),
    )


def _remark(
    name: str, kind: str, text: str, *, missing_value: float | None = None, **fields: object
) -> ColumnRemark:
    """Return the remark on a column; a value that may mean missing is named with its remedy."""
    remedy: tuple[str, ...] = ()
    if missing_value is not None:
        remedy, fields["missing"] = (READ_SO,), _missing_argument(missing_value)
    code = f"column-{kind.replace(' ', '-')}"
    problem = Problem("Column {column!r}: " + text, code=code, remedy=remedy, column=name, **fields)
    return ColumnRemark(name, kind, problem)


def _chance_outside(n: int, m: int, count: int) -> float:
    """Return the probability that `count` or more of m new values lie outside the range of n.

    Of n + m values in random order, the number outside the range of the first n is beta-binomial:
    P(o outside) = (o + 1) C(n + m - o - 2, n - 2) / C(n + m, n), whatever the distribution.

    Examples
    --------
    >>> round(_chance_outside(99, 1, 1), 6)  # the new one of 100 values is the first or the last
    0.02
    """
    if n < 2:
        return 1.0
    o = np.arange(count, m + 1, dtype=np.float64)
    terms = np.log(o + 1) + _log_choose(n + m - o - 2, n - 2) - _log_choose(n + m, n)
    return float(min(1.0, np.exp(logsumexp(terms))))


def _chance_more(before: int, n: int, now: int, m: int) -> float:
    """Return Fisher's exact probability of `now` or more of m, where n had `before`.

    Examples
    --------
    >>> round(_chance_more(0, 30, 3, 10), 4)  # all three among the last 10 of 40
    0.0121
    """
    total = before + now
    x = np.arange(now, min(m, total, now + MOST_TERMS) + 1, dtype=np.float64)
    terms = _log_choose(total, x) + _log_choose(n + m - total, m - x) - _log_choose(n + m, m)
    return float(min(1.0, np.exp(logsumexp(terms))))


def _log_choose(n: Array | float, k: Array | float) -> Any:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def _percent(share: float) -> str:
    """Write a share: 40 %, 0.3 %, 100 % only where it is all of them."""
    if 0 < share < 0.001:
        return "less than 0.1 %"
    text = f"{100 * share:.2g}" if share < 0.1 else f"{100 * share:.3g}"
    return f"{min(float(text), 99.9) if share < 1 else 100:g} %"


def _plain(value: float) -> str:
    """Write a value as it is typed: -999, 99.9."""
    return f"{value:.0f}" if value == np.floor(value) and abs(value) < 1e15 else f"{value:.15g}"


def _missing_argument(value: float) -> Argument:
    whole = value == np.floor(value) and abs(value) < 1e15
    return Argument("missing", [int(value) if whole else value], call="open_rows")


def compare_columns(model: BaseEstimator, X: TableLike) -> list[ColumnRemark]:
    """Say which columns of new rows are not like those that the model was fitted on.

    One remark per column: all values missing or many more than in training, all one value, a value
    that training hardly had and that is frequent now (such as -999 for "missing"), values outside
    the range of training, or values that vary far less. Each has a probability of about one in a
    million for rows from the same source, so a plain test set gives none. Call it once per file or
    per day, not per request: below 20 rows (100 for "all one value") little can be said.

    Parameters
    ----------
    model : estimator of scarce
        Fitted; also one that wraps another, such as `PriorCorrected`.
    X : array-like of shape (n, k), or Rows
        New rows, as for `predict_proba`.

    Returns
    -------
    list of ColumnRemark
        With `column`, `kind` and `text`; empty where nothing stands out.

    Examples
    --------
    >>> import numpy as np
    >>> from scarce import RareClassifier, compare_columns
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2))
    >>> model = RareClassifier("logistic", ridge=1.0).fit(X, rng.random(1000) < 0.1)
    >>> new = rng.normal(size=(500, 2))
    >>> compare_columns(model, new)
    []
    >>> new[:100, 1] = -999
    >>> print(compare_columns(model, new)[0])
    Column 'x1': 20 % of the values are -999, and none in training (-3.77 to 3.07)...
    """
    from sklearn.utils.validation import check_is_fitted

    from scarce.io.inputs import rows_to_predict

    check_is_fitted(model)
    held = model
    while held is not None and not hasattr(held, "column_profile_"):
        held = getattr(held, "estimator_", None)
    if held is None:
        raise UsageError(
            "This {model} has no profile of the columns it was fitted on: it comes from "
            "partial_fit, from an estimator of another library, or from a file of an earlier "
            "version.",
            code="no-profile",
            model=type(model).__name__,
            remedy="Fit it again with fit().",
        )
    rows = rows_to_predict(held, X, engine=getattr(held, "engine", None))
    columns = columns_of(held)
    return compare_profiles(held.column_profile_, profile_rows(rows), columns)


def columns_of(model: BaseEstimator) -> tuple[Column, ...]:
    """Return names and kinds of the columns that a model was fitted on."""
    if hasattr(model, "schema_"):
        return Schema.from_dict(model.schema_).columns
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(model.n_features_in_)]
    return tuple(Column(str(name)) for name in names)
