"""How does each record look on a page? One function per kind of record; none computes anything.

Only the fields of a record are read, so its class is imported for type checkers alone. Remarks and
warnings of a record go to the top of the page.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scarce.plots.picture import (
    Axis,
    Bars,
    decision_picture,
    periods_picture,
    reliability_curve_picture,
    reliability_picture,
    segments_picture,
)
from scarce.report.page import Report
from scarce.report.values import ROUNDING, cell, number, sentence
from scarce.results import Estimate, in_rows

if TYPE_CHECKING:
    from scarce.decisions.bands import Bands
    from scarce.decisions.costs import CostMatrix
    from scarce.evaluation.calibration import Reliability
    from scarce.evaluation.corp import ReliabilityCurve
    from scarce.evaluation.cost import CostConfusion, Savings
    from scarce.evaluation.curves import DecisionCurve
    from scarce.evaluation.evaluate import Evaluation
    from scarce.evaluation.segments import EvaluationBy
    from scarce.missed.performance import Performance

MEANT = {
    "log_loss": (
        "log loss",
        "mean negative log likelihood of the outcomes, in nats; smaller is better",
    ),
    "brier": (
        "Brier score",
        "mean squared difference between probability and outcome; smaller is better",
    ),
    "log_loss_skill": (
        "log loss skill",
        "relative reduction of the log loss over the constant forecast; 0 means no better",
    ),
    "brier_skill": ("Brier skill", "the same for the Brier score"),
    "calibration": (
        "calibration loss",
        "mean squared difference between predicted probability and observed frequency, over bins",
    ),
    "given": ("mean predicted", "mean predicted probability"),
    "happened": ("observed frequency", "proportion of events among the rows"),
    "gap": (
        "predicted - observed",
        "calibration in the large, in percentage points; 0 is unbiased",
    ),
    "auc": ("AUC", "probability that an event scores higher than a non-event; 0.5 is chance"),
}
SHARES = ("log_loss_skill", "brier_skill", "given", "happened")
FOUND = {
    "recall": ("recall", "proportion of events that are alerts"),
    "precision": ("precision", "of these alerts: proportion that are events"),
    "precision_further": ("precision of further alerts", "of alerts like these, still to come"),
    "prevalence": ("prevalence", "proportion of rows that are events"),
    "missed": ("missed", "events below the threshold"),
    "alerts_per_event": (
        "alerts per event",
        "additional alerts per additional event just below the threshold",
    ),
    "precision_per_recall": (
        "precision per recall",
        "slope of precision against recall at the threshold",
    ),
}
HALF = (
    "half the squared difference between probabilities and outcomes, summed over classes; with two "
    "classes this is the usual score, and twice as much where the half is left out; smaller is "
    "better"
)
MOST_CLASSES = 12  # whose own figures are shown


def show_evaluation(page: Report, found: Evaluation) -> Report:
    """Add the scores of probabilities next to those of the constant forecast.

    Parameters
    ----------
    page : Report
    found : Evaluation
        Its remarks go to the top of the page.

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
    beside: dict[str, object] = {
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
        "base rate of its class; a model that does not beat it has no skill.",
    )
    if len(found.events) > 1:
        kept = list(enumerate(found.events))[:MOST_CLASSES]
        page.table(
            ["class", "rows", "mean predicted", "observed frequency", "calibration loss", "AUC"],
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
            caption="Each class against the rest"
            + (f", the first {MOST_CLASSES}" if len(found.events) > MOST_CLASSES else ""),
            percent=("mean predicted", "observed frequency"),
        )
    return page


def gain_in_words(found: Evaluation) -> str:
    """Say in which score probabilities beat the constant forecast, and whether by more than noise.

    Parameters
    ----------
    found : Evaluation

    Examples
    --------
    >>> from scarce import evaluate
    >>> gain_in_words(evaluate([0, 1] * 50, [0.5] * 100))
    'no skill over the constant forecast in log loss: the difference is within the noise.'
    """
    skill, other = found.log_loss_skill, found.brier_skill
    if skill.low > 0:
        return f"a reduction of {cell(skill, percent=True)}."
    if np.isnan(skill.high):
        return "skill is undefined because all rows are of one class."
    if skill.high < 0:
        said = "worse than the constant forecast in log loss."
    elif skill.value <= ROUNDING:
        said = (
            "no skill over the constant forecast in log loss: the difference is within the noise."
        )
    else:
        said = "skill over the constant forecast in log loss is within the noise."
    if other.low > 0:
        said += f" The Brier skill is positive: {cell(other, percent=True)}."
    return said


def show_by(page: Report, found: EvaluationBy) -> Report:
    """Add figures by segment or period: a picture, a table, and over time the trend and changes.

    Parameters
    ----------
    page : Report
    found : EvaluationBy
        Its remarks go to the top of the page.

    Examples
    --------
    >>> from scarce import evaluate_by
    >>> found = evaluate_by([0, 1] * 40, [0.2, 0.7] * 40, ["at"] * 40 + ["be"] * 40)
    >>> page = show_by(Report("May"), found)
    >>> page.to_dict()["sections"][0]["parts"][0]["data"]["names"]
    ['at', 'be']
    """
    for remark in found.remarks:
        page.warn(remark)
    band = f"{100 * found.level:g} % intervals"
    if not found.period:
        page.figure(
            segments_picture(found),
            f"Event rate of each segment: observed with {band}, as predicted on average, and "
            "pooled: drawn towards the rest, most where a segment is small.",
        )
    elif len(found.segments) > 1:
        page.figure(
            periods_picture(found),
            f"Event rate in each {found.period}, with {band}. Expected rates assume that the "
            "probabilities are calibrated for rows whose label is still to come.",
        )
        page.figure(
            periods_picture(found, "auc"),
            f"How well the probabilities tell events from other rows in each {found.period}, with "
            f"{band}; 0.5 is chance.",
        )
    _by_table(page, found)
    if found.trend is not None:
        per = f"change from one {found.period} to the next"
        page.numbers(
            [
                ("observed frequency", found.trend.happened, per),
                ("predicted - observed", found.trend.gap, per),
                ("log loss", found.trend.log_loss, per),
            ],
            points=["observed frequency", "predicted - observed"],
            caption="Trend",
        )
        for line in found.over_time()[4:]:
            page.text(sentence(line.strip()))
    return page


def show_missing(page: Report, found: EvaluationBy) -> Report:
    """Add calibration by share of missing values.

    Parameters
    ----------
    page : Report
    found : EvaluationBy
        Of the bins of `share_of_missing`.

    Examples
    --------
    >>> from scarce import evaluate_by
    >>> found = evaluate_by([0, 1] * 40, [0.2, 0.7] * 40, ["0 %"] * 40 + ["0-10 %"] * 40)
    >>> page = show_missing(Report("May"), found)
    >>> page.to_dict()["sections"][0]["parts"][0]["kind"]
    'table'
    """
    return page.table(
        ["missing", "rows", "events", "mean predicted", "observed", "z"],
        [
            (one.name, one.rows, one.events, one.given.value, one.happened, round(one.z, 1))
            for one in found.segments
        ],
        caption="Rows by the share of the model's columns that are missing. z: events less the sum "
        "of probabilities, in standard deviations; beyond 2 either way is more than chance.",
        align="lrrrrr",
        percent=("mean predicted", "observed"),
    )


def _by_table(page: Report, found: EvaluationBy) -> None:
    """Add the table of segments; cells without a known label are empty."""
    due = any(one.expected is not None for one in found.segments)
    columns = [found.period or "segment", "rows", "events", "mean predicted", "observed", "pooled"]
    columns += ["AUC", *(["expected events"] if due else [])]
    columns += ["more or fewer"] if found.standing_out else []
    rows: list[list[object]] = []
    for one in found.segments:
        seen = (one.events, one.given.value, one.happened, one.pooled, one.auc)
        row: list[object] = [one.name, one.rows, *(seen if one.labelled else [""] * len(seen))]
        row += [one.expected.events if one.expected else ""] if due else []
        word = one.verdict.split()[0] if one in found.standing_out else ""
        row += [word] if found.standing_out else []
        rows.append(row)
    page.table(
        columns,
        rows,
        caption=f"A {found.period or 'segment'} differs if it has more or fewer events than "
        "expected after one recalibration of all rows, by more than chance among so many.",
        align="l" + "r" * (len(columns) - 1),
        percent=("mean predicted", "observed", "pooled"),
    )


def show_reliability(page: Report, tables: Mapping[str, Reliability]) -> Report:
    """Add a reliability diagram of one or several tables.

    Parameters
    ----------
    page : Report
    tables : mapping of str to Reliability
        By class or model.

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
    said = dict.fromkeys(str(text) for one in tables.values() for text in one.remarks)
    return page.figure(
        reliability_picture(named, edges=edges),
        "Observed frequency against predicted probability. Calibrated probabilities lie on the "
        f"dashed line. {' '.join([f'Bars are {100 * first.level:g} % intervals.', *said])}",
    )


def show_reliability_curve(page: Report, curve: ReliabilityCurve) -> Report:
    """Add a reliability diagram without bins, and the losses taken apart.

    Parameters
    ----------
    page : Report
    curve : ReliabilityCurve

    Examples
    --------
    >>> from scarce import reliability_curve
    >>> curve = reliability_curve([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.8])
    >>> page = show_reliability_curve(Report("May"), curve)
    >>> [part["kind"] for part in page.to_dict()["sections"][0]["parts"]]
    ['figure', 'table']
    """
    page.figure(
        reliability_curve_picture(curve),
        "The same without bins: the rising curve that fits the outcomes best (isotonic "
        f"regression). If the probabilities are right, it lies in the band in "
        f"{100 * curve.level:g} % of draws, at each probability by itself. "
        f"{' '.join(map(str, curve.remarks))}".strip(),
    )
    return page.table(
        [
            *("loss", "mean", "miscalibration", "by chance", "p", "discrimination"),
            "uncertainty",
        ],
        [
            (name, one.loss, one.miscalibration, one.by_chance, one.p_value, one.discrimination,
             one.uncertainty)
            for name, one in (("log loss", curve.log_loss), ("Brier score", curve.brier))
        ],
        caption="mean = miscalibration - discrimination + uncertainty. Miscalibration is above 0 "
        "by chance alone, by so much on average where probabilities are right; p is the share of "
        "such draws with as much as was seen.",
    )  # fmt: skip


def show_savings(page: Report, saved: Savings, single: Mapping[Hashable, Estimate]) -> Report:
    """Add the cost of decisions next to that of one action for every row.

    Parameters
    ----------
    page : Report
    saved : Savings
    single : mapping of action to Estimate
        Mean cost of taking that action for every row.

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
        ("mean cost per row", saved.cost, "taking the cheapest action for each row"),
        (
            "saved per row",
            saved.per_row,
            f"relative to always {saved.best!s}, the best single action",
        ),
        ("relative savings", saved.share, "saved per row over the cost of that action"),
    ]
    page.numbers(rows, percent=["relative savings"], caption="Cost of the decisions")
    costs = [saved.cost, *single.values()]
    return page.figure(
        Bars(
            ["by probability", *(f"always {name!s}" for name in single)],
            [one.value for one in costs],
            Axis("mean cost per row"),
            low=[one.low for one in costs],
            high=[one.high for one in costs],
        ),
        "Mean cost per row: the cheapest action by probability, or the same action for every row. "
        f"Lines are {100 * saved.cost.level:g} % intervals.",
    )


def show_confusion(page: Report, found: CostConfusion) -> Report:
    """Add counts and cost of every action in every class.

    Parameters
    ----------
    page : Report
    found : CostConfusion
        Its remarks go to the top of the page.

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
    columns = ["action", *(f"rows of class {name!s}" for name in found.classes)]
    columns += [f"cost of class {name!s}" for name in found.classes]
    columns.append(f"total cost [{100 * found.total.level:g} %]")
    rows: list[tuple[object, ...]] = []
    for a, action in enumerate(found.actions):
        counted = [int(count) for count in found.counts[a]]
        rows.append((str(action), *counted, *map(float, found.cost[a]), found.by_action[a]))
    counted = [int(count) for count in found.counts.sum(axis=0)]
    rows.append(("all", *counted, *(one.value for one in found.by_class), found.total))
    page.table(columns, rows, caption="Rows and cost by action and true class")
    done = [int(count) for count in found.counts.sum(axis=1)]
    return page.figure(
        Bars([str(action) for action in found.actions], done, Axis("labelled rows")),
        "How often each action is the cheapest.",
    )


def show_costs(page: Report, costs: CostMatrix, bands: Bands | None = None) -> Report:
    """Add a cost matrix, and the range of probabilities in which each action is cheapest.

    Parameters
    ----------
    page : Report
    costs : CostMatrix
    bands : Bands, optional
        Of a fixed cost matrix with two classes.

    Examples
    --------
    >>> from scarce import CostMatrix
    >>> costs = CostMatrix.binary(false_alarm=1, miss=9)
    >>> page = show_costs(Report("May"), costs, costs.thresholds())
    >>> page.to_dict()["sections"][0]["parts"][0]["rows"]
    [['0', 0.0, 9.0, '0 %', '10 %'], ['1', 1.0, 0.0, '10 %', '100 %']]
    """
    if getattr(costs, "n_rows", None) is not None:  # costs per row
        return page.code(str(costs))
    columns = ["action", *(f"cost if {name!s}" for name in costs.classes)]
    rows: list[list[object]] = [
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


def show_decision_curve(
    page: Report, curve: DecisionCurve, threshold: float | None = None
) -> Report:
    """Add the net benefit at each threshold.

    Parameters
    ----------
    page : Report
    curve : DecisionCurve
    threshold : float, optional
        The one in use, drawn as a vertical line.

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
        "Acting on the probabilities pays where their line is above the two others. Costs set the "
        f"threshold. Band: {100 * curve.level:g} %"
        + (" for the whole curve." if curve.simultaneous else " at each point."),
    )


def show_performance(
    page: Report,
    found: Performance,
    *,
    truth: Mapping[str, float] | None = None,
    warnings: Sequence[str] | None = None,
) -> Report:
    """Add recall, precision and missed events at a threshold.

    Parameters
    ----------
    page : Report
    found : Performance
        Its warnings go to the top of the page.
    truth : mapping of str to float, optional
        True values where known, such as those of simulated data; keys such as "recall".
    warnings : sequence of str, optional
        Shown instead of the record's own.

    Examples
    --------
    >>> from scarce import estimate_performance
    >>> from scarce.datasets import make_trial_scores
    >>> trial = make_trial_scores(random_state=0)
    >>> found = estimate_performance(trial.scores, trial.y, threshold=9.1)
    >>> page = show_performance(Report("May"), found, truth={"missed": 40.0})
    >>> len(page.to_dict()["sections"][0]["parts"][0]["rows"])
    7
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
        percent=["recall", "precision", "precision of further alerts", "prevalence"],
        counts=["missed"],
        truth=None if truth is None else {FOUND[key][0]: value for key, value in truth.items()},
    )


def assumptions(values: Sequence[object]) -> list[str]:
    """Return what estimates assume, as sentences without repetition.

    Examples
    --------
    >>> assumptions([Estimate(0.5, 0.4, 0.6, assumes="rows are independent"), "other"])
    ['Rows are independent.']
    """
    held = [one.assumes for one in values if isinstance(one, Estimate) and one.assumes]
    return list(dict.fromkeys(f"{sentence(text).rstrip('.')}." for text in held))
