"""What every link and every loss must do: one list, run on each member.

`check_link(link)` and `check_loss(loss)` need nothing but the object itself, so a link of your own
can be held against them too.
"""

import pickle
from functools import partial

import numpy as np
import pytest

EXTREME = np.array([-800.0, -40.0, -1.0, 0.0, 1.0, 40.0, 800.0])
PROBS = np.array([1e-12, 1e-6, 1e-3, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1 - 1e-3, 1 - 1e-6])
METHODS = (
    *("inverse", "complement", "density", "density_slope", "log_inverse", "log_complement"),
    *("antiderivative", "antiderivative_less_score"),
    *("rise", "hazard", "rise_fall", "hazard_slope", "information"),
)
NEGATIVE = ("log_complement", "hazard", "hazard_slope")
# (what, sign, its derivative)
DERIVATIVES = (
    ("inverse", 1, "density"),
    ("complement", -1, "density"),
    ("density", 1, "density_slope"),
    ("antiderivative", 1, "inverse"),
    ("log_inverse", 1, "rise"),
    ("log_complement", -1, "hazard"),
    ("rise", -1, "rise_fall"),
    ("hazard", 1, "hazard_slope"),
)


def middle(link):
    """Scores well inside the support, where every function is smooth."""
    return np.linspace(*link.forward(np.array([1e-4, 1 - 1e-4])), 41)


def extreme(link):
    """Scores far out, at the edge of the support, and next to it."""
    edges = [edge for edge in link.support if np.isfinite(edge)]
    steps = [0.0, 1e-15, -1e-15, 1e-9, -1e-9, 1e-3, -1e-3]
    return np.concatenate([EXTREME, *[edge * (1 + np.array(steps)) for edge in edges]])


def assert_derivative(link, function, slope):
    """Central differences of fourth order, in steps that are short against the way to an edge."""
    at = middle(link)
    step = 0.003 * np.min([at - link.support[0], link.support[1] - at, np.ones_like(at)], axis=0)
    near = function(at + step) - function(at - step)
    far = function(at + 2 * step) - function(at - 2 * step)
    found, wanted = (8 * near - far) / (12 * step), slope(at)
    size = np.maximum(np.abs(function(at)), np.abs(wanted))
    np.testing.assert_array_less(np.abs(found - wanted), 1e-7 * size + 1e-12)


def check_link(link):
    """Hold a link against everything that losses and solvers rely on."""
    low, high = link.support
    assert low < high
    scores = np.sort(np.concatenate([extreme(link), middle(link)]))
    with np.errstate(all="raise"):
        got = {name: getattr(link, name)(scores.copy()) for name in METHODS}
        prob_fast, density_fast = link.rates(scores)
    for name, values in got.items():
        assert values.shape == scores.shape, name
        assert not np.isnan(values).any(), (name, scores[np.isnan(values)])
        assert np.isnan(getattr(link, name)(np.array([np.nan]))).all(), name

    prob, complement = got["inverse"], got["complement"]
    assert (np.diff(prob) >= 0).all()
    assert (np.diff(complement) <= 0).all()
    assert (np.diff(link.inverse(middle(link))) > 0).all()
    np.testing.assert_allclose(prob + complement, 1.0, rtol=4e-16)
    assert ((prob == 0) | (scores > low)).all()
    assert ((complement == 0) | (scores < high)).all()
    np.testing.assert_allclose(link.inverse(link.forward(PROBS)), PROBS, rtol=1e-12)
    np.testing.assert_allclose(link.complement(link.forward(PROBS)), 1 - PROBS, rtol=1e-9)
    assert link.forward(np.array([0.0, 1.0])).tolist() == pytest.approx([low, high])
    logs = link.log_inverse(inside := middle(link)), link.log_complement(inside)
    np.testing.assert_allclose(link.forward_log(*logs), inside, rtol=1e-8, atol=1e-8)

    for positive, names in ((True, ("log_inverse", "rise", "rise_fall")), (False, NEGATIVE)):
        signs = (1, 1, -1) if positive else (1, -1, -1)
        for one, name, sign in zip(link.log_terms(positive, scores), names, signs, strict=True):
            np.testing.assert_allclose(one, sign * got[name], rtol=1e-9, atol=1e-290)

    for name, sign, slope in DERIVATIVES:
        function = getattr(link, name)
        assert_derivative(
            link, lambda at, f=function, sign=sign: sign * f(at), getattr(link, slope)
        )
    for name in ("density", "rise", "hazard", "information"):
        assert (got[name] >= 0).all(), name
    inside = middle(link)
    known = link.density(inside) ** 2 / (link.inverse(inside) * link.complement(inside))
    np.testing.assert_allclose(link.information(inside), known, rtol=1e-9)
    np.testing.assert_allclose(
        link.antiderivative_less_score(inside), link.antiderivative(inside) - inside, atol=1e-12
    )
    np.testing.assert_allclose(prob_fast, prob, rtol=1e-12, atol=1e-15)
    clear = ~np.isclose(scores, low, rtol=1e-14) & ~np.isclose(scores, high, rtol=1e-14)
    np.testing.assert_allclose(density_fast[clear], got["density"][clear], rtol=1e-6, atol=1e-13)
    assert (density_fast >= 0).all()
    assert not np.isnan(density_fast).any()

    check_record(link)
    again = pickle.loads(pickle.dumps(link))
    for name in METHODS:
        np.testing.assert_array_equal(getattr(again, name)(scores), got[name])
        assert getattr(link, name)(0.25).shape == ()
        grid = getattr(link, name)(inside[:40].reshape(8, 5))
        np.testing.assert_allclose(grid.ravel(), getattr(link, name)(inside[:40]), rtol=1e-14)


def check_record(record):
    """Immutable, and equal and hashed by value: a key of caches, and the same in every worker."""
    again = pickle.loads(pickle.dumps(record))
    assert again == record
    assert hash(again) == hash(record)
    with pytest.raises(AttributeError):
        record.shape = 0.7


def check_loss(loss):
    """Hold a loss against everything that solvers rely on."""
    link = loss.link
    scores = np.concatenate([extreme(link), middle(link)])
    for label in (0.0, 1.0):
        y = np.full(scores.shape, label)
        with np.errstate(all="raise"):
            value, slope = loss.value(y, scores), loss.slope(y, scores)
            curvature, fisher = loss.curvature(y, scores), loss.fisher(scores)
            before = scores.copy(), y.copy()
            fast_slope, fast_curvature = loss.sweep(y, scores)
        np.testing.assert_array_equal(before, (scores, y))  # inputs are left as they were
        for found in (value, slope, curvature, fisher, fast_slope, fast_curvature):
            assert found.shape == scores.shape
            assert not np.isnan(found).any()
        assert ((slope <= 0) if label else (slope >= 0)).all()
        assert (fisher >= 0).all()
        assert (fast_curvature >= 0).all()
        if loss.convex:
            assert (curvature >= 0).all()

        inside = middle(link)
        y = np.full(inside.shape, label)
        assert_derivative(link, partial(loss.value, y), partial(loss.slope, y))
        assert_derivative(link, partial(loss.slope, y), partial(loss.curvature, y))
        fast_slope, fast_curvature = loss.sweep(y, inside)
        np.testing.assert_allclose(fast_slope, loss.slope(y, inside), rtol=1e-10, atol=1e-14)
        observed = loss.curvature(y, inside)
        wanted = np.where(observed >= 0, observed, loss.fisher(inside))
        # Where the observed curvature crosses 0, its sign is a matter of rounding.
        clear = np.abs(observed) > 1e-12
        np.testing.assert_allclose(fast_curvature[clear], wanted[clear], rtol=1e-9)

    ones, zeros = np.ones(inside.shape), np.zeros(inside.shape)
    expected = link.inverse(inside) * loss.curvature(ones, inside)
    expected += link.complement(inside) * loss.curvature(zeros, inside)
    np.testing.assert_allclose(loss.fisher(inside), expected, rtol=1e-8)
    mixed = (np.arange(inside.size) % 3 == 0).astype(float)
    for of in (loss.value, loss.slope, loss.curvature):
        np.testing.assert_array_equal(
            of(mixed, inside), np.where(mixed, of(ones, inside), of(zeros, inside))
        )
    check_record(loss)
