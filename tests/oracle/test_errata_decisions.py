"""Errata of paper 003: what is printed, what is right, and that the package does the right thing.

docs/errata.md quotes the numbers as they are computed here.
"""

import warnings

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from scarce import DataError, RareClassifier, choose_labels
from scarce.amounts.predictive import GaussianPredictive
from scarce.amounts.regression import Pinball, decide_regression, expected_regression_cost
from scarce.decisions.costs import CostMatrix
from scarce.decisions.decide import decide, expected_cost
from scarce.gaussian.classifier import GaussianBayes
from scarce.missed.rounds import label_in_rounds
from tests.oracle import errata_decisions as errata
from tests.oracle.errata_page import measured

AMOUNT = GaussianPredictive([errata.MEAN], [errata.SD])


def joint(model, X):
    """Log odds of the second of two classes."""
    return np.diff(model.predict_joint_log_proba(X), axis=1)[:, 0]


# --- sections 0.2 to 0.5 --------------------------------------------------------------------------


def test_a_ridge_is_twice_lambda():
    found = errata.penalty()
    X, y = errata.penalty_rows()
    ours = RareClassifier(
        "logistic", ridge=2 * 3.0, standardize=False, fit_intercept=False, tol=1e-13
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_[0], found["printed"], atol=1e-9)
    right, wrong = found["printed"][0], found["halved"][0]
    quoted = f"first coefficient {right:.3f} at lambda = 3; {wrong:.3f} if it is taken for half"
    assert measured("003 0.2") == quoted


def test_a_tie_is_an_action():
    costs = CostMatrix.zero_one([-1, 1])
    assert errata.tie()["sign"] == 0.0
    assert decide([0.5, 0.5 + 1e-12], costs).tolist() == [-1, 1]
    tied = CostMatrix.binary(false_alarm=1, miss=3, classes=(-1, 1))
    assert tied.thresholds()[1] == (0.25, 1.0)  # 0.4: c_FP / (c_FP + c_FN)
    assert np.ptp(expected_cost([0.25], tied)) == 0.0
    assert decide([0.25], tied).tolist() == [-1]
    assert decide([0.25], tied, tie="last").tolist() == [1]  # as printed
    assert measured("003 0.3, 0.4, 1.4, 1.6") == "sign(0) = 0"


def test_two_classes_may_pass_the_printed_rule_at_once():
    found = errata.abstention()
    prob = np.linspace(0.0005, 0.9995, 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that abstaining never pays is said
        costs = CostMatrix.zero_one([-1, 1]).with_abstain(0.6, name="D")
    actions = decide(prob, costs)
    assert set(actions.tolist()) == {-1, 1}  # one action each, and never D
    np.testing.assert_array_equal(actions == 1, prob > 0.5)
    assert found["abstains"] == 0.0
    low = CostMatrix.zero_one([-1, 1]).with_abstain(0.2, name="D")
    assert low.thresholds()["D"] == pytest.approx((0.2, 0.8))  # below 1/2 the printed rule is right
    np.testing.assert_array_equal(decide(prob, low) == "D", (prob > 0.2) & (prob < 0.8))
    three = np.array([[0.34, 0.33, 0.33]])
    assert decide(three, CostMatrix.zero_one(3).with_abstain(0.66)).tolist() == [0]
    assert decide(three, CostMatrix.zero_one(3).with_abstain(0.65)).tolist() == ["abstain"]
    both, ratio = found["both"], found["cost_ratio"]
    quoted = f"c = 0.6: both classes pass for {both:.0%} of all probabilities, the wrong one costs"
    assert measured("003 0.5") == f"{quoted} up to {ratio:.1f} times as much".replace("%", " %")


# --- sections 0.6 and 0.8 -------------------------------------------------------------------------


def test_the_mean_needs_y_in_its_integral():
    found = errata.mean_of_an_amount()
    assert decide_regression(AMOUNT, "squared")[0] == pytest.approx(found["right"], rel=1e-12)
    assert found["printed"] == pytest.approx(1.0, rel=1e-12)
    printed, right = found["printed"], found["right"]
    quoted = f"an amount of 37 with deviation 5: {printed:.0f} printed, {right:.0f} right"
    assert measured("003 0.6, mean") == quoted


def test_phi_ends_at_z():
    found = errata.normal_integral()
    action = decide_regression(AMOUNT, Pinball(under=9, over=1))[0]
    z = (action - errata.MEAN) / errata.SD
    assert z == pytest.approx(1.2815515655446004, rel=1e-12)
    assert found["right"] == pytest.approx(9 / (9 + 1), rel=1e-12)
    assert found["printed"] == pytest.approx(1.0, rel=1e-12)
    quoted = f"Phi(1.2816): {found['printed']:.1f} printed, {found['right']:.1f} right"
    assert measured("003 0.6, Phi") == quoted


def test_sign_and_order_of_the_costs_are_right():
    found = errata.order_of_costs()
    action = decide_regression(AMOUNT, Pinball(under=errata.UNDER, over=errata.OVER))[0]
    assert action == pytest.approx(found["printed"], rel=1e-12)
    assert action == pytest.approx(found["by_search"], abs=1e-5)
    assert measured("003 0.6, costs") == (
        f"37 with deviation 5, c1 = 9, c2 = 1: {found['by_search']:.2f} by search, "
        f"{found['printed']:.2f} by the formula, {found['other_order']:.2f} the other way round"
    )


def test_the_rules_of_the_summary_are_for_one_cost_alone():
    found = errata.rules_of_the_summary()
    cost = Pinball(under=errata.UNDER, over=errata.OVER)
    best = decide_regression(AMOUNT, cost)
    least, mean = (
        expected_regression_cost(AMOUNT, cost, at)[0] for at in (best, np.array([errata.MEAN]))
    )
    assert mean / least == pytest.approx(found["amount"], rel=1e-8)
    assert mean == pytest.approx(errata.expected_cost(errata.MEAN), rel=1e-8)
    costs = CostMatrix.binary(false_alarm=1, miss=20)
    by_action = expected_cost([0.1], costs)[0]
    assert decide([0.1], costs).tolist() == [1]  # sign(w'x) says 0
    assert by_action[0] / by_action.min() == pytest.approx(found["decision"], rel=1e-12)
    amount, decision = found["amount"], found["decision"]
    assert measured("003 0.8") == (
        f"{amount:.1f} times the least cost where too little costs 9 and too much 1; "
        f"{decision:.1f} times at probability 0.1 where a miss costs 20 and a false alarm 1"
    )


# --- section 0.7 ----------------------------------------------------------------------------------


def test_the_most_uncertain_row_has_the_greatest_entropy():
    found = errata.uncertainty()
    (row,) = choose_labels(errata.POOL, policy="uncertainty", n=1).rows
    assert errata.POOL[row] == found["right"] != found["printed"]
    pool = ", ".join(f"{p:g}" for p in errata.POOL)
    quoted = f"of rows at {pool}: {found['printed']} printed, {found['right']} right"
    assert measured("003 0.7, choice") == quoted


def test_no_row_is_asked_about_twice():
    found = errata.pool_that_stays()
    asked = []

    def ask(rows):
        asked.extend(rows.tolist())
        return np.zeros(len(rows))

    label_in_rounds(errata.POOL, ask, n=4, rounds=4, policy="uncertainty")
    assert len(asked) == len(set(asked)) == found["right"] == 4
    quoted = f"four rounds ask about {found['printed']} row, where {found['right']} were meant"
    assert measured("003 0.7, pool") == quoted


def test_nothing_is_learned_from_no_label():
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(DataError, match="label"):
        GaussianBayes().fit(X, np.full(4, np.nan))
    assert len(choose_labels(np.arange(4.0), policy="random", n=2, random_state=0)) == 2


# --- sections 1.3 to 1.6 --------------------------------------------------------------------------


def test_the_line_of_section_1_4_is_right():
    X, y = errata.gaussian_rows(400)
    w, w0 = errata.naive_line(X, y)
    ours = GaussianBayes("shared-diag", var_smoothing=0.0, calibrate=False).fit(X, y)
    np.testing.assert_allclose(joint(ours, X), X @ w + w0, atol=1e-11)
    np.testing.assert_allclose(np.ravel(ours.coef_), w, rtol=1e-11)
    assert np.ravel(ours.intercept_)[0] == pytest.approx(w0, rel=1e-11)
    assert measured("003 1.4, w0") == "log odds of 400 rows: apart by less than 1e-11"


def test_naive_bayes_is_not_logistic_regression():
    found = errata.same_as_logistic()
    X, y = errata.gaussian_rows(100)
    naive = (
        GaussianBayes("shared-diag", var_smoothing=0.0, calibrate=False)
        .fit(X, y)
        .predict_proba(X)[:, 1]
    )
    logistic = RareClassifier("logistic", ridge=0.0, tol=1e-12).fit(X, y).predict_proba(X)[:, 1]
    assert np.abs(naive - logistic).max() == pytest.approx(found["rows_100"], abs=1e-8)
    assert found["rows_100"] > 10 * found["rows_100000"]
    few, many = found["rows_100"], found["rows_100000"]
    quoted = f"model true: probabilities apart by up to {few:.2f} on 100 rows"
    assert measured("003 1.4, logistic") == f"{quoted}, {many:.3f} on 100,000"


def test_correlated_features_make_naive_bayes_too_sure():
    found = errata.correlated_features()
    X, y = errata.correlated_rows()
    at = np.full((1, 4), 1.5)
    naive, *others = (
        GaussianBayes(
            covariance, shrinkage=0 if covariance == "shared" else "auto", calibrate=False
        )
        .fit(X, y)
        .predict_proba(at)[0, 1]
        for covariance in ("diag", "shared", "full", "shrunk")
    )
    assert naive == pytest.approx(found["naive"], abs=0.01)
    for prob in others:
        assert prob == pytest.approx(found["right"], abs=0.03)
    right, wrong = found["right"], found["naive"]
    quoted = f"four features that correlate by 0.9: {wrong:.2f} by naive Bayes"
    assert measured("003 1.4, correlation") == f"{quoted}, {right:.2f} right"


def test_few_rows_have_a_covariance_all_the_same():
    found = errata.covariance_of_few_rows()
    assert found["rank"] == 4
    assert found["least"] < 1e-12
    X, y = errata.few_rows()
    ours = GaussianBayes("full", calibrate=False).fit(X, y)
    assert np.isfinite(ours.predict_log_proba(X)).all()
    assert any("5" in text and "10" in text for text in ours.report_.warnings)
    quoted = f"5 rows, {found['features']} features: rank {found['rank']}, no inverse"
    assert measured("003 1.5") == quoted


def test_a_constant_feature_does_not_decide_everything():
    assert errata.variance_of_a_constant()["variance"] == 0.0
    X, y = errata.constant_rows()
    ours = GaussianBayes("diag", calibrate=False).fit(X, y)
    assert (ours.variance_ > 0).all()
    assert np.isfinite(ours.predict_joint_log_proba(X)).all()
    assert measured("003 1.3") == "variance 0: a density of 0 / 0"


def test_the_cut_needs_the_share():
    found = errata.share_in_the_cut()
    assert found["printed"] > 15 * found["right"]
    X, y = errata.gaussian_rows(2000)
    plain = {"var_smoothing": 0.0, "shrinkage": 0, "calibrate": False}
    ours = GaussianBayes("shared", **plain).fit(X, y)
    even = GaussianBayes("shared", priors=[0.5, 0.5], **plain).fit(X, y)
    np.testing.assert_allclose(ours.coef_, even.coef_, rtol=1e-10)  # the direction is free of p
    shift = float(np.ravel(ours.intercept_)[0] - np.ravel(even.intercept_)[0])
    assert shift == pytest.approx(logit(y.mean()), rel=1e-10)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    np.testing.assert_allclose(
        ours.predict_proba(X)[:, 1], expit(theirs.decision_function(X)), atol=1e-9
    )
    printed, right = found["printed"], found["right"]
    assert measured("003 1.6") == (
        f"classes two deviations apart, a share of 1 %: {printed:.3f} errors per row printed, "
        f"{right:.4f} right: {printed / right:.0f} times"
    )
