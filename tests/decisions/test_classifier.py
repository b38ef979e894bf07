"""CostSensitiveClassifier: any model, costs with the rows, routing, tables and model files."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from scarce import (
    CostMatrix,
    CostSensitiveClassifier,
    DataError,
    GaussianBayes,
    PriorCorrected,
    RareClassifier,
    UsageError,
    correct_prior,
    decide,
    load,
    open_rows,
    save,
)
from tests.problems import refused, warned
from tests.properties.store_properties import check_round_trip

COSTS = CostMatrix.binary(false_alarm=5, miss=400, classes=("legit", "fraud"))


@pytest.fixture
def frauds(rng):
    y = rng.random(800) < 0.08
    X = rng.normal(size=(800, 3)) + 1.2 * y[:, None]
    return X, np.where(y, "fraud", "legit"), rng.lognormal(4, 1, 800)


def test_classes_are_matched_by_name_though_fraud_sorts_first(frauds):
    X, y, _ = frauds
    model = CostSensitiveClassifier(GaussianBayes(), COSTS.with_abstain(3, name="ask")).fit(X, y)
    assert model.classes_.tolist() == ["fraud", "legit"]
    p = model.predict_proba(X)[:, 0]
    wanted = np.where(p < 3 / 400, "legit", np.where(p < 1 - 3 / 5, "ask", "fraud"))
    assert (model.predict_action(X) == wanted).all()
    assert set(wanted) == {"legit", "ask", "fraud"}
    cut = 5 / 405
    assert (model.predict(X) == np.where(p < cut, "legit", "fraud")).all()


def test_amounts_come_with_the_rows(frauds):
    X, y, amount = frauds
    costs = CostMatrix.binary(false_alarm=5, miss="amount", classes=("legit", "fraud"))
    model = CostSensitiveClassifier(RareClassifier("logistic", ridge=1.0), costs).fit(X, y)
    p = model.predict_proba(X)[:, 0]
    wanted = np.where(p < 5 / (5 + amount), "legit", "fraud")
    for given in (amount, amount[:, None], {"amount": amount}, pd.DataFrame({"amount": amount})):
        assert (model.predict_action(X, amounts=given) == wanted).all()
        assert (model.predict(X, amounts=given) == wanted).all()
    with refused("unbound-column", UsageError, amounts="amounts"):
        model.predict_action(X)
    with refused("length-mismatch", DataError, rows="800 rows", cost_rows=799):
        model.predict_action(X, amounts=amount[:-1])
    paid = np.where((wanted == "fraud") & (y == "legit"), 5, 0) + np.where(
        (wanted == "legit") & (y == "fraud"), amount, 0
    )
    assert model.score(X, y, amounts=amount) == pytest.approx(-paid.mean())
    weight = np.arange(800)
    assert model.score(X, y, weight, amount) == pytest.approx(-np.average(paid, weights=weight))
    with refused("unused-argument", UsageError):
        CostSensitiveClassifier(GaussianBayes(), COSTS).fit(X, y).predict(X, amounts=amount)


def test_a_table_brings_its_own_amounts(frauds):
    X, y, amount = frauds
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(amount=amount)
    costs = CostMatrix.binary(false_alarm=5, miss="amount", classes=("legit", "fraud"))
    model = CostSensitiveClassifier(GaussianBayes(), costs).fit(frame, y)
    p = model.predict_proba(frame)
    bound = costs.with_classes(["fraud", "legit"]).bind(frame)
    assert (model.predict_action(frame) == decide(p, bound)).all()
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "amount"]


def test_metadata_is_routed_through_pipelines_and_searches(frauds):
    X, y, amount = frauds
    costs = CostMatrix.binary(false_alarm=5, miss="amount", classes=("legit", "fraud"))
    with sklearn.config_context(enable_metadata_routing=True):
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        model = (
            CostSensitiveClassifier(inner, costs)
            .set_predict_request(amounts=True)
            .set_score_request(amounts=True, sample_weight=False)
        )
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        weight = np.where(y == "fraud", 3.0, 1.0)
        pipe.fit(X, y, sample_weight=weight)
        alone = LogisticRegression().fit(StandardScaler().fit_transform(X), y, weight)
        np.testing.assert_allclose(pipe[-1].estimator_.coef_, alone.coef_)
        p = pipe.predict_proba(X)[:, 0]
        wanted = np.where(p < 5 / (5 + amount), "legit", "fraud")
        assert (pipe.predict(X, amounts=amount) == wanted).all()
        search = GridSearchCV(model, {"estimator__C": [1e-4, 1.0]}, cv=3)
        search.fit(X, y, amounts=amount, sample_weight=np.ones(800))
        assert search.best_params_ == {"estimator__C": 1.0}
        scores = cross_val_score(model, X, y, cv=3, params={"amounts": amount})
        assert (scores < 0).all()


def test_new_costs_need_no_new_fit_and_a_fitted_model_may_be_used(frauds):
    X, y, _ = frauds
    fitted = LogisticRegression().fit(X, y)
    frozen = CostSensitiveClassifier(FrozenEstimator(fitted), COSTS).fit(X[:2], y[:2])
    np.testing.assert_array_equal(frozen.predict_proba(X), fitted.predict_proba(X))
    many = [
        (
            CostSensitiveClassifier(
                FrozenEstimator(fitted),
                CostMatrix.binary(false_alarm=5, miss=miss, classes=("legit", "fraud")),
            )
            .fit(X, y)
            .predict(X)
            == "fraud"
        ).sum()
        for miss in (1, 10, 100, 1000)
    ]
    assert many == sorted(many)
    assert many[0] < many[-1]


def test_prior_shift_is_that_of_prior_corrected(frauds):
    X, y, _ = frauds
    shares = {"fraud": 0.005, "legit": 0.995}
    moved = CostSensitiveClassifier(
        PriorCorrected(RareClassifier("logistic", ridge=1.0), prior=shares), COSTS
    ).fit(X, y)
    seen = (y == "fraud").mean()
    here = CostSensitiveClassifier(
        RareClassifier("logistic", ridge=1.0),
        COSTS,
        trained_at=[seen, 1 - seen],
        now_at=[0.005, 0.995],
    ).fit(X, y)
    np.testing.assert_allclose(here.predict_proba(X), moved.predict_proba(X), rtol=1e-9)
    assert (here.predict_action(X) == moved.predict_action(X)).all()


@parametrize_with_checks([CostSensitiveClassifier(LogisticRegression(class_weight="balanced"))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def two_clouds(n, seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.05).astype(int)
    return rng.normal(size=(n, 2)) + 1.2 * y[:, None], y


def test_class_weights_are_undone_before_costs_decide():
    X, y = two_clouds(4000, 0)
    there, truth = two_clouds(20_000, 1)
    costs = CostMatrix.binary(false_alarm=5, miss=100)

    def paid(estimator, **settings):
        return -CostSensitiveClassifier(estimator, costs, **settings).fit(X, y).score(there, truth)

    plain, loud = LogisticRegression(), LogisticRegression(class_weight="balanced")
    assert paid(loud) == pytest.approx(paid(plain), rel=0.02)
    assert paid(loud, trained_at=y.mean(), now_at=y.mean()) > 1.5 * paid(plain)  # as it was
    for inner in (make_pipeline(StandardScaler(), loud), GridSearchCV(loud, {"C": [1.0]}, cv=2)):
        assert paid(inner) == pytest.approx(paid(plain), rel=0.02)
    model = CostSensitiveClassifier(loud, costs).fit(X, y)
    np.testing.assert_allclose(model.trained_at_, [0.5, 0.5])
    np.testing.assert_allclose(model.now_at_[1], y.mean())
    # What the user states is kept, and either base rate may be given alone.
    stated = CostSensitiveClassifier(GaussianBayes(priors=[0.5, 0.5]), costs).fit(X, y)
    np.testing.assert_array_equal(
        stated.predict_proba(there), stated.estimator_.predict_proba(there)
    )
    moved = CostSensitiveClassifier(stated.estimator, costs, now_at={1: 0.05}).fit(X, y)
    by_hand = correct_prior(moved.estimator_.predict_proba(there), 0.5, 0.05)
    np.testing.assert_array_equal(moved.predict_proba(there), by_hand)
    told = CostSensitiveClassifier(loud, costs, trained_at=0.5).fit(X, y)
    np.testing.assert_allclose(told.predict_proba(there), model.predict_proba(there), rtol=1e-9)
    model.set_params(now_at=0.2)  # new base rates need no new fit
    np.testing.assert_allclose(model.now_at_, [0.8, 0.2])
    assert model.predict_proba(there)[:, 1].mean() > told.predict_proba(there)[:, 1].mean()


def test_costs_of_training_rows_are_refused_and_columns_allowed(frauds):
    X, y, amount = frauds
    stack = np.tile([[0.0, 9.0], [1.0, 0.0]], (len(X), 1, 1))
    bound = CostMatrix.binary(false_alarm=5, miss="amount").bind({"amount": amount})
    arrays = CostMatrix.per_row(false_alarm=5, miss=amount)
    for costs in (stack, bound, arrays):
        with refused("costs-per-row", UsageError, argument="costs", rows=len(X)):
            CostSensitiveClassifier(LogisticRegression(), costs).fit(X, y)
    model = CostSensitiveClassifier(LogisticRegression(), COSTS).fit(X, y)
    model.set_params(costs=arrays)
    with refused("costs-per-row", UsageError, rows=len(X)):
        model.predict(X)
    inner = CostSensitiveClassifier(GaussianBayes(), COSTS).fit(X, y)
    inner.set_params(costs=arrays)
    inner._check_loaded()  # older files have such costs: they load, and probabilities are right
    assert inner.predict_proba(X).shape == (len(X), 2)
    inner.base_rates_ = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    with refused("inconsistent-model"):
        inner._check_loaded()


def test_the_table_says_why(frauds):
    X, y, _ = frauds
    model = CostSensitiveClassifier(GaussianBayes(), COSTS.with_abstain(3, name="ask")).fit(X, y)
    table = model.decision_table(X)
    assert (table.actions == model.predict_action(X)).all()
    assert len(table) == 800
    assert sum(table.counts().values()) == 800
    ordered = np.sort(table.cost, axis=1)
    np.testing.assert_allclose(table.margin, ordered[:, 1] - ordered[:, 0], atol=1e-12)
    np.testing.assert_allclose(table.expected, ordered[:, 0])
    names = np.array(table.costs.actions)
    assert (table.runner_up == names[np.argsort(table.cost, axis=1, kind="stable")[:, 1]]).all()
    frame = pd.DataFrame(table.columns())
    assert list(frame) == [
        "action",
        "p(fraud)",
        "p(legit)",
        "cost(legit)",
        "cost(fraud)",
        "cost(ask)",
        "runner_up",
        "margin",
    ]
    assert "... and 792 more" in str(table)
    assert len(table.to_dict()["action"]) == 800


def test_actions_that_are_no_classes(frauds):
    X, y, _ = frauds
    costs = CostMatrix([[0, 400], [5, 0]], actions=["pass", "stop"], classes=["legit", "fraud"])
    model = CostSensitiveClassifier(GaussianBayes(), costs).fit(X, y)
    assert set(model.predict_action(X)) == {"pass", "stop"}
    with refused("no-class-action", UsageError):
        model.predict(X)


def test_what_cannot_work_is_said_before_the_fit(frauds):
    X, y, _ = frauds
    with refused("no-predict-proba", UsageError, estimator="LinearSVC"):
        CostSensitiveClassifier(LinearSVC(), COSTS).fit(X, y)
    with refused("unknown-class", UsageError, name="spam"):
        CostSensitiveClassifier(GaussianBayes(), COSTS).fit(X, np.where(y == "fraud", "spam", y))
    with refused("costs-type", UsageError):
        CostSensitiveClassifier(GaussianBayes(), 7).fit(X, y)
    model = CostSensitiveClassifier(GaussianBayes(), COSTS).fit(X, y)
    with refused("unknown-class", DataError, value="spam", row=0, source="the classes"):
        model.score(X[:1], ["spam"])
    with refused("missing-label", DataError, row=1):
        model.score(X[:2], ["fraud", None])
    with refused("length-mismatch", DataError, rows=2):
        model.score(X[:2], ["fraud"] * 3)


def test_rows_of_a_file(frauds, tmp_path):
    X, y, _ = frauds
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=y)
    frame.to_csv(tmp_path / "f.csv", index=False)
    rows = open_rows(tmp_path / "f.csv", label="kind", positive="fraud")
    with refused("rows-carry-labels", UsageError):
        CostSensitiveClassifier(GaussianBayes(), COSTS).fit(rows, y)
    by_file = CostSensitiveClassifier(GaussianBayes(), COSTS).fit(rows)
    by_array = CostSensitiveClassifier(GaussianBayes(), COSTS).fit(frame[["a", "b", "c"]], y)
    assert (by_file.predict_action(rows) == by_array.predict_action(frame[["a", "b", "c"]])).all()


@pytest.mark.parametrize("miss", [400.0, "0.8 * amount + 15"])
def test_model_file(frauds, tmp_path, miss):
    X, y, amount = frauds
    costs = CostMatrix.binary(false_alarm=5, miss=miss, classes=("legit", "fraud"))
    model = CostSensitiveClassifier(GaussianBayes(), costs.with_abstain(3)).fit(X, y)
    if miss == 400.0:
        check_round_trip(model, X)
        return
    save(model, tmp_path / "m.scarce")
    again = load(tmp_path / "m.scarce")
    given = {"amount": amount}
    np.testing.assert_array_equal(
        again.predict_action(X, amounts=given), model.predict_action(X, amounts=given)
    )
    assert again.costs_.columns == ("amount",)


def test_new_costs_act_without_a_new_fit(frauds):
    X, y, _ = frauds
    model = CostSensitiveClassifier(GaussianBayes(), COSTS.with_abstain(3)).fit(X, y)
    dear = CostMatrix.binary(false_alarm=5, miss=20_000, classes=("legit", "fraud"))
    before = model.predict_action(X)
    after = model.set_params(costs=dear).predict_action(X)
    assert "abstain" in before
    assert set(after) == {"legit", "fraud"}
    assert model.actions_.tolist() == ["legit", "fraud"]


def test_inside_what_numbers_the_classes_probabilities_need_no_costs(frauds):
    X, y, _ = frauds
    model = CostSensitiveClassifier(LogisticRegression(), COSTS)
    prob = cross_val_predict(model, X, y, method="predict_proba", cv=3)
    assert prob.shape == (800, 2)
    vote = VotingClassifier([("a", model), ("b", LogisticRegression())], voting="soft").fit(X, y)
    alone = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(vote.predict_proba(X), alone.predict_proba(X))
    inner = vote.estimators_[0]
    with refused("numbered-classes", UsageError):
        inner.predict(X)


def test_costs_without_names_beside_classes_with_names_are_told(frauds):
    X, y, _ = frauds
    plain = CostMatrix.binary(false_alarm=5, miss=400)
    with warned("unnamed-classes", event="legit"):
        CostSensitiveClassifier(GaussianBayes(), plain).fit(X, y)
    CostSensitiveClassifier(GaussianBayes(), CostMatrix.zero_one(2).with_abstain(0.1)).fit(X, y)
    with refused("costs-type", UsageError):
        CostSensitiveClassifier(GaussianBayes(), "costs.csv").fit(X, y)
    model = CostSensitiveClassifier(GaussianBayes(), COSTS).fit(X, y)
    for weight, code in (
        (-np.ones(800), "weight-range"),
        (np.full(800, np.nan), "weight-range"),
        (np.ones(3), "length-mismatch"),
        (np.zeros(800), "no-weight"),
    ):
        with refused(code, DataError, argument="sample_weight"):
            model.score(X, y, sample_weight=weight)


def test_the_table_keeps_the_names_of_the_rows(frauds):
    X, y, _ = frauds
    frame = pd.DataFrame(X, index=[f"case {i}" for i in range(800)], columns=["a", "b", "c"])
    table = CostSensitiveClassifier(GaussianBayes(), COSTS).fit(frame, y).decision_table(frame[:3])
    assert table.columns()["index"].tolist() == ["case 0", "case 1", "case 2"]
    assert "case 1" in str(table)
