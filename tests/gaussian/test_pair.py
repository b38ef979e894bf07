"""GaussianPair: the formulas of its header by a loop over rows, and what must not change it."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from scarce import StoreError, load, save
from scarce.gaussian.pair import fit_pair


def table(rng, n=120, d=4, lost=0.3):
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    y = (X[:, 0] + rng.normal(size=n) > 1.0).astype(int)
    X[rng.random(X.shape) < lost] = np.nan
    return X, y


def plain(X, y, new, sweeps=5):
    """Return log odds by the formulas, row by row."""
    centre, scale = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    Z, n, d = (X - centre) / scale, np.bincount(y[~np.isnan(X).all(axis=1)]), X.shape[1]
    mean = np.array(
        [np.nansum(Z[y == k], axis=0) / ((~np.isnan(Z[y == k])).sum(axis=0) + 2) for k in (0, 1)]
    )
    S, nu = np.eye(d), max(5.0, d / 2)
    for sweep in range(sweeps + 1):
        filled, V = np.zeros_like(Z), np.zeros((2, d, d))
        for i, z in enumerate(Z):
            o = ~np.isnan(z)
            if not o.any():
                continue
            gain = S[:, o] @ np.linalg.inv(S[np.ix_(o, o)])
            filled[i] = mean[y[i]] + gain @ (z - mean[y[i]])[o]
            V[y[i]] += S - gain @ S[o]
        some = ~np.isnan(Z).all(axis=1)
        mu = filled[some].mean(axis=0)
        mean = np.array(
            [(filled[some & (y == k)].sum(axis=0) + 2 * mu) / (n[k] + 2) for k in (0, 1)]
        )
        W = V + [
            (filled - mean[k])[some & (y == k)].T @ (filled - mean[k])[some & (y == k)]
            for k in (0, 1)
        ]
        if sweep < sweeps:
            S = (W.sum(axis=0) + nu * np.eye(d)) / (n.sum() + nu)
    out = []
    for z in (new - centre) / scale:
        o = ~np.isnan(z)
        score = np.log((y == 1).sum() / (y == 0).sum())
        for k, sign in ((0, -1), (1, 1)):
            C = (W[k] + 3 * d * S) / (n[k] + 3 * d)
            if o.any():
                density = multivariate_normal(mean[k][o], C[np.ix_(o, o)])
                score += sign * density.logpdf(z[o])
        out.append(np.clip(score, -15, 15))
    return np.array(out)


def test_oracle_the_formulas_by_a_loop(rng):
    X, y = table(rng)
    X[5] = np.nan
    new = np.vstack([table(rng, 30)[0], np.full((1, 4), np.nan), np.full((1, 4), 30.0)])
    found = fit_pair(X, y).decision_function(new)
    np.testing.assert_allclose(found, plain(X, y, new), rtol=0, atol=1e-9)
    assert found[-2] == pytest.approx(np.log(y.sum() / (1 - y).sum()), abs=1e-12)


def test_invariant_units_columns_copies_and_order(rng):
    X, y = table(rng)
    wanted = fit_pair(X, y).decision_function(X)
    unit, shift = np.array([1e100, 1e-100, 1.0, -40.0]), np.array([0.0, 0.0, 1e5, 3.0])
    moved = X * unit + shift
    found = fit_pair(moved, y).decision_function(moved)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8)
    order = rng.permutation(len(X))
    found = fit_pair(X[order], y[order]).decision_function(X)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)
    weight = np.arange(len(X)) % 3
    twice = np.repeat(np.arange(len(X)), weight)
    by_weight = fit_pair(X, y, weight.astype(float)).decision_function(X)
    by_copies = fit_pair(X[twice], y[twice]).decision_function(X)
    np.testing.assert_allclose(by_weight, by_copies, rtol=0, atol=1e-9)


def test_columns_that_say_nothing(rng):
    X, y = table(rng)
    dull = np.column_stack([X, np.full(len(X), 3.0), np.full(len(X), np.nan)])
    model = fit_pair(dull, y)
    assert model.used_.tolist() == [True] * 4 + [False] * 2
    later = dull.copy()
    later[:, 4:] = rng.normal(size=(len(X), 2))
    np.testing.assert_array_equal(model.decision_function(later), model.decision_function(dull))


@pytest.mark.parametrize("events", [1, 3])
def test_few_events_and_separable_classes_stay_finite(rng, events):
    X = rng.normal(size=(80, 6))
    y = (np.arange(80) < events).astype(int)
    X[y == 1] += 50.0
    X[rng.random(X.shape) < 0.3] = np.nan
    score = fit_pair(X, y).decision_function(X)
    assert np.abs(score).max() <= 15.0
    seen = ~np.isnan(X).all(axis=1)
    assert score[seen & (y == 1)].min() > score[seen & (y == 0)].max()


def test_model_file_round_trip(rng, tmp_path):
    X, y = table(rng)
    model = fit_pair(X, y)
    save(model, tmp_path / "m.scarce")
    again = load(tmp_path / "m.scarce")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    model.covariance_ = model.covariance_ - 10.0 * np.eye(4)
    with pytest.raises(StoreError, match="covariance_"):
        save(model, tmp_path / "m.scarce")
