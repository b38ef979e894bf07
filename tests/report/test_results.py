"""Records on a page: their own numbers, their remarks on top, nothing computed on the way."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from scarce import (
    AutoClassifier,
    CostMatrix,
    GaussianBayes,
    MaxentClassifier,
    PriorCorrected,
    RareClassifier,
    cost_confusion,
    decide,
    decision_curve,
    estimate_performance,
    load,
    mean_cost,
    open_rows,
    save,
    savings,
)
from scarce.errors import ScarceError
from scarce.evaluation.calibration import reliability
from scarce.evaluation.evaluate import evaluate
from scarce.report import (
    Report,
    assumptions,
    gain_in_words,
    level_of,
    show_confusion,
    show_costs,
    show_decision_curve,
    show_evaluation,
    show_model,
    show_performance,
    show_reliability,
    show_savings,
)
from scarce.report.models import COMPARED, RULES, SHARES, WORDS
from scarce.report.results import HALF
from scarce.report.values import cell
from scarce.results import Estimate, FitReport
from tests.problems import codes


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    prob = rng.beta(0.6, 8, 1500)
    return (rng.random(1500) < prob).astype(float), prob


def columns_of(page: Report) -> list[str]:
    """Headings of the table of coefficients."""
    return next(t["columns"] for t in parts(page, "table") if "coefficient" in t["columns"])


def parts(page: Report, kind: str) -> list[dict]:
    return [p for s in page.to_dict()["sections"] for p in s["parts"] if p["kind"] == kind]


def test_an_evaluation_shows_its_figures_beside_the_constant(rows):
    found = evaluate(*rows)
    page = show_evaluation(Report("t"), found)
    (numbers,) = parts(page, "numbers")
    held = {row["name"]: row for row in numbers["rows"]}
    assert held["log loss"]["value"] == found.log_loss.to_dict()
    assert held["log loss"]["beside"] == found.constant_log_loss.to_dict()
    assert held["AUC"]["value"] == found.auc[0].to_dict()
    assert held["observed frequency"]["value"]["value"] == pytest.approx(rows[0].mean())
    assert "constant forecast" in page.html()


def test_an_evaluation_of_several_classes_has_a_row_for_each(rows):
    rng = np.random.default_rng(0)
    prob = rng.dirichlet([1, 1, 1], 400)
    y = np.array([rng.choice(3, p=p) for p in prob])
    found = evaluate(np.array(list("abc"))[y], prob, classes=["a", "b", "c"])
    page = show_evaluation(Report("t"), found)
    (table,) = parts(page, "table")
    assert [row[0] for row in table["rows"]] == ["a", "b", "c"]
    assert [row[1] for row in table["rows"]] == list(found.counts)
    assert table["rows"][2][5] == found.auc[2].to_dict()


def test_remarks_become_warnings(rows):
    found = evaluate(rows[0], np.full(1500, 0.9))
    assert found.remarks
    page = show_evaluation(Report("t"), found)
    assert page.to_dict()["warnings"] == list(found.remarks)


def test_words_on_the_gain_do_not_contradict_the_figures():
    rng = np.random.default_rng(4)
    y = (np.arange(200) < 60).astype(float)
    worse = evaluate(y, 0.3 + 0.01 * rng.normal(size=200))
    assert worse.log_loss_skill.value < 0 < worse.log_loss_skill.high
    assert "no skill" in gain_in_words(worse)
    sure = np.where(y == 1, 0.9, 0.1)
    sure[0] = 1e-30  # one row that was ruled out costs more than all others gain
    both = evaluate(y, sure)
    assert both.log_loss_skill.low <= 0 < both.brier_skill.low
    assert "in log loss" in gain_in_words(both)
    assert cell(both.brier_skill, percent=True) in gain_in_words(both)
    page = show_evaluation(Report("t"), both)
    (said,) = [one for one in page.to_dict()["warnings"] if "noise" in one]
    assert "in log loss" in said
    assert "In Brier score there is one" in said


def test_the_brier_score_of_several_classes_says_what_it_is():
    rng = np.random.default_rng(0)
    prob = rng.dirichlet([1, 1, 1], 200)
    y = rng.integers(0, 3, 200)
    found = evaluate(np.array(list("abc"))[y], prob, classes=["a", "b", "c"])
    squares = ((prob - np.eye(3)[y]) ** 2).sum(axis=1).mean()
    assert found.brier.value == pytest.approx(squares / 2)
    (numbers,) = parts(show_evaluation(Report("t"), found), "numbers")
    (meaning,) = [row["meaning"] for row in numbers["rows"] if row["name"] == "Brier score"]
    assert meaning == HALF
    (numbers,) = parts(show_evaluation(Report("t"), evaluate(y > 0, prob[:, 0])), "numbers")
    assert numbers["rows"][1]["meaning"] != HALF


def test_a_gap_of_rounding_is_shown_as_nothing():
    page = Report("t").numbers([("gap", Estimate(1.9e-15, -0.03, 0.03), "")], points=["gap"])
    assert "0 pp" in page.html()
    assert "e-1" not in page.html()[: page.html().index("<script")]


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
    assert held["precision"]["value"] == found.precision.to_dict()
    assert held["precision of further alerts"]["value"] == found.precision_further.to_dict()
    assert page.to_dict()["warnings"] == list(found.warnings)


def test_assumptions_are_said_once():
    one = Estimate(1.0, 0.0, 2.0, assumes="rows are draws")
    assert assumptions([one, one, 3, Estimate(1, 0, 2)]) == ["Rows are draws."]


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
    found = model.coef_interval()
    assert found.method == "profile"
    assert "profile likelihood" in table["caption"]
    assert [row[1] for row in table["rows"]] == [*model.coef_[0], model.intercept_[0]]
    assert [row[2] for row in table["rows"]] == pytest.approx(list(np.ravel(found.low)))
    (figure,) = parts(page, "figure")
    assert figure["data"]["names"] == ["x0"]
    assert figure["data"]["values"] == pytest.approx([2 * model.coef_[0, 0]], rel=1e-5)
    assert model.report_.meaning in page.html().replace("&#39;", "'")


def test_a_stored_model_shows_the_intervals_of_the_fresh_one(sample, tmp_path):
    fresh = RareClassifier("logistic", ridge=0).fit(*sample)
    save(fresh, tmp_path / "m.scarce")
    page = show_model(Report("t"), load(tmp_path / "m.scarce"))
    table = next(t for t in parts(page, "table") if "coefficient" in t["columns"])
    assert [row[2] for row in table["rows"]] == list(np.ravel(fresh.coef_interval().low))
    assert "profile likelihood" in table["caption"]
    bare = RareClassifier("logistic", ridge=0, keep_rows=False).fit(*sample)
    page = show_model(Report("t"), bare)
    assert "low" not in columns_of(page)
    with pytest.raises(ScarceError) as refusal:
        bare.coef_interval()
    assert any(str(refusal.value) in part["text"] for part in parts(page, "text"))


def test_bars_of_coefficients_say_which_are_shown(sample):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 60))
    model = RareClassifier("logistic", ridge=1.0).fit(X, sample[1])
    (figure,) = parts(show_model(Report("t"), model, spread={"x0": 2.0, "x1": 1.0}), "figure")
    assert "58" in figure["caption"]
    spread = {f"x{i}": 1.0 for i in range(60)}
    (figure,) = parts(show_model(Report("t"), model, spread=spread), "figure")
    assert {"40", "60"} <= set(figure["caption"].replace(".", "").split())
    effect = np.sort(np.abs(model.coef_[0]))[::-1]
    assert np.abs(figure["data"]["values"]) == pytest.approx(effect[:40], rel=1e-5)
    few = show_model(Report("t"), model, spread={"x0": 2.0})
    assert "40" not in parts(few, "figure")[0]["caption"]


def test_a_tuned_model_says_why_it_has_no_intervals(sample):
    model = RareClassifier("logistic", ridges=[0.1, 1.0], cv=2).fit(*sample)
    page = show_model(Report("t"), model)
    with pytest.raises(ScarceError) as refusal:
        model.coef_interval()
    assert any(str(refusal.value) in part["text"] for part in parts(page, "text"))
    assert parts(page, "code")[0]["text"] == str(model.selection_)


def test_a_wrapped_model_shows_both(sample):
    model = PriorCorrected(RareClassifier("logistic", ridge=1.0), prior=0.01).fit(*sample)
    page = show_model(Report("t"), model)
    words = {row[0]: row[1] for t in parts(page, "table") for row in t["rows"]}
    assert words[SHARES["now_at_"]] == "0.0: 99 %, 1.0: 1 %"
    assert words["loss"] == "logistic"


def test_other_kinds_show_what_they_have(sample):
    X, y = sample
    page = show_model(Report("t"), GaussianBayes("diag").fit(X, y))
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


def test_the_variables_with_the_largest_range_are_shown_and_the_base_rate_is_said(sample):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 12))
    seen = np.where(rng.random(600) < 0.4 / (1 + np.exp(-3 * X[:, 11])), 1.0, np.nan)
    model = MaxentClassifier(features="l").fit(X, seen)
    page = show_model(Report("t"), model)
    panels = list(parts(page, "figure")[0]["data"]["panels"])
    ranges = {f"x{i}": np.ptp(model.response_curve(i).prob) for i in range(12)}
    assert panels == sorted(ranges, key=lambda name: -ranges[name])[:8]
    assert panels[0] == "x11"
    told = " ".join(part["text"] for part in parts(page, "text"))
    assert "12; 4 are not shown" in told
    share = f"{100 * model.class_prior_[-1]:.3g} %"
    assert f"assumed, not estimated: {share} for 1" in told
    known = MaxentClassifier(features="l", prevalence=0.3).fit(X, seen)
    assert level_of(known) == "The base rate was given: 30 % for 1.0."
    seen = SimpleNamespace(
        classes_=[0, 1], class_prior_=[0.7, 0.3], class_prior_from_="observed", prevalence=None
    )
    assert "30 % for 1" in level_of(seen)
    settings = {row[0] for t in parts(page, "table") for row in t["rows"]}
    assert WORDS["default_prevalence"] not in settings


def test_many_levels_are_cut_to_the_likeliest():
    rng = np.random.default_rng(0)
    place = rng.integers(0, 50, 2000)
    seen = [1 if one else None for one in rng.random(2000) < place / 100]
    table = pa.table({"place": [f"p{one:02}" for one in place], "seen": seen})
    model = MaxentClassifier().fit(open_rows(table, label="seen"))
    (figure,) = parts(show_model(Report("t"), model), "figure")
    assert {"40", "50"} <= set(figure["caption"].split())
    prob = np.sort(model.response_curve("place").prob)[::-1]
    assert np.sort(figure["data"]["values"])[::-1] == pytest.approx(prob[:40], rel=1e-5)


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
    assert str(Stacked().report_).splitlines()[0] in page.to_dict()["warnings"][1]


def test_a_stack_explains_its_columns_and_why_it_predicts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (rng.random(200) < 1 / (1 + np.exp(1 - 2 * X[:, 0]))).astype(float)
    model = AutoClassifier(["logit", "spline"], fallback="loss", cv=3).fit(X, y)
    lines = model.comparison_
    best = next(name for name in lines if name.startswith("best single"))
    model.chosen_, model.fallback_ = "auto", None
    lines["auto"]["log_loss"] = 1.01 * lines[best]["log_loss"]
    page = show_model(Report("t"), model)
    told = " ".join(part["text"] for part in parts(page, "text"))
    assert "although the best single member has the smaller log loss" in told
    assert RULES["loss"] in told
    (table,) = [t for t in parts(page, "table") if t["columns"][0] == "model"]
    assert table["columns"][1:] == ["log loss", "Brier score", "predicted / observed"]
    assert COMPARED["total"] in table["caption"]
    assert "small-sample" in codes(model.report_.warnings)
    assert set(model.report_.warnings) <= set(page.to_dict()["warnings"])
    lines["auto"]["log_loss"] = 0.99 * lines[best]["log_loss"]
    page = show_model(Report("t"), model)
    assert not any("although" in part["text"] for part in parts(page, "text"))
    model.chosen_ = "spline"
    figure, *curves = parts(show_model(Report("t"), model), "figure")
    assert len(curves) == 1  # of the drivers
    assert "spline predicts alone" in figure["caption"]


def test_a_model_of_ones_own_is_no_error():
    class Plain:
        classes_ = (0, 1)

    assert "no certificate" in show_model(Report("t"), Plain()).html()
