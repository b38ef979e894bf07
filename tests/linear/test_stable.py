"""stable: each formula against many digits, where its textbook form has none left."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from scarce.linear import stable

SMALL_TO_LARGE = [1e-300, 1e-20, 1e-9, 1e-3, 0.3, 0.99, 1.0, 1.01, 2.0, 7.0, 40.0, 700.0]


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(400):
        yield


def assert_close(found, exact, rel=1e-15):
    for one, other in zip(found, exact, strict=True):
        assert abs(one - other) <= rel * abs(other) + 1e-307, (one, float(other))


def test_softplus():
    scores = np.array([-800.0, -700.0, -40.0, -1.0, 0.0, 1.0, 40.0, 800.0])
    assert_close(stable.softplus(scores), [mp.log1p(mp.exp(mp.mpf(float(v)))) for v in scores])


def test_functions_of_a_tail():
    tails = np.array(SMALL_TO_LARGE)
    exact = [mp.mpf(u) for u in SMALL_TO_LARGE]
    assert_close(
        stable.log1mexp(tails, np.log(tails)), [mp.log(-mp.expm1(-u)) for u in exact], 2e-15
    )
    assert_close(stable.one_minus_exp_over(tails), [-mp.expm1(-u) / u for u in exact])
    assert_close(stable.over_expm1(tails), [u / mp.expm1(u) for u in exact])
    assert_close(stable.over_expm1_excess(tails), [u + u / mp.expm1(u) - 1 for u in exact], 2e-15)


def test_limits_are_reached_and_nan_stays():
    ends = np.array([0.0, np.inf, np.nan])
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(stable.over_expm1(ends), [1.0, 0.0, np.nan])
        np.testing.assert_array_equal(stable.one_minus_exp_over(ends), [1.0, 0.0, np.nan])
        np.testing.assert_array_equal(stable.over_expm1_excess(ends), [0.0, np.inf, np.nan])
        log_tails = np.array([-800.0, np.inf, np.nan])
        np.testing.assert_array_equal(stable.log1mexp(ends, log_tails), [-800.0, 0.0, np.nan])


def test_one_plus_product_keeps_what_rounding_takes(rng):
    scores = np.concatenate([rng.normal(size=50) * 3, -1 / 0.3 * (1 + rng.normal(size=50) * 1e-15)])
    first, second = stable.one_plus_product(0.3, scores)
    for score, one, two in zip(scores, first, second, strict=True):
        exact = 1 + Fraction(0.3) * Fraction(float(score))
        error = abs(Fraction(float(one)) + Fraction(float(two)) - exact)
        assert error <= Fraction(1, 2**100) * max(1, abs(Fraction(float(score))))
    assert stable.one_plus_product(0.3, np.array([1e308]))[1].tolist() == [0.0]


def test_log_gamma_near_one():
    for x in (-0.5, -0.3, -1e-3, -1e-9, -1e-15, 1e-15, 1e-6, 0.1, 0.49, 0.5):
        with mp.workdps(50):
            exact = mp.loggamma(1 + mp.mpf(x))
        assert abs(stable.log_gamma_one_plus(x) - exact) <= 1e-15 * abs(exact)


def test_normal_excess():
    x = np.array([2.0, 2.5, 5.99, 6.0, 6.01, 30.0, 800.0])
    exact = []
    for value in x:
        with mp.workdps(60):
            at = mp.mpf(float(value))
            # Far out mpmath's own tail is used in its asymptotic form, with digits to spare.
            exact.append(mp.npdf(at) / mp.ncdf(-at) - at)
    assert_close(stable.normal_excess(x), exact, 1e-14)


@pytest.mark.parametrize("shape", [-1.0, -0.3, 0.0, 0.5, 0.7, 1.0, 1.5])
def test_series_and_fraction_agree_where_they_meet(shape):
    """Two formulas for one number, on both sides of every change of depth."""
    tails = np.array([2.0, 2.0 + 1e-9, 4.0 - 1e-9, 4.0, 10.0 - 1e-9, 10.0])
    found = stable.gamma_fraction(shape, tails) * np.exp(-tails)
    with mp.workdps(40):
        exact = [mp.expint(1 + mp.mpf(shape), mp.mpf(float(u))) for u in tails]
    assert_close(found, exact, 1e-14)
    near = np.array([1.9999999])
    base = near**-shape
    score = (base - 1) / shape if shape else -np.log(near)
    area = score + stable.gamma_excess(shape, near, np.log(near), base)
    other = stable.gamma_fraction(shape, near + 1e-7)
    assert area[0] == pytest.approx((other * np.exp(-2.0) * 2.0**-shape)[0], rel=1e-6)
