"""The species as paper 000 sees them: a pool of places, presences among them, and a survey.

    pool = distinct places where any species of the target group was recorded  (000 section 3)
    y    = 1 where the species was recorded there, NaN elsewhere: presences are part of the pool

A species recorded twice at a place counts once. A group's pool is read once per process and shared
by its species. Needs SCARCE_DATA. Fits nothing, and gives survey rows apart from the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.datasets import SpeciesEntry, load_nceas, nceas_species

Array = NDArray[np.float64]

BLOCKS = 10  # of the pool's extent in each direction, for folds that are apart in space
FOLDS = 5


class Pool(NamedTuple):
    """Places of a target group: predictors, coordinates, and who was recorded where."""

    X: Array
    xy: Array
    categorical: list[int]  # positions of columns whose numbers are codes
    place: NDArray[np.int64]  # of each record
    recorded: NDArray[Any]  # species of each record
    survey: Array
    found: dict[str, Array]  # species -> 0 or 1 at each survey site


class Case(NamedTuple):
    """One species: rows to learn from, and the survey to be judged on."""

    X: Array
    y: Array
    xy: Array
    categorical: list[int]
    survey: Array
    found: Array


@lru_cache(maxsize=1)
def listed() -> dict[str, SpeciesEntry]:
    """Return the 226 species by name."""
    return {each.species: each for each in nceas_species()}


def case_of(species: str, pooled: bool = False) -> Case:
    """Return the rows of one species.

    Parameters
    ----------
    species : str
    pooled : bool
        Target groups of NSW joined to birds, plants, bats and reptiles.
    """
    entry = listed()[species]
    pool = pool_of(entry.region, entry.group, pooled)
    y = np.full(len(pool.X), np.nan)
    y[pool.place[pool.recorded == species]] = 1.0
    return Case(pool.X, y, pool.xy, pool.categorical, pool.survey, pool.found[species])


@lru_cache(maxsize=32)
def pool_of(region: str, group: str, pooled: bool) -> Pool:
    """Read the places of a target group and its survey."""
    own = [e.species for e in listed().values() if (e.region, e.group) == (region, group)]
    read = load_nceas(region, own[0], background="records", pool_groups=pooled)
    first, place = distinct_places(read.background_xy)
    survey = read.tables["survey"]
    return Pool(
        X=read.background[first],
        xy=read.background_xy[first],
        categorical=[read.columns.index(name) for name in read.categorical],
        place=place,
        recorded=np.array(read.tables["background"]["spid"].to_pylist()),
        survey=read.test,
        found={name: survey[name].to_numpy().astype(np.float64) for name in own},
    )


def distinct_places(xy: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first row of each place in the order of the rows, and the place of each row.

    Examples
    --------
    >>> first, place = distinct_places(np.array([[3.0, 0.0], [1.0, 0.0], [3.0, 0.0], [0.0, 9.0]]))
    >>> first, place
    (array([0, 1, 3]), array([0, 1, 0, 2]))
    """
    _, first, place = np.unique(xy, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return first[order], number[place.ravel()]


def spatial_folds(xy: Array, y: Array, n_folds: int = FOLDS) -> NDArray[np.int64]:
    """Return a fold for each place: whole blocks of the map, presences shared out evenly.

    The block with most presences goes to the fold that has fewest so far. A species whose presences
    lie in a single block gets folds of places instead, so that two of them hold presences.

    Examples
    --------
    >>> xy = np.array([[0.0, 0], [0.1, 0], [5.0, 5], [9.0, 9], [9.1, 9.1]])
    >>> spatial_folds(xy, np.array([1.0, 1, 1, np.nan, 1]), 2)
    array([0, 0, 1, 1, 1])
    """
    low, high = xy.min(axis=0), xy.max(axis=0)
    cell = np.minimum(BLOCKS * (xy - low) / np.where(high > low, high - low, 1.0), BLOCKS - 1)
    block = (cell.astype(np.int64) @ np.array([BLOCKS, 1])).astype(np.int64)
    presence = y == 1
    if len(np.unique(block[presence])) < 2:
        block = np.arange(len(xy))
    names, block = np.unique(block, return_inverse=True)
    presences = np.bincount(block, weights=presence, minlength=len(names))
    rows = np.bincount(block, minlength=len(names))
    fold = np.zeros(len(names), dtype=np.int64)
    load = np.zeros((n_folds, 2))
    for each in np.lexsort((np.arange(len(names)), -rows, -presences)):
        fold[each] = min(range(n_folds), key=lambda k: (load[k, 0], load[k, 1]))
        load[fold[each]] += presences[each], rows[each]
    return fold[block]


def random_folds(y: Array, seed: int, n_folds: int = FOLDS) -> NDArray[np.int64]:
    """Return a fold for each place at random, presences shared out evenly.

    Examples
    --------
    >>> fold = random_folds(np.array([1.0, 1, np.nan, np.nan, 1, 1]), 0, 2)
    >>> fold[[0, 1, 4, 5]].sum(), fold[[2, 3]].sum()
    (np.int64(2), np.int64(1))
    """
    rng = np.random.default_rng(seed)
    fold = np.empty(len(y), dtype=np.int64)
    for own in (np.flatnonzero(y == 1), np.flatnonzero(y != 1)):
        fold[rng.permutation(own)] = np.arange(len(own)) % n_folds
    return fold


def splits(fold: NDArray[np.int64], y: Array) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return training and held-out rows of each fold that has presences on both sides."""
    found = []
    for each in np.unique(fold):
        train, held = np.flatnonzero(fold != each), np.flatnonzero(fold == each)
        if (y[train] == 1).any() and (y[held] == 1).any():
            found.append((train, held))
    return found


def quick_species() -> Sequence[str]:
    """Return a handful of species with few places, from three regions."""
    return ("awt21", "awt22", "nsw01", "nsw50", "sa01", "sa02")
