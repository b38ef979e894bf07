"""What a side says about itself, and how the runner finds the sides.

An adapter is a module of this folder, listed in MODULES, with

    NAME      what the tables call it
    GROUP     the dependency group of pyproject.toml that brings its package, or None
    PACKAGES  whose versions are recorded; the first must be importable for the side to run
    SIDES     tuple of Side
    missing() and versions(), both optional, where the side is not a Python package: what to
              install, or None; the versions to record
    prepared(side, problem, data)   context manager: loads data, warms up, yields the call to time

The call takes no argument and returns the answer in the problem's own terms. An entry "passes" in
it says how often this call walked the data, where that is not known beforehand.

A yardstick is a side that solves another problem on the same rows, to compare times with: it is
prepared and judged as that problem, and is never said to have the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

MODULES = (
    "plain_numpy",
    "scarce_rows",
    "scarce_fits",
    "glum_tabmat",
    "glum_fits",
    "statsmodels_logit",
    "statsmodels_fits",
    "scikit_learn",
    "scikit_fits",
    "pomegranate_bayes",
    "dense_maxent",
    "scarce_maxent",
    "maxnet_r",
    "elapid_maxent",
    "plain_scores",
    "scarce_scores",
    "scikit_mixture",
    "plain_pass",
    "plain_decide",
    "scarce_decide",
    "scikit_bayes",
    "scarce_bayes",
)


@dataclass(frozen=True)
class Side:
    """One way of one package to solve problems."""

    name: str
    problems: tuple[str, ...]
    engine: str = "this thread"
    blas_threads: str = "one"  # "one" or "all"; scarce sets one by itself, so it gets "all"
    passes: int = 1  # how often the data are walked; in iterative fits the call says it
    yardstick: str | None = None  # the problem that it solves instead


def adapters() -> list[ModuleType]:
    """Return all adapters; importing one needs none of its packages."""
    return [import_module(f"benchmarks.adapters.{name}") for name in MODULES]


def sides_of(problem: str) -> list[tuple[ModuleType, Side]]:
    """Return the sides that solve a problem, the reference first."""
    return [
        (adapter, side)
        for adapter in adapters()
        for side in adapter.SIDES
        if problem in side.problems
    ]
