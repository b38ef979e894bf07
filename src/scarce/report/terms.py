"""What does a fitted model say of single columns? Coefficients with intervals, or response curves.

Shows the most telling first where there is no room for all: coefficients by what one standard
deviation changes, curves by how far they range. Says how many are left out, and which kind of
interval is shown. Asks the model; computes nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scarce.errors import ScarceError
from scarce.report.bars import MOST_BARS, bar_chart
from scarce.report.lines import response_chart
from scarce.report.page import Report
from scarce.report.values import number, sentence

MOST_TERMS = 200
MOST_PANELS = 8
METHODS = {
    "wald": "Wald: a multiple of the standard error on either side",
    "profile": "profile likelihood: values that the rows do not speak against",
}


def is_linear(model: Any) -> bool:
    """Whether a model has one coefficient for each column."""
    try:
        shape = np.shape(model.coef_)
    except (AttributeError, ScarceError):  # some kinds of a model have coefficients, others none
        return False
    return len(shape) == 2 and shape[0] == 1 and hasattr(model, "intercept_")


def show_coefficients(page: Report, model: Any, level: float, spread: Mapping[str, float]) -> None:
    """Add the table of coefficients, and bars of what a standard deviation changes."""
    value = np.append(np.ravel(model.coef_), np.ravel(model.intercept_))
    names = [*column_names(model), "intercept"]
    page.heading("Coefficients")
    low = high = None
    said = ""
    if hasattr(model, "coef_interval"):
        try:
            found = model.coef_interval(level=level)
            low, high = np.asarray(found.low), np.asarray(found.high)
            said = f", with {100 * level:g} % intervals ({_kind(found.method)})"
        except ScarceError as error:
            page.text(f"Without intervals: {error}")
    columns = ["column", "coefficient"]
    rows = [[name, float(v)] for name, v in zip(names, value, strict=True)]
    if low is not None and high is not None:
        columns += ["low", "high"]
        for row, a, b in zip(rows, low.ravel().tolist(), high.ravel().tolist(), strict=True):
            row += [a, b]
    page.table(
        columns,
        rows[:MOST_TERMS],
        caption=f"In the units of each column: what one unit more adds to the score{said}",
    )
    if len(rows) > MOST_TERMS:
        page.text(f"{len(rows) - MOST_TERMS:,} more coefficients are not shown.")
    _effects(page, names[:-1], value[:-1], spread)


def _kind(method: str) -> str:
    return next((told for key, told in METHODS.items() if key in method), method)


def _effects(page: Report, names: list[str], value: Any, spread: Mapping[str, float]) -> None:
    effect = {
        name: float(v * spread[name]) for name, v in zip(names, value, strict=True)
        if spread.get(name)
    }  # fmt: skip
    if not effect:
        return
    order = sorted(effect, key=lambda name: -abs(effect[name]))
    told = "What one standard deviation more of a column, in these rows, adds to the score"
    if len(order) > MOST_BARS:
        told += f": the {MOST_BARS} with the greatest effect of {len(order)} columns of numbers"
    left = len(names) - len(effect)
    if left:
        told += (
            f". {left:,} without a standard deviation in these rows, such as levels of categories, "
            f"{'stands' if left == 1 else 'stand'} in the table alone"
        )
    page.figure(
        bar_chart(order, [effect[name] for name in order], x_label="change of the score"),
        f"{told}.",
    )


def show_responses(page: Report, model: Any) -> None:
    """Add the curves of the variables that move the probability most."""
    names, labels = column_names(model), _labelled_classes(model)
    if not labels:
        return
    what, levels, curves = f"probability of {labels[-1]!s}", _levels(model), {}
    page.heading("What single variables say")
    found = {name: model.response_curve(name, label=labels[-1]) for name in names[:MOST_TERMS]}
    order = sorted(found, key=lambda name: -float(np.ptp(found[name].prob)))[:MOST_PANELS]
    if len(names) > MOST_PANELS:
        among = f"the first {MOST_TERMS} of {len(names):,}" if len(names) > MOST_TERMS else ""
        page.text(
            f"The {MOST_PANELS} variables whose curves range furthest, of "
            f"{among or f'{len(names):,}'}; {len(names) - MOST_PANELS:,} are not shown."
        )
    for name in order:
        one = found[name]
        if name not in levels:
            curves[name] = (one.x, one.prob)
            continue
        told = [str(levels[name][int(code)]) for code in one.x if int(code) < len(levels[name])]
        _levels_drawn(page, name, told, one.prob[: len(told)], what)
    if curves:
        page.figure(
            response_chart(curves, y_label=what, y_percent=True),
            f"{sentence(what)} with one variable known and all others missing.",
        )


def _levels_drawn(page: Report, name: str, told: list[str], prob: Any, what: str) -> None:
    shown = np.arange(len(told))
    some = ""
    if len(told) > MOST_BARS:
        shown = np.sort(np.argsort(-prob, kind="stable")[:MOST_BARS])
        some = f" The {MOST_BARS} levels with the highest of {len(told)}."
    page.figure(
        bar_chart([told[i] for i in shown], prob[shown], x_label=what, percent=True),
        f"{sentence(what)} by {name}, with all other variables missing.{some}",
    )


def _levels(model: Any) -> dict[str, list[Any]]:
    """Levels of each category, as the data of the fit named them."""
    marked = np.ravel(getattr(model, "is_category_", []))
    schema = getattr(model, "schema_", None) or {}
    named = {column[0]: list(column[2]) for column in schema.get("columns", []) if column[2]}
    found = {}
    for at, name in enumerate(column_names(model)):
        if at < len(marked) and marked[at]:
            count = len(model.knots_[at])
            found[name] = named.get(name) or [number(v) for v in model.knots_[at]][:count]
    return found


def _labelled_classes(model: Any) -> list[Any]:
    marked = getattr(model, "is_labelled_", None)
    if marked is None:
        return []
    return [name for name, one in zip(list(model.classes_), marked, strict=True) if one]


def column_names(model: Any) -> list[str]:
    """Return the names of the model's columns."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"x{place}" for place in range(model.n_features_in_)]
    return [str(name) for name in names]
