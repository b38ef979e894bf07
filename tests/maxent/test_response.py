"""A fitted model from outside: scales, curves, importance, coverage against plain versions."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from scarce import MaxentClassifier, open_rows
from scarce.errors import DataError, UsageError
from scarce.maxent.response import Importance
from tests.problems import refused


def make(rng, n=200):
    X = np.column_stack([rng.normal(size=n), rng.lognormal(size=n), rng.integers(0, 3, n)])
    y = np.full(n, np.nan)
    y[:50] = 1.0
    X[:50, 0] += 1
    X[:50, 1] *= 2
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def fit(X, y, **settings):
    settings = {"features": "lqph", "knots": 8, "categorical": [2], **settings}
    return MaxentClassifier(**settings).fit(X, y)


@pytest.fixture(scope="module")
def fitted():
    X, y = make(np.random.default_rng(5))
    return fit(X, y, tol=1e-9, default_prevalence=0.2, width_scale=0.2), X, y


# --- scales ---------------------------------------------------------------------------------------


def test_raw_sums_to_1_over_the_pool(fitted):
    model, X, _ = fitted
    raw = model.output(X, "raw")
    assert raw.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(raw * 200, model.density_ratio(X), rtol=1e-12)


def test_logistic_is_the_probability(fitted):
    model, X, _ = fitted
    np.testing.assert_allclose(
        model.output(X, "logistic"), model.predict_proba(X)[:, 1], rtol=1e-10
    )
    # ... of the default prevalence, also where another one is known.
    known = MaxentClassifier(
        **{**model.get_params(), "objective": "entropy", "prevalence": 0.05}
    ).fit(X, fitted[2])
    np.testing.assert_allclose(known.output(X, "logistic"), model.output(X, "logistic"), rtol=1e-9)


def test_oracle_cloglog_of_maxent(fitted):
    """1 - exp(-exp(H) raw), H the entropy of raw over the pool."""
    model, X, _ = fitted
    raw = model.output(X, "raw")
    entropy = -np.sum(raw * np.log(raw))
    wanted = 1 - np.exp(-np.exp(entropy) * raw)
    np.testing.assert_allclose(model.output(X), wanted, atol=1e-5)
    assert model.output(np.full((1, 3), np.nan)) == pytest.approx(1 - np.exp(-1))


def test_scales_are_for_one_density(fitted):
    model, X, y = fitted
    with refused("unknown-word", UsageError, argument="kind", value="cloglogs"):
        model.output(X, "cloglogs")
    with refused("no-density", UsageError):
        fit(X, y, objective="robust", features="l").output(X)
    both = y.copy()
    both[50:80] = 2
    with refused("several-labelled-classes", UsageError, count=2):
        fit(X, both, features="l").output(X)


# --- curves ---------------------------------------------------------------------------------------


def alone(x, column):
    rows = np.full((len(x), 3), np.nan)
    rows[:, column] = x
    return rows


@pytest.mark.parametrize("objective", ["entropy", "robust"])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_curves_are_predictions_with_the_others_missing(column, objective, rng):
    X, y = make(rng)
    model = fit(X, y, objective=objective, features="lqh", prevalence_bounds=(0.1, 0.3))
    curve = model.response_curve(column, n=40)
    assert curve.variable == f"x{column}"
    np.testing.assert_allclose(
        curve.prob, model.predict_proba(alone(curve.x, column))[:, 1], rtol=1e-11
    )
    nothing = model.predict_proba(np.full((1, 3), np.nan))[0, 1]
    assert curve.missing == pytest.approx(nothing, rel=1e-12)
    logit = np.log(curve.prob / (1 - curve.prob)) - np.log(nothing / (1 - nothing))
    np.testing.assert_allclose(curve.tilt, logit, rtol=1e-9, atol=1e-9)
    if column == 2:
        assert curve.x.tolist() == [0, 1, 2]
    else:
        assert np.isin(model.knots_[column], curve.x).all()
        assert curve.x[[0, -1]].tolist() == [np.nanmin(X[:, column]), np.nanmax(X[:, column])]
        assert len(curve.x) <= 40 + 10 + 101


@pytest.mark.parametrize("column", [0, 1])
def test_curves_with_products_have_the_others_at_their_mean(column, rng):
    X, y = make(rng)
    model = fit(X, y, features="lqp", width_scale=0.02)
    assert np.abs(model.bend_[0] - np.diag(np.diag(model.bend_[0]))).max() > 0
    curve = model.response_curve(column, n=30)
    other = 1 - column
    scale = model.scales_[other]
    place = (scale - scale[0]) / (scale[-1] - scale[0])
    middle = np.interp(model.pool_place_[other], place, model.knots_[other])
    rows = alone(curve.x, column)
    rows[:, other] = middle
    tilt = np.log(model.density_ratio(rows))
    np.testing.assert_allclose(curve.tilt - curve.tilt[0], tilt - tilt[0], rtol=0, atol=1e-9)


def test_mean_places_of_the_pool(rng):
    X, y = make(rng)
    model = fit(X, y, knots=5)
    for v in (0, 1):
        x = np.interp(X[~np.isnan(X[:, v]), v], model.knots_[v], model.scales_[v])
        ends = model.scales_[v][[0, -1]]
        assert model.pool_place_[v] == pytest.approx((x.mean() - ends[0]) / np.ptp(ends), abs=1e-12)
    assert model.pool_place_[2] == 0


def test_curves_of_one_of_several_classes(rng):
    X, y = make(rng)
    y[50:90] = 2.0
    X[50:90, 0] -= 2
    model = fit(X, y, features="lq")
    one, two = model.response_curve(0, label=1.0), model.response_curve(0, label=2.0)
    np.testing.assert_allclose(one.prob, model.predict_proba(alone(one.x, 0))[:, 0], rtol=1e-11)
    np.testing.assert_allclose(two.prob, model.predict_proba(alone(two.x, 0))[:, 1], rtol=1e-11)
    np.testing.assert_array_equal(model.response_curve(0).prob, two.prob)
    with refused("unknown-class", UsageError, argument="label", value=3):
        model.response_curve(0, label=3)


def test_columns_by_name_or_position(rng):
    X, y = make(rng)
    table = pd.DataFrame(X, columns=["temp", "rain", "soil"])
    model = fit(table, y, features="l", categorical=["soil"])
    np.testing.assert_array_equal(model.response_curve("rain").prob, model.response_curve(1).prob)
    assert model.response_curve(1).variable == "rain"
    with refused("unknown-column", UsageError, value="rains", hint=" Did you mean 'rain'?"):
        model.response_curve("rains")
    for wrong in (3, -1, 1.5):
        with refused("unknown-column", UsageError, argument="variable", value=wrong):
            model.response_curve(wrong)


# --- importance -----------------------------------------------------------------------------------


def test_oracle_importance(fitted):
    """The same shuffles on the rows themselves; AUC by counting pairs."""
    model, X, y = fitted
    found = model.permutation_importance(X, y, n_repeats=2, random_state=3)

    def scores(values):
        log = np.log(model.density_ratio(values))
        own = log[y == 1]
        pairs = (own[:, None] > log).mean() + (own[:, None] == log).mean() / 2
        return pairs, own.mean() - np.log(np.mean(np.exp(log)))

    auc, gain = scores(X)
    assert found.auc == pytest.approx(auc, abs=1e-6)  # ties by rounding
    assert found.gain == pytest.approx(gain, abs=1e-10)
    rng = np.random.default_rng(3)
    for column in range(3):
        for repeat in range(2):
            mixed = X.copy()
            mixed[:, column] = X[rng.permutation(200), column]
            worse = scores(mixed)
            assert found.auc_drop[column, repeat] == pytest.approx(auc - worse[0], abs=2e-4)
            assert found.gain_drop[column, repeat] == pytest.approx(gain - worse[1], abs=1e-10)
    assert found.variables == ["x0", "x1", "x2"]


def test_importance_counts_weights_as_repeated_rows(fitted, rng):
    model, X, y = fitted
    weight = rng.integers(0, 4, len(y))
    one = model.permutation_importance(X, y, weight, random_state=0)
    times = model.permutation_importance(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert one.auc == pytest.approx(times.auc, abs=1e-9)
    assert one.gain == pytest.approx(times.gain, abs=1e-12)
    np.testing.assert_allclose(one.gain_drop.mean(1), times.gain_drop.mean(1), atol=0.2)
    rows = model.permutation_importance(open_rows(X, label=y, weight=weight), None, random_state=0)
    np.testing.assert_array_equal(rows.gain_drop, one.gain_drop)


def test_importance_of_tables_and_of_other_labels(rng):
    X, y = make(rng)
    table = pd.DataFrame({"a": X[:, 0], "soil": np.array(["c", "p", "s"])[np.arange(200) % 3]})
    names = np.where(y == 1, "owl", None).astype(object)
    model = MaxentClassifier(features="l").fit(table, names)
    found = model.permutation_importance(table, names, n_repeats=3, random_state=0)
    assert found.ranked()[0][0] == "a"
    assert found.gain_drop[1] == pytest.approx(0, abs=0.2)
    with pytest.raises(DataError, match="200"):
        model.permutation_importance(table, np.full(200, None))
    other = np.where(y == 1, "wren", None).astype(object)
    with refused("no-labels", DataError, label="owl"):
        model.permutation_importance(table, other)
    with pytest.raises(DataError, match="199"):
        model.permutation_importance(table, names[1:])


def test_importance_of_rows_that_carry_their_labels(rng):
    X, y = make(rng)
    rows = open_rows(X, label=y)
    model = MaxentClassifier(features="l").fit(rows)
    one = model.permutation_importance(rows, None, random_state=0)
    two = model.permutation_importance(rows, y, random_state=0)
    np.testing.assert_array_equal(one.gain_drop, two.gain_drop)


@pytest.mark.parametrize("wrong", [0, 1.5, "a"])
def test_counts_that_are_none(fitted, wrong):
    model, X, y = fitted
    with refused("integer-range", UsageError, argument="n_repeats", least=1, value=wrong):
        model.permutation_importance(X, y, n_repeats=wrong)
    with refused("integer-range", UsageError, argument="n", least=2, value=wrong):
        model.response_curve(0, n=wrong)


def test_importance_in_order():
    drops = np.array([[0.1, 0.3], [0.5, 0.5], [-0.1, 0.1]])
    found = Importance(["a", "b", "c"], drops * 0, drops, 0.8, 1.0).ranked()
    assert [name for name, _, _ in found] == ["b", "a", "c"]
    assert found[1][1:] == pytest.approx((0.2, 0.1))
    once = Importance(["a"], np.zeros((1, 1)), np.ones((1, 1)), 0.8, 1.0).ranked()
    assert once == [("a", 1.0, 0.0)]


# --- extrapolation --------------------------------------------------------------------------------


def test_oracle_coverage(fitted):
    """Twice the smaller tail of the pool, in per cent; the distance in ranges beyond it."""
    model, X, _ = fitted
    x = np.linspace(-8, 40, 97)
    for column in (0, 1):
        rows = alone(x, column)
        score, by = model.extrapolation(rows)
        own = X[~np.isnan(X[:, column]), column]
        low, high = own.min(), own.max()
        for value, found in zip(x, score, strict=True):
            if value < low or value > high:
                wanted = 100 * min(value - low, high - value) / (high - low)
                assert found == pytest.approx(wanted, rel=1e-12)
                assert found < 0
            else:
                below = (own <= value).mean()
                assert found == pytest.approx(200 * min(below, 1 - below), abs=2.1)
                assert 0 <= found <= 100
        assert (by == f"x{column}").all()


def test_coverage_at_marked_places(rng):
    x = np.linspace(0.0, 1.0, 1001)
    y = np.where(np.arange(1001) < 400, 1.0, np.nan)
    model = MaxentClassifier(features="l").fit(x[:, None], y)
    score, _ = model.extrapolation([[0.0], [0.25], [0.5], [1.0], [1.5], [-0.5], [np.nan]])
    np.testing.assert_allclose(score, [0, 50, 100, 0, -50, -50, np.nan], atol=0.2)


def test_the_worst_variable_counts(fitted):
    model, X, _ = fitted
    rows = np.array(
        [
            [np.nan, np.nan, np.nan],
            [np.nan, np.nan, 1.0],
            [np.nan, np.nan, 9.0],
            [1e3, np.nan, 9.0],
            [0.0, 1e3, 1.0],
        ]
    )
    score, by = model.extrapolation(rows)
    assert by.tolist() == ["", "x2", "x2", "x0", "x1"]
    assert np.isnan(score[0])
    assert score[1:3].tolist() == [100.0, -100.0]
    assert (score[3:] < -100).all()
    assert ((model.extrapolation(X)[0] >= 0) | np.isnan(X).all(axis=1)).all()


@pytest.mark.parametrize("knots_at", ["quantile", "uniform", "data"])
def test_coverage_of_a_column_with_a_wild_value(knots_at, rng):
    """Its quantiles are the data's own, wherever the knots are."""
    x = rng.normal(size=(501, 1))
    x[0] = 1e4
    y = np.where(np.arange(501) % 5 == 1, 1.0, np.nan)
    model = MaxentClassifier(features="h", knots_at=knots_at).fit(x, y)
    middle, quarter = np.quantile(x, [0.5, 0.25])
    score, _ = model.extrapolation([[middle], [quarter]])
    np.testing.assert_allclose(score, [100, 50], atol=2.0)


def test_coverage_of_a_value_that_many_rows_share():
    x = np.repeat([0.0, 1.0], [90, 10])[:, None]
    y = np.where(np.arange(100) % 3 == 1, 1.0, np.nan)
    score, _ = MaxentClassifier(features="l").fit(x, y).extrapolation([[0.0], [1.0], [2.0]])
    np.testing.assert_allclose(score, [90, 10, -100], atol=1.0)


def test_another_value_than_the_only_one_is_not_covered(rng):
    X, y = make(rng)
    X[:, 1] = 7.0
    X = np.column_stack([X, np.full(len(X), np.nan)])
    none = np.nan
    score, by = fit(X, y, features="l").extrapolation(
        [[none, 3.0, none, none], [none, 7.0, none, none], [none, none, none, 0.0]]
    )
    assert score.tolist() == [-100.0, 100.0, -100.0]
    assert by.tolist() == ["x1", "x1", "x3"]


def test_the_pool_counts_with_its_weights(rng):
    x = rng.random((400, 1))
    y = np.where(np.arange(400) < 40, 1.0, np.nan)
    weight = np.where(x[:, 0] < 0.5, 3.0, 1.0)
    model = MaxentClassifier(features="l", knots=100).fit(x, y, background_weight=weight)
    total = weight.sum()
    wanted = 200 * min(weight[x[:, 0] < 0.5].sum(), weight[x[:, 0] >= 0.5].sum()) / total
    assert model.extrapolation([[0.5]])[0][0] == pytest.approx(wanted, abs=3)


def test_curves_of_probabilities_in_plain_numbers(fitted):
    """Default prevalence and tilt: expit(log-odds of 0.2 + tilt) with the other values missing."""
    model, _, _ = fitted
    curve = model.response_curve(2)
    np.testing.assert_allclose(curve.prob, expit(np.log(0.25) + curve.tilt), rtol=1e-10)
    assert curve.missing == pytest.approx(0.2, rel=1e-10)
