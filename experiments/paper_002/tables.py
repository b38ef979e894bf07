"""From records to tables: percentiles, root mean squares and shares, each with its error.

    rmse  = sqrt(mean e^2),  error = sd(e^2) / (2 rmse sqrt(n))        e = estimate - truth
    sd    error = sd / sqrt(2 n)        share    error = sqrt(p (1 - p) / n)

Percentiles are values that occurred (no interpolation), so that an infinite slope stays one. An
estimate that was refused (NaN) is counted apart and left out of percentiles and rmse. Refits
nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from experiments.paper_002.jobs import ITERATIONS, PARAMETERS, Design, cases, designs
from experiments.paper_002.methods import Array, floats, numbers
from scarce.datasets import ScoreTruth

Cells = dict[str, dict[str, Any]]  # part -> case -> what all its repeats found

COUNTED = {"background", "start"}
PERCENTILES = (0.05, 0.5, 0.95)


class Value(NamedTuple):
    """A number found over repeats and its standard error."""

    value: float
    error: float


class Summary(NamedTuple):
    """What a method's estimates were over the trials of one design, at one true recall."""

    trials: int
    refused: int
    recall: tuple[float, float, float]
    rmse: Value
    realised_rmse: Value
    slope: tuple[float, float, float]
    wrong_sign: Value
    near: Value


def cells_of(records: Iterable[Mapping[str, Any]]) -> Cells:
    """Gather records over repeats, in the order of the repeats."""
    held: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for record in sorted(records, key=lambda r: int(r["repeat"])):
        held.setdefault((record["part"], record["case"]), []).append(record)
    gather: dict[str, Callable[[Any], dict[str, Any]]] = {
        "figure 1": lambda found: found[0],
        "figure 2": _convergence,
        "trials": _trials,
        "slopes": lambda found: {"chord": [each["chord"] for each in found]},
        "sets": lambda found: found[0],
    }
    cells: Cells = {}
    for part, names in cases().items():
        for name in names:
            if (part, name) in held:
                group = held[part, name]
                found = gather[part]([record["found"] for record in group])
                seconds = round(sum(record["seconds"] for record in group), 2)
                cells.setdefault(part, {})[name] = {**_rounded(found), "seconds": seconds}
    return cells


def _rounded(found: Any) -> Any:
    """Keep four digits of every number, far below any standard error, so that cells stay small."""
    if isinstance(found, dict):
        return {name: _rounded(value) for name, value in found.items()}
    if isinstance(found, list):
        return [_rounded(value) for value in found]
    return float(f"{found:.4g}") if isinstance(found, float) else found


def _convergence(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Keep every estimate, but of the paths only mean and percentiles at each step."""
    ends = {
        fit: {name: [each["fits"][fit][k] for each in found] for k, name in enumerate(PARAMETERS)}
        for fit in found[0]["fits"]
    }
    paths = {}
    for fit in found[0]["paths"]:
        walks = np.array([[floats(row) for row in each["paths"][fit]] for each in found])
        paths[fit] = {
            "mean": [numbers(row) for row in walks.mean(axis=0)],
            **{
                f"{p:g}": [numbers(row) for row in np.quantile(walks, p, axis=0)]
                for p in PERCENTILES
            },
        }
    steps = {fit: [each["steps"][fit] for each in found] for fit in found[0]["steps"]}
    return {"fits": ends, "paths": paths, "steps": steps, "at": list(ITERATIONS)}


def _trials(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Keep every estimate; of families and starts only how often each was taken."""
    methods: dict[str, Any] = {}
    for method, first in found[0]["methods"].items():
        all_ = [each["methods"][method] for each in found]
        methods[method] = {
            name: [each[name] for each in all_]
            if name == "share"
            else [list(level) for level in zip(*(each[name] for each in all_), strict=True)]
            for name in first
            if name not in COUNTED
        }
        for name in COUNTED & first.keys():
            counts = Counter(each[name] for each in all_)
            methods[method][name] = dict(sorted(counts.items()))
    return {
        "realised": [
            list(level) for level in zip(*(each["realised"] for each in found), strict=True)
        ],
        "positives": {
            method: [each["positives"][method] for each in found]
            for method in found[0]["positives"]
        },
        "methods": methods,
    }


def quantiles(values: Array) -> tuple[float, float, float]:
    """Return the 5th, 50th and 95th percentile, each a value that occurred.

    Examples
    --------
    >>> quantiles(np.array([-np.inf, 1.0, 2.0, np.nan]))
    (-inf, 1.0, 2.0)
    """
    seen = values[~np.isnan(values)]
    if not seen.size:
        return (math.nan, math.nan, math.nan)
    low, middle, high = np.quantile(seen, PERCENTILES, method="inverted_cdf")
    return float(low), float(middle), float(high)


def rmse(values: Array, truth: float | Array) -> Value:
    """Return the root mean square of the errors that are known, with its own error.

    Examples
    --------
    >>> rmse(np.array([1.0, 3.0, np.nan]), 2.0)
    Value(value=1.0, error=0.0)
    """
    square = (values - truth) ** 2
    square = square[~np.isnan(square)]
    if not square.size:
        return Value(math.nan, 0.0)
    root = float(np.sqrt(square.mean()))
    if square.size < 2 or root == 0.0:
        return Value(root, 0.0)
    return Value(root, float(square.std(ddof=1) / (2.0 * root * math.sqrt(square.size))))


def share(mask: Any) -> Value:
    """Return how often something held.

    Examples
    --------
    >>> share([True, False, True, True]).value
    0.75
    """
    found = np.asarray(mask, dtype=bool)
    p = float(found.mean())
    return Value(p, math.sqrt(p * (1.0 - p) / found.size))


def deviation(values: Sequence[Any]) -> Value:
    """Return a standard deviation and its error."""
    found = floats(values)
    sd = float(found.std(ddof=1))
    return Value(sd, sd / math.sqrt(2.0 * found.size))


def median(values: Array, seed: int = 0, draws: int = 200) -> Value:
    """Return a median and its bootstrap error."""
    seen = values[~np.isnan(values)]
    rng = np.random.default_rng(seed)
    again = np.median(seen[rng.integers(seen.size, size=(draws, seen.size))], axis=1)
    return Value(float(np.median(seen)), float(again.std(ddof=1)))


def truth_of(design: Design) -> ScoreTruth:
    """Return the law that a design's scores follow."""
    return ScoreTruth(positive_share=design.share, background=design.background)


@cache
def true_slope(design: Design, level: float) -> float:
    """Return dP/dR at the threshold with this true recall."""
    truth = truth_of(design)
    return float(truth.precision_per_recall(truth.threshold_at_recall(level)))


def summary(cells: Cells, design: Design, method: str, level: float) -> Summary:
    """Sum up a method's estimates of recall and dP/dR."""
    cell, at = cells["trials"][design.name], design.levels.index(level)
    held = cell["methods"][method]
    recall, slope = floats(held["recall"][at]), floats(held["slope"][at])
    true = true_slope(design, level)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = slope / true
    return Summary(
        trials=recall.size,
        refused=int(np.isnan(recall).sum()),
        recall=quantiles(recall),
        rmse=rmse(recall, level),
        realised_rmse=rmse(recall, floats(cell["realised"][at])),
        slope=quantiles(slope),
        wrong_sign=share(slope * np.sign(true) < 0),
        near=share((ratio >= 0.5) & (ratio <= 2.0)),
    )


def picked(cells: Cells, design: Design, method: str) -> Value:
    """Return how often a method picked the true background."""
    counts = cells["trials"][design.name]["methods"][method]["background"]
    trials = sum(counts.values())
    p = counts.get(design.background, 0) / trials
    return Value(p, math.sqrt(p * (1.0 - p) / trials))


def swapped(values: Sequence[Any]) -> Value:
    """Return how often the two classes changed places: a share of positives above one half."""
    return share(floats(values) > 0.5)


def held(cells: Cells, **wanted: Any) -> list[Design]:
    """Return the designs in the cells that have these fields."""
    return [
        design
        for name, design in designs().items()
        if name in cells.get("trials", {})
        and all(getattr(design, field) == value for field, value in wanted.items())
    ]
