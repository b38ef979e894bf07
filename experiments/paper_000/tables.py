"""From records to numbers: means over species, errors, one default for all, breadth of a peak.

    best on test    the default with the least mean log loss over all species    (as in 000)
    left out        for each region, the best default of the other five regions
    breadth         the defaults whose mean log loss is within 5 % of the least, as an interval

Species of a region share sites, so an error over species is too small; the error over the six
region means stands beside it. Refits nothing.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.special import expit, logit

from experiments.paper_000.jobs import DEFAULTS, TREES, TUNED, maxent_at, robust_at
from experiments.paper_000.methods import CANDIDATES, MAIN
from experiments.paper_000.printed import ALL, BINS, EDGES, REGIONS
from experiments.paper_000.species import Array, listed, pool_of

NEAR = 0.05  # breadth: within this share above the least
FINE = 4001  # points on the log-odds axis between which nothing happens
RIVAL = "nceas/rival_maxent344.csv"

# "facts" -> species -> region, prevalence, presences, places, rival's AUC and log loss at .5;
# "shipped" and "pooled" -> species -> method -> scores; "seconds" -> reading -> part -> CPU
Runs = dict[str, Any]

# what is drawn and compared: name -> (method, which of its curves)
SCHEMES: dict[str, tuple[str, str]] = {
    "maxent, entropy": (maxent_at(MAIN), "entropy"),
    "maxent, default": (maxent_at(MAIN), "default"),
    "class-robust": (robust_at(MAIN), "robust"),
    "trees, entropy": (TREES, "entropy"),
    "trees, default": (TREES, "default"),
}


# --- gathering ------------------------------------------------------------------------------------


def runs_of(records: Iterable[Mapping[str, Any]], timing: Mapping[str, float] | None) -> Runs:
    """Put the records of all parts together with facts about the species."""
    runs: Runs = {"facts": {}, "shipped": {}, "pooled": {}, "seconds": {}}
    for record in sorted(records, key=lambda r: (r["pooled"], r["species"], r["part"])):
        reading = "pooled" if record["pooled"] else "shipped"
        runs[reading].setdefault(record["species"], {}).update(record["methods"])
        spent = runs["seconds"].setdefault(reading, {})
        spent[record["part"]] = round(spent.get(record["part"], 0.0) + record["seconds"], 3)
    runs["facts"] = facts_of(runs["shipped"])
    runs["timing"] = dict(timing or {})
    return runs


def facts_of(species: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return what is known of each species beside our fits."""
    path = Path(os.environ["SCARCE_DATA"]) / RIVAL
    with path.open(encoding="utf-8", newline="") as file:
        rival = {row["spid"]: row for row in csv.DictReader(file)}
    facts = {}
    for name in species:
        entry = listed()[name]
        pool = pool_of(entry.region, entry.group, False)
        facts[name] = {
            "region": entry.region,
            "prevalence": float(f"{entry.test_positives / entry.n_test:.6g}"),
            "presences": len(np.unique(pool.place[pool.recorded == name])),
            "places": len(pool.X),
            "rival_auc": float(rival[name]["auc"]),
            "rival_loss": float(rival[name]["logloss_prev50"]),
        }
    return facts


def fact(runs: Runs, name: str) -> NDArray[Any]:
    """Return one fact of all species."""
    return np.array([each[name] for each in runs["facts"].values()])


def scores(runs: Runs, method: str, what: str, pooled: bool = False) -> Array:
    """Return a score of all species, (n,) or (n, n_defaults); NSW's pooled where asked for."""
    held = runs["shipped"] | (runs["pooled"] if pooled else {})
    return np.array([held[name][method][what] for name in runs["facts"]], dtype=np.float64)


def constant(runs: Runs) -> Array:
    """Return the log loss of predicting each survey's own share everywhere."""
    share = fact(runs, "prevalence")
    return np.asarray(-share * np.log(share) - (1 - share) * np.log1p(-share))


# --- means and errors -----------------------------------------------------------------------------


class Mean(NamedTuple):
    """A mean over species, its standard error over them, and that of the mean of region means."""

    value: float
    error: float
    regions: float


def mean_of(values: Array, regions: NDArray[Any]) -> Mean:
    """Return the mean over species and two standard errors.

    Examples
    --------
    >>> np.round(mean_of(np.array([1.0, 3.0, 5.0, 5.0]), np.array(["a", "a", "b", "b"])), 3)
    array([3.5  , 0.957, 1.5  ])
    """
    each = np.array([values[regions == name].mean() for name in np.unique(regions)])
    return Mean(float(values.mean()), _error(values), _error(each))


def _error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def by_region(values: Array, regions: NDArray[Any]) -> dict[str, float]:
    """Return the mean of each region that has species."""
    return {r: float(values[regions == r].mean()) for r in REGIONS if (regions == r).any()}


# --- one default for all --------------------------------------------------------------------------


def best(curve: Array) -> tuple[float, float]:
    """Return the default with the least loss on a mean curve, and that loss.

    Examples
    --------
    >>> nu, loss = best((logit(DEFAULTS) + 1.0) ** 2)
    >>> round(nu, 3), round(loss, 3)
    (0.269, 0.0)
    """
    score, loss = fine(curve)
    place = int(np.argmin(loss))
    return float(expit(score[place])), float(loss[place])


def fine(curve: Array) -> tuple[Array, Array]:
    """Return log-odds of defaults and losses on a fine grid, by a cubic spline."""
    given = logit(np.array(DEFAULTS))
    score = np.linspace(given[0], given[-1], FINE)
    return score, np.asarray(CubicSpline(given, curve)(score))


def at_default(losses: Array, default: float) -> Array:
    """Return each species' loss at a default, which may lie between grid points."""
    return np.asarray(CubicSpline(logit(np.array(DEFAULTS)), losses, axis=1)(logit(default)))


def left_out(losses: Array, regions: NDArray[Any]) -> tuple[Array, dict[str, float]]:
    """Return each species' loss at the best default of the other regions, and those defaults."""
    found, chosen = np.empty(len(losses)), {}
    for region in np.unique(regions):
        own = regions == region
        others = losses[~own] if (~own).any() else losses
        chosen[str(region)] = best(others.mean(axis=0))[0]
        found[own] = at_default(losses[own], chosen[str(region)])
    return found, chosen


def gains(runs: Runs, by: str) -> Array:
    """Return the mean gain of each candidate width on held-out presences, over species."""
    return np.asarray(scores(runs, TUNED[by], "gains").mean(axis=0))


def shared_width(runs: Runs, by: str) -> float:
    """Return the one width for all species that held-out presences choose: no survey is seen."""
    return CANDIDATES[int(np.argmax(gains(runs, by)))]


# --- how broad a peak is --------------------------------------------------------------------------


class Breadth(NamedTuple):
    """The defaults that do nearly as well as the best; `cut` when the sweep ends before they do."""

    low: float
    high: float
    cut: bool

    @property
    def share(self) -> float:
        """Length of the interval in default prevalence."""
        return self.high - self.low

    @property
    def log_odds(self) -> float:
        """Length of the interval in log-odds of the default prevalence."""
        return float(logit(self.high) - logit(self.low))


def breadth(curve: Array, near: float = NEAR) -> Breadth:
    """Return the interval of defaults whose loss is within a share of the least.

    Examples
    --------
    >>> found = breadth(1.0 + 0.05 * (logit(DEFAULTS) + 1.0) ** 2)
    >>> round(found.log_odds, 2), found.cut
    (2.0, False)
    """
    score, loss = fine(curve)
    low, high = reach(score, loss, float(loss.min()) * (1 + near))
    return Breadth(
        float(expit(low)), float(expit(high)), bool(low <= score[0] or high >= score[-1])
    )


def reach(score: Array, loss: Array, level: float) -> tuple[float, float]:
    """Return the least and greatest log-odds with a loss of at most `level`; nan for none."""
    inside = score[loss <= level]
    return (float(inside[0]), float(inside[-1])) if len(inside) else (np.nan, np.nan)


def ranges(curve: Array, levels: Array) -> tuple[Array, Array]:
    """Return for each loss the range of defaults that reach it: in prevalence and in log-odds."""
    score, loss = fine(curve)
    ends = np.array([reach(score, loss, level) for level in levels])
    return np.diff(expit(ends), axis=1)[:, 0], np.diff(ends, axis=1)[:, 0]


# --- bins of test prevalence ----------------------------------------------------------------------


def members(prevalence: Array) -> dict[str, NDArray[np.bool_]]:
    """Return which species are in each panel of Figure 1, the last being all of them.

    Examples
    --------
    >>> [name for name, own in members(np.array([0.02, 0.5])).items() if own.any()]
    ['at most .02', 'above .32', 'all']
    """
    place = np.searchsorted(EDGES[1:-1], prevalence, side="left")
    found = {name: place == k for k, name in enumerate(BINS)}
    return found | {ALL: np.ones(len(prevalence), dtype=np.bool_)}


def panels(runs: Runs, schemes: Sequence[str] | None = None) -> dict[str, dict[str, Array]]:
    """Return the mean curve of each scheme in each panel that has species."""
    held = members(fact(runs, "prevalence").astype(np.float64))
    found: dict[str, dict[str, Array]] = {}
    for scheme in schemes or SCHEMES:
        losses = scores(runs, *SCHEMES[scheme])
        for name, own in held.items():
            if own.any():
                found.setdefault(name, {})[scheme] = losses[own].mean(axis=0)
    return found
