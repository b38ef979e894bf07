"""scarce's MaxentClassifier: one species, many knots, a path of widths, defaults, 226 species."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from benchmarks.adapters.side import Side
from benchmarks.maxents import (
    CERTIFICATE,
    DefaultsProblem,
    MaxentProblem,
    SpeciesProblem,
    asked_rows,
)
from benchmarks.problem import Answer, Array, Data, Problem

NAME = "scarce"
GROUP = None
PACKAGES = ("scarce", "numpy", "numba")
WORKERS = 2

_SIZES = ("maxent-1e4", "maxent-1e5", "maxent-1e6")
SIDES = (
    Side(
        "scarce",
        (*_SIZES, "maxent-knots", "maxent-defaults", "maxent-species"),
        blas_threads="all",
    ),
    Side("scarce, nothing compiled yet", ("maxent-1e4",), blas_threads="all"),
    Side("scarce, threads", ("maxent-1e5", "maxent-1e6"), engine="threads", blas_threads="all"),
    Side("scarce, 50 knots", ("maxent-knots",), blas_threads="all", yardstick="maxent-1e5"),
    Side("scarce, 20 fits in turn", ("maxent-path",), blas_threads="all"),
    Side("scarce", ("maxent-path",), blas_threads="all"),
    Side(
        "scarce, one fit, the last", ("maxent-path",), blas_threads="all", yardstick="maxent-path"
    ),
    Side("scarce, processes", ("maxent-species",), engine="processes", blas_threads="all"),
)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Load the rows, fit a few of them so that the kernels are compiled, and yield the fit.

    With nothing compiled yet the kernels' own folder is empty, and the first call compiles them, as
    the first fit after an installation does; later processes read them from the disk.
    """
    assert isinstance(problem, MaxentProblem)
    if "nothing compiled" in side.name:
        with tempfile.TemporaryDirectory(prefix="scarce-kernels-") as folder:
            os.environ["NUMBA_CACHE_DIR"] = folder  # before numba is imported
            yield _one_species(side, problem, data)
        return
    _warm_up(problem)
    if isinstance(problem, SpeciesProblem):
        each = problem.each(data)
        engine = f"processes:{WORKERS}" if side.engine == "processes" else None
        yield lambda: _species(problem, each, engine)
        return
    yield _one_species(side, problem, data)


def _one_species(side: Side, problem: MaxentProblem, data: Data) -> Callable[[], Answer]:
    X, y = data.arrays()
    engine = f"threads:{WORKERS}" if side.engine == "threads" else None
    asked = problem.asked(X, y)
    scales = problem.scales[-1:] if "one fit" in side.name else problem.scales
    run = _path if len(scales) > 1 and "in turn" not in side.name else _in_turn

    def call() -> Answer:
        if isinstance(problem, DefaultsProblem):
            model = _classifier().fit(X, y)
            return {"ratio": model.density_ratio(X), "passes": np.array([model.report_.passes])}
        return problem.answer(*run(scales, X, y, asked, knots=problem.knots, engine=engine))

    return call


def _warm_up(problem: MaxentProblem) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((500, problem.columns)), np.full(500, np.nan)
    y[:50] = 1.0
    model = _classifier() if isinstance(problem, DefaultsProblem) else _same(1.0)
    model.fit(X, y).density_ratio(X)


def _classifier(**settings: Any) -> Any:
    from scarce import MaxentClassifier

    return MaxentClassifier(**settings)


def _same(scale: float, **settings: Any) -> Any:
    """Return the classifier with maxnet's hinges and half widths, times a scale."""
    return _classifier(
        features="h",
        knots_at="uniform",
        widths="maxent",
        width_scale=scale,
        tol=CERTIFICATE,
        **settings,
    )


def _in_turn(
    scales: tuple[float, ...], X: Array, y: Array, asked: Array, **settings: Any
) -> tuple[list[Array], int]:
    """Return the predictions of one fit per scale, each from nothing, and the passes of all."""
    models = [_same(scale, **settings).fit(X, y) for scale in scales]
    ratios = [model.density_ratio(asked) for model in models]
    return ratios, sum(model.report_.passes for model in models)


def _path(
    scales: tuple[float, ...], X: Array, y: Array, asked: Array, **settings: Any
) -> tuple[list[Array], int]:
    """Return the same from one preparation of the rows, each fit starting from the one before.

    This is what width_scale="auto" does within a fold, with every fit to the end.
    """
    from scarce.engine.executors import one_blas_thread
    from scarce.maxent.fit import solve

    model = _same(scales[0], **settings).fit(X, y)
    ratios, passes = [model.density_ratio(asked)], model.report_.passes
    with one_blas_thread:
        data, _, _ = model._prepare(X, y, None, None)
        for scale in scales[1:]:
            solved = solve(data, scale, model.coef_, None)
            model._settle(data, solved, None)
            ratios.append(model.density_ratio(asked))
            passes += solved.passes
    return ratios, passes


def _species(problem: SpeciesProblem, each: list[Any], engine: str | None) -> Answer:
    from scarce.engine.executors import many

    fits = [partial(_one, problem, species) for species in each]
    curves, passes = zip(*many(fits, engine=engine), strict=True)
    return {"curves": np.array(curves), "passes": np.array(passes)}


def _one(problem: SpeciesProblem, species: Any) -> tuple[Array, int]:
    X, y, variables, categorical = species
    model = _same(1.0, knots=problem.knots, categorical=categorical).fit(X, y)
    asked = asked_rows(variables, X[y == 1.0][0], X[:0])
    return problem.curves(variables, model.density_ratio(asked)), model.report_.passes
