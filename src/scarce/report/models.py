"""How does a fitted model introduce itself on a page?

Its certificate (how the fit ended, and what that proves), how its settings were chosen, and what it
says of single columns: coefficients, weights of members, response curves. Known by its fitted
attributes, so a model of one's own shows what it has. Asks the model; computes nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scarce.errors import ScarceError
from scarce.report.bars import bar_chart
from scarce.report.lines import response_chart
from scarce.report.page import Report
from scarce.report.values import number, sentence

MOST_TERMS = 200
MOST_PANELS = 8
WORDS = {
    "loss": "loss",
    "shape_": "shape of the link",
    "ridge_": "ridge",
    "floor_": "floor: weight of the prevalence in every probability",
    "prevalence_": "share of events in training",
    "objective": "objective",
    "default_prevalence": "default prevalence",
    "width_scale_": "width of the boxes",
    "covariance": "covariance",
    "chosen_": "what predicts",
}
SHARES = {"trained_at_": "class shares it predicts at", "now_at_": "class shares moved to"}


def show_model(
    page: Report, model: Any, *, level: float = 0.9, spread: Mapping[str, float] | None = None
) -> Report:
    """Add what a fitted model says of itself.

    Parameters
    ----------
    page : Report
    model : estimator
        Fitted; one that wraps another shows both.
    level : float
        Coverage of the coefficients' intervals, where the fit allows any.
    spread : mapping of column to standard deviation, optional
        With it coefficients are shown per standard deviation too, which can be compared.

    Examples
    --------
    >>> from scarce import GaussianBayes
    >>> model = GaussianBayes().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> show_model(Report("May"), model).to_dict()["sections"][0]["parts"][0]["text"]
    'GaussianBayes, solved in closed form after 1 pass... The answer is exact up to rounding.'
    """
    wrapped = getattr(model, "estimator_", None)
    if wrapped is not None:
        page.text(f"{type(model).__name__} moves the probabilities of a {type(wrapped).__name__}.")
        _settings(page, model, SHARES)
        page.text("What follows is the model inside, before its probabilities are moved.")
        return show_model(page, wrapped, level=level, spread=spread)
    _certificate(page, model)
    _settings(page, model, WORDS)
    if getattr(model, "selection_", None) is not None:
        page.heading("How settings were chosen").code(str(model.selection_))
    if isinstance(getattr(model, "weights_", None), dict):
        _members(page, model)
    elif hasattr(model, "response_curve"):
        _responses(page, model)
    elif _linear(model):
        _coefficients(page, model, level, spread or {})
    elif hasattr(model, "class_prior_") and hasattr(model, "mean_"):
        _classes(page, model)
    return page


def _certificate(page: Report, model: Any) -> None:
    report = getattr(model, "report_", None)
    if report is None:
        page.text(f"{type(model).__name__}; it carries no certificate of its fit.")
        return
    for warning in report.warnings:
        page.warn(warning)
    if not report.converged:
        page.warn(f"The fit did not reach its target: {str(report).splitlines()[0]}.")
    page.text(f"{type(model).__name__}, {str(report).splitlines()[0]}. {report.meaning}")


def _settings(page: Report, model: Any, words: Mapping[str, str]) -> None:
    rows: list[tuple[str, Any]] = []
    for name, told in words.items():
        value = getattr(model, name, None)
        if isinstance(value, (bool, str, int)):
            rows.append((told, value))
        elif name in SHARES and value is not None:
            pairs = zip(model.classes_, np.ravel(value), strict=True)
            rows.append((told, ", ".join(f"{k!s}: {number(p, percent=True)}" for k, p in pairs)))
        elif isinstance(value, float) and not np.isnan(value):
            rows.append((told, value))
    if rows:
        page.table(["setting", "value"], rows, align="lr")


def _linear(model: Any) -> bool:
    try:
        shape = np.shape(model.coef_)
    except (AttributeError, ScarceError):  # some kinds of a model have coefficients, others none
        return False
    return len(shape) == 2 and shape[0] == 1 and hasattr(model, "intercept_")


def _coefficients(page: Report, model: Any, level: float, spread: Mapping[str, float]) -> None:
    value = np.append(np.ravel(model.coef_), np.ravel(model.intercept_))
    names = [*_names(model), "intercept"]
    page.heading("Coefficients")
    low = high = None
    if hasattr(model, "coef_interval"):
        try:
            found = model.coef_interval(level=level, method="wald")
            low, high = np.asarray(found.low), np.asarray(found.high)
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
        caption="In the units of each column: what one unit more adds to the score"
        + (f", with {100 * level:g} % intervals" if low is not None else ""),
    )
    effect = {
        name: float(v * spread[name])
        for name, v in zip(names[:-1], value[:-1], strict=True)
        if spread.get(name)
    }
    if effect:
        order = sorted(effect, key=lambda name: -abs(effect[name]))
        page.figure(
            bar_chart(order, [effect[name] for name in order], x_label="change of the score"),
            "What one standard deviation more of each column, in these rows, adds to the score.",
        )
    if len(rows) > MOST_TERMS:
        page.text(f"{len(rows) - MOST_TERMS:,} more coefficients are not shown.")


def _members(page: Report, model: Any) -> None:
    page.heading("Members")
    if model.weights_:
        names = sorted(model.weights_, key=lambda name: -model.weights_[name])
        page.figure(
            bar_chart(
                names, [model.weights_[name] for name in names], x_label="weight in the stack"
            ),
            "Weight of each member's log-odds in the stack.",
        )
    fallback = getattr(model, "fallback_", None)
    if fallback:
        page.text(str(fallback))
    compared = getattr(model, "comparison_", None)
    if compared:
        keys = [key for key in next(iter(compared.values())) if not key.endswith("_error")]
        page.table(
            ["model", *(key.replace("_", " ") for key in keys)],
            [(name, *(_with_error(one, key) for key in keys)) for name, one in compared.items()],
            caption="On rows that each fit had not seen, with standard errors over folds",
            align="l" + "r" * len(keys),
        )


def _with_error(line: dict[str, float], key: str) -> str:
    error = line.get(f"{key}_error")
    return number(line[key]) + ("" if error is None else f" ± {number(error)}")


def _responses(page: Report, model: Any) -> None:
    names, labels = _names(model), _labelled_classes(model)
    if not labels:
        return
    what, levels, curves = f"probability of {labels[-1]!s}", _levels(model), {}
    page.heading("What single variables say")
    if len(names) > MOST_PANELS:
        page.text(f"The first {MOST_PANELS} of {len(names)} variables.")
    for name in names[:MOST_PANELS]:
        one = model.response_curve(name, label=labels[-1])
        if name not in levels:
            curves[name] = (one.x, one.prob)
            continue
        told = [str(levels[name][int(code)]) for code in one.x if int(code) < len(levels[name])]
        page.figure(
            bar_chart(told, one.prob[: len(told)], x_label=what, percent=True),
            f"{sentence(what)} by {name}, with all other variables missing.",
        )
    if curves:
        page.figure(
            response_chart(curves, y_label=what, y_percent=True),
            f"{sentence(what)} with one variable known and all others missing.",
        )


def _levels(model: Any) -> dict[str, list[Any]]:
    """Levels of each category, as the data of the fit named them."""
    marked = np.ravel(getattr(model, "is_category_", []))
    schema = getattr(model, "schema_", None) or {}
    named = {column[0]: list(column[2]) for column in schema.get("columns", []) if column[2]}
    found = {}
    for at, name in enumerate(_names(model)):
        if at < len(marked) and marked[at]:
            count = len(model.knots_[at])
            found[name] = named.get(name) or [number(v) for v in model.knots_[at]][:count]
    return found


def _labelled_classes(model: Any) -> list[Any]:
    marked = getattr(model, "is_labelled_", None)
    if marked is None:
        return []
    return [name for name, one in zip(list(model.classes_), marked, strict=True) if one]


def _classes(page: Report, model: Any) -> None:
    names = _names(model)[:MOST_TERMS]
    means = np.asarray(model.mean_)[:, : len(names)]
    page.heading("Classes").table(
        ["class", "share"],
        [
            (str(name), number(share, percent=True))
            for name, share in zip(model.classes_, model.class_prior_, strict=True)
        ],
        align="lr",
    )
    page.table(
        ["column", *(f"mean of {name!s}" for name in list(model.classes_)[:8])],
        [(name, *map(float, means[:8, j])) for j, name in enumerate(names)],
    )


def _names(model: Any) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"x{place}" for place in range(model.n_features_in_)]
    return [str(name) for name in names]
