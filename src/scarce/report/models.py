"""How does a fitted model introduce itself on a page?

Its certificate (how the fit ended, and what that proves), how its settings were chosen, the members
of a stack and why it or one of them predicts, and what it says of single columns: coefficients with
intervals, or response curves, the most telling first. Known by its fitted attributes, so a model of
one's own shows what it has. Asks the model; computes nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scarce.errors import ScarceError
from scarce.plots.picture import Axis, Bars, Line, Panels
from scarce.report.page import Report
from scarce.report.values import number, sentence

MOST_TERMS = 200
MOST_BARS = 40
MOST_PANELS = 8
METHODS = {
    "wald": "Wald: a multiple of the standard error on either side",
    "profile": "profile likelihood: values that the rows do not speak against",
}
WORDS = {
    "loss": "loss",
    "shape_": "shape of the link",
    "ridge_": "ridge",
    "floor_": "floor: weight of the prevalence in every probability",
    "prevalence_": "share of events in training",
    "objective": "objective",
    "default_prevalence": "share of the labelled class to lean towards: assumed, not learnt",
    "width_scale_": "how far its means may stray from those of labelled rows, in standard errors",
    "covariance": "covariance",
    "chosen_": "what predicts",
}
COMPARED = {"log_loss": "log loss", "brier": "Brier score", "total": "predicted / observed"}
RULES = {  # by `fallback`: when a member predicts in the place of the stack
    "loss": (
        "A single member takes its place only where the stack's log loss is more than a tenth "
        "above that of the best one, or not below that of logit."
    ),
    "noise": (
        "logit takes its place unless the stack's gain over it is larger than the standard error."
    ),
    None: "It was asked for whatever its members do alone.",
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
        if name == "default_prevalence" and value == "auto":
            continue  # level_of says what came of it
        if isinstance(value, (bool, str, int)):
            rows.append((told, value))
        elif name in SHARES and value is not None:
            pairs = zip(model.classes_, np.ravel(value), strict=True)
            rows.append((told, ", ".join(f"{k!s}: {number(p, percent=True)}" for k, p in pairs)))
        elif isinstance(value, float) and not np.isnan(value):
            rows.append((told, value))
    if rows:
        page.table(["setting", "value"], rows, align="lr")


def level_of(model: Any) -> str:
    """Say which share a maxent model's probabilities rest on, and that labels cannot tell it.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> level_of(SimpleNamespace(classes_=[0, 1], class_prior_=[0.7, 0.3]))[:68]
    'The level of these probabilities is assumed, not learnt: they rest o'
    """
    share = f"{number(model.class_prior_[-1], percent=True)} for {model.classes_[-1]!s}"
    if getattr(model, "prevalence", None) is not None:
        return f"The level of these probabilities was given: they rest on a share of {share}."
    if getattr(model, "class_prior_from_", "assumed") == "observed":
        return f"Every row is labelled: the probabilities rest on the observed share, {share}."
    return (
        f"The level of these probabilities is assumed, not learnt: they rest on a share of {share} "
        "among all rows, which such labels cannot tell. Which rows are likelier than others is "
        "learnt."
    )


def _members(page: Report, model: Any) -> None:
    page.heading("Members")
    chosen = getattr(model, "chosen_", "auto")
    if model.weights_:
        names = sorted(model.weights_, key=lambda name: -model.weights_[name])
        unused = "" if chosen == "auto" else f" The stack is not in use: {chosen} predicts alone."
        page.figure(
            Bars(names, [model.weights_[name] for name in names], Axis("weight in the stack")),
            f"Weight of each member's log-odds in the stack.{unused}",
        )
    fallback = getattr(model, "fallback_", None)
    if fallback:
        page.text(str(fallback))
    compared = getattr(model, "comparison_", None)
    if not compared:
        return
    keys = [key for key in next(iter(compared.values())) if not key.endswith("_error")]
    told = "On rows that each fit had not seen, ± standard error over folds; smaller losses win."
    if "total" in keys:
        told += (
            " predicted / observed: events foretold over events that happened; 1 is right on "
            "average."
        )
    page.table(
        ["model", *(COMPARED.get(key, key.replace("_", " ")) for key in keys)],
        [(name, *(_with_error(one, key) for key in keys)) for name, one in compared.items()],
        caption=told,
        align="l" + "r" * len(keys),
    )
    page.text(
        "constant: the same probability for every row. logit: logistic regression. best single: "
        "the member with the smallest log loss, picked without the rows it is scored on. auto: the "
        "stack, in which members speak together by their weights."
    )
    single = next((line for name, line in compared.items() if name.startswith("best ")), None)
    if chosen == "auto" and single and single["log_loss"] < compared["auto"]["log_loss"]:
        page.text(
            "The stack predicts although the best single member has the smaller log loss here; "
            "the difference is small beside what folds can tell. "
            f"{RULES.get(getattr(model, 'fallback', 'loss'), '')}"
        )


def _with_error(line: dict[str, float], key: str) -> str:
    error = line.get(f"{key}_error")
    return number(line[key]) + ("" if error is None else f" ± {number(error)}")


def _classes(page: Report, model: Any) -> None:
    names = column_names(model)[:MOST_TERMS]
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


# --- what it says of single columns --------------------------------------------------------------


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
        Bars(order, [effect[name] for name in order], Axis("change of the score"), most=MOST_BARS),
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
            curves[name] = [Line("", one.x, one.prob)]
            continue
        told = [str(levels[name][int(code)]) for code in one.x if int(code) < len(levels[name])]
        _levels_drawn(page, name, told, one.prob[: len(told)], what)
    if curves:
        page.figure(
            Panels(curves, Axis(what, percent=True)),
            f"{sentence(what)} with one variable known and all others missing.",
        )


def _levels_drawn(page: Report, name: str, told: list[str], prob: Any, what: str) -> None:
    shown = np.arange(len(told))
    some = ""
    if len(told) > MOST_BARS:
        shown = np.sort(np.argsort(-prob, kind="stable")[:MOST_BARS])
        some = f" The {MOST_BARS} levels with the highest of {len(told)}."
    page.figure(
        Bars([told[i] for i in shown], prob[shown], Axis(what, percent=True)),
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
