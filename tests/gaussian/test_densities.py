"""Densities with missing values: patterns of rows, products by pattern, tail probabilities."""

import mpmath
import numpy as np
import pytest

from scarce.gaussian.densities import log_tail, pattern_runs
from scarce.missing.patterns import multiply_groups, patterns
from tests.gaussian.densities import densities


@pytest.mark.parametrize("width", [3, 70])
def test_rows_are_grouped_by_what_they_show(rng, width):
    seen = rng.random((300, width)) < 0.5
    seen[100:] = seen[rng.integers(0, 4, 200)]
    masks, order, ends = patterns(seen)
    assert sorted(order) == list(range(300))
    assert len(masks) == len(np.unique(seen, axis=0))
    for i, mask in enumerate(masks):
        assert (seen[order[ends[i] : ends[i + 1]]] == mask).all()
    gap = rng.normal(size=(300, width))
    matrices = rng.normal(size=(len(masks), width, width))
    place = {mask.tobytes(): i for i, mask in enumerate(masks)}
    met = []
    for run in pattern_runs(seen):
        which = [place[mask.tobytes()] for mask in run.masks]
        out = multiply_groups(matrices[which], gap[run.rows], run.ends)
        wanted = [matrices[place[seen[row].tobytes()]] @ gap[row] for row in run.rows]
        np.testing.assert_allclose(out, wanted, rtol=1e-9, atol=1e-9)
        met += run.rows.tolist()
    assert sorted(met) == list(range(300))


def test_a_pattern_longer_than_a_piece_is_cut(rng):
    X = rng.normal(size=(9001, 2))
    X[::3, 1] = np.nan
    y = np.arange(9001) % 2
    model = densities("full").fit(X[:200], y[:200])
    whole = model.predict_proba(X)
    np.testing.assert_allclose(whole[4000:4100], model.predict_proba(X[4000:4100]), rtol=1e-12)


def test_oracle_tail_probabilities_far_out():
    distances = [0.0, 0.3, 5.0, 80.0, 1300.0, 1400.0, 5e3, 1e6, 1e12]
    for count in (1, 2, 7, 40, 1001):
        found = log_tail(np.array(distances), np.full(len(distances), float(count)))
        for distance, value in zip(distances, found, strict=True):
            with mpmath.workdps(40):
                a, x = mpmath.mpf(count) / 2, mpmath.mpf(distance) / 2
                wanted = float(mpmath.log(mpmath.gammainc(a, x, regularized=True)))
            assert value == pytest.approx(wanted, rel=1e-12, abs=1e-13)
    assert log_tail(np.array([0.0]), np.array([0.0]))[0] == 0
