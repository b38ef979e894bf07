"""Two pandas inputs of one call with different indexes are refused, by every public function.

Values are used by position. A table that was shuffled beside one that was not gives nonsense
without a word (an AUC of .46 for one of .91), so unequal indexes are refused, and nothing is
aligned.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import (
    BayesianRidge,
    LinearRegression,
    LogisticRegression,
    QuantileRegressor,
)

import scarce
import scarce.amounts
import scarce.plots
from scarce import (
    AutoClassifier,
    Calibrated,
    CostMatrix,
    CostSensitiveClassifier,
    DataError,
    GaussianBayes,
    MaxentClassifier,
    PriorCorrected,
    RareClassifier,
    ScoreMixture,
)
from scarce.decisions.decide import decision_table
from scarce.evaluation.calibration import reliability
from scarce.evaluation.compare import loss_difference
from scarce.evaluation.evaluate import at_threshold
from scarce.evaluation.ranking import auc
from scarce.missed.audit import count_missed
from scarce.missed.choose import uncertainty
from scarce.missed.rounds import label_in_rounds
from tests.problems import refused

mpl.use("Agg")

N = 60
FURTHER = (
    *(decision_table, reliability, loss_difference, at_threshold, auc, count_missed),
    *(uncertainty, label_in_rounds),
)
ROW_WISE = {
    *("by", "dates", "label_dates"),
    *(
        "X",
        "y",
        "X_held_out",
        "y_held_out",
        "y_true",
        "prob",
        "prob_now",
        "probs",
        "other",
        "score",
    ),
    *("scores", "labels", "label", "probability", "actions", "against", "costs", "confidence"),
    *("sample_weight", "weight", "inclusion", "groups", "offset", "batch", "label_source"),
    *("threshold_at_time", "low", "high", "price", "uses", "amounts", "background_weight"),
    *("mean", "sd", "samples", "shift", "noise", "under", "over", "rate", "scale"),
}
SETTINGS = {  # names that mean something else there: settings, or a result's own fields
    *("RareClassifier.__init__", "Estimate.__init__", "CostMatrix.per_row", "CostMatrix.__init__"),
    *("ReliabilityDisplay.__init__", "Linex.__init__", "CostConfusionDisplay.__init__"),
    "value_of_fetching",  # a price is that of a column
}


ELSEWHERE = {  # given in the table under another name, or no column in some functions
    *("costs", "probs", "X_held_out", "label", "by", "background_weight", "confidence"),
}


def public_functions() -> Iterator[tuple[str, Any]]:
    """Every public function and every public method of a public class, with its name."""
    for room in (scarce, scarce.amounts, scarce.plots):
        for name in room.__all__:
            held = getattr(room, name)
            if inspect.isfunction(held):
                yield name, held
            elif inspect.isclass(held):
                for method in dir(held):
                    found = inspect.getattr_static(held, method)
                    found = getattr(found, "__func__", found)
                    own = inspect.isfunction(found) and found.__module__.startswith("scarce")
                    if own and (method == "__init__" or not method.startswith("_")):
                        yield f"{name}.{method}", found
    for held in FURTHER:
        yield held.__name__, held


def row_wise(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name in ROW_WISE]


# --- what each function is called with ------------------------------------------------------------

rng = np.random.default_rng(0)
Y = (np.arange(N) % 4 == 0).astype(float)
PROB = np.clip(0.2 + 0.5 * Y + 0.2 * rng.normal(size=N), 0.02, 0.98)
X = np.column_stack([PROB, rng.normal(size=N)])
WEIGHT = 1.0 + rng.random(N)
GROUP = np.arange(N) // 3
COSTS = CostMatrix.binary(false_alarm=1, miss=3)
JUDGED = {"sample_weight": WEIGHT, "inclusion": np.ones(N), "groups": GROUP}
ACTIONS = (PROB > 0.4).astype(int)
SCORES = rng.normal(size=N) + 2 * Y
LABELS = np.where(np.arange(N) % 2 == 0, Y, np.nan)
DATES = np.datetime64("2026-01-01") + np.arange(N)
AMOUNT = 1.0 + 10 * rng.random(N)


def paid(amount: Any) -> CostMatrix:
    return CostMatrix.binary(false_alarm=1, miss=amount)


def on(name: str, **fixed: Any) -> Any:
    """The public function of this name with some arguments fixed."""
    held = getattr(scarce, name, None) or getattr(scarce.amounts, name, None)
    held = held or next(one for one in FURTHER if one.__name__ == name)
    return lambda **columns: held(**{**fixed, **columns})


def with_costs(name: str, **fixed: Any) -> Any:
    held = getattr(scarce, name, None) or {"decision_table": decision_table}[name]
    return lambda amount, **columns: held(costs=paid(amount), **{**fixed, **columns})


def display(name: str, method: str, **fixed: Any) -> Any:
    held = getattr(getattr(scarce.plots, name), method)
    return lambda **columns: held(**{**fixed, **columns})


FITTED = LogisticRegression().fit(X, Y)
RARE = RareClassifier("logistic", ridge=1.0).fit(X, Y, offset=np.zeros(N))
MAXENT = MaxentClassifier(width_scale=1.0).fit(X, Y)
SENSITIVE = CostSensitiveClassifier(LogisticRegression(), paid("amount")).fit(X, Y)
LINE = LinearRegression().fit(X, PROB)

FEW = {"resamples": 100}
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "evaluate": (on("evaluate", **FEW), {"y_true": Y, "prob": PROB, **JUDGED}),
    "calibrate": (on("calibrate"), {"y_true": Y, "prob": PROB, **JUDGED}),
    "reliability_curve": (on("reliability_curve", **FEW), {"y_true": Y, "prob": PROB, **JUDGED}),
    "share_of_missing": (on("share_of_missing"), {"X": X, "y_true": Y}),
    "brier_score": (on("brier_score", **FEW), {"y_true": Y, "prob": PROB, **JUDGED}),
    "log_loss": (on("log_loss", **FEW), {"y_true": Y, "prob": PROB, **JUDGED}),
    "calibration_loss": (on("calibration_loss"), {"y_true": Y, "prob": PROB, **JUDGED}),
    "reliability": (on("reliability", **FEW), {"y_true": Y, "prob": PROB, **JUDGED}),
    "auc": (on("auc", **FEW), {"y_true": Y, "score": PROB, **JUDGED}),
    "at_threshold": (
        on("at_threshold", threshold=0.5, **FEW),
        {"y_true": Y, "score": PROB, **JUDGED},
    ),
    "brier_curve": (on("brier_curve", **FEW), {"y_true": Y, "prob": PROB, **JUDGED}),
    "cost_curve": (on("cost_curve", **FEW), {"y_true": Y, "score": PROB, **JUDGED}),
    "decision_curve": (on("decision_curve", **FEW), {"y_true": Y, "prob": PROB, **JUDGED}),
    "risk_coverage": (
        on("risk_coverage", **FEW),
        {"y_true": Y, "prob": PROB, "confidence": PROB, **JUDGED},
    ),
    "risk_coverage of losses": (
        on("risk_coverage", **FEW, y_true=None, prob=None),
        {"loss": PROB, "confidence": PROB, **JUDGED},
    ),
    "risk_coverage of costs": (with_costs("risk_coverage", **FEW), {"y_true": Y, "prob": PROB}),
    "compare": (
        lambda other, prob, **columns: scarce.compare(
            probs={"a": prob, "b": other}, **{**FEW, **columns}
        ),
        {"y_true": Y, "prob": PROB, "other": PROB[::-1], **JUDGED},
    ),
    "loss_difference": (
        on("loss_difference", **FEW),
        {"y_true": Y, "prob": PROB, "other": PROB[::-1], **JUDGED},
    ),
    "left_out_prob": (
        on("left_out_prob", models={"line": LogisticRegression()}, folds=2),
        {"X": X, "y": Y, "groups": GROUP},
    ),
    "evaluate_by": (
        on("evaluate_by", **FEW),
        {"y_true": Y, "prob": PROB, "by": np.arange(N) % 2, "dates": DATES, **JUDGED},
    ),
    "expected_figures": (on("expected_figures", **FEW), {"prob": PROB, "sample_weight": WEIGHT}),
    "usual_delay": (
        on("usual_delay", **FEW),
        {"dates": DATES, "label_dates": DATES + np.arange(N) % 7},
    ),
    "find_base_rates": (
        on("find_base_rates", estimator=LogisticRegression()),
        {"y": Y, "sample_weight": WEIGHT},
    ),
    "estimate_share": (
        on("estimate_share", validation=(Y, PROB), resamples=100),
        {"prob_now": PROB, "sample_weight": WEIGHT, "groups": GROUP},
    ),
    "estimate_positive_share": (
        on("estimate_positive_share"),
        {
            "y": np.where(LABELS == 1, 1.0, np.nan),
            "score": SCORES,
            "sample_weight": WEIGHT,
            "groups": GROUP,
        },
    ),
    "savings": (
        on("savings", costs=COSTS, **FEW),
        {"y_true": Y, "actions": ACTIONS, "against": 1 - ACTIONS, **JUDGED},
    ),
    "value_of_asking": (with_costs("value_of_asking"), {"prob": PROB, "price": PROB}),
    "decide_within": (
        with_costs("decide_within", capacity={1: 30.0}),
        {"prob": PROB, "uses": WEIGHT},
    ),
    "decide_between": (with_costs("decide_between"), {"low": PROB / 2, "high": PROB}),
    "stable_prior": (with_costs("stable_prior", trained_at=0.2), {"prob": PROB}),
    "uncertainty": (
        lambda amount, **columns: uncertainty(by="cost", costs=paid(amount), **columns),
        {"scores": PROB},
    ),
    "choose_labels": (
        on("choose_labels", n=5, threshold=1.0),
        {
            "scores": SCORES,
            "labels": LABELS,
            "batch": np.zeros(N),
            "groups": np.arange(N),
            "second_scores": SCORES,
        },
    ),
    "choose_labels by cost": (
        lambda amount, **columns: scarce.choose_labels(
            policy="uncertainty", by="cost", costs=paid(amount), **{"n": 5, **columns}
        ),
        {"scores": PROB},
    ),
    "label_in_rounds": (
        on("label_in_rounds", ask=lambda rows: Y[rows], n=4, rounds=2, policy="tail"),
        {"scores": SCORES, "labels": LABELS},
    ),
    "combine_audits": (
        on("combine_audits", audits=[]),
        {"scores": SCORES, "labels": LABELS, "batch": np.zeros(N)},
    ),
    "count_missed": (
        on("count_missed", frame_rows=600, level=0.9),
        {"label": Y, "probability": np.full(N, 0.1)},
    ),
    "estimate_performance": (
        on("estimate_performance", threshold=1.0, check=False, random_state=0),
        {
            "scores": SCORES,
            "labels": LABELS,
            "inclusion": np.where(np.isnan(LABELS), np.nan, 0.5),
            "batch": np.zeros(N),
            "frame": np.zeros(N),
            "groups": np.arange(N),
            "second_scores": SCORES,
            "second_labels": LABELS,
            "label_source": np.where(SCORES >= 1, "alert", "audit"),
            "threshold_at_time": np.ones(N),
        },
    ),
    "stop_when": (
        on("stop_when", threshold=1.0, recall=0.5),
        {
            "scores": SCORES,
            "labels": np.where(SCORES >= 1, Y, np.nan),
            "inclusion": np.full(N, np.nan),
        },
    ),
    "plan_audit": (
        on("plan_audit", threshold=1.0, n=[5], repeats=2, random_state=0),
        {"scores": SCORES, "labels": np.where(SCORES >= 1, Y, np.nan), "inclusion": np.ones(N)},
    ),
    "ScoreMixture.fit": (
        lambda **columns: ScoreMixture().fit(**columns),
        {"scores": SCORES, "labels": LABELS},
    ),
    "ScoreMixture.partial_fit": (
        lambda **columns: ScoreMixture().partial_fit(**columns),
        {"scores": SCORES, "labels": LABELS},
    ),
    "RareClassifier.fit": (
        lambda **columns: RareClassifier("logistic", ridge=1.0).fit(**columns),
        {"X": X, "y": Y, "sample_weight": WEIGHT, "offset": PROB, "groups": GROUP},
    ),
    "MaxentClassifier.fit": (
        lambda **columns: MaxentClassifier(width_scale=1.0).fit(**columns),
        {"X": X, "y": Y, "sample_weight": WEIGHT, "groups": GROUP},
    ),
    "MaxentClassifier.score": (
        lambda **columns: MAXENT.score(**columns),
        {"X": X, "y": Y, "sample_weight": WEIGHT},
    ),
    "MaxentClassifier.permutation_importance": (
        lambda **columns: MAXENT.permutation_importance(**columns, n_repeats=1),
        {"X": X, "y": Y, "sample_weight": WEIGHT},
    ),
    "GaussianBayes.fit": (
        lambda **columns: GaussianBayes().fit(**columns),
        {"X": X, "y": Y, "sample_weight": WEIGHT, "groups": GROUP},
    ),
    "AutoClassifier.fit": (None, {"X": X, "y": Y, "sample_weight": WEIGHT, "groups": GROUP}),
    "PriorCorrected.fit": (
        lambda **columns: PriorCorrected(LogisticRegression(), prior=0.1).fit(**columns),
        {"X": X, "y": Y, "sample_weight": WEIGHT},
    ),
    "Calibrated.fit": (
        lambda **columns: Calibrated(LogisticRegression(), "platt").fit(**columns),
        {"X": X, "y": Y, **JUDGED},
    ),
    "CostSensitiveClassifier.fit": (
        lambda **columns: CostSensitiveClassifier(LogisticRegression(), COSTS).fit(**columns),
        {"X": X, "y": Y, "sample_weight": WEIGHT},
    ),
    "CostSensitiveClassifier.score": (
        lambda amounts, **columns: SENSITIVE.score(amounts={"amount": amounts}, **columns),
        {"X": X, "y": Y, "sample_weight": WEIGHT, "amounts": AMOUNT},
    ),
    "fit_quantiles": (
        on("fit_quantiles", estimator=QuantileRegressor(alpha=0.01), levels=[0.5]),
        {"X": X, "y": PROB, "sample_weight": WEIGHT},
    ),
    "residuals_from": (
        lambda X, **columns: scarce.amounts.residuals_from(LINE, np.zeros((3, 2)), X, **columns),
        {"X": X, "y_held_out": PROB, "sample_weight": WEIGHT},
    ),
    "cross_residuals": (
        on("cross_residuals", regressor=LinearRegression(), X_new=np.zeros((3, 2)), cv=2),
        {"X": X, "y": PROB, "sample_weight": WEIGHT},
    ),
    "gaussian_from": (
        on("gaussian_from", regressor=BayesianRidge().fit(X, PROB)),
        {"X": X, "noise": WEIGHT},
    ),
    "GaussianPredictive.__init__": (on("GaussianPredictive"), {"mean": PROB, "sd": WEIGHT}),
    "EmpiricalPredictive.__init__": (on("EmpiricalPredictive"), {"samples": X, "shift": WEIGHT}),
    "Pinball.__init__": (on("Pinball"), {"under": WEIGHT, "over": PROB}),
    "open_rows": (
        lambda X, **columns: scarce.open_rows(X, **columns),
        {"X": X, "label": Y, "weight": WEIGHT},
    ),
    "open_rows of an array": (
        lambda X, **columns: scarce.open_rows(X.to_numpy(), **columns),
        {"X": X, "label": Y, "weight": WEIGHT},
    ),
    "ImportanceDisplay.from_estimator": (
        display("ImportanceDisplay", "from_estimator", estimator=FITTED, n_repeats=1),
        {"X": X, "y": Y, "sample_weight": WEIGHT},
    ),
    "CostConfusionDisplay.from_decisions": (
        display("CostConfusionDisplay", "from_decisions", costs=COSTS),
        {"y_true": Y, "actions": ACTIONS},
    ),
    "CostConfusionDisplay.from_predictions": (
        display("CostConfusionDisplay", "from_predictions", costs=COSTS),
        {"y_true": Y, "prob": PROB},
    ),
    "MixtureDisplay.from_predictions": (
        display("MixtureDisplay", "from_predictions", threshold=1.0),
        {"scores": SCORES, "labels": LABELS},
    ),
    "PerformanceDisplay.from_predictions": (
        display("PerformanceDisplay", "from_predictions", threshold=1.0, thresholds=[0.5, 1.0]),
        {"scores": SCORES, "labels": LABELS},
    ),
}
for name in ("mean_cost", "total_cost", "cost_confusion"):
    CASES[name] = with_costs(name, **FEW), {"y_true": Y, "actions": ACTIONS, **JUDGED}
for name in ("decide", "expected_cost", "stable_range", "decision_table"):
    CASES[name] = with_costs(name), {"prob": PROB}
for name in ("predict", "predict_action", "decision_table"):
    CASES[f"CostSensitiveClassifier.{name}"] = (
        lambda amounts, name=name, **columns: getattr(SENSITIVE, name)(
            amounts={"amount": amounts}, **columns
        ),
        {"X": X, "amounts": AMOUNT},
    )
for name in ("decision_function", "linear_predictor", "predict", "predict_proba"):
    CASES[f"RareClassifier.{name}"] = (
        lambda name=name, **columns: getattr(RARE, name)(**columns),
        {"X": X, "offset": PROB},
    )
CASES["RareClassifier.predict_log_proba"] = (
    lambda **columns: RARE.predict_log_proba(**columns),
    {"X": X, "offset": PROB},
)
CASES["RareClassifier.predict_interval"] = (
    lambda **columns: RARE.predict_interval(method="wald", **columns),
    {"X": X, "offset": PROB},
)
CASES["RareClassifier.shape_interval"] = (
    lambda **columns: RareClassifier("gev-log").shape_interval(**columns),
    {"X": X, "y": Y, "sample_weight": PROB},
)
for name in ("CostCurveDisplay", "DecisionCurveDisplay", "RiskCoverageDisplay"):
    CASES[f"{name}.from_predictions"] = (
        display(name, "from_predictions", **FEW),
        {"y_true": Y, "prob": PROB},
    )
    CASES[f"{name}.from_estimator"] = (
        display(name, "from_estimator", estimator=FITTED, **FEW),
        {"X": X, "y": Y},
    )
CASES["ReliabilityCurveDisplay.from_predictions"] = (
    display("ReliabilityCurveDisplay", "from_predictions", **FEW),
    {"y_true": Y, "prob": PROB, **JUDGED},
)
CASES["ReliabilityCurveDisplay.from_estimator"] = (
    display("ReliabilityCurveDisplay", "from_estimator", estimator=FITTED, **FEW),
    {"X": X, "y": Y},
)
CASES["ReliabilityDisplay.from_predictions"] = (
    display("ReliabilityDisplay", "from_predictions"),
    {"y_true": Y, "prob": PROB, **JUDGED},
)
CASES["ReliabilityDisplay.from_estimator"] = (
    display("ReliabilityDisplay", "from_estimator", estimator=FITTED),
    {"X": X, "y": Y},
)
for held in CASES.values():
    if held[0] is not None and "amount" in inspect.signature(held[0]).parameters:
        held[1]["amount"] = AMOUNT

# --- tests ----------------------------------------------------------------------------------------


def labelled(values: Any, index: Any) -> Any:
    if np.ndim(values) == 2:
        return pd.DataFrame(values, index=index, columns=["a", "b"])
    return pd.Series(values, index=index)


def test_every_public_function_with_several_columns_is_listed_here():
    """A public function or method with two row-wise arguments is in the table, with all of them."""
    takes = {name: row_wise(function) for name, function in public_functions()}
    wanted = {name for name, columns in takes.items() if len(columns) > 1} - SETTINGS
    assert wanted - set(CASES) == set()
    given: dict[str, set[str]] = {}
    for name, (_, columns) in CASES.items():
        given.setdefault(name.partition(" ")[0], set()).update(columns)
    unasked = {name: set(takes[name]) - given[name] - ELSEWHERE for name in wanted}
    assert {name: columns for name, columns in unasked.items() if columns} == {}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [name for name, (call, _) in CASES.items() if call is not None])
def test_equal_indexes_pass_and_others_are_refused(name):
    call, columns = CASES[name]
    index = rng.permutation(N)
    same = {key: labelled(values, index) for key, values in columns.items()}
    call(**same)
    given = [key for key in columns if not (name == "open_rows of an array" and key == "X")]
    for key in given[1:]:
        for other in (index[::-1], pd.RangeIndex(N)):
            moved = same | {key: labelled(columns[key], other)}
            with refused("index-mismatch", DataError):
                call(**moved)


def test_the_longest_fit_begins_with_the_same_check():
    index = rng.permutation(N)
    for key in ("y", "sample_weight", "groups"):
        columns = {
            one: labelled(held, index) for one, held in CASES["AutoClassifier.fit"][1].items()
        }
        columns[key] = columns[key].reset_index(drop=True)
        with refused("index-mismatch", DataError, argument=key, first="X"):
            AutoClassifier().fit(**columns)


def test_arrays_are_positional_and_polars_has_no_index():
    y = pd.Series(Y, index=rng.permutation(N))
    whole = scarce.brier_score(y, PROB).value
    assert whole == scarce.brier_score(Y, list(PROB)).value
    polars = pytest.importorskip("polars")
    assert whole == scarce.brier_score(y, polars.Series(PROB)).value


def test_indexes_that_are_equal_in_another_type():
    y = pd.Series(Y)  # a range
    for index in (np.arange(N), np.arange(float(N)), pd.Index(range(N), name="id")):
        scarce.brier_score(y, pd.Series(PROB, index=index))


def test_the_sentence_names_the_first_row_that_differs():
    y, prob = pd.Series([0.0, 1, 0], list("abc")), pd.Series([0.1, 0.7, 0.2], list("acb"))
    with refused("index-mismatch", DataError, argument="prob", first="y_true", seen="c", row=1):
        scarce.brier_score(y, prob)


def test_costs_by_row_keep_their_index_and_are_not_stored_with_it():
    amount = pd.Series(AMOUNT, index=rng.permutation(N))
    costs = paid(amount)
    assert costs.take(slice(5)).index.equals(amount.index[:5])
    assert costs.with_abstain(amount / 10).index is amount.index
    with refused("index-mismatch", DataError):
        CostMatrix([[0, amount], [amount.reset_index(drop=True), 0]])
    table = pd.DataFrame({"amount": amount})
    bound = paid("amount").bind(table)
    with refused("index-mismatch", DataError, argument="costs"):
        scarce.decide(pd.Series(PROB), bound)
    assert paid(AMOUNT).index is None
