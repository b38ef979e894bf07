"""How do the records of scarce look on a page? One function for each kind, all computing nothing.

Records are known by their fields, not by their class, so this room imports none of those that make
them. Remarks and warnings that a record carries go to the top of the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scarce.plots.picture import Axis, Bars, decision_picture, reliability_picture
from scarce.report.page import Report
from scarce.report.values import ROUNDING, cell, number, sentence
from scarce.results import Estimate, in_rows

MEANT = {
    "log_loss": ("log loss", "mean surprise at what happened, in nats; smaller is better"),
    "brier": ("Brier score", "mean squared distance to what happened; smaller is better"),
    "log_loss_skill": (
        "skill, log loss",
        "share of the constant forecast's loss that is saved; 0 is no better than it",
    ),
    "brier_skill": ("skill, Brier", "the same for the Brier score"),
    "calibration": (
        "calibration loss",
        "mean squared distance between probabilities and shares that came true among their like",
    ),
    "given": ("mean given", "mean of the probabilities"),
    "happened": ("happened", "share of the rows in which it happened"),
    "gap": ("given - happened", "in percentage points; 0 where they are right on average"),
    "auc": ("AUC", "how often an event outranks another row; 0.5 is chance"),
}
SHARES = ("log_loss_skill", "brier_skill", "given", "happened")
FOUND = {
    "recall": ("recall", "share of all events that are alerts"),
    "precision": ("precision", "share of events among the alerts"),
    "prevalence": ("prevalence", "share of events among all rows"),
    "missed": ("missed", "events below the threshold"),
    "alerts_per_event": (
        "alerts per event",
        "further alerts to open per further event, right below the threshold",
    ),
    "precision_per_recall": (
        "precision per recall",
        "slope at the threshold: what precision changes by per change of recall",
    ),
}
HALF = (
    "half the sum over all classes of squared distances to what happened, so that two classes give "
    "the usual score; some programs leave the half out and show twice as much; smaller is better"
)
MOST_CLASSES = 12  # whose own figures are shown


def show_evaluation(page: Report, found: Any) -> Report:
    """Add the figures of probabilities beside the constant forecast.

    Parameters
    ----------
    page : Report
    found : Evaluation
        Its remarks become warnings.

    Examples
    --------
    >>> from scarce import evaluate
    >>> page = show_evaluation(Report("May"), evaluate([0, 0, 1] * 9, [0.1, 0.3, 0.7] * 9))
    >>> [row["name"] for row in page.to_dict()["sections"][0]["parts"][0]["rows"]][:2]
    ['log loss', 'Brier score']
    """
    for remark in found.remarks:
        page.warn(remark)
    whole = ("log_loss", "brier", "log_loss_skill", "brier_skill")
    several = {"brier": HALF} if len(found.events) > 1 else {}
    rows = [(MEANT[key][0], getattr(found, key), several.get(key, MEANT[key][1])) for key in whole]
    shares = [MEANT[key][0] for key in SHARES]
    beside = {
        "log loss": found.constant_log_loss,
        "Brier score": found.constant_brier,
    }
    own = ("calibration", "given", "happened", "gap", "auc")
    if len(found.events) == 1:
        rows += [(MEANT[key][0], getattr(found, key)[0], MEANT[key][1]) for key in own]
        beside["AUC"] = 0.5
    page.numbers(
        rows,
        beside=beside,
        beside_name="constant forecast",
        percent=shares,
        points=[MEANT["gap"][0]],
        caption=f"{in_rows(found.rows)} with a label. The constant forecast gives every row the "
        "share of each class: a model that is not better is worth nothing.",
    )
    if len(found.events) > 1:
        kept = list(enumerate(found.events))[:MOST_CLASSES]
        page.table(
            ["class", "rows", "mean given", "happened", "calibration loss", "AUC"],
            [
                (
                    str(name),
                    found.counts[at],
                    found.given[at],
                    found.happened[at],
                    found.calibration[at],
                    found.auc[at],
                )
                for at, name in kept
            ],
            caption="Each class against all others"
            + (f", the first {MOST_CLASSES}" if len(found.events) > MOST_CLASSES else ""),
            percent=("mean given", "happened"),
        )
    return page


def gain_in_words(found: Any) -> str:
    """Say in which score probabilities beat the constant forecast, and whether by more than noise.

    Parameters
    ----------
    found : Evaluation

    Examples
    --------
    >>> from scarce import evaluate
    >>> gain_in_words(evaluate([0, 1] * 50, [0.5] * 100))
    'no gain over the constant forecast in log loss; the difference is within the noise.'
    """
    skill, other = found.log_loss_skill, found.brier_skill
    if skill.low > 0:
        return f"{cell(skill, percent=True)} of that loss is saved."
    if np.isnan(skill.high):
        return "nothing can be said of a gain, for all rows are of one class."
    if skill.high < 0:
        said = "worse than the constant forecast in log loss."
    elif skill.value <= ROUNDING:
        said = "no gain over the constant forecast in log loss; the difference is within the noise."
    else:
        said = "a gain over the constant forecast in log loss cannot be told from noise."
    if other.low > 0:
        said += f" In Brier score there is a gain: skill {cell(other, percent=True)}."
    return said


def show_reliability(page: Report, tables: Mapping[str, Any]) -> Report:
    """Add the picture of one or several tables of probability against frequency.

    Parameters
    ----------
    page : Report
    tables : mapping of str to Reliability
        Named by what they speak of.

    Examples
    --------
    >>> from scarce.evaluation.calibration import reliability
    >>> table = reliability([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.8], bins=2)
    >>> page = show_reliability(Report("May"), {"fraud": table})
    >>> page.to_dict()["sections"][0]["parts"][0]["kind"]
    'figure'
    """
    first = next(iter(tables.values()))
    edges = first.edges if len(tables) == 1 else None
    named = {"" if len(tables) == 1 else name: one for name, one in tables.items()}
    return page.figure(
        reliability_picture(named, edges=edges),
        "Of the rows that were given a probability, did that share happen? Points on the dashed "
        f"line: yes. Bars are {100 * first.level:g} % intervals (Wilson).",
    )


def show_savings(page: Report, saved: Any, single: Mapping[Any, Estimate]) -> Report:
    """Add what decisions cost beside one action for every row.

    Parameters
    ----------
    page : Report
    saved : Savings
    single : mapping of action to Estimate
        Mean cost of that action for every row.

    Examples
    --------
    >>> from scarce import mean_cost, savings
    >>> y, done, costs = [0] * 8 + [1] * 2, [0] * 7 + [1] * 3, [[0, 40], [5, 0]]
    >>> single = {a: mean_cost(y, [a] * 10, costs) for a in (0, 1)}
    >>> page = show_savings(Report("May"), savings(y, done, costs), single)
    >>> page.to_dict()["sections"][0]["parts"][1]["data"]["values"]
    [0.5, 8.0, 4.0]
    """
    rows = [
        ("mean cost of a row", saved.cost, "under the cheapest action for each row"),
        ("saved per row", saved.per_row, f"against always {saved.best!s}, the best single action"),
        ("saved share", saved.share, "of what that costs"),
    ]
    page.numbers(rows, percent=["saved share"], caption="What the decisions cost and save")
    costs = [saved.cost, *single.values()]
    return page.figure(
        Bars(
            ["by probability", *(f"always {name!s}" for name in single)],
            [one.value for one in costs],
            Axis("mean cost of a row"),
            low=[one.low for one in costs],
            high=[one.high for one in costs],
        ),
        "Mean cost of a row: the cheapest action by its probability, or the same for every row. "
        f"Lines are {100 * saved.cost.level:g} % intervals.",
    )


def show_confusion(page: Report, found: Any) -> Report:
    """Add rows and cost of every action in every class.

    Parameters
    ----------
    page : Report
    found : CostConfusion
        Its remarks become warnings.

    Examples
    --------
    >>> from scarce import cost_confusion
    >>> found = cost_confusion([0, 0, 1, 1], [0, 1, 1, 0], [[0, 40], [5, 0]])
    >>> page = show_confusion(Report("May"), found)
    >>> page.to_dict()["sections"][0]["parts"][0]["rows"][0][:5]
    ['0', 1, 1, 0.0, 40.0]
    """
    for remark in found.remarks:
        page.warn(remark)
    columns = ["what was done", *(f"rows that were {name!s}" for name in found.classes)]
    columns += [f"cost of {name!s}" for name in found.classes]
    columns.append(f"cost in all [{100 * found.total.level:g} %]")
    rows: list[tuple[Any, ...]] = []
    for a, action in enumerate(found.actions):
        counted = [int(count) for count in found.counts[a]]
        rows.append((str(action), *counted, *map(float, found.cost[a]), found.by_action[a]))
    counted = [int(count) for count in found.counts.sum(axis=0)]
    rows.append(("all", *counted, *(one.value for one in found.by_class), found.total))
    page.table(columns, rows, caption="Rows and cost by what was done and what was")
    done = [int(count) for count in found.counts.sum(axis=1)]
    return page.figure(
        Bars([str(action) for action in found.actions], done, Axis("labelled rows")),
        "How often each action is the cheapest.",
    )


def show_costs(page: Report, costs: Any, bands: Any = None) -> Report:
    """Add what mistakes cost (a `CostMatrix`), and from which probability on an action is cheapest.

    Parameters
    ----------
    page : Report
    costs : CostMatrix
    bands : Bands, optional
        Of fixed costs of two classes.

    Examples
    --------
    >>> from scarce import CostMatrix
    >>> costs = CostMatrix.binary(false_alarm=1, miss=9)
    >>> page = show_costs(Report("May"), costs, costs.thresholds())
    >>> page.to_dict()["sections"][0]["parts"][0]["rows"]
    [['0', 0.0, 9.0, '0 %', '10 %'], ['1', 1.0, 0.0, '10 %', '100 %']]
    """
    if getattr(costs, "n_rows", None) is not None:  # costs by row: the matrix says it in words
        return page.code(str(costs))
    columns = ["action", *(f"cost if {name!s}" for name in costs.classes)]
    rows: list[list[Any]] = [
        [str(action), *(float(costs.entry(action, name)) for name in costs.classes)]
        for action in costs.actions
    ]
    if bands is not None:
        columns += [f"cheapest from p({bands.positive!s}) =", "up to"]
        for row, action in zip(rows, costs.actions, strict=True):
            if action in bands:
                row += [number(end, percent=True) for end in bands[action]]
            else:
                row += ["never", ""]
        for one in bands.idle:
            page.warn(str(one))
    return page.table(columns, rows, align="l" + "r" * (len(columns) - 1))


def show_decision_curve(page: Report, curve: Any, threshold: float | None = None) -> Report:
    """Add net benefit against the threshold.

    Parameters
    ----------
    page : Report
    curve : DecisionCurve
    threshold : float, optional
        The one in use.

    Examples
    --------
    >>> from scarce import decision_curve
    >>> curve = decision_curve([0, 0, 1, 0] * 5, [0.1, 0.2, 0.7, 0.1] * 5, at=[0.15, 0.5])
    >>> page = show_decision_curve(Report("May"), curve, 0.2)
    >>> page.to_dict()["sections"][0]["parts"][0]["data"]["lines"][0]["y"]
    [0.205882, 0.25]
    """
    for remark in curve.remarks:
        page.warn(remark)
    return page.figure(
        decision_picture(curve, threshold=threshold),
        "Where the line is above both others, acting by the probabilities gains. Other costs mean "
        f"another threshold. Band: {100 * curve.level:g} %"
        + (" for the whole curve." if curve.simultaneous else " at each point."),
    )


def show_performance(
    page: Report,
    found: Any,
    *,
    truth: Mapping[str, float] | None = None,
    warnings: Sequence[str] | None = None,
) -> Report:
    """Add what is found and missed at a threshold.

    Parameters
    ----------
    page : Report
    found : Performance
        Its warnings become those of the page.
    truth : mapping of str to float, optional
        True values by name of the figure, such as "recall", where they are known.
    warnings : sequence of str, optional
        Instead of the record's own, in other words.

    Examples
    --------
    >>> from scarce import estimate_performance
    >>> from scarce.datasets import make_trial_scores
    >>> trial = make_trial_scores(random_state=0)
    >>> found = estimate_performance(trial.scores, trial.y, threshold=9.1)
    >>> page = show_performance(Report("May"), found, truth={"missed": 40.0})
    >>> len(page.to_dict()["sections"][0]["parts"][0]["rows"])
    6
    """
    for warning in found.warnings if warnings is None else warnings:
        page.warn(warning)
    rows = []
    for key, (name, meaning) in FOUND.items():
        one = getattr(found, key, None)
        if isinstance(one, Estimate):
            rows.append((name, one, meaning))
    return page.numbers(
        rows,
        percent=["recall", "precision", "prevalence"],
        truth=None if truth is None else {FOUND[key][0]: value for key, value in truth.items()},
    )


def leans_on(values: Sequence[Any]) -> list[str]:
    """Return what estimates assume, as sentences, each once.

    Examples
    --------
    >>> leans_on([Estimate(0.5, 0.4, 0.6, assumes="rows are independent"), "other"])
    ['Rows are independent.']
    """
    held = [one.assumes for one in values if isinstance(one, Estimate) and one.assumes]
    return list(dict.fromkeys(f"{sentence(text).rstrip('.')}." for text in held))
