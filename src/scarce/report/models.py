"""How is a fitted model shown on a page?

Its certificate (how the fit ended and what that proves), how its settings were chosen, the members
of a stack and which of them predicts, and the effect of each column: coefficients with intervals,
or response curves, the largest first. Any estimator works: what is shown depends on the fitted
attributes it has. Calls methods of the model; computes nothing itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from scarce.errors import ScarceError
from scarce.plots.picture import Array, Axis, Bars, Line, Panels
from scarce.report.page import Report
from scarce.report.values import number, sentence

Model = Any  # a fitted estimator of any class; each part of the page needs some of its attributes
MOST_TERMS = 200
MOST_BARS = 40
MOST_PANELS = 8
METHODS = {
    "wald": "Wald: estimate +- a multiple of the standard error",
    "profile": "profile likelihood: values that a likelihood ratio test does not reject",
}
WORDS = {
    "loss": "loss",
    "shape_": "shape of the link",
    "ridge_": "ridge",
    "floor_": "floor: weight of the base rate in every probability",
    "prevalence_": "base rate in training",
    "objective": "objective",
    "default_prevalence": "default prevalence of the labelled class: assumed, not estimated",
    "width_scale_": "width of the boxes around the means of labelled rows, in standard errors",
    "covariance": "covariance",
    "slope_": "slope of the calibration: 1 takes the densities as they are, 0 gives the base rates",
    "chosen_": "model used to predict",
}
COMPARED = {"log_loss": "log loss", "brier": "Brier score", "total": "predicted / observed"}
RULES = {  # by `fallback`: when a member predicts instead of the stack
    "loss": (
        "A single member is used instead only if the stack's log loss is more than 10 % above that "
        "of the best member, or not below that of logit."
    ),
    "noise": (
        "logit is used instead unless the stack's gain over it exceeds the standard error of the "
        "gain."
    ),
    None: "The stack is used whatever its members achieve alone.",
}
SHARES = {"trained_at_": "base rates of the model", "now_at_": "base rates after correction"}


def show_model(
    page: Report, model: Model, *, level: float = 0.9, spread: Mapping[str, float] | None = None
) -> Report:
    """Add the certificate, settings and effects of a fitted model.

    Parameters
    ----------
    page : Report
    model : estimator
        Fitted. If it wraps another, both are shown.
    level : float
        Coverage of the coefficients' intervals, where the fit has valid ones.
    spread : mapping of column to standard deviation, optional
        Also show coefficients per standard deviation, which makes them comparable.

    Examples
    --------
    >>> from scarce import GaussianBayes
    >>> model = GaussianBayes(calibrate=False).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> show_model(Report("May"), model).to_dict()["sections"][0]["parts"][0]["text"]
    'GaussianBayes, solved in closed form after 1 pass... The answer is exact up to rounding.'
    """
    wrapped = getattr(model, "estimator_", None)
    if wrapped is not None:
        page.text(
            f"{type(model).__name__} recalibrates the probabilities of a {type(wrapped).__name__}."
        )
        _settings(page, model, SHARES)
        page.text("What follows describes the model inside, before recalibration.")
        return show_model(page, wrapped, level=level, spread=spread)
    _certificate(page, model)
    _settings(page, model, WORDS)
    if hasattr(model, "is_labelled_") and hasattr(model, "class_prior_"):
        page.text(level_of(model))
    if getattr(model, "selection_", None) is not None:
        page.heading("How settings were chosen").code(str(model.selection_))
    if isinstance(getattr(model, "weights_", None), dict):
        _members(page, model)
    elif hasattr(model, "response_curve"):
        show_responses(page, model)
    elif is_linear(model):
        show_coefficients(page, model, level, spread or {})
    elif hasattr(model, "class_prior_") and hasattr(model, "mean_"):
        _classes(page, model)
    return page


def _certificate(page: Report, model: Model) -> None:
    report = getattr(model, "report_", None)
    if report is None:
        page.text(f"{type(model).__name__}; its fit has no certificate.")
        return
    for warning in report.warnings:
        page.warn(warning)
    if not report.converged:
        page.warn(f"{type(model).__name__}: {str(report).splitlines()[0]}.")
    page.text(f"{type(model).__name__}, {str(report).splitlines()[0]}. {report.meaning}")


def _settings(page: Report, model: Model, words: Mapping[str, str]) -> None:
    rows: list[tuple[str, object]] = []
    for name, told in words.items():
        value = getattr(model, name, None)
        if name == "default_prevalence" and value == "auto":
            continue  # see level_of
        if isinstance(value, (bool, str, int)):
            rows.append((told, value))
        elif name in SHARES and value is not None:
            pairs = zip(model.classes_, np.ravel(value), strict=True)
            rows.append((told, ", ".join(f"{k!s}: {number(p, percent=True)}" for k, p in pairs)))
        elif isinstance(value, float) and not np.isnan(value):
            rows.append((told, value))
    if rows:
        page.table(["setting", "value"], rows, align="lr")


def level_of(model: Model) -> str:
    """State the base rate that a maxent model's probabilities assume.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> level_of(SimpleNamespace(classes_=[0, 1], class_prior_=[0.7, 0.3]))[:65]
    'The base rate is assumed, not estimated: 30 % for 1 among all row'
    """
    rate = f"{number(model.class_prior_[-1], percent=True)} for {model.classes_[-1]!s}"
    if getattr(model, "prevalence", None) is not None:
        return f"The base rate was given: {rate}."
    if getattr(model, "class_prior_from_", "assumed") == "observed":
        return f"Every row is labelled, so the base rate is the observed one: {rate}."
    return (
        f"The base rate is assumed, not estimated: {rate} among all rows. Labels of this kind do "
        "not identify it; they identify which rows are more likely than others."
    )


def _members(page: Report, model: Model) -> None:
    page.heading("Members")
    chosen = getattr(model, "chosen_", "auto")
    if model.weights_:
        names = sorted(model.weights_, key=lambda name: -model.weights_[name])
        unused = "" if chosen == "auto" else f" The stack is not used: {chosen} predicts alone."
        page.figure(
            Bars(names, [model.weights_[name] for name in names], Axis("weight in the stack")),
            f"Weight of each member's log-odds in the stack.{unused}",
        )
    fallback = getattr(model, "fallback_", None)
    if fallback:
        page.text(str(fallback))
    _compared(page, model)
    if hasattr(model, "drivers"):
        show_drivers(page, model)


def show_drivers(page: Report, model: Model) -> None:
    """Add what each column is worth, and how predictions move with those that matter most."""
    try:
        found = model.drivers()
    except ScarceError:  # too few labels to leave rows out
        return
    shown = [one for one in found.ranked() if one[0] in found.curves]
    if not shown:
        return
    page.heading("Drivers").table(
        ["column", "increase of the log loss"],
        [(name, f"{number(more)} ± {number(error)}") for name, more, error in shown[:MOST_BARS]],
        caption=f"Increase of the log loss ({number(found.loss)}) of {found.rows:,} left-out rows "
        "when a column is shuffled, ± standard error over folds. Of two columns that say the same, "
        "each looks as if it did not matter. This is no statement about causes.",
        align="lr",
    )
    levels, curves = _named_levels(model), {}
    what = f"probability of {model.classes_[-1]!s}"
    for name, more, error in shown[:MOST_PANELS]:
        x, prob = found.curves[name]
        if not more > error:
            continue
        if name in levels:
            told = [levels[name][int(code)] for code in x]
            _levels_drawn(page, name, told, prob[:, -1], what, "on average over left-out rows")
        else:
            curves[name] = [Line("", x, prob[:, -1])]
    if curves:
        page.figure(
            Panels(curves, Axis(what, percent=True)),
            f"Mean {what} of left-out rows with one column set to a value: the columns whose "
            "increase exceeds its standard error.",
        )


def _named_levels(model: Model) -> dict[str, list[str]]:
    """Names of the levels of each category that a model learnt from."""
    schema = getattr(model, "schema_", None) or {}
    return {
        column[0]: [str(level) for level in column[2]]
        for column in schema.get("columns", [])
        if column[2]
    }


def _compared(page: Report, model: Model) -> None:
    """Add the table of left-out figures."""
    chosen = getattr(model, "chosen_", "auto")
    compared = getattr(model, "comparison_", None)
    if not compared:
        return
    keys = [key for key in next(iter(compared.values())) if not key.endswith("_error")]
    told = "On held-out rows, ± standard error over folds; smaller losses are better."
    if "total" in keys:
        told += " predicted / observed: expected over observed number of events; 1 is unbiased."
    page.table(
        ["model", *(COMPARED.get(key, key.replace("_", " ")) for key in keys)],
        [(name, *(_with_error(one, key) for key in keys)) for name, one in compared.items()],
        caption=told,
        align="l" + "r" * len(keys),
    )
    page.text(
        "constant: the base rate for every row. logit: logistic regression. best single: the "
        "member with the smallest log loss, chosen without the rows it is scored on. auto: the "
        "stack, a weighted sum of the members' log-odds."
    )
    single = next((line for name, line in compared.items() if name.startswith("best ")), None)
    if chosen == "auto" and single and single["log_loss"] < compared["auto"]["log_loss"]:
        page.text(
            "The stack is used although the best single member has the smaller log loss here; the "
            "difference is within the noise of the folds. "
            f"{RULES.get(getattr(model, 'fallback', 'loss'), '')}"
        )


def _with_error(line: dict[str, float], key: str) -> str:
    error = line.get(f"{key}_error")
    return number(line[key]) + ("" if error is None else f" ± {number(error)}")


def _classes(page: Report, model: Model) -> None:
    names = column_names(model)[:MOST_TERMS]
    means = np.asarray(model.mean_)[:, : len(names)]
    page.heading("Classes").table(
        ["class", "base rate"],
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


# --- effects of single columns --------------------------------------------------------------


def is_linear(model: Model) -> bool:
    """Whether a model has one coefficient for each column."""
    try:
        shape = np.shape(model.coef_)
    except (AttributeError, ScarceError):  # coefficients exist for some settings only
        return False
    return len(shape) == 2 and shape[0] == 1 and hasattr(model, "intercept_")


def show_coefficients(
    page: Report, model: Model, level: float, spread: Mapping[str, float]
) -> None:
    """Add a table of coefficients, and bars of the effect of one standard deviation."""
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
            page.text(error.problem.amended("No intervals: "))
    columns = ["column", "coefficient"]
    rows = [[name, float(v)] for name, v in zip(names, value, strict=True)]
    if low is not None and high is not None:
        columns += ["low", "high"]
        for row, a, b in zip(rows, low.ravel().tolist(), high.ravel().tolist(), strict=True):
            row += [a, b]
    page.table(
        columns,
        rows[:MOST_TERMS],
        caption=f"Change of the score per unit of the column{said}",
    )
    if len(rows) > MOST_TERMS:
        page.text(f"{len(rows) - MOST_TERMS:,} more coefficients are not shown.")
    _effects(page, names[:-1], value[:-1], spread)


def _kind(method: str) -> str:
    return next((told for key, told in METHODS.items() if key in method), method)


def _effects(page: Report, names: list[str], value: Array, spread: Mapping[str, float]) -> None:
    effect = {
        name: float(v * spread[name]) for name, v in zip(names, value, strict=True)
        if spread.get(name)
    }  # fmt: skip
    if not effect:
        return
    order = sorted(effect, key=lambda name: -abs(effect[name]))
    told = "Change of the score per standard deviation of the column in these rows"
    if len(order) > MOST_BARS:
        told += f": the {MOST_BARS} largest of {len(order)} numeric columns"
    left = len(names) - len(effect)
    if left:
        told += (
            f". {left:,} without a standard deviation in these rows, such as levels of categories, "
            f"{'is' if left == 1 else 'are'} only in the table"
        )
    page.figure(
        Bars(order, [effect[name] for name in order], Axis("change of the score"), most=MOST_BARS),
        f"{told}.",
    )


def show_responses(page: Report, model: Model) -> None:
    """Add the response curves with the largest range."""
    names, labels = column_names(model), _labelled_classes(model)
    if not labels:
        return
    what, levels, curves = f"probability of {labels[-1]!s}", _levels(model), {}
    page.heading("Response curves")
    found = {name: model.response_curve(name, label=labels[-1]) for name in names[:MOST_TERMS]}
    order = sorted(found, key=lambda name: -float(np.ptp(found[name].prob)))[:MOST_PANELS]
    if len(names) > MOST_PANELS:
        among = f"the first {MOST_TERMS} of {len(names):,}" if len(names) > MOST_TERMS else ""
        page.text(
            f"The {MOST_PANELS} variables with the largest range, of "
            f"{among or f'{len(names):,}'}; {len(names) - MOST_PANELS:,} are not shown."
        )
    for name in order:
        one = found[name]
        if name not in levels:
            curves[name] = [Line("", one.x, one.prob)]
            continue
        told = [levels[name][int(code)] for code in one.x if int(code) < len(levels[name])]
        _levels_drawn(page, name, told, one.prob[: len(told)], what)
    if curves:
        page.figure(
            Panels(curves, Axis(what, percent=True)),
            f"{sentence(what)} given one variable, with all others missing.",
        )


def _levels_drawn(
    page: Report,
    name: str,
    told: list[str],
    prob: Array,
    what: str,
    how: str = "with all other variables missing",
) -> None:
    shown = np.arange(len(told))
    some = ""
    if len(told) > MOST_BARS:
        shown = np.sort(np.argsort(-prob, kind="stable")[:MOST_BARS])
        some = f" The {MOST_BARS} most probable of {len(told)} levels."
    page.figure(
        Bars([told[i] for i in shown], prob[shown], Axis(what, percent=True)),
        f"{sentence(what)} by {name}, {how}.{some}",
    )


def _levels(model: Model) -> dict[str, list[str]]:
    """Names of the levels of each category, from the training data."""
    marked = np.ravel(getattr(model, "is_category_", []))
    schema = getattr(model, "schema_", None) or {}
    named = {
        column[0]: [str(level) for level in column[2]]
        for column in schema.get("columns", [])
        if column[2]
    }
    found: dict[str, list[str]] = {}
    for at, name in enumerate(column_names(model)):
        if at < len(marked) and marked[at]:
            count = len(model.knots_[at])
            found[name] = named.get(name) or [number(v) for v in model.knots_[at]][:count]
    return found


def _labelled_classes(model: Model) -> list[Hashable]:
    marked = getattr(model, "is_labelled_", None)
    if marked is None:
        return []
    return [name for name, one in zip(list(model.classes_), marked, strict=True) if one]


def column_names(model: Model) -> list[str]:
    """Return the names of the model's columns."""
    from scarce.io.inputs import names_of

    return names_of(model)
