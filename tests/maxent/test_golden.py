"""MaxentClassifier against cvxpy's primal solutions, a dense dual solver and 004's Algorithm 1."""

import json
from pathlib import Path

import numpy as np
import pytest

from scarce import DataError, MaxentClassifier
from tests.oracle import maxent_dense as dense
from tests.oracle.problems import entropy_problem, robust_problem
from tests.problems import refused

GOLDEN = json.loads(Path(__file__).parent.parent.joinpath("golden", "maxent.json").read_text())


def fit(problem, **settings):
    n_classes = len(problem.default)
    model = MaxentClassifier(
        features="l",
        knots_at="uniform",
        default_prevalence=dict(enumerate(problem.default.tolist())),
        classes=range(n_classes),
        width_scale=problem.width_scale,
        spread=problem.spread,
        **settings,
    )
    pool = problem.background_weight / problem.sample_weight
    return model.fit(problem.X, problem.y, problem.sample_weight, background_weight=pool)


@pytest.mark.parametrize("part", range(4))
def test_golden_entropy(part):
    for case in GOLDEN["entropy"][part::4]:
        problem = entropy_problem(case["seed"])
        model = fit(problem)
        assert model.report_.converged, case["seed"]
        assert model.report_.objective == pytest.approx(-case["divergence"], abs=1e-8)
        prob = model.density_ratio(problem.X) * problem.background_weight
        np.testing.assert_allclose(prob, case["prob"], rtol=0, atol=1e-6, err_msg=str(case["seed"]))


@pytest.mark.parametrize("case", range(5))
def test_the_gap_is_never_below_the_distance_to_the_optimum(case):
    for seed in range(case, 60, 5):
        problem = entropy_problem(seed)
        best = GOLDEN["entropy"][seed]
        for passes in (1, 2, 3, 4):
            report = fit(problem, max_passes=passes).report_
            assert report.objective + best["divergence"] <= report.gap + 1e-10
            assert report.objective + best["divergence"] >= -1e-9


@pytest.mark.filterwarnings("ignore:.* of the rows are labelled:scarce.DataWarning")
@pytest.mark.parametrize("kind", ["one", "three", "all", "empty"])
def test_golden_robust(kind):
    for case in [case for case in GOLDEN["robust"] if case["kind"] == kind]:
        problem = robust_problem(case["seed"], kind)
        if kind == "empty":
            with refused("infeasible-boxes", DataError):
                fit(problem, objective="robust")
            continue
        model = fit(problem, objective="robust")
        assert model.report_.converged, case["seed"]
        assert model.report_.objective == pytest.approx(-case["divergence"], abs=1e-8)
        prob = model.predict_proba(problem.X)
        np.testing.assert_allclose(prob, case["prob"], rtol=0, atol=1e-6, err_msg=str(case["seed"]))
        assert model.class_prior_ == pytest.approx(problem.background_weight @ prob, abs=1e-12)
        if kind in ("one", "three"):
            assert model.report_.proves == "duality gap"


def test_the_width_that_an_empty_set_is_told_to_use_works():
    problem = robust_problem(GOLDEN["robust"][-1]["seed"], "empty")
    with refused("infeasible-boxes", DataError) as told:
        fit(problem, objective="robust")
    width = told.value.fields["works"].value
    assert fit(problem._replace(width_scale=width), objective="robust").report_.converged


def test_width_0_is_filling_in_the_labelled_mean():
    """004 section 4.3 and its erratum: with no slack a missing cell is one at the labelled mean."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(80, 3))
        y = np.where(rng.random(80) < 0.3, 1.0, np.nan)
        y[:6] = 1.0
        X[rng.random(X.shape) < 0.3] = np.nan
        missing = MaxentClassifier(
            features="l", knots_at="uniform", width_scale=0.0, tol=1e-12
        ).fit(X, y)
        mean = np.nanmean(X[y == 1], axis=0)
        full = np.where(np.isnan(X), mean, X)
        filled = MaxentClassifier(features="l", knots_at="uniform", width_scale=0.0, tol=1e-12).fit(
            full, y
        )
        assert missing.report_.proves == "gradient norm"
        np.testing.assert_allclose(
            missing.density_ratio(X), filled.density_ratio(full), rtol=1e-10, atol=0
        )


def test_robust_tends_to_entropy_as_the_default_prevalence_goes_to_0():
    problem = entropy_problem(3)
    entropy = fit(problem).density_ratio(problem.X)
    apart = []
    for prevalence in (1e-2, 1e-4, 1e-6):
        rare = problem._replace(default=np.array([1 - prevalence, prevalence]))
        apart.append(np.abs(fit(rare, objective="robust").density_ratio(problem.X) - entropy).max())
    assert apart[0] > 50 * apart[1] > 0
    assert apart[2] < 1e-5  # what the certificate of 1e-10 nats allows


@pytest.mark.parametrize("features", ["h", "lh", "t", "q", "lqpht"])
@pytest.mark.parametrize("objective", ["entropy", "robust"])
def test_all_feature_classes_against_dense_columns(features, objective, rng):
    """The same boxes on explicit columns, solved by the dense witness."""
    X = rng.normal(size=(70, 3))
    X[:, 2] = rng.integers(0, 3, 70)
    y = np.where(X[:, 0] + rng.normal(size=70) > 1, 1.0, np.nan)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = MaxentClassifier(
        objective,
        features=features,
        knots=5,
        knots_at="uniform",
        categorical=[2],
        default_prevalence=0.3,
        tol=1e-11,
    ).fit(X, y)
    columns = dense_columns(X, features)
    w, label = np.full(70, 1 / 70), (y == 1).astype(float)
    widths = model.half_width_[0]
    assert columns.shape[1] == len(widths)
    if objective == "entropy":
        found = dense.dense_entropy(columns, w, label, widths)
        prob = model.density_ratio(X) / 70
    else:
        found = dense.dense_robust(columns, w, [None, label], [None, widths], np.array([0.7, 0.3]))
        prob = model.predict_proba(X)
    assert model.report_.objective == pytest.approx(found["objective"], abs=1e-9)
    np.testing.assert_allclose(prob, found["prob"], atol=1e-7)


def dense_columns(X, features):
    """Every feature as a column, in the order of the model's."""
    parts, unit = [], []
    for column in X[:, :2].T:
        knots = np.linspace(np.nanmin(column), np.nanmax(column), 5)
        place = (column - knots[0]) / (knots[-1] - knots[0])
        unit.append(place)
        for letter in features:
            if letter == "l":
                parts.append(place[:, None])
            if letter == "h":
                parts.append(dense.hinge_matrix(column, knots))
            if letter == "t":
                parts.append(dense.threshold_matrix(column, knots))
    parts.append(dense.category_matrix(X[:, 2], np.arange(3.0)))
    if "q" in features:
        parts += [(place**2)[:, None] for place in unit]
    if "p" in features:
        parts.append((unit[0] * unit[1])[:, None])
    return np.concatenate(parts, axis=1)
