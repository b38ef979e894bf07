"""Families of scores: the list of properties, exact arithmetic as a witness, and a toy family."""

import math
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from scipy import stats

from scarce.errors import DataError, UsageError
from scarce.missed.mixture.families import FAMILIES, Family, family
from tests.problems import refused
from tests.properties.score_family_properties import check_score_family

LOG = math.log
CASES = {
    "normal": [[0.0, 0.0], [2.0, 0.0], [-40.0, LOG(1e-3)], [6.56, LOG(2.5)]],
    "lognormal": [[0.0, -0.5], [1.87, LOG(0.15)], [-3.0, 0.3]],
    "gamma": [[LOG(43.0), LOG(0.15)], [0.0, 0.0], [LOG(0.6), 2.0], [LOG(5e4), -9.0]],
    "student-t": [[0.0, 0.0], [5.0, LOG(0.2)], [-300.0, 3.0]],
    "skew-normal": [[0.0, 0.0, 2.0], [3.0, LOG(0.3), -4.0], [6.0, 1.0, 0.7], [0.0, 0.0, 30.0]],
}
SHIFTS = ("normal", "student-t", "skew-normal")
CLOSES = ("normal", "lognormal", "gamma")


@dataclass(frozen=True)
class InverseGaussian(Family):
    """A toy with the three required methods only: logarithms of mean and shape."""

    name = "inverse-gaussian"
    names = ("log_mean", "log_shape")
    positive_only = True

    def log_density(self, s, params):
        s = np.asarray(s, dtype=float)
        mean, shape = np.exp(params)
        safe = np.where(s > 0, s, 1.0)
        with np.errstate(over="ignore"):
            inside = -shape * (safe / mean - 1) ** 2 / (2 * safe)
        inside = inside + 0.5 * (params[1] - math.log(2 * math.pi) - 3 * np.log(safe))
        return np.where(s > 0, inside, -np.inf)

    def summarise(self, s, weight, params=None):
        s, weight = np.asarray(s, dtype=float), np.asarray(weight, dtype=float)
        return np.array([weight.sum(), weight @ s, weight @ (1 / s)])

    def close(self, statistics):
        total, first, inverse = statistics
        if not total > 0:
            return np.zeros(2)
        mean = first / total
        return np.array([math.log(mean), -math.log(max(inverse / total - 1 / mean, 1e-15 / mean))])


@dataclass(frozen=True)
class PlainNormal(Family):
    """The normal family written with three methods, on the whole line."""

    name = "plain-normal"
    names = ("mean", "log_spread")

    def log_density(self, s, params):
        return FAMILIES["normal"].log_density(s, params)

    def summarise(self, s, weight, params=None):
        return FAMILIES["normal"].summarise(s, weight, params)

    def close(self, statistics):
        return FAMILIES["normal"].close(statistics)


@pytest.mark.parametrize("name", FAMILIES)
def test_property_every_family_keeps_the_list(name):
    closes, shifts = name in CLOSES, name in SHIFTS
    check_score_family(FAMILIES[name], CASES[name], closes=closes, shifts=shifts)


def test_property_a_family_of_three_methods_keeps_the_list():
    check_score_family(InverseGaussian(), [[0.0, 0.5], [1.0, 4.0]])
    check_score_family(PlainNormal(), [[0.0, 0.0], [50.0, -1.0]], shifts=True)


# Witness: 20- and 60-digit arithmetic, in tails where probabilities have long underflowed.


def exact_normal(z):
    return mpmath.log(mpmath.erfc(z / mpmath.sqrt(2)) / 2)


def exact_log_tail(name, t, params):
    first, second = mpmath.mpf(params[0]), mpmath.exp(mpmath.mpf(params[1]))
    t = mpmath.mpf(t)
    if name == "normal":
        return exact_normal((t - first) / second)
    if name == "lognormal":
        return exact_normal((mpmath.log(t) - first) / second)
    if name == "gamma":
        return mpmath.log(mpmath.gammainc(mpmath.exp(first), t / second, regularized=True))
    z = (t - first) / second
    if name == "student-t":
        middle = mpmath.betainc(2, 0.5, 0, 4 / (4 + z * z), regularized=True) / 2
        return mpmath.log(middle if z > 0 else 1 - middle)
    slant = mpmath.mpf(params[2])

    start = max(z, 0)
    fall = start + 1 + abs(slant) * (1 + abs(slant) * start) * (slant < 0)
    top = mpmath.npdf(start) * mpmath.erfc(-slant * start / mpmath.sqrt(2))

    def density(x):  # as a share of the first value: quad stops on absolute errors
        return mpmath.npdf(x) * mpmath.erfc(-slant * x / mpmath.sqrt(2)) / top

    ends = [start + k / fall for k in (0, 1, 4, 16, 64)]
    below = [x for x in (z, z / 4) if x < 0]
    return mpmath.log(mpmath.quad(density, below + ends)) + mpmath.log(top)


FAR = {
    "normal": ([2.0, 0.3], [-60.0, 2.0, 9.0, 80.0, 4e3]),
    "lognormal": ([1.9, -1.9], [1e-3, 6.0, 9.0, 900.0, 1e30]),
    "gamma": ([1.5, 0.2], [1e-9, 1.0, 9.0, 300.0, 880.0, 1e3, 1e6]),
    "student-t": ([2.0, 0.3], [-1e9, 1.9, 2.1, 40.0, 1e40]),
    "skew-normal": ([2.0, 0.3, -3.0], [1.5, 2.3, 9.0, 900.0]),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_oracle_tails_in_many_digits(name):
    params, scores = FAR[name]
    with mpmath.workdps(20 if name == "skew-normal" else 60):
        exact = [float(exact_log_tail(name, t, params)) for t in scores]
    found = FAMILIES[name].log_tail(scores, np.array(params))
    assert min(exact) < -50
    np.testing.assert_allclose(found, exact, rtol=2e-13)


@pytest.mark.parametrize("shape", [0.05, 3.0, 43.0, 2e3])
def test_oracle_gamma_tails_meet_where_the_probability_underflows(shape):
    params = np.array([LOG(shape), 0.0])
    scores = (
        shape + math.sqrt(shape) * np.array([0.1, 5.0, 30.0, 40.0]) + np.array([0, 0, 660, 800])
    )
    with mpmath.workdps(60):
        exact = [float(exact_log_tail("gamma", t, params)) for t in scores]
    assert exact[-1] < -690 < exact[1]
    np.testing.assert_allclose(FAMILIES["gamma"].log_tail(scores, params), exact, rtol=1e-12)


@pytest.mark.parametrize("shape", [0.05, 2.0, 19.9, 20.1, 300.0, 1e7])
def test_oracle_gamma_in_series_and_functions(shape):
    """At the mean only log(shape) - digamma(shape) and Stirling's sum are left over."""
    params = np.array([LOG(shape), 0.3])
    mean = FAMILIES["gamma"].mean(params)
    with mpmath.workdps(40):
        k, scale = mpmath.exp(mpmath.mpf(params[0])), mpmath.exp(mpmath.mpf(params[1]))
        slope = float(k * (mpmath.log(k) - mpmath.digamma(k)))
        log_density = (k - 1) * mpmath.log(k * scale) - k - k * mpmath.log(scale)
        log_density = float(log_density - mpmath.loggamma(k))
    assert FAMILIES["gamma"].gradient([mean], params)[0, 0] == pytest.approx(slope, rel=1e-8)
    found = FAMILIES["gamma"].log_density([mean], params)[0]
    assert found == pytest.approx(log_density, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("slant", [-200.0, -4.0, 0.3, 200.0])
def test_oracle_skew_normal_tails_on_both_sides(slant):
    params = np.array([0.0, 0.0, slant])
    scores = np.array([-1.0, -0.01, 0.0, 0.4, 30.0])
    with mpmath.workdps(20):
        exact = [float(exact_log_tail("skew-normal", t, params)) for t in scores]
    found = FAMILIES["skew-normal"].log_tail(scores, params)
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-18)  # 1 - tail has 20 digits
    assert exact[2] == pytest.approx(LOG(0.5 + math.atan(slant) / math.pi), rel=1e-12)


def test_oracle_parameters_mean_what_scipy_calls_them():
    s = np.array([0.3, 1.7, 4.0])
    same = {
        "normal": ([1.2, 0.4], stats.norm(1.2, math.exp(0.4))),
        "lognormal": ([1.2, 0.4], stats.lognorm(math.exp(0.4), scale=math.exp(1.2))),
        "gamma": ([1.2, 0.4], stats.gamma(math.exp(1.2), scale=math.exp(0.4))),
        "student-t": ([1.2, 0.4], stats.t(4, 1.2, math.exp(0.4))),
        "skew-normal": ([1.2, 0.4, -2.0], stats.skewnorm(-2.0, 1.2, math.exp(0.4))),
    }
    for name, (params, frozen) in same.items():
        params = np.array(params)
        np.testing.assert_allclose(FAMILIES[name].log_density(s, params), frozen.logpdf(s), 1e-12)
        assert FAMILIES[name].mean(params) == pytest.approx(frozen.mean(), rel=1e-12)
        assert FAMILIES[name].spread(params) == pytest.approx(frozen.std(), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "frozen"),
    [
        ("student-t", stats.t(4, 5.0, 2.0)),
        ("skew-normal", stats.skewnorm(-3.0, 5.0, 2.0)),
        ("gamma", stats.gamma(7.0, scale=0.6)),
    ],
)
def test_simulation_a_fit_finds_the_truth(name, frozen, rng):
    s = frozen.rvs(4_000, random_state=rng)
    found = FAMILIES[name].fit(s, tolerance=1e-9)
    line = frozen.ppf([0.02, 0.3, 0.5, 0.9, 0.99])
    np.testing.assert_allclose(FAMILIES[name].log_tail(line, found), frozen.logsf(line), atol=0.15)
    best, truth = FAMILIES[name].log_density(s, found).sum(), frozen.logpdf(s).sum()
    assert 0 < best - truth < 10  # half a chi-square with two or three degrees of freedom


def test_oracle_a_small_spread_far_from_zero_does_not_cancel():
    s = 1e9 + np.array([-1.0, 0.0, 2.0, 5.0]) * 1e-3
    wanted = np.std((s - 1e9) * 1e3) * 1e-3
    for name in SHIFTS:
        spread = FAMILIES[name].spread(FAMILIES[name].fit(s))
        assert spread == pytest.approx(wanted, rel=0.5), name
    assert FAMILIES["normal"].spread(FAMILIES["normal"].fit(s)) == pytest.approx(wanted, rel=1e-6)
    ratio = FAMILIES["gamma"].spread(FAMILIES["gamma"].fit(s / 1e3)) / (wanted / 1e3)
    assert ratio == pytest.approx(1.0, rel=1e-4)


def test_skew_normal_does_not_start_on_its_saddle():
    part, s = FAMILIES["skew-normal"], np.array([-2.0, -1.0, 1.0, 2.0])
    start = part.close(part.summarise(s, np.ones(4)))
    assert abs(start[2]) > 0.1
    assert part.mean(start) == pytest.approx(0.0, abs=1e-12)
    assert part.spread(start) == pytest.approx(np.std(s))


def test_a_mixture_step_with_hidden_values_never_lowers_the_likelihood(rng):
    """Expanded EM is for one family; here two of them share the rows."""
    s = np.concatenate([rng.standard_t(4, 800) + 6, 0.7 * rng.normal(size=80) + 9])
    parts = FAMILIES["skew-normal"], FAMILIES["student-t"]
    params = [np.array([5.0, 0.5, 1.0]), np.array([9.0, 0.0])]
    share, last = 0.3, -np.inf
    for _ in range(60):
        logs = np.array(
            [
                np.log(w) + f.log_density(s, p)
                for w, f, p in zip((1 - share, share), parts, params, strict=True)
            ]
        )
        total = np.logaddexp(*logs)
        assert total.sum() >= last - 1e-9
        last, weights = total.sum(), np.exp(logs - total)
        params = [
            f.close(f.summarise(s, w, p)) for f, w, p in zip(parts, weights, params, strict=True)
        ]
        share = weights[1].mean()


def test_families_are_found_by_name_and_taken_as_objects():
    assert family("student-t") is FAMILIES["student-t"]
    toy = InverseGaussian()
    assert family(toy) is toy
    with refused("unknown-word", UsageError, argument="family", value="log-normal"):
        family("log-normal")
    with refused("not-a-family", UsageError):
        family(3)


def test_scores_that_a_family_cannot_have_are_refused_when_fitted():
    with refused("family-range", DataError, least=-2.0):
        FAMILIES["gamma"].fit([1.0, -2.0, 3.0])
    # but rows without weight may be anything
    found = FAMILIES["gamma"].fit([1.0, -2.0, 3.0], [1.0, 0.0, 1.0])
    np.testing.assert_allclose(found, FAMILIES["gamma"].fit([1.0, 3.0]), rtol=1e-12)
