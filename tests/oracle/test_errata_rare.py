"""Errata of paper 001: what is printed, what is right, and that the package does the right thing.

docs/errata.md quotes the numbers as they are computed here.
"""

import mpmath
import numpy as np
import pytest
from scipy.stats import genextreme

from scarce import RareClassifier
from scarce.linear.gev import GEV
from scarce.linear.links import Logit
from scarce.linear.losses import CanonicalLoss, LogLoss, loss_of
from tests.oracle import errata_rare as errata
from tests.oracle.errata_page import measured


def fit(X, y, loss="gev-canonical", **settings):
    """A fit of columns that hold their own intercept, penalised like the others."""
    settings = {
        "floor": 0.0,
        "tol": 1e-13,
        "fit_intercept": False,
        "standardize": False,
        **settings,
    }
    return RareClassifier(loss, **settings).fit(X, y)


def test_table_1_has_a_minus_where_a_plus_belongs():
    found = errata.table_1()
    ours = LogLoss(Logit()).value(np.array([1.0, 0.0]), np.ones(2))
    np.testing.assert_allclose(ours, found["right"], rtol=1e-14)
    assert found["printed"][0] < 0  # a loss below 0
    assert np.isnan(found["printed"][1])
    printed, right = found["printed"][0], found["right"][0]
    quoted = f"at y v = 1: {printed:.3f} printed, {right:.3f} right; at y v = -1 no number"
    assert measured("001 table 1, logistic") == quoted


def test_equation_3_is_infinite_from_shape_1_on():
    found = errata.equation_3()
    assert found["infinite_shapes"] == int((errata.SHAPES >= 1).sum()) == 6
    one, log_ten = found["at_1"], np.log(10)
    np.testing.assert_allclose(np.diff(one), 4 * log_ten, rtol=1e-3)  # as the log of the end
    ends = np.array([1e-4, 1e-8, 1e-12])  # and at shape 1.5 as its root
    np.testing.assert_allclose(np.diff(found["at_1.5"]), np.diff(2 / np.sqrt(ends)), rtol=1e-5)
    for shape in errata.SHAPES:
        ours = CanonicalLoss(GEV(shape)).value(np.array([1.0]), np.array([0.3]))
        assert np.isfinite(ours).all()
    # Where eq 3 is finite ours differs from it by a constant.
    for shape in (-0.5, 0.0, 0.5):
        loss, probs = CanonicalLoss(GEV(shape)), np.array([0.1, 0.5, 0.9])
        ours = loss.value(np.ones(3), loss.link.forward(probs))
        printed = np.array([float(errata.partial_losses(shape, p)[0]) for p in probs])
        np.testing.assert_allclose(np.ptp(ours - printed), 0.0, atol=1e-12)
    assert measured("001 eq 3") == (
        f"{found['infinite_shapes']} of its {found['shapes']} shapes; at shape 1 "
        f"{one[0]:.1f}, {one[1]:.1f}, {one[2]:.1f} up to 1e-4, 1e-8, 1e-12 before probability 1"
    )


def test_the_canonical_loss_has_a_closed_form():
    assert errata.closed_form()["apart"] < 1e-25
    for shape in (-1.0, 0.0, 0.3, 1.0, 1.5):
        loss = CanonicalLoss(GEV(shape))
        for prob in (0.01, 0.3, 0.9):
            score = loss.link.forward(np.array([prob]))
            _, printed = errata.partial_losses(shape, prob)  # eq 4, by quadrature
            assert loss.value(np.zeros(1), score)[0] == pytest.approx(float(printed), rel=1e-11)
    quoted = "eq 4 by quadrature and the closed form: apart by less than 1e-25"
    assert measured("001 section 3.1, closed form") == quoted


def test_the_log_loss_is_not_convex_for_any_shape_above_0():
    found = errata.not_convex_below_0_1()
    assert found["bend"] < -0.01
    loss = loss_of("gev-log", 0.05)
    at = loss.link.forward(np.array([found["prob"]]))
    assert loss.curvature(np.zeros(1), at)[0] == pytest.approx(found["bend"], rel=1e-9)
    assert not loss.convex
    assert loss_of("gev-log", 0.0).convex
    quoted = f"second derivative {found['bend']:.3f} at shape 0.05 and probability"
    assert measured("001 section 3.1, convexity") == f"{quoted} {found['prob']:.2f}"


def test_algorithm_1_at_its_word_meets_0_times_infinity():
    found = errata.literal_steps()
    assert found["broken"] > 20
    assert found["broken_repaired"] == 0
    X, y = errata.rare_rows()
    for shape in (-1.0, -0.3, 0.0, 0.7, 1.5):
        ours = fit(X, y, shape=shape, ridge=1.0)
        assert ours.report_.converged
        assert np.isfinite(ours.coef_).all()
    assert measured("001 algorithm 1, z") == (
        f"no number for {found['broken']} of its {found['shapes']} shapes on 400 rows with "
        f"heavy-tailed columns; {found['broken_repaired']} with W v + (y - eta)"
    )


def test_a_step_size_inside_z_changes_the_penalty():
    found = errata.step_and_ridge()
    assert found["apart"] < 1e-11  # the penalty is doubled, to the last digits
    assert np.abs(found["step_half"] - found["step_1"]).max() > 0.04
    X, y = errata.rare_rows()
    ours = fit(X, y, shape=0.0, ridge=4.0).coef_[0]
    np.testing.assert_allclose(ours, found["step_1"], atol=1e-9)
    one, half = found["step_1"][0], found["step_half"][0]
    quoted = f"first coefficient {half:.3f} with gamma = 1/2, the fit of a doubled ridge to 1e-11"
    assert measured("001 algorithm 1, step and ridge") == f"{quoted}; right {one:.3f}"


def test_irls_is_newton_s_step():
    assert errata.one_step_of_each()["apart"] < 1e-14
    assert measured("001 section 3.2, IRLS") == "one step of each: apart by less than 1e-14"


def test_steps_of_size_1_leave_the_set_and_the_set_moves_the_mean():
    found = errata.leaving_the_set()
    assert found["outside"] == found["iterates"] > 1
    X, y = errata.outlier_rows()
    settings = {"shape": 1.0, "ridge": 0.0, "fit_intercept": True}
    line = fit(X[:, :1], y, **settings)
    paper = fit(X[:, :1], y, domain="paper", **settings | {"tol": 1e-8})
    share, dragged = y.mean(), paper.predict_proba(X[:, :1])[:, 1].mean()
    assert line.predict_proba(X[:, :1])[:, 1].mean() == pytest.approx(share, abs=1e-10)
    assert found["mean"] == pytest.approx(share, abs=1e-8)  # its fixed point is the line's
    assert dragged > share + 0.01
    assert abs(paper.coef_[0, 0]) < 0.7 * abs(line.coef_[0, 0])
    assert measured("001 section 3.2, C_xi") == (
        f"{found['outside']} of {found['iterates']} steps are outside; mean probability "
        f"{dragged:.3f} inside C_xi, where the share is {share:.3f}; slope "
        f"{paper.coef_[0, 0]:.2f} for {line.coef_[0, 0]:.2f}"
    )


def test_the_symmetric_shape_is_nearly_so():
    # scipy's shape is minus the paper's
    skewness = float(genextreme.stats(0.2567, moments="s"))
    assert abs(float(genextreme.stats(0.2776, moments="s"))) < 1e-4
    assert 0.05 < skewness < 0.08
    third = mpmath.quad(  # the same of our link: third moment from its density
        lambda v: float(GEV(-0.2567).density(np.array([float(v)]))[0]) * (v - _mean(1)) ** 3,
        [-8, -2, 0, 2, 1 / 0.2567],
    )
    assert float(third) / _mean(2) ** 1.5 == pytest.approx(skewness, abs=1e-3)
    assert measured("001 figure 1") == f"skewness {skewness:.3f}"


def _mean(moment):
    mean, variance = genextreme.stats(0.2567, moments="mv")
    return float(mean) if moment == 1 else float(variance)
