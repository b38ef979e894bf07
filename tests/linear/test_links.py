"""Links: the shared list, and 50-digit arithmetic as the witness."""

from dataclasses import dataclass
from functools import cache

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import genextreme, gumbel_l, gumbel_r, norm

from scarce.errors import UsageError
from scarce.linear.gev import GEV, CLogLog, LogLog
from scarce.linear.links import Link, Logit, Probit
from scarce.linear.stable import quiet
from tests.linear.link_properties import DERIVATIVES, check_link
from tests.problems import refused

NEAR = (1e-9, 1e-6, 1e-4, 1e-3)
SHAPES = sorted(
    {-1.0, -1 + 1e-9, -0.75, -0.5, -0.5001, -0.2567, -0.1, 0.0, 0.1, 0.3, 0.5, 0.5001, 0.8, 1.0}
    | {sign * near for near in NEAR for sign in (-1, 1)}
    | {1 + sign * near for near in NEAR for sign in (-1, 1)}
    | {1.2, 1.5, 1e-12, -1e-20}
)
FEW_SHAPES = (-1.0, -0.4, -1e-9, 0.0, 1e-6, 0.3, 1.0, 1.5)


@dataclass(frozen=True)
class Cauchit(Link):
    """As in docs/extend/link.md: the six methods that a link must have, and no other."""

    name = "cauchit"

    def inverse(self, score):
        return np.arctan2(1.0, np.negative(score)) / np.pi

    def complement(self, score):
        return np.arctan2(1.0, score) / np.pi

    @quiet
    def forward(self, prob):
        low = -1 / np.tan(np.pi * np.asarray(prob))
        return np.where(prob < 0.5, low, 1 / np.tan(np.pi * (1.0 - np.asarray(prob))))

    def density(self, score):
        return 1 / (np.pi * (1 + np.square(score)))

    def density_slope(self, score):
        return -2 * np.pi * np.asarray(score) * self.density(score) ** 2

    def antiderivative(self, score):
        return score * self.inverse(score) - np.log1p(np.square(score)) / (2 * np.pi)


LINKS = [
    Cauchit(),
    Logit(),
    Probit(),
    CLogLog(),
    LogLog(),
    *map(GEV, (*FEW_SHAPES, -1 + 1e-9, 1 + 1e-4)),
]


@pytest.mark.parametrize("link", LINKS, ids=repr)
def test_property_every_link_keeps_the_list(link):
    check_link(link)


# ---- The exact values, in 50 digits -------------------------------------------------------------


def gev_tail(shape, score):
    """u = -log(prob), or infinity or 0 outside the support."""
    shape, score = mp.mpf(shape), mp.mpf(score)
    if shape == 0:
        return mp.exp(-score)
    base = 1 + shape * score
    if base <= 0:
        return mp.inf if shape > 0 else mp.mpf(0)
    return mp.exp(-mp.log(base) / shape)


def upper_gamma(order, u):
    """Gamma(order, u) by its power series, with digits enough to let exp(2u) of them cancel."""
    with mp.workdps(int(60 + 0.9 * float(u))):
        term, total, k = mp.mpf(1), mp.mpf(0), 0
        while k <= u or abs(term) > mp.mpf(10) ** -mp.mp.dps:
            total += term / (k + order)
            k += 1
            term *= -u / k
        return mp.gamma(order) - mp.power(u, order) * total


@cache
def exact_area(shape, score):
    """Integral of the GEV distribution function up to the score."""
    u = gev_tail(shape, score)
    if u > 720:
        return mp.mpf(0)
    order = -mp.mpf(shape)
    if u == 0:
        return mp.gamma(order) + mp.mpf(score) - 1 / order
    if shape == 0:
        return mp.e1(u)
    if shape == 1:
        return mp.exp(-u) / u - mp.e1(u)
    return upper_gamma(order, u) if u < 60 else mp.gammainc(order, u)  # the one that is fast there


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(50):
        yield


@pytest.mark.parametrize(
    ("shape", "score"), [(-0.5, 0.3), (0.3, -1.7), (0.3, 4.0), (1.0, -0.6), (1.5, 2.0), (0.0, -1.0)]
)
def test_oracle_of_the_oracle_is_quadrature_and_gammainc(shape, score):
    low = mp.mpf(-1) / shape if shape > 0 else -60
    area = mp.quad(lambda v: mp.exp(-gev_tail(shape, v)), [low, score - 2, score - 0.5, score])
    exact = exact_area(shape, score)
    assert abs(area - exact) < 1e-25 * exact
    if shape not in (0.0, 1.0):
        gamma = mp.gammainc(-mp.mpf(shape), gev_tail(shape, score))
        assert abs(gamma - exact) < mp.mpf(10) ** -40 * exact


def scores_to_try(shape):
    scores = [-800, -7, -6.4, -6, -5, -3, -2, -1, -0.7, -0.3, -1e-3, 0, 1e-10, 0.1, 0.5, 0.69, 1]
    scores += [1.5, 3, 8, 30, 300, 800]
    for u in (690, 100, 10.01, 9.99, 4.01, 3.99, 2.0001, 1.9999):
        scores.append((mp.mpf(u) ** -shape - 1) / shape if shape else -mp.log(u))
    if shape:
        scores += [-(1 + d) / shape for d in (0, 1e-15, -1e-15, 1e-9, -1e-9, 0.5, -1e-3, -0.03)]
    return np.array([float(v) for v in scores])


@pytest.mark.parametrize("shape", SHAPES)
def test_oracle_gev_area_to_1e_12(shape):
    """Relative, wherever the area is above 1e-300; below that it must be as small."""
    scores = scores_to_try(shape)
    areas = GEV(shape).antiderivative(scores)
    less = GEV(shape).antiderivative_less_score(scores)
    for score, area, rest in zip(scores, areas, less, strict=True):
        exact = exact_area(shape, score)
        if exact > mp.mpf(10) ** -300:
            assert abs(area - exact) <= 1e-12 * exact, (score, area)
        else:
            assert 0 <= area <= 1.001e-300
        exact -= mp.mpf(float(score))
        assert abs(rest - exact) <= 1e-12 * max(abs(exact), 0.1), (score, rest)


EXACT = {
    Logit(): (lambda v: 1 / (1 + mp.exp(-v)), lambda v: 1 / (1 + mp.exp(v))),
    Probit(): (mp.ncdf, lambda v: mp.ncdf(-v)),
    CLogLog(): (lambda v: -mp.expm1(-mp.exp(v)), lambda v: mp.exp(-mp.exp(v))),
    LogLog(): (lambda v: mp.exp(-mp.exp(-v)), lambda v: -mp.expm1(-mp.exp(-v))),
} | {
    GEV(shape): (
        lambda v, shape=shape: mp.exp(-gev_tail(shape, v)),
        lambda v, shape=shape: -mp.expm1(-gev_tail(shape, v)),
    )
    for shape in (-1.0, -0.4, 1e-6, 0.3, 1.0, 1.5)
}


@pytest.mark.parametrize("link", EXACT, ids=repr)
def test_oracle_everything_but_the_area_in_both_tails(link):
    """Logarithms and their derivatives too, where prob is 1e-100 or rounds to 1."""
    prob, complement = EXACT[link]
    probs = np.array([1e-100, 1e-30, 1e-12, 1e-3, 0.2, 0.5, 0.8, 0.999, 1 - 1e-12])
    low, high = link.support
    far = [12.5] if link == Probit() else [12.5, 30.0, 200.0]
    digits = 200 if link == Probit() else 360  # its logarithms bend by powers, not exponentials
    for score in [*link.forward(probs), *far]:
        if not low < score < high:
            continue
        at = mp.mpf(float(score))
        # A curvature of 1e-100 is a difference of numbers of size 1: hence the many digits.
        with mp.workdps(digits):
            p, q = prob(at), complement(at)
            sign, smaller = (1, prob) if p < q else (-1, complement)
            step = mp.mpf(10) ** -(digits // 3)
            d1, d2 = (sign * mp.diff(smaller, at, n, h=step) for n in (1, 2))
            rise_fall, hazard_slope = (d1 / p) ** 2 - d2 / p, (d1 / q) ** 2 + d2 / q
            log_p, log_q = (mp.log(p), mp.log1p(-p)) if p < q else (mp.log1p(-q), mp.log(q))
        exact = {
            "inverse": p,
            "complement": q,
            "density": d1,
            "density_slope": d2,
            "log_inverse": log_p,
            "log_complement": log_q,
            "rise": d1 / p,
            "hazard": d1 / q,
            "rise_fall": rise_fall,
            "hazard_slope": hazard_slope,
            "information": d1**2 / (p * q),
        }
        for name, value in exact.items():
            found = float(getattr(link, name)(np.array([score]))[0])
            # A difference that crosses 0 is judged by the size of what is subtracted.
            size = abs(value)
            if name in ("density_slope", "hazard_slope"):
                size = max(size, 1e-3 * d1 / (q if name == "hazard_slope" else 1))
            assert abs(found - value) <= 2e-12 * size + 1e-300, (name, score, found, float(value))


def test_oracle_area_of_probit_logit_and_cloglog():
    for score in (-37.0, -20.0, -6.01, -5.99, -2.01, -1.99, -0.5, 0.0, 1.0, 3.0, 37.0, 800.0):
        at = mp.mpf(score)
        normal = at * mp.ncdf(at) + mp.npdf(at)
        found = float(Probit().antiderivative(np.array([score]))[0])
        assert abs(found - normal) <= 1e-12 * normal, score
    for score in (-700.0, -37.0, -1.0, 0.0, 0.69, 0.7, 1.0, 1.5, 3.0, 6.0, 37.0, 800.0):
        at = mp.mpf(score)
        logit = mp.log1p(mp.exp(at))
        assert abs(float(Logit().antiderivative(np.array([score]))[0]) - logit) <= 1e-14 * logit
        w = mp.exp(at)
        far = at + mp.euler + (mp.e1(w) if w < 1e4 else 0)
        series = mp.nsum(lambda k, w=w: -((-w) ** k) / (k * mp.factorial(k)), [1, 60])
        cloglog = series if w < 4 else far
        found = float(CLogLog().antiderivative(np.array([score]))[0])
        assert abs(found - cloglog) <= 1e-12 * cloglog, score


@pytest.mark.parametrize("shape", [-1.0, -0.3, 0.2, 1.0, 1.5])
def test_oracle_scipy_has_the_same_distributions(shape):
    scores = np.linspace(-4.0, 4.0, 81)
    scores = scores[np.abs(1 + shape * scores) > 1e-9]  # at the edge itself they may differ
    theirs = genextreme(-shape)
    np.testing.assert_allclose(GEV(shape).inverse(scores), theirs.cdf(scores), rtol=1e-11)
    density = GEV(shape).density(scores)
    np.testing.assert_allclose(density, theirs.pdf(scores), rtol=1e-10, atol=1e-300)
    for link, other in ((LogLog(), gumbel_r), (CLogLog(), gumbel_l), (Probit(), norm)):
        np.testing.assert_allclose(link.inverse(scores), other.cdf(scores), rtol=1e-13)
        np.testing.assert_allclose(link.complement(scores), other.sf(scores), rtol=1e-13)


# ---- Edges ---------------------------------------------------------------------------------------


def test_gev_beyond_its_support_is_certain_and_its_area_a_line():
    low = GEV(0.5)
    assert low.support == (-2.0, np.inf)
    assert low.inverse(np.array([-2.0, -2.5, -800.0])).tolist() == [0.0, 0.0, 0.0]
    assert low.antiderivative(np.array([-2.0, -800.0])).tolist() == [0.0, 0.0]
    assert low.log_inverse(np.array([-2.0])).tolist() == [-np.inf]
    high = GEV(-0.5)
    assert high.support == (-np.inf, 2.0)
    assert high.complement(np.array([2.0, 800.0])).tolist() == [0.0, 0.0]
    assert high.log_complement(np.array([2.0])).tolist() == [-np.inf]
    areas = high.antiderivative(np.array([2.0, 3.0, 800.0]))
    np.testing.assert_allclose(
        areas, float(mp.gamma(0.5)) + np.array([0.0, 1.0, 798.0]), rtol=1e-15
    )
    assert (high.density(np.array([2.0, 3.0])) == 0).all()


def test_gev_density_jumps_at_shape_minus_one():
    density = GEV(-1).density(np.array([1 - 1e-12, 1.0, 1 + 1e-12]))
    np.testing.assert_allclose(density, [1.0, 0.0, 0.0], rtol=1e-11)
    assert GEV(-1).rates(np.array([1.0, 1.5]))[1].tolist() == [0.0, 0.0]


def test_complement_is_right_where_prob_rounds_to_one():
    np.testing.assert_allclose(Logit().complement(np.array([50.0])), np.exp(-50.0), rtol=1e-15)
    np.testing.assert_allclose(Logit().inverse(np.array([-720.0])), np.exp(-720.0), rtol=1e-9)
    np.testing.assert_allclose(LogLog().complement(np.array([700.0])), np.exp(-700.0), rtol=1e-15)
    np.testing.assert_allclose(Probit().complement(np.array([30.0])), norm.sf(30.0), rtol=1e-13)
    assert LogLog().log_complement(np.array([800.0])).tolist() == [-800.0]
    assert CLogLog().log_inverse(np.array([-800.0])).tolist() == [-800.0]


@pytest.mark.parametrize("shape", [2, -1.1, np.nan, np.inf, "wide", None])
def test_a_shape_that_cannot_work_is_named(shape):
    with refused("shape-range", UsageError):
        GEV(shape)


def test_shapes_that_are_the_same_number_are_the_same_link():
    assert GEV(0) == GEV(0.0) == GEV(-0.0) == GEV(1e-31)
    assert GEV(np.float64(0.5)) == GEV(0.5)
    assert len({GEV(0.5), GEV(0.5), GEV(0.4), Logit(), Logit()}) == 3
    assert repr(LogLog()) == "LogLog()"


def test_every_derivative_in_the_list_is_a_method_of_every_link():
    """The list would pass in silence if a name were lost from it."""
    assert len(DERIVATIVES) == 8
    for link in LINKS:
        assert all(callable(getattr(link, slope)) for _, _, slope in DERIVATIVES)
