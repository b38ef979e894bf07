"""Which rows belong together, and into which fold does each go?

    group(i) = group(k)   if rows i and k have the same given group, or k is a copy of i

A row that stands twice, once in the training part and once in the part that judges, makes any
flexible model look right: it has seen the answer. So copies stay in one fold, and so do rows of one
patient, card or place where `groups` names it.

Equal values alone do not make a copy: in a table of a few categories equal rows are independent
observations. They count as copies where the whole table is repeated, or where both of these hold:
equal rows are far more frequent than pairs of rows that differ in one column would suggest, and
their labels agree (see `_are_copies`). `RowGroups.remarks` says what was found.

Folds are dealt by the content of the rows and a seed. They do not depend on the order of rows or
columns, on units and shifts of columns, on the coding of categories or on added constant columns,
and are the same where a row stands twice or has weight 2. Assumes that 8-byte hashes of rows do not
collide. Does not find copies with changed digits.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from scarce.checks import is_missing
from scarce.engine.block import Array, Block, ColumnLike
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import Argument, DataError, Problem, UsageError

Ids = NDArray[np.intp]
Words = NDArray[np.uint64]

STEPS = 2.0**20  # values are told apart to a millionth of their standard deviation when ordering
SAMPLED_CELLS = 2_000_000  # of distinct rows that are searched for near copies
CHANCE = 10.0  # so many times the expected number of chance repeats is still called chance
DISAGREE = 0.4  # of the mixed labels that unrelated rows would have: above, they are no copies
COMMON = 0.05  # rows equal to so many of all rows share a common value, and are no copies
FEWEST_REPEATS = 3
TIED = 100  # groups in random order by which equally rare classes are told apart
_MISSING = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class RowGroups:
    """Rows that must not be separated.

    Parameters
    ----------
    group : ndarray of int, shape (n,)
        Group of each row, from 0; -1 for rows that do not count.
    order : ndarray of int, shape (n_groups,)
        The groups in random order, a function of their content and the seed.
    copies : int
        Rows that repeat an earlier row and stand in its group.
    given : bool
        Whether `groups` were given.
    """

    group: Ids
    order: Ids
    copies: int
    given: bool

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.order)

    @property
    def together(self) -> bool:
        """Whether any group has more than one row."""
        return self.n_groups < int(np.count_nonzero(self.group >= 0))

    def fewest(self, codes: Ids) -> int:
        """Return in how many groups the rarest class stands: there can be no more folds."""
        used = self.group >= 0
        return int(np.unique(_pairs(self.group[used], codes[used])[1], return_counts=True)[1].min())

    def alone(self, codes: Ids) -> list[int]:
        """Return the classes that stand in one group only: no part of them can be left out."""
        used = self.group >= 0
        labels, count = np.unique(_pairs(self.group[used], codes[used])[1], return_counts=True)
        return [int(label) for label in labels[count < 2]]

    def remarks(self) -> list[str]:
        """Return what a reader should know, as sentences."""
        if not self.copies:
            return []
        used = int(np.count_nonzero(self.group >= 0))
        return [
            Problem(
                "{count:,} of {rows:,} labelled rows repeat another row; copies are kept in one "
                "fold. If they are separate observations that happen to be equal, nothing is lost; "
                "if not, remove them: standard errors count each copy as new information.",
                code="repeated-rows",
                count=self.copies,
                rows=used,
            )
        ]


def row_groups(
    rows: Rows,
    codes: Ids,
    weight: Array | None = None,
    *,
    groups: ColumnLike | None = None,
    seed: int = 0,
    engine: Engine = None,
) -> RowGroups:
    """Find the rows that must stay in one fold.

    Parameters
    ----------
    rows : Rows
    codes : ndarray of int, shape (n,)
        Class of each row; -1 for rows that do not count (no label, or weight 0).
    weight : ndarray of shape (n,), optional
    groups : array-like of shape (n,), optional
        Rows of one value stay together; a missing value is a group of its own.
    seed : int
        Of the order in which groups are dealt.
    engine : engine, optional

    Returns
    -------
    RowGroups

    Examples
    --------
    >>> from scarce.io.open import open_rows
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> found = row_groups(open_rows(np.vstack([X, X])), np.tile(np.arange(30) % 2, 2))
    >>> found.n_groups, found.copies
    (30, 30)
    """
    codes = np.asarray(codes).astype(np.intp)
    used = np.flatnonzero(codes >= 0)
    own = given_groups(groups, len(rows))
    params = _standard(rows, codes, weight, seed, engine)
    words = rows.map(row_words, params, engine=engine)
    equal, order_word = words[used, 0], words[used, 1]
    label, copies = np.arange(len(used)), 0
    if len(used):
        first, cell, count = np.unique(
            equal, return_index=True, return_inverse=True, return_counts=True
        )[1:]
        repeated = _repeated(rows, used, codes[used], cell, first, count, params, engine)
        label = np.where(repeated[cell], cell, len(count) + np.arange(len(used)))
        copies = int((count[repeated] - 1).sum())
    if own is not None:
        label = _joined(label, own[used])
    names, place = np.unique(label, return_inverse=True)
    # A group's word is the least of its rows': the same however often a row stands.
    least = np.full(len(names), np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(least, place, order_word)
    tie = np.full(len(names), np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(tie, place, equal)
    group = np.full(len(rows), -1, dtype=np.intp)
    group[used] = place
    return RowGroups(group, np.lexsort((tie, least)), copies, own is not None)


def deal_folds(found: RowGroups, codes: Ids, weight: Array | None, n_folds: int) -> Ids:
    """Deal whole groups to folds, each class spread evenly.

    Parameters
    ----------
    found : RowGroups
    codes : ndarray of int, shape (n,)
        Class of each row, -1 for rows that do not count.
    weight : ndarray of shape (n,), optional
    n_folds : int
        At most `found.fewest(codes)`.

    Returns
    -------
    ndarray of int, shape (n,)
        Fold of each row, -1 for rows that do not count.

    Examples
    --------
    >>> from scarce.io.open import open_rows
    >>> codes = np.repeat([0, 1], [8, 4])
    >>> found = row_groups(open_rows(np.arange(12.0)[:, None]), codes)
    >>> folds = deal_folds(found, codes, None, 4)
    >>> np.bincount(folds), np.bincount(folds[8:])
    (array([3, 3, 3, 3]), array([1, 1, 1, 1]))
    """
    fold_of, dealt = np.empty(found.n_groups, dtype=np.intp), 0
    for part in _strata(found, np.asarray(codes), weight):
        turn = (dealt + np.arange(len(part))) % (2 * n_folds)
        fold_of[part] = np.where(turn < n_folds, turn, 2 * n_folds - 1 - turn)
        dealt += len(part)
    return np.where(found.group >= 0, fold_of[found.group], -1)


def hold_out(found: RowGroups, codes: Ids, weight: Array | None, share: float) -> NDArray[np.bool_]:
    """Return the rows of a single validation part: whole groups, a share of each class.

    Examples
    --------
    >>> from scarce.io.open import open_rows
    >>> codes = np.repeat([0, 1], [8, 4])
    >>> found = row_groups(open_rows(np.arange(12.0)[:, None]), codes)
    >>> held = hold_out(found, codes, None, 0.25)
    >>> held[:8].sum(), held[8:].sum()
    (np.int64(2), np.int64(1))
    """
    held = np.zeros(found.n_groups, dtype=bool)
    for part in _strata(found, np.asarray(codes), weight):
        # Evenly through the part, which is in order of size: large and small groups alike.
        number = min(max(round(share * len(part)), 1), max(len(part) - 1, 0))
        held[part[np.linspace(0, len(part), number, endpoint=False).astype(np.intp)]] = True
    return np.where(found.group >= 0, held[found.group], False)


def read_splits(cv: Any, n_rows: int) -> Ids:
    """Return each row's fold from (train, test) positions, whose test parts hold every row once.

    Examples
    --------
    >>> read_splits([([1, 2], [0]), ([0, 2], [1]), ([0, 1], [2])], 3)
    array([0, 1, 2])
    """
    folds, tested = np.zeros(n_rows, dtype=np.intp), np.zeros(n_rows, dtype=np.intp)
    try:
        for number, (_, test) in enumerate(cv):
            folds[test] = number
            np.add.at(tested, test, 1)
    except (TypeError, ValueError, IndexError):
        raise UsageError(
            "cv must be a number of folds or (train, test) positions of {rows:,} rows, got {cv}.",
            code="cv-folds",
            rows=n_rows,
            cv=f"{cv!r:.60}",
            remedy="Pass 5, or list(splitter.split(X, y)).",
        ) from None
    if (tested != 1).any():
        first = int(np.flatnonzero(tested != 1)[0])
        raise UsageError(
            "cv must have each row in one test part; row {row:,} is in {count}.",
            code="cv-folds",
            row=first,
            count=int(tested[first]),
            remedy="Use a splitter without repeats, such as GroupKFold.",
        )
    return folds


def given_groups(groups: ColumnLike | None, n_rows: int) -> Ids | None:
    """Return groups as numbers from 0, -1 where a row is a group of its own.

    Examples
    --------
    >>> given_groups(["b", None, "a", "b"], 4)
    array([ 1, -1,  0,  1])
    """
    if groups is None:
        return None
    if isinstance(groups, np.ma.MaskedArray):
        hidden, groups = np.ma.getmaskarray(groups), groups.data.astype(object)
        groups[hidden] = None
    if hasattr(groups, "to_numpy") and getattr(groups, "dtype", None) is not None:
        groups = groups.to_numpy()
    values = np.asarray(groups)
    if values.shape != (n_rows,):
        raise DataError(
            "{groups} has shape {shape} for {rows:,} rows.",
            code="length-mismatch",
            groups=Argument("groups"),
            shape=values.shape,
            rows=n_rows,
            remedy="Give one group per row.",
        )
    if values.dtype.kind == "f":
        missing = np.isnan(values)
    elif values.dtype.kind in "mM":
        missing = np.isnat(values)
    elif values.dtype == object:
        missing = np.array([is_missing(v) for v in values], dtype=bool)
        values = np.array([f"{type(v).__name__} {v}" for v in values])
    else:
        missing = np.zeros(n_rows, dtype=bool)
    numbers = np.full(n_rows, -1, dtype=np.intp)
    numbers[~missing] = np.unique(values[~missing], return_inverse=True)[1]
    return numbers


def row_words(block: Block, params: tuple[Any, ...]) -> Words:
    """Kernel: two hashes of each row, of its exact values and of its standardised ones."""
    mean, scale, books, seed = params
    words = np.empty((len(block), 2), dtype=np.uint64)
    start = mix_bits(np.full(1, seed, dtype=np.uint64))
    if issparse(block.matrix):
        return _sparse_words(block.matrix, mean, scale, start)
    for piece in block.pieces():
        X = piece.X
        exact = np.zeros(len(piece), dtype=np.uint64)
        order = np.zeros(len(piece), dtype=np.uint64)
        for j in range(X.shape[1]):
            column = X[:, j] + 0.0  # -0.0 and 0.0 are one value
            missing = np.isnan(column)
            exact += _exact_word(column, missing, j)
            if scale[j] > 0:
                order += _order_word(column, missing, mean[j], scale[j], books[j], start)
        place = piece.start - block.start
        words[place : place + len(piece), 0] = exact
        words[place : place + len(piece), 1] = order
    return words


def _sparse_words(matrix: csr_array, mean: Array, scale: Array, start: Words) -> Words:
    """Return the words of compressed rows: those of rows of 0, and what the other values change."""
    columns = np.arange(matrix.shape[1])
    nothing, none = np.zeros(len(columns)), np.zeros(len(columns), dtype=bool)
    varied, safe = scale > 0, np.where(scale > 0, scale, 1.0)
    at, values = matrix.indices, matrix.data + 0.0
    stored = np.zeros(len(values), dtype=bool)
    zeros = [_exact_word(nothing, none, columns)]
    found = [_exact_word(values, stored, at)]
    zeros.append(_order_word(nothing, none, mean, safe, None, start) * varied)
    found.append(_order_word(values, stored, mean[at], safe[at], None, start) * varied[at])
    words = np.empty((matrix.shape[0], 2), dtype=np.uint64)
    for place, (empty, each) in enumerate(zip(zeros, found, strict=True)):
        sums = np.append(np.zeros(1, dtype=np.uint64), np.cumsum(each - empty[at]))
        words[:, place] = empty.sum() + sums[matrix.indptr[1:]] - sums[matrix.indptr[:-1]]
    return words


def _exact_word(column: Array, missing: NDArray[np.bool_], position: int | Ids) -> Words:
    bits = np.where(missing, _MISSING, column.view(np.uint64))
    place = np.atleast_1d(2 * np.asarray(position) + 1).astype(np.uint64)
    return mix_bits(bits + place * np.uint64(0xD1342543DE82EF95))


def _order_word(
    column: Array,
    missing: NDArray[np.bool_],
    mean: float | Array,
    scale: float | Array,
    book: Words | None,
    start: Words,
) -> Words:
    if book is not None:
        word = book[np.where(missing, 0, column).astype(np.intp)]
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.rint(np.clip((column - mean) / scale, -1e12, 1e12) * STEPS)
        word = np.where(missing, 0.0, steps).astype(np.int64).view(np.uint64)
    return mix_bits(np.where(missing, _MISSING, word) ^ start)


def mix_bits(word: Words) -> Words:
    """Mix the bits of each word (the finaliser of SplitMix64)."""
    word = word ^ (word >> np.uint64(30))
    word = word * np.uint64(0xBF58476D1CE4E5B9)
    word = word ^ (word >> np.uint64(27))
    word = word * np.uint64(0x94D049BB133111EB)
    return np.asarray(word ^ (word >> np.uint64(31)))


def _standard(
    rows: Rows, codes: Ids, weight: Array | None, seed: int, engine: Engine
) -> tuple[Array, Array, list[Words | None], int]:
    """Return mean and standard deviation of each column over the rows that count.

    The scale is 0 for a column with one value: it cannot tell rows apart.
    """
    share = (codes >= 0) * (1.0 if weight is None else np.asarray(weight, dtype=np.float64))
    share = share / max(float(share.max(initial=0.0)), np.finfo(float).tiny)
    weights, sums, low, high = rows.fold(column_sums, share, engine=engine)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums / weights
    squares = rows.fold(column_squares, (share, mean), engine=engine)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        scale = np.sqrt(squares / weights)
    scale = np.where((high > low) & np.isfinite(scale), scale, 0.0)
    books: list[Words | None] = []
    for column in rows.schema.columns:
        names = [f"{type(level).__name__} {level}".encode() for level in column.levels]
        words = [hashlib.blake2b(name, digest_size=8).digest() for name in names]
        book = np.frombuffer(b"".join(words), dtype="<u8").astype(np.uint64)
        books.append(book if column.kind == "category" and len(book) else None)
    return mean, scale, books, int(seed)


def column_sums(block: Block, share: Array) -> tuple[Array, Array, Array, Array]:
    """Kernel: weight, weighted sum, least and greatest value of each column."""
    own = share[block.start : block.start + len(block), None]
    if issparse(block.matrix):
        return _sparse_sums(block.matrix, own[:, 0])
    X = block.X
    own = own * np.ones(X.shape[1])
    known = ~np.isnan(X) & (own > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.where(known, X * own, 0.0).sum(axis=0)
    low = np.where(known, X, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, X, -np.inf).max(axis=0, initial=-np.inf)
    return np.where(known, own, 0.0).sum(axis=0), total, low, high


def _sparse_sums(matrix: csr_array, own: Array) -> tuple[Array, Array, Array, Array]:
    k = matrix.shape[1]
    counted = matrix[own > 0]
    if not counted.shape[0]:
        return np.zeros(k), np.zeros(k), np.full(k, np.inf), np.full(k, -np.inf)
    low, high = counted.min(axis=0).toarray().ravel(), counted.max(axis=0).toarray().ravel()
    return np.full(k, own.sum()), own @ matrix, low, high


def _merged_sums(total: Any, more: Any) -> Any:
    low, high = np.minimum(total[2], more[2]), np.maximum(total[3], more[3])
    return total[0] + more[0], total[1] + more[1], low, high


column_sums.merge = _merged_sums  # type: ignore[attr-defined]


def column_squares(block: Block, params: tuple[Array, Array]) -> Array:
    """Kernel: weighted squares of each column around its mean."""
    share, mean = params
    if issparse(block.matrix):
        own, X = share[block.start : block.start + len(block)], block.matrix
        return np.asarray(own @ X.multiply(X) - 2.0 * mean * (own @ X) + own.sum() * mean**2)
    with np.errstate(over="ignore", invalid="ignore"):
        away = block.X - mean
        squares = away * away * share[block.start : block.start + len(block), None]
    return np.asarray(np.where(np.isnan(squares), 0.0, squares).sum(axis=0))


def _repeated(
    rows: Rows,
    used: Ids,
    codes: Ids,
    cell: Ids,
    first: Ids,
    count: Ids,
    params: tuple[Any, ...],
    engine: Engine,
) -> NDArray[np.bool_]:
    """Return which distinct rows stand for copies of one record."""
    n = len(codes)
    repeated = (count > 1) & ((count <= COMMON * n) | (count <= FEWEST_REPEATS))
    if not repeated.any():
        return repeated
    if len(count) >= 10 and int(np.gcd.reduce(_pairs(cell, codes)[2])) > 1:
        return count > 1  # every row with its label stands twice, or three times: a repeated table
    if _are_copies(rows, used[first], repeated, cell, codes, params, engine):
        return repeated
    return np.zeros(len(count), dtype=bool)


def _are_copies(
    rows: Rows,
    distinct: Ids,
    repeated: NDArray[np.bool_],
    cell: Ids,
    codes: Ids,
    params: tuple[Any, ...],
    engine: Engine,
) -> bool:
    """Tell copies of records from observations that happen to be equal.

    Observations that are equal by chance are accompanied by many more that differ in one column
    only: (1 - m) / m times as many for a column in which two rows match with probability m. And
    their labels differ now and then.
    """
    sizes = np.bincount(cell, minlength=len(repeated))[repeated].astype(np.float64)
    shares = np.bincount(codes) / len(codes)
    unrelated = float(len(sizes) - sum((share**sizes).sum() for share in shares))
    cells = _pairs(cell, codes)[0]  # once for each label that a distinct row has
    mixed = int((np.bincount(cells, minlength=len(repeated))[repeated] > 1).sum())
    if unrelated >= FEWEST_REPEATS and mixed > DISAGREE * unrelated:
        return False
    expected = _chance_repeats(rows, distinct, params, engine)
    return bool(repeated.sum() > CHANCE * expected)


def _chance_repeats(rows: Rows, distinct: Ids, params: tuple[Any, ...], engine: Engine) -> float:
    """Return how many distinct rows would be seen again by chance, from pairs that nearly match."""
    varied = np.flatnonzero(params[1] > 0)
    if len(varied) < 2:
        return 0.0
    most = max(SAMPLED_CELLS // len(varied), 200)
    step = max(len(distinct) / most, 1.0)
    chosen = distinct[(np.arange(min(len(distinct), most)) * step).astype(np.intp)]
    wanted = np.zeros(len(rows), dtype=bool)
    wanted[chosen] = True
    X = rows.fold(wanted_rows, wanted, merge=lambda a, b: np.vstack([a, b]), engine=engine)
    terms = [_exact_word(X[:, j] + 0.0, np.isnan(X[:, j]), int(j)) for j in varied]
    whole = np.sum(terms, axis=0, dtype=np.uint64)
    size = max(len(X), 2)
    near = odds = 0.0
    for term in terms:
        near += _equal_pairs(whole - term)
        match = _equal_pairs(term) / (size * (size - 1) / 2)
        odds += (1.0 - match) / match if match > 0 else np.inf
    return float(near * step**2 / odds) if odds > 0 else np.inf


def wanted_rows(block: Block, wanted: NDArray[np.bool_]) -> Array:
    """Kernel: the features of chosen rows."""
    return block.X[wanted[block.start : block.start + len(block)]]


def _equal_pairs(words: Words) -> float:
    count = np.unique(words, return_counts=True)[1].astype(np.float64)
    return float((count * (count - 1) / 2).sum())


def _pairs(group: Ids, codes: Ids) -> tuple[Ids, Ids, Ids]:
    """Return each combination of group and label that occurs, and how often."""
    base = int(codes.max(initial=0)) + 1
    keys, count = np.unique(group * base + codes, return_counts=True)
    return keys // base, keys % base, count


def _joined(label: Ids, own: Ids) -> Ids:
    """Join copies and given groups: connected by either is together."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    label = np.unique(label, return_inverse=True)[1]
    base = int(label.max(initial=-1)) + 1
    known = own >= 0
    nodes = base + (int(own.max(initial=-1)) + 1)
    edges = (np.ones(int(known.sum())), (label[known], base + own[known]))
    found = connected_components(coo_array(edges, shape=(nodes, nodes)), directed=False)[1]
    return np.asarray(found[label], dtype=np.intp)


def _strata(found: RowGroups, codes: Ids, weight: Array | None) -> list[Ids]:
    """Return the groups of each class, the rarest class first, by size and then at random.

    A group of several classes belongs to the rarest of them; of equally rare classes, the one whose
    group comes first in the random order is dealt first, whatever the classes' names. Size is total
    weight, to a factor of about 1.4, so that groups of like size are dealt in random order.
    """
    used = found.group >= 0
    group, own = found.group[used], codes[used]
    heavy = np.ones(len(group)) if weight is None else np.asarray(weight, dtype=np.float64)[used]
    size = np.bincount(group, heavy, minlength=found.n_groups)
    with np.errstate(divide="ignore"):
        bucket = np.rint(np.log2(size / np.median(size))) if len(size) else size
    holders, labels, _ = _pairs(group, own)
    classes, counts = np.unique(labels, return_counts=True)
    rank = np.empty(found.n_groups, dtype=np.intp)
    rank[found.order] = np.arange(found.n_groups)
    first = [tuple(np.sort(rank[holders[labels == label]])[:TIED]) for label in classes]
    free = np.ones(found.n_groups, dtype=bool)
    parts = []
    for _, _, label in sorted(zip(counts, first, classes, strict=True)):
        part = holders[labels == label]
        part = part[free[part]]
        free[part] = False
        parts.append(part[np.lexsort((rank[part], -bucket[part]))])
    return parts
