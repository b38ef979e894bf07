"""How far small classes are drawn: the loss of a row left out, and what it buys.

The table of docs/guide/generative.md:  python -m tests.gaussian.test_shrinkage
"""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf, oas
from sklearn.metrics import log_loss

from scarce.datasets import hide_features
from scarce.gaussian import shrinkage
from scarce.gaussian.shrinkage import (
    INTENSITIES,
    choose,
    diagonal_share,
    is_singular,
    left_out_loss,
    mend_pooled,
    relative_eigenvalues,
    shrink,
    toward_diagonal,
)
from tests.gaussian.densities import densities

WORLDS = ("same", "near", "far", "wide")


# --- the criterion --------------------------------------------------------------------------------


def plain_left_out(X, s, power, own_share):
    """-2 log density of each row under a model of the others, refitted for each, on average."""
    n, d = X.shape
    whole = np.cov(X.T, bias=True)
    total = []
    for i in range(n):
        rest = np.delete(X, i, axis=0)
        own = np.cov(rest.T, bias=True)
        scale = (np.trace(own) * (n - 1) / (n - 2) / d) ** power
        target = scale * (own_share * own + np.eye(d) - own_share * whole)
        matrix = (1 - s) * own + s * target
        density = multivariate_normal.logpdf(X[i], rest.mean(axis=0), matrix)
        total.append(-2 * density - d * np.log(2 * np.pi))
    return np.mean(total)


@pytest.mark.parametrize(
    ("n", "d", "power", "own_share"), [(6, 8, 0.0, 0.0), (20, 3, 1.0, 0.0), (12, 4, 0.5, 0.3)]
)
def test_simulation_the_loss_is_that_of_rows_left_out(monkeypatch, n, d, power, own_share):
    """Unbiased where directions are many: over data sets both have the same mean."""
    monkeypatch.setattr(shrinkage, "DRAWS", 4096)
    shrinkage._draws.cache_clear()
    rng = np.random.default_rng(2)
    some = np.array([0.3, 0.9])
    plain, ours = [], []
    for _ in range(60):
        X = rng.normal(size=(n, d)) * np.linspace(0.6, 1.2, d)
        values = np.linalg.eigvalsh(np.cov(X.T, bias=True)).clip(0)
        ours.append(left_out_loss(values, float(n), some, power, own_share))
        plain.append([plain_left_out(X, s, power, own_share) for s in some])
    apart = np.array(ours) - np.array(plain)
    error = apart.std(axis=0) / np.sqrt(len(apart))
    shrinkage._draws.cache_clear()
    assert (np.abs(apart.mean(axis=0)) < 3 * error).all()
    assert (np.std(ours, axis=0) <= 1.05 * np.std(plain, axis=0)).all()  # and scatters less


def test_the_few_directions_in_use_choose_as_many_would(monkeypatch):
    rng = np.random.default_rng(4)
    for n, d in ((8, 10), (40, 5)):
        values = np.linalg.eigvalsh(np.cov(rng.normal(size=(n, d)).T, bias=True)).clip(0)
        few = left_out_loss(values, float(n), INTENSITIES, 0.0, 0.0)
        with monkeypatch.context() as patch:
            patch.setattr(shrinkage, "DRAWS", 4096)
            shrinkage._draws.cache_clear()
            many = left_out_loss(values, float(n), INTENSITIES, 0.0, 0.0)
        shrinkage._draws.cache_clear()
        assert many[few.argmin()] - many.min() < 0.05


def test_what_is_like_the_target_is_drawn_and_what_is_not_stays():
    rng = np.random.default_rng(0)
    pooled = np.cov(rng.normal(size=(1000, 6)).T)
    like = np.cov(rng.normal(size=(15, 6)).T, bias=True)
    assert choose(like, 15.0, pooled, 0.0)[0] > 0.8
    wide = np.cov(3 * rng.normal(size=(15, 6)).T, bias=True)
    intensity, _, scale = choose(wide, 15.0, pooled, 0.0)
    assert intensity > 0.8
    assert 6 < scale < 14  # nine times the variance: the target is stretched
    other = rng.normal(size=(6, 6))
    unlike = np.cov((rng.normal(size=(2000, 6)) @ other).T, bias=True)
    assert choose(unlike, 2000.0, pooled, 0.0)[0] < 0.01
    assert choose(like, 2.0, pooled, 0.0) == (1.0, 0.0, 1.0)
    assert choose(np.zeros((6, 6)), 9.0, pooled, 0.0) == (1.0, 0.0, 1.0)


def test_pooled_covariances_are_mended_only_where_singular(rng):
    whole = np.cov(rng.normal(size=(50, 4)).T)
    assert mend_pooled(whole, 50.0)[1] == 0
    few = np.cov(rng.normal(size=(4, 6)).T)
    mended, share = mend_pooled(few, 4.0)
    assert share in INTENSITIES
    assert not is_singular(mended)
    np.testing.assert_allclose(mended, toward_diagonal(few, share))
    assert diagonal_share(few, 2.0) == 1.0
    repeated = np.ones((2, 2))
    assert 0 < mend_pooled(repeated, 1000.0)[1] < 0.01


def test_relative_eigenvalues_do_not_depend_on_units(rng):
    one, target = (np.cov(rng.normal(size=(30, 3)).T) for _ in range(2))
    wanted = np.sort(np.linalg.eigvals(np.linalg.solve(target, one)).real)
    np.testing.assert_allclose(relative_eigenvalues(one, target), wanted, rtol=1e-9)
    units = np.outer([1e6, 1, 1e-6], [1e6, 1, 1e-6])
    np.testing.assert_allclose(relative_eigenvalues(one * units, target * units), wanted, rtol=1e-9)


def test_given_intensities_mix_with_the_pooled_covariance(rng):
    X, y = rng.normal(size=(200, 3)), np.arange(200) % 2
    X[y == 1] *= [1, 2, 3]
    full, shared = (densities(kind).fit(X, y) for kind in ("full", "shared"))
    model = densities("shrunk", shrinkage=0.3).fit(X, y)
    wanted = 0.7 * full.covariance_ + 0.3 * shared.covariance_
    np.testing.assert_allclose(model.covariance_, wanted, rtol=1e-10)
    assert model.shrinkage_.tolist() == [0.3, 0.3]
    ends = [densities("shrunk", shrinkage=s).fit(X, y).covariance_ for s in (0.0, 1.0)]
    np.testing.assert_allclose(ends[0], full.covariance_, rtol=1e-10)
    np.testing.assert_allclose(ends[1][0], shared.covariance_, rtol=1e-10)


def test_a_singular_class_gets_at_least_the_floor():
    pooled = np.eye(3)
    own = np.array([np.eye(3), np.zeros((3, 3))])
    found = shrink(own, np.array([50.0, 10.0]), pooled, 0.0, [1])
    assert found.intensity.tolist() == [0.0, 1e-6]
    assert not is_singular(found.covariance[1])


# --- what it buys ---------------------------------------------------------------------------------


def world(kind, d, n_rare, rng):
    """A class of 1,000 rows and a rare one, two standard deviations apart, and 1,000 of each."""
    A = rng.normal(size=(d, d))
    base = A @ A.T / d + 0.3 * np.eye(d)
    if kind == "same":
        other = base
    elif kind == "near":
        turn = np.eye(d) + 0.5 * rng.normal(size=(d, d)) / np.sqrt(d)
        other = turn @ base @ turn.T
    elif kind == "far":
        B = rng.normal(size=(d, d))
        other = B @ B.T / d + 0.3 * np.eye(d)
    else:
        other = 4 * base
    apart = rng.normal(size=d)
    apart *= 2 / np.sqrt(apart @ np.linalg.solve(base, apart))

    def draw(n_common, n):
        X = [
            rng.multivariate_normal(np.zeros(d), base, n_common),
            rng.multivariate_normal(apart, other, n),
        ]
        return np.vstack(X), np.repeat([0, 1], [n_common, n])

    return *draw(1000, n_rare), *draw(1000, 1000)


def losses(kind, d, n_rare, seed):
    """Log loss on new rows, half of each class, told that shares are even."""
    X, y, new, truth = world(kind, d, n_rare, np.random.default_rng([seed, d, n_rare]))
    found = {}
    for name in ("shared", "shrunk"):
        model = densities(name, priors=[0.5, 0.5]).fit(X, y)
        found[name] = log_loss(truth, model.predict_proba(new))
    for name, estimate in (("ledoit-wolf", ledoit_wolf), ("oas", oas)):
        model = densities("full", priors=[0.5, 0.5]).fit(X, y)
        for label in (0, 1):
            model.covariance_[label] = estimate(X[y == label])[0]
        found[name] = log_loss(truth, model.predict_proba(new))
    return found


def test_simulation_shrunk_is_near_the_best_whatever_the_world():
    names = ("shared", "ledoit-wolf", "oas", "shrunk")
    mean = {}
    for kind in WORLDS:
        found = [losses(kind, 10, n_rare, seed) for n_rare in (5, 20) for seed in range(3)]
        mean[kind] = np.array([np.mean([one[name] for one in found]) for name in names])
    over_best = np.array([one / one[:3].min() for one in mean.values()])
    # Each rival is twice as bad as another one in some world; shrunk is never far behind.
    assert (over_best[:, :3].max(axis=0) > 2).all()
    assert over_best[:, 3].max() < 1.5


def test_simulation_missing_values_change_the_choice_little():
    """A third of the values missing: as far as with all of them, give or take a factor of 2.5."""
    ratio = []
    for seed in range(4):
        X, y, _, _ = world("near", 5, 80, np.random.default_rng(seed))
        incomplete = hide_features(X, how="mcar", share=0.3, random_state=seed)
        found = [densities("shrunk", tol=1e-3).fit(one, y) for one in (incomplete, X)]
        ratio.append(np.log(found[0].shrinkage_[1] / found[1].shrinkage_[1]))
    assert abs(np.mean(ratio)) < np.log(2.5)


def table(repeats=20):
    """Print log loss by world, features and rows of the rare class: mean over repeats."""
    names = ("shared", "ledoit-wolf", "oas", "shrunk")
    print(f"{'world':6} {'d':>3} {'rare':>5}  " + " ".join(f"{name:>12}" for name in names))
    for kind in WORLDS:
        for d in (10, 30):
            for n_rare in (5, 10, 20, 50):
                found = [losses(kind, d, n_rare, seed) for seed in range(repeats)]
                mean = [np.mean([one[name] for one in found]) for name in names]
                print(f"{kind:6} {d:3} {n_rare:5}  " + " ".join(f"{one:12.3f}" for one in mean))


if __name__ == "__main__":
    table()
