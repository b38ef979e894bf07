"""RareClassifier: calibrated in the mean, in the units it says, the same however rows arrive."""

import json
import pickle
from pathlib import Path

import mpmath
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.integrate import quad
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from scarce import DataError, RareClassifier, UsageError, load, open_rows, save
from scarce.engine.memory import ArrayRows
from scarce.linear import newton
from scarce.linear import rare as module
from scarce.linear.losses import loss_of
from scarce.linear.rare import append_offset
from scarce.linear.selection import FLOORS, PAPER_RIDGES, PAPER_SHAPES, Selected
from scarce.linear.sums import ColumnSummary
from tests.linear import plain
from tests.problems import codes, refused
from tests.properties.store_properties import check_round_trip

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "glm.json").read_text())
DATA = {name: np.array(values) for name, values in GOLDEN["data"].items()}
SHAPES = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5)
FITS = [("logistic", "auto"), ("probit", "auto"), ("gev-canonical", 0.4), ("gev-log", -0.3)]


def coef_of(model):
    return np.append(model.coef_[0], model.intercept_)


def fitted(loss="logistic", X=None, y=None, weight=None, offset=None, **rest):
    if X is None:
        X, y = plain.rare()
    rest = {"ridge": 1.0, "shape": 0.4, "standardize": False} | rest
    return RareClassifier(loss, **rest).fit(X, y, weight, offset)


# --- other people's programs ----------------------------------------------------------------------


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda c: f"{c['loss']} {c['kind']}")
def test_golden_coefficients_errors_and_likelihood_are_those_of_statsmodels(case):
    weight = DATA["weight"] if case["kind"] in ("weighted", "both") else None
    offset = DATA["offset"] if case["kind"] in ("offset", "both") else None
    model = RareClassifier(case["loss"], ridge=0).fit(DATA["X"], DATA["y"], weight, offset)
    # A certificate of 1e-10 per row, 160 to 330 rows, and variances below 0.1.
    np.testing.assert_allclose(coef_of(model), case["coef"], rtol=0, atol=2e-9)
    own = [0, 1, 2, -1]  # an offset has a row of zeros
    errors = np.sqrt(np.diag(model.covariance_))[own]
    np.testing.assert_allclose(errors, case["standard_error"], rtol=3e-9)
    assert -model.report_.objective == pytest.approx(case["loglik"], rel=1e-11)


@pytest.mark.parametrize(
    "case", [c for c in GOLDEN["cases"] if c["kind"] == "offset"], ids=lambda c: c["loss"]
)
def test_an_offset_may_be_a_column_by_name_or_position(case):
    frame = pd.DataFrame(DATA["X"], columns=["a", "b", "c"])
    frame.insert(1, "exposure", DATA["offset"])
    by_name = RareClassifier(case["loss"], ridge=0, offset="exposure").fit(frame, DATA["y"])
    by_place = RareClassifier(case["loss"], ridge=0, offset=1).fit(frame.to_numpy(), DATA["y"])
    by_values = RareClassifier(case["loss"], ridge=0).fit(
        DATA["X"], DATA["y"], None, DATA["offset"]
    )
    for model in (by_name, by_place):
        assert model.coef_[0, 1] == 1.0
        np.testing.assert_allclose(coef_of(model)[[0, 2, 3, 4]], case["coef"], atol=2e-9)
    np.testing.assert_allclose(
        by_name.predict_proba(frame),
        by_values.predict_proba(DATA["X"], offset=DATA["offset"]),
        atol=1e-9,
    )


@pytest.mark.parametrize("standardize", [False, True])
def test_oracle_ridge_is_that_of_scikit_learn_in_the_units_of_the_columns(standardize):
    X, y = plain.rare(scale=np.array([1.0, 10.0, 0.1]))
    ours = fitted(X=X, y=y, ridge=0.5, standardize=standardize)
    Z = StandardScaler().fit_transform(X) if standardize else X
    theirs = LogisticRegression(C=2.0, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    theirs.fit(Z, y)
    coef = theirs.coef_[0] / X.std(axis=0) if standardize else theirs.coef_[0]
    np.testing.assert_allclose(ours.coef_[0], coef, rtol=1e-6)
    assert ours.ridge_ == 0.5


@pytest.mark.parametrize("shape", [-0.6, 0.0, 0.7, 1.2])
def test_oracle_gev_objective_by_quadrature(shape):
    """A(v) = integral of exp(-(1 + shape t)^(-1/shape)), integrated; nothing of ours in it."""
    X, y = plain.rare(n=60, k=1)
    model = fitted("gev-canonical", X, y, shape=shape, ridge=2.0)

    def inverse(t):
        if shape == 0:
            return np.exp(-np.exp(-t)) if t > -700 else 0.0
        room = 1 + shape * t
        if room <= 0:
            return 0.0 if shape > 0 else 1.0
        return float(np.exp(-(room ** (-1 / shape)))) if room > 1e-3 or shape < 0 else 0.0

    low = -1 / shape if shape > 0 else -40.0
    total = model.coef_[0, 0] ** 2
    for row, label in zip(X[:, 0], y, strict=True):
        score = model.coef_[0, 0] * row + model.intercept_[0]
        area = 0.0
        if score > low:
            middle = [p for p in (-2.0, 0.0) if low < p < score]
            area = quad(inverse, low, score, epsabs=1e-13, epsrel=1e-12, points=middle or None)[0]
        total += area - label * score
    assert model.report_.objective == pytest.approx(total, rel=1e-8)


def test_oracle_gev_fit_in_fifty_digits():
    """The stationary point solved by mpmath from the formula of the link alone."""
    X, y = plain.rare(n=40, k=1, shift=-0.5)
    model = fitted("gev-canonical", X, y, shape=0.3, ridge=1.0)
    with mpmath.workdps(50):
        rows = [mpmath.mpf(float(v)) for v in X[:, 0]]
        shape = mpmath.mpf(0.3)

        def prob(v):
            room = 1 + shape * v
            return mpmath.exp(-(room ** (-1 / shape))) if room > 0 else mpmath.mpf(0)

        def slopes(b, c):
            gaps = [prob(b * x + c) - int(t) for x, t in zip(rows, y, strict=True)]
            return [mpmath.fdot(gaps, rows) + b, mpmath.fsum(gaps)]

        exact = mpmath.findroot(slopes, [mpmath.mpf(float(v)) for v in coef_of(model)])
    np.testing.assert_allclose(coef_of(model), [float(v) for v in exact], atol=2e-9)


# --- calibrated in the mean -----------------------------------------------------------------------

COLUMNS = {
    "plain": ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),
    "wild": ([1e-9, 1.0, 1e9], [0.0, 3.0, 0.0]),
    "off centre": ([1.0, 1.0, 1.0], [1e3, -40.0, 0.0]),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("columns", COLUMNS)
def test_mean_probability_is_the_observed_share(shape, columns, rng):
    scale, shift = COLUMNS[columns]
    X, y = plain.rare()
    X = X * scale + shift
    weight = rng.random(400)
    for ridge in (0, 1.0):
        for w in (None, weight):
            model = fitted("gev-canonical", X, y, w, shape=shape, ridge=ridge)
            share = np.average(y, weights=w)
            assert model.report_.converged
            assert model.prevalence_ == pytest.approx(share, rel=1e-14)
            prob = model.predict_proba(X)
            assert np.average(prob[:, 1], weights=w) == pytest.approx(share, abs=1e-10)
            np.testing.assert_allclose(prob.sum(axis=1), 1.0, rtol=1e-15)


@pytest.mark.parametrize("shape", SHAPES)
def test_mean_probability_with_columns_at_a_hundred_million(shape):
    """Scores of 1e8 carry eight digits after the point: the mean can be no better than those."""
    X, y = plain.rare()
    far = X + [1e8, 0.0, -1e8]
    near = fitted("gev-canonical", far - [1e8, 0.0, -1e8], y, shape=shape)
    model = fitted("gev-canonical", far, y, shape=shape)
    assert model.report_.converged
    np.testing.assert_allclose(model.coef_, near.coef_, atol=1e-9)
    np.testing.assert_allclose(
        np.sqrt(np.diag(model.covariance_))[:3], np.sqrt(np.diag(near.covariance_))[:3], rtol=1e-6
    )
    assert model.predict_proba(far)[:, 1].mean() == pytest.approx(y.mean(), abs=1e-8)


def test_without_free_intercept_the_mean_is_not_promised_but_the_gradient_is():
    X, y = plain.rare()
    for rest in ({"fit_intercept": False}, {"penalize_intercept": True}):
        model = fitted("gev-canonical", X, y, shape=0.3, ridge=5.0, **rest)
        penalty = np.append(np.full(3, 5.0), 5.0 if "penalize_intercept" in rest else 0.0)
        slopes = plain.gradient(coef_of(model), X, y, loss_of("gev-canonical", 0.3), penalty)
        own = slopes if "penalize_intercept" in rest else slopes[:3]
        assert np.abs(own).max() <= 1e-10 * 400 * 2
    assert fitted(fit_intercept=False).intercept_[0] == 0.0


# --- invariants -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("loss", "shape"), FITS)
def test_invariant_weight_two_is_the_row_twice_and_weight_zero_is_its_absence(loss, shape, rng):
    X, y = plain.rare(n=200)
    counts = rng.integers(0, 3, size=200)
    weighted = fitted(loss, X, y, counts, shape=shape)
    repeated = fitted(loss, np.repeat(X, counts, axis=0), np.repeat(y, counts), shape=shape)
    np.testing.assert_allclose(coef_of(weighted), coef_of(repeated), atol=1e-8)
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-7, atol=1e-12)
    assert weighted.report_.objective == pytest.approx(repeated.report_.objective, rel=1e-11)
    assert weighted.floored_rows_ <= np.count_nonzero(counts)


@pytest.mark.parametrize(("loss", "shape"), FITS)
def test_invariant_rows_that_are_not_labelled_are_not_used(loss, shape):
    X, y = plain.rare(n=300)
    holed = y.copy()
    holed[::3] = np.nan
    wild = X.copy()
    wild[::3] *= 50
    kept = ~np.isnan(holed)
    alone = fitted(loss, X[kept], y[kept], shape=shape)
    among = fitted(loss, wild, holed, shape=shape)
    np.testing.assert_allclose(coef_of(among), coef_of(alone), atol=1e-8)
    assert among.floored_rows_ == alone.floored_rows_
    assert among.prevalence_ == alone.prevalence_


@pytest.mark.parametrize(("loss", "shape"), FITS)
def test_invariant_order_of_rows(loss, shape, rng):
    X, y = plain.rare(n=300)
    order = rng.permutation(300)
    one, other = fitted(loss, X, y, shape=shape), fitted(loss, X[order], y[order], shape=shape)
    np.testing.assert_allclose(coef_of(one), coef_of(other), atol=1e-8)


@pytest.mark.parametrize("loss", ["gev-canonical", "gev-log"])
def test_invariant_engines_and_files_give_the_same_bits(loss, tmp_path):
    X, y = plain.rare(n=3000)
    starts = (0, 10, 1500, 3000)
    rows = ArrayRows(X, y, classes=[0, 1], starts=starts)
    params = {"ridge": 1.0, "shapes": [-0.3, 0.5], "cv": 3}
    one = RareClassifier(loss, **params).fit(rows)
    threads = RareClassifier(loss, engine="threads", **params).fit(rows)
    np.testing.assert_array_equal(coef_of(one), coef_of(threads))
    np.testing.assert_array_equal(one.selection_.scores, threads.selection_.scores)
    np.testing.assert_array_equal(one.predict_proba(rows), threads.predict_proba(rows))
    whole = RareClassifier(loss, **params).fit(X, y)
    np.testing.assert_allclose(coef_of(one), coef_of(whole), atol=1e-8)
    assert one.shape_ == whole.shape_
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    opened = RareClassifier(loss, **params).fit(open_rows(table, label="y"))
    np.testing.assert_allclose(coef_of(opened), coef_of(whole), atol=1e-8)


@pytest.mark.parametrize(
    "labels",
    [["ham", "spam"], [False, True], [-1, 1], [3, 7]],
    ids=str,
)
def test_any_two_labels_are_classes(labels):
    X, y = plain.rare()
    model = fitted(X=X, y=np.array(labels)[y.astype(int)])
    np.testing.assert_array_equal(coef_of(model), coef_of(fitted(X=X, y=y)))
    assert model.classes_.tolist() == labels
    assert set(model.predict(X)) <= set(labels)


def test_swapped_labels_turn_a_symmetric_link_around():
    X, y = plain.rare()
    one, other = fitted("probit", X, y), fitted("probit", X, 1 - y)
    np.testing.assert_allclose(coef_of(one), -coef_of(other), atol=1e-9)
    assert len(other.report_.warnings) == 1  # the positive class is the more frequent one
    assert not one.report_.warnings


def test_standardize_is_the_fit_of_standardised_columns():
    X, y = plain.rare(scale=np.array([1.0, 30.0, 0.01]))
    for loss, shape in FITS:
        own = fitted(loss, X, y, shape=shape, standardize=True)
        scaled = fitted(loss, X / X.std(axis=0), y, shape=shape)
        np.testing.assert_allclose(own.coef_ * X.std(axis=0), scaled.coef_, atol=1e-8)
        np.testing.assert_allclose(own.intercept_, scaled.intercept_, atol=1e-8)


@pytest.mark.parametrize("scale", [10.0, 1e-3])
def test_units_matter_to_a_ridge_exactly_as_written(scale):
    X, y = plain.rare()
    one = fitted(X=X, y=y, ridge=2.0)
    other = fitted(X=X * scale, y=y, ridge=2.0 * scale**2)
    np.testing.assert_allclose(one.coef_[0], other.coef_[0] * scale, atol=1e-9)


def test_warm_start_saves_passes_and_changes_nothing():
    X, y = plain.rare(n=2000)
    model = RareClassifier(
        "gev-canonical", shape=0.5, ridge=1.0, standardize=False, warm_start=True, diagnostics=False
    ).fit(X, y)
    cold = model.report_.passes
    coef = coef_of(model)
    model.fit(X, y)
    assert model.report_.passes < cold
    np.testing.assert_allclose(coef_of(model), coef, atol=1e-9)
    model.set_params(ridge=1.2).fit(X, y)
    np.testing.assert_allclose(
        coef_of(model), coef_of(fitted("gev-canonical", X, y, shape=0.5, ridge=1.2)), atol=1e-8
    )
    model.fit(X[:, :2], y)  # another width: a cold start
    assert model.coef_.shape == (1, 2)


def test_large_and_wide_paths_give_the_same_model(monkeypatch):
    X, y = plain.rare(n=24_000, k=4, shift=-3.0)
    fast = fitted("gev-canonical", X, y)
    monkeypatch.setattr(newton, "SAMPLE_FROM", 10**9)
    slow = fitted("gev-canonical", X, y)
    np.testing.assert_allclose(coef_of(fast), coef_of(slow), atol=1e-8)
    monkeypatch.setattr(newton, "GRAM_COLUMNS", 2)
    monkeypatch.setattr(newton, "GRAM_WORK", 0)
    wide = fitted("gev-canonical", X[:3000], y[:3000])
    monkeypatch.undo()
    narrow = fitted("gev-canonical", X[:3000], y[:3000])
    np.testing.assert_allclose(coef_of(wide), coef_of(narrow), atol=1e-7)
    assert wide.report_.converged


def test_more_columns_than_rows(rng):
    X = rng.normal(size=(40, 100))
    y = (X[:, 0] > 0.7).astype(float)
    for standardize in (False, True):
        model = fitted("gev-canonical", X, y, standardize=standardize)
        assert model.report_.converged
        std = X.std(axis=0) if standardize else np.ones(100)
        penalty = np.append(std**2, 0.0)
        slopes = plain.gradient(coef_of(model), X, y, loss_of("gev-canonical", 0.4), penalty)
        assert np.abs(slopes).max() <= 1e-8
        assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=1e-10)


CHANGES = {
    "thousandths": lambda X, y, w: (X * 1e-3, y, w),
    "millionths": lambda X, y, w: (X * 1e-6, y, w),
    "far units": lambda X, y, w: (X * [1e-130, 1e9, 1e130], y, w),
    "shifts": lambda X, y, w: (X + [1e3, -7.0, 0.1], y, w),
    "columns": lambda X, y, w: (X[:, [2, 0, 1]], y, w),
    "rows": lambda X, y, w: (X[::-1], y[::-1], None if w is None else w[::-1]),
    "labels": lambda X, y, w: (X, np.where(y == 1, "yes", "no"), w),
    "a constant column": lambda X, y, w: (np.column_stack([X, np.full(len(X), 7.0)]), y, w),
    "weight 2": lambda X, y, w: (X, y, 2.0 * (np.ones(len(X)) if w is None else w)),
    "every row twice": lambda X, y, w: (
        np.vstack([X, X]),
        np.append(y, y),
        None if w is None else np.append(w, w),
    ),
    "whole weights": lambda X, y, w: (X, y, None if w is None else 4 * w),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["auto", "logistic", "gev-canonical"])
@pytest.mark.parametrize("change", CHANGES)
def test_invariant_predictions_of_the_default(change, loss, weighted, rng):
    X, y = plain.rare(n=240)
    weight = rng.integers(2, 9, size=240) / 4 if weighted else None
    params = {} if loss != "gev-canonical" else {"shapes": [-0.3, 0.8]}
    one = RareClassifier(loss, **params).fit(X, y, weight)
    moved = CHANGES[change](X, y, weight)
    other = RareClassifier(loss, **params).fit(*moved)
    assert other.loss_ == one.loss_
    assert other.shape_ == one.shape_ or np.isnan(one.shape_)
    prob = other.predict_proba(moved[0])[:240]
    wanted = one.predict_proba(X[::-1] if change == "rows" else X)
    np.testing.assert_allclose(prob, wanted, rtol=1e-6)
    assert other.selection_.gain == pytest.approx(one.selection_.gain, rel=1e-3, abs=1e-9)


def test_weight_two_is_the_row_twice_for_the_default_too(rng):
    X, y = plain.rare(n=200)
    counts = rng.integers(1, 4, size=200)
    weighted = RareClassifier().fit(X, y, counts)
    repeated = RareClassifier().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6)
    assert weighted.selection_.gain == pytest.approx(repeated.selection_.gain, rel=1e-3)


def test_a_warm_start_that_leads_away_is_not_used():
    """Columns in other units after a first fit: the old coefficients give scores of millions."""
    X, y = plain.rare(n=300)
    for params in ({"loss": "logistic"}, {"loss": "gev-canonical", "shape": 0.5}):
        for offset in (None, np.linspace(-1, 1, 300)):
            model = RareClassifier(ridge=1.0, warm_start=True, **params)
            model.fit(X, y, offset=offset)
            moved = X * [1e6, 1.0, 1e-6] + [0.0, 1e5, 0.0]
            cold = RareClassifier(ridge=1.0, **params).fit(moved, y, offset=offset)
            warm = model.fit(moved, y, offset=offset)
            assert warm.report_.converged
            np.testing.assert_allclose(
                warm.predict_proba(moved, offset), cold.predict_proba(moved, offset), rtol=1e-7
            )


def test_values_too_small_to_square_are_refused_by_name():
    X, y = plain.rare(n=200)
    for scale in (1e-160, 1e-170, 1e-300):
        for model in (
            RareClassifier(),
            RareClassifier("logistic", ridge=0, bias_reduction="firth"),
        ):
            with refused("values-too-small", DataError, column="x1"):
                model.fit(X * [1.0, scale, 1.0], y)
    tiny = np.column_stack([X, np.full(200, 1e-200)])  # constant: nothing to square
    assert RareClassifier("logistic", ridge=1.0).fit(tiny, y).report_.converged


# --- floor ----------------------------------------------------------------------------------------


def test_no_gev_probability_is_zero_or_one_and_the_mean_is_kept():
    X, y = plain.rare()
    for shape in (-1.0, 1.0):
        model = fitted("gev-canonical", X, y, shape=shape, ridge=0)
        far = np.array([[100.0, 0, 0], [-100.0, 0, 0]])
        prob = model.predict_proba(far)
        assert model.floor_ == 0.001
        assert prob.min() >= 0.001 * min(y.mean(), 1 - y.mean()) * (1 - 1e-12)
        assert prob.max() < 1.0
        bare = fitted("gev-canonical", X, y, shape=shape, ridge=0, floor=0)
        raw = bare.predict_proba(X)[:, 1]
        edge = bare._link().support
        score = bare.linear_predictor(X)
        outside = (score <= edge[0]) | (score >= edge[1])
        assert bare.floored_rows_ == outside.sum() == ((raw == 0) | (raw == 1)).sum()
        assert model.floored_rows_ == bare.floored_rows_
        np.testing.assert_allclose(
            model.predict_proba(X)[:, 1], 0.999 * raw + 0.001 * y.mean(), rtol=1e-12
        )
    assert bare.floored_rows_ > 0
    assert codes(model.report_.warnings) == ["floored-rows"]
    assert model.report_.warnings[0].fields["count"] == bare.floored_rows_


@pytest.mark.parametrize("shape", [-1.0, -0.6, 0.8])
def test_rows_beyond_either_end_of_the_support_are_counted(shape):
    X, y = plain.rare(n=300, k=2, shift=1.0 if shape < 0 else -2.0)
    X = 3 * X
    model = fitted("gev-canonical", X, y, shape=shape, ridge=0)
    low, high = model._link().support
    score = model.linear_predictor(X)
    beyond = np.count_nonzero(score >= high if shape < 0 else score <= low)
    assert beyond > 3
    assert model.floored_rows_ == beyond


def test_other_links_have_no_floor_unless_it_is_asked_for():
    X, y = plain.rare()
    assert fitted("logistic", X, y).floor_ == 0.0
    held = fitted("logistic", X, y, floor=0.2)
    bare = fitted("logistic", X, y).predict_proba(X)
    np.testing.assert_allclose(held.predict_proba(X)[:, 1], 0.8 * bare[:, 1] + 0.2 * y.mean())
    np.testing.assert_allclose(held.predict_proba(X)[:, 0], 0.8 * bare[:, 0] + 0.2 * (1 - y.mean()))


@pytest.mark.parametrize("floor", [0.0, 0.001, 0.3, 1.0])
@pytest.mark.parametrize(("loss", "shape"), [("logistic", 0.0), ("gev-canonical", 0.8)])
def test_predict_is_the_more_probable_class(loss, shape, floor):
    X, y = plain.rare(shift=-0.3)
    model = fitted(loss, X, y, shape=shape, floor=floor, ridge=0.1)
    prob = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), (prob[:, 1] > prob[:, 0]).astype(float))
    np.testing.assert_array_equal(model.decision_function(X) > 0, prob[:, 1] > prob[:, 0])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(prob))


def test_small_probabilities_of_either_class_keep_their_digits():
    X, y = plain.rare()
    model = fitted("logistic", X, y)
    far = np.array([[1e3, 0.0, 0.0], [-1e3, 0.0, 0.0]])
    prob = model.predict_proba(far)
    assert 0 < prob[0, 0] < 1e-50
    assert 0 < prob[1, 1] < 1e-50


# --- in company -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        RareClassifier("gev-canonical", shapes=[-0.5, 0.5], ridges=[0.1, 10.0], cv=3),
        RareClassifier("logistic", ridge=0),
        RareClassifier("logistic", ridge=0, bias_reduction="flic"),
        RareClassifier("gev-log", shape=0.5, ridge=1.0),
        RareClassifier("gev-canonical", shape=1.0, ridge=1.0, domain="paper"),
    ],
    ids=lambda m: f"{m.loss} {m.bias_reduction} {m.domain}",
)
def test_property_save_load_pickle_and_clone(model, tmp_path):
    X, y = plain.rare(n=200)
    model = clone(model).fit(X, y)
    check_round_trip(model, X)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert not hasattr(clone(model), "coef_")
    save(model, tmp_path / "model.scarce")
    loaded = load(tmp_path / "model.scarce")
    assert loaded.report_ == model.report_ or np.isnan(model.report_.objective)
    if model.covariance_ is not None or model.selection_ is not None:
        assert str(loaded.summary()) == str(model.summary())


def test_pipelines_with_splines_and_kernels_see_what_lines_cannot(rng):
    X = rng.uniform(-3, 3, size=(3000, 1))
    prob = 0.02 + 0.4 * (np.abs(X[:, 0]) < 1)
    y = (rng.random(3000) < prob).astype(float)
    test = np.linspace(-3, 3, 200)[:, None]
    truth = 0.02 + 0.4 * (np.abs(test[:, 0]) < 1)

    def error(model):
        return float(np.mean((model.fit(X, y).predict_proba(test)[:, 1] - truth) ** 2))

    def tuned():
        return RareClassifier("gev-canonical", shapes=[-0.3, 0.3], ridges=[0.1, 1.0], cv=3)

    straight = error(tuned())
    for step in (
        SplineTransformer(8),
        Nystroem(n_components=30, random_state=0),
        RBFSampler(n_components=50, random_state=0),
    ):
        assert error(make_pipeline(step, tuned())) < 0.4 * straight


def test_grid_search_over_its_parameters():
    X, y = plain.rare()
    search = GridSearchCV(
        RareClassifier(ridge=1.0),
        {"shape": [-0.5, 0.5], "loss": ["gev-canonical", "logistic"]},
        cv=3,
    )
    search.fit(X, y)
    assert set(search.best_params_) == {"shape", "loss"}


def test_columns_of_a_frame_are_named_in_remarks_and_refusals():
    x = np.repeat([-1.0, 1.0], 30)
    frame = pd.DataFrame({"income": x, "always": 1.0})
    y = (x > 0).astype(int)
    with refused("separated-classes", DataError, columns=["income"]):
        RareClassifier("logistic", ridge=0).fit(frame, y)
    report = RareClassifier("logistic", ridge=1).fit(frame, y).report_
    assert codes(report.warnings) == ["constant-columns"]
    assert report.warnings[0].fields["columns"] == ["always"]


def test_a_column_may_be_called_offset():
    X, y = plain.rare()
    frame = pd.DataFrame(X, columns=["a", "offset", "c"])
    values = X[:, 0] * 0.1
    named = RareClassifier("logistic", ridge=1.0).fit(frame, y, offset=values)
    bare = RareClassifier("logistic", ridge=1.0).fit(X, y, offset=values)
    np.testing.assert_array_equal(coef_of(named), coef_of(bare))


def test_only_a_constant_column_gives_the_share():
    y = (np.arange(50) < 5).astype(float)
    for model in (RareClassifier("logistic", ridge=0), RareClassifier(cv=2)):
        prob = model.fit(np.ones((50, 1)), y).predict_proba(np.ones((1, 1)))
        assert prob[0, 1] == pytest.approx(0.1, abs=1e-10)


def test_report_counts_what_was_done():
    X, y = plain.rare()
    full = fitted("gev-canonical", X, y)
    bare = fitted("gev-canonical", X, y, diagnostics=False)
    assert full.report_.passes == bare.report_.passes
    assert bare.covariance_ is None
    assert np.isnan(bare.report_.objective)
    assert full.report_.proves == "gradient norm"
    assert full.selection_ is None
    assert full.selection_ is None
    short = fitted(max_passes=2)
    assert not short.report_.converged
    assert codes(short.report_.warnings) == ["not-converged"]
    args = (X, y, loss_of("gev-canonical", 0.4), np.array([1.0, 1.0, 1.0, 0.0]))
    assert full.report_.objective == pytest.approx(plain.objective(coef_of(full), *args), rel=1e-12)
    assert np.isnan(fitted("logistic").shape_)


def test_kernels_see_the_support(rng):
    block = next(ArrayRows([[-3.0], [0.0], [3.0]], [0, 1, 0], classes=[0, 1]).blocks())
    assert module.linear_scores(block, (np.array([2.0]), 1.0)).tolist() == [-5, 1, 7]


# --- refusals -------------------------------------------------------------------------------------


def test_refusals_of_data(rng):
    X, y = plain.rare(n=60)
    model = RareClassifier("logistic", ridge=1.0)
    bad = X.copy()
    bad[7, 1] = np.nan
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(np.isnan(bad), np.inf, bad), y)
    with refused("one-class", DataError, classes="1.0"):
        model.fit(X, np.ones(60))
    with refused("too-many-classes", DataError, count=3):
        model.fit(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.fit(X, y, -np.ones(60))
    with pytest.raises(DataError, match="y to be passed"):
        model.fit(X)
    with refused("length-mismatch", DataError, argument="offset"):
        model.fit(X, y, offset=np.ones(59))
    with refused("not-finite", DataError, argument="offset", row=0):
        model.fit(X, y, offset=np.full(60, np.inf))
    with pytest.raises(NotFittedError):
        RareClassifier().predict_proba(X)
    model.fit(X, y)
    with refused("length-mismatch", DataError, argument="offset"):
        model.predict_proba(X, offset=[1.0])


def test_a_damaged_model_is_refused(tmp_path):
    X, y = plain.rare(n=60)
    good = RareClassifier("gev-canonical", shape=0.3, ridge=1.0).fit(X, y)
    for name, value, code in (
        ("coef_", np.zeros((1, 2)), "wrong-array"),
        ("intercept_", np.zeros(2), "wrong-array"),
        ("coef_", np.zeros((1, 3), dtype=int), "wrong-array"),
        ("floor_", 1.5, "damaged-model"),
        ("prevalence_", 0.0, "damaged-model"),
        ("classes_", np.arange(3), "damaged-model"),
        ("rows_", {"X": X}, "damaged-model"),
        ("ridge_", "auto", "damaged-model"),
        ("shape_", 7.0, "shape-range"),
        ("loss", "gev", "unknown-word"),
        ("loss_", "gev", "unknown-word"),
    ):
        copy = pickle.loads(pickle.dumps(good))
        setattr(copy, name, value)
        with refused(code):
            copy._check_loaded()
    good._check_loaded()
    RareClassifier()._check_loaded()


def test_a_warm_start_saves_passes_on_large_data_too(rng):
    """From 20,000 rows a part is fitted first; a fit that starts at the answer must not do so."""
    X = rng.normal(size=(24_000, 4))
    y = rng.random(24_000) < 1 / (1 + np.exp(3 - X[:, 0]))
    model = RareClassifier("logistic", ridge=1.0, warm_start=True, diagnostics=False)
    cold = model.fit(X, y).report_.passes
    coef = model.coef_.copy()
    warm = model.fit(X, y).report_.passes
    assert warm == 2 < cold  # one look at the columns, one pass that finds nothing to do
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-12)


# --- parameters -----------------------------------------------------------------------------------

PARAMETER, WORD, FOLDS = "invalid-parameter", "unknown-word", "invalid-folds"
REFUSED = [
    ({"loss": "logit"}, WORD, "loss"),
    ({"domain": "lines"}, WORD, "domain"),
    ({"loss": "logistic", "ridge": 0, "bias_reduction": "fith"}, PARAMETER, "bias_reduction"),
    ({"loss": "probit", "ridge": 0, "bias_reduction": "firth"}, "firth-needs-logistic", ""),
    ({"loss": "logistic", "ridge": 1, "bias_reduction": "flic"}, "firth-needs-logistic", ""),
    ({"loss": "logistic", "bias_reduction": "flic"}, "firth-needs-logistic", ""),
    (
        {"loss": "logistic", "ridge": 0, "bias_reduction": "flic", "fit_intercept": False},
        "firth-needs-logistic",
        "",
    ),
    ({"loss": "gev-log", "domain": "paper"}, "domain-needs-canonical", ""),
    ({"loss": "logistic", "domain": "paper"}, "domain-needs-canonical", ""),
    ({"domain": "paper"}, "domain-needs-canonical", ""),
    ({"weight_kind": "counts"}, WORD, "weight_kind"),
    ({"ridge": -1}, PARAMETER, "ridge"),
    ({"ridge": np.inf}, PARAMETER, "ridge"),
    ({"ridge": np.nan}, PARAMETER, "ridge"),
    ({"ridge": "none"}, PARAMETER, "ridge"),
    ({"shape": 1.6}, PARAMETER, "shape"),
    ({"shape": -1.1}, PARAMETER, "shape"),
    ({"shape": None}, PARAMETER, "shape"),
    ({"floor": 1.1}, PARAMETER, "floor"),
    ({"floor": -0.1}, PARAMETER, "floor"),
    ({"tol": 0.0}, PARAMETER, "tol"),
    ({"tol": np.nan}, PARAMETER, "tol"),
    ({"max_passes": 0}, PARAMETER, "max_passes"),
    ({"fit_intercept": "yes"}, PARAMETER, "fit_intercept"),
    ({"shapes": "fine"}, PARAMETER, "shapes"),
    ({"shapes": []}, PARAMETER, "shapes"),
    ({"shapes": [0.0, 3.0]}, PARAMETER, "shapes"),
    ({"shapes": [np.nan]}, PARAMETER, "shapes"),
    ({"shapes": 0.3}, PARAMETER, "shapes"),
    ({"ridges": []}, PARAMETER, "ridges"),
    ({"ridges": "continuous"}, PARAMETER, "ridges"),
    ({"ridges": [1.0, 0.0]}, PARAMETER, "ridges"),
    ({"ridges": [-1.0]}, PARAMETER, "ridges"),
    ({"ridges": [np.inf]}, PARAMETER, "ridges"),
    ({"select_by": "brie"}, WORD, "select_by"),
    ({"cv": 1}, FOLDS, "cv"),
    ({"cv": 2.5}, FOLDS, "cv"),
    ({"cv": 0.0}, FOLDS, "cv"),
    ({"cv": np.nan}, FOLDS, "cv"),
    ({"cv": 101}, FOLDS, "cv"),
    ({"cv": "five"}, FOLDS, "cv"),
    ({"cv": None}, FOLDS, "cv"),
    ({"cv": True}, FOLDS, "cv"),
    ({"cv": []}, FOLDS, "cv"),
    ({"offset": "exposure"}, "unknown-column", "offset"),
    ({"offset": 3}, "unknown-column", "offset"),
    ({"offset": -1}, "unknown-column", "offset"),
]


@pytest.mark.parametrize(("params", "code", "argument"), REFUSED, ids=lambda p: str(p)[:60])
def test_refusals(params, code, argument):
    X, y = plain.rare(n=60)
    fields = {"argument": argument} if argument else {}
    with refused(code, UsageError, **fields):
        RareClassifier(**params).fit(X, y)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"shape": -1, "ridge": 0},
        {"shape": 1.5, "floor": 1},
        {"loss": "logistic", "ridge": 0, "bias_reduction": "flic"},
        {"loss": "gev-canonical", "domain": "paper", "shape": np.float32(0.5)},
        {"shapes": "continuous"},
    ],
    ids=str,
)
def test_what_can_work_is_let_through(params):
    RareClassifier(**params)._check_parameters()


def test_refused_words_of_a_frame_name_its_columns():
    X, y = plain.rare(n=60)
    frame = pd.DataFrame(X, columns=["age", "pay", "exposure"])
    with refused("unknown-column", UsageError, columns="'age', 'pay' and 'exposure'"):
        RareClassifier(offset="expo", shape=0.0, ridge=1.0).fit(frame, y)


def test_an_offset_is_said_once():
    X, y = plain.rare(n=60)
    with refused("offset-twice", UsageError):
        RareClassifier("logistic", ridge=1.0, offset=0).fit(X, y, offset=np.ones(60))


def test_an_appended_offset_keeps_rows_labels_and_weights(rng):
    X, y = plain.rare(n=60)
    y[3] = np.nan
    weight = rng.random(60)
    rows = ArrayRows(X, y, weight=weight, classes=["no", "yes"], starts=(0, 7, 60))
    wider = append_offset(rows, np.arange(60.0), None)
    assert wider.classes == rows.classes
    blocks = list(wider.blocks())
    np.testing.assert_array_equal(np.concatenate([b.X for b in blocks])[:, 3], np.arange(60.0))
    np.testing.assert_array_equal(np.concatenate([b.X for b in blocks])[:, :3], X)
    np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), y)
    np.testing.assert_array_equal(np.concatenate([b.weight for b in blocks]), weight)


def formulated(stats, offset=None, **params):
    model = RareClassifier(**params)
    model.offset_column_ = offset
    return model._formulate(stats)


def test_the_problem_is_what_the_parameters_say():
    stats = ColumnSummary(np.ones(2), np.ones(2), 0, np.zeros(2), np.array([1.0, 3.0]))
    plainly = formulated(stats, standardize=False)
    assert plainly.intercept == "free"
    assert plainly.units is None
    assert plainly.tol == 1e-10
    params = {"penalize_intercept": True, "domain": "paper", "tol": 1e-7, "max_passes": 9}
    other = formulated(stats, 1, **params)
    assert other.intercept == "penalised"
    assert other.units is not None
    assert other.units.tolist() == [1.0, 3.0]
    assert (other.offset, other.domain, other.tol, other.max_passes) == (1, "paper", 1e-7, 9)
    away = ColumnSummary(np.ones(2), np.ones(2), 0, np.array([4.0, 7.0]), np.array([3.0, 0.0]))
    none = formulated(away, fit_intercept=False, penalize_intercept=True)
    assert none.intercept == "none"
    assert none.units is not None
    assert none.units.tolist() == [5.0, 7.0]
    assert formulated(away).units is away.std


@pytest.mark.parametrize(
    ("params", "loss", "tuned", "floor"),
    [
        ({}, "gev-canonical", False, 0.001),
        ({}, "gev-canonical", True, 0.05),
        ({}, "logistic", True, 0.0),
        ({"floor": 0}, "gev-canonical", True, 0.0),
        ({"loss": "logistic"}, "logistic", False, 0.0),
        ({"loss": "logistic", "floor": 0.3}, "logistic", False, 0.3),
    ],
)
def test_floor_of_each_kind(params, loss, tuned, floor):
    model = RareClassifier(**params)
    model.loss_ = loss
    selected = Selected("gev-canonical", None, 0.05, []) if tuned else None
    assert model._resolve_floor(selected) == floor


def test_the_grids_are_those_of_the_paper():
    assert len(PAPER_SHAPES) == 27
    assert PAPER_SHAPES[0] == -1.0
    assert PAPER_SHAPES[-1] == 1.5
    assert -0.2567 in PAPER_SHAPES
    assert np.all(np.diff(PAPER_SHAPES) > 0)
    assert PAPER_RIDGES == (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
    assert FLOORS[0] == 0.001


def test_nothing_is_searched_where_everything_is_given():
    X, y = plain.rare(n=60)
    called = []
    model = RareClassifier(
        "gev-canonical", shape=0.3, ridge=1.0, cv="never read", progress=lambda *a: called.append(a)
    )
    model.fit(X, y)
    assert model.selection_ is None
    assert not called
    assert (model.shape_, model.ridge_) == (0.3, 1.0)
