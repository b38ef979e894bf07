"""correct_prior: Bayes' rule between two sets of base rates."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarce import DataError, UsageError, correct_prior
from tests.problems import refused

SHARES = st.floats(1e-6, 1 - 1e-6)


@given(st.floats(1e-12, 1 - 1e-12), SHARES, SHARES)
def test_oracle_bayes_rule_in_fifty_digits(prob, before, after):
    with mpmath.workdps(50):
        p, b, a = mpmath.mpf(prob), mpmath.mpf(before), mpmath.mpf(after)
        up, down = p * a / b, (1 - p) * (1 - a) / (1 - b)
        expected = float(up / (up + down))
    assert correct_prior([prob], before, after)[0] == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), SHARES, SHARES)
def test_invariant_there_and_back(prob, before, after):
    there = correct_prior(prob, before, after)
    inside = (there > 1e-12) & (there < 1 - 1e-3)
    back = correct_prior(there, after, before)
    np.testing.assert_allclose(back[inside], np.array(prob)[inside], rtol=1e-6, atol=1e-12)


def test_invariant_one_column_or_two_or_the_general_rule(rng):
    prob = rng.dirichlet([1, 1], 50)
    two = correct_prior(prob, [0.3, 0.7], [0.9, 0.1])
    np.testing.assert_allclose(two[:, 1], correct_prior(prob[:, 1], 0.7, 0.1))
    np.testing.assert_allclose(two.sum(axis=1), 1)
    three = np.column_stack([prob / 2, np.full(50, 0.5)])
    moved = correct_prior(three, [0.15, 0.35, 0.5], [0.45, 0.05, 0.5])
    np.testing.assert_allclose(moved[:, 1] / moved[:, :2].sum(axis=1), two[:, 1])
    np.testing.assert_allclose(moved.sum(axis=1), 1)


def test_certain_rows_stay_certain_and_tiny_ones_stay_apart():
    np.testing.assert_array_equal(correct_prior([0.0, 1.0], 0.5, 0.01), [0, 1])
    moved = correct_prior([1e-300], 0.5, 0.01)[0]
    assert moved == pytest.approx(1e-300 / 99, rel=1e-9)


@pytest.mark.parametrize(
    ("prob", "before", "after", "kind", "code", "fields"),
    [
        ([0.5, 1.5], 0.5, 0.1, DataError, "prob-range", {"value": 1.5, "row": 1}),
        ([0.5, np.nan], 0.5, 0.1, DataError, "prob-range", {"row": 1}),
        (0.5, 0.5, 0.1, DataError, "shape-mismatch", {"shape": ()}),
        ([[0.5]], 0.5, 0.1, DataError, "shape-mismatch", {"shape": (1, 1)}),
        ([0.5], 0.0, 0.1, UsageError, "base-rate-range", {"argument": "trained_at"}),
        ([0.5], 0.5, 1.0, UsageError, "base-rate-range", {"argument": "now_at"}),
        ([[0.2, 0.8]], [0.5, 0.6], 0.1, UsageError, "base-rate-range", {"argument": "trained_at"}),
        ([[0.2, 0.3, 0.5]], 0.5, 0.1, UsageError, "base-rate-shape", {"n_classes": 3}),
        ([[0.2, 0.8], [0.2, 0.3]], 0.5, 0.1, DataError, "prob-sum", {"row": 1}),
        (["low"], 0.5, 0.1, DataError, "not-a-number", {"argument": "prob"}),
        (
            np.ma.array([0.5, 0.2], mask=[False, True]),
            0.5,
            0.1,
            DataError,
            "prob-range",
            {"row": 1},
        ),
        ([0.5], "half", 0.1, UsageError, "base-rate-type", {"argument": "trained_at"}),
    ],
)
def test_invalid_arguments_are_refused(prob, before, after, kind, code, fields):
    with refused(code, kind, **fields):
        correct_prior(prob, before, after)
