"""What every family of scores owes a mixture: one list, run on each of them.

    from tests.properties.score_family_properties import check_score_family

    def test_mine():
        check_score_family(MyFamily(), [[0.0, 1.0], [3.0, -2.0]])

Give a few parameter vectors, far apart. `closes` says that one closing step is the estimate of
greatest likelihood (no hidden values), `shifts` that scores may be moved along the axis.
"""

import itertools
import math
import pickle

import numpy as np
import pytest
from scipy.integrate import fixed_quad, quad


def expect(family, params, of, low=-math.inf, rule=None):
    """Integrate of(scores) over the density: 80 Gauss points in each of many pieces."""
    mean, spread = family.mean(params), family.spread(params)

    def integrand(x):
        x = np.atleast_1d(x)
        s = np.exp(x) if family.positive_only else mean + spread * np.sinh(x)
        slope = s if family.positive_only else spread * np.cosh(x)
        return of(s) * np.exp(family.log_density(s, params)) * slope

    if family.positive_only:
        wide = math.sqrt(math.log1p((spread / mean) ** 2))
        ends = math.log(mean) + wide * np.array([-40, -12, -6, -3, -1, 0, 1, 3, 6, 12])
        start = -math.inf if low <= 0 else math.log(low)
    else:
        ends = np.arcsinh([-1e8, -1e3, -30, -8, -3, -1, 0, 1, 3, 8, 30, 1e3, 1e8])
        start = -math.inf if low == -math.inf else math.asinh((low - mean) / spread)
    pieces = itertools.pairwise([max(end, start) for end in ends])
    return sum((rule or gauss)(integrand, *piece) for piece in pieces if piece[0] < piece[1])


def gauss(integrand, a, b):
    return fixed_quad(integrand, a, b, n=80)[0]


def adaptive(integrand, a, b):
    # full_output keeps quad from warning of rounding in pieces that hold next to nothing
    return quad(lambda x: integrand(x)[0], a, b, epsabs=0, epsrel=1e-11, full_output=1)[0]


def typical_scores(family, params, rng, n=60):
    """Scores around the mean, some of them far out."""
    mean, spread = family.mean(params), family.spread(params)
    if family.positive_only:
        wide = math.sqrt(math.log1p((spread / mean) ** 2))
        return np.exp(math.log(mean) + wide * rng.normal(size=n))
    return mean + spread * rng.standard_t(4, size=n)


def log_likelihood(family, s, weight, params):
    return float(weight @ family.log_density(s, params))


def check_score_family(family, several, *, closes=True, shifts=False):
    """Hold a family against everything that mixtures rely on."""
    rng = np.random.default_rng(7)
    assert isinstance(family.name, str)
    assert family.positive_only in (True, False)
    assert pickle.loads(pickle.dumps(family)) == family
    assert hash(family) == hash(type(family)())
    for params in np.asarray(several, dtype=float):
        assert len(family.names) == len(params)
        kept = params.copy()
        check_density(family, params, rng)
        check_tail(family, params)
        check_closing(family, params, rng, closes=closes)
        check_units(family, params, rng, shifts=shifts)
        check_spread(family, params)
        np.testing.assert_array_equal(params, kept)  # inputs are left as they were
    check_degenerate(family, np.asarray(several[0], dtype=float))


def check_density(family, params, rng):
    for rule in (gauss, adaptive):
        assert expect(family, params, np.ones_like, rule=rule) == pytest.approx(1.0, rel=1e-8)
    mean, spread = family.mean(params), family.spread(params)
    assert expect(family, params, lambda s: s) == pytest.approx(mean, rel=1e-6, abs=1e-6 * spread)
    square = expect(family, params, lambda s: (s - mean) ** 2)
    assert math.sqrt(square) == pytest.approx(spread, rel=1e-5)
    s = typical_scores(family, params, rng)
    gradient = family.gradient(s, params)
    assert gradient.shape == (len(params), len(s))
    for at, own in enumerate(params):
        step = np.zeros_like(params)
        step[at] = 1e-4 * max(1.0, abs(own))
        ahead, behind = (family.log_density(s, params + k * step) for k in (1, -1))
        far_ahead, far_behind = (family.log_density(s, params + k * step) for k in (2, -2))
        slope = (8 * (ahead - behind) - (far_ahead - far_behind)) / (12 * step[at])
        size = 1.0 + np.abs(gradient[at])
        assert (np.abs(gradient[at] - slope) < 3e-7 * size).all(), family.names[at]
    # Under its own density a score is 0 on average.
    score = expect(family, params, lambda x: family.gradient(x, params))
    length = expect(family, params, lambda x: np.abs(family.gradient(x, params)))
    assert (np.abs(score) < 1e-6 * length).all()
    assert family.log_density(list(s), params).shape == s.shape
    far = mean + spread * np.array([-1e8, -1e3, 1e3, 1e8])
    assert not np.isnan(family.log_density(far, params)).any()
    if family.positive_only:
        assert (family.log_density([0.0, -1.0], params) == -np.inf).all()
        assert (family.gradient([0.0, -1.0], params) == 0).all()


def check_tail(family, params):
    mean, spread = family.mean(params), family.spread(params)
    t = mean + spread * np.array([-0.6, -0.1, 0.0, 0.7, 3.0, 6.0])
    t = t[t > 0] if family.positive_only else t
    exact = [math.log(expect(family, params, np.ones_like, low=one)) for one in t]
    np.testing.assert_allclose(family.log_tail(t, params), exact, rtol=1e-8, atol=1e-9)
    # Far out the tail falls as its density says, and probabilities have long underflowed.
    far = mean + spread * np.geomspace(0.3, 300.0, 25)
    step = 1e-4 * (far - mean)
    slope = (family.log_tail(far + step, params) - family.log_tail(far - step, params)) / (2 * step)
    hazard = np.exp(family.log_density(far, params) - family.log_tail(far, params))
    np.testing.assert_allclose(-slope, hazard, rtol=2e-4)
    line = np.sort(np.concatenate([mean - spread * np.geomspace(1e-3, 1e4, 40), t, far]))
    tail = family.log_tail(line, params)
    assert (np.diff(tail) <= 1e-12).all()
    assert tail[0] == pytest.approx(0.0, abs=1e-12)
    for one in (float(t[0]), float(far[-1])):
        assert family.log_tail(one, params).shape == family.log_density(one, params).shape == ()
    assert family.log_tail(far[-1], params) == pytest.approx(family.log_tail(far, params)[-1])
    assert family.log_tail(t.reshape(1, -1), params).shape == (1, len(t))
    assert family.log_tail(np.empty(0), params).shape == (0,)
    if family.positive_only:
        assert (family.log_tail([0.0, -1.0], params) == 0).all()


def check_closing(family, params, rng, *, closes):
    s = typical_scores(family, params, rng)
    weight = rng.integers(1, 4, size=len(s)).astype(float)
    for start in (None, params):
        statistics = family.summarise(s, weight, start)
        assert statistics.ndim == 1
        twice = family.summarise(
            np.repeat(s, weight.astype(int)), np.ones(int(weight.sum())), start
        )
        np.testing.assert_allclose(statistics, twice, rtol=1e-9, atol=1e-9 * abs(statistics).max())
        blocks = sum(
            family.summarise(s[cut], weight[cut], start) for cut in np.split(np.arange(60), 3)
        )
        np.testing.assert_allclose(statistics, blocks, rtol=1e-9, atol=1e-9 * abs(statistics).max())
        none = family.summarise(np.append(s, s.max() * 2), np.append(weight, 0.0), start)
        np.testing.assert_allclose(statistics, none, rtol=1e-12)
    # Not one step lowers the likelihood, from wherever it starts.
    for off in (0.2, 1.0, 2.0):
        own = params + off * rng.normal(size=len(params))
        value = log_likelihood(family, s, weight, own)
        for _ in range(15):
            own = family.close(family.summarise(s, weight, own))
            before, value = value, log_likelihood(family, s, weight, own)
            assert value >= before - 1e-10 * weight.sum()
    found = family.close(family.summarise(s, weight, params)) if closes else family.fit(s, weight)
    gradient = family.gradient(s, found)
    size = np.abs(gradient) @ weight
    assert (np.abs(gradient @ weight) < (1e-7 if closes else 2e-4) * size).all()


def check_units(family, params, rng, *, shifts):
    s, weight = typical_scores(family, params, rng), rng.exponential(size=60)
    plain = family.log_density(s, family.fit(s, weight))
    for factor in (1e-6, 37.0):
        found = family.log_density(factor * s, family.fit(factor * s, weight))
        np.testing.assert_allclose(found + math.log(factor), plain, rtol=1e-5, atol=1e-5)
    if shifts:
        moved = s + 1e4 * family.spread(params)
        found = family.log_density(moved, family.fit(moved, weight))
        np.testing.assert_allclose(found, plain, rtol=1e-5, atol=1e-5)


def check_spread(family, params):
    mean, spread = family.mean(params), family.spread(params)
    for factor in (0.2, 1.5):
        found = family.with_spread(params, factor * spread)
        assert family.mean(found) == pytest.approx(mean, rel=1e-8, abs=1e-8 * spread)
        assert family.spread(found) == pytest.approx(factor * spread, rel=1e-8)


def check_degenerate(family, params):
    """No weight, no rows, equal rows, a single row: numbers all the same."""
    cases = [([], []), ([1.0, 2.0], [0.0, 0.0]), ([3.0] * 5, [1.0] * 5), ([2.5], [1e-300])]
    if not family.positive_only:
        cases += [([0.0, 0.0], [1.0, 2.0]), ([-1e9, -1e9], [1.0, 1.0])]
    for s, weight in cases:
        for start in (None, params):
            found = family.close(family.summarise(np.array(s), np.array(weight), start))
            assert found.shape == params.shape
            assert np.isfinite(found).all()
            assert 0 < family.spread(found) < np.inf
            assert np.isfinite(family.log_density(np.array(s), found)).all()
            if len(set(s)) == 1 and weight[0] > 0:
                assert family.mean(found) == pytest.approx(s[0], rel=1e-6, abs=1e-6)
