"""Intervals: ends that other programs and a slow search find, infinite where they must be."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit
from scipy.stats import chi2, norm

from experiments.frame import FOLDER, read_results
from scarce import UsageError
from scarce.engine.memory import ArrayRows
from scarce.linear.firth import fit_firth, flic_intercept
from scarce.linear.intervals import (
    Interval,
    laplace_interval,
    profile_interval,
    wald_interval,
)

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
    monkeypatch.setattr("scarce.linear.intervals.LANES", 6)
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
    ("call", "words"),
    [
        (lambda rows, fit: wald_interval(fit), "one of them"),
        (lambda rows, fit: wald_interval(fit, position=1, x=[0, 0, 0]), "one of them"),
        (lambda rows, fit: wald_interval(fit, position=4), "position=4 is not a coefficient"),
        (lambda rows, fit: wald_interval(fit, x=[0, 0]), r"x has shape \(2,\)"),
        (lambda rows, fit: wald_interval(fit, x=[0, 0, np.nan]), "3 finite values"),
        (lambda rows, fit: wald_interval(fit, position=1, level=90), "level=90"),
        (lambda rows, fit: laplace_interval(fit, position=1), "a posterior needs a prior"),
        (
            lambda rows, fit: wald_interval(fit_firth(rows, penalty="normal"), position=1),
            "Call laplace_interval",
        ),
        (
            lambda rows, fit: profile_interval(rows, flic_intercept(rows, fit), position=1),
            "Profile the Firth fit",
        ),
    ],
)
def test_what_cannot_work_is_refused(rows, call, words):
    with pytest.raises(UsageError, match=words):
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
