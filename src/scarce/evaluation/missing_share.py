"""Are probabilities as good where features are missing?

    share = missing source columns of a row / source columns
    z     = (events - sum of probabilities) / sqrt(sum prob (1 - prob))

Rows are put into bins by their share of missing values, each with enough rows and events to say
something, and `evaluate_by` judges the bins. A z beyond +-2 says that a bin's probabilities are off
by more than chance. A one-hot column and its siblings are one source column. Assumes nothing about
why values are missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import is_missing, read_integer, read_labels, refuse_length, refuse_other_index
from scarce.engine.block import Array, Block
from scarce.engine.rows import Rows
from scarce.errors import Argument, DataError, Problem, listed

if TYPE_CHECKING:
    from scarce.evaluation.segments import EvaluationBy

EDGES = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)  # ends of the bins, each belongs to the bin below it
FEWEST_ROWS, FEWEST_EVENTS = 50, 5


def share_of_missing(
    X: Any,
    y_true: ArrayLike | None = None,
    *,
    fewest_rows: int = FEWEST_ROWS,
    fewest_events: int = FEWEST_EVENTS,
) -> NDArray[np.str_]:
    """Return the bin of each row by its share of missing values, for `evaluate_by`.

    Parameters
    ----------
    X : array-like, table or Rows of shape (n, n_features)
        NaN, None, NA, NaT, empty text and masked cells are missing.
    y_true : array-like of shape (n,), optional
        Outcomes, 0 or 1. With them each bin holds at least `fewest_events` rows of both.
    fewest_rows, fewest_events : int
        Bins with less are put together with their neighbours.

    Returns
    -------
    ndarray of str, shape (n,)
        "0 %", "0-10 %", "10-20 %", "20-30 %", "30-50 %", "50-100 %", or wider ones; a bin holds its
        upper end. "0-10 %" holds rows with no missing value only where these have no bin.

    Examples
    --------
    >>> from scarce import evaluate_by
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 10))
    >>> truth = 1 / (1 + np.exp(2 - X.sum(axis=1) / 3))
    >>> y, X[rng.random(X.shape) < 0.1] = rng.random(3000) < truth, np.nan
    >>> sure = 1 / (1 + np.exp(2 - np.nansum(X, axis=1) / 3 - 0.4 * np.isnan(X).sum(axis=1)))
    >>> found = evaluate_by(y, sure, share_of_missing(X, y))
    >>> [(one.name, one.rows, round(one.z, 1)) for one in found.segments]
    [('0 %', 1026, -0.0), ('0-10 %', 1147, -3.7), ('10-20 %', 609, -5.7), ('20-100 %', 218, -4.8)]
    """
    refuse_other_index(X=X, y_true=y_true)
    fewest_rows = read_integer(fewest_rows, "fewest_rows")
    fewest_events = read_integer(fewest_events, "fewest_events", 0)
    share = missing_shares(X)
    y = None if y_true is None else read_labels(y_true, len(share), "y_true")
    return bins_of_missing(share, y, fewest_rows, fewest_events)


def bins_of_missing(
    share: Array,
    y: Array | None = None,
    fewest_rows: int = FEWEST_ROWS,
    fewest_events: int = FEWEST_EVENTS,
) -> NDArray[np.str_]:
    """Return the name of each row's bin, from shares; `y` is 0, 1 or NaN.

    Examples
    --------
    >>> bins_of_missing(np.array([0.0, 0.0, 0.1, 0.15, 0.9]), fewest_rows=2).tolist()
    ['0 %', '0 %', '0-100 %', '0-100 %', '0-100 %']
    """
    ends = list(EDGES)
    place = np.searchsorted(ends, share - 1e-12, side="left")
    counts = [np.bincount(place, minlength=len(ends))]
    needed = [fewest_rows]
    if y is not None:
        counts += [np.bincount(place[y == k], minlength=len(ends)) for k in (1, 0)]
        needed += [fewest_events, fewest_events]
    held = np.array(counts)
    parts = [[k] for k in range(len(ends)) if held[0, k]]
    while len(parts) > 1:
        poor = [
            k for k, one in enumerate(parts) if (held[:, one].sum(axis=1) < np.array(needed)).any()
        ]
        if not poor:
            break
        k = poor[-1]  # upwards, so that complete rows stay alone
        beside = k + 1 if k + 1 < len(parts) else k - 1
        parts[beside] = sorted(parts[beside] + parts[k])
        del parts[k]
    names = np.empty(len(ends), dtype="<U10")
    for one in parts:
        low, high = ends[max(one[0] - 1, 0)], ends[one[-1]]
        names[one] = f"{100 * low:.0f}-{100 * high:.0f} %" if high else "0 %"
    return np.asarray(names[place])


def missing_shares(X: Any) -> Array:
    """Return the share of missing source columns of each row.

    Examples
    --------
    >>> missing_shares([[1.0, np.nan], [2.0, 3.0]])
    array([0.5, 0. ])
    """
    if isinstance(X, Rows):
        sources = {name: place for place, name in enumerate(X.schema.sources)}
        owner = np.array([sources[one.source or one.name] for one in X.schema.columns])
        return np.asarray(X.map(missing_of_block, owner))
    if isinstance(X, np.ma.MaskedArray):
        X = np.where(np.ma.getmaskarray(X), np.nan, X.data)
    names = getattr(X, "columns", None)
    if hasattr(X, "column_names"):
        missing = [_missing(X.column(name).to_pylist()) for name in X.column_names]
    elif names is not None and not callable(names):
        missing = [_missing(X[name]) for name in names]
    else:
        held = np.asarray(X)
        if held.ndim != 2:
            raise DataError(
                "{argument} must have two dimensions, got shape {shape}.",
                code="shape-mismatch",
                argument=Argument("X"),
                shape=held.shape,
                remedy="Give a table of features.",
            )
        missing = [_missing(column) for column in held.T]
    for column in missing:
        refuse_length(column, len(missing[0]), "X")
    if not missing:
        raise DataError("X has no columns.", code="no-columns")
    return np.asarray(np.mean(missing, axis=0), dtype=np.float64)


def missing_of_block(block: Block, owner: NDArray[np.intp]) -> Array:
    """Kernel of a map: share of the source columns that are missing."""
    gone = np.zeros((len(block), int(owner.max()) + 1), dtype=bool)
    missing = np.isnan(block.X)
    for place, source in enumerate(owner.tolist()):
        gone[:, source] |= missing[:, place]
    return np.asarray(gone.mean(axis=1), dtype=np.float64)


def _missing(column: Any) -> NDArray[np.bool_]:
    """Return which values of a column are missing."""
    held = np.asarray(column)
    if held.dtype.kind in "fc":
        return np.asarray(np.isnan(held))
    if held.dtype.kind in "mM":
        return np.asarray(np.isnat(held))
    if held.dtype == object:
        return np.array([is_missing(value) or value == "" for value in held.tolist()], dtype=bool)
    if held.dtype.kind in "UT":
        return np.asarray(held == "")
    return np.zeros(len(held), dtype=bool)


OFF = 3.0  # z beyond which a bin is remarked on


class MissingTable(NamedTuple):
    """What `evaluate_by` found for bins of missing values, as lines of words."""

    columns: list[str]
    lines: list[list[str]]
    remarks: tuple[str, ...]


def missing_table(found: EvaluationBy) -> MissingTable:
    """Return a line for each bin: rows, events, mean probability, event rate with interval, z.

    Examples
    --------
    >>> from scarce import evaluate_by
    >>> found = evaluate_by([0, 1] * 40, [0.2, 0.7] * 40, ["0 %"] * 40 + ["0-10 %"] * 40)
    >>> missing_table(found).lines[0]
    ['0 %', '40', '20', '45 %', '50 % [35.9 %, 63.4 %]', '+0.7']
    """
    lines = []
    for one in found.segments:
        z = "" if one.z != one.z else f"{one.z:+.1f}"
        given = one.given.brief(percent=True, limits=False)
        happened = one.happened.brief(percent=True)
        lines.append([one.name, f"{one.rows:,}", f"{one.events:,}", given, happened, z])
    odd = [one for one in found.segments if abs(one.z) > OFF]
    remarks = [
        Problem(
            "By share of missing values, probabilities are off by more than chance in {bins}.",
            code="missing-values-off",
            bins=listed([f"{one.name} (z {one.z:+.1f})" for one in odd]),
        )
    ]
    columns = ["missing", "rows", "events", "given", "happened", "z"]
    return MissingTable(columns, lines, tuple(remarks if odd else ()))
