"""Separation: a direction proves it, a linear programme decides, and shares name the columns."""

import numpy as np
import pytest

from scarce.engine.memory import ArrayRows
from scarce.linear import separation
from scarce.linear.separation import separating
from scarce.linear.sums import look


def ask(X, y, directions=(), weight=None, free=None):
    X = np.asarray(X, dtype=float)
    rows = ArrayRows(X, y, weight=weight, classes=[0, 1], starts=(0, 2, len(X)))
    free = np.ones(X.shape[1] + 1, dtype=bool) if free is None else np.array(free)
    return separating(rows, look(rows), free, [np.asarray(d, float) for d in directions], None)


X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.5], [4.0, 0.5]])
Y = [0, 0, 0, 1, 1]


def test_the_programme_finds_what_no_direction_shows():
    shares = ask(X, Y)
    assert shares is not None
    assert shares.max() == 1.0
    assert shares[0] > 0.5


def test_a_true_direction_needs_no_programme(monkeypatch):
    monkeypatch.setattr(separation, "LARGEST", 0)
    assert ask(X, Y) is None  # no direction, and the programme is out of reach
    shares = ask(X, Y, directions=[[0.0, 1.0], [1.0, 0.0]])
    assert shares is not None
    assert shares.tolist() == [1.0, 0.0]


def test_a_wrong_direction_proves_nothing(monkeypatch):
    overlap = [0, 1, 0, 1, 0]
    assert ask(X[:, :1], overlap, directions=[[1.0]]) is None
    monkeypatch.setattr(separation, "LARGEST", 0)
    assert ask(X, Y, directions=[[0.0, 1.0], [1.0, 5.0]]) is None


def test_quasi_complete_separation_counts():
    tied = np.array([[0.0], [0.0], [0.0], [1.0], [1.0]])
    assert ask(tied, [0, 1, 0, 1, 1]) is not None
    assert ask(tied, [0, 1, 0, 1, 0]) is None


def test_columns_that_may_not_move_do_not_separate():
    assert ask(X, Y, free=[False, True, True]) is None
    assert ask(X, Y, free=[True, False, True]) is not None


def test_rows_without_weight_do_not_count():
    spoilt = [0, 0, 0, 1, 0]
    assert ask(X[:, :1], spoilt) is None
    assert ask(X[:, :1], spoilt, weight=[1.0, 1, 1, 1, 0]) is not None
    assert ask(X[:, :1], [0, 0, 0, 1, np.nan]) is not None


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_units_and_shifts_change_nothing(scale, shift):
    moved = (X + shift) * [scale, 1.0]
    shares = ask(moved, Y)
    assert shares is not None
    np.testing.assert_allclose(shares, ask(X, Y), atol=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_oracle_random_small_data_against_brute_force_directions(seed):
    """In one column beside an intercept, separation is a matter of sorting."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, size=7).astype(float)
    y = rng.integers(0, 2, size=7).astype(float)
    y[:2] = 0, 1
    low, high = x[y == 0], x[y == 1]
    apart = low.max() <= high.min() or high.max() <= low.min()
    apart &= not (low.min() == low.max() == high.min() == high.max())
    assert (ask(x[:, None], y) is not None) == apart
