"""Losses: the shared list, where they coincide, where they are convex, and what is impossible."""

import mpmath as mp
import numpy as np
import pytest

from scarce.errors import Argument, UsageError
from scarce.linear.gev import GEV, CLogLog, LogLog
from scarce.linear.links import Logit, Probit
from scarce.linear.losses import LOSSES, CanonicalLoss, LogLoss, loss_of
from tests.linear.link_properties import check_loss
from tests.linear.test_links import Cauchit
from tests.problems import refused

LINKS = [
    Cauchit(),
    Logit(),
    Probit(),
    CLogLog(),
    LogLog(),
    *map(GEV, (-1.0, -0.4, -1e-9, 0.3, 1.0, 1.5)),
]
EVERY = [kind(link) for kind in (CanonicalLoss, LogLoss) for link in LINKS]


@pytest.mark.parametrize("loss", EVERY, ids=repr)
def test_property_every_loss_keeps_the_list(loss):
    check_loss(loss)


def test_invariant_logistic_is_the_canonical_loss_of_the_logit():
    scores = np.concatenate([np.linspace(-60, 60, 241), [-800.0, 800.0]])
    ours, theirs = CanonicalLoss(Logit()), LogLoss(Logit())
    for y in (np.zeros(243), np.ones(243)):
        for name in ("value", "slope", "curvature"):
            np.testing.assert_allclose(
                getattr(ours, name)(y, scores), getattr(theirs, name)(y, scores), rtol=1e-15
            )
        for one, other in zip(ours.sweep(y, scores), theirs.sweep(y, scores), strict=True):
            np.testing.assert_array_equal(one, other)


def test_invariant_swapped_labels_and_mirrored_scores():
    """Swapping labels and signs leaves probit alone, and turns log-log into cloglog."""
    scores = np.linspace(-30.0, 30.0, 121)
    for y in (np.zeros(121), np.ones(121)):
        for kind in (CanonicalLoss, LogLoss):
            symmetric = kind(Probit())
            np.testing.assert_allclose(
                symmetric.value(y, scores), symmetric.value(1 - y, -scores), rtol=1e-13
            )
        np.testing.assert_array_equal(
            LogLoss(CLogLog()).value(y, scores), LogLoss(LogLog()).value(1 - y, -scores)
        )
        # Areas to the left and to the right of a point differ by the mean, Euler's constant.
        apart = CanonicalLoss(CLogLog()).value(y, scores)
        apart -= CanonicalLoss(LogLog()).value(1 - y, -scores)
        np.testing.assert_allclose(apart, np.euler_gamma, atol=1e-13)


@pytest.mark.parametrize("name", ["logistic", "probit", "cloglog", "loglog"])
def test_oracle_log_loss_at_800_in_many_digits(name):
    distribution = {
        "logistic": lambda v: 1 / (1 + mp.exp(-v)),
        "probit": mp.ncdf,
        "cloglog": lambda v: -mp.expm1(-mp.exp(v)),
        "loglog": lambda v: mp.exp(-mp.exp(-v)),
    }[name]
    loss = loss_of(name)
    with mp.workdps(400):
        for score in (-800.0, -300.0, -40.0, 5.0):
            exact = -mp.log(distribution(mp.mpf(score)))
            found = loss.value(np.array([1.0]), np.array([score]))[0]
            if exact > 1e308:
                assert found == np.inf
            else:
                assert found == pytest.approx(float(exact), rel=1e-13)
    mirrored = loss.value(np.array([0.0]), np.array([800.0]))[0]
    assert mirrored == (np.inf if name == "cloglog" else pytest.approx(mirrored))
    assert mirrored >= 799.99


def test_log_loss_is_convex_for_shapes_up_to_0_and_for_no_other():
    """001 says [-1, 0.1); by second differences of the loss itself it is [-1, 0]."""
    for link in (Logit(), Probit(), CLogLog(), LogLog(), GEV(-1.0), GEV(-0.3), GEV(0.0)):
        assert LogLoss(link).convex
        assert CanonicalLoss(link).convex
        scores = np.linspace(*link.forward(np.array([1e-9, 1 - 1e-9])), 2001)[1:-1]
        for y in (np.zeros(1999), np.ones(1999)):
            assert (LogLoss(link).curvature(y, scores) >= 0).all()
    turns = {0.01: (0.979, 0.983), 0.05: (0.905, 0.909), 0.5: (0.41, 0.43), 1.0: (0.195, 0.215)}
    for shape, probs in turns.items():
        loss = LogLoss(GEV(shape))
        assert not loss.convex
        assert CanonicalLoss(GEV(shape)).convex
        at = loss.link.forward(np.array(probs))
        y, step = np.zeros(2), 0.01
        bend = loss.value(y, at + step) + loss.value(y, at - step) - 2 * loss.value(y, at)
        assert bend[0] > 0 > bend[1], shape
        assert (np.sign(loss.curvature(y, at)) == [1, -1]).all()
        _, newton = loss.sweep(y, at)
        np.testing.assert_allclose(newton, [loss.curvature(y, at)[0], loss.fisher(at)[1]])


def test_outside_the_support_the_impossible_label_costs_infinity():
    for shape, label, side in ((0.5, 1.0, -1.0), (-0.5, 0.0, 1.0)):
        loss = LogLoss(GEV(shape))
        scores = side * np.array([2.0, 2.5, 800.0])
        impossible, certain = np.full(3, label), np.full(3, 1 - label)
        assert (loss.value(impossible, scores) == np.inf).all()
        assert (loss.value(certain, scores) == 0).all()
        for slope, curvature in (
            (loss.slope(impossible, scores), loss.curvature(impossible, scores)),
            loss.sweep(impossible, scores),
        ):
            assert (slope == side * np.inf).all()
            assert (curvature == np.inf).all()
        for slope, curvature in (
            (loss.slope(certain, scores), loss.curvature(certain, scores)),
            loss.sweep(certain, scores),
        ):
            assert (slope == 0).all()
            assert (curvature == 0).all()
        canonical = CanonicalLoss(GEV(shape))
        assert np.isfinite(canonical.value(impossible, scores)).all()
        assert (canonical.slope(impossible, scores) == side).all()


def test_canonical_loss_is_convex_across_the_edge_of_the_support():
    for shape in (-1.0, -0.5, 0.5, 1.5):
        scores = -1 / shape + np.linspace(-0.5, 0.5, 101)
        value = CanonicalLoss(GEV(shape)).value(np.zeros(101), scores)
        assert (np.diff(value, 2) >= -1e-15).all()


def test_canonical_loss_of_the_true_probability_is_least_on_average():
    """Proper: over labels that are 1 with probability p, forward(p) is the best score."""
    for shape in (-0.7, 0.0, 0.4, 1.2):
        loss = CanonicalLoss(GEV(shape))
        for p in (0.001, 0.1, 0.6):
            best = loss.link.forward(np.array([p]))
            scores = best + np.array([-0.1, -0.01, 0.0, 0.01, 0.1])
            risk = p * loss.value(np.ones(5), scores) + (1 - p) * loss.value(np.zeros(5), scores)
            assert risk.argmin() == 2


def test_sweep_keeps_small_curvatures_and_survives_huge_scores():
    """Differences of numbers near 1, or near the score, would leave nothing or a negative."""
    y, scores = np.array([1.0]), np.array([-25.0])
    curvature = loss_of("cloglog").sweep(y, scores)[1]
    np.testing.assert_allclose(curvature, 0.5 * np.exp(-25.0), rtol=1e-9)
    for score in (1e5, 1e8, 1e12):
        slope, curvature = loss_of("probit").sweep(1 - y, np.array([score]))
        np.testing.assert_allclose(slope, score, rtol=1e-9)
        np.testing.assert_allclose(curvature, 1.0, rtol=1e-9)


def test_broadcasting_of_one_label_over_scores():
    loss = loss_of("gev-canonical", 0.3)
    scores = np.linspace(-2, 2, 5)
    np.testing.assert_array_equal(loss.value(1.0, scores), loss.value(np.ones(5), scores))
    np.testing.assert_array_equal(loss.slope(0.0, scores), loss.slope(np.zeros(5), scores))


def test_loss_of_knows_every_name_and_says_what_is_wrong():
    for name in LOSSES:
        loss = loss_of(name, 0.25 if name.startswith("gev") else None)
        assert isinstance(loss, CanonicalLoss if name == "gev-canonical" else LogLoss)
    assert loss_of("gev-log", 0.25) == LogLoss(GEV(0.25))
    assert loss_of("cloglog") == LogLoss(CLogLog())
    with refused("unknown-word", UsageError, argument="loss"):
        loss_of("logistc")
    with refused("shape-needed", UsageError, loss=Argument("loss", "gev-log")):
        loss_of("gev-log")
    with refused("shape-not-used", UsageError, shape=Argument("shape", 0.2)):
        loss_of("probit", 0.2)
