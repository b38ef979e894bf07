"""What does a regressor of scikit-learn's kind take? Its level, its weights, as many y as rows.

A Pipeline is asked for its last step. Assumes get_params, set_params and fit as scikit-learn has
them. Fits nothing: see quantile_models.py.
"""

from __future__ import annotations

from typing import Any

from scarce.amounts.law_readers import finite, refuse_negative
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError, suggest


def as_long_as(X: Any, values: Any, name: str, table: str = "X") -> Array:
    """Return one finite number per row of X, or refuse."""
    held = finite(values, name)
    shape = getattr(X, "shape", None)
    n_rows = shape[0] if shape else len(X) if isinstance(X, (list, tuple)) else len(held)
    if n_rows != len(held):
        raise DataError(
            f"{table} has {n_rows:,} rows and {name} {len(held):,}: give one number per row."
        )
    return held


def routed_weights(estimator: Any, X: Any, sample_weight: Any) -> dict[str, Array]:
    """Return weights under the name by which they reach the regressor, inside a Pipeline too."""
    from sklearn.utils.validation import has_fit_parameter

    if sample_weight is None:
        return {}
    inner, route = estimator, "sample_weight"
    while hasattr(inner, "steps"):
        route, inner = f"{inner.steps[-1][0]}__{route}", inner.steps[-1][1]
    if not has_fit_parameter(inner, "sample_weight"):
        raise UsageError(f"{type(inner).__name__} takes no sample_weight: leave it out.")
    held = as_long_as(X, sample_weight, "sample_weight")
    refuse_negative(held, "sample_weight", "a weight counts how often a row was seen")
    return {route: held}


def refuse_no_regressor(estimator: Any, example: str) -> None:
    """Refuse what cannot predict, and a class in place of what is made from it."""
    if isinstance(estimator, type) or not hasattr(estimator, "predict"):
        raise UsageError(f"{estimator!r} is no regressor: give {example}, for example.")


def level_parameter(estimator: Any, named: str | None = None) -> str:
    """Return the parameter that sets the level, inside a Pipeline too; refuse other losses."""
    refuse_no_regressor(estimator, "QuantileRegressor()")
    if not hasattr(estimator, "get_params"):
        raise UsageError(f"{estimator!r} is no regressor: it has no get_params().")
    settings = estimator.get_params(deep=True)
    if named is not None:
        if not isinstance(named, str) or named not in settings:
            raise UsageError(
                f"{type(estimator).__name__} has no parameter {named!r}."
                f"{suggest(str(named), settings)} Give the name that set_params takes, inside a "
                "Pipeline with its step, as in 'step__quantile'."
            )
        return named
    found, kinds = [], []
    for stem in dict.fromkeys(name.rpartition("__")[0] for name in settings):
        part = {k: settings.get(f"{stem}__{k}" if stem else k) for k in ("loss", "objective")}
        kind = part["loss"] or part["objective"]
        names = [f"{stem}__{k}" if stem else k for k in ("quantile", "alpha")]
        if names[0] in settings and kind in (None, "quantile"):
            found.append(names[0])  # before alpha, which is a penalty in QuantileRegressor
        elif kind == "quantile":
            found.append(names[1])
        kinds += [f"{word}={kind!r}" for word, value in part.items() if value == kind and kind]
    if len(found) == 1:
        return found[0]
    name = type(estimator).__name__
    if found:
        raise UsageError(f"{name} has several levels: say parameter={found[0]!r} or another.")
    raise UsageError(
        f"{name} ({kinds[0] if kinds else 'without a quantile loss'}) predicts no quantiles: use "
        'QuantileRegressor(), HistGradientBoostingRegressor(loss="quantile") or '
        'GradientBoostingRegressor(loss="quantile"), or name its parameter=.'
    )
