"""Standard errors and intervals: as wide as they should be, and refused where they would lie."""

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit
from scipy.stats import chi2, norm
from sklearn.exceptions import NotFittedError

from experiments.frame import FOLDER, read_results
from scarce import DataError, RareClassifier, UsageError, load, save
from scarce.engine.memory import ArrayRows
from scarce.errors import Argument
from scarce.linear import rare
from scarce.linear.firth import fit_firth, flic_intercept
from scarce.linear.inference import (
    Interval,
    laplace_interval,
    profile_interval,
    wald_interval,
)
from scarce.linear.losses import loss_of
from tests.linear import plain
from tests.problems import codes, refused


def logistic(n=200, **rest):
    X, y = plain.rare(n=n, k=2)
    return RareClassifier("logistic", ridge=0, **rest).fit(X, y), X, y


def coef_of(model):
    return np.append(model.coef_[0], model.intercept_)


# --- covariance -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "shape"), [("logistic", None), ("probit", None), ("gev-log", 0.3), ("gev-log", -0.4)]
)
@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_oracle_covariance_of_log_losses_is_the_inverse_curvature(loss, shape, ridge):
    X, y = plain.rare(n=300, k=2)
    X = X * [1.0, 20.0] + [3.0, 0.0]
    shape_given = "auto" if shape is None else shape
    model = RareClassifier(loss, shape=shape_given, ridge=ridge, standardize=False).fit(X, y)
    args = (X, y, loss_of(loss, shape), np.array([ridge, ridge, 0.0]))
    if loss == "gev-log" and shape > 0:
        design = plain.design_of(X)
        _, curvature = args[2].sweep(y, design @ coef_of(model))
        bend = design.T @ (design * curvature[:, None]) + np.diag(args[3])
    else:
        bend = plain.hessian(coef_of(model), *args)
    np.testing.assert_allclose(model.covariance_, np.linalg.inv(bend), rtol=1e-7, atol=1e-14)


@pytest.mark.parametrize("shape", [-0.5, 0.0, 0.7])
def test_oracle_covariance_of_the_canonical_loss_is_the_sandwich(shape, rng):
    X, y = plain.rare(n=300, k=2)
    y[5] = np.nan
    weight = rng.integers(1, 4, size=300).astype(float)
    model = RareClassifier("gev-canonical", shape=shape, ridge=2.0, standardize=False)
    model.fit(X, y, weight)
    kept = ~np.isnan(y)
    loss = loss_of("gev-canonical", shape)
    args = (X[kept], y[kept], loss, np.array([2.0, 2.0, 0.0]), weight[kept])
    bend = np.linalg.inv(plain.hessian(coef_of(model), *args))
    design = plain.design_of(X[kept])
    slope = loss.slope(y[kept], design @ coef_of(model))
    meat = design.T @ (design * (weight[kept] * slope**2)[:, None])
    np.testing.assert_allclose(model.covariance_, bend @ meat @ bend, rtol=1e-8, atol=1e-14)


def test_simulation_sandwich_errors_are_the_spread_of_the_estimates():
    """250 draws of a GEV truth: the mean standard error is the std, to a tenth."""
    rng = np.random.default_rng(5)
    link = loss_of("gev-canonical", 0.3).link
    coefs, errors = [], []
    for _ in range(250):
        X = rng.normal(size=(150, 1))
        y = (rng.random(150) < link.inverse(-0.3 + 0.4 * X[:, 0])).astype(float)
        model = RareClassifier("gev-canonical", shape=0.3, ridge=0).fit(X, y)
        coefs.append(coef_of(model))
        errors.append(np.sqrt(np.diag(model.covariance_)))
    np.testing.assert_allclose(np.mean(errors, axis=0), np.std(coefs, axis=0), rtol=0.1)


def test_invariant_covariance_does_not_lose_its_digits_to_far_columns():
    X, y = plain.rare(n=300, k=2)
    for params in ({"loss": "logistic"}, {"loss": "gev-canonical", "shape": 0.4}):
        near = RareClassifier(ridge=0, **params).fit(X, y).covariance_
        far = RareClassifier(ridge=0, **params).fit(X + [1e6, 0.0], y).covariance_
        np.testing.assert_allclose(far[:2, :2], near[:2, :2], rtol=1e-6)


def test_what_was_not_fitted_has_no_variance():
    X, y = plain.rare(n=300, k=2)
    model = RareClassifier("logistic", ridge=0).fit(np.column_stack([X, X[:, 0], np.ones(300)]), y)
    assert (model.covariance_[2:4] == 0).all()
    alone = RareClassifier("logistic", ridge=0).fit(X, y)
    own = [0, 1, 4]
    np.testing.assert_allclose(model.covariance_[np.ix_(own, own)], alone.covariance_, rtol=1e-7)


# --- intervals of coefficients --------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_wald_intervals_are_what_they_say(level):
    model, _, _ = logistic()
    found = model.coef_interval(level=level, method="wald")
    wide = norm.ppf(0.5 + level / 2) * np.sqrt(np.diag(model.covariance_))
    np.testing.assert_allclose(found.value, coef_of(model))
    np.testing.assert_allclose(found.low, coef_of(model) - wide, rtol=1e-12)
    np.testing.assert_allclose(found.high, coef_of(model) + wide, rtol=1e-12)
    assert found.level == level
    assert found.method == "wald"


def test_oracle_profile_ends_are_where_the_likelihood_has_fallen_enough():
    model, X, y = logistic()
    found = model.coef_interval(level=0.9)
    assert "profile" in found.method
    assert "none" not in found.method
    loss = loss_of("logistic")
    zero = np.zeros(3)
    best = plain.objective(coef_of(model), X, y, loss, zero)

    def excess(t, j):
        """How far twice the loss has risen with coefficient j held at t and the rest refitted."""
        other = 1 - j
        rest = plain.fit(X[:, [other]], y, loss, np.zeros(2), offset=t * X[:, j])
        full = np.array([t, t, rest[1]])
        full[other] = rest[0]
        return 2 * (plain.objective(full, X, y, loss, zero) - best) - chi2.ppf(0.9, 1)

    for j in range(2):
        middle = coef_of(model)[j]
        assert found.low[j] == pytest.approx(brentq(excess, middle - 3, middle, (j,)), abs=1e-6)
        assert found.high[j] == pytest.approx(brentq(excess, middle, middle + 3, (j,)), abs=1e-6)
    np.testing.assert_allclose(found.value, coef_of(model), atol=1e-6)


def test_wald_and_profile_agree_with_many_rows():
    model, _, _ = logistic(n=6000)
    one, other = (model.coef_interval(method=m) for m in ("wald", "profile"))
    np.testing.assert_allclose(one.low, other.low, atol=0.01)
    np.testing.assert_allclose(one.high, other.high, atol=0.01)


def test_auto_is_profile_for_plain_logistic_fits_and_wald_elsewhere():
    model, X, y = logistic()
    assert "profile" in model.coef_interval().method
    assert "firth profile" in logistic(bias_reduction="firth")[0].coef_interval().method
    for other in (
        RareClassifier("probit", ridge=0),
        RareClassifier("logistic", ridge=1.0),
        RareClassifier("logistic", ridge=0, fit_intercept=False),
        RareClassifier("gev-canonical", shape=0.3, ridge=1.0),
    ):
        assert other.fit(X, y).coef_interval().method == "wald"


def test_flic_point_lies_in_its_own_interval():
    model, _, _ = logistic(bias_reduction="flic")
    found = model.coef_interval()
    np.testing.assert_allclose(found.value, coef_of(model), atol=1e-9)
    assert (found.low < coef_of(model)).all()
    assert (coef_of(model) < found.high).all()


def test_fixed_coefficients_have_no_interval():
    X, y = plain.rare(n=200, k=2)
    wide = np.column_stack([X, np.ones(200)])
    found = RareClassifier("logistic", ridge=0).fit(wide, y).coef_interval()
    assert found.value[2] == 0.0
    assert (found.low[2], found.high[2]) == (-np.inf, np.inf)
    held = RareClassifier("logistic", ridge=0, offset=1).fit(X, y)
    for method in ("profile", "wald"):
        found = held.coef_interval(method=method)
        assert (found.low[1], found.value[1], found.high[1]) == (1.0, 1.0, 1.0)
    values = RareClassifier("logistic", ridge=0).fit(X[:, :1], y, offset=X[:, 1])
    for method in ("profile", "wald"):
        one = values.coef_interval(method=method)
        other = held.coef_interval(method=method)
        np.testing.assert_allclose(one.low, np.asarray(other.low)[[0, 2]], atol=1e-6)


# --- intervals of probabilities -------------------------------------------------------------------


@pytest.mark.parametrize("method", ["wald", "profile", "laplace"])
def test_probability_intervals_hold_the_probability(method):
    model, X, _ = logistic()
    ends = model.predict_interval(X[:20], method=method)
    prob = model.predict_proba(X[:20])[:, 1]
    assert ends.shape == (20, 2)
    assert (ends[:, 0] < prob).all()
    assert (prob < ends[:, 1]).all()
    wider = model.predict_interval(X[:20], method=method, level=0.99)
    assert (wider[:, 0] < ends[:, 0]).all()
    assert (wider[:, 1] > ends[:, 1]).all()


def test_oracle_wald_interval_of_a_probability():
    X, y = plain.rare(n=300, k=2)
    model = RareClassifier("gev-canonical", shape=0.4, ridge=1.0).fit(X, y)
    design = plain.design_of(X[:10])
    error = np.sqrt(np.diag(design @ model.covariance_ @ design.T))
    score = design @ coef_of(model)
    link = loss_of("gev-canonical", 0.4).link
    wanted = np.column_stack([link.inverse(score + s * norm.ppf(0.95) * error) for s in (-1, 1)])
    wanted = 0.999 * wanted + 0.001 * y.mean()
    np.testing.assert_allclose(model.predict_interval(X[:10]), wanted, rtol=1e-10)


@pytest.mark.parametrize("method", ["wald", "profile", "laplace"])
def test_a_floor_is_in_the_interval_too(method):
    bare, X, y = logistic()
    held, _, _ = logistic(floor=0.3)
    ends = bare.predict_interval(X[:5], method=method)
    np.testing.assert_allclose(
        held.predict_interval(X[:5], method=method), 0.7 * ends + 0.3 * y.mean(), atol=1e-9
    )


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "chosen"),
    [
        ({"shapes": [0.0, 0.5], "ridges": [1.0]}, r"loss '\S+'( and|, shape \S+ and) ridge 1"),
        ({"loss": "gev-canonical", "shapes": [0.0, 0.5], "ridge": 1.0}, r"shape \S+"),
        ({"loss": "gev-canonical", "shape": 0.3, "ridges": [2.0]}, "ridge 2"),
        ({"loss": "logistic", "ridges": [2.0]}, "ridge 2"),
    ],
)
def test_tuned_fits_give_no_interval(params, chosen):
    X, y = plain.rare(n=200)
    model = RareClassifier(cv=3, **params).fit(X, y)
    assert model.covariance_ is None
    for call in (model.coef_interval, lambda: model.predict_interval(X[:2])):
        with refused("tuned-fit", UsageError) as caught:
            call()
        assert re.fullmatch(chosen, caught.value.fields["chosen"])
    assert "no standard errors: shape or ridge was chosen" in str(model.summary())
    assert list(model.summary().columns) == ["term", "coef"]


def test_other_refusals(tmp_path):
    model, X, y = logistic()
    with refused("unknown-word", UsageError, argument="method", value="walt"):
        model.coef_interval(method="walt")
    with refused("unknown-word", UsageError, argument="method", value="laplace"):
        model.coef_interval(method="laplace")
    for level in (0.0, 1.0, 1.5, -0.1, np.nan):
        for method in ("wald", "profile"):
            with refused("level-range", UsageError):
                model.coef_interval(level=level, method=method)
            with refused("level-range", UsageError):
                model.predict_interval(X[:1], level=level, method=method)
        with refused("level-range", UsageError):
            model.summary(level=level)
    ridged = RareClassifier("logistic", ridge=1.0).fit(X, y)
    with refused("no-likelihood", UsageError, loss="logistic", ridge=1.0):
        ridged.coef_interval(method="profile")
    with refused("no-likelihood", UsageError, loss="probit", ridge=0):
        RareClassifier("probit", ridge=0).fit(X, y).predict_interval(X[:1], method="laplace")
    for bare in (
        RareClassifier("logistic", ridge=0, diagnostics=False),
        RareClassifier("gev-canonical", shape=0.5, ridge=1.0, domain="paper"),
    ):
        with refused("no-covariance", UsageError):
            bare.fit(X, y).coef_interval(method="wald")
    held = RareClassifier("logistic", ridge=0, offset=0).fit(X, y)
    with refused("offset-not-supported", UsageError, argument=Argument("method", "profile")):
        held.predict_interval(X[:1], method="profile")
    assert held.predict_interval(X[:1], method="wald").shape == (1, 2)
    for call in ("coef_interval", "summary"):
        with pytest.raises(NotFittedError):
            getattr(RareClassifier("logistic", ridge=0), call)()
    with pytest.raises(NotFittedError):
        RareClassifier("logistic", ridge=0).predict_interval(X)


@pytest.mark.parametrize("bias", [None, "firth", "flic"])
def test_invariant_intervals_after_save_load_pickle_and_writing_into_x(bias, tmp_path):
    """The model keeps its own copy of the rows, in memory and in files."""
    model, X, y = logistic(n=60, bias_reduction=bias)
    points = X[:4].copy()
    wanted = {m: model.predict_interval(points, method=m) for m in ("auto", "profile", "laplace")}
    slopes, text = model.coef_interval(), str(model.summary())
    assert "profile" in slopes.method
    save(model, tmp_path / "model.scarce")
    copies = [load(tmp_path / "model.scarce"), pickle.loads(pickle.dumps(model)), model]
    X[:], y[:] = 0.0, 1.0  # the caller's own arrays
    model.__dict__.pop("_likelihood")  # what was computed before does not count
    for copy in copies:
        for method, ends in wanted.items():
            np.testing.assert_array_equal(copy.predict_interval(points, method=method), ends)
        found = copy.coef_interval()
        assert found.method == slopes.method
        np.testing.assert_array_equal(found.low, slopes.low)
        assert str(copy.summary()) == text


def test_a_model_without_its_rows_refuses_profiles_and_says_so(monkeypatch):
    model, X, y = logistic(keep_rows=False)
    for method in ("auto", "profile", "laplace"):
        with refused("rows-not-kept", UsageError):
            model.predict_interval(X[:1], method=method)
    with refused("rows-not-kept", UsageError):
        model.coef_interval()
    assert model.coef_interval(method="wald").method == "wald"
    text = str(model.summary())
    assert "90 % wald intervals" in text
    assert "no profile intervals: the model holds no training rows" in text
    monkeypatch.setattr(rare, "MOST_KEPT", X.size - 1)
    assert RareClassifier("logistic", ridge=0).fit(X, y).rows_ is None
    for other in (RareClassifier("logistic", ridge=1.0), RareClassifier("probit", ridge=0)):
        assert other.fit(X, y).rows_ is None  # no such intervals, so no copy


def test_an_offset_of_a_fit_is_needed_to_predict(rng):
    X, y = plain.rare(n=200, k=2)
    offset = rng.normal(size=200)
    model = RareClassifier("logistic", ridge=0).fit(X, y, offset=offset)
    calls = ("predict", "predict_proba", "predict_log_proba", "decision_function")
    for call in (*calls, "linear_predictor", "predict_interval"):
        with refused("offset-needed", UsageError):
            getattr(model, call)(X)
    with refused("offset-needed", UsageError):
        model.score(X, y)
    ends = model.predict_interval(X, method="wald", offset=offset)
    prob = model.predict_proba(X, offset)[:, 1]
    assert ((ends[:, 0] < prob) & (prob < ends[:, 1])).all()
    column = RareClassifier("logistic", ridge=0, offset=2).fit(np.column_stack([X, offset]), y)
    np.testing.assert_allclose(column.predict_proba(np.column_stack([X, offset]))[:, 1], prob)


# --- survey weights -------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [None, "firth", "flic"])
def test_survey_weights_matter_in_proportion_only(bias, rng):
    """Weights that sum to 1 were taken for one observation: Firth's penalty drowned the data."""
    X, y = plain.rare(n=300, k=2)
    weight = rng.uniform(0.5, 4.0, size=300)
    rest = {"ridge": 0, "bias_reduction": bias, "weight_kind": "survey"}
    one = RareClassifier("logistic", **rest).fit(X, y, weight)
    small = RareClassifier("logistic", **rest).fit(X, y, weight / weight.sum())
    np.testing.assert_allclose(coef_of(small), coef_of(one), rtol=1e-8)
    np.testing.assert_allclose(small.covariance_, one.covariance_, rtol=1e-7)
    assert not small.report_.warnings
    assert small.coef_interval().method == "wald"
    with refused("no-likelihood", UsageError):
        small.coef_interval(method="profile")
    assert "robust errors for survey weights" in str(small.summary())
    equal = RareClassifier("logistic", **rest).fit(X, y, np.full(300, 0.01))
    none = RareClassifier("logistic", ridge=0, bias_reduction=bias).fit(X, y)
    np.testing.assert_allclose(coef_of(equal), coef_of(none), rtol=1e-8)


def test_oracle_survey_covariance_is_the_sandwich_with_squared_weights(rng):
    X, y = plain.rare(n=300, k=2)
    weight = rng.uniform(0.5, 4.0, size=300)
    model = RareClassifier("logistic", ridge=0, weight_kind="survey").fit(X, y, weight)
    scaled = weight * 300 / weight.sum()
    design = plain.design_of(X)
    prob = 1 / (1 + np.exp(-design @ coef_of(model)))
    bread = np.linalg.inv(design.T @ (design * (scaled * prob * (1 - prob))[:, None]))
    meat = design.T @ (design * ((scaled * (prob - y)) ** 2)[:, None]) * 300 / 299
    np.testing.assert_allclose(model.covariance_, bread @ meat @ bread, rtol=1e-7)


def test_simulation_survey_intervals_cover_and_frequency_intervals_do_not():
    """200 samples of 400 rows, drawn with unequal probabilities; the truth is that of all rows."""
    rng = np.random.default_rng(8)
    covered = {"frequency": 0, "survey": 0}
    for _ in range(200):
        x = rng.normal(size=4000)
        y = rng.random(4000) < 1 / (1 + np.exp(1.5 - x))
        chance = np.where(x > 1, 0.3, 0.06)
        own = rng.random(4000) < chance
        weight = 1 / chance[own]
        for kind in covered:
            model = RareClassifier("logistic", ridge=0, weight_kind=kind, keep_rows=False)
            found = model.fit(x[own, None], y[own], weight).coef_interval(method="wald")
            covered[kind] += bool(found.low[0] < 1.0 < found.high[0])
    assert 0.84 <= covered["survey"] / 200 <= 0.96  # nominal .90
    assert covered["frequency"] / 200 < 0.6


def test_frequency_weights_that_sum_to_little_are_pointed_out(rng):
    X, y = plain.rare(n=300, k=2)
    model = RareClassifier("logistic", ridge=0, bias_reduction="firth")
    said = model.fit(X, y, np.full(300, 1 / 300)).report_.warnings
    assert any("sum to 1," in one and "weight_kind='survey'" in one for one in said)
    assert not model.fit(X, y, np.full(300, 0.6)).report_.warnings
    whole = model.fit(X, y, np.full(300, 2)).covariance_
    real = model.fit(X, y, np.full(300, 2.0 + 1e-9)).covariance_
    np.testing.assert_allclose(whole, real, rtol=1e-7)
    with pytest.raises(DataError):
        model.fit(X, y, np.full(300, 1e-320))
    stopped = model.fit(X, y, np.full(300, 1e-20)).report_
    assert not stopped.converged
    assert "not-converged" in codes(stopped.warnings)


# --- summary --------------------------------------------------------------------------------------

WALD = """\
logistic, ridge 0
term         coef  error      z      p     low   high
x0          0.426  0.487  0.875  0.382  -0.375   1.23
intercept  -0.549  0.704  -0.78  0.435   -1.71  0.609
{report}
kept for intervals: 10 training rows, in files too (keep_rows)
low, high: 90 % wald intervals; error, z, p: Wald"""

PROFILE = """\
logistic, ridge 0
term         coef  error      z      p     low   high
x0          0.426  0.487  0.875  0.382  -0.334   1.34
intercept  -0.549  0.704  -0.78  0.435   -1.85  0.559
{report}
kept for intervals: 10 training rows, in files too (keep_rows)
low, high: 90 % profile intervals; error, z, p: Wald"""


def test_golden_summary():
    X = np.array([[-2.0], [-1.5], [-1.0], [-0.5], [0.0], [0.5], [1.0], [1.5], [2.0], [2.5]])
    y = np.array([0, 0, 1, 0, 0, 1, 0, 1, 1, 0.0])
    model = RareClassifier("logistic", ridge=0).fit(X, y)
    assert str(model.summary(method="wald")) == WALD.format(report=model.report_)
    assert str(model.summary()) == PROFILE.format(report=model.report_)
    assert model.summary().columns["term"] == ["x0", "intercept"]
    assert model.summary(level=0.5).notes[-1].startswith("low, high: 50 % profile")


def test_summary_says_floor_units_names_and_what_is_fixed():
    X, y = plain.rare(n=300, k=2)
    frame = pd.DataFrame(np.column_stack([X, np.ones(300)]), columns=["age", "pay", "one"])
    model = RareClassifier("gev-canonical", shape=1.0, ridge=2.0, standardize=True).fit(frame, y)
    text = str(model.summary())
    assert text.startswith("gev-canonical, shape 1, ridge on standardised columns 2\n")
    assert f"at weight 0.001 ({model.floored_rows_:,} training rows needed it)" in text
    assert [line.split()[0] for line in text.splitlines()[2:6]] == [
        "age",
        "pay",
        "one",
        "intercept",
    ]
    row = text.splitlines()[4].split()
    assert row[1:] == ["0", "0", "unknown", "unknown", "0", "0"]
    assert codes(model.report_.warnings)[0] == "constant-columns"
    assert f"warning: {model.report_.warnings[0]}" in text
    flic = RareClassifier("logistic", ridge=0, bias_reduction="flic").fit(X, y)
    assert str(flic.summary()).startswith("logistic, bias reduction: flic\n")


# --- intervals of a logistic fit ------------------------------------------------------------------

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "firth.json").read_text())["cases"]


def golden_rows(case):
    return ArrayRows(case["X"], case["y"], weight=case["weight"], classes=[0, 1])


@pytest.fixture
def data(rng):
    X = np.column_stack([rng.normal(size=(150, 2)), rng.random(150) < 0.2])
    y = (rng.random(150) < expit(-2.8 + X @ [1.0, 0.5, 0.5])).astype(float)
    return X, y


@pytest.fixture
def rows(data):
    return ArrayRows(*data, classes=[0, 1])


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_golden_profile_limits_are_those_of_firthmodels(case):
    rows = golden_rows(case)
    fit = fit_firth(rows)
    found = profile_interval(rows, fit, position=range(len(fit.coef)))
    ends = np.column_stack([found.low, found.high])
    np.testing.assert_allclose(ends, case["firthmodels"]["profile_90"], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.value, fit.coef, rtol=1e-12)
    assert found.gap.max() < 1e-7


@pytest.mark.parametrize("case", [c for c in GOLDEN if "statsmodels" in c], ids=lambda c: c["name"])
def test_golden_wald_limits_are_those_of_statsmodels(case):
    fit = fit_firth(golden_rows(case), penalty="none")
    found = wald_interval(fit, position=range(len(fit.coef)))
    ends = np.column_stack([found.low, found.high])
    np.testing.assert_allclose(ends, case["statsmodels"]["wald_90"], rtol=1e-7)


def slow_profile(X, y, c, best, level, penalty):
    """Ends of the profile of c @ coef: a general optimiser inside a bracketing root search."""
    design = np.column_stack([np.ones(len(X)), X])
    prior = np.append(0.0, X.var(axis=0)) / 2.5**2 if penalty == "normal" else 0.0
    basis = np.linalg.qr(c[:, None], mode="complete")[0][:, 1:]

    def objective(coef):
        score = design @ coef
        prob = expit(score)
        value = -np.logaddexp(0, np.where(y == 1, -score, score)).sum()
        if penalty == "firth":
            information = design.T @ (design * (prob * (1 - prob))[:, None])
            value += 0.5 * np.linalg.slogdet(information)[1]
        return value - 0.5 * np.sum(prior * coef**2)

    def excess(t):
        base = best - c * (c @ best - t) / (c @ c)
        found = minimize(
            lambda u: -objective(base + basis @ u),
            np.zeros(basis.shape[1]),
            method="BFGS",
            options={"gtol": 1e-6},
        )
        return 2 * (objective(best) + found.fun) - chi2.ppf(level, 1)

    middle = c @ best
    return brentq(excess, middle - 12, middle, xtol=1e-6), brentq(
        excess, middle, middle + 12, xtol=1e-6
    )


@pytest.mark.parametrize("penalty", ["firth", "none", "normal"])
def test_oracle_a_slow_search_finds_the_same_ends(data, rows, penalty):
    fit = fit_firth(rows, penalty=penalty)
    point = np.array([1.5, -0.5, 1.0])
    slope = profile_interval(rows, fit, position=1, level=0.95)
    at_point = profile_interval(rows, fit, x=point, level=0.8)
    assert isinstance(slope.low, float)
    assert slope.method == f"{penalty} profile"
    for found, c, level in (
        (slope, np.array([0.0, 1, 0, 0]), 0.95),
        (at_point, np.append(1.0, point), 0.8),
    ):
        low, high = slow_profile(*data, c, fit.coef, level, penalty)
        assert found.low == pytest.approx(low, abs=2e-5)
        assert found.high == pytest.approx(high, abs=2e-5)
        assert found.value == pytest.approx(c @ fit.coef, rel=1e-12)


def test_the_statistic_at_the_ends_is_the_quantile(rows):
    """A certificate from outside the search: refit with the coefficient held at each end."""
    fit = fit_firth(rows)
    found = profile_interval(rows, fit, position=[0, 1, 2, 3], level=0.9)
    for position in range(4):
        for end in (found.low[position], found.high[position]):
            held = fit_firth(rows, fixed={position: end})
            assert held.converged
            statistic = 2 * (fit.objective - held.objective)
            assert statistic == pytest.approx(chi2.ppf(0.9, 1), rel=1e-6)
    assert (found.low < fit.coef).all()
    assert (fit.coef < found.high).all()


def test_log_odds_at_a_point_are_the_intercept_of_shifted_columns(data, rows):
    X, y = data
    fit = fit_firth(rows)
    point = X[7]
    shifted = ArrayRows(X - point, y, classes=[0, 1])
    moved = fit_firth(shifted)
    for interval, args in ((profile_interval, (rows, fit)), (wald_interval, (fit,))):
        here = interval(*args, x=point)
        there = interval(*((shifted, moved) if len(args) == 2 else (moved,)), position=0)
        np.testing.assert_allclose([here.low, here.high], [there.low, there.high], rtol=1e-7)


def test_many_points_are_many_single_points(data, rows, monkeypatch):
    fit = fit_firth(rows)
    together = profile_interval(rows, fit, x=data[0][:20])
    monkeypatch.setattr("scarce.linear.inference.BATCH_SIZE", 6)
    in_threes = profile_interval(rows, fit, x=data[0][:20])
    singles = [profile_interval(rows, fit, x=point) for point in data[0][:20]]
    for ends in ("low", "high", "value"):
        alone = [getattr(single, ends) for single in singles]
        np.testing.assert_allclose(getattr(together, ends), alone, rtol=1e-7)
        np.testing.assert_allclose(getattr(in_threes, ends), alone, rtol=1e-7)
    assert together.passes < sum(single.passes for single in singles) / 5


def test_blocks_and_engines_give_the_same_intervals(data, rows):
    fit = fit_firth(rows)
    cut = ArrayRows(*data, classes=[0, 1], starts=(0, 10, 90, 150))
    found = [
        profile_interval(cut, fit_firth(cut), x=data[0][:3], engine=engine)
        for engine in (None, "threads")
    ]
    np.testing.assert_array_equal(found[0].low, found[1].low)
    whole = profile_interval(rows, fit, x=data[0][:3])
    np.testing.assert_allclose(found[0].high, whole.high, rtol=1e-7)


def test_wald_and_laplace_are_their_formulas(data, rows):
    X, _ = data
    c = np.append(1.0, X[0])
    z = norm.ppf(0.95)
    firth, normal = fit_firth(rows), fit_firth(rows, penalty="normal")
    flic = flic_intercept(rows, firth)
    for fit, interval in (
        (firth, wald_interval),
        (flic, wald_interval),
        (normal, laplace_interval),
    ):
        design = np.column_stack([np.ones(len(X)), X])
        prob = expit(design @ fit.coef)
        information = design.T @ (design * (prob * (1 - prob))[:, None])
        if fit is normal:
            information += np.diag(np.append(0.0, X.var(axis=0) / 2.5**2))
        error = np.sqrt(c @ np.linalg.solve(information, c))
        found = interval(fit, x=X[0])
        assert found.value == pytest.approx(c @ fit.coef, rel=1e-11)
        assert found.high - found.value == pytest.approx(z * error, rel=1e-9)
        assert found.value - found.low == pytest.approx(z * error, rel=1e-9)


def test_units_do_not_matter(data):
    X, y = data
    size = np.array([1e8, 1e-5, 1.0])
    one, other = ArrayRows(X, y, classes=[0, 1]), ArrayRows(X * size, y, classes=[0, 1])
    for penalty in ("firth", "normal"):
        here = profile_interval(one, fit_firth(one, penalty=penalty), position=[1, 2, 3])
        there = profile_interval(other, fit_firth(other, penalty=penalty), position=[1, 2, 3])
        np.testing.assert_allclose(there.low * size, here.low, rtol=1e-6)
        np.testing.assert_allclose(there.high * size, here.high, rtol=1e-6)


def test_separation_leaves_likelihood_open_on_one_side_and_firth_closed():
    x = np.arange(-6.0, 7.0)[:, None]
    rows = ArrayRows(x, (x[:, 0] > 0.0).astype(float), classes=[0, 1])
    plain, firth = fit_firth(rows, penalty="none"), fit_firth(rows)
    found = profile_interval(rows, plain, position=[1, 0])
    assert found.high[0] == np.inf
    assert found.low[1] == -np.inf
    # The supremum of the log-likelihood is 0: the lower end has -chi2/2 with the best intercept.
    low = found.low[0]

    def value(t):
        score = t + low * x[:, 0]
        return np.logaddexp(0, np.where(x[:, 0] > 0, -score, score)).sum()

    from scipy.optimize import minimize_scalar

    assert minimize_scalar(value, options={"xtol": 1e-10}).fun == pytest.approx(
        chi2.ppf(0.9, 1) / 2, rel=1e-6
    )
    # A level so low that Firth's estimate, where the search starts, lies below the lower end.
    sharp = profile_interval(rows, plain, position=1, level=0.01)
    assert sharp.low > firth.coef[1]
    assert sharp.high == np.inf
    assert sharp.gap < 1e-7
    closed = profile_interval(rows, firth, position=[0, 1])
    assert np.isfinite([closed.low, closed.high]).all()
    wald = wald_interval(plain, position=1)
    assert (wald.low, wald.high) == (-np.inf, np.inf)


@pytest.mark.parametrize("seed", range(8))
def test_firth_profiles_are_closed_and_hold_their_estimate(seed):
    """Few rows, quasi-separated or not, one class nearly alone: never a missing interval."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=40) * 10, rng.random(40) < 0.1])
    y = np.zeros(40)
    y[rng.integers(0, 40, size=1 + seed % 4)] = 1
    if seed >= 4:
        X[y == 1, 1] = 1.0
    rows = ArrayRows(X, y, classes=[0, 1])
    fit = fit_firth(rows)
    for what in ({"position": [0, 1, 2]}, {"x": X[:4]}):
        found = profile_interval(rows, fit, **what)
        assert np.isfinite([found.low, found.high]).all()
        assert (found.low < found.value).all()
        assert (found.value < found.high).all()
        assert found.gap.max() < 1e-7


def test_what_the_rows_do_not_tell_has_no_bound(data):
    X, y = data
    wide = np.column_stack([X, X[:, 0], np.full(150, 3.0)])
    rows = ArrayRows(wide, y, classes=[0, 1])
    fit = fit_firth(rows)
    left_out = 4 if "x3" in fit.dropped else 1
    for found in (
        profile_interval(rows, fit, position=[left_out, 5, 2]),
        wald_interval(fit, position=[left_out, 5, 2]),
    ):
        assert found.low.tolist()[:2] == [-np.inf, -np.inf]
        assert found.high.tolist()[:2] == [np.inf, np.inf]
        assert found.value.tolist()[:2] == [0.0, 0.0]
        assert np.isfinite([found.low[2], found.high[2]]).all()
    apart, other_constant = wide[0].copy(), wide[0].copy()
    apart[3] += 1.0
    other_constant[4] = 4.0
    points = profile_interval(rows, fit, x=[wide[0], apart, other_constant])
    assert np.isfinite(points.low).tolist() == [True, False, False]
    narrow = ArrayRows(X, y, classes=[0, 1])
    plain = profile_interval(narrow, fit_firth(narrow), x=X[0])
    assert points.low[0] == pytest.approx(plain.low, rel=1e-7)


def test_intervals_of_probabilities_are_mapped():
    interval = Interval(
        np.array([0.0, 2.0]), np.array([-1.0, -np.inf]), np.array([1.0, 3.0]), 0.9, ""
    )
    prob = interval.prob()
    np.testing.assert_allclose(prob.value, expit([0.0, 2.0]))
    np.testing.assert_allclose(prob.low, [expit(-1.0), 0.0])
    assert replace(interval, value=1.0).prob().value == pytest.approx(expit(1.0))


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda rows, fit: wald_interval(fit), "one-of-two"),
        (lambda rows, fit: wald_interval(fit, position=1, x=[0, 0, 0]), "one-of-two"),
        (lambda rows, fit: wald_interval(fit, position=4), "unknown-coefficient"),
        (lambda rows, fit: wald_interval(fit, x=[0, 0]), "invalid-points"),
        (lambda rows, fit: wald_interval(fit, x=[0, 0, np.nan]), "invalid-points"),
        (lambda rows, fit: wald_interval(fit, position=1, level=90), "level-range"),
        (lambda rows, fit: laplace_interval(fit, position=1), "wrong-penalty"),
        (
            lambda rows, fit: wald_interval(fit_firth(rows, penalty="normal"), position=1),
            "wrong-penalty",
        ),
        (
            lambda rows, fit: profile_interval(rows, flic_intercept(rows, fit), position=1),
            "wrong-penalty",
        ),
    ],
)
def test_what_cannot_work_is_refused(rows, call, code):
    with refused(code, UsageError):
        call(rows, fit_firth(rows))


def test_simulation_firth_profiles_cover_what_they_promise():
    """The stored experiment: 3 sizes x 5 targets x 1,000 draws, and no interval missing."""
    found = {row.quantity: row for row in read_results(FOLDER / "intervals").comparisons}
    firth = {q: row for q, row in found.items() if q.startswith("Firth profile")}
    coverage = [row for quantity, row in firth.items() if quantity.endswith("coverage")]
    assert len(coverage) == 15
    for row in coverage:
        assert 0.88 <= row.ours <= 0.93
        assert row.repeats == 1000
    for quantity, row in firth.items():
        if "truth below" in quantity or "truth above" in quantity:
            assert row.ours <= 0.075 + row.standard_error
        if "without an interval" in quantity:
            assert row.ours == 0
    for positives in (10, 20, 30):
        flic = found[f"FLIC, {positives} positives: mean estimate of p(low) / truth"]
        assert flic.ours <= 1.10
        tuned = found[f"tuned ridge Laplace, {positives} positives, p(low): coverage"]
        assert tuned.ours < 0.85
