"""RareClassifier on rows with missing values: the same answers whatever holds or runs the rows."""

import copy
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from scarce import RareClassifier, load, open_rows, save
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.errors import DataError, DataWarning, UsageError
from scarce.linear.links import Logit
from scarce.linear.marginal import marginal_path, marginal_prob
from scarce.missing.front import fit_front
from tests.linear.test_marginal import LOSSES, world
from tests.problems import codes, refused, warned


def logistic(**settings):
    return RareClassifier("logistic", **({"ridge": 1.0} | settings))


class ManyBlocks(Rows):
    """The same rows in small blocks."""

    def __init__(self, rows, size):
        self.rows, self.schema, self.engine = rows, rows.schema, None
        self.starts = (*range(0, len(rows), size), len(rows))

    def ticket(self, index):
        block = next(self.rows.blocks())
        part = slice(self.starts[index], self.starts[index + 1])
        weight = None if block.weight is None else block.weight[part]
        return type(block)(block.X[part], block.y[part], weight, self.starts[index], index)

    @property
    def fingerprint(self):
        return self.rows.fingerprint


# --- the fit --------------------------------------------------------------------------------------


def test_the_coefficients_maximise_the_penalised_marginal_likelihood():
    X, y = world()
    model = logistic().fit(X, y)
    assert model.report_.converged
    assert model.report_.certificate <= 1e-10
    assert model.n_incomplete_ == np.isnan(X).any(axis=1).sum()
    path = marginal_path(fit_front(X).spread(X), y, [1.0])[0]
    assert_allclose(model.coef_[0], path[:-1], atol=0.01)
    found = model.front_.spread(X)
    score = found.mean @ model.coef_[0] + model.intercept_
    prob = marginal_prob(Logit(), score, found.variance(model.coef_[0]))
    assert_allclose(model.predict_proba(X)[:, 1], prob, rtol=1e-9)

    def objective(coef):
        score = found.mean @ coef[:-1] + coef[-1]
        prob = marginal_prob(Logit(), score, found.variance(coef[:-1]))
        loss = -np.log(np.where(y == 1, prob, 1 - prob)).sum()
        return loss + 0.5 * np.sum((coef[:-1] * model.front_.scale) ** 2)

    best = np.append(model.coef_[0], model.intercept_)
    assert_allclose(objective(best), model.report_.objective, rtol=1e-10)
    for step in 1e-3 * np.vstack([np.eye(5), -np.eye(5)]):
        assert objective(best + step) > objective(best)


@pytest.mark.parametrize(("name", "shape"), LOSSES)
def test_every_loss_converges_and_is_calibrated_in_the_large(name, shape):
    X, y = world(n=250)
    model = RareClassifier(name, shape=shape or "auto", ridge=0.1).fit(X, y)
    assert model.report_.converged
    assert abs(model.predict_proba(X)[:, 1].mean() - y.mean()) < 0.02


def test_blocks_and_engines_change_nothing():
    X, y = world(n=240)
    rows = ArrayRows(X, y, classes=[0, 1])
    whole = logistic().fit(rows)
    some = logistic().fit(ManyBlocks(rows, 100))
    threads = logistic(engine="threads").fit(ManyBlocks(rows, 100))
    assert_allclose(some.coef_, whole.coef_, rtol=1e-8)
    assert_array_equal(threads.coef_, some.coef_)
    assert_array_equal(threads.covariance_, some.covariance_)
    again = ManyBlocks(rows, 100)
    assert_array_equal(threads.predict_proba(again), some.predict_proba(again))


def test_complete_rows_keep_their_fit_to_the_bit():
    X, y = world(share=0.0)
    labels = np.append(y, np.full(5, np.nan))  # what rows without a label miss is not used
    one = logistic().fit(np.vstack([X, np.zeros((5, 4))]), labels)
    two = logistic().fit(np.vstack([X, np.full((5, 4), np.nan)]), labels)
    assert one.n_incomplete_ == two.n_incomplete_ == 0
    assert_array_equal(one.coef_, two.coef_)
    some = X[:50].copy()
    some[1, 2] = np.nan
    with_one = one.predict_proba(some)
    assert_array_equal(np.delete(with_one, 1, axis=0), np.delete(one.predict_proba(X[:50]), 1, 0))


def test_the_ridge_is_chosen_by_marginal_probabilities():
    X, y = world(n=200)
    model = RareClassifier("logistic", cv=3).fit(X, y)
    assert model.selection_ is not None
    assert model.ridge_ > 0
    again = RareClassifier("logistic", ridge=model.ridge_).fit(X, y)
    assert_array_equal(again.coef_, model.coef_)
    auto = RareClassifier(cv=3).fit(X, y)
    assert auto.loss_ in ("logistic", "gev-canonical")


def test_weight_2_is_the_row_twice_and_order_does_not_matter():
    X, y = world(n=150)
    weight = 1.0 + (np.arange(150) % 3 == 0)
    again = np.repeat(np.arange(150), weight.astype(int))[::-1]
    one, two = logistic().fit(X, y, weight), logistic().fit(X[again], y[again])
    assert_allclose(one.coef_, two.coef_, rtol=1e-7)
    assert_allclose(one.covariance_, two.covariance_, rtol=1e-6)


def test_units_and_far_means_do_not_matter():
    X, y = world()
    one = logistic().fit(X, y)
    units, shift = np.array([1e-6, 1e4, 1.0, 30.0]), np.array([0.0, 1e9, 1e7, -5.0])
    two = logistic().fit(X * units + shift, y)
    assert_allclose(two.predict_proba(X * units + shift), one.predict_proba(X), rtol=1e-5)
    assert_allclose(two.coef_[0] * units, one.coef_[0], rtol=1e-5)


@pytest.mark.parametrize("settings", [{"fit_intercept": False}, {"penalize_intercept": True}])
def test_other_intercepts(settings):
    X, y = world()
    model = logistic(**settings).fit(X, y)
    assert model.report_.converged
    assert (model.intercept_[0] == 0) == ("fit_intercept" in settings)


# --- what is known of it --------------------------------------------------------------------------


def test_errors_are_those_of_the_likelihood_and_of_simulation():
    truth, z = np.array([1.0, -0.7, -1.0]), []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X = rng.multivariate_normal([0, 0], [[1.0, 0.5], [0.5, 1.0]], size=400)
        y = (rng.random(400) < expit(X @ truth[:2] + truth[2])) * 1.0
        X[rng.random(400) < expit(X[:, 0] - 0.5), 1] = np.nan  # at random given the other
        model = logistic(ridge=0).fit(X, y)
        value = np.append(model.coef_[0], model.intercept_)
        z.append((value - truth) / np.sqrt(np.diag(model.covariance_)))
    covered = (np.abs(z) < 1.645).mean()
    assert 0.82 < covered < 0.97  # 150 coefficients: .90 -+ three standard errors
    assert np.abs(np.mean(z, axis=0)).max() < 0.5


def test_survey_errors_are_robust_and_do_not_depend_on_the_unit_of_weights():
    X, y = world()
    weight = np.random.default_rng(0).uniform(0.5, 3.0, len(y))
    one, two = (logistic(weight_kind="survey").fit(X, y, w) for w in (weight, 7 * weight))
    assert_allclose(one.covariance_, two.covariance_, rtol=1e-6)
    plain = logistic().fit(X, y)
    assert not np.allclose(plain.covariance_, one.covariance_, rtol=0.01)


def test_intervals_of_probabilities():
    X, y = world()
    model = logistic().fit(X, y)
    X[0] = np.nan
    ends, prob = model.predict_interval(X), model.predict_proba(X)[:, 1]
    assert (ends[:, 0] < prob).all()
    assert (prob < ends[:, 1]).all()
    assert abs(prob[0] - y.mean()) < 0.05
    assert ends[0, 1] - ends[0, 0] < 0.2
    # the delta method, against coefficients moved a little
    step, value = 1e-6, np.append(model.coef_[0], model.intercept_)
    slopes = []
    for j in range(5):
        moved = copy.deepcopy(model)
        up = value + step * np.eye(5)[j]
        moved.coef_, moved.intercept_ = up[None, :-1], up[-1:]
        slopes.append((moved.linear_predictor(X) - model.linear_predictor(X)) / step)
    error = np.sqrt(np.einsum("ji,jk,ki->i", slopes, model.covariance_, slopes))
    high = expit(model.linear_predictor(X) + 1.6448536 * error)
    assert_allclose(ends[:, 1], high, rtol=1e-4)
    assert "error" in model.summary().columns
    for method in ("profile", "laplace"):
        with refused("no-likelihood", UsageError):
            model.predict_interval(X, method=method)


def test_files_copies_and_pickles_predict_the_same_bits(tmp_path):
    X, y = world()
    for rows in (X, np.where(np.isnan(X), 0.0, X)):
        model = logistic().fit(rows, y)
        save(model, tmp_path / "m.scarce", force=True)
        again = load(tmp_path / "m.scarce")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            assert_array_equal(again.predict_proba(X), model.predict_proba(X))
            assert_array_equal(copy.deepcopy(model).predict_proba(X), model.predict_proba(X))


def test_the_report_says_what_was_assumed():
    X, y = world()
    report = logistic().fit(X, y).report_
    (remark,) = [one for one in report.warnings if one.code == "missing-at-random"]
    assert remark.fields["rows"] == np.isnan(X).any(axis=1).sum()
    assert remark.fields["cells"] == np.isnan(X).sum()
    assert set(remark.fields["columns"]) == {"x0", "x1", "x2", "x3"}


# --- predictions ----------------------------------------------------------------------------------


def test_trained_complete_and_predicted_with_missing_values():
    X, y = world(n=2000, share=0.0)
    model = logistic().fit(X, y)
    holes = X.copy()
    holes[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    with warned("more-missing", before=0.0):
        prob = model.predict_proba(holes)[:, 1]
    filled = np.where(np.isnan(holes), X.mean(axis=0), holes)

    def loss(prob):
        return -np.log(np.where(y == 1, prob, 1 - prob)).mean()

    assert loss(prob) < 0.97 * loss(model.predict_proba(filled)[:, 1])
    assert abs(prob.mean() - y.mean()) < 0.01
    with refused("missing-value", DataError, cells=float(np.isnan(holes).sum())):
        logistic(diagnostics=False).fit(X, y).predict_proba(holes)


def test_all_missing_gives_about_the_prevalence():
    X, y = world(n=1000)
    model = logistic().fit(X, y)
    prob = model.predict_proba(np.full((1, 4), np.nan))[0, 1]
    assert abs(prob - y.mean()) < 0.03


def test_columns_without_values_and_constant_ones_say_nothing():
    X, y = world()
    wide = np.column_stack([X, np.full(len(X), np.nan), np.full(len(X), 3.0)])
    model = logistic().fit(wide, y)
    assert_array_equal(model.coef_[0, 4:], 0.0)
    wide[:, 4] = 5.0
    assert_allclose(model.predict_proba(wide), logistic().fit(X, y).predict_proba(X), rtol=1e-6)


def test_offsets_by_value_and_by_column():
    rng = np.random.default_rng(5)
    X, exposure = rng.normal(size=(3000, 4)), rng.normal(size=3000)
    y = (rng.random(3000) < expit(X @ [1.0, -0.5, 0.5, 0.0] + exposure - 1.0)) * 1.0
    X[rng.random(X.shape) < 0.3] = np.nan
    by_value = logistic().fit(X, y, offset=exposure)
    rows = np.column_stack([X, exposure])
    by_column = logistic(offset=4).fit(rows, y)
    assert_allclose(by_column.coef_[0, :4], by_value.coef_[0], atol=0.05)
    prob = by_value.predict_proba(X, offset=exposure)[:, 1]
    assert_allclose(by_column.predict_proba(rows)[:, 1], prob, atol=0.03)
    ends = by_value.predict_interval(X, offset=exposure)
    assert (ends[:, 0] < prob).all()
    assert (prob < ends[:, 1]).all()
    rows[3, 4] = np.nan
    with refused("missing-offset", DataError):
        logistic(offset=4).fit(rows, y)
    with refused("missing-offset", DataError):
        by_column.predict_proba(rows)


def test_a_missing_category_hides_all_its_one_hot_columns():
    city = np.array(["Ulm", "Bonn", "Kiel"] * 40, dtype=object)
    y = (np.arange(120) % 5 == 0) * 1
    city[::7] = None
    rows = open_rows({"city": city.tolist(), "y": y.tolist()}, label="y", indicators=True)
    model = logistic().fit(rows)
    assert model.n_incomplete_ == len(city[::7])
    assert np.isfinite(model.predict_proba(rows)).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"bias_reduction": "firth", "ridge": 0},
        {"bias_reduction": "flic", "ridge": 0},
        {"loss": "gev-canonical", "shape": 0.3, "domain": "paper"},
    ],
)
def test_what_needs_complete_rows_says_so(settings):
    X, y = world()
    with refused("incomplete-rows", UsageError):
        RareClassifier(**({"loss": "logistic", "ridge": 1.0} | settings)).fit(X, y)


def test_classes_that_are_separated_where_values_are_seen_have_no_errors():
    """Where the separating value is missing its mean is known, and the coefficient still grows."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 4))
    y = X[:, 0] > 1
    X[rng.random(500) < 0.3, 1] = np.nan
    X[rng.random(500) < 0.3, 0] = np.nan
    model = logistic(ridge=0).fit(X, y)
    assert "not-converged" in codes(model.report_.warnings)
    for ask in (model.coef_interval, lambda: model.predict_interval(X)):
        with refused("no-covariance", UsageError):
            ask()
    assert "no maximum" in str(model.summary())
    assert np.isfinite(logistic(ridge=1.0).fit(X, y).coef_interval().high).all()
