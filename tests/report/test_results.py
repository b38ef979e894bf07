"""Records on a page: their own numbers, their remarks on top, nothing computed on the way."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from scarce import (
    CostMatrix,
    GaussianBayes,
    MaxentClassifier,
    PriorCorrected,
    RareClassifier,
    cost_confusion,
    decide,
    decision_curve,
    estimate_performance,
    mean_cost,
    open_rows,
    savings,
)
from scarce.assess import reliability
from scarce.assess.evaluation import evaluate_prob
from scarce.records import Estimate, FitReport
from scarce.report import (
    Report,
    leans_on,
    show_confusion,
    show_costs,
    show_decision_curve,
    show_evaluation,
    show_model,
    show_performance,
    show_reliability,
    show_savings,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    prob = rng.beta(0.6, 8, 1500)
    return (rng.random(1500) < prob).astype(float), prob


def parts(page: Report, kind: str) -> list[dict]:
    return [p for s in page.to_dict()["sections"] for p in s["parts"] if p["kind"] == kind]


def test_an_evaluation_shows_its_figures_beside_the_constant(rows):
    found = evaluate_prob(*rows)
    page = show_evaluation(Report("t"), found)
    (numbers,) = parts(page, "numbers")
    held = {row["name"]: row for row in numbers["rows"]}
    assert held["log loss"]["value"] == found.log_loss.to_dict()
    assert held["log loss"]["beside"] == found.constant_log_loss.to_dict()
    assert held["AUC"]["value"] == found.auc[0].to_dict()
    assert held["happened"]["value"]["value"] == pytest.approx(rows[0].mean())
    assert "constant forecast" in page.html()


def test_an_evaluation_of_several_classes_has_a_row_for_each(rows):
    rng = np.random.default_rng(0)
    prob = rng.dirichlet([1, 1, 1], 400)
    y = np.array([rng.choice(3, p=p) for p in prob])
    found = evaluate_prob(y, prob, classes=["a", "b", "c"])
    page = show_evaluation(Report("t"), found)
    (table,) = parts(page, "table")
    assert [row[0] for row in table["rows"]] == ["a", "b", "c"]
    assert [row[1] for row in table["rows"]] == list(found.counts)
    assert table["rows"][2][5] == found.auc[2].to_dict()


def test_remarks_become_warnings(rows):
    found = evaluate_prob(rows[0], np.full(1500, 0.9))
    assert found.remarks
    page = show_evaluation(Report("t"), found)
    assert page.to_dict()["warnings"] == list(found.remarks)


def test_decisions_show_what_the_library_counts(rows):
    y, prob = rows
    costs = CostMatrix.binary(false_alarm=1, miss=20).with_abstain(0.5, name="ask")
    done = decide(prob, costs)
    page = show_costs(Report("t"), costs, costs.thresholds())
    bands = costs.thresholds()
    (table,) = parts(page, "table")
    assert [row[0] for row in table["rows"]] == ["0", "1", "ask"]
    assert table["rows"][0][1:3] == [0.0, 20.0]
    assert table["rows"][1][3] == f"{100 * bands[1][0]:g} %"
    confusion = cost_confusion(y, done, costs)
    page = show_confusion(Report("t"), confusion)
    (table,) = parts(page, "table")
    assert [row[1:3] for row in table["rows"][:-1]] == confusion.counts.tolist()
    assert table["rows"][-1][-1] == confusion.total.to_dict()
    (figure,) = parts(page, "figure")
    assert figure["data"]["values"] == confusion.counts.sum(axis=1).tolist()
    saved = savings(y, done, costs)
    single = {name: mean_cost(y, np.full(len(y), name, object), costs) for name in costs.actions}
    page = show_savings(Report("t"), saved, single)
    (figure,) = parts(page, "figure")
    assert figure["data"]["values"][0] == pytest.approx(saved.cost.value, rel=1e-5)
    assert figure["data"]["values"][1:] == pytest.approx(
        [one.value for one in single.values()], rel=1e-5
    )


def test_an_action_that_never_pays_is_a_warning():
    costs = CostMatrix.binary(false_alarm=1, miss=20).with_abstain(5, name="ask")
    page = show_costs(Report("t"), costs, costs.thresholds())
    assert any("ask" in warning for warning in page.to_dict()["warnings"])
    (table,) = parts(page, "table")
    assert table["rows"][2][3] == "never"


def test_costs_by_row_are_told_in_words():
    costs = CostMatrix.per_row(false_alarm=5, miss=np.array([10.0, 20.0]))
    page = show_costs(Report("t"), costs)
    assert parts(page, "code")
    assert not parts(page, "table")


def test_curves_are_drawn_as_they_are(rows):
    curve = decision_curve(*rows)
    page = show_decision_curve(Report("t"), curve, 0.05)
    (figure,) = parts(page, "figure")
    assert figure["data"]["lines"][0]["y"] == pytest.approx(curve.net_benefit, rel=1e-5, abs=1e-12)
    assert "threshold of these costs" in page.html()
    table = reliability(*rows)
    (figure,) = parts(show_reliability(Report("t"), {"1": table}), "figure")
    assert figure["data"]["series"][0]["observed"] == pytest.approx(table.observed, rel=1e-5)
    (figure,) = parts(show_reliability(Report("t"), {"a": table, "b": table}), "figure")
    assert len(figure["data"]["series"]) == 2


def test_performance_shows_the_truth_beside_it():
    rng = np.random.default_rng(0)
    score = np.append(rng.normal(0, 1, 1900), rng.normal(2.5, 1, 100))
    event = np.arange(2000) >= 1900
    label = np.where(score >= 2, event.astype(float), np.nan)
    found = estimate_performance(score, label, threshold=2.0)
    truth = {"recall": float(event[score >= 2].sum() / 100)}
    page = show_performance(Report("t"), found, truth=truth)
    (numbers,) = parts(page, "numbers")
    held = {row["name"]: row for row in numbers["rows"]}
    assert held["recall"]["value"] == found.recall.to_dict()
    assert held["recall"]["truth"] == truth["recall"]
    assert page.to_dict()["warnings"] == list(found.warnings)


def test_what_estimates_lean_on_is_said_once():
    one = Estimate(1.0, 0.0, 2.0, assumes="rows are draws")
    assert leans_on([one, one, 3, Estimate(1, 0, 2)]) == ["Rows are draws."]


# --- models ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 2))
    return X, (rng.random(300) < 1 / (1 + np.exp(2 - X[:, 0]))).astype(float)


def test_a_linear_model_shows_coefficients_and_their_intervals(sample):
    model = RareClassifier("logistic", ridge=0).fit(*sample)
    page = show_model(Report("t"), model, spread={"x0": 2.0})
    table = next(t for t in parts(page, "table") if "coefficient" in t["columns"])
    found = model.coef_interval(method="wald")
    assert [row[1] for row in table["rows"]] == [*model.coef_[0], model.intercept_[0]]
    assert [row[2] for row in table["rows"]] == pytest.approx(list(np.ravel(found.low)))
    (figure,) = parts(page, "figure")
    assert figure["data"]["names"] == ["x0"]
    assert figure["data"]["values"] == pytest.approx([2 * model.coef_[0, 0]], rel=1e-5)
    assert model.report_.meaning in page.html().replace("&#39;", "'")


def test_a_tuned_model_says_why_it_has_no_intervals(sample):
    model = RareClassifier("logistic", ridges=[0.1, 1.0], cv=2).fit(*sample)
    page = show_model(Report("t"), model)
    assert any("Without intervals" in part["text"] for part in parts(page, "text"))
    assert parts(page, "code")[0]["text"] == str(model.selection_)


def test_a_wrapped_model_shows_both(sample):
    model = PriorCorrected(RareClassifier("logistic", ridge=1.0), prior=0.01).fit(*sample)
    page = show_model(Report("t"), model)
    words = {row[0]: row[1] for t in parts(page, "table") for row in t["rows"]}
    assert words["class shares moved to"] == "0.0: 99 %, 1.0: 1 %"
    assert words["loss"] == "logistic"


def test_other_kinds_show_what_they_have(sample):
    X, y = sample
    page = show_model(Report("t"), GaussianBayes().fit(X, y))
    assert any(t["columns"][0] == "class" for t in parts(page, "table"))
    page = show_model(Report("t"), GaussianBayes("shared").fit(X, y))
    assert any("coefficient" in t["columns"] for t in parts(page, "table"))
    presence = np.where(y == 1, 1.0, np.nan)
    model = MaxentClassifier().fit(X, presence)
    (figure,) = parts(show_model(Report("t"), model), "figure")
    curve = model.response_curve(0)
    first = next(iter(figure["data"]["panels"].values()))[0]
    assert first["y"] == pytest.approx(curve.prob, rel=1e-5)


def test_categories_keep_their_names():
    rng = np.random.default_rng(0)
    seen = rng.random(300) < 0.3
    city = np.where(rng.random(300) < np.where(seen, 0.8, 0.3), "Ulm", "Bonn")
    table = pa.table(
        {"city": city, "x": rng.normal(size=300), "seen": [1 if one else None for one in seen]}
    )
    model = MaxentClassifier().fit(open_rows(table, label="seen"))
    bars, panels = parts(show_model(Report("t"), model), "figure")
    assert bars["data"]["names"] == ["Bonn", "Ulm"]
    assert bars["data"]["values"] == pytest.approx(model.response_curve("city").prob, rel=1e-5)
    assert bars["data"]["values"][0] < bars["data"]["values"][1]
    assert list(panels["data"]["panels"]) == ["x"]


class Stacked:
    def __init__(self) -> None:
        self.classes_ = np.array([0, 1])
        self.weights_ = {"logit": 0.2, "forest": 0.7}
        self.fallback_ = "Predicts with logit alone."
        self.comparison_ = {"auto": {"log_loss": 0.15, "log_loss_error": 0.01}}
        self.report_ = FitReport(False, 0.1, 0.2, 3, 0.1, warnings=("Few events.",))


def test_a_stack_shows_members_and_a_fit_that_did_not_end_is_a_warning():
    page = show_model(Report("t"), Stacked())
    (figure,) = parts(page, "figure")
    assert figure["data"] == {
        "x": "weight in the stack", "names": ["forest", "logit"], "values": [0.7, 0.2],
    }  # fmt: skip
    assert "0.15 ± 0.01" in page.html()
    assert page.to_dict()["warnings"][0] == "Few events."
    assert "did not reach its target" in page.to_dict()["warnings"][1]


def test_a_model_of_ones_own_is_no_error():
    class Plain:
        classes_ = (0, 1)

    assert "no certificate" in show_model(Report("t"), Plain()).html()
