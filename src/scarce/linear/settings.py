"""What was asked for: the parameters of a RareClassifier, checked and turned into a task.

Says in one sentence what cannot work, chooses what is "auto" on held-out rows (search.py), and
finds the column or the values that are an offset. Fits nothing itself: see rare.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_random_state

from scarce.engine.block import Array
from scarce.engine.executors import Engine
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.errors import DataError, UsageError, refuse_word
from scarce.io.inputs import WEIGHT_KINDS
from scarce.linear.losses import LOSSES
from scarce.linear.regress import Setting
from scarce.linear.selection import (
    COARSE_SHAPES,
    FLOORS,
    FURTHEST,
    PAPER_RIDGES,
    PAPER_SHAPES,
    RELATIVE_RIDGES,
    Candidates,
    Choice,
    Plan,
    select,
)
from scarce.linear.sums import Look


def check_parameters(model: Any) -> None:
    """Refuse parameters that cannot work, each in one sentence."""
    refuse_word("loss", model.loss, ("auto", *LOSSES))
    refuse_word("domain", model.domain, ("line", "paper"))
    refuse_word("weight_kind", model.weight_kind, WEIGHT_KINDS)
    if model.bias_reduction is not None:
        refuse_word("bias_reduction", model.bias_reduction, ("firth", "flic"))
        if model.loss != "logistic" or model.ridge != 0 or not model.fit_intercept:
            raise UsageError(
                f"bias_reduction={model.bias_reduction!r} with loss={model.loss!r}, ridge="
                f"{model.ridge!r}, fit_intercept={model.fit_intercept}: Firth's penalty takes "
                "the place of a ridge in logistic regression. Pass loss='logistic', ridge=0."
            )
    if model.domain == "paper" and model.loss != "gev-canonical":
        raise UsageError(
            f"domain='paper' is the constraint set of the GEV-canonical loss, and loss="
            f"{model.loss!r} has none. Pass loss='gev-canonical', or domain='line'."
        )
    for name, low, high in (("ridge", 0.0, np.inf), ("shape", -1.0, 1.5), ("floor", 0.0, 1.0)):
        value = getattr(model, name)
        number = isinstance(value, (int, float, np.number)) and low <= value <= high
        if value != "auto" and not (number and np.isfinite(value)):
            raise UsageError(
                f"{name}={value!r}: give a number from {low:g} to {high:g}, or 'auto'."
            )
    if isinstance(model.shapes, str):
        refuse_word("shapes", model.shapes, ("continuous",))
    if not model.tol > 0 or not model.max_passes >= 1:
        raise UsageError(
            f"tol={model.tol!r}, max_passes={model.max_passes!r}: both must be above 0."
        )


def offset_position(model: Any, rows: Rows) -> int | None:
    """Return the position of the column that is an offset."""
    if model.offset is None:
        return None
    names = list(getattr(model, "feature_names_in_", range(rows.n_columns)))
    if model.offset in names:
        return names.index(model.offset)
    if isinstance(model.offset, (int, np.integer)) and 0 <= model.offset < rows.n_columns:
        return int(model.offset)
    raise UsageError(
        f"offset={model.offset!r} is not a column of X, which has "
        f"{', '.join(map(repr, names[:8]))}. Name one of them, or pass fit(X, y, offset=values)."
    )


def setting_of(model: Any, seen: Look, position: int | None) -> Setting:
    """Return how the regression is to be done."""
    intercept = "penalised" if model.penalize_intercept else "free"
    intercept = intercept if model.fit_intercept else "none"
    # Beside a free intercept columns are as good as centred; else their size counts, not only their
    # standard deviation, and a constant column is penalised like others.
    units = seen.spread if intercept == "free" else np.hypot(seen.spread, seen.mean)
    return Setting(
        intercept,
        position,
        model.domain,
        model.tol,
        model.max_passes,
        units if model.standardize else None,
    )


def choose(
    model: Any, rows: Rows, seen: Look, setting: Setting, groups: Any
) -> tuple[str, float, float, Choice | None]:
    """Return loss, shape and ridge as used, and how they were chosen where anything was."""
    auto = model.loss == "auto"
    gev = auto or model.loss.startswith("gev")
    shapes: tuple[float, ...] = (
        (float(model.shape),) if gev and model.shape != "auto" else (np.nan,)
    )
    if gev and model.shape == "auto":
        whole = model.shapes is None or isinstance(model.shapes, str)
        usual = COARSE_SHAPES if auto else PAPER_SHAPES
        shapes = usual if whole else _numbers("shapes", model.shapes, -1.0, 1.5)
    if model.ridge != "auto" and not auto and not (gev and model.shape == "auto"):
        return model.loss, shapes[0], float(model.ridge), None
    ridges, furthest = _ridges(model, seen)
    seed = 0 if model.random_state is None else model.random_state
    if not isinstance(seed, (int, np.integer)):
        seed = int(check_random_state(seed).randint(2**31 - 1))
    least = FLOORS[0] if model.floor == "auto" else float(model.floor)
    plan = Plan(
        model.select_by, model.cv, least if gev else 0.0, int(seed), groups, model.floor == "auto"
    )
    found = select(
        rows,
        seen,
        Candidates(model.loss, shapes, ridges, furthest),
        setting,
        plan,
        engine=model.engine,
        progress=model.progress,
        continuous=isinstance(model.shapes, str),
    )
    return found.loss, found.selection.shape, found.selection.ridge, found


def _numbers(name: str, given: Any, low: float, high: float) -> tuple[float, ...]:
    """Return the numbers to choose from, or say what is wrong with them."""
    try:
        numbers = tuple(float(value) for value in given)
    except (TypeError, ValueError):
        numbers = ()
    if not numbers or not all(low <= value <= high and value < np.inf for value in numbers):
        raise UsageError(
            f"{name}={given!r}: give a list of numbers from {low:g} to {high:g}, at least one."
        )
    return numbers


def _ridges(model: Any, seen: Look) -> tuple[tuple[float, ...], tuple[float, float] | None]:
    """Return the ridges to choose from, ascending, and how far they may be extended."""
    if model.ridge != "auto":
        return (float(model.ridge),), None
    if model.ridges is None and not model.standardize:
        return PAPER_RIDGES, None
    if model.ridges is None:
        unit = seen.total * seen.prevalence * (1.0 - seen.prevalence)
        lowest, highest = FURTHEST
        return tuple(unit * ridge for ridge in RELATIVE_RIDGES), (unit * lowest, unit * highest)
    numbers = _numbers("ridges", model.ridges, 0.0, np.inf)
    if min(numbers) == 0:
        raise UsageError(
            f"ridges={list(numbers)} holds 0, which may have no answer on a fold. Give numbers "
            "above 0; for no penalty at all pass ridge=0."
        )
    return tuple(sorted(numbers)), None


def floor_of(model: Any, loss: str, asked: Choice | None) -> float:
    """Return the weight of the prevalence in every probability."""
    if model.floor != "auto":
        return float(model.floor)
    if not loss.startswith("gev"):
        return 0.0
    return FLOORS[0] if asked is None else asked.floor


def finite_vector(offset: Any, n: int) -> Array:
    """Return an offset as one finite number per row."""
    values = np.asarray(offset, dtype=np.float64)
    if values.shape != (n,) or not np.isfinite(values).all():
        raise DataError(
            f"offset has shape {values.shape} for {n:,} rows, or is not finite: give one finite "
            "number per row."
        )
    return values


def with_offset(rows: Rows, offset: Any, position: int | None, engine: Engine) -> tuple[Rows, int]:
    """Append the offset as a column whose coefficient is 1."""
    if position is not None or not isinstance(rows, ArrayRows):
        raise UsageError(
            "fit(offset=...) goes with arrays and without a column of that role: for Rows name the "
            "column, RareClassifier(offset='column')."
        )
    blocks = list(rows.blocks())
    values = finite_vector(offset, len(rows))
    X = np.column_stack([np.concatenate([block.X for block in blocks]), values])
    assert blocks[0].y is not None
    y = np.concatenate([block.y for block in blocks if block.y is not None])
    weight = (
        None
        if blocks[0].weight is None
        else np.concatenate([block.weight for block in blocks if block.weight is not None])
    )
    names = [*rows.names, "offset"]
    return ArrayRows(
        X, y, weight=weight, names=names, classes=rows.classes, engine=engine, check=False
    ), X.shape[1] - 1
