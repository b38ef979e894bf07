"""The witness itself: known answers, and no answer where there is none."""

import numpy as np
import pytest

from tests.oracle.interior import entropy, minimise_inside


def test_a_quadratic_under_bounds_has_its_known_answer():
    def f(x):
        return np.sum((x - [1.0, -2.0]) ** 2) / 2, x - [1.0, -2.0], np.eye(2)

    found = minimise_inside(f, np.ones(2), np.eye(2), np.zeros(2), tol=1e-12)
    np.testing.assert_allclose(found.x, [1.0, 0.0], atol=1e-11)
    np.testing.assert_allclose(found.multipliers, [0.0, 2.0], atol=1e-11)
    assert found.value == pytest.approx(2.0, abs=1e-11)


def test_the_nearest_law_with_a_given_mean_is_tilted():
    """Over 0, 1, 2 with mean 1.5: q proportional to exp(c x), where e^c solves t^2 - t - 3 = 0."""
    t = (1 + np.sqrt(13)) / 2
    wanted = np.array([1, t, t**2]) / (1 + t + t**2)
    third = np.full(3, 1 / 3)
    fixed = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0]])
    found = minimise_inside(
        entropy(np.ones(3), third), third, np.eye(3), np.zeros(3), fixed, [1.0, 1.5], tol=1e-12
    )
    np.testing.assert_allclose(found.x, wanted, atol=1e-10)


def test_what_cannot_be_met_is_no_optimum():
    def f(x):
        return float(x @ x), 2 * x, 2 * np.eye(1)

    with pytest.raises((AssertionError, np.linalg.LinAlgError)), np.errstate(all="ignore"):
        minimise_inside(f, np.ones(1), np.array([[1.0], [-1.0]]), np.array([1.0, 0.0]))
