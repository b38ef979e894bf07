"""Grids of quantiles, and predictive distributions made from scikit-learn's regressors."""

import mpmath
import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge, LinearRegression, QuantileRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from threadpoolctl import threadpool_limits

from scarce.amounts.predictive import GaussianPredictive
from scarce.amounts.quantile_models import (
    QuantilePredictive,
    cross_residuals,
    fit_quantiles,
    gaussian_from,
    residuals_from,
)
from scarce.amounts.regression import Linex, Pinball, decide_regression, expected_regression_cost
from scarce.errors import DataError, UsageError
from tests.problems import refused, warned

LEVELS = np.array([0.1, 0.3, 0.5, 0.9])
VALUES = np.array([[1.0, 2.0, 2.0, 6.0], [-3.0, 0.0, 1.0, 2.0]])


def test_between_the_levels_lines_and_on_them_the_values():
    law = QuantilePredictive(LEVELS, VALUES)
    for column, level in enumerate(LEVELS):
        assert law.quantile(level).tolist() == VALUES[:, column].tolist()
    assert law.quantile([0.2, 0.8]) == pytest.approx([1.5, 1.75])
    assert law.cdf([1.5, 1.75]) == pytest.approx([0.2, 0.8])
    assert law.cdf(2.0) == pytest.approx([0.5, 0.9])  # the atom counts whole


def test_exponential_tails_meet_the_grid_with_its_density():
    law = QuantilePredictive(LEVELS, VALUES)
    scale = 0.1 * (6 - 2) / 0.4
    with warned("beyond-levels", level=0.99, first=0.1, last=0.9):
        found = law.quantile(0.99)
    assert found[0] == pytest.approx(6 + scale * np.log(0.1 / 0.01))
    assert law.cdf(found)[0] == pytest.approx(0.99)
    with warned("beyond-levels"):
        below = law.quantile(0.02)
    assert law.cdf(below) == pytest.approx([0.02, 0.02])
    step = 1e-6
    density = (law.cdf(6.0 + step) - law.cdf(6.0))[0] / step
    assert density == pytest.approx((0.9 - 0.5) / 4, rel=1e-4)


def plain_mean(law_values, function):
    """The first row's expectation, segment by segment, by mpmath."""
    v, low, high = law_values, 0.1 * 1 / 0.2, 0.1 * 4 / 0.4
    total = 0.2 * mpmath.quad(lambda s: function(v[0] + s * (v[1] - v[0])), [0, 1])
    total += 0.2 * function(mpmath.mpf(v[1]))
    total += 0.4 * mpmath.quad(lambda s: function(v[2] + s * (v[3] - v[2])), [0, 0.25, 1])
    total += 0.1 * mpmath.quad(lambda t: function(v[0] - low * t) * mpmath.exp(-t), [0, 1, 5, 60])
    total += 0.1 * mpmath.quad(lambda t: function(v[3] + high * t) * mpmath.exp(-t), [0, 1, 5, 60])
    return float(total)


def test_expectations_over_a_grid_against_mpmath():
    law = QuantilePredictive(LEVELS, VALUES)
    values = VALUES[0].tolist()
    mean = plain_mean(values, lambda y: y)
    assert law.mean()[0] == pytest.approx(mean, rel=1e-14)
    assert law.variance()[0] == pytest.approx(
        plain_mean(values, lambda y: (y - mean) ** 2), rel=1e-9
    )
    above, below = law.excess(np.array([3.0, 0.0]))
    assert above[0] == pytest.approx(plain_mean(values, lambda y: max(y - 3, 0)), rel=1e-9)
    assert below[0] == pytest.approx(plain_mean(values, lambda y: max(3 - y, 0)), rel=1e-9)
    for rate in (0.6, -0.6):
        wanted = np.log(plain_mean(values, lambda y, r=rate: mpmath.exp(r * (y - mean))))
        assert law.cumulant(np.array([rate]))[0] == pytest.approx(wanted, rel=1e-9)


def test_excess_beyond_the_grid():
    law = QuantilePredictive(LEVELS, VALUES)
    above, below = law.excess(np.array([9.0, 9.0]))
    assert above[0] == pytest.approx(0.1 * np.exp(-3), rel=1e-9)
    assert above - below == pytest.approx(law.mean() - 9, rel=1e-9)
    above, below = law.excess(np.array([-5.0, -5.0]))
    assert below[0] == pytest.approx(0.1 * 0.5 * np.exp(-12), rel=1e-9)


def test_flat_tails_put_the_rest_on_the_ends():
    law = QuantilePredictive(LEVELS, VALUES, tails="flat")
    assert law.quantile(0.999).tolist() == [6.0, 2.0]
    assert law.cdf([6.0, -3.1]).tolist() == [0.9, 0.0]
    assert law.cdf([6.1, 2.1]).tolist() == [1.0, 1.0]
    assert law.mean()[0] == pytest.approx(0.1 + 0.2 * 1.5 + 0.2 * 2 + 0.4 * 4 + 0.1 * 6)


def test_refusing_tails_refuse_what_needs_them():
    law = QuantilePredictive(LEVELS, VALUES, tails="refuse")
    assert law.quantile(0.9).tolist() == [6, 2]
    assert decide_regression(law, "absolute").tolist() == [2, 1]
    for ask in (lambda: law.quantile(0.95), law.mean, lambda: law.cdf(7.0)):
        with refused("tails-needed", UsageError, count=4):
            ask()


def test_one_level_is_enough_for_its_own_quantile():
    law = QuantilePredictive([0.75], [[3.0], [4.0]])
    assert decide_regression(law, Pinball(under=3, over=1)).tolist() == [3, 4]
    with refused("tails-needed", UsageError):
        law.mean()
    assert QuantilePredictive([0.75], [[3.0]], tails="flat").mean().tolist() == [3.0]


def test_crossing_quantiles_are_sorted_and_said_so():
    with warned("quantiles-cross", count=1, rows=2, row=1):
        law = QuantilePredictive([0.2, 0.5, 0.8], [[1, 2, 3], [2, 1, 3]])
    assert law.rearranged == 1
    assert law.quantile(0.2).tolist() == [1, 1]


def test_a_dense_grid_comes_to_the_gaussian_with_the_square_of_its_step():
    truth = GaussianPredictive([10.0], [2.0])
    off = []
    for n in (20, 40, 80):
        levels = (np.arange(n) + 0.5) / n
        law = QuantilePredictive(levels, 10 + 2 * norm.ppf(levels)[None])
        off.append(abs(law.quantile(0.7123)[0] - truth.quantile(0.7123)[0]))
    off_at_most = [2 * 1.1 / n**2 for n in (20, 40, 80)]  # step^2 / 8 times the second derivative
    assert (np.array(off) < off_at_most).all()
    assert law.mean() == pytest.approx([10.0], abs=1e-12)
    cost = Pinball(under=2, over=1)
    found, wanted = (expected_regression_cost(one, cost, 10.5)[0] for one in (law, truth))
    assert found == pytest.approx(wanted, rel=0.01)


def test_linex_without_a_mean_is_refused():
    law = QuantilePredictive(LEVELS, VALUES)
    with refused("no-mean", UsageError, width=1.5000000000000002, tails="tails"):
        decide_regression(law, Linex(rate=1.01))
    assert np.isfinite(decide_regression(law, Linex(rate=0.9))).all()


def test_how_much_of_the_mean_is_the_tails_is_said():
    law = QuantilePredictive(LEVELS, VALUES)
    flat = QuantilePredictive(LEVELS, VALUES, tails="flat")
    assert law.mean_from_tails() == pytest.approx(law.mean() - flat.mean(), rel=1e-12)
    assert law.mean_from_tails()[0] == pytest.approx(-0.1 * 0.5 + 0.1 * 1.0)
    assert flat.mean_from_tails().tolist() == [0, 0]
    assert law.tail_share == pytest.approx(0.2)


def test_a_mean_that_is_mostly_an_assumed_tail_warns():
    law = QuantilePredictive([0.75, 0.9], [[3.0, 4.0]])
    assert decide_regression(law, Pinball(3, 1)).tolist() == [3.0]
    with warned("mean-from-tails", share=85.0):
        law.mean()
    with warned("mean-from-tails"):
        decide_regression(law, "squared")
    assert QuantilePredictive([0.75, 0.9], [[3.0, 4.0]], tails="flat").mean().shape == (1,)


@pytest.mark.parametrize("levels", [[0.5, 0.1], [0.0, 0.5], [0.5, 1.0], [0.5, 0.5], [50, 90]])
def test_what_is_no_grid_of_levels_is_refused(levels):
    with refused("level-range", UsageError):
        QuantilePredictive(levels, [[1.0, 2.0]])


def test_values_must_belong_to_levels_and_be_finite():
    with refused("length-mismatch", DataError, found=3, count=2):
        QuantilePredictive([0.1, 0.9], [[1.0, 2.0, 3.0]])
    with refused("not-finite", DataError, argument="values", count=1):
        QuantilePredictive([0.1, 0.9], [[1.0, np.inf]])
    with refused("unknown-word", UsageError):
        QuantilePredictive([0.1, 0.9], [[1.0, 2.0]], tails="exponentail")


@pytest.fixture(scope="module")
def sales():
    """Sales whose spread grows with the temperature."""
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 1, (1500, 2))
    return X, 10 + 5 * X[:, 0] + (0.5 + 3 * X[:, 0]) * rng.normal(size=1500)


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (QuantileRegressor(alpha=0.0), "quantile"),
        (GradientBoostingRegressor(loss="quantile", n_estimators=30, max_depth=2), "alpha"),
        (HistGradientBoostingRegressor(loss="quantile", max_iter=30), "quantile"),
        (
            make_pipeline(StandardScaler(), QuantileRegressor(alpha=0.0)),
            "quantileregressor__quantile",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:Quantiles cross:scarce.errors.DataWarning")
def test_each_level_covers_its_share(sales, estimator, name):
    X, y = sales
    with threadpool_limits(1):  # threads that wait for a busy core cost minutes
        models = fit_quantiles(estimator, X, y, levels=[0.2, 0.5, 0.8])
        law = models.predictive(X)
    assert [model.get_params()[name] for model in models.models] == [0.2, 0.5, 0.8]
    for level in (0.2, 0.5, 0.8):
        assert np.mean(y <= law.quantile(level)) == pytest.approx(level, abs=0.04)
    assert estimator.get_params()[name] in (0.5, 0.9, None)  # the one given is not touched


def test_a_quantile_fit_spreads_where_the_sales_do(sales):
    X, y = sales
    models = fit_quantiles(QuantileRegressor(alpha=0.0), X, y, levels=[0.1, 0.9])
    assert str(models) == "2 x QuantileRegressor at levels 0.1, 0.9"
    law = models.predictive([[0.0, 0.5], [1.0, 0.5]])
    narrow, wide = law.quantile(0.9) - law.quantile(0.1)
    assert wide / narrow == pytest.approx(7, rel=0.25)


def test_weights_reach_the_regressor_inside_a_pipeline(sales):
    X, y = sales
    weight = (X[:, 1] > 0.5).astype(float)
    for estimator in (
        QuantileRegressor(alpha=0.0),
        make_pipeline(StandardScaler(), QuantileRegressor(alpha=0.0)),
    ):
        weighted = fit_quantiles(estimator, X, y, levels=[0.7], sample_weight=weight)
        chosen = fit_quantiles(estimator, X[weight > 0], y[weight > 0], levels=[0.7])
        # Scaled columns differ between the two; the fitted surface does not.
        found, wanted = (m.predictive(X[:50]).quantile(0.7) for m in (weighted, chosen))
        assert found == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("estimator", "says"),
    [
        (Ridge(), ("no-quantiles", {"estimator": "Ridge"})),
        (HistGradientBoostingRegressor(), ("no-quantiles", {})),
        (GradientBoostingRegressor(loss="huber"), ("no-quantiles", {})),
        ("ridge", ("not-a-regressor", {})),
    ],
)
def test_a_loss_that_is_not_quantile_is_refused(sales, estimator, says):
    with refused(says[0], UsageError, **says[1]):
        fit_quantiles(estimator, *sales, levels=[0.5])


def test_outcomes_that_are_not_known_are_refused(sales):
    X, y = sales
    with refused("not-finite", DataError, argument="y", count=1, row=3):
        fit_quantiles(
            QuantileRegressor(), X, np.where(np.arange(1500) == 3, np.nan, y), levels=[0.5]
        )


class Constant(RegressorMixin, BaseEstimator):
    """A quantile regressor whose level goes by another name."""

    def __init__(self, quantile_alpha=0.5, loss="huber"):
        self.quantile_alpha, self.loss = quantile_alpha, loss

    def fit(self, X, y):
        self.value_ = np.quantile(y, self.quantile_alpha)
        return self

    def predict(self, X):
        return np.full(len(X), self.value_)


def test_a_level_of_another_name_is_set_by_parameter(sales):
    X, y = sales
    models = fit_quantiles(Constant(), X, y, levels=[0.2, 0.7], parameter="quantile_alpha")
    assert [model.quantile_alpha for model in models.models] == [0.2, 0.7]
    law = models.predictive(X[:2])
    assert law.quantile(0.7) == pytest.approx(np.full(2, np.quantile(y, 0.7)))
    with refused("no-quantiles", UsageError, parameter="parameter"):
        fit_quantiles(Constant(), X, y, levels=[0.2])
    with refused("unknown-parameter", UsageError, estimator="Constant", parameter="quantile_alfa"):
        fit_quantiles(Constant(), X, y, levels=[0.2], parameter="quantile_alfa")


@pytest.mark.parametrize("parameter", [["quantile"], 3, np.ones(2)])
def test_a_parameter_that_is_no_name_is_refused(sales, parameter):
    with refused("unknown-parameter", UsageError, estimator="QuantileRegressor"):
        fit_quantiles(QuantileRegressor(), *sales, levels=[0.2], parameter=parameter)


def test_what_is_no_regressor_is_refused(sales):
    X, y = sales
    for ask in (
        lambda: residuals_from("ridge", X, X, y),
        lambda: cross_residuals("ridge", X, y, X),
        lambda: cross_residuals(LinearRegression, X, y, X),
    ):
        with refused("not-a-regressor", UsageError):
            ask()


def test_a_named_parameter_reaches_into_a_pipeline(sales):
    X, y = sales
    models = fit_quantiles(
        make_pipeline(StandardScaler(), Constant()),
        X,
        y,
        levels=[0.3],
        parameter="constant__quantile_alpha",
    )
    assert models.models[0][-1].quantile_alpha == 0.3


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (
            lambda X, y: fit_quantiles(QuantileRegressor(), X, y[:-1], levels=[0.5]),
            ("length-mismatch", {"table": "X", "rows": 1500, "argument": "y", "found": 1499}),
        ),
        (
            lambda X, y: fit_quantiles(QuantileRegressor(), X.tolist()[1:], y, levels=[0.5]),
            ("length-mismatch", {"table": "X", "rows": 1499, "argument": "y", "found": 1500}),
        ),
        (
            lambda X, y: fit_quantiles(
                QuantileRegressor(), X, y, levels=[0.5], sample_weight=[1.0, 2.0]
            ),
            (
                "length-mismatch",
                {"table": "X", "rows": 1500, "argument": "sample_weight", "found": 2},
            ),
        ),
        (
            lambda X, y: fit_quantiles(QuantileRegressor(), X, y, levels=[0.5], sample_weight=-y),
            ("weight-range", {"argument": "sample_weight"}),
        ),
        (
            lambda X, y: residuals_from(LinearRegression().fit(X, y), X, X[:5], y[:4]),
            (
                "length-mismatch",
                {"table": "X_held_out", "rows": 5, "argument": "y_held_out", "found": 4},
            ),
        ),
        (
            lambda X, y: cross_residuals(LinearRegression(), X, y[:4], X),
            ("length-mismatch", {"table": "X", "rows": 1500, "argument": "y", "found": 4}),
        ),
        (
            lambda X, y: residuals_from(LinearRegression().fit(X, y), X, X[:6], [1.0]),
            (
                "length-mismatch",
                {"table": "X_held_out", "rows": 6, "argument": "y_held_out", "found": 1},
            ),
        ),
        (
            lambda X, y: cross_residuals(LinearRegression(), X[:3], y[:3], X),
            ("too-few-rows", {"cv": "cv", "rows": 3, "value": 5}),
        ),
        (
            lambda X, y: gaussian_from(BayesianRidge().fit(X, y), X, noise="much"),
            ("not-a-number", {"argument": "noise", "value": "'much'"}),
        ),
        (
            lambda X, y: gaussian_from(BayesianRidge().fit(X, y), X, noise=-1.0),
            ("number-range", {"argument": "noise", "value": -1.0}),
        ),
        (
            lambda X, y: gaussian_from(BayesianRidge().fit(X, y), X, noise=[1.0, 2.0]),
            ("length-mismatch", {"name": "noise", "found": 2, "other": "return_std", "rows": 1500}),
        ),
    ],
)
def test_rows_that_do_not_match_are_refused(sales, ask, says):
    with refused(says[0], DataError, **says[1]):
        ask(*sales)


def test_gaussian_from_is_the_posterior_predictive_of_a_ridge(sales):
    X, y = sales
    model = BayesianRidge().fit(X, y)
    law = gaussian_from(model, X[:5])
    # 003 section 0.8: a Gaussian prior of precision lambda_ and noise of precision alpha_ are a
    # ridge of lambda_ / alpha_; the spread is the noise and what is not known of the coefficients.
    ridge = Ridge(alpha=model.lambda_ / model.alpha_).fit(X, y)
    assert law.mean() == pytest.approx(ridge.predict(X[:5]), rel=1e-5)
    assert (law.variance() > 1 / model.alpha_).all()
    apart = X[:5] - X.mean(axis=0)
    unknown = np.einsum("ij,jk,ik->i", apart, model.sigma_, apart)
    assert law.variance() == pytest.approx(1 / model.alpha_ + unknown, rel=1e-10)
    piped = make_pipeline(FunctionTransformer(), FunctionTransformer(), BayesianRidge()).fit(X, y)
    assert gaussian_from(piped, X[:5]).variance() == pytest.approx(law.variance(), rel=1e-10)
    action = decide_regression(law, Pinball(under=9, over=1))
    assert action == pytest.approx(ridge.predict(X[:5]) + law.sd * norm.ppf(0.9), rel=1e-5)


def test_noise_is_added_to_a_curve_s_own_spread():
    X = np.linspace(0, 1, 12)[:, None]
    curve = GaussianProcessRegressor(RBF(0.5) + WhiteKernel(0.1), optimizer=None).fit(X, X[:, 0])
    plain, more = gaussian_from(curve, X), gaussian_from(curve, X, noise=2.0)
    assert more.variance() == pytest.approx(plain.variance() + 4)
    pipeline = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, X[:, 0] + 1)
    assert gaussian_from(pipeline, X).n_rows == 12


def test_a_regressor_without_spread_is_refused(sales):
    X, y = sales
    with refused("no-standard-deviation", UsageError, name="LinearRegression"):
        gaussian_from(LinearRegression().fit(X, y), X)


def test_residuals_of_held_out_rows_are_added_to_predictions(sales):
    X, y = sales
    line = LinearRegression().fit(X[:500], y[:500])
    law = residuals_from(line, X[1000:1003], X[500:1000], y[500:1000])
    errors = np.sort(y[500:1000] - line.predict(X[500:1000]))
    assert law.quantile(0.9) == pytest.approx(line.predict(X[1000:1003]) + errors[449], rel=1e-14)


def test_cross_validated_errors_are_wider_than_errors_of_the_fit(rng):
    X = rng.normal(size=(40, 12))
    y = X[:, 0] + rng.normal(size=40)
    fit = LinearRegression().fit(X, y)
    law = cross_residuals(LinearRegression(), X, y, X[:2])
    assert law.shift == pytest.approx(fit.predict(X[:2]))
    assert law.variance()[0] > 1.5 * np.var(y - fit.predict(X))
    doubled = cross_residuals(LinearRegression(), X, y, X[:2], sample_weight=np.full(40, 2.0))
    assert doubled.quantile(0.8) == pytest.approx(law.quantile(0.8))


def test_a_regressor_that_predicts_a_column_is_one_number_per_row(sales):
    X, y = sales
    flat = LinearRegression().fit(X[:500], y[:500])
    tall = LinearRegression().fit(X[:500], y[:500, None])
    assert tall.predict(X[:3]).shape == (3, 1)
    wanted = residuals_from(flat, X[:3], X[500:530], y[500:530]).quantile(0.8)
    assert residuals_from(tall, X[:3], X[500:530], y[500:530]).quantile(0.8) == pytest.approx(
        wanted
    )


def test_cross_validated_weights_reach_a_pipeline_s_regressor(rng):
    X = rng.normal(size=(40, 2))
    y, weight = X[:, 0] + rng.normal(size=40), rng.uniform(0.5, 3, 40)
    plain = cross_residuals(LinearRegression(), X, y, X[:2], sample_weight=weight)
    # A step that scales nothing: the same fits by another route.
    pipeline = make_pipeline(StandardScaler(with_mean=False, with_std=False), LinearRegression())
    piped = cross_residuals(pipeline, X, y, X[:2], sample_weight=weight)
    assert piped.quantile(0.7) == pytest.approx(plain.quantile(0.7))
